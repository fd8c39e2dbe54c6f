"""Faults that users of neighbouring tools met with pairs, channels, missing and cut structures: what happens here."""

from __future__ import annotations

import numpy as np
import pytest

import monai_spatialqa as sqa
from monai_spatialqa.errors import LabelValueError, PairingError
from monai_spatialqa.records import Box, Geometry, Pair

NAMES = {1: "liver", 2: "spleen", 3: "pancreas"}


# F. Image-label pairs, channels


def test_br_048_one_slice_short(write_nifti, block):
    image = write_nifti("ct.nii.gz", block.astype(np.int16), spacing=(2, 3, 4))
    label = write_nifti("seg.nii.gz", block[:, :, :7], spacing=(2, 3, 4))
    with pytest.raises(PairingError) as caught:
        sqa.measure(label, image=image)
    error = caught.value
    assert "(10, 12, 7)" in error.found
    assert "(10, 12, 8)" in error.found
    assert (error.code, error.file) == ("other_extent", str(label))


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_br_049_another_place(axis, write_nifti, block):
    moved = np.diag([2.0, 3.0, 4.0, 1.0])
    moved[axis, 3] = 14
    image = write_nifti("ct.nii.gz", block, spacing=(2, 3, 4))
    label = write_nifti("seg.nii.gz", block, moved)
    with pytest.raises(PairingError) as caught:
        sqa.measure(label, image=image)
    assert caught.value.code == "other_place"
    assert "14.000 mm" in caught.value.found
    assert "tolerance" not in str(caught.value)


def test_br_049_half_a_voxel(write_nifti, block):
    moved = np.diag([2.0, 3.0, 4.0, 1.0])
    moved[0, 3] = 1
    with pytest.raises(PairingError):
        sqa.measure(write_nifti("seg.nii", block, moved), image=write_nifti("ct.nii", block, spacing=(2, 3, 4)))


def test_br_049_another_axis_order_or_resolution_is_the_same_place(write_nifti, block):
    label = write_nifti("seg.nii", block, spacing=(2, 3, 4))
    alone = sqa.measure(label).structures
    turned = np.diag([-2.0, -3.0, 4.0, 1.0])
    turned[:2, 3] = 18, 33
    finer = np.diag([1.0, 1.5, 2.0, 1.0])
    finer[:3, 3] = -0.5, -0.75, -1
    for image in (
        write_nifti("lps.nii", block[::-1, ::-1], turned),
        write_nifti("finer.nii", np.zeros((20, 24, 16), np.int16), finer),
    ):
        assert sqa.measure(label, image=image).structures == alone


def test_br_057_one_hot_channels(write_nifti):
    label = np.zeros((6, 6, 6, 3), np.uint8)
    label[1:3, 1:3, 1:3, 0] = label[2:5, 2:5, 2:5, 1] = label[4, 4, 4, 2] = 1
    path = write_nifti("seg.nii.gz", label)
    measurement = sqa.measure(path, label_map=NAMES)
    assert {name: found.voxel_count for name, found in measurement.structures.items()} == {
        "liver": 8,
        "spleen": 27,
        "pancreas": 1,
    }
    assert measurement.unknown_labels == []
    pairs = sqa.measure(path, label_map=NAMES, distances="all").pairs
    assert [(pair.a, pair.b, pair.overlap_voxels) for pair in pairs] == [
        ("liver", "spleen", 1),
        ("liver", "pancreas", 0),
        ("spleen", "pancreas", 1),
    ]
    assert ["overlapping" in pair.status for pair in pairs] == [True, False, True]
    # Without names the channels are numbered.
    assert [found.voxel_count for found in sqa.measure(path).structures.values()] == [8, 27, 1]


def test_br_057_a_time_series_of_label_maps(write_nifti):
    label = np.zeros((6, 6, 6, 3), np.uint8)
    label[1:3], label[4] = 1, 2
    path = write_nifti("seg.nii.gz", label)
    for options in ({}, {"label_map": NAMES}):
        with pytest.raises(LabelValueError, match="meaning of the channel axis is unclear") as caught:
            sqa.measure(path, **options)
        assert (caught.value.code, caught.value.file) == ("unclear_channels", str(path))


def test_br_057_channels_that_do_not_fit_the_names(write_nifti):
    label = np.zeros((6, 6, 6, 5), np.uint8)
    label[1, 1, 1] = 1
    with pytest.raises(LabelValueError) as caught:
        sqa.measure(write_nifti("seg.nii.gz", label), label_map=NAMES)
    assert caught.value.code == "unclear_channels"


# G. Presence, extent, shape


def test_br_060_an_empty_structure(write_nifti):
    path = write_nifti("seg.nii.gz", np.zeros((5, 5, 5), np.uint8))
    measurement = sqa.measure(path, label_map=NAMES, distances=[("liver", "spleen")])
    for found in measurement.structures.values():
        assert (found.voxel_count, found.volume_mm3, found.volume_ml) == (0, 0.0, 0.0)
        assert found.box is found.centroid_ras_mm is found.centroid_inside is None
        assert found.truncated_faces == []
        assert found.status == ["absent"]
    assert measurement.pairs[0].distance_mm is None
    line = measurement.to_json_line()
    assert "NaN" not in line
    assert "Infinity" not in line
    assert sqa.measure(path).structures == {}


def test_br_061_absent_is_not_not_segmented(write_nifti, block):
    path = write_nifti("seg.nii.gz", block)
    measurement = sqa.measure(
        path, label_map=NAMES, segmented=["liver", "spleen"], distances=[("liver", "spleen"), ("liver", "pancreas")]
    )
    liver, spleen, pancreas = (measurement.structures[name] for name in NAMES.values())
    assert liver.status == ["ok"]
    assert spleen.status == ["absent"]
    assert (spleen.voxel_count, spleen.volume_mm3) == (0, 0.0)
    assert pancreas.status == ["not_segmented"]
    assert pancreas.voxel_count is pancreas.volume_mm3 is pancreas.volume_ml is pancreas.volume_band_ml is None
    assert pancreas.box is pancreas.centroid_ras_mm is None
    assert [pair.status for pair in measurement.pairs] == [["absent"], ["not_segmented"]]
    with pytest.raises(LabelValueError, match="liver"):
        sqa.measure(path, label_map=NAMES, segmented=["spleen"])


@pytest.mark.parametrize(
    ("axis", "end", "face"),
    [
        (0, 0, "left"),
        (0, 1, "right"),
        (1, 0, "posterior"),
        (1, 1, "anterior"),
        (2, 0, "inferior"),
        (2, 1, "superior"),
    ],
)
def test_br_062_a_cut_structure_keeps_its_number(axis, end, face, write_nifti, block):
    label = np.zeros_like(block)
    where = [slice(2, 5), slice(3, 7), slice(1, 4)]
    length = where[axis].stop - where[axis].start
    where[axis] = slice(block.shape[axis] - length, None) if end else slice(0, length)
    label[tuple(where)] = 1
    (found,) = sqa.measure(write_nifti("seg.nii", label, spacing=(2, 3, 4))).structures.values()
    assert (found.voxel_count, found.volume_mm3) == (36, 864.0)
    assert found.status == ["truncated"]
    assert found.truncated_faces == [face]


def test_br_062_faces_are_the_patients_not_the_arrays(write_nifti, block):
    label = np.zeros_like(block)
    label[:3, 3:7, 1:4] = 1
    (found,) = sqa.measure(write_nifti("seg.nii", label, np.diag([-2.0, 3, 4, 1]))).structures.values()
    assert found.truncated_faces == ["right"]


def test_br_062_a_margin_can_be_set(write_nifti, block):
    path = write_nifti("seg.nii", block)
    assert [s.truncated_faces for s in sqa.measure(path, fov_margin_voxels=1).structures.values()] == [["inferior"]]
    assert [s.truncated_faces for s in sqa.measure(path, fov_margin_voxels=2).structures.values()] == [
        ["left", "inferior"]
    ]


def test_br_066_a_single_voxel(write_nifti):
    label = np.zeros((5, 6, 7), np.uint8)
    label[1, 2, 3] = 1
    (found,) = sqa.measure(write_nifti("seg.nii", label, spacing=(0.5, 0.5, 0.5))).structures.values()
    assert found.volume_mm3 == 0.125
    assert found.box.extent_mm == (0.5, 0.5, 0.5)
    assert found.centroid_ras_mm == found.box.center_ras_mm == (0.5, 1.0, 1.5)
    assert found.centroid_inside
    assert found.status == ["single_slice"]


def test_br_066_a_volume_of_one_voxel(write_nifti):
    (found,) = sqa.measure(write_nifti("seg.nii", np.ones((1, 1, 1), np.uint8))).structures.values()
    assert found.status == ["truncated", "single_slice"]
    assert len(found.truncated_faces) == 6


def test_br_071_boxes_are_half_open(write_nifti, block):
    (found,) = sqa.measure(write_nifti("seg.nii", block, spacing=(2, 3, 4))).structures.values()
    assert (found.box.index_start, found.box.index_stop) == ((2, 3, 1), (5, 7, 4))
    assert found.box.extent_mm == (6, 12, 12)
    fields = Box.model_json_schema()["properties"]
    assert "half-open" in fields["index_stop"]["description"]
    assert "outer voxel faces" in fields["extent_mm"]["description"]
    assert "voxel centre" in Geometry.model_json_schema()["properties"]["affine_ras_mm"]["description"]


@pytest.mark.parametrize("present", [(), (1,), (2,)])
@pytest.mark.parametrize("kind", ["box_center", "centroid"])
def test_br_072_distance_to_nothing(present, kind, write_nifti):
    label = np.zeros((5, 5, 5), np.uint8)
    for value in present:
        label[value, 2:4, 2:4] = value
    path = write_nifti("seg.nii", label)
    (pair,) = sqa.measure(path, label_map=NAMES, distances=[("liver", "spleen")], distance_kind=kind).pairs
    assert pair.distance_mm is None
    assert pair.points_ras_mm is None
    assert pair.overlap_voxels is None
    assert "absent" in pair.status
    assert "null" in Pair.model_json_schema()["properties"]["distance_mm"]["description"]
