"""Several threads give what one gives: the same integers in the same order, and the same refusals."""

from __future__ import annotations

import dataclasses
import itertools
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from monai_spatialqa.errors import LabelValueError
from monai_spatialqa.geometry import threaded
from monai_spatialqa.geometry.encoder import MarginalEncoder
from monai_spatialqa.geometry.marginals import MAX_LABELS, Marginals
from monai_spatialqa.geometry.tensors import marginals_of
from monai_spatialqa.geometry.threaded import marginals_of_array
from monai_spatialqa.geometry.totals import together

WEIGHTS = ((3, -2, 1), (-5, 7, 0), (1, 1, -9))


@pytest.fixture(autouse=True, scope="module")
def every_plane_may_be_a_part():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(threaded, "PART_BYTES", 1)
        patch.setattr(threaded, "PART_PLANES", 1)
        yield


def require_same(found: Marginals, expected: Marginals) -> None:
    """Every field equal, types included."""
    for field in dataclasses.fields(Marginals):
        ours, theirs = getattr(found, field.name), getattr(expected, field.name)
        if field.name in ("shape", "labels") or theirs is None:
            assert ours == theirs, field.name
            continue
        columns = zip(ours, theirs, strict=True) if isinstance(theirs, tuple) else [(ours, theirs)]
        for column, other in columns:
            assert column.dtype == other.dtype, field.name
            assert column.tolist() == other.tolist(), field.name


def refusal(array: np.ndarray, threads: int, **options) -> tuple[str, str]:
    with pytest.raises(LabelValueError) as caught:
        marginals_of_array(array, threads=threads, **options)
    return str(caught.value), caught.value.code


@given(
    shape=st.tuples(*[st.integers(1, 12)] * 3),
    seed=st.integers(0, 2**32),
    count=st.integers(1, 6),
    noise=st.sampled_from([0.0, 0.02, 0.5, 1.0]),
    dtype=st.sampled_from([np.bool_, np.uint8, np.int16, np.uint32, np.int64, np.uint64]),
    layout=st.permutations([0, 1, 2]),
    threads=st.integers(2, 13),
    boundaries=st.booleans(),
    weights=st.sampled_from([None, WEIGHTS]),
    ignore=st.sampled_from([(), (2,), (1, 3, 999)]),
    block=st.sampled_from([1, 7, 100, 1 << 20]),
)
@settings(max_examples=150, deadline=None)
def test_like_one_thread_and_like_brute_force(
    shape, seed, count, noise, dtype, layout, threads, boundaries, weights, ignore, block, make_map, oracle, facts_of
):
    label = make_map(shape, list(range(1, count + 1)), seed=seed, dtype=dtype, noise=noise)
    stored = torch.from_numpy(np.ascontiguousarray(label.transpose(layout)).transpose(np.argsort(layout)))
    options = {"boundaries": boundaries, "weights": weights, "ignore": ignore}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(threaded, "BLOCK_BYTES", block)
        patch.setattr(threaded, "VIEW_BYTES", block)
        patch.setattr(torch, "get_num_threads", lambda: threads)
        found = marginals_of(stored, **options)
        patch.setattr(torch, "get_num_threads", lambda: 1)
        require_same(found, marginals_of(stored, **options))
    if boundaries:
        assert facts_of(found) == oracle(label, ignore=ignore, weights=weights)


def views(array: np.ndarray):
    """The same voxels for the last axis the contiguous one, differently laid out in memory."""
    yield "contiguous", array
    yield "reversed", np.ascontiguousarray(array[::-1, ::-1, ::-1])[::-1, ::-1, ::-1]
    wide = np.zeros([2 * length + 1 for length in array.shape], array.dtype)
    wide[1::2, 1::2, 1::2] = array
    yield "every other voxel of a larger array", wide[1::2, 1::2, 1::2]
    wide = np.zeros([length + 2 for length in array.shape], array.dtype)
    wide[1:-1, 1:-1, 1:-1] = array
    yield "the middle of a larger array", wide[1:-1, 1:-1, 1:-1]


@pytest.mark.parametrize("threads", [2, 3, 5, 16])
@pytest.mark.parametrize(
    "shape", [(1, 1, 1), (1, 1, 9), (1, 6, 7), (2, 6, 7), (3, 1, 7), (7, 6, 2), (8, 8, 8), (23, 4, 9)], ids=str
)
def test_shapes_and_views(shape, threads, make_map, oracle, facts_of):
    """One plane, fewer planes than threads, one row a plane, two voxels a row."""
    for seed in range(4):
        label = make_map(shape, [1, 2, 3], seed=seed)
        for name, view in views(label):
            found = marginals_of_array(view, threads=threads, weights=WEIGHTS)
            require_same(found, marginals_of_array(view, weights=WEIGHTS))
            assert facts_of(found) == oracle(label.T, weights=WEIGHTS), name


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))), ids=str)
def test_tensors_permuted_and_flipped(order, monkeypatch, make_map, oracle, facts_of):
    monkeypatch.setattr(torch, "get_num_threads", lambda: 3)
    label = make_map((7, 1, 9) if order[0] == 1 else (7, 5, 9), [1, 2, 200], seed=6)
    for flips in itertools.product([1, -1], repeat=3):
        turned = label[tuple(slice(None, None, step) for step in flips)].transpose(order)
        tensor = torch.from_numpy(label).flip([axis for axis in range(3) if flips[axis] < 0]).permute(order)
        assert facts_of(marginals_of(tensor, weights=WEIGHTS)) == oracle(turned, weights=WEIGHTS)


SEAM = 4  # of eight planes and two threads


@pytest.mark.parametrize(
    "painted",
    {
        "one structure through the seam": [(slice(2, 7), slice(1, 5), slice(1, 6), 3)],
        "ends before the seam": [(slice(1, SEAM), slice(1, 5), slice(1, 6), 3)],
        "begins behind the seam": [(slice(SEAM, 8), slice(1, 5), slice(1, 6), 3)],
        "one plane before it": [(SEAM - 1, slice(0, 6), slice(0, 7), 3)],
        "one plane behind it": [(SEAM, slice(0, 6), slice(0, 7), 3)],
        "a voxel on each side": [(SEAM - 1, 2, 3, 3), (SEAM, 2, 3, 9)],
        "a voxel on each side, apart": [(SEAM - 1, 2, 3, 3), (SEAM, 2, 4, 3)],
        "two structures meet at it": [
            (slice(0, SEAM), slice(0, 6), slice(0, 7), 9),
            (slice(SEAM, 8), slice(0, 6), slice(0, 7), 3),
        ],
        "a hole at it": [
            (slice(1, 7), slice(0, 6), slice(0, 7), 3),
            (slice(SEAM - 1, SEAM + 1), slice(2, 4), slice(2, 4), 0),
        ],
        "everything": [(slice(0, 8), slice(0, 6), slice(0, 7), 3)],
        "nothing": [],
    }.items(),
    ids=lambda item: item[0],
)
def test_boundaries_across_a_seam(painted, oracle, facts_of):
    label = np.zeros((8, 6, 7), np.uint8)
    for *where, value in painted[1]:
        label[tuple(where)] = value
    for threads in (2, 3, 8):  # with eight, both neighbours of a plane belong to other threads
        assert facts_of(marginals_of_array(label, threads=threads, weights=WEIGHTS)) == oracle(label.T, weights=WEIGHTS)


def test_more_runs_than_the_buffers_hold(make_map, oracle, facts_of):
    label = make_map((40, 61, 80), [1, 2, 3, 4], seed=5, noise=1.0)
    found = marginals_of_array(label, threads=3, weights=WEIGHTS)
    require_same(found, marginals_of_array(label, weights=WEIGHTS))
    assert facts_of(found) == oracle(label.T, weights=WEIGHTS)


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.int64, np.uint64])
def test_values_of_one_part_only(dtype, oracle, facts_of):
    """Ids are sorted over all parts, not in the order in which parts met them."""
    top = int(np.iinfo(dtype).max)
    label = np.zeros((6, 4, 5), dtype)
    label[0], label[1], label[2, :2], label[3], label[5, 0] = top, 7, 1, top // 2 + 1, 7
    found = marginals_of_array(label, threads=6)
    assert found.labels == (1, 7, top // 2 + 1, top)
    assert facts_of(found) == oracle(label.T)


def test_scattered_values_in_one_part_are_no_intensities():
    """Refused for themselves, these planes are a small part of a label map whose other structures are regions."""
    label = np.zeros((8, 40, 40), np.uint8)
    label[0] = np.random.default_rng(0).permutation(np.arange(1600) % 130 + 1).reshape(40, 40)
    label[1:] = 140
    with pytest.raises(LabelValueError, match="intensity image"):
        marginals_of_array(label[:1])
    require_same(marginals_of_array(label, threads=8), marginals_of_array(label))


def test_intensities_are_refused_alike():
    image = np.random.default_rng(0).normal(1000, 200, (12, 30, 30)).clip(0).astype(np.int16)
    assert refusal(image, 4) == refusal(image, 1)
    assert "distinct values" in refusal(image, 4)[0]


@pytest.mark.parametrize("boundaries", [True, False])
def test_too_many_values_are_refused_alike(boundaries):
    """In one part, and where every part alone holds few enough."""
    in_one = np.zeros((4, 80, 80), np.uint16)
    in_one[3] = np.arange(1, 6401).reshape(80, 80)
    together_only = np.zeros((4, 60, 60), np.uint16)
    together_only[0], together_only[3] = np.arange(1, 3601).reshape(60, 60), np.arange(3001, 6601).reshape(60, 60)
    for label in (in_one, together_only):
        expected = refusal(label, 1, boundaries=boundaries)
        assert expected == refusal(label, 2, boundaries=boundaries) == refusal(label, 4, boundaries=boundaries)
        assert f"more than {MAX_LABELS:,} distinct values" in expected[0]


def test_as_many_values_as_there_may_be():
    label = np.repeat(np.arange(1, MAX_LABELS + 1, dtype=np.uint16), 4).reshape(10, 20, 100)
    require_same(marginals_of_array(label, threads=5), marginals_of_array(label))


@pytest.mark.parametrize("planes", [(0, 1), (102, 103), (1, 103)], ids=str)
def test_too_many_values_end_the_work_of_all_threads(planes, monkeypatch):
    """Whether the first thread finds them, the other one, or both together."""
    fed = []
    feed = MarginalEncoder.feed

    def slow_feed(self: MarginalEncoder, block: np.ndarray) -> None:
        fed.append(block.size)
        time.sleep(0.002)
        feed(self, block)

    monkeypatch.setattr(MarginalEncoder, "feed", slow_feed)
    monkeypatch.setattr(threaded, "VIEW_BYTES", 2 * 60 * 60)  # a plane
    label = np.zeros((200, 60, 60), np.uint16)
    for at, plane in enumerate(planes):
        label[plane] = np.arange(1 + 3600 * at, 3601 + 3600 * at).reshape(60, 60)
    assert "distinct values" in refusal(label, 2)[0]
    assert sum(fed) < 0.3 * label.size


def test_negative_values_are_refused_alike():
    label = np.zeros((6, 4, 5), np.int16)
    label[0], label[2], label[5, 0, 0] = -3, 8, -300
    assert refusal(label, 3) == refusal(label, 1)
    assert refusal(label, 3, ignore=[-3]) == refusal(label, 1, ignore=[-3])
    options = {"ignore": [-3, -300]}
    require_same(marginals_of_array(label, threads=3, **options), marginals_of_array(label, **options))
    assert refusal(label, 3, ignore=range(-20_000, 0)) == refusal(label, 1, ignore=range(-20_000, 0))


def test_small_arrays_and_single_threads_start_none(monkeypatch):
    started = []
    submit = ThreadPoolExecutor.submit
    monkeypatch.setattr(ThreadPoolExecutor, "submit", lambda *work: (started.append(work), submit(*work))[1])
    monkeypatch.setattr(threaded, "PART_BYTES", 1000)
    monkeypatch.setattr(threaded, "PART_PLANES", 4)
    label = np.ones((40, 10, 10), np.uint8)
    for array, threads, expected in [
        (label, 1, 1),
        (label, 2, 2),
        (label, 16, 4),  # 4000 bytes
        (label.astype(np.uint64), 16, 10),  # 40 planes
        (label[:20], 2, 2),
        (label[:19], 2, 1),
        (label.reshape(5, 80, 10), 2, 1),
    ]:
        started.clear()
        assert marginals_of_array(array, threads=threads).count.tolist() == [array.size]
        assert 1 + len(started) == expected, (array.shape, threads)
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(1)  # as in the workers of a DataLoader
        started.clear()
        marginals_of(torch.from_numpy(label))
        torch.set_num_threads(2)
        assert not started
        marginals_of(torch.from_numpy(label))
        assert len(started) == 1
    finally:
        torch.set_num_threads(before)


def test_an_encoder_of_some_planes_wants_those_on_both_sides(make_map, oracle, facts_of):
    label = make_map((5, 6, 9), [1, 2, 3], seed=9)  # nine planes, the last axis slowest
    flat = label.reshape(-1, order="F")
    parts = []
    for planes, fed in (((0, 2), (0, 3)), ((2, 3), (1, 4)), ((3, 9), (2, 9))):
        taker = MarginalEncoder(label.shape, label.dtype, weights=WEIGHTS, planes=planes)
        assert taker.fed_planes == fed
        taker.feed(flat[30 * fed[0] : 30 * fed[1] - 1])
        with pytest.raises(LabelValueError, match=f"{30 * (fed[1] - fed[0]) - 1}.*{30 * (fed[1] - fed[0])}"):
            taker.totals()
        taker.feed(flat[30 * fed[1] - 1 : 30 * fed[1]])
        parts.append(taker.totals())
    assert facts_of(together(parts, label.shape)) == oracle(label, weights=WEIGHTS)
    assert MarginalEncoder(label.shape, label.dtype, boundaries=False, planes=(2, 3)).fed_planes == (2, 3)
