"""Contact faces from runs against counting every pair of neighbouring voxels."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monai_spatialqa.geometry.affine import RasGrid
from monai_spatialqa.geometry.contact import contacts_among, contacts_of, face_areas_mm2

KINDS = ["identity", "flipped", "permuted", "oblique", "sheared"]


def counted(first: np.ndarray, second: np.ndarray) -> list[int]:
    """Faces per axis between a voxel of the first alone and a voxel of the second alone."""
    alone, other = first & ~second, second & ~first
    faces = []
    for axis in range(3):
        low = tuple(slice(None, -1) if n == axis else slice(None) for n in range(3))
        high = tuple(slice(1, None) if n == axis else slice(None) for n in range(3))
        faces.append(int((alone[low] & other[high]).sum() + (other[low] & alone[high]).sum()))
    return faces


def all_pairs(count: int) -> list[tuple[int, int]]:
    return list(itertools.combinations(range(count), 2))


@given(
    shape=st.tuples(*[st.integers(1, 7)] * 3),
    seed=st.integers(0, 2**32),
    top=st.integers(1, 5),
    order=st.permutations(range(3)),
    kind=st.sampled_from(KINDS),
)
@settings(max_examples=100, deadline=None)
def test_one_label_map(shape, seed, top, order, kind, affines, run_set, in_ras):
    label = np.random.default_rng(seed).integers(0, top + 1, shape).astype(np.uint8)
    found = run_set(label, affines[kind], order)
    turned = in_ras(label, found.grid.ras)
    pairs = all_pairs(len(found.labels))
    expected = [counted(turned == found.labels[a], turned == found.labels[b]) for a, b in pairs]
    contacts = contacts_of(found)
    assert contacts.between(pairs).tolist() == expected
    assert contacts.between([(b, a) for a, b in pairs]).tolist() == expected
    assert contacts.pairs.tolist() == [list(pair) for pair, faces in zip(pairs, expected, strict=True) if any(faces)]
    given_apart = contacts_among([found.of(label) for label in found.labels], found.grid)
    assert given_apart.between(pairs).tolist() == expected
    assert given_apart.pairs.tolist() == contacts.pairs.tolist()


@given(
    shape=st.tuples(*[st.integers(1, 7)] * 3),
    seed=st.integers(0, 2**32),
    count=st.integers(0, 5),
    share=st.sampled_from([0.2, 0.5, 0.8]),
    order=st.permutations(range(3)),
    kind=st.sampled_from(KINDS),
)
@settings(max_examples=150, deadline=None)
def test_structures_that_overlap(shape, seed, count, share, order, kind, affines, run_set, in_ras):
    masks = np.random.default_rng(seed).random((count, *shape)) < share
    sets = [run_set(mask, affines[kind], order) for mask in masks]
    grid = run_set(np.zeros(shape, bool), affines[kind], order).grid
    turned = [in_ras(mask, grid.ras) for mask in masks]
    pairs = all_pairs(count)
    contacts = contacts_among([found.of(1) for found in sets], grid)
    assert contacts.between(pairs).tolist() == [counted(turned[a], turned[b]) for a, b in pairs]


def test_many_overlapping_boxes(run_set):
    rng = np.random.default_rng(4)
    masks = np.zeros((40, 30, 31, 32), bool)
    for mask in masks:
        low = rng.integers(0, 20, 3)
        high = low + rng.integers(1, 12, 3)
        mask[tuple(slice(a, b) for a, b in zip(low, high, strict=True))] = True
    sets = [run_set(mask) for mask in masks]
    pairs = all_pairs(len(masks))
    contacts = contacts_among([found.of(1) for found in sets], sets[0].grid)
    assert contacts.between(pairs).tolist() == [counted(masks[a], masks[b]) for a, b in pairs]


def test_more_touching_pairs_than_the_first_table_holds(run_set):
    blocks = np.random.default_rng(0).permutation(12 * 13 * 14).reshape(12, 13, 14)
    label = blocks.repeat(2, 0).repeat(3, 1).repeat(2, 2).astype(np.uint16)
    found = run_set(label)
    contacts = contacts_of(found)
    assert len(contacts.pairs) > 6000
    values = np.array(found.labels)[contacts.pairs]
    for pair, faces in list(zip(values, contacts.faces, strict=True))[::331]:
        assert faces.tolist() == counted(label == pair[0], label == pair[1])
    for axis, length in enumerate(label.shape):
        one, other = label.take(range(length - 1), axis), label.take(range(1, length), axis)
        assert contacts.faces[:, axis].sum() == ((one != other) & (one > 0) & (other > 0)).sum()


def test_two_layers_of_an_organ_and_its_tumour(run_set):
    organ, tumour, neighbour = np.zeros((3, 12, 12, 12), bool)
    organ[2:8, 2:10, 2:10] = True
    tumour[4:6, 4:6, 4:6] = True
    neighbour[8:11, 2:10, 2:10] = True
    sets = [run_set(mask) for mask in (organ, tumour, neighbour)]
    contacts = contacts_among([found.of(1) for found in sets], sets[0].grid)
    assert contacts.between([(0, 1), (0, 2), (1, 2)]).tolist() == [[0, 0, 0], [64, 0, 0], [0, 0, 0]]
    carved = np.where(tumour, 2, organ).astype(np.uint8)  # the same as a label map, where the tumour is a hole
    found = run_set(carved)
    assert contacts_of(found).between([(0, 1)]).tolist() == [[8, 8, 8]]


def test_areas_come_from_the_affine(affines, run_set):
    for matrix in affines.values():
        grid = RasGrid.of((4, 4, 4), matrix)
        columns = grid.affine[:3, :3]
        for axis, area in enumerate(face_areas_mm2(grid)):
            one, other = np.delete(columns, axis, axis=1).T
            gram = (one @ one) * (other @ other) - (one @ other) ** 2
            assert area == pytest.approx(np.sqrt(gram))
    label = np.zeros((4, 4, 4), np.uint8)
    label[:2] = 1
    label[2:, :, :2] = 2
    found = run_set(label, np.diag([2.0, 3.0, 5.0, 1]))
    contacts = contacts_of(found)
    assert contacts.between([(0, 1)]).tolist() == [[8, 0, 0]]
    assert contacts.area_mm2([(0, 1), (1, 0), (0, 0)]).tolist() == [8 * 15.0, 8 * 15.0, 0]


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_opposite_borders_do_not_touch(order, run_set):
    for axis in range(3):
        label = np.zeros((3, 4, 5), np.uint8)
        label[tuple(0 if n == axis else slice(None) for n in range(3))] = 1
        label[tuple(-1 if n == axis else slice(None) for n in range(3))] = 2
        assert len(contacts_of(run_set(label, order=order)).pairs) == 0


def test_nothing_touches_in_an_empty_map(run_set):
    found = run_set(np.zeros((2, 3, 4), np.uint8))
    assert contacts_of(found).between([]).shape == (0, 3)
    assert contacts_among([found.of(1), found.of(2)], found.grid).between([(0, 1)]).tolist() == [[0, 0, 0]]
