"""What the channels of a label map may mean, and which ids count."""

from __future__ import annotations

import time
import warnings

import nibabel as nib
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from monai.transforms import AsDiscrete

from monai_spatialqa import transforms
from monai_spatialqa.records import Status


@pytest.fixture
def one_hot(scene, structures):
    """(3, X, Y, Z): liver, spleen, and an empty heart."""
    return np.stack([scene == label for label in structures]).astype(np.uint8)


@pytest.fixture
def expected(structures, scene, tensor_of):
    return transforms.MeasureStructures(structures, "all")(tensor_of(scene))


@pytest.mark.parametrize("layout", ["auto", "one_hot"])
@pytest.mark.parametrize("background", [False, True])
@pytest.mark.parametrize("dtype", [np.uint8, bool, np.float32])
def test_br057_one_hot_equals_the_label_map(
    layout, background, dtype, one_hot, structures, tensor_of, expected, differences, device
):
    """One channel a structure, or one more with the background first."""
    channels = np.concatenate([1 - one_hot.max(0, keepdims=True), one_hot]) if background else one_hot
    found = transforms.MeasureStructures(structures, "all", layout=layout)(
        tensor_of(channels.astype(dtype), device=device)
    )
    assert not differences(found, expected)


def test_one_hot_of_monai(structures, scene, tensor_of, expected, differences):
    label = tensor_of(scene)
    hot = AsDiscrete(to_onehot=4)(label)
    assert not differences(transforms.MeasureStructures(structures, "all")(hot), expected)


def test_one_hot_channels_follow_the_declared_order(one_hot, tensor_of):
    found = transforms.MeasureVolume({7: "liver", 40: "spleen", 900: "heart"})(tensor_of(one_hot))
    assert found["voxel_count"].tolist() == [36, 24, 0]


def test_br052_overlaps_are_measured_whole_and_reported(structures, one_hot, tensor_of, device):
    one_hot[1, 4, 3, 1:3] = 1  # two voxels of the liver are spleen too
    found = transforms.MeasureStructures(structures, "all")(tensor_of(one_hot, device=device))
    assert found["voxel_count"].tolist() == [36, 26, 0]
    assert found["distance_overlap_voxels"].tolist() == [2, -1, -1]
    assert found["distance_status"].tolist() == [Status.OVERLAPPING, Status.ABSENT, Status.ABSENT]
    assert found["volume_status"].tolist()[:2] == [0, 0]


@pytest.mark.parametrize("layout", ["auto", "layers"])
def test_layers_are_label_maps_that_share_no_id(layout, structures, scene, tensor_of, device):
    layers = np.zeros((2, *scene.shape), np.uint8)
    layers[0] = scene
    layers[1, 4:7, 3:5, 1:3] = 3
    found = transforms.MeasureStructures(structures, "all", layout=layout)(tensor_of(layers, device=device))
    assert found["voxel_count"].tolist() == [36, 24, 12]
    # the heart takes one slice of the liver and one of the spleen
    assert found["distance_overlap_voxels"].tolist() == [0, 4, 4]
    assert found["distance_status"].tolist() == [0, Status.OVERLAPPING, Status.OVERLAPPING]


def test_overlap_of_many_layers_looks_only_where_boxes_meet(tensor_of):
    """117 structures in three layers have 6,786 pairs; whole volumes are not compared for each."""
    count, side = 117, 48
    layers = torch.zeros(3, side, side, side, dtype=torch.uint8)
    for label in range(1, count + 1):
        at = (label * 7) % (side - 8), (label * 13) % (side - 8), (label * 29) % (side - 8)
        layers[label % 3, at[0] : at[0] + 6, at[1] : at[1] + 6, at[2] : at[2] + 6] = label
    names = {label: f"s{label:03}" for label in range(1, count + 1)}
    step = transforms.MeasureDistance(names)
    start = time.perf_counter()
    found = step(tensor_of(layers))["distance_overlap_voxels"].tolist()
    assert time.perf_counter() - start < 5
    assert len(found) == 6786
    hot = torch.stack([(layers == label).any(0) for label in names]).reshape(count, -1).float()
    common = (hot @ hot.T).long()
    present = common.diagonal() > 0
    rows = [(a, b) for a in range(count) for b in range(a + 1, count)]
    brute = [int(common[a, b]) if present[a] and present[b] else -1 for a, b in rows]
    assert found == brute
    assert max(found) > 0


@pytest.mark.parametrize("axcodes", ["RAS", "LPS", "SAR", "IRP"])
def test_overlap_in_any_orientation(axcodes, structures, one_hot, tensor_of, expected, differences):
    from monai.transforms import Orientation

    one_hot[1, 4, 3, 1:3] = 1
    step = transforms.MeasureStructures(structures, "all")
    straight = tensor_of(one_hot)
    turned = Orientation(axcodes, labels=None)(straight)
    assert not differences(step(turned), step(straight), 1e-12)


def test_br057_a_label_time_series_is_refused(structures, scene, tensor_of, refused):
    series = np.stack([scene, scene])
    for layout in ("auto", "layers"):
        with refused("unclear_channels", "channels 0 and 1"):
            transforms.MeasureVolume(structures, layout=layout)(tensor_of(series))


@pytest.mark.parametrize(
    ("channels", "layout", "code"),
    [
        (2, "one_hot", "unclear_channels"),
        (5, "one_hot", "unclear_channels"),
        (5, "auto", "unclear_channels"),
        (3, "labels", "bad_labels"),
    ],
)
def test_channels_that_do_not_fit_the_layout(channels, layout, code, structures, tensor_of, refused):
    voxels = torch.zeros(channels, 3, 4, 5, dtype=torch.uint8)
    voxels[:, 1, 1, 1] = 1
    with refused(code, str(channels)):
        transforms.MeasureVolume(structures, layout=layout)(tensor_of(voxels))


def test_one_channel_more_must_be_the_background(structures, one_hot, tensor_of, refused):
    """Three structures of which two are declared are not two behind a background."""
    declared = dict(list(structures.items())[:2])
    with refused("unclear_channels"):
        transforms.MeasureVolume(declared)(tensor_of(one_hot))


def test_one_hot_channels_hold_0_and_1(structures, scene, tensor_of, refused):
    with refused("bad_labels", "one-hot"):
        transforms.MeasureVolume(structures, layout="one_hot")(tensor_of(np.stack([scene] * 3)))


def test_one_structure_in_one_channel(block, tensor_of):
    for layout in ("auto", "labels", "layers", "one_hot"):
        found = transforms.MeasureVolume({1: "block"}, layout=layout)(tensor_of(block))
        assert found["voxel_count"].tolist() == [36]


def test_br056_unknown_ids_warn_or_raise(structures, scene, tensor_of, refused):
    scene[0, 0, :2] = 25
    scene[1, 0, 0] = 9
    label = tensor_of(scene)
    label.meta["filename_or_obj"] = "case7.nii.gz"
    with pytest.warns(UserWarning, match=r"9, 25 \(file: case7.nii.gz\)"):
        found = transforms.MeasureVolume(structures)(label)
    assert found["voxel_count"].tolist() == [36, 24, 0]
    with refused("unknown_labels", "9, 25", "case7.nii.gz", "leave strict out"):
        transforms.MeasureVolume(structures, strict=True)(label)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        transforms.MeasureVolume(structures, ignore=[9, 25])(label)


def test_br035_an_absent_id_lists_what_is_there(tensor_of):
    array = np.zeros((4, 4, 4), np.uint8)
    array[1:3, 1:3, 1:3] = 255
    with pytest.warns(UserWarning, match="255"):
        found = transforms.MeasureVolume({1: "mask"})(tensor_of(array))
    assert found["volume_status"].tolist() == [Status.ABSENT]


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.uint8, np.uint16, np.int64, np.uint64, np.float32])
def test_ignored_values_are_background(dtype, structures, scene, tensor_of, expected, differences):
    array = scene.astype(dtype)
    ignored = 100 if np.dtype(dtype).kind == "u" else -1
    array[8:] = ignored
    found = transforms.MeasureStructures(structures, "all", ignore=[ignored, -1, 2**40], strict=True)(tensor_of(array))
    assert not differences(found, expected)


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    shape=st.tuples(st.integers(1, 7), st.integers(1, 7), st.integers(1, 7)),
    axcodes=st.sampled_from(["RAS", "LPS", "ASR", "PIL", "SRA"]),
)
def test_layouts_agree_on_random_maps(seed, shape, axcodes, tensor_of, differences):
    """Labels, one-hot with and without background, and layers give the same figures in any orientation."""
    rng = np.random.default_rng(seed)
    array = rng.integers(0, 4, shape).astype(np.uint8)
    affine = np.diag([1.5, 2.0, 0.7, 1.0])
    turn = nib.orientations.ornt_transform(nib.orientations.axcodes2ornt("RAS"), nib.orientations.axcodes2ornt(axcodes))
    stored = nib.orientations.apply_orientation(array, turn)
    affine = affine @ nib.orientations.inv_ornt_aff(turn, shape)
    names = {1: "a", 2: "b", 3: "c"}
    hot = np.stack([stored == label for label in range(4)]).astype(np.uint8)
    layers = np.stack([np.where(stored == 2, 0, stored), np.where(stored == 2, 2, 0)])
    expected = transforms.MeasureStructures(names, "all")(tensor_of(array, np.diag([1.5, 2.0, 0.7, 1.0])))
    for voxels, layout in ((stored[None], "labels"), (hot[1:], "one_hot"), (hot, "one_hot"), (layers, "layers")):
        found = transforms.MeasureStructures(names, "all", layout=layout)(tensor_of(voxels.copy(), affine))
        assert not differences(found, expected, 1e-9)
    counts = [int((array == label).sum()) for label in names]
    assert expected["voxel_count"].tolist() == counts
