"""The run encoder and the torch path against brute force: the same integers, whatever the type, layout and chunking."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from monai_spatialqa.errors import LabelValueError
from monai_spatialqa.geometry import tensors, threaded
from monai_spatialqa.geometry.encoder import MarginalEncoder
from monai_spatialqa.geometry.tensors import marginals_of

WEIGHTS = ((3, -2, 1), (-5, 7, 0), (1, 1, -9))
DTYPES = ("bool", "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "float32", "float64")
PATHS = pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "torch"])
SHAPES = [
    (1, 1, 1),
    (1, 1, 9),
    (1, 9, 1),
    (9, 1, 1),
    (1, 6, 7),
    (6, 1, 7),
    (6, 7, 1),
    (2, 2, 2),
    (3, 5, 8),
    (8, 8, 8),
    (17, 4, 9),
    (5, 33, 3),
    (65, 2, 3),
]


def layouts(array: np.ndarray):
    """The same voxels, differently laid out in memory."""
    tensor = torch.from_numpy(array)
    yield "C", tensor
    yield "F", torch.from_numpy(np.asfortranarray(array))
    for order in ((1, 2, 0), (2, 0, 1), (1, 0, 2)):
        back = np.argsort(order).tolist()
        yield f"permuted {order}", tensor.permute(order).contiguous().permute(back)
    wide = torch.zeros([2 * length + 1 for length in array.shape], dtype=tensor.dtype)
    wide[1::2, 1::2, 1::2] = tensor
    yield "every other voxel of a larger array", wide[1::2, 1::2, 1::2]
    odd = torch.zeros(array.size + 3, dtype=tensor.dtype)
    odd[3:] = tensor.reshape(-1)
    yield "odd address", odd[3:].view(array.shape)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@PATHS
def test_shapes(shape, compiled, device, make_map, oracle, facts_of):
    if compiled and device != "cpu":
        pytest.skip("the compiled path is the CPU's")
    for seed in range(6):
        label = make_map(shape, [1, 2, 3], seed=seed)
        found = marginals_of(torch.from_numpy(label).to(device), weights=WEIGHTS, compiled=compiled)
        assert found.shape == shape
        assert facts_of(found) == oracle(label, weights=WEIGHTS)
        assert found.count.device.type == device
        assert found.count.dtype == torch.int64


@pytest.mark.parametrize("dtype", DTYPES)
@PATHS
def test_types(dtype, compiled, device, make_map, oracle, facts_of):
    if compiled and device != "cpu":
        pytest.skip("the compiled path is the CPU's")
    kind = np.dtype(dtype)
    top = {"b": 1, "f": 4095}.get(kind.kind) or int(np.iinfo(kind).max)
    values = sorted({1, min(top, 77), top - top // 3, top})
    label = make_map((7, 9, 11), values, seed=3, dtype=kind)
    assert facts_of(marginals_of(torch.from_numpy(label).to(device), compiled=compiled)) == oracle(label)


@PATHS
def test_memory_layouts(compiled, make_map, oracle, facts_of):
    label = make_map((6, 7, 9), [1, 2, 200], seed=1)
    expected = oracle(label, weights=WEIGHTS)
    for name, tensor in layouts(label):
        before = tensor.clone()
        assert facts_of(marginals_of(tensor, weights=WEIGHTS, compiled=compiled)) == expected, name
        assert torch.equal(tensor, before), name


@PATHS
def test_expanded_tensor(compiled, oracle, facts_of):
    tensor = torch.tensor([0, 3, 3, 0, 2], dtype=torch.int16)[:, None, None].expand(5, 4, 3)
    assert facts_of(marginals_of(tensor, compiled=compiled)) == oracle(tensor.numpy())


@given(
    shape=st.tuples(*[st.integers(1, 12)] * 3),
    seed=st.integers(0, 2**32),
    count=st.integers(1, 6),
    noise=st.sampled_from([0.0, 0.05, 0.5, 1.0]),
    dtype=st.sampled_from([np.uint8, np.int16, np.uint32, np.int64]),
    layout=st.permutations([0, 1, 2]),
)
@settings(max_examples=120, deadline=None)
def test_both_paths_equal_brute_force(shape, seed, count, noise, dtype, layout, make_map, oracle, facts_of):
    values = list(range(1, count + 1))
    label = make_map(shape, values, seed=seed, dtype=dtype, noise=noise)
    stored = np.ascontiguousarray(label.transpose(layout)).transpose(np.argsort(layout))
    expected = oracle(label, ignore=[3], weights=WEIGHTS)
    for compiled in (True, False):
        found = marginals_of(torch.from_numpy(stored), ignore=[3], weights=WEIGHTS, compiled=compiled)
        assert facts_of(found) == expected


@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_blocks_may_be_cut_anywhere(data, make_map, oracle, facts_of):
    shape = data.draw(st.tuples(*[st.integers(1, 10)] * 3))
    dtype = np.dtype(data.draw(st.sampled_from(["u1", "<i2", ">i2", ">u4", "<u8", ">i8"])))
    label = make_map(shape, [1, 2, 90], seed=data.draw(st.integers(0, 2**32)), dtype=dtype)
    flat = label.reshape(-1, order="F")
    cuts = sorted(data.draw(st.lists(st.integers(0, flat.size), max_size=8)))
    taker = MarginalEncoder(shape, dtype, weights=WEIGHTS, ignore=[90])
    for start, stop in itertools.pairwise([0, *cuts, flat.size]):
        taker.feed(flat[start:stop])
    assert facts_of(taker.result()) == oracle(label, ignore=[90], weights=WEIGHTS)


def test_more_runs_than_the_buffer_holds(make_map, oracle, facts_of):
    label = make_map((80, 61, 47), [1, 2, 3, 4], seed=5, noise=1.0)
    taker = MarginalEncoder(label.shape, label.dtype, weights=WEIGHTS)
    for start in range(0, label.size, 10_007):
        taker.feed(label.reshape(-1, order="F")[start : start + 10_007])
    assert taker._run_total > 5 * taker._runs.shape[0]
    assert facts_of(taker.result()) == oracle(label, weights=WEIGHTS)


def test_one_plane_of_runs_larger_than_the_buffer(make_map, oracle, facts_of):
    label = make_map((200, 300, 2), [1, 2], seed=8, noise=1.0)
    taker = MarginalEncoder(label.shape, label.dtype)
    taker.feed(label.reshape(-1, order="F"))
    assert facts_of(taker.result()) == oracle(label)


@pytest.mark.parametrize("slab", [1, 40, 300, 10**9])
def test_torch_slabs(slab, device, monkeypatch, make_map, oracle, facts_of):
    monkeypatch.setattr(tensors, "SLAB_VOXELS", slab)
    label = make_map((9, 8, 7), [1, 2, 9], seed=4, noise=0.3)
    for _, tensor in layouts(label):
        found = marginals_of(tensor.to(device), weights=WEIGHTS, compiled=False)
        assert facts_of(found) == oracle(label, weights=WEIGHTS)


@PATHS
def test_without_boundaries(compiled, make_map, oracle, facts_of):
    label = make_map((9, 8, 7), [1, 2], seed=4)
    found = marginals_of(torch.from_numpy(label), boundaries=False, compiled=compiled)
    assert found.interior is None
    assert found.dilated is None
    expected = {
        value: {k: v for k, v in fact.items() if k not in ("interior", "dilated")}
        for value, fact in oracle(label).items()
    }
    assert facts_of(found) == expected


@PATHS
def test_nothing_there(compiled):
    found = marginals_of(torch.zeros(4, 5, 6, dtype=torch.uint8), weights=WEIGHTS, compiled=compiled)
    assert found.labels == ()
    assert found.count.shape == found.interior.shape == found.start[0].shape == found.low[2].shape == (0,)


@PATHS
def test_full_volume(compiled, oracle, facts_of):
    label = np.full((4, 5, 6), 7, np.int16)
    found = facts_of(marginals_of(torch.from_numpy(label), compiled=compiled))
    assert found == oracle(label)
    assert found[7]["interior"] == 2 * 3 * 4
    assert found[7]["dilated"] == 4 * 5 * 6


@PATHS
@pytest.mark.parametrize(
    ("dtype", "values"),
    [
        (np.uint64, [1, 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1]),
        (np.int64, [1, 2**53 + 1, 2**63 - 1]),
        (np.uint32, [2**31 - 1, 2**31, 2**32 - 1]),
        (np.uint16, [255, 256, 300, 512, 32768, 65535]),
    ],
)
def test_large_ids_are_exact(dtype, values, compiled, device, oracle, facts_of):
    if compiled and device != "cpu":
        pytest.skip("the compiled path is the CPU's")
    label = np.zeros((4, 4, 8), dtype)
    label.reshape(-1)[10 : 10 + 3 * len(values)] = np.repeat(np.array(values, dtype), 3)
    found = marginals_of(torch.from_numpy(label).to(device), compiled=compiled)
    assert found.labels == tuple(values)
    assert facts_of(found) == oracle(label)


@PATHS
def test_ignored_values(compiled, oracle, facts_of):
    label = np.zeros((3, 4, 5), np.int16)
    label[0], label[1], label[2, :2] = -1, 4, 255
    tensor = torch.from_numpy(label)
    assert facts_of(marginals_of(tensor, ignore=[-1, 255, 70_000, -70_000], compiled=compiled)) == oracle(
        label, [-1, 255]
    )
    # A value the type cannot hold is not in the array; it must not wrap round to one that is.
    small = torch.from_numpy(label.astype(np.uint8))  # -1 -> 255
    assert marginals_of(small, ignore=[-1], compiled=compiled).labels == (4, 255)
    assert marginals_of(small, ignore=[256 + 4], compiled=compiled).labels == (4, 255)
    mask = tensor > 0
    assert marginals_of(mask, ignore=[5, 255], compiled=compiled).labels == (1,)
    assert marginals_of(mask, ignore=[1], compiled=compiled).labels == ()


@PATHS
def test_negative_values_are_refused(compiled):
    label = torch.zeros(3, 4, 5, dtype=torch.int16)
    label[0], label[1] = -1, -300
    with pytest.raises(LabelValueError, match=r"-300, -1.*ignore=") as caught:
        marginals_of(label, compiled=compiled)
    assert caught.value.code == "negative_label"


@PATHS
def test_five_thousand_labels_and_one_more(compiled, oracle, facts_of):
    label = np.repeat(np.arange(1, 5001, dtype=np.uint16), 4).reshape(100, 10, 20)
    tensor = torch.from_numpy(label)
    found = marginals_of(tensor, compiled=compiled)
    assert found.labels == tuple(range(1, 5001))
    assert found.count.tolist() == [4] * 5000
    one_more = tensor.clone()
    one_more[-1, -1, -1] = 5001
    with pytest.raises(LabelValueError, match="intensity image") as caught:
        marginals_of(one_more, compiled=compiled)
    assert caught.value.code == "intensity_image"


@PATHS
def test_intensities_are_refused(compiled):
    rng = np.random.default_rng(0)
    image = torch.from_numpy(rng.normal(100, 40, (30, 30, 30)).clip(0).astype(np.int16))
    with pytest.raises(LabelValueError, match="intensity image") as caught:
        marginals_of(image, compiled=compiled)
    assert "distinct values" in caught.value.found


@PATHS
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_many_labels_in_a_single_slice_are_no_intensities(axis, compiled):
    patches = np.arange(1, 145, dtype=np.int16).reshape(12, 12).repeat(4, 0).repeat(4, 1)
    label = torch.from_numpy(np.expand_dims(patches, axis))
    for tensor in (label, label.permute(2, 1, 0).contiguous().permute(2, 1, 0)):
        assert marginals_of(tensor, compiled=compiled).count.tolist() == [16] * 144


@pytest.mark.parametrize("shape", [(1, 48, 48), (48, 1, 48), (48, 48, 1)], ids=str)
def test_many_labels_in_a_streamed_single_slice(shape):
    label = np.arange(1, 145, dtype=np.int16).reshape(12, 12).repeat(4, 0).repeat(4, 1).reshape(shape)
    taker = MarginalEncoder(shape, label.dtype, weights=WEIGHTS)
    taker.feed(label.reshape(-1, order="F"))
    assert taker.result().count.tolist() == [16] * 144


@PATHS
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16])
def test_float_labels_are_rounded(dtype, compiled):
    label = torch.zeros(3, 4, 5, dtype=dtype)
    label[0], label[1], label[2] = 2.0000001, 2.9999999993, 6 - 1e-5
    found = marginals_of(label, compiled=compiled)
    assert found.labels == (2, 3, 6)
    assert found.count.tolist() == [20, 20, 20]


@PATHS
@pytest.mark.parametrize(
    ("value", "code"),
    [
        (0.5, "fractional_labels"),
        (float("nan"), "fractional_labels"),
        (float("inf"), "fractional_labels"),
        (3.01, "fractional_labels"),
        (2.0**53, "inexact_labels"),
    ],
)
def test_other_floats_are_refused(value, code, compiled):
    label = torch.zeros(3, 4, 5, dtype=torch.float64)
    label[1, 2, 3] = value
    with pytest.raises(LabelValueError) as caught:
        marginals_of(label, compiled=compiled)
    assert caught.value.code == code
    assert caught.value.expected


@PATHS
@pytest.mark.parametrize(
    ("dtype", "limit"), [(torch.float16, 2**11), (torch.bfloat16, 2**8), (torch.float32, 2**24), (torch.float64, 2**53)]
)
def test_ids_that_may_have_merged_in_a_float_are_refused(dtype, limit, compiled):
    label = torch.zeros(3, 4, 5, dtype=dtype)
    label[1] = limit - 1
    assert marginals_of(label, compiled=compiled).labels == (limit - 1,)
    label[2] = limit
    with pytest.raises(LabelValueError) as caught:
        marginals_of(label, compiled=compiled)
    assert (caught.value.code, caught.value.found) == ("inexact_labels", str(limit))


def test_complex_and_flat_input_is_refused():
    with pytest.raises(LabelValueError, match="complex"):
        marginals_of(torch.zeros(2, 2, 2, dtype=torch.complex64))
    with pytest.raises(LabelValueError, match="three axes"):
        marginals_of(torch.zeros(2, 2, dtype=torch.uint8))


def test_the_encoder_refuses_what_does_not_fit():
    with pytest.raises(LabelValueError, match="whole numbers"):
        MarginalEncoder((2, 2, 2), np.float32)
    taker = MarginalEncoder((2, 2, 2), np.uint8)
    with pytest.raises(LabelValueError, match="declared type"):
        taker.feed(np.zeros(8, np.int8))
    with pytest.raises(LabelValueError, match="declared type"):
        taker.feed(np.zeros((2, 2, 2), np.uint8))
    taker.feed(np.zeros(7, np.uint8))
    with pytest.raises(LabelValueError, match="does not fit the shape"):
        taker.result()
    taker.feed(np.zeros(2, np.uint8))
    with pytest.raises(LabelValueError, match="does not fit the shape"):
        taker.result()


def test_looking_up_voxels_in_kept_runs(make_map):
    label = make_map((9, 8, 7), [1, 2, 3, 4], seed=11, noise=0.2)
    flat = label.reshape(-1, order="F")
    taker = MarginalEncoder(label.shape, label.dtype, keep_runs_bytes=1 << 20)
    taker.feed(flat)
    labels = [*taker.result().labels, 9]
    for asked in labels:
        found = taker.value_at([asked] * flat.size, np.arange(flat.size))
        assert found == (flat == asked).tolist()


def test_runs_are_not_kept_beyond_their_room(make_map):
    label = make_map((9, 8, 7), [1, 2, 3, 4], seed=11, noise=0.2)
    for room in (0, 64):
        taker = MarginalEncoder(label.shape, label.dtype, keep_runs_bytes=room)
        taker.feed(label.reshape(-1, order="F"))
        taker.result()
        assert taker.value_at([1], np.array([0])) is None


def test_looking_up_when_there_are_no_runs():
    taker = MarginalEncoder((2, 3, 4), np.uint8, keep_runs_bytes=100)
    taker.feed(np.zeros(24, np.uint8))
    taker.result()
    assert taker.value_at([1, 2], np.array([0, 5])) == [False, False]


@PATHS
def test_many_ignored_values(compiled):
    label = torch.zeros(4, 4, 4, dtype=torch.int32)
    label[1], label[2] = 1, -8000
    assert marginals_of(label, ignore=range(-8000, 0), compiled=compiled).labels == (1,)
    with pytest.raises(LabelValueError, match="too many values to ignore"):
        marginals_of(label, ignore=range(-20_000, 0), compiled=compiled)


@pytest.mark.parametrize("flips", list(itertools.product([False, True], repeat=3)), ids=str)
@pytest.mark.parametrize("order", list(itertools.permutations(range(3))), ids=str)
def test_reorienting_marginals_is_measuring_the_reoriented_map(order, flips, make_map, facts_of):
    label = make_map((5, 6, 8), [1, 2, 3], seed=2)
    turned = label.transpose(order)[tuple(slice(None, None, -1 if flip else 1) for flip in flips)]
    # The projection of the turned grid, and the same one from index 0 of the grid as stored.
    stored = [[0, 0, 0] for _ in WEIGHTS]
    for row, weights in enumerate(WEIGHTS):
        for axis in range(3):
            stored[row][order[axis]] = -weights[axis] if flips[axis] else weights[axis]
    found = marginals_of(torch.from_numpy(label), weights=stored).reoriented(order, flips, WEIGHTS)
    expected = marginals_of(torch.from_numpy(np.ascontiguousarray(turned)), weights=WEIGHTS)
    assert found.shape == expected.shape
    assert facts_of(found) == facts_of(expected)


def test_block_size_does_not_matter_for_tensors(monkeypatch, make_map, oracle, facts_of):
    label = make_map((11, 6, 8), [1, 2, 3], seed=2, dtype=np.int32)
    for size in (4, 100, 2**24):
        monkeypatch.setattr(threaded, "BLOCK_BYTES", size)
        monkeypatch.setattr(threaded, "VIEW_BYTES", size)
        for _, tensor in layouts(label):
            assert facts_of(marginals_of(tensor)) == oracle(label)
