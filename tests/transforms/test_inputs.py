"""What measuring transforms accept, and everything they refuse instead of guessing."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import torch
from monai.data import MetaTensor, set_track_meta
from monai.transforms import (
    ApplyPendingd,
    Compose,
    CropForegroundd,
    DivisiblePadd,
    EnsureTyped,
    Flipd,
    LoadImaged,
    Orientationd,
    RandAffined,
    RandFlipd,
    RandSpatialCropd,
    Resized,
    Rotate90d,
    Spacingd,
    SpatialPadd,
    ToNumpyd,
    ToTensord,
    Zoomd,
)

from monai_spatialqa import transforms
from monai_spatialqa.readers import NiftiReader
from monai_spatialqa.records import Status
from monai_spatialqa.transforms.inputs import check_label, check_scan

MEASURING = ["MeasureVolume", "MeasureBoundingBox", "MeasureDistance", "MeasureDirection", "MeasureStructures"]
every_transform = pytest.mark.parametrize("name", MEASURING)


@pytest.fixture
def tracking():
    """Whatever a test does to MONAI's switch, it is on again afterwards."""
    yield
    set_track_meta(True)


def loading(path=None, **more):
    return LoadImaged("label", reader=NiftiReader(), dtype=None, ensure_channel_first=True, **more)


@every_transform
@pytest.mark.parametrize("kind", ["numpy", "tensor", "MetaTensor"])
def test_br097_three_array_types(name, kind, structures, scene, tensor_of, refused):
    label = tensor_of(scene)
    arrays = {"numpy": label.numpy(), "tensor": label.as_tensor(), "MetaTensor": label}
    for step, argument in (
        (getattr(transforms, name)(structures), arrays[kind]),
        (getattr(transforms, f"{name}d")("label", structures), {"label": arrays[kind], "case_id": "c1"}),
    ):
        if kind == "MetaTensor":
            assert step(argument)
        else:
            with refused("no_affine", "no affine", "Next step", *(["case: c1"] if isinstance(argument, dict) else [])):
                step(argument)


@pytest.mark.parametrize("value", [None, "label.nii.gz", [1, 2], 3])
def test_what_is_no_array(value, structures, refused):
    with refused("no_affine", type(value).__name__):
        transforms.MeasureVolume(structures)(value)
    with refused("no_affine", type(value).__name__):
        transforms.ValidateGeometry()(value)


@pytest.mark.parametrize("conversion", [ToNumpyd("label"), ToTensord("label", track_meta=False)])
def test_an_affine_lost_on_the_way(conversion, structures, scene, write_nifti, refused):
    path = write_nifti("a.nii.gz", scene, spacing=(2, 3, 4))
    with refused("no_affine"):
        Compose([loading(), conversion, transforms.MeasureVolumed("label", structures)])({"label": path})


def test_track_meta_off_is_named(structures, scene, write_nifti, refused, tracking):
    path = write_nifti("a.nii.gz", scene, spacing=(2, 3, 4))
    for step in (transforms.MeasureVolumed("label", structures), transforms.ValidateGeometryd("label")):
        set_track_meta(False)
        with refused("no_affine", "set_track_meta(False)", "set_track_meta(True)"):
            Compose([loading(), step])({"label": path})


def test_an_identity_of_unknown_origin_is_told(structures, scene, tensor_of):
    """MONAI wraps an array that lost its affine into a tensor of 1 mm voxels; it cannot be told from a stated one."""
    wrapped = EnsureTyped("label")({"label": scene[None]})
    for data in (wrapped, RandFlipd("label", prob=1.0, spatial_axis=0)(wrapped)):
        with pytest.warns(UserWarning, match="nothing says where this affine"):
            found = transforms.MeasureVolumed("label", structures)(data)["measured_label"]
        assert (found["volume_status"] & Status.UNVERIFIED).all()
    stated = MetaTensor(torch.as_tensor(scene[None]), affine=torch.eye(4), meta={"original_affine": np.eye(4)})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        transforms.MeasureVolume(structures)(stated)
        transforms.MeasureVolume(structures)(tensor_of(scene, np.eye(4)))
        transforms.MeasureVolume(structures)(MetaTensor(torch.as_tensor(scene[None]), torch.diag(torch.arange(1, 5.0))))


def test_a_format_without_an_affine(structures, scene, tmp_path, refused):
    path = tmp_path / "label.npy"
    np.save(path, scene)
    chain = Compose(
        [
            LoadImaged("label", dtype=None, ensure_channel_first=True),
            transforms.MeasureVolumed("label", structures),
        ]
    )
    with refused("no_affine", "label.npy"):
        chain({"label": path})


@every_transform
def test_pending_lazy_operations_are_refused(name, structures, scene, tensor_of, refused):
    data = Flipd("label", 0, lazy=True)({"label": tensor_of(scene)})
    step = getattr(transforms, f"{name}d")("label", structures)
    with refused("pending_operations", "Flip", "lazy=False"):
        step(data)
    for applying in ([], [ApplyPendingd("label")]):
        chain = Compose([Flipd("label", 0, lazy=True), *applying, step])
        assert chain({"label": tensor_of(scene)})["measured_label"]


def test_a_lazy_chain_is_applied_before_measuring(structures, scene, write_nifti):
    path = write_nifti("a.nii.gz", scene, spacing=(2, 3, 4))
    chain = Compose(
        [
            loading(),
            Flipd("label", 0),
            Rotate90d("label"),
            transforms.MeasureStructuresd("label", structures),
        ],
        lazy=True,
    )
    found = chain({"label": path})["measured_label"]
    assert found["volume_mm3"].tolist() == [864, 576, 0]
    assert found["centroid_ras_mm"][0].tolist() == pytest.approx([6, 13.5, 8])


@pytest.mark.parametrize("shape", [(5, 6), (4, 5, 6), (2, 1, 4, 5, 6), (1, 1, 1, 4, 5, 6)])
def test_wrong_number_of_axes(shape, structures, refused):
    label = MetaTensor(torch.zeros(shape, dtype=torch.uint8), affine=torch.diag(torch.tensor([2.0, 3, 4, 1])))
    for step in (transforms.MeasureVolume(structures), transforms.ValidateGeometry()):
        with refused("not_3d", str(tuple(shape)), "ensure_channel_first"):
            step(label)


@pytest.mark.parametrize("shape", [(0, 4, 5, 6), (1, 4, 0, 6)])
def test_no_voxels(shape, structures, tensor_of, refused):
    with pytest.raises(Exception, match="no voxels"):
        transforms.MeasureVolume(structures)(tensor_of(torch.zeros(shape, dtype=torch.uint8)))


@pytest.mark.parametrize(
    ("affine", "code"),
    [
        (np.diag([1.0, 1.0, 0.0, 1.0]), "singular_affine"),
        (np.array([[1, 1, 0, 0], [0, 0, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1.0]]), "singular_affine"),
        (np.diag([1.0, np.nan, 1.0, 1.0]), "non_finite_affine"),
        (np.diag([1.0, np.inf, 1.0, 1.0]), "non_finite_affine"),
    ],
)
def test_br030_impossible_affines(affine, code, structures, scene, tensor_of, refused):
    for step in (transforms.MeasureVolume(structures), transforms.ValidateGeometry()):
        with refused(code):
            step(tensor_of(scene, affine))


def test_a_2d_affine(structures, scene, refused):
    label = MetaTensor(torch.as_tensor(scene[None]), affine=torch.diag(torch.tensor([2.0, 3, 1])))
    with refused("bad_geometry", "4x4"):
        transforms.MeasureVolume(structures)(label)


def test_br011_an_lps_space_is_turned_to_ras(structures, scene, tensor_of, differences):
    """A reader told to keep LPS says so in the tensor's space; world positions are RAS all the same."""
    affine = np.array([[0, -3, 0, 5], [2, 0, 0, -7], [0, 0, 4, 11], [0, 0, 0, 1.0]])
    ras = tensor_of(scene, affine)
    lps_affine = np.diag([-1.0, -1, 1, 1]) @ affine
    step = transforms.MeasureStructures(structures, "all")
    expected = step(ras)
    for space in ("LPS", "left-posterior-superior"):
        lps = tensor_of(scene, lps_affine)
        lps.meta["space"] = space
        assert not differences(step(lps), expected)
    lps.meta["space"] = "LPS"
    oriented = Orientationd("label", "RAS", labels=None)({"label": lps})["label"]
    assert not differences(step(oriented), expected, 1e-12)
    ras.meta["space"] = "right-anterior-superior"
    assert not differences(step(ras), expected)


def test_an_unknown_space_is_refused(structures, scene, tensor_of, refused):
    label = tensor_of(scene)
    label.meta["space"] = "scanner-xyz"
    with refused("unknown_space", "scanner-xyz"):
        transforms.MeasureVolume(structures)(label)


@pytest.mark.parametrize(
    "array",
    [
        pytest.param([2.0000001, 2.9999999993, 5.99999], id="float64"),
        pytest.param(np.array([2.0000001, 3.0, 5.9999], np.float32), id="float32"),
        pytest.param(np.array([2, 3, 6], np.float16), id="float16"),
    ],
)
def test_br032_float_labels_are_rounded(array, tensor_of):
    label = tensor_of(np.asarray(array).reshape(1, 1, 3))
    found = transforms.MeasureVolume({2: "a", 3: "b", 6: "c"}, strict=True)(label)
    assert found["voxel_count"].tolist() == [1, 1, 1]


def test_br033_labels_scaled_on_saving(tensor_of):
    array = np.full((1, 1, 37), 3.0000458)
    array[0, 0, 5] = 5.99999
    assert transforms.MeasureVolume({3: "a", 6: "b"})(tensor_of(array))["voxel_count"].tolist() == [36, 1]


@pytest.mark.parametrize("value", [0.5, 1.01, float("nan"), float("inf")])
def test_other_fractions_are_refused(value, structures, tensor_of, refused):
    array = np.zeros((2, 3, 4))
    array[1, 1, 1] = value
    with refused("fractional_labels"):
        transforms.MeasureVolume(structures)(tensor_of(array))


@pytest.mark.parametrize(
    ("dtype", "largest"),
    [(torch.float32, 2**24), (torch.float64, 2**53), (torch.float16, 2**11), (torch.bfloat16, 2**8)],
)
def test_ids_that_floats_cannot_hold_are_refused(dtype, largest, tensor_of, refused):
    """A float type merges neighbouring ids from there on, so the count would be of both."""
    voxels = torch.zeros(2, 3, 4, dtype=dtype)
    voxels[0, 0, 0] = largest
    with pytest.raises(Exception, match="exact"):
        transforms.MeasureVolume({largest: "a"})(tensor_of(voxels))
    voxels[0, 0, 0] = largest / 2
    assert transforms.MeasureVolume({largest // 2: "a"})(tensor_of(voxels))["voxel_count"].tolist() == [1]


def test_br039_large_ids_merge_in_monais_default_type(write_nifti, refused):
    """LoadImaged's default float32 makes one id of two; the stored type keeps both."""
    array = np.zeros((4, 4, 4), np.uint64)
    array[0, 0, 0], array[1, :2, 0] = 7112614941, 7112614942
    path = write_nifti("a.nii.gz", array, spacing=(1, 1, 2))
    names = {7112614941: "a", 7112614942: "b"}
    kept = Compose([loading(), transforms.MeasureVolumed("label", names)])({"label": path})
    assert kept["measured_label"]["voxel_count"].tolist() == [1, 2]
    merged = LoadImaged("label", reader=NiftiReader(), ensure_channel_first=True)
    with refused("inexact_labels", "dtype=None"):
        Compose([merged, transforms.MeasureVolumed("label", names)])({"label": path})


@pytest.mark.parametrize(
    ("dtype", "ids"),
    [
        (np.uint8, [1, 128, 255]),
        (np.int8, [1, 127]),
        (np.uint16, [255, 256, 300, 512, 32768, 65535]),  # BR-037: none wraps to background
        (np.int16, [255, 256, 300, 512]),
        (np.uint32, [1, 2**31 - 1, 2**31, 2**32 - 1]),
        (np.int32, [1, 2**31 - 1]),
        (np.uint64, [1, 2**32 + 1, 2**63 - 1, 2**63, 2**64 - 1]),
        (np.int64, [2**32, 2**40 + 1, 2**63 - 1]),
    ],
)
def test_ids_of_every_width(dtype, ids, tensor_of, device):
    """BR-037, BR-039: counts, places and overlaps are of the id itself, in every type."""
    sizes = [(row % 4 + 1) * 2 for row in range(len(ids))]
    array = np.zeros((len(ids), 5, 4), dtype)
    for row, label in enumerate(ids):
        array[row, : row % 4 + 1, 1:3] = label
    names = {label: f"s{label}" for label in ids}
    step = transforms.MeasureStructures(names, "all", strict=True)
    found = step(tensor_of(array, device=device))
    assert found["voxel_count"].tolist() == sizes
    assert (found["centroid_inside"] == 1).all()
    # The first id once more, in a layer of its own, over all the others.
    layers = np.zeros((2, *array.shape), dtype)
    layers[0, 1:] = array[1:]
    layers[1][array != 0] = ids[0]
    found = step(tensor_of(layers, device=device))
    assert found["voxel_count"].tolist() == [sum(sizes), *sizes[1:]]
    with_first = found["distance_rows"][:, 0] == 0
    assert found["distance_overlap_voxels"][with_first].tolist() == sizes[1:]
    assert not found["distance_overlap_voxels"][~with_first].any()


@pytest.mark.parametrize("dtype", [bool, np.uint8, np.int32, np.float32])
def test_a_binary_mask(dtype, block, tensor_of):
    found = transforms.MeasureStructures({1: "block"})(tensor_of(block.astype(dtype)))
    assert (found["voxel_count"].tolist(), found["centroid_inside"].tolist()) == ([36], [1])


def test_complex_values(structures, tensor_of, refused):
    with refused("bad_labels", "complex"):
        transforms.MeasureVolume(structures)(tensor_of(torch.zeros(2, 3, 4, dtype=torch.complex64)))


def test_br040_negative_ids(tensor_of, refused):
    array = np.full((3, 4, 5), -1, np.int16)
    array[1, 1, 1] = 3
    with refused("negative_label", "-1", "ignore"):
        transforms.MeasureVolume({3: "a"})(tensor_of(array))
    found = transforms.MeasureVolume({3: "a"}, ignore=[-1], strict=True)(tensor_of(array))
    assert found["voxel_count"].tolist() == [1]


def test_br041_an_intensity_image(structures, tensor_of, refused):
    array = np.random.default_rng(0).integers(0, 2000, (12, 12, 12)).astype(np.int16)
    with refused("intensity_image", "looks like an intensity image"):
        transforms.MeasureVolume(structures)(tensor_of(array))


@pytest.mark.parametrize(
    ("step", "resampled"),
    [
        (SpatialPadd("label", (16, 16, 16)), False),
        (DivisiblePadd("label", 8), False),
        (CropForegroundd("label", "label", allow_smaller=True), False),
        (CropForegroundd("label", "label", k_divisible=8, allow_smaller=True), False),
        (RandSpatialCropd("label", (10, 12, 8)), False),
        (Rotate90d("label"), False),
        (Flipd("label", 1), False),
        (RandFlipd("label", prob=1.0), False),
        (Orientationd("label", "SPL", labels=None), False),
        (Spacingd("label", (1, 1.5, 2), mode="nearest"), True),
        (Spacingd("label", (1, 1.5, 2), mode=0), True),
        (Resized("label", (20, 24, 16), mode="nearest-exact"), True),
        (Zoomd("label", 2, mode="nearest-exact", keep_size=False), True),
        (RandAffined("label", prob=1.0, scale_range=0.001, mode="nearest"), True),
    ],
    ids=lambda value: type(value).__name__,
)
def test_steps_before_measuring_that_keep_the_ids(step, resampled, structures, scene, tensor_of):
    label = step({"label": tensor_of(scene)})["label"]
    assert check_label(label).resampled == ("resampled" if resampled else "native")
    found = transforms.MeasureStructures(structures)(label)
    # Resampling moves the figures of a structure a few voxels wide by tens of percent: the reason to measure before it.
    assert found["volume_mm3"].tolist() == pytest.approx([864, 576, 0], rel=0.25 if resampled else 1e-12)
    assert found["centroid_ras_mm"][0].tolist() == pytest.approx([6, 13.5, 8], abs=1 if resampled else 1e-9)


@pytest.mark.parametrize(
    ("step", "said"),
    [
        (Spacingd("label", (1, 1.5, 2)), "bilinear"),
        (Resized("label", (20, 24, 16), mode="area"), "area"),
        (Zoomd("label", 2, mode="trilinear", keep_size=False), "trilinear"),
        (RandAffined("label", prob=1.0, rotate_range=0.1), "bilinear"),
        (Compose([Spacingd("label", (1, 1.5, 2)), Flipd("label", 0)]), "bilinear"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_br046_interpolated_labels_are_refused(step, said, structures, tensor_of, refused):
    """Also where every value happens to be whole again, as between two equal ids."""
    label = step({"label": tensor_of(np.full((10, 12, 8), 2, np.uint8))})["label"]
    with refused("interpolated_labels", said, "nearest"):
        transforms.MeasureVolume(structures)(label)
    assert check_scan(label).resampled == "resampled"  # an image may be


def test_br046_nearest_keeps_the_ids(tensor_of):
    array = np.full((8, 8, 8), 2, np.uint8)
    array[4:] = 4
    label = Spacingd("label", (1, 1.5, 2), mode="nearest")({"label": tensor_of(array)})["label"]
    assert set(label.unique().tolist()) == {2, 4}
    found = transforms.MeasureVolume({2: "a", 4: "b"}, strict=True)(label)
    assert (found["voxel_count"] > 0).all()


def test_padding_with_copies_is_refused(structures, scene, tensor_of, refused):
    for mode in ("edge", "reflect"):
        label = SpatialPadd("label", (16, 16, 16), mode=mode)({"label": tensor_of(scene)})["label"]
        with refused("padded_labels", mode, "constant"):
            transforms.MeasureVolume(structures)(label)
    unpadded = SpatialPadd("label", (4, 4, 4), mode="edge")({"label": tensor_of(scene)})["label"]
    assert transforms.MeasureVolume(structures)(unpadded)["volume_mm3"].tolist() == [864, 576, 0]


def test_gradients_and_strange_layouts_do_not_matter(structures, scene, tensor_of, differences):
    step = transforms.MeasureStructures(structures, "all")
    expected = step(tensor_of(scene))
    wide = torch.zeros(2, 20, 12, 8, dtype=torch.uint8)
    wide[0, ::2] = torch.as_tensor(scene)
    label = tensor_of(scene)
    strided = MetaTensor(wide[:1, ::2], meta=label.meta)
    fortran = tensor_of(torch.as_tensor(np.asfortranarray(scene)))
    floating = MetaTensor(torch.as_tensor(scene[None]).float().requires_grad_(), meta=label.meta)
    for other in (strided, fortran, floating):
        assert not differences(step(other), expected)


def test_image_slices_are_no_label_map(block, tensor_of, refused):
    label = tensor_of(block)
    label.meta["spatialqa_kind"] = "image"
    with refused("image_as_label"):
        transforms.MeasureVolume({1: "block"})(label)
