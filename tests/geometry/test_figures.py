"""Figures on phantoms whose every structure is known analytically, and their invariance."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from monai_spatialqa.geometry.affine import Projection, RasGrid
from monai_spatialqa.geometry.figures import reached_faces
from monai_spatialqa.geometry.table import StructureTable, build_table
from monai_spatialqa.geometry.tensors import marginals_of
from monai_spatialqa.phantoms import make_phantom
from monai_spatialqa.phantoms.shape import half_diagonal_mm

FACES = (("left", "right"), ("posterior", "anterior"), ("inferior", "superior"))
SMALL = {"shape": (72, 54, 60), "spacing_mm": (5.0, 5.0, 6.5)}
GRIDS = {
    "straight": {},
    "LPS": {"axcodes": "LPS"},
    "PIR": {"axcodes": "PIR"},
    "oblique": {"rotation_deg": (10, -7, 15), "axcodes": "LPS"},
    "sheared": {"shear": math.tan(math.radians(15))},
    "sheared, oblique, permuted": {"shear": -0.2, "rotation_deg": (4, 6, -8), "axcodes": "SLA"},
}


def measured(label: torch.Tensor, affine: np.ndarray, ids: list[int]) -> tuple[StructureTable, RasGrid]:
    grid = RasGrid.of(label.shape, affine)
    projection = None if grid.diagonal else Projection.of(grid)
    weights = None if projection is None else projection.stored_weights(grid)
    found = marginals_of(label, weights=weights)
    found = found.reoriented(grid.source_axes, grid.flipped, None if projection is None else projection.weights)
    rows = {(0, label): row for row, label in enumerate(ids)}
    return build_table([found], rows, len(ids), grid, projection=projection), grid


def vector(columns, row: int) -> np.ndarray:
    return np.array([float(column[row]) for column in columns])


@pytest.mark.parametrize("turn", GRIDS)
def test_analytic_truth(turn, device):
    phantom = make_phantom(4, **SMALL, **GRIDS[turn])
    ids = list(phantom.label_names)
    table, grid = measured(torch.from_numpy(phantom.label).to(device), phantom.affine, ids)
    assert table.volume_mm3.device.type == device
    # The box lies along the grid's axes; along the world's when these are not perpendicular.
    axes = np.eye(3) if grid.sheared else (grid.affine[:3, :3] / np.array(grid.spacing_mm)).T
    for row, name in enumerate(phantom.label_names.values()):
        shape = phantom.shapes[name]
        assert abs(float(table.volume_mm3[row]) - shape.volume_mm3) <= shape.volume_error_bound_mm3(phantom.affine)
        assert float(table.band_low_mm3[row]) < float(table.volume_mm3[row]) < float(table.band_high_mm3[row])
        off = np.linalg.norm(vector(table.centroid_ras_mm, row) - shape.centroid_ras_mm)
        assert off <= half_diagonal_mm(phantom.affine), name
        low, high = np.asarray(shape.world_box_ras_mm)
        bound = np.asarray(shape.box_error_bound_mm(phantom.affine))
        assert (np.abs(vector(table.world_min_ras_mm, row) - low) <= bound).all(), name
        assert (np.abs(vector(table.world_max_ras_mm, row) - high) <= bound).all(), name
        low, high = shape.span_mm(axes)
        bound = shape.span_error_bound_mm(axes, phantom.affine)
        assert (np.abs(vector(table.extent_mm, row) - (high - low)) <= 2 * bound).all(), name
        assert (np.abs(axes @ vector(table.center_ras_mm, row) - (low + high) / 2) <= bound).all(), name


@pytest.mark.parametrize("turn", GRIDS)
def test_world_box_holds_whole_voxels(turn):
    phantom = make_phantom(4, **SMALL, **GRIDS[turn])
    ids = list(phantom.label_names)
    table, _ = measured(torch.from_numpy(phantom.label), phantom.affine, ids)
    corners = np.array(np.meshgrid(*[(-0.5, 0.5)] * 3)).reshape(3, -1)
    for row, label in enumerate(ids):
        faces = (np.argwhere(phantom.label == label)[:, :, None] + corners).transpose(1, 0, 2).reshape(3, -1)
        places = phantom.affine[:3, :3] @ faces + phantom.affine[:3, 3:]
        assert vector(table.world_min_ras_mm, row) == pytest.approx(places.min(1), abs=1e-6)
        assert vector(table.world_max_ras_mm, row) == pytest.approx(places.max(1), abs=1e-6)


def test_a_box_is_exact():
    label = torch.zeros(10, 12, 8, dtype=torch.uint8)
    label[2:5, 3:7, 1:4] = 1
    table, _ = measured(label, np.diag([2.0, 3.0, 4.0, 1.0]), [1, 2])
    assert table.voxel_count.tolist() == [36, 0]
    assert table.volume_mm3.tolist() == [864.0, 0.0]
    assert vector(table.start, 0).tolist() == [2, 3, 1]
    assert vector(table.stop, 0).tolist() == [5, 7, 4]
    assert vector(table.extent_mm, 0).tolist() == [6, 12, 12]
    assert vector(table.center_ras_mm, 0).tolist() == [6, 13.5, 8]
    assert vector(table.centroid_ras_mm, 0).tolist() == [6, 13.5, 8]
    assert vector(table.world_min_ras_mm, 0).tolist() == [3, 7.5, 2]
    assert vector(table.world_max_ras_mm, 0).tolist() == [9, 19.5, 14]
    # 1 x 2 x 1 voxels are inside, 66 faces are shared with outside voxels.
    assert float(table.band_low_mm3[0]) == (36 + 2) / 2 * 24
    assert float(table.band_high_mm3[0]) == (36 + 36 + 2 * (12 + 9 + 12)) / 2 * 24
    assert np.isnan(vector(table.centroid_ras_mm, 1)).all()
    assert [int(column[1]) for column in table.centroid_voxel] == [-1, -1, -1]


@pytest.mark.parametrize("turn", ["oblique", "sheared, oblique, permuted"])
def test_orientation_changes_nothing(turn):
    """Permuted and flipped storage of one grid gives the same figures to the last bit."""
    base = {**GRIDS[turn], "axcodes": "RAS"}
    reference = make_phantom(6, **SMALL, **base)
    ids = list(reference.label_names)
    first, _ = measured(torch.from_numpy(reference.label), reference.affine, ids)
    for codes in ("LPS", "PIR", "SAL", "IRA", "LAI"):
        phantom = make_phantom(6, **SMALL, **{**base, "axcodes": codes})
        table, _ = measured(torch.from_numpy(phantom.label), phantom.affine, ids)
        assert torch.equal(table.voxel_count, first.voxel_count)
        for name in ("start", "stop", "extent_mm", "center_ras_mm", "centroid_ras_mm", "world_min_ras_mm"):
            for found, expected in zip(getattr(table, name), getattr(first, name), strict=True):
                torch.testing.assert_close(found, expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    "dtype",
    [torch.int16, torch.uint16, torch.int32, torch.uint32, torch.int64, torch.uint64, torch.float32, torch.float64],
)
def test_type_changes_nothing(dtype):
    phantom = make_phantom(6, **SMALL, **GRIDS["oblique"])
    ids = list(phantom.label_names)
    label = torch.from_numpy(phantom.label)
    first, _ = measured(label, phantom.affine, ids)
    table, _ = measured(label.to(dtype), phantom.affine, ids)
    for name in ("voxel_count", "volume_mm3", "band_low_mm3", "band_high_mm3"):
        assert torch.equal(getattr(table, name), getattr(first, name))
    for name in ("start", "stop", "extent_mm", "center_ras_mm", "centroid_ras_mm", "world_max_ras_mm"):
        for found, expected in zip(getattr(table, name), getattr(first, name), strict=True):
            assert torch.equal(found, expected)


@pytest.mark.parametrize("face", [face for pair in FACES for face in pair])
@pytest.mark.parametrize("codes", ["RAS", "LIP", "SPL"])
def test_truncation_names_the_face(face, codes):
    phantom = make_phantom(3, **SMALL, axcodes=codes, truncate=face)
    names = list(phantom.label_names.values())
    table, _ = measured(torch.from_numpy(phantom.label), phantom.affine, list(phantom.label_names))
    for row, name in enumerate(names):
        reached = tuple(FACES[axis][end] for axis in range(3) for end in range(2) if bool(table.faces[axis][end][row]))
        assert reached == phantom.truncated_faces.get(name, ())
        assert bool(table.truncated[row]) == (name in phantom.truncated_faces)


def test_a_margin_widens_the_outermost_layer():
    label = torch.zeros(9, 9, 9, dtype=torch.uint8)
    label[2, 4, 4] = 1
    found = marginals_of(label)
    assert [bool(low[0]) for low, _ in reached_faces(found)] == [False] * 3
    assert [bool(low[0]) for low, _ in reached_faces(found, 1)] == [False] * 3
    assert [bool(low[0]) for low, _ in reached_faces(found, 2)] == [True, False, False]
    label[6, 4, 4] = 1
    found = marginals_of(label)
    assert [bool(high[0]) for _, high in reached_faces(found, 1)] == [False] * 3
    assert [bool(high[0]) for _, high in reached_faces(found, 2)] == [True, False, False]


def test_single_slice_along_any_axis():
    label = torch.zeros(6, 6, 6, dtype=torch.uint8)
    label[2, 1:4, 1:4], label[4, 1:4, 1], label[1:3, 5, 1:3], label[4:6, 4:6, 4:6] = 1, 2, 3, 4
    table, _ = measured(label, np.eye(4), [1, 2, 3, 4, 5])
    assert table.single_slice.tolist() == [True, True, True, False, False]
