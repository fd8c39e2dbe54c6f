"""Faults that users of neighbouring tools met with units, left and right, and NIfTI headers: what happens here."""

from __future__ import annotations

import math

import numpy as np
import pytest
import SimpleITK as sitk

import monai_spatialqa as sqa
from monai_spatialqa.errors import GeometryError
from monai_spatialqa.records import Measurement, Structure


def only(measurement: Measurement) -> Structure:
    (structure,) = measurement.structures.values()
    return structure


def set_fields(**values):
    def edit(header):
        for name, value in values.items():
            header[name] = value

    return edit


def zero_spacing_along_z(header):
    header["pixdim"][3] = 0


# A. Units and what "volume" means


def test_br_001_both_units_in_the_names(write_nifti, block):
    found = only(sqa.measure(write_nifti("seg.nii.gz", block, spacing=(2, 3, 4))))
    assert found.volume_mm3 == 864
    assert found.volume_ml == 0.864
    assert not {"volume", "size", "distance"} & set(found.model_dump())
    assert {name for name in found.model_dump() if "volume" in name} == {"volume_mm3", "volume_ml", "volume_band_ml"}


@pytest.mark.parametrize("spacing", [(2, 3, 4), (0.5, 0.5, 8), (0.7, 1.3, 0.9)])
def test_br_002_voxel_count_is_no_volume(spacing, write_nifti, block):
    found = only(sqa.measure(write_nifti("seg.nii.gz", block, spacing=spacing)))
    assert found.voxel_count == 36
    assert found.volume_mm3 == pytest.approx(36 * math.prod(spacing), rel=1e-6)
    assert found.volume_mm3 != 36


def test_br_004_micrometres_are_converted(write_nifti, block):
    measurement = sqa.measure(write_nifti("seg.nii", block, spacing=(500, 500, 500), unit="micron"))
    found = only(measurement)
    assert measurement.geometry.spacing_mm == (0.5, 0.5, 0.5)
    assert found.volume_mm3 == 4.5
    assert found.box.extent_mm == (1.5, 2, 1.5)
    assert found.centroid_ras_mm == pytest.approx((1.5, 2.25, 1.0))
    assert any("micrometre" in note for note in measurement.geometry.notes)


def test_br_004_metres_are_converted(write_nifti, block):
    in_metres = sqa.measure(write_nifti("m.nii", block, spacing=(0.002, 0.003, 0.004), unit="m"), case_id="c")
    in_mm = sqa.measure(write_nifti("mm.nii", block, spacing=(2, 3, 4)), case_id="c")
    found, expected = only(in_metres), only(in_mm)
    assert found.volume_mm3 == pytest.approx(expected.volume_mm3, rel=1e-6)
    assert found.box.center_ras_mm == pytest.approx(expected.box.center_ras_mm, rel=1e-6)
    unknown = sqa.measure(write_nifti("none.nii", block, spacing=(2, 3, 4), unit=None), case_id="c")
    assert only(unknown) == expected
    assert unknown.geometry.notes == ["no spatial unit in the header, taken as mm"]


def test_br_007_the_method_is_named(write_nifti, block):
    found = only(sqa.measure(write_nifti("seg.nii", block, spacing=(2, 3, 4))))
    assert found.volume_mm3 == found.voxel_count * 24
    fields = Structure.model_json_schema()["properties"]
    assert "voxel count" in fields["volume_mm3"]["description"]
    assert "mean of the voxel centres" in fields["centroid_ras_mm"]["description"]
    assert "counts half" in fields["volume_band_ml"]["description"]


@pytest.mark.parametrize("kind", ["box_center", "centroid"])
def test_br_008_distances_are_in_mm(kind, write_nifti):
    label = np.zeros((6, 6, 8), np.uint8)
    label[2, 2, 2], label[2, 2, 5] = 1, 2
    path = write_nifti("seg.nii", label, spacing=(1, 1, 4))
    (pair,) = sqa.measure(path, distances=[("label_1", "label_2")], distance_kind=kind).pairs
    assert (pair.kind, pair.distance_mm) == (kind, 12.0)
    assert pair.points_ras_mm == ((2, 2, 8), (2, 2, 20))


# B. Left and right, RAS and LPS


@pytest.fixture
def two_blobs():
    label = np.zeros((8, 6, 6), np.uint8)
    label[1, 3, 3], label[6, 3, 3] = 1, 2
    return label


SIDES = {1: "kidney_left", 2: "kidney_right"}


@pytest.mark.parametrize("unit", [1.0, -1.0])
def test_br_010_lower_x_is_the_patients_left(unit, write_nifti, two_blobs):
    path = write_nifti("seg.nii", two_blobs, np.diag([unit, 1, 1, 1]))
    measurement = sqa.measure(path, label_map=SIDES)
    left, right = (measurement.structures[name] for name in SIDES.values())
    assert (left.centroid_ras_mm[0] < right.centroid_ras_mm[0]) == (unit > 0)
    assert measurement.geometry.orientation == ("RAS" if unit > 0 else "LAS")
    expected = ["single_slice"] if unit > 0 else ["single_slice", "name_conflict"]
    assert left.status == right.status == expected
    # Names are never swapped.
    assert (left.label, right.label) == (1, 2)


def test_br_010_the_same_scan_stored_the_other_way_round(write_nifti, two_blobs):
    plain = sqa.measure(write_nifti("ras.nii", two_blobs), case_id="c", label_map=SIDES)
    turned = np.diag([-1.0, -1.0, 1.0, 1.0])
    turned[:2, 3] = 7, 5
    flipped = sqa.measure(write_nifti("lps.nii", two_blobs[::-1, ::-1], turned), case_id="c", label_map=SIDES)
    assert flipped.geometry.orientation == "LPS"
    assert flipped.structures == plain.structures


def test_br_012_a_turned_volume(tmp_path):
    """A volume turned 30 degrees in plane, written and described by another library."""
    image = np.zeros((8, 12, 10), np.uint8)  # z, y, x
    image[1:4, 3:7, 2:5] = 1
    written = sitk.GetImageFromArray(image)
    written.SetSpacing((2, 3, 4))
    written.SetOrigin((-5, 7, 11))
    c, s = math.cos(math.pi / 6), math.sin(math.pi / 6)
    written.SetDirection((c, -s, 0, s, c, 0, 0, 0, 1))
    path = tmp_path / "seg.nii.gz"
    sitk.WriteImage(written, str(path))
    statistics = sitk.LabelShapeStatisticsImageFilter()
    statistics.Execute(written)
    x, y, z = statistics.GetCentroid(1)
    found = only(sqa.measure(path))
    assert found.centroid_ras_mm == pytest.approx((-x, -y, z), abs=1e-5)
    assert found.centroid_ras_mm == pytest.approx((6.554, -21.691, 19.0), abs=1e-3)
    assert found.box.extent_mm == pytest.approx((6, 12, 12), rel=1e-6)


def test_br_017_neither_form_has_a_code(write_nifti, block):
    path = write_nifti("seg.nii", block, spacing=(2, 3, 4), forms=(0, 0))
    second = block.copy()
    second[0, 5, 5] = 2
    measurement = sqa.measure(path)
    found = only(measurement)
    assert found.volume_mm3 == 864
    assert found.box.extent_mm == (6, 12, 12)
    assert found.status == ["orientation_unknown"]
    assert measurement.geometry.orientation is None
    assert measurement.geometry.affine_ras_mm is None
    assert found.centroid_ras_mm is None
    assert found.box.center_ras_mm is found.box.world_min_ras_mm is found.box.world_max_ras_mm is None
    assert any("orientation unknown" in note for note in measurement.geometry.notes)

    path = write_nifti("sides.nii", second, spacing=(2, 3, 4), forms=(0, 0))
    measurement = sqa.measure(path, label_map={1: "kidney_left", 2: "kidney_right"}, distances="all")
    # A length needs no orientation; its end points and a contradicted side do.
    assert measurement.pairs[0].distance_mm > 0
    assert measurement.pairs[0].points_ras_mm is None
    assert "name_conflict" not in measurement.structures["kidney_left"].status
    assert measurement.structures["kidney_right"].truncated_faces == ["first_0"]


# C. NIfTI headers: sform, qform, codes


def test_br_019_qform_only(write_nifti, block):
    measurement = sqa.measure(write_nifti("seg.nii", block, np.diag([-2.0, 3, 4, 1]), forms=(0, 1)))
    assert measurement.geometry.spacing_mm == pytest.approx((2, 3, 4))
    assert measurement.geometry.orientation == "LAS"
    assert only(measurement).centroid_ras_mm == pytest.approx((-6, 13.5, 8))
    assert only(measurement).status == ["ok"]


def test_br_020_forms_that_contradict_each_other(write_nifti, block):
    rows = np.eye(4)[:3]
    identity = set_fields(srow_x=rows[0], srow_y=rows[1], srow_z=rows[2])
    path = write_nifti("seg.nii", block, spacing=(2, 3, 4), edit=identity)
    with pytest.raises(GeometryError) as caught:
        sqa.measure(path)
    error = caught.value
    assert (error.code, error.file) == ("contradictory_geometry", str(path))
    assert "[1.0, 0.0, 0.0, 0.0]" in error.found
    assert "[2.0, 0.0, 0.0, 0.0]" in error.found
    assert "form=" in error.next_step
    assert only(sqa.measure(path, form="sform")).volume_mm3 == 36
    assert only(sqa.measure(path, form="qform")).volume_mm3 == 864


def test_br_023_a_quaternion_slightly_too_long(write_nifti, block):
    half_turn = np.diag([2.0, -3.0, -4.0, 1.0])
    too_long = set_fields(quatern_b=math.sqrt(1 + 4e-7), quatern_c=0, quatern_d=0)
    by_sform = sqa.measure(write_nifti("both.nii", block, half_turn, edit=too_long))
    assert only(by_sform).centroid_ras_mm == (6, -13.5, -8)
    assert by_sform.geometry.notes == []
    by_qform = sqa.measure(write_nifti("q.nii", block, half_turn, forms=(0, 1), edit=too_long))
    assert only(by_qform).centroid_ras_mm == pytest.approx((6, -13.5, -8), abs=1e-5)
    assert any("clamped" in note for note in by_qform.geometry.notes)
    with pytest.raises(GeometryError):
        sqa.measure(write_nifti("far.nii", block, half_turn, forms=(0, 1), edit=set_fields(quatern_b=1.1)))


@pytest.mark.parametrize("entry", [("srow_x", 1), ("srow_y", 2), ("srow_z", 0)])
def test_br_024_rounding_between_forms_is_no_error(entry, write_nifti, block):
    row, column = entry

    def rounded(header):
        header[row][column] += 1e-3

    measurement = sqa.measure(write_nifti("seg.nii", block, spacing=(2, 3, 4), edit=rounded))
    assert measurement.geometry.notes == []
    assert only(measurement).status == ["ok"]
    assert only(measurement).volume_mm3 == pytest.approx(864, rel=1e-5)


# D. Sheared, singular or impossible geometry


def test_br_025_gantry_tilt(write_nifti, block):
    tilted = np.array([[1.0, 0, 0, 0], [0, 1, 0.5, 0], [0, 0, 2, 0], [0, 0, 0, 1]])
    measurement = sqa.measure(write_nifti("seg.nii", block, tilted, forms=(1, 0)))
    found = only(measurement)
    assert found.volume_mm3 == 72.0
    assert found.status == ["sheared"]
    assert measurement.geometry.sheared
    # Boxes in world space: rows 3..6 are moved by half a mm per slice 1..3.
    assert found.box.world_min_ras_mm == pytest.approx((1.5, 3.5 - 0.75, 1))
    assert found.box.world_max_ras_mm == pytest.approx((4.5, 7.5 + 0.75, 7))
    assert found.box.extent_mm == pytest.approx((3, 5.5, 6))
    assert found.box.center_ras_mm == pytest.approx((3, 5.5, 4))
    assert found.centroid_ras_mm == pytest.approx((3, 4.5 + 0.5 * 2, 4))
    assert (found.box.index_start, found.box.index_stop) == ((2, 3, 1), (5, 7, 4))


def test_br_026_tiny_departures_are_accepted_silently(write_nifti, block):
    nearly = np.diag([2.0, 3.0, 4.0, 1.0])
    nearly[0, 1] = nearly[1, 2] = 2e-8
    measurement = sqa.measure(write_nifti("nearly.nii", block, nearly))
    assert only(measurement).status == ["ok"]
    assert measurement.geometry.notes == []
    assert only(measurement).volume_mm3 == pytest.approx(864)
    tiny = sqa.measure(write_nifti("tiny.nii", block, spacing=(0.01, 0.01, 0.01)))
    assert only(tiny).volume_mm3 == pytest.approx(36e-6, rel=1e-6)
    assert only(tiny).status == ["ok"]
    assert tiny.geometry.notes == []


@pytest.mark.parametrize("name", ["seg.nii", "seg.nii.gz"])
def test_br_027_zero_spacing(name, write_nifti, block):
    path = write_nifti(name, block, spacing=(2, 3, 4), forms=(0, 1), edit=zero_spacing_along_z)
    with pytest.raises(GeometryError, match="axis k") as caught:
        sqa.measure(path)
    error = caught.value
    assert (error.code, error.file, error.key, error.found) == ("bad_spacing", str(path), "pixdim[3]", "0.0")


@pytest.mark.parametrize("column", [(0, 3, 0, 0), (0, 0, 0, 0)], ids=["equal columns", "zero column"])
def test_br_030_singular_affine(column, write_nifti, block):
    def singular(header):
        for row, value in zip(("srow_x", "srow_y", "srow_z"), column, strict=False):
            header[row][2] = value

    path = write_nifti("seg.nii", block, spacing=(2, 3, 4), forms=(1, 0), edit=singular)
    with pytest.raises(GeometryError, match="affine is singular") as caught:
        sqa.measure(path)
    assert (caught.value.code, caught.value.file) == ("singular_affine", str(path))


def test_br_106_slice_thickness_changes_little(write_nifti):
    fine = np.zeros((20, 20, 40), np.uint8)
    fine[5:11, 4:12, 10:25] = 1
    coarse = np.zeros((20, 20, 8), np.uint8)
    coarse[5:11, 4:12, 2:5] = 1
    thick = np.diag([1.0, 1.0, 5.0, 1.0])
    thick[2, 3] = 2.0  # outer faces of both volumes coincide
    one = only(sqa.measure(write_nifti("fine.nii", fine)))
    other = only(sqa.measure(write_nifti("coarse.nii", coarse, thick)))
    assert one.volume_mm3 == other.volume_mm3 == 6 * 8 * 15
    assert one.box.extent_mm == other.box.extent_mm
    for a, b, spacing in zip(one.centroid_ras_mm, other.centroid_ras_mm, (1, 1, 5), strict=True):
        assert abs(a - b) <= spacing / 2
