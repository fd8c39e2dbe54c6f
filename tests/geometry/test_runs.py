"""The compiled loops where rows are long: words of bits, several runs of a structure in a row, chunks of voxels."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monai_spatialqa.geometry.encoder import MarginalEncoder

WEIGHTS = ((3, -2, 1), (-5, 7, 0), (1, 1, -9))


def encoded(label: np.ndarray, block: int = 1 << 20) -> MarginalEncoder:
    taker = MarginalEncoder(label.shape, label.dtype, weights=WEIGHTS, keep_runs_bytes=1 << 24)
    flat = label.reshape(-1, order="F")
    for start in range(0, flat.size, block):
        taker.feed(flat[start : start + block])
    return taker


@given(
    length=st.integers(60, 300),
    seed=st.integers(0, 2**32),
    count=st.integers(1, 5),
    noise=st.sampled_from([0.0, 0.002, 0.05]),
    gap=st.sampled_from([None, 3, 61, 64, 70, 128]),
    dtype=st.sampled_from(["u1", "i2", "u4", "i8"]),
    block=st.sampled_from([1, 63, 64, 65, 1000, 1 << 20]),
)
@settings(max_examples=60, deadline=None)
def test_long_rows(length, seed, count, noise, gap, dtype, block, make_map, oracle, facts_of):
    label = make_map((length, 6, 5), list(range(1, count + 1)), seed=seed, dtype=dtype, noise=noise)
    if gap is not None:
        label[::gap] = 0  # cuts every structure into several runs a row
    assert facts_of(encoded(label, block).result()) == oracle(label, weights=WEIGHTS)


@pytest.mark.parametrize("edge", [0, 1, 62, 63, 64, 65, 126, 127, 128, 129, 191])
def test_a_change_is_found_wherever_it_lies_in_a_chunk(edge, oracle, facts_of):
    label = np.zeros((192, 2, 2), np.uint8)
    label[edge:, 0, 0] = 3
    label[:edge, 1, 1] = 4
    label[edge, :, 1] = 5
    assert facts_of(encoded(label).result()) == oracle(label, weights=WEIGHTS)


def test_neighbouring_runs_that_bridge_a_gap(oracle, facts_of):
    # The middle row has three runs; the rows around it close one gap, leave one open, and reach beyond both ends.
    label = np.zeros((400, 3, 3), np.uint8)
    label[100:150, 1, 1] = label[160:200, 1, 1] = label[300:310, 1, 1] = 7
    label[140:170, 0, 1] = label[90:120, 2, 1] = label[305:399, 1, 0] = label[0:5, 1, 2] = 7
    label[152, 1, 1] = 9
    assert facts_of(encoded(label).result()) == oracle(label, weights=WEIGHTS)


def test_runs_that_touch_at_the_ends_of_a_row_stay_apart(oracle, facts_of):
    label = np.zeros((70, 4, 3), np.uint8)
    label[60:, :, :] = label[:3, :, :] = 2  # one stretch in memory, two runs on the grid
    assert facts_of(encoded(label).result()) == oracle(label, weights=WEIGHTS)


def test_unaligned_voxels(oracle, facts_of):
    label = np.zeros((130, 3, 3), np.int32)
    label[20:90, 1] = 70_000
    raw = np.frombuffer(b"\0" + label.tobytes(order="F"), np.uint8)[1:].view(np.int32)
    assert not raw.flags.aligned
    taker = MarginalEncoder(label.shape, label.dtype, weights=WEIGHTS)
    taker.feed(raw)
    assert facts_of(taker.result()) == oracle(label, weights=WEIGHTS)


@pytest.mark.slow
def test_a_face_of_more_than_31_bits():
    # Positions, rows and histograms are then held in 64 bits instead of 32; the volume itself is never made.
    shape = (50_000, 50_000, 1)
    taker = MarginalEncoder(shape, np.uint8, keep_runs_bytes=1 << 20)
    zeros, plane = np.zeros(50_000 * 500, np.uint8), np.zeros((50_000, 500), np.uint8, order="F")
    plane[49_990:, 498:] = 9
    for _ in range(99):
        taker.feed(zeros)
    taker.feed(plane.reshape(-1, order="F"))
    found = taker.result()
    assert (found.labels, found.count.tolist()) == ((9,), [20])
    assert [int(column[0]) for column in found.start] == [49_990, 49_998, 0]
    assert [int(column[0]) for column in found.stop] == [50_000, 50_000, 1]
    assert found.dilated.tolist() == [20 + 2 + 10]
    assert taker.value_at([9, 9], np.array([49_989 + 49_999 * 50_000, 49_990 + 49_999 * 50_000])) == [False, True]
