"""Components from runs: the same as scikit-image's and scipy's, whatever the memory order."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import ndimage
from skimage.measure import label as label_image

from monai_spatialqa.errors import SettingsError
from monai_spatialqa.geometry.components import Components, components_of

KINDS = ["identity", "flipped", "permuted", "oblique", "sheared"]
RANK = {6: 1, 18: 2, 26: 3}
"""How scipy and scikit-image name the neighbourhoods."""

Found = list[tuple[int, tuple[int, ...], tuple[int, ...]]]


def listed(found: Components) -> Found:
    return [
        (count, tuple(start), tuple(stop))
        for count, start, stop in zip(
            found.voxel_count.tolist(), found.start.tolist(), found.stop.tolist(), strict=True
        )
    ]


def expected(mask: np.ndarray, connectivity: int) -> Found:
    """By scikit-image; scipy must agree."""
    numbers, count = label_image(mask, connectivity=RANK[connectivity], return_num=True)
    assert count == ndimage.label(mask, ndimage.generate_binary_structure(3, RANK[connectivity]))[1]
    found = []
    for number, box in enumerate(ndimage.find_objects(numbers), start=1):
        size = int((numbers[box] == number).sum())
        found.append((size, tuple(axis.start for axis in box), tuple(axis.stop for axis in box)))
    return sorted(found, key=lambda one: (-one[0], one[1], one[2]))


@given(
    shape=st.tuples(*[st.integers(1, 8)] * 3),
    seed=st.integers(0, 2**32),
    share=st.sampled_from([0.1, 0.2, 0.3, 0.5, 0.9]),
    order=st.permutations(range(3)),
    kind=st.sampled_from(KINDS),
    connectivity=st.sampled_from([6, 18, 26]),
)
@settings(max_examples=150, deadline=None)
def test_the_same_as_scikit_image_and_scipy(shape, seed, share, order, kind, connectivity, affines, run_set, in_ras):
    mask = np.random.default_rng(seed).random(shape) < share
    found = run_set(mask, affines[kind], order)
    ours = components_of(found.of(1), found.grid, connectivity)
    assert listed(ours) == expected(in_ras(mask, found.grid.ras), connectivity)
    assert ours.count == len(ours.voxel_count)
    assert ours.connectivity == connectivity


@given(seed=st.integers(0, 2**32), width=st.integers(60, 70))
@settings(max_examples=10, deadline=None)
def test_long_rows_with_many_runs(seed, width, run_set):
    mask = np.random.default_rng(seed).random((5, 4, width)) < 0.35
    found = run_set(mask)
    for connectivity in (6, 18, 26):
        assert listed(components_of(found.of(1), found.grid, connectivity)) == expected(mask, connectivity)


@pytest.mark.parametrize("connectivity", [6, 18, 26])
def test_borders_do_not_wrap_around(connectivity, run_set):
    shape = (3, 4, 5)
    for order in itertools.permutations(range(3)):
        for corners in itertools.product(*[(0, length - 1) for length in shape]):
            mask = np.zeros(shape, bool)
            mask[corners] = True
            mask[tuple(length - 1 - at for at, length in zip(corners, shape, strict=True))] = True
            for axis in range(3):  # and along one axis alone
                mask[tuple(shape[axis] - 1 - at if axis == n else at for n, at in enumerate(corners))] = True
            found = run_set(mask, order=order)
            ours = components_of(found.of(1), found.grid, connectivity)
            assert listed(ours) == expected(mask, connectivity)
            assert ours.count == int(mask.sum())


def test_the_last_row_of_a_plane_does_not_touch_the_first_of_the_next(run_set):
    mask = np.zeros((4, 4, 6), bool)
    mask[0, 3, 2:5] = mask[1, 0, 2:5] = mask[2, 3, 2:5] = mask[3, 0, 2:5] = True
    found = run_set(mask)
    assert components_of(found.of(1), found.grid, 26).count == 4


def test_br_068_both_kidneys_under_one_id(run_set):
    label = np.zeros((30, 20, 10), np.uint8)
    label[3:8, 5:12, 2:8] = 2
    label[20:26, 5:12, 2:8] = 2
    found = run_set(label)
    ours = components_of(found.of(2), found.grid)
    assert ours.count == 2
    assert ours.voxel_count.tolist() == [6 * 7 * 6, 5 * 7 * 6]
    assert ours.start.tolist() == [[20, 5, 2], [3, 5, 2]]
    assert ours.stop.tolist() == [[26, 12, 8], [8, 12, 8]]


@pytest.mark.parametrize(("connectivity", "count"), [(6, 2), (18, 2), (26, 1)])
def test_br_069_the_neighbourhood_decides(connectivity, count, run_set):
    label = np.zeros((3, 4, 3), np.uint8)
    for voxel in ((0, 0, 0), (1, 1, 1), (1, 2, 1)):
        label[voxel] = 1
    for order in itertools.permutations(range(3)):
        found = run_set(label, order=order)
        ours = components_of(found.of(1), found.grid, connectivity)
        assert (ours.count, ours.connectivity) == (count, connectivity)
    assert components_of(found.of(1), found.grid).connectivity == 26


def test_ties_are_ordered_along_the_ras_axes(run_set):
    label = np.zeros((6, 6, 6), np.uint8)
    for voxel in ((0, 4, 2), (2, 0, 4), (4, 2, 0), (0, 2, 4)):
        label[voxel] = 1
    for order in itertools.permutations(range(3)):
        found = run_set(label, np.diag([-1.0, 1, 1, 1]), order)
        ours = components_of(found.of(1), found.grid)
        assert ours.start.tolist() == [[1, 2, 0], [3, 0, 4], [5, 2, 4], [5, 4, 2]]


def test_a_structure_without_voxels_has_none(run_set):
    found = run_set(np.zeros((2, 3, 4), np.uint8))
    ours = components_of(found.of(1), found.grid)
    assert (ours.count, ours.start.shape, ours.stop.shape) == (0, (0, 3), (0, 3))


@pytest.mark.parametrize("connectivity", [1, 4, 8, 27, "6"])
def test_no_other_neighbourhood(connectivity, run_set):
    found = run_set(np.ones((2, 2, 2), np.uint8))
    with pytest.raises(SettingsError, match="neighbourhood") as caught:
        components_of(found.of(1), found.grid, connectivity)
    assert caught.value.key == "connectivity"


def test_a_large_noisy_map(run_set):
    mask = np.random.default_rng(1).random((150, 140, 130)) < 0.12
    found = run_set(mask)
    ours = components_of(found.of(1), found.grid)
    assert listed(ours) == expected(mask, 26)
    assert ours.count > 1000
