"""Surface voxels: with a face neighbour outside on perpendicular axes, all that can be nearest on sheared ones."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from monai_spatialqa.geometry.affine import RasGrid
from monai_spatialqa.geometry.metric import GridMetric
from monai_spatialqa.geometry.run_tensors import runs_of
from monai_spatialqa.geometry.surface import ras_box, surface_voxels
from monai_spatialqa.geometry.surface_tree import SurfaceTree

OBLIQUE = np.array([[0, -2.0, 0.1, 5], [0.2, 0, 3.0, -7], [1.5, 0.1, 0, 11], [0, 0, 0, 1]])
PERPENDICULAR = np.array([[0, -2.0, 0, 5], [0, 0, 3.0, -7], [1.5, 0, 0, 11], [0, 0, 0, 1]])
TILTED = np.array([[1.0, 0, 0, 0], [0, 1, 0.5, 0], [0, 0, 2, 0], [0, 0, 0, 1]])


def in_ras(label: np.ndarray, grid: RasGrid) -> np.ndarray:
    return np.flip(label.transpose(grid.source_axes), [axis for axis in range(3) if grid.flipped[axis]])


def without_neighbour(mask: np.ndarray, neighbours: np.ndarray, *, outside_counts: bool) -> list[list[int]]:
    """Voxels of a mask that lack one of the neighbours, by asking each of them."""
    found = []
    for index in np.argwhere(mask):
        for step in neighbours:
            moved = index + step
            outside = (moved < 0).any() or (moved >= mask.shape).any()
            if outside_counts if outside else not mask[tuple(moved)]:
                found.append(index.tolist())
                break
    return found


@given(
    shape=st.tuples(*[st.integers(1, 9)] * 3),
    seed=st.integers(0, 2**32),
    order=st.permutations(range(3)),
    share=st.floats(0.3, 1),
    affine=st.sampled_from([PERPENDICULAR, TILTED, OBLIQUE]),
)
@settings(max_examples=80, deadline=None)
def test_surface_voxels_lack_a_neighbour(shape, seed, order, share, affine):
    label = (np.random.default_rng(seed).random(shape) < share).astype(np.uint8)
    stored = torch.from_numpy(np.ascontiguousarray(label.transpose(order))).permute(*np.argsort(order))
    grid = RasGrid.of(shape, affine)
    metric = GridMetric.of(grid)
    assert metric.sheared == (affine is not PERPENDICULAR)
    found = runs_of(stored, grid)
    mask = in_ras(label, grid) > 0
    expected = without_neighbour(mask, metric.neighbours, outside_counts=metric.sheared)
    runs = found.of(1)
    assert surface_voxels(runs, found.grid).tolist() == expected
    tree = SurfaceTree.of([runs, runs[:0]], found.grid, metric)
    assert sorted(tree.voxels.tolist()) == expected
    assert tree.roots[1] == -1
    if expected:
        root = tree.boxes[tree.roots[0]].tolist()
        assert root == [*np.min(expected, axis=0), *np.max(expected, axis=0)]
    if len(runs):
        low, high = ras_box(runs, found.grid)
        assert (low.tolist(), high.tolist()) == (np.argwhere(mask).min(0).tolist(), np.argwhere(mask).max(0).tolist())


def test_the_nodes_of_a_tree_hold_what_is_below_them(make_map):
    label = make_map((60, 37, 51), [1, 2, 3], seed=3, noise=0.01)
    grid = RasGrid.of(label.shape, PERPENDICULAR)
    found = runs_of(torch.from_numpy(label), grid)
    structures = [found.of(value) for value in (1, 2, 9, 3)]
    metric = GridMetric.of(grid)
    tree = SurfaceTree.of(structures, found.grid, metric)
    assert tree.roots[2] == -1

    def voxels_below(node: int) -> list[int]:
        below = range(int(tree.first[node]), int(tree.stop[node]))
        if node < tree.leaves:
            return list(below)
        assert all(child < node for child in below)
        assert 1 <= len(below) <= 8
        return [voxel for child in below for voxel in voxels_below(child)]

    seen = []
    for at, root in enumerate(tree.roots.tolist()):
        mine = voxels_below(root) if root >= 0 else []
        assert sorted(tree.voxels[mine].tolist()) == surface_voxels(structures[at], found.grid).tolist()
        seen += mine
    assert sorted(seen) == list(range(len(tree.voxels)))
    for node in range(len(tree.boxes)):
        inside = tree.voxels[voxels_below(node)]
        assert tree.boxes[node].tolist() == [*inside.min(0), *inside.max(0)]
    again = SurfaceTree.of(structures, found.grid, metric, threads=2)
    assert np.array_equal(again.voxels, tree.voxels)


def test_a_full_volume_has_no_surface_on_perpendicular_axes():
    full = torch.ones(4, 5, 6, dtype=torch.uint8)
    found = runs_of(full, RasGrid.of(full.shape, np.eye(4)))
    assert surface_voxels(found.of(1), found.grid).shape == (0, 3)


@pytest.mark.parametrize(
    ("affine", "sheared"),
    [
        (np.diag([1.0, 2.0, 3.0, 1.0]), False),
        (PERPENDICULAR, False),
        ([[0.5, 2e-7, 0, 0], [0, 0.5, 0, 0], [0, 0, 0.5, 0], [0, 0, 0, 1]], False),
        (TILTED, True),
    ],
)
def test_squared_distances_are_those_of_the_world(affine, sheared):
    grid = RasGrid.of((9, 8, 7), affine)
    metric = GridMetric.of(grid)
    assert metric.sheared == sheared
    assert len(metric.neighbours) == (14 if sheared else 6)
    for steps in itertools.product(range(-6, 7), repeat=3):
        ours = sum(metric.squares[axis, abs(steps[axis])] for axis in range(3))
        ours += sum(metric.cross[at] * steps[a] * steps[b] for at, (a, b) in enumerate(((0, 1), (0, 2), (1, 2))))
        world = float(((grid.affine[:3, :3] @ np.array(steps)) ** 2).sum())
        assert ours == pytest.approx(world, rel=2e-6)
        if sheared:
            assert world * (1 - 3e-9) <= float(((metric.frame @ np.array(steps)) ** 2).sum()) <= ours


@given(
    shear=st.lists(st.floats(-3, 3), min_size=3, max_size=3),
    spacing=st.lists(st.floats(0.2, 5), min_size=3, max_size=3),
)
@settings(max_examples=60, deadline=None)
def test_a_step_to_a_neighbour_leads_nearer_to_every_other_voxel(shear, spacing):
    axes = np.array([[1, shear[0], shear[1]], [0, 1, shear[2]], [0, 0, 1]]) * spacing
    affine = np.eye(4)
    affine[:3, :3] = axes
    grid = RasGrid.of((5, 5, 5), affine)
    metric = GridMetric.of(grid)
    steps = np.array(list(itertools.product(range(-4, 5), repeat=3)))
    steps = steps[(steps != 0).any(axis=1)]

    def squared(offsets: np.ndarray) -> np.ndarray:
        return ((offsets @ grid.affine[:3, :3].T) ** 2).sum(axis=-1)

    after = squared(steps[:, None] - metric.neighbours[None]).min(axis=1)
    assert (after < squared(steps) * (1 - 1e-9)).all()
