"""Analytic facts of the shapes against dense sampling, and the stated bounds against real grids."""

from __future__ import annotations

import doctest
import importlib
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monai_spatialqa.errors import SettingsError
from monai_spatialqa.phantoms import Cuboid, Ellipsoid, Tube, grid_affine, index_span
from monai_spatialqa.phantoms.painting import world_slabs
from monai_spatialqa.phantoms.shape import half_diagonal_mm, shell_bound_mm3

BALL = Ellipsoid("ball", 1, 10.0, (1.0, -2.0, 3.0), (8.0, 8.0, 8.0))
EGG = Ellipsoid("egg", 2, 10.0, (-4.0, 5.0, 6.0), (5.0, 9.0, 14.0))
BLOCK = Cuboid("block", 3, 10.0, (2.0, 1.0, 0.0), (9.0, 13.0, 17.0))
PIPE = Tube("pipe", 4, 10.0, ((0.0, 0.0, -12.0), (6.0, -3.0, 10.0)), 5.0)
BENT = Tube("bent", 5, 10.0, ((0.0, 0.0, -20.0), (0.0, 0.0, 0.0), (12.0, 3.0, 16.0), (30.0, 3.0, 20.0)), 4.5)
TUMOUR = Ellipsoid("tumour", 7, 5.0, (3.0, 1.0, -2.0), (4.0, 3.0, 5.0))
HOST = Ellipsoid("host", 6, 10.0, (0.0, 0.0, 0.0), (12.0, 10.0, 15.0), holes=(TUMOUR,))
SHAPES = [BALL, EGG, BLOCK, PIPE, BENT, HOST]

OBLATE_MM2 = 18 * math.pi * (1 + math.atanh(math.sqrt(8 / 9)) / 9 / math.sqrt(8 / 9))
"""Area of the ellipsoid of radii 3, 3, 1, closed form for an oblate spheroid."""

GRIDS = {
    "isotropic": grid_affine((80, 80, 80), (1.0, 1.0, 1.0)),
    "anisotropic": grid_affine((160, 80, 40), (0.5, 1.0, 2.5)),
    "oblique": grid_affine((90, 90, 80), (1.0, 0.8, 1.5), rotation_deg=(12, -9, 20)),
    "sheared": grid_affine((90, 90, 60), (1.0, 1.0, 2.0), shear=math.tan(math.radians(15))),
    "sheared and oblique": grid_affine((90, 90, 60), (0.9, 1.1, 2.0), shear=-0.3, rotation_deg=(5, 8, -11)),
}


def voxels_of(shape, affine):
    """Indices and world positions of the voxel centres inside the shape, on an endless grid."""
    low, high = index_span(shape, affine)
    points = [
        positions[shape.contains(positions)]
        for _, positions in world_slabs(affine, np.floor(low) - 1, np.ceil(high) + 2)
    ]
    return np.concatenate(points)


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_analytic_facts_match_dense_sampling(shape):
    """Over randomly placed grids the voxel volume and its moments are right on average, without any bias."""
    rng = np.random.default_rng(11)
    step, placements = 0.5, 40
    affine = np.diag([step, step, step, 1.0])
    samples = []
    for _ in range(placements):
        affine[:3, 3] = rng.uniform(0, step, 3)
        samples.append(voxels_of(shape, affine))
    points = np.concatenate(samples)
    assert len(points) * step**3 / placements == pytest.approx(shape.volume_mm3, rel=4e-3)
    assert points.mean(axis=0) == pytest.approx(shape.centroid_ras_mm, abs=0.03)
    low, high = np.asarray(shape.world_box_ras_mm)
    assert (points >= low - 1e-9).all()
    assert (points <= high + 1e-9).all()
    assert points.min(axis=0) == pytest.approx(low, abs=step)
    assert points.max(axis=0) == pytest.approx(high, abs=step)
    assert shape.center_ras_mm == pytest.approx((low + high) / 2)
    assert shape.extent_mm == pytest.approx(high - low)


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_spans_hold_in_any_direction(shape):
    rng = np.random.default_rng(3)
    directions = rng.standard_normal((30, 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    along = voxels_of(shape, np.diag([0.25, 0.25, 0.25, 1.0])) @ directions.T
    low, high = shape.span_mm(directions)
    assert (along.min(axis=0) >= low - 1e-9).all()
    assert (along.max(axis=0) <= high + 1e-9).all()
    bound = shape.span_error_bound_mm(directions, (0.25, 0.25, 0.25))
    assert (along.min(axis=0) - low <= bound + 0.25).all()
    assert (high - along.max(axis=0) <= bound + 0.25).all()
    assert np.allclose(shape.span_mm(3 * directions)[1], 3 * high)


@pytest.mark.parametrize("grid", GRIDS)
@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_voxels_stay_within_the_stated_bounds(shape, grid):
    rng = np.random.default_rng(5)
    affine = GRIDS[grid].copy()
    voxel_mm3 = abs(np.linalg.det(affine[:3, :3]))
    half = np.abs(affine[:3, :3]).sum(axis=1) / 2
    bound, box_bound = shape.volume_error_bound_mm3(affine), shape.box_error_bound_mm(affine)
    assert all(0 < limit < 5 for limit in box_bound)
    for _ in range(8):
        affine[:3, 3] += affine[:3, :3] @ rng.uniform(0, 1, 3)
        points = voxels_of(shape, affine)
        assert abs(len(points) * voxel_mm3 - shape.volume_mm3) <= bound
        low, high = np.asarray(shape.world_box_ras_mm)
        assert (np.abs(points.min(axis=0) - half - low) <= np.asarray(box_bound) + 1e-9).all()
        assert (np.abs(points.max(axis=0) + half - high) <= np.asarray(box_bound) + 1e-9).all()


@settings(max_examples=60, deadline=None)
@given(
    radii=st.tuples(*[st.floats(1.5, 9.0)] * 3),
    at=st.tuples(*[st.floats(-1.0, 1.0)] * 3),
    spacing=st.tuples(*[st.floats(0.4, 2.0)] * 3),
    angles=st.tuples(*[st.floats(-25.0, 25.0)] * 3),
    shear=st.floats(-0.4, 0.4),
    cuboid=st.booleans(),
)
def test_bounds_hold_on_any_grid(radii, at, spacing, angles, shear, cuboid):
    affine = grid_affine((40, 40, 40), spacing, rotation_deg=angles, shear=shear)
    shape = Cuboid("c", 1, 0.0, at, radii) if cuboid else Ellipsoid("e", 1, 0.0, at, radii)
    points = voxels_of(shape, affine)
    error = abs(len(points) * abs(np.linalg.det(affine[:3, :3])) - shape.volume_mm3)
    assert error <= shape.volume_error_bound_mm3(affine)
    bound = np.asarray(shape.box_error_bound_mm(affine))
    if np.isfinite(bound).all():
        half = np.abs(affine[:3, :3]).sum(axis=1) / 2
        low, high = np.asarray(shape.world_box_ras_mm)
        assert (np.abs(points.min(axis=0) - half - low) <= bound + 1e-9).all()
        assert (np.abs(points.max(axis=0) + half - high) <= bound + 1e-9).all()


@pytest.mark.parametrize("shape", [BALL, EGG, BLOCK, PIPE, BENT], ids=lambda shape: shape.name)
def test_a_shrunk_shape_lies_deep_inside(shape):
    rng = np.random.default_rng(7)
    inner = shape.shrunk(1.5)
    points = voxels_of(inner, np.diag([0.7, 0.7, 0.7, 1.0]))
    steps = rng.standard_normal((20, 3))
    steps *= 1.5 / np.linalg.norm(steps, axis=1, keepdims=True)
    assert len(points) > 50
    assert shape.contains(points[:, None, :] + steps).all()
    assert shape.shrunk(60.0) is None


@pytest.mark.parametrize(
    ("shape", "volume_mm3", "area_mm2", "extent_mm"),
    [
        (BALL, 4 / 3 * math.pi * 512, 4 * math.pi * 64, (16, 16, 16)),
        (Ellipsoid("disc", 1, 0, (0, 0, 0), (3, 3, 1)), 12 * math.pi, OBLATE_MM2, (6, 6, 2)),
        (BLOCK, 9 * 13 * 17, 2 * (9 * 13 + 13 * 17 + 9 * 17), (9, 13, 17)),
        (Tube("t", 1, 0, ((0, 0, 0), (0, 10, 0)), 2), 40 * math.pi, 48 * math.pi, (4, 10, 4)),
        (Tube("corner", 1, 0, ((0, 0, 0), (0, 10, 0), (0, 10, 10)), 2), 80 * math.pi, 88 * math.pi, (4, 12, 12)),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_textbook_values(shape, volume_mm3, area_mm2, extent_mm):
    assert shape.volume_mm3 == pytest.approx(volume_mm3)
    assert shape.surface_area_mm2 == pytest.approx(area_mm2, rel=1e-5)
    assert shape.extent_mm == pytest.approx(extent_mm)


def test_holes_belong_to_another_structure():
    hole = HOST.holes[0]
    assert not HOST.contains(hole.at_ras_mm)
    assert HOST.solid_contains(hole.at_ras_mm)
    assert HOST.volume_mm3 == pytest.approx(HOST.solid_volume_mm3 - hole.volume_mm3)
    assert HOST.center_ras_mm == pytest.approx((0, 0, 0))
    assert HOST.centroid_ras_mm[0] < -0.05
    assert HOST.volume_error_bound_mm3((1, 1, 1)) == pytest.approx(
        HOST._solid_error_bound_mm3(half_diagonal_mm((1, 1, 1))) + hole.volume_error_bound_mm3((1, 1, 1))
    )


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_placed_scales_and_moves_everything(shape):
    moved = shape.placed(0.5, (10.0, 20.0, -30.0))
    assert moved.volume_mm3 == pytest.approx(shape.volume_mm3 / 8)
    assert moved.centroid_ras_mm == pytest.approx(np.asarray(shape.centroid_ras_mm) / 2 + (10, 20, -30))
    assert np.asarray(moved.world_box_ras_mm) == pytest.approx(np.asarray(shape.world_box_ras_mm) / 2 + (10, 20, -30))


def test_the_shell_bound_is_exact_for_a_ball_but_for_its_mean_width():
    radius, reach = 8.0, 0.8
    exact = 4 / 3 * math.pi * ((radius + reach) ** 3 - radius**3)
    slack = math.pi * (3 - 2) * 2 * radius * reach**2
    assert shell_bound_mm3(4 * math.pi * radius**2, 6 * radius, reach) == pytest.approx(exact + slack)


@pytest.mark.parametrize(
    ("grid", "expected"),
    [((3, 4, 12), 6.5), (np.diag([3.0, 4, 12, 1]), 6.5), ([[1, 0, 0], [0, 1, 1], [0, 0, 1]], math.sqrt(6) / 2)],
)
def test_half_diagonal(grid, expected):
    assert half_diagonal_mm(grid) == pytest.approx(expected)


def test_too_thin_for_the_grid_has_no_box_bound():
    assert Cuboid("sheet", 1, 0.0, (0, 0, 0), (30, 30, 0.5)).box_error_bound_mm((1, 1, 1)) == (math.inf,) * 3


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Ellipsoid("e", 1, 0.0, (0, 0, 0), (1, 0, 1)), "radii_mm"),
        (lambda: Ellipsoid("e", 1, 0.0, (0, 0, math.nan), (1, 1, 1)), "at_ras_mm"),
        (lambda: Ellipsoid("e", 0, 0.0, (0, 0, 0), (1, 1, 1)), "starts at 1"),
        (lambda: Ellipsoid("e", 1, math.inf, (0, 0, 0), (1, 1, 1)), "finite"),
        (lambda: Cuboid("c", 1, 0.0, (0, 0), (1, 1, 1)), "at_ras_mm"),
        (lambda: Tube("t", 1, 0.0, ((0, 0, 0),), 1.0), "two points"),
        (lambda: Tube("t", 1, 0.0, ((0, 0, 0), (0, 0, 0)), 1.0), "must differ"),
        (lambda: Tube("t", 1, 0.0, ((0, 0, 0), (0, 0, 9)), -1.0), "positive"),
        (lambda: Tube("t", 1, 0.0, ((0, 0, 0), (0, 0, 9), (0, 0.1, 0)), 1.0), "too short"),
        (lambda: Tube("t", 1, 0.0, ((0, 0, 0), (0, 0, 4), (0, 4, 4)), 5.0), "too short"),
        (lambda: Ellipsoid("e", 1, 0.0, (0, 0, 0), (5, 5, 5), holes=(BLOCK,)), "must lie inside"),
        (lambda: BALL.volume_error_bound_mm3((1, 1)), "voxel sizes"),
    ],
)
def test_impossible_shapes_are_refused(make, said):
    with pytest.raises(SettingsError, match=said):
        make()


@pytest.mark.parametrize("name", ["solids", "tube", "generate", "label_map"])
def test_examples(name):
    outcome = doctest.testmod(importlib.import_module(f"monai_spatialqa.phantoms.{name}"))
    assert outcome.attempted > 0
    assert outcome.failed == 0
