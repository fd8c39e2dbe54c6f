"""Slices in radiological convention, whatever the stored orientation."""

from __future__ import annotations

import itertools

import nibabel as nib
import numpy as np
import pytest
from nibabel.orientations import apply_orientation, axcodes2ornt, inv_ornt_aff, io_orientation, ornt_transform

from monai_spatialqa.errors import GeometryError, SettingsError
from monai_spatialqa.rendering import CONVENTION, PLANES, extract_slice, reorient_to_ras

SPACING = (1.0, 2.0, 5.0)
AFFINE = np.array([[1.0, 0, 0, -7], [0, 2.0, 0, 11], [0, 0, 5.0, -60], [0, 0, 0, 1]])
ORIENTATIONS = [
    "".join(letters[axis] for axis, letters in zip(order, signs, strict=True))
    for order in itertools.permutations(range(3))
    for signs in itertools.product(("RAS", "LPI"), repeat=3)
]


def stored(array, axcodes):
    """The same voxels in another orientation, with their matrix."""
    turn = ornt_transform(io_orientation(AFFINE), axcodes2ornt(tuple(axcodes)))
    return apply_orientation(array, turn), AFFINE @ inv_ornt_aff(turn, array.shape)


@pytest.fixture
def volume():
    return np.asfortranarray(np.random.default_rng(0).integers(0, 1000, (6, 5, 4)).astype(np.int16))


@pytest.mark.parametrize("axcodes", ["RAS", "LPS", "LAS", "PIR", "SAL"])
def test_br_015_patient_left_is_image_right_and_anterior_is_up(axcodes):
    ras = np.zeros((20, 16, 8), dtype=np.uint8)
    ras[3:6, 11:14, 2:5] = 1  # low R index: patient's left; high A index: anterior
    assert nib.affines.apply_affine(AFFINE, [4, 12, 3])[0] < nib.affines.apply_affine(AFFINE, [9.5, 7.5, 3])[0]
    array, affine = stored(ras, axcodes)
    label, matrix = reorient_to_ras(array, affine)
    view = extract_slice(label, "axial", 3, np.linalg.norm(matrix[:3, :3], axis=0))
    rows, columns = np.nonzero(view.pixels)
    assert columns.min() >= view.pixels.shape[1] / 2, "patient's left must be in the image's right half"
    assert rows.max() < view.pixels.shape[0] / 2, "anterior must be in the image's upper half"
    assert view.letters == ("R", "L", "A", "P")
    assert "patient right (R) is on the image left" in CONVENTION


@pytest.mark.parametrize("axcodes", ORIENTATIONS)
def test_every_orientation_comes_back_to_the_same_grid(volume, axcodes):
    array, affine = stored(volume, axcodes)
    back, matrix = reorient_to_ras(array, affine)
    assert (back == volume).all()
    assert matrix == pytest.approx(AFFINE)
    assert np.shares_memory(back, array)


def test_an_oblique_grid_stays_oblique(volume):
    affine = AFFINE.copy()
    turn = np.radians(20)
    affine[:3, :3] = [[np.cos(turn), -np.sin(turn), 0], [np.sin(turn), np.cos(turn), 0], [0, 0, 1]] @ AFFINE[:3, :3]
    back, matrix = reorient_to_ras(
        volume[::-1], affine @ np.array([[-1, 0, 0, 5], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])
    )
    assert (back == volume).all()
    assert matrix == pytest.approx(affine)


@pytest.mark.parametrize(
    ("plane", "shape", "size_mm", "aspect", "letters"),
    [
        ("axial", (5, 6), (10.0, 6.0), 2.0, ("R", "L", "A", "P")),
        ("coronal", (4, 6), (20.0, 6.0), 5.0, ("R", "L", "S", "I")),
        ("sagittal", (4, 5), (20.0, 10.0), 2.5, ("A", "P", "S", "I")),
    ],
)
def test_each_plane(volume, plane, shape, size_mm, aspect, letters):
    view = extract_slice(volume, plane, 1, SPACING)
    assert view.pixels.shape == shape
    assert view.size_mm == pytest.approx(size_mm)
    assert view.pixel_aspect == pytest.approx(aspect)
    assert view.letters == letters
    assert np.shares_memory(view.pixels, volume)


@pytest.mark.parametrize("plane", PLANES)
def test_every_voxel_is_found_at_its_pixel(volume, plane):
    for index in range(volume.shape[{"sagittal": 0, "coronal": 1, "axial": 2}[plane]]):
        view = extract_slice(volume, plane, index, SPACING)
        for voxel in itertools.product(*map(range, volume.shape)):
            if voxel[view.axes[0]] == index:
                row, column = view.to_pixel(voxel)
                assert view.pixels[int(row), int(column)] == volume[voxel]


@pytest.mark.parametrize("plane", PLANES)
def test_positions_in_mm_run_from_the_top_left_corner(volume, plane):
    view = extract_slice(volume, plane, 0, SPACING)
    corners = np.array([np.asarray(volume.shape) - 0.5, (-0.5, -0.5, -0.5)])
    assert view.to_mm(corners) == pytest.approx(np.array([(0, 0), view.size_mm[::-1]]))


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ((np.zeros((3, 3)), "axial", 0, SPACING), GeometryError),
        ((np.zeros((3, 3, 3)), "axial", 0, (1, 0, 1)), GeometryError),
        ((np.zeros((3, 3, 3)), "axial", 0, (1, np.nan, 1)), GeometryError),
        ((np.zeros((3, 3, 3)), "oblique", 0, SPACING), SettingsError),
        ((np.zeros((3, 3, 3)), "axial", 3, SPACING), SettingsError),
        ((np.zeros((3, 3, 3)), "axial", -1, SPACING), SettingsError),
    ],
)
def test_impossible_slices_are_refused(arguments, error):
    with pytest.raises(error):
        extract_slice(*arguments)


@pytest.mark.parametrize(
    ("shape", "affine"),
    [
        ((3, 3), np.eye(4)),
        ((3, 3, 3, 2), np.eye(4)),
        ((3, 0, 3), np.eye(4)),
        ((3, 3, 3), np.eye(3)),
        ((3, 3, 3), np.diag([1.0, 0, 1, 1])),
        ((3, 3, 3), np.diag([1.0, np.nan, 1, 1])),
    ],
)
def test_unusable_geometry_is_refused(shape, affine):
    with pytest.raises(GeometryError):
        reorient_to_ras(np.zeros(shape), affine)
