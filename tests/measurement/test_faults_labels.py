"""Faults that users of neighbouring tools met with label values, types and counts: what happens here."""

from __future__ import annotations

import time
import tracemalloc

import nibabel as nib
import numpy as np
import pytest

import monai_spatialqa as sqa
from monai_spatialqa.errors import LabelMapError, LabelValueError
from monai_spatialqa.phantoms import make_phantom


def counts(measurement):
    return {structure.label: structure.voxel_count for structure in measurement.structures.values()}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_br_032_float_labels_are_rounded(dtype, write_nifti):
    label = np.zeros((4, 4, 4), dtype)
    label[0], label[1], label[2] = 2.0000001, 2.9999999993, 5.99999
    assert counts(sqa.measure(write_nifti("seg.nii.gz", label))) == {2: 16, 3: 16, 6: 16}


@pytest.mark.parametrize(
    ("value", "shown"), [(2.4, "2.4"), (0.5, "0.5"), (np.nan, "nan"), (np.inf, "inf"), (3.002, "3.002")]
)
def test_br_032_other_fractions_are_refused(value, shown, write_nifti):
    label = np.zeros((4, 4, 4), np.float32)
    label[1, 2, 3] = value
    path = write_nifti("seg.nii", label)
    with pytest.raises(LabelValueError, match="not whole numbers") as caught:
        sqa.measure(path)
    assert (caught.value.code, caught.value.file) == ("fractional_labels", str(path))
    assert shown in caught.value.found


def test_br_032_probabilities_are_refused(write_nifti):
    label = np.linspace(0, 1, 64, dtype=np.float32).reshape(4, 4, 4)
    with pytest.raises(LabelValueError, match="threshold"):
        sqa.measure(write_nifti("seg.nii", label))


def test_br_032_floats_too_large_to_be_exact_are_refused(write_nifti):
    label = np.zeros((4, 4, 4), np.float32)
    label[1] = 2**24 - 1
    assert counts(sqa.measure(write_nifti("seg.nii", label))) == {2**24 - 1: 16}
    label[1] = 2**24 + 2
    with pytest.raises(LabelValueError, match="not exact") as caught:
        sqa.measure(write_nifti("large.nii", label))
    assert caught.value.code == "inexact_labels"


def test_br_033_scaled_on_save(tmp_path):
    label = np.zeros((10, 12, 8))
    label[2:5, 3:7, 1:4] = 3
    label[8, 8, 6] = 6
    image = nib.Nifti1Image(label, np.eye(4))
    image.header.set_data_dtype(np.int16)
    path = tmp_path / "seg.nii.gz"
    nib.save(image, path)
    stored = nib.load(path)
    assert stored.dataobj.slope != 1
    assert set(np.unique(np.asarray(stored.dataobj).astype(int))) == {0, 3, 5}  # what truncation makes of it
    assert counts(sqa.measure(path)) == {3: 36, 6: 1}


def test_br_035_the_asked_label_is_absent(write_nifti, block):
    path = write_nifti("seg.nii", block * 255)
    measurement = sqa.measure(path, label_map={1: "tumour"})
    assert measurement.structures["tumour"].status == ["absent"]
    assert measurement.unknown_labels == [255]
    assert measurement.structures["label_255"].voxel_count == 36
    with pytest.raises(LabelValueError) as caught:
        sqa.measure(path, label_map={1: "tumour"}, strict=True)
    assert (caught.value.code, caught.value.found) == ("unknown_labels", "255")


@pytest.mark.parametrize("endian", ["<", ">"])
def test_br_037_ids_do_not_wrap(endian, write_nifti):
    label = np.zeros((6, 4, 5), np.uint16)
    label[1], label[2], label[3], label[4, :2] = 255, 256, 300, 512
    found = counts(sqa.measure(write_nifti("seg.nii.gz", label, endian=endian)))
    assert found == {255: 20, 256: 20, 300: 20, 512: 10}


@pytest.mark.parametrize("value", [7_112_614_941, 2**63, 2**64 - 1])
def test_br_039_cost_follows_the_number_of_ids(value, write_nifti):
    label = np.zeros((10, 10, 10), np.uint64)
    label[2:5, 3:7, 1:4] = value
    path = write_nifti("seg.nii.gz", label)
    sqa.measure(path)
    tracemalloc.start()
    start = time.perf_counter()
    measurement = sqa.measure(path)
    seconds = time.perf_counter() - start
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert counts(measurement) == {value: 36}
    assert list(measurement.structures) == [f"label_{value}"]
    assert seconds < 0.9
    assert peak < 12 << 20
    assert f'"label":{value}' in measurement.to_json_line()


def test_br_040_negative_ids(write_nifti):
    label = np.zeros((4, 4, 4), np.int16)
    label[0], label[1] = -1, 3
    path = write_nifti("seg.nii", label)
    with pytest.raises(LabelValueError, match="-1") as caught:
        sqa.measure(path)
    assert (caught.value.code, caught.value.found) == ("negative_label", "-1")
    assert "ignore=[-1]" in caught.value.next_step
    assert counts(sqa.measure(path, ignore=[-1])) == {3: 16}


def test_br_040_a_background_of_minus_one(write_nifti):
    label = np.full((4, 4, 4), -1, np.int16)
    label[1] = 3
    measurement = sqa.measure(write_nifti("seg.nii", label), ignore=[-1])
    assert counts(measurement) == {3: 16}
    for dtype in (np.float32, np.int8):
        assert counts(sqa.measure(write_nifti("seg2.nii", label.astype(dtype)), ignore=[-1])) == {3: 16}


def test_br_041_an_image_in_place_of_the_mask(write_nifti):
    rng = np.random.default_rng(0)
    image = rng.normal(600, 120, (24, 24, 24)).astype(np.int16)
    image[:4] = image[-4:] = image[:, :4] = image[:, -4:] = 0  # as after brain extraction
    path = write_nifti("brain.nii.gz", image)
    with pytest.raises(LabelValueError, match="looks like an intensity image") as caught:
        sqa.measure(path)
    error = caught.value
    assert (error.code, error.file) == ("intensity_image", str(path))
    assert error.found == f"{len(np.unique(image)) - 1:,} distinct values"
    with pytest.raises(LabelValueError, match="looks like an intensity image"):
        sqa.measure(path, label_map="totalsegmentator_v2")


def test_br_041_more_values_than_structures_can_have(write_nifti):
    image = np.arange(20 * 20 * 20, dtype=np.int16).reshape(20, 20, 20)
    with pytest.raises(LabelValueError, match="looks like an intensity image") as caught:
        sqa.measure(write_nifti("ramp.nii.gz", image))
    assert "5,000 distinct values" in caught.value.found


def test_br_041_many_structures_are_no_image(write_nifti):
    parcels = np.arange(1, 513, dtype=np.int16).reshape(8, 8, 8).repeat(4, 0).repeat(4, 1).repeat(4, 2)
    assert counts(sqa.measure(write_nifti("atlas.nii.gz", parcels))) == dict.fromkeys(range(1, 513), 64)


def test_br_042_counts_do_not_wrap(write_nifti):
    label = np.zeros((10, 10, 10), np.uint8)
    label[:3] = 1
    label[5:8] = 200
    assert counts(sqa.measure(write_nifti("seg.nii", label))) == {1: 300, 200: 300}


@pytest.mark.parametrize("value", [1, 255])
def test_br_045_no_background(value, write_nifti):
    label = np.full((4, 5, 6), value, np.uint8)
    (found,) = sqa.measure(write_nifti("seg.nii", label, spacing=(2, 3, 4))).structures.values()
    assert (found.voxel_count, found.volume_mm3) == (120, 120 * 24)
    assert found.box.extent_mm == (8, 15, 24)
    assert found.status == ["truncated"]
    assert found.truncated_faces == ["left", "right", "posterior", "anterior", "inferior", "superior"]


@pytest.mark.parametrize("seed", [1, 2])
def test_br_047_masks_are_saved_in_the_smallest_type(seed, tmp_path):
    phantom = make_phantom(seed, shape=(60, 45, 50), spacing_mm=(6.0, 6.0, 8.0))
    _, path = phantom.save(tmp_path, "case")
    assert nib.load(path).get_data_dtype() == np.uint8
    names = phantom.label_names
    measurement = sqa.measure(path, label_map=names)
    expected = {label: int((phantom.label == label).sum()) for label in names}
    assert max(expected) > 127
    assert counts(measurement) == expected


def test_br_055_two_names_share_an_id(write_nifti, block, tmp_path):
    doubled = tmp_path / "map.yaml"
    doubled.write_text("11: liver\n12: spleen\n11: kidney_left\n", encoding="utf-8")
    with pytest.raises(LabelMapError, match="11") as caught:
        sqa.measure(tmp_path / "not even looked at.nii.gz", label_map=doubled)
    assert caught.value.file == str(doubled)
    doubled.write_text("11: liver\n12: liver\n", encoding="utf-8")
    with pytest.raises(LabelMapError, match="liver"):
        sqa.measure(write_nifti("seg.nii", block), label_map=doubled)


def test_br_056_an_id_outside_the_map(write_nifti):
    label = np.zeros((6, 6, 6), np.uint8)
    label[1], label[2], label[4, :3] = 1, 24, 25
    path = write_nifti("seg.nii", label)
    names = {number: f"part_{number}" for number in range(1, 25)}
    measurement = sqa.measure(path, label_map=names)
    assert measurement.unknown_labels == [25]
    assert measurement.structures["label_25"].voxel_count == 18
    assert measurement.structures["part_24"].voxel_count == 36
    assert len(measurement.structures) == 25
    with pytest.raises(LabelValueError) as caught:
        sqa.measure(path, label_map=names, strict=True)
    assert (caught.value.code, caught.value.found, caught.value.file) == ("unknown_labels", "25", str(path))
