"""The measuring transforms in the chains that MONAI users have: before, after and between other transforms."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from monai.transforms import (
    AsDiscreted,
    Compose,
    CropForegroundd,
    EnsureTyped,
    LoadImaged,
    Orientationd,
    RandSpatialCropd,
    Resized,
    SelectItemsd,
    Spacingd,
    SpatialPadd,
)

import monai_spatialqa as sqa
from monai_spatialqa import transforms
from monai_spatialqa.anatomy import load_label_map
from monai_spatialqa.measurement.arrays import record_of
from monai_spatialqa.measurement.options import MeasureOptions
from monai_spatialqa.phantoms import make_phantom
from monai_spatialqa.readers import NiftiReader
from monai_spatialqa.records import Source, Status
from monai_spatialqa.transforms.inputs import check_label


def readme_chain(names, *, orient=True, loader=None):
    """The chain of the README."""
    return Compose(
        [
            loader or LoadImaged("label", reader=NiftiReader(), dtype=None, ensure_channel_first=True),
            transforms.ValidateGeometryd("label"),
            *([Orientationd("label", "RAS", labels=None)] if orient else []),
            transforms.MeasureVolumed("label", structures=names),
            transforms.MeasureBoundingBoxd("label", structures=names),
            transforms.MeasureDistanced("label", structures=names),
        ]
    )


@pytest.fixture(scope="module")
def phantom():
    return make_phantom(11, shape=(60, 45, 50), spacing_mm=(6.0, 6.0, 8.0), axcodes="LPI", rotation_deg=(4, -6, 9))


@pytest.fixture
def phantom_files(phantom, tmp_path):
    return phantom.save(tmp_path, "p")


def test_the_readme_chain_on_a_phantom(phantom, phantom_files):
    """Measured figures lie within the bounds of the analytic ones."""
    names = phantom.label_names
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        warnings.filterwarnings("ignore", "NvImgCodecPydicomReader")  # LoadImage, once pydicom is installed
        found = readme_chain(names)({"label": phantom_files[1]})["measured_label"]
    assert not (found["volume_status"] & ~int(Status.SINGLE_SLICE)).any()  # the smallest tumour is one voxel thick
    for row, name in enumerate(names.values()):
        truth = phantom.shapes[name]
        error = abs(float(found["volume_mm3"][row]) - truth.volume_mm3)
        assert error <= truth.volume_error_bound_mm3(phantom.affine), name
        low, high = found["volume_band_mm3"][row].tolist()
        assert low < float(found["volume_mm3"][row]) < high
        offset = found["centroid_ras_mm"][row].numpy() - truth.centroid_ras_mm
        assert np.linalg.norm(offset) < np.linalg.norm(phantom.spacing_mm) / 2, name
    centers = found["center_ras_mm"].numpy()
    for at, (first, second) in enumerate(found["distance_rows"].tolist()):
        assert found["distance_mm"][at] == pytest.approx(np.linalg.norm(centers[first] - centers[second]))


def test_orienting_first_changes_nothing(phantom, phantom_files, differences):
    names = phantom.label_names
    oriented, plain = (
        readme_chain(names, orient=orient)({"label": phantom_files[1]})["measured_label"] for orient in (True, False)
    )
    assert not differences(oriented, plain)


def test_a_stock_loader_validated_equals_the_own_one(phantom, phantom_files, differences):
    names = phantom.label_names
    own = readme_chain(names)({"label": phantom_files[1]})["measured_label"]
    for dtype in (None, np.float32):
        stock = LoadImaged("label", dtype=dtype, ensure_channel_first=True)
        found = readme_chain(names, loader=stock)({"label": phantom_files[1]})["measured_label"]
        assert not differences(found, own, 1e-9)


def test_loading_and_measuring_share_the_memory(scene, write_nifti, structures):
    data = readme_chain(structures, orient=False)({"label": write_nifti("a.nii.gz", scene, spacing=(2, 3, 4))})
    assert data["label"].dtype == torch.uint8
    assert data["label"].stride()[1:] == (1, 10, 120)


def test_measuring_then_resampling_the_same_key(structures, scene, write_nifti, differences):
    """Spacingd updates every entry that starts with "label_"; the results have another name."""
    path = write_nifti("a.nii.gz", scene, spacing=(2, 3, 4))
    before = readme_chain(structures)({"label": path, "label_note": {"kept": 1}, "case_id": "c1"})
    copied = {name: value.clone() for name, value in before["measured_label"].items()}
    after = Compose(
        [
            Spacingd("label", (1, 1, 1), mode="nearest"),
            CropForegroundd("label", "label", allow_smaller=True),
            SpatialPadd("label", (32, 32, 32)),
            RandSpatialCropd("label", (16, 16, 16), random_size=False),
            EnsureTyped("label", dtype=torch.float32),
            AsDiscreted("label", to_onehot=4),
            Resized("label", (8, 8, 8), mode="nearest"),
        ]
    )(before)
    assert after["label"].shape == (4, 8, 8, 8)
    assert not differences(after["measured_label"], copied)
    assert set(after) - set(before) == {"foreground_start_coord", "foreground_end_coord"}


def test_spacingd_after_measuring_leaves_every_entry_alone(structures, scene, tensor_of):
    data = transforms.MeasureStructuresd("label", structures, "all")({"label": tensor_of(scene)})
    data["measured_label"]["affine"] = "kept"
    after = Spacingd("label", (1, 1, 1), mode="nearest")(data)
    assert after["measured_label"]["affine"] == "kept"
    assert set(after["measured_label"]) == set(data["measured_label"])


def test_cropping_before_measuring_keeps_the_place_in_the_world(structures, scene, tensor_of):
    full = transforms.MeasureStructures(structures)(tensor_of(scene))
    cropped = CropForegroundd("label", "label", margin=1, allow_smaller=True)({"label": tensor_of(scene)})["label"]
    found = transforms.MeasureStructures(structures)(cropped)
    for name in ("volume_mm3", "extent_mm", "centroid_ras_mm", "world_min_ras_mm", "world_max_ras_mm"):
        assert torch.equal(found[name].nan_to_num(-1), full[name].nan_to_num(-1)), name
    assert found["box_index"][0].tolist() == [[1, 1, 1], [4, 5, 4]]


def test_measuring_again_after_a_crop_reuses_nothing(structures, scene, tensor_of, refused):
    """Stale figures are never taken for new ones: a second measuring needs a place of its own."""
    data = transforms.MeasureVolumed("label", structures)({"label": tensor_of(scene)})
    data["label"] = data["label"][:, :4]  # a plain slice: half of the liver is gone
    with refused("bad_settings", "voxel_count"):
        transforms.MeasureVolumed("label", structures)(data)
    data["part"] = data["label"]
    again = transforms.MeasureVolumed("part", structures)(data)
    assert again["measured_part"]["voxel_count"].tolist() == [24, 0, 0]
    assert again["measured_label"]["voxel_count"].tolist() == [36, 24, 0]


def test_resampled_measuring_is_recorded(structures, scene, write_nifti):
    path = write_nifti("a.nii.gz", scene, spacing=(2, 3, 4))
    chain = Compose(
        [
            LoadImaged("label", reader=NiftiReader(), dtype=None, ensure_channel_first=True),
            transforms.ValidateGeometryd("label"),
            Orientationd("label", "RAS", labels=None),
            Spacingd("label", (1.0, 1.5, 2.0), mode="nearest"),
            transforms.MeasureStructuresd("label", structures),
        ]
    )
    data = chain({"label": path})
    assert check_label(data["label"]).resampled == "resampled"
    label_map = load_label_map(structures)
    source = Source(path=None, sha256=None)
    options = MeasureOptions(label_map=label_map)
    record = record_of(data["label"], data["measured_label"], label_map, options, "c1", source)
    assert record.geometry.grid == "resampled"
    assert record.geometry.spacing_mm == pytest.approx((1, 1.5, 2))
    assert sqa.measure(path, label_map=structures).geometry.grid == "native"


@pytest.mark.parametrize("keys", [["image", "label"], ["label", "image"]], ids=" then ".join)
def test_br104_spacings_that_differ_in_the_sixth_digit(keys, write_nifti, structures):
    """Same shapes after resampling, whatever the order of the keys; the pair still fits; the spacing is reported."""
    array = np.zeros((61, 67, 43), np.uint8)
    array[20:30, 20:40, 10:20] = 1
    array[40:50, 45:60, 25:40] = 2
    paths = {
        "image": write_nifti("ct.nii.gz", array.astype(np.int16), spacing=(0.7, 0.7, 2.5)),
        "label": write_nifti("seg.nii.gz", array, spacing=(0.700001, 0.699999, 2.500001)),
    }
    chain = Compose(
        [
            LoadImaged(keys, reader=NiftiReader(), dtype=None, ensure_channel_first=True),
            Orientationd(keys, "RAS", labels=None),
            transforms.ValidateGeometryd(keys, reference_key="image"),
            Spacingd(keys, (1.0, 1.0, 1.0), mode=["nearest" if key == "label" else "bilinear" for key in keys]),
            transforms.ValidateGeometryd("label", reference_key="image"),
            transforms.MeasureStructuresd("label", structures, "all"),
        ]
    )
    data = chain(paths)
    assert data["image"].shape == data["label"].shape
    assert check_label(data["label"]).grid.spacing_mm == pytest.approx((1, 1, 1))
    found = data["measured_label"]
    assert found["volume_mm3"].tolist() == pytest.approx([2000 * 1.225, 2250 * 1.225, 0], rel=0.1)
    assert found["distance_mm"][0] == pytest.approx(float(np.linalg.norm([14, 15.75, 43.75])), abs=1)


def test_br104_native_figures_do_not_depend_on_the_order_of_keys(write_nifti, structures, scene, differences):
    paths = {
        "image": write_nifti("ct.nii.gz", scene.astype(np.int16), spacing=(0.7, 0.7, 2.5)),
        "label": write_nifti("seg.nii.gz", scene, spacing=(0.700001, 0.699999, 2.500001)),
    }
    results = []
    for keys in (["image", "label"], ["label", "image"]):
        chain = Compose(
            [
                LoadImaged(keys, reader=NiftiReader(), dtype=None, ensure_channel_first=True),
                transforms.ValidateGeometryd(keys, reference_key="image"),
                transforms.MeasureStructuresd(keys[::-1], structures, "all"),
                SelectItemsd(["measured_label", "measured_image"]),
            ]
        )
        results.append(chain(paths))
    for key in results[0]:
        assert not differences(results[0][key], results[1][key])


@settings(max_examples=60, deadline=None)
@given(
    start=st.tuples(st.integers(0, 20), st.integers(0, 20), st.integers(0, 4)),
    size=st.tuples(st.integers(1, 12), st.integers(1, 12), st.integers(1, 4)),
)
def test_br106_voxel_size_does_not_matter(start, size, tensor_of):
    """The same physical block at (1, 1, 1) and at (1, 1, 5): equal volume, centroid within half a voxel."""
    figures = []
    for slice_mm in (1, 5):
        array = np.zeros((32, 32, 40 // slice_mm), np.uint8)
        scaled = 5 // slice_mm
        x, y, z = start[0], start[1], start[2] * scaled
        array[x : x + size[0], y : y + size[1], z : z + size[2] * scaled] = 1
        affine = np.diag([1.0, 1.0, slice_mm, 1.0])
        affine[2, 3] = (slice_mm - 1) / 2  # outer faces coincide
        figures.append(transforms.MeasureStructures({1: "block"})(tensor_of(array, affine)))
    fine, coarse = figures
    assert torch.equal(fine["volume_mm3"], coarse["volume_mm3"])
    assert torch.equal(fine["extent_mm"], coarse["extent_mm"])
    assert (fine["centroid_ras_mm"] - coarse["centroid_ras_mm"]).abs().max() < 2.5
    assert torch.allclose(fine["centroid_ras_mm"], coarse["centroid_ras_mm"])


def test_image_and_label_side_by_side(phantom, phantom_files):
    """An image in the dictionary stays as it is; the label's results stand beside it."""
    keys = ["image", "label"]
    chain = Compose(
        [
            LoadImaged(keys, reader=NiftiReader(), dtype=None, ensure_channel_first=True),
            transforms.ValidateGeometryd(keys, reference_key="image"),
            Orientationd(keys, "RAS", labels=None),
            transforms.MeasureStructuresd("label", phantom.label_names),
        ]
    )
    data = chain(dict(zip(keys, phantom_files, strict=True)))
    assert set(data) == {"image", "label", "measured_label"}
    assert data["image"].dtype == torch.int16
    assert not (data["measured_label"]["volume_status"] & Status.UNVERIFIED).any()
