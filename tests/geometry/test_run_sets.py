"""Structures as runs: the same structures as in the voxels, whatever the memory order, and the same marginals."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from monai_spatialqa.geometry.affine import Projection, RasGrid
from monai_spatialqa.geometry.encoder import MarginalEncoder
from monai_spatialqa.geometry.run_tensors import runs_of
from monai_spatialqa.geometry.runs import RunSet, common_voxels, contains, merged_runs, run_marginals
from monai_spatialqa.geometry.tensors import marginals_of

AFFINE = np.array([[0, -2.0, 0.1, 5], [0.2, 0, 3.0, -7], [1.5, 0.1, 0, 11], [0, 0, 0, 1]])


def ras_voxels(found: RunSet, runs: np.ndarray) -> set[tuple[int, ...]]:
    voxels = []
    for row, start, stop in runs.tolist():
        k, j = divmod(row, found.grid.shape[1])
        voxels += [(i, j, k) for i in range(start, stop)]
    if not voxels:
        return set()
    return set(map(tuple, found.grid.ras_index(np.array(voxels)).tolist()))


def in_ras(label: np.ndarray, grid: RasGrid) -> np.ndarray:
    turned = label.transpose(grid.source_axes)
    return np.flip(turned, [axis for axis in range(3) if grid.flipped[axis]])


@given(
    shape=st.tuples(*[st.integers(1, 7)] * 3),
    seed=st.integers(0, 2**32),
    order=st.permutations(range(3)),
    compiled=st.booleans(),
    dtype=st.sampled_from(["u1", "i2", "u2", "i8"]),
)
@settings(max_examples=60, deadline=None)
def test_runs_hold_the_voxels(shape, seed, order, compiled, dtype):
    label = np.random.default_rng(seed).integers(0, 4, shape).astype(dtype)
    stored = torch.from_numpy(np.ascontiguousarray(label.transpose(order))).permute(*np.argsort(order))
    assert tuple(stored.shape) == shape
    grid = RasGrid.of(shape, AFFINE)
    found = runs_of(stored, grid, compiled=compiled)
    turned = in_ras(label, grid)
    for value in range(1, 4):
        runs = found.of(value)
        assert ras_voxels(found, runs) == set(map(tuple, np.argwhere(turned == value).tolist()))
        for index in itertools.product(*map(range, turned.shape)):
            assert contains(runs, found.grid, index) == (turned[index] == value)


@given(shape=st.tuples(*[st.integers(1, 9)] * 3), seed=st.integers(0, 2**32))
@settings(max_examples=60, deadline=None)
def test_unions_have_the_marginals_of_their_voxels(shape, seed):
    label = np.random.default_rng(seed).integers(0, 5, shape).astype(np.uint8)
    if not (label == 1).any() or not (label == 3).any():
        return
    grid = RasGrid.of(shape, AFFINE)
    projection = Projection.of(grid)
    found = runs_of(torch.from_numpy(label), grid)
    union = {9: merged_runs([found.of(1), found.of(3)]), 10: found.of(3)}
    ours = run_marginals(union, found.grid, projection=projection)
    for at, members in enumerate(((1, 3), (3,))):
        whole = np.isin(label, members).astype(np.uint8)
        theirs = marginals_of(torch.from_numpy(whole), weights=projection.stored_weights(grid)).reoriented(
            grid.source_axes, grid.flipped, projection.weights
        )
        for name in ("count", "interior", "dilated"):
            assert int(getattr(ours, name)[at]) == int(getattr(theirs, name)[0])
        for name in ("index_sum", "start", "stop", "low", "high"):
            assert [int(c[at]) for c in getattr(ours, name)] == [int(c[0]) for c in getattr(theirs, name)]
    assert ours.shape == theirs.shape


@given(shape=st.tuples(st.integers(1, 20), st.integers(1, 4), st.integers(1, 4)), seed=st.integers(0, 2**32))
@settings(max_examples=60, deadline=None)
def test_common_voxels(shape, seed):
    rng = np.random.default_rng(seed)
    one, other = (rng.random(shape) < 0.5 for _ in range(2))
    grid = RasGrid.of(shape, np.eye(4))
    first, second = (runs_of(torch.from_numpy(mask), grid) for mask in (one, other))
    count, index = common_voxels(first.of(1), second.of(1), first.grid)
    assert count == int((one & other).sum())
    if count:
        assert (one & other)[tuple(first.grid.ras_index(np.array(index)))]
    else:
        assert index is None


def test_a_stream_keeps_the_same_runs(make_map):
    label = make_map((40, 9, 7), [3, 200], seed=1, dtype="u1", noise=0.01)
    encoder = MarginalEncoder(label.shape, label.dtype, keep_runs=True)
    for block in np.array_split(label.reshape(-1, order="F"), 5):
        encoder.feed(block)
    encoder.result()
    grid = RasGrid.of(label.shape, AFFINE)
    found = encoder.run_set(grid, (0, 1, 2))
    loaded = runs_of(torch.from_numpy(label), grid)
    for value in (3, 200, 7):
        assert ras_voxels(found, found.of(value)) == ras_voxels(loaded, loaded.of(value))


def test_runs_on_a_device(device):
    label = torch.zeros(5, 6, 7, dtype=torch.int32, device=device)
    label[1:3, 2:5, 3:6] = 70000
    found = runs_of(label, RasGrid.of(label.shape, np.eye(4)), compiled=False)
    assert found.labels == (70000,)
    assert len(ras_voxels(found, found.of(70000))) == 18


@pytest.mark.parametrize("compiled", [True, False])
def test_an_empty_map_has_no_runs(compiled):
    found = runs_of(torch.zeros(3, 4, 5, dtype=torch.uint8), RasGrid.of((3, 4, 5), np.eye(4)), compiled=compiled)
    assert (found.labels, len(found.runs), len(found.of(1))) == ((), 0, 0)
