"""Containment from runs against deciding for every voxel, by linear programming, whether it is in the hull."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.spatial import ConvexHull

from monai_spatialqa.geometry.containment import DilatedHull, contained_share

KINDS = ["identity", "flipped", "permuted", "oblique", "sheared"]
CORNERS = np.array(list(itertools.product((-0.5, 0.5), repeat=3)))


def by_half_spaces(inner: np.ndarray, outer: np.ndarray) -> float:
    """The definition, word for word: hull of all voxel corners, facets moved out by half a voxel per axis."""
    hull = ConvexHull((np.argwhere(outer)[:, None] + CORNERS).reshape(-1, 3))
    normals, offsets = hull.equations[:, :3], hull.equations[:, 3]
    moved = offsets - 0.5 * np.abs(normals).sum(axis=1)
    return float((np.argwhere(inner) @ normals.T + moved <= 1e-9).all(axis=1).mean())


def by_linear_programs(inner: np.ndarray, outer: np.ndarray) -> float:
    """Is a centre a convex combination of the corners of voxels that are twice as wide?"""
    points = (np.argwhere(outer)[:, None] + 2 * CORNERS).reshape(-1, 3)
    system = np.vstack([points.T, np.ones(len(points))])
    inside = [
        linprog(np.zeros(len(points)), A_eq=system, b_eq=[*voxel, 1], method="highs").status == 0
        for voxel in np.argwhere(inner)
    ]
    return float(np.mean(inside))


@given(
    shape=st.tuples(*[st.integers(1, 8)] * 3),
    seed=st.integers(0, 2**32),
    share=st.sampled_from([0.02, 0.05, 0.2, 0.6]),
    order=st.permutations(range(3)),
    kind=st.sampled_from(KINDS),
)
@settings(max_examples=150, deadline=None)
def test_the_same_as_by_definition(shape, seed, share, order, kind, affines, run_set, in_ras):
    rng = np.random.default_rng(seed)
    inner, outer = rng.random(shape) < 0.4, rng.random(shape) < share
    sets = [run_set(mask, affines[kind], order) for mask in (inner, outer)]
    ours = contained_share(sets[0].of(1), sets[1].of(1), sets[0].grid)
    if not inner.any() or not outer.any():
        assert math.isnan(ours)
        return
    turned = [in_ras(mask, sets[0].grid.ras) for mask in (inner, outer)]
    assert ours == by_half_spaces(*turned)


@given(shape=st.tuples(*[st.integers(2, 6)] * 3), seed=st.integers(0, 2**32))
@settings(max_examples=15, deadline=None)
def test_the_same_as_by_linear_programs(shape, seed, run_set):
    rng = np.random.default_rng(seed)
    inner, outer = rng.random(shape) < 0.3, rng.random(shape) < 0.05
    if inner.any() and outer.any():
        one, other = run_set(inner), run_set(outer)
        assert contained_share(one.of(1), other.of(1), one.grid) == by_linear_programs(inner, outer)


def ball(shape, center, radius):
    where = np.stack(np.meshgrid(*map(np.arange, shape), indexing="ij"), axis=-1)
    return ((where - np.array(center)) ** 2).sum(axis=-1) <= radius**2


def test_a_tumour_is_a_hole_in_its_organ(run_set):
    label = ball((40, 40, 40), (20, 20, 20), 15).astype(np.uint8)
    label[ball((40, 40, 40), (24, 20, 18), 5)] = 2
    found = run_set(label)
    organ, tumour = found.of(1), found.of(2)
    assert contained_share(tumour, organ, found.grid) == 1
    assert contained_share(organ, tumour, found.grid) < 0.05


def test_a_tumour_at_the_surface_of_its_organ(run_set):
    label = ball((40, 40, 40), (20, 20, 20), 15).astype(np.uint8)
    bump = ball((40, 40, 40), (33, 20, 20), 5)
    label[bump] = 2
    found = run_set(label)
    assert 0.3 < contained_share(found.of(2), found.of(1), found.grid) < 1


def test_the_hull_reaches_one_step_beyond_the_voxels(run_set):
    """Half a voxel to the outer face and half a voxel of dilation: the next centre lies on the border, and counts."""
    outer = np.zeros((9, 9, 9), bool)
    outer[3:6, 3:6, 3:6] = True
    other = run_set(outer)
    hull = DilatedHull.of(other.of(1), other.grid)
    for voxel in itertools.product(range(9), repeat=3):
        inner = np.zeros((9, 9, 9), bool)
        inner[voxel] = True
        assert hull.share(run_set(inner).of(1)) == all(2 <= at <= 6 for at in voxel)


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_single_voxels_lines_and_sheets(order, run_set):
    shape = (5, 6, 7)
    everything = run_set(np.ones(shape, bool), order=order)
    for where, inside in [
        ((2, 3, 3), 27),
        ((0, 0, 0), 8),
        ((slice(None), 3, 3), 45),
        ((slice(None), slice(None), 0), 60),
        ((slice(None),) * 3, 210),
    ]:
        outer = np.zeros(shape, bool)
        outer[where] = True
        found = run_set(outer, order=order)
        assert DilatedHull.of(found.of(1), found.grid).voxels_inside(everything.of(1)) == inside


def test_apart(run_set):
    label = np.zeros((30, 30, 30), np.uint8)
    label[:5, :5, :5] = 1
    label[20:, 20:, 20:] = 2
    found = run_set(label)
    assert contained_share(found.of(1), found.of(2), found.grid) == 0


def test_a_large_ball(run_set):
    shape = (200, 190, 180)
    outer = ball(shape, (100, 90, 85), 80)
    inner = ball(shape, (160, 110, 90), 40)
    found = run_set(np.where(outer, 1, 0).astype(np.uint8))
    other = run_set(inner)
    hull = DilatedHull.of(found.of(1), found.grid)
    assert hull.voxels_inside(found.of(1)) == outer.sum()
    share = hull.share(other.of(1))
    assert share > (inner & outer).sum() / inner.sum()
    assert share < (inner & ball(shape, (100, 90, 85), 82)).sum() / inner.sum()
