"""The way to the RAS grid by index arithmetic, against nibabel's and MONAI's that move voxels."""

from __future__ import annotations

import itertools
import math

import nibabel as nib
import numpy as np
import pytest
import torch
from monai.data import MetaTensor
from monai.transforms import Orientation
from nibabel.orientations import axcodes2ornt, inv_ornt_aff, ornt_transform

from monai_spatialqa.errors import GeometryError
from monai_spatialqa.geometry.affine import (
    Projection,
    RasGrid,
    checked_affine,
    column_norms,
    corner_shift_mm,
    is_sheared,
    orientation_codes,
    to_world,
    voxel_volume_mm3,
    without_shear,
)
from monai_spatialqa.phantoms.grid import grid_affine

CODES = [
    "".join(letters) for axes in itertools.permutations(("LR", "PA", "IS")) for letters in itertools.product(*axes)
]
SHAPE = (4, 5, 6)  # along R, A, S
TURNS = {"straight": {}, "oblique": {"rotation_deg": (12, -9, 21)}, "sheared": {"shear": 0.3}}


def stored(codes: str, turn: dict) -> tuple[np.ndarray, np.ndarray]:
    """A grid stored in that orientation: its voxels numbered, and its affine."""
    affine = grid_affine(SHAPE, (0.9, 1.7, 2.5), center_ras_mm=(10.0, -20.0, 33.0), **turn)
    turned = ornt_transform(axcodes2ornt("RAS"), axcodes2ornt(codes))
    voxels = nib.orientations.apply_orientation(np.arange(math.prod(SHAPE), dtype=np.int16).reshape(SHAPE), turned)
    return np.ascontiguousarray(voxels), affine @ inv_ornt_aff(turned, SHAPE)


def test_there_are_48_orientations():
    assert len(set(CODES)) == 48


@pytest.mark.parametrize("turn", TURNS)
@pytest.mark.parametrize("codes", CODES)
def test_every_orientation(codes, turn):
    voxels, affine = stored(codes, TURNS[turn])
    grid = RasGrid.of(voxels.shape, affine)
    closest = nib.as_closest_canonical(nib.Nifti1Image(voxels, affine))
    assert grid.orientation == codes == orientation_codes(affine)
    assert grid.shape == closest.shape == SHAPE
    np.testing.assert_allclose(grid.affine, closest.affine, atol=1e-12)
    assert grid.spacing_mm == pytest.approx((0.9, 1.7, 2.5))
    expected = np.asarray(closest.dataobj)
    for index in itertools.product(*map(range, SHAPE)):
        assert voxels[grid.stored_index(index)] == expected[index]
    assert grid.diagonal == (turn == "straight")
    assert grid.sheared == (turn == "sheared")


@pytest.mark.parametrize("turn", TURNS)
@pytest.mark.parametrize("codes", CODES)
def test_monai_agrees(codes, turn):
    voxels, affine = stored(codes, TURNS[turn])
    grid = RasGrid.of(voxels.shape, affine)
    turned = Orientation("RAS", labels=None)(
        MetaTensor(torch.from_numpy(voxels)[None], affine=torch.from_numpy(affine))
    )
    np.testing.assert_allclose(grid.affine, turned.affine.numpy(), atol=1e-12)
    sources = voxels.transpose(grid.source_axes)[tuple(slice(None, None, -1 if flip else 1) for flip in grid.flipped)]
    assert (turned[0].numpy() == sources).all()


@pytest.mark.parametrize("turn", TURNS)
@pytest.mark.parametrize("codes", ["RAS", "LPS", "PIR", "SAL", "IRP"])
def test_a_voxel_keeps_its_place(codes, turn):
    voxels, affine = stored(codes, TURNS[turn])
    grid = RasGrid.of(voxels.shape, affine)
    for index in [(0, 0, 0), (3, 4, 5), (1, 2, 3)]:
        here = affine @ [*grid.stored_index(index), 1]
        assert to_world(grid.affine, index) == pytest.approx(here[:3], abs=1e-12)


def test_no_negative_zeros():
    grid = RasGrid.of((4, 4, 4), np.diag([-1.0, -1.0, 1.0, 1.0]))
    assert not np.signbit(grid.affine[:3, :3]).any()


@pytest.mark.parametrize("turn", TURNS)
@pytest.mark.parametrize("codes", ["RAS", "LPS", "PIR", "SLA"])
def test_projection_is_exact_to_a_nanometre(codes, turn):
    voxels, affine = stored(codes, TURNS[turn])
    affine[:3, 3] += 1e4
    grid = RasGrid.of(voxels.shape, affine)
    projection = Projection.of(grid)
    weights = np.array(projection.weights, object)
    for index in itertools.product(*((0, length - 1) for length in grid.shape)):
        place = (weights @ np.array(index, object)).astype(float) / projection.scale + grid.affine[:3, 3]
        assert place == pytest.approx((grid.affine @ [*index, 1])[:3], abs=1e-9)
        assert abs(weights @ np.array(index, object)).max() < 2**62
    # From index 0 of the stored grid the same weights differ by a constant only.
    stored_weights = np.array(projection.stored_weights(grid), object)
    differences = {
        tuple(weights @ np.array(index, object) - stored_weights @ np.array(grid.stored_index(index), object))
        for index in itertools.product(*map(range, grid.shape))
    }
    assert len(differences) == 1


@pytest.mark.parametrize("size", [1e-3, 1.0, 5e3])
def test_projection_of_any_size(size):
    grid = RasGrid.of((2000, 30000, 3), np.diag([size, size, size, 1.0]))
    projection = Projection.of(grid)
    assert projection.weights[1][1] * 29999 < 2**62
    assert projection.weights[1][1] / projection.scale == pytest.approx(size, rel=1e-9)


class TestMatrices:
    def test_volume_is_the_determinant(self):
        sheared = np.array([[1.0, 0, 0, 0], [0, 1, 0.5, 0], [0, 0, 2, 0], [0, 0, 0, 1]])
        assert voxel_volume_mm3(sheared) == 2.0
        assert math.prod(column_norms(sheared)) == pytest.approx(2.0616, abs=1e-4)
        assert is_sheared(sheared)
        straight = without_shear(sheared)
        assert not is_sheared(straight)
        assert column_norms(straight) == pytest.approx(column_norms(sheared))

    def test_volume_ignores_rotation_and_flips(self):
        for codes in ("RAS", "LAS", "PIR"):
            assert voxel_volume_mm3(stored(codes, TURNS["oblique"])[1]) == pytest.approx(0.9 * 1.7 * 2.5)

    @pytest.mark.parametrize("angle_deg", [0.03, 0.05])
    def test_rounding_is_no_shear(self, angle_deg):
        assert not is_sheared(grid_affine((4, 4, 4), (1, 1, 2), shear=math.tan(math.radians(angle_deg))))

    def test_a_tenth_of_a_degree_is_shear(self):
        assert is_sheared(grid_affine((4, 4, 4), (1, 1, 2), shear=math.tan(math.radians(0.1))))

    def test_corner_shift(self):
        moved = np.eye(4)
        moved[2, 2] = 1.1
        assert corner_shift_mm(np.eye(4), moved, (3, 3, 11)) == pytest.approx(1.0)

    @pytest.mark.parametrize(
        ("change", "code"),
        [
            (lambda m: m.__setitem__((0, 0), np.nan), "non_finite_affine"),
            (lambda m: m.__setitem__((1, 3), np.inf), "non_finite_affine"),
            (lambda m: m.__setitem__((slice(3), 1), 0.0), "singular_affine"),
            (lambda m: m.__setitem__((slice(3), 1), m[:3, 0]), "singular_affine"),
            (lambda m: m.__setitem__((slice(3), 1), m[:3, 0] * (1 + 1e-9)), "singular_affine"),
        ],
        ids=["NaN", "infinite", "zero column", "equal columns", "nearly equal columns"],
    )
    def test_impossible_matrices(self, change, code):
        matrix = np.diag([2.0, 3.0, 4.0, 1.0])
        change(matrix)
        with pytest.raises(GeometryError) as caught:
            checked_affine(matrix)
        assert caught.value.code == code
        assert caught.value.expected
        assert caught.value.next_step

    def test_shape_of_the_matrix(self):
        with pytest.raises(GeometryError, match="4x4"):
            checked_affine(np.eye(3))

    @pytest.mark.parametrize("size", [1e-5, 0.01, 1e4])
    def test_small_and_large_voxels_are_not_singular(self, size):
        assert (checked_affine(np.diag([size, size, size, 1.0])) == np.diag([size, size, size, 1.0])).all()
