"""Surface distances: against every pair of voxels, against other libraries, and the same however a volume is stored."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import ndimage
from scipy.spatial import cKDTree

from monai_spatialqa.errors import SettingsError
from monai_spatialqa.geometry.affine import RasGrid
from monai_spatialqa.geometry.distances import all_pairs
from monai_spatialqa.geometry.nearest import SurfaceDistances, surface_distance_matrix, surface_distances
from monai_spatialqa.geometry.run_tensors import runs_of
from monai_spatialqa.geometry.runs import merged_runs
from monai_spatialqa.phantoms import make_label_map

PERPENDICULAR = np.array([[0, -2.0, 0, 5], [0, 0, 3.0, -7], [1.5, 0, 0, 11], [0, 0, 0, 1]])
TILTED = np.array([[1.0, 0, 0, 0], [0, 1, 0.5, 0], [0, 0, 2, 0], [0, 0, 0, 1]])
HEXAGONAL = np.array([[2.0, 1, 0, 0], [0, math.sqrt(3), 0, 0], [0, 0, 2, 0], [0, 0, 0, 1]])
SKEWED = np.array([[1.0, 0.7, 1.3, 0], [0, 1, 0.9, 0], [0, 0, 1, 0], [0, 0, 0, 1]])


def rotation(angles: tuple[float, float, float]) -> np.ndarray:
    result = np.eye(3)
    for axis, angle in enumerate(angles):
        turn = np.eye(3)
        a, b = [at for at in range(3) if at != axis]
        turn[a, a] = turn[b, b] = math.cos(angle)
        turn[a, b], turn[b, a] = -math.sin(angle), math.sin(angle)
        result = result @ turn
    return result


OBLIQUE = np.eye(4)
OBLIQUE[:3, :3] = rotation((0.3, -0.2, 0.1)) * [0.8, 0.7, 2.5]


def in_ras(label: np.ndarray, grid: RasGrid) -> np.ndarray:
    return np.flip(label.transpose(grid.source_axes), [axis for axis in range(3) if grid.flipped[axis]])


def every_pair(first: np.ndarray, second: np.ndarray, affine: np.ndarray) -> tuple[float, set[tuple[int, ...]]]:
    """Smallest world distance between voxels (V, 3), and all pairs of voxels at it, as six indices."""
    steps = second[None].astype(float) - first[:, None]
    squared = ((steps @ affine[:3, :3].T) ** 2).sum(axis=-1)
    nearest = np.argwhere(squared <= squared.min() * (1 + 1e-9))
    return math.sqrt(squared.min()), {(*first[a].tolist(), *second[b].tolist()) for a, b in nearest}


def same(one: SurfaceDistances, other: SurfaceDistances) -> bool:
    return all(
        np.array_equal(getattr(one, name), getattr(other, name), equal_nan=name == "distance_mm")
        for name in ("distance_mm", "first_index", "second_index", "overlap_voxels")
    )


def of_masks(masks: list[np.ndarray], affine: np.ndarray, pairs: list[tuple[int, int]]) -> SurfaceDistances:
    """Surface distances of masks, which may overlap; their indices are those of the RAS grid."""
    grid = RasGrid.of(masks[0].shape, affine)
    found = [runs_of(torch.from_numpy(mask.astype(np.uint8)), grid) for mask in masks]
    return surface_distances([one.of(1) for one in found], pairs, found[0].grid)


@given(
    shape=st.tuples(*[st.integers(1, 8)] * 3),
    seed=st.integers(0, 2**32),
    share=st.floats(0.05, 1),
    affine=st.sampled_from([np.eye(4), PERPENDICULAR, OBLIQUE, TILTED, HEXAGONAL, SKEWED]),
)
@settings(max_examples=150, deadline=None)
def test_every_pair_of_voxels_agrees(shape, seed, share, affine):
    rng = np.random.default_rng(seed)
    label = rng.integers(1, 4, shape) * (rng.random(shape) < share)
    label = np.repeat(np.repeat(label, rng.integers(1, 3), 0), rng.integers(1, 3), 1)  # larger pieces, too
    grid = RasGrid.of(label.shape, affine)
    found = runs_of(torch.from_numpy(label.astype(np.uint8)), grid)
    turned = in_ras(label, grid)
    distances = surface_distance_matrix([found.of(value) for value in (1, 2, 3)], found.grid)
    for at, (a, b) in enumerate(((1, 2), (1, 3), (2, 3))):
        first, second = np.argwhere(turned == a), np.argwhere(turned == b)
        ours = (*distances.first_index[at].tolist(), *distances.second_index[at].tolist())
        if not len(first) or not len(second):
            assert math.isnan(distances.distance_mm[at])
            assert ours == (-1,) * 6
            continue
        expected, nearest = every_pair(first, second, grid.affine)
        assert distances.distance_mm[at] == pytest.approx(expected, rel=1e-12)
        assert ours in nearest
        if affine is not OBLIQUE and affine is not SKEWED and affine is not HEXAGONAL:  # ties are exact
            assert ours == min(nearest)
    assert not distances.overlap_voxels.any()


@pytest.mark.parametrize("affine", [PERPENDICULAR, OBLIQUE, TILTED])
def test_trees_of_points_agree(affine):
    label = make_label_map((70, 60, 50), 40, seed=2)
    grid = RasGrid.of(label.shape, affine)
    found = runs_of(torch.from_numpy(label), grid)
    turned = in_ras(label, grid)
    places = [np.argwhere(turned == value) @ grid.affine[:3, :3].T for value in range(1, 41)]
    trees = [cKDTree(place) for place in places]
    distances = surface_distance_matrix([found.of(value) for value in range(1, 41)], found.grid)
    for at, (a, b) in enumerate(zip(*all_pairs(40), strict=True)):
        if at % 7 == 0:
            expected = trees[a].query(places[b])[0].min()
            assert distances.distance_mm[at] == pytest.approx(expected, abs=1e-9)
            gap = grid.affine[:3, :3] @ (distances.second_index[at] - distances.first_index[at])
            assert np.linalg.norm(gap) == pytest.approx(expected, abs=1e-9)
            assert turned[tuple(distances.first_index[at])] == a + 1
            assert turned[tuple(distances.second_index[at])] == b + 1


def test_distance_transforms_agree():
    label = make_label_map((90, 80, 40), 30, seed=5)
    spacing = (0.7, 0.9, 2.0)
    grid = RasGrid.of(label.shape, np.diag([*spacing, 1.0]))
    found = runs_of(torch.from_numpy(label), grid)
    structures = [found.of(value) for value in range(1, 31)]
    distances = surface_distances(structures, [(0, other) for other in range(1, 30)], found.grid)
    to_first = ndimage.distance_transform_edt(label != 1, sampling=spacing)
    expected = ndimage.minimum(to_first, label, range(2, 31))
    assert distances.distance_mm == pytest.approx(expected, abs=1e-9)


def with_union(label: np.ndarray, affine: np.ndarray, **options: int) -> SurfaceDistances:
    """All distances of the structures 1 to 3 and of the union of 2 and 3, which overlaps two of them."""
    found = runs_of(torch.from_numpy(label), RasGrid.of(label.shape, affine))
    structures = [found.of(value) for value in (1, 2, 3)]
    return surface_distance_matrix([*structures, merged_runs(structures[1:])], found.grid, **options)


@given(seed=st.integers(0, 2**32), order=st.permutations(range(3)), flips=st.tuples(*[st.booleans()] * 3))
@settings(max_examples=60, deadline=None)
def test_storage_and_threads_do_not_matter(seed, order, flips):
    # Coarse pieces, so that many pairs of voxels are equally near.
    rng = np.random.default_rng(seed)
    pieces = rng.integers(0, 4, (3, 4, 3)) * (rng.random((3, 4, 3)) < 0.5)
    label = np.kron(pieces, np.ones((5, 4, 6))).astype(np.uint8)
    affine = [PERPENDICULAR, TILTED, OBLIQUE][seed % 3]
    expected = with_union(label, affine)
    assert same(with_union(np.asfortranarray(label), affine), expected)
    assert same(with_union(label, affine, threads=3), expected)

    # The same world, stored with other axes and directions.
    turned, moved = label.transpose(order), affine.copy()
    moved[:, :3] = affine[:, list(order)]
    for axis in range(3):
        if flips[axis]:
            turned = np.flip(turned, axis)
            moved[:3, 3] += moved[:3, axis] * (turned.shape[axis] - 1)
            moved[:3, axis] = -moved[:3, axis]
    assert same(with_union(np.ascontiguousarray(turned), moved), expected)


def test_br_008_single_voxels_in_mm_not_voxels():
    label = torch.zeros(5, 5, 8, dtype=torch.uint8)
    label[2, 2, 2], label[2, 2, 5] = 1, 2
    found = runs_of(label, RasGrid.of(label.shape, np.diag([1.0, 1.0, 4.0, 1.0])))
    distances = surface_distance_matrix([found.of(1), found.of(2)], found.grid)
    assert distances.distance_mm.tolist() == [12.0]
    assert distances.first_index.tolist() == [[2, 2, 2]]
    assert distances.second_index.tolist() == [[2, 2, 5]]


@pytest.mark.parametrize("axis", range(3))
def test_touching_faces_are_one_spacing_apart(axis):
    label = np.ones((6, 6, 6), np.uint8)
    np.moveaxis(label, axis, 0)[3:] = 2
    found = of_masks([label == 1, label == 2], np.diag([0.7, 0.9, 2.5, 1.0]), [(0, 1), (1, 0)])
    assert found.distance_mm.tolist() == [(0.7, 0.9, 2.5)[axis]] * 2
    first, second = [0, 0, 0], [0, 0, 0]
    first[axis], second[axis] = 2, 3
    assert found.first_index.tolist() == [first, second]
    assert found.second_index.tolist() == [second, first]


def test_br_025_gantry_tilt_is_measured_in_the_world():
    label = np.zeros((1, 9, 9), np.uint8)
    label[0, 8, 0], label[0, 0, 4] = 1, 2
    found = of_masks([label == 1, label == 2], TILTED, [(0, 1)])
    assert found.distance_mm[0] == pytest.approx(math.hypot(8 - 4 * 0.5, 4 * 2), rel=1e-15)


def test_one_inside_the_other():
    mask = np.zeros((30, 30, 30), bool)
    mask[2:28, 2:28, 2:28] = True
    shell, core = mask.copy(), np.zeros_like(mask)
    shell[8:22, 8:22, 8:22] = False
    core[13:15, 13:15, 12:15] = True
    found = of_masks([shell, core, mask], np.eye(4), [(0, 1), (2, 1), (0, 2)])
    assert found.distance_mm.tolist() == [5.0, 0.0, 0.0]
    assert found.overlap_voxels.tolist() == [0, 12, int(shell.sum())]
    assert found.first_index.tolist() == [[13, 13, 7], [13, 13, 12], [2, 2, 2]]
    assert found.second_index.tolist() == [[13, 13, 12], [13, 13, 12], [2, 2, 2]]


@pytest.mark.parametrize("affine", [np.eye(4), PERPENDICULAR, TILTED])
def test_br_072_no_distance_to_nothing(affine):
    full, empty = np.ones((4, 5, 6), bool), np.zeros((4, 5, 6), bool)
    found = of_masks([full, empty], affine, [(0, 1), (1, 0), (1, 1), (0, 0)])
    assert np.isnan(found.distance_mm[:3]).all()
    assert (found.first_index[:3] == -1).all()
    assert (found.second_index[:3] == -1).all()
    assert (found.distance_mm[3], found.overlap_voxels.tolist()) == (0.0, [0, 0, 0, 120])
    assert found.first_index[3].tolist() == found.second_index[3].tolist() == [0, 0, 0]


@pytest.mark.parametrize("pair", [(0, 2), (-1, 0)])
def test_pairs_of_structures_that_are_not_there(pair):
    mask = np.ones((2, 2, 2), bool)
    with pytest.raises(SettingsError, match="not there"):
        of_masks([mask, mask], np.eye(4), [pair])


def test_no_pairs_and_no_structures():
    mask = np.ones((2, 2, 2), bool)
    found = of_masks([mask], np.eye(4), [])
    assert found.distance_mm.shape == (0,)
    assert found.first_index.shape == (0, 3)
    grid = runs_of(torch.ones(2, 2, 2, dtype=torch.uint8), RasGrid.of((2, 2, 2), np.eye(4))).grid
    assert surface_distance_matrix([], grid).distance_mm.shape == (0,)


@given(seed=st.integers(0, 2**32))
@settings(max_examples=40, deadline=None)
def test_overlaps(seed):
    rng = np.random.default_rng(seed)
    masks = [np.kron(rng.random((4, 3, 3)) < 0.3, np.ones((1, 2, 3))) > 0 for _ in range(3)]
    pairs = list(itertools.permutations(range(3), 2))
    found = of_masks(masks, PERPENDICULAR, pairs)
    grid = RasGrid.of(masks[0].shape, PERPENDICULAR)
    for at, (a, b) in enumerate(pairs):
        common = np.argwhere(in_ras(masks[a] & masks[b], grid))
        assert found.overlap_voxels[at] == len(common)
        if len(common):
            assert found.distance_mm[at] == 0
            assert found.first_index[at].tolist() == found.second_index[at].tolist() == common[0].tolist()
        elif masks[a].any() and masks[b].any():
            assert found.distance_mm[at] > 0


@pytest.mark.parametrize("dtype", [np.int16, np.uint16, np.int32, np.int64, np.uint64])
def test_wide_types_and_large_ids(dtype):
    small = make_label_map((30, 20, 24), 5, seed=1)
    large = small.astype(dtype)
    values = [int(np.iinfo(dtype).max) - at for at in range(5)]
    for at, value in enumerate(values):
        large[small == at + 1] = value
    grid = RasGrid.of(small.shape, PERPENDICULAR)
    one, other = runs_of(torch.from_numpy(small), grid), runs_of(torch.from_numpy(large), grid)
    assert sorted(other.labels) == sorted(values)
    assert same(
        surface_distance_matrix([one.of(at) for at in range(1, 6)], one.grid),
        surface_distance_matrix([other.of(value) for value in values], other.grid),
    )


@pytest.mark.parametrize("kind", [np.int32, np.int64, np.uint32])
def test_any_type_of_runs(kind):
    label = make_label_map((30, 20, 24), 4, seed=1)
    found = runs_of(torch.from_numpy(label), RasGrid.of(label.shape, TILTED))
    structures = [found.of(value) for value in range(1, 5)]
    expected = surface_distance_matrix(structures, found.grid)
    assert same(surface_distance_matrix([runs.astype(kind) for runs in structures], found.grid), expected)


def test_noise_and_faces_with_many_nearest_pairs():
    # Structures that touch everywhere: every pair of voxels at one spacing is a tie.
    noise = np.random.default_rng(0).integers(1, 9, (48, 40, 32)).astype(np.uint8)
    grid = RasGrid.of(noise.shape, np.eye(4))
    found = runs_of(torch.from_numpy(noise), grid)
    distances = surface_distance_matrix([found.of(value) for value in range(1, 9)], found.grid)
    for at, (a, b) in enumerate(zip(*all_pairs(8), strict=True)):
        ties = []
        for axis, step in itertools.product(range(3), (-1, 1)):
            beside = np.roll(noise == b + 1, -step, axis)
            np.moveaxis(beside, axis, 0)[-1 if step > 0 else 0] = False
            for voxel in np.argwhere((noise == a + 1) & beside)[:1].tolist():
                ties.append((*voxel, *(voxel[at] + step * (at == axis) for at in range(3))))
        assert (*distances.first_index[at].tolist(), *distances.second_index[at].tolist()) == min(ties)
        assert distances.distance_mm[at] == 1
