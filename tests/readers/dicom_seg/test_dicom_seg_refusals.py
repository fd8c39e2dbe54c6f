"""Every refusal arrives through LoadImaged, names the file, what was found and expected, and what to do next."""

from __future__ import annotations

import random
import sys

import numpy as np
import pytest

from monai_spatialqa.errors import (
    FileReadError,
    GeometryError,
    LabelMapError,
    LabelValueError,
    MissingExtraError,
    SettingsError,
    SpatialQAError,
)
from monai_spatialqa.readers import DicomSegReader

PLAIN, RLE = "1.2.840.10008.1.2.1", "1.2.840.10008.1.2.5"


def refusal(load, path, **options):
    with pytest.raises(SpatialQAError) as caught:
        load(path, **options)
    error = caught.value
    assert error.file == str(path)
    assert error.found
    assert error.expected
    assert error.next_step
    return error


def first_frame(seg):
    return seg.PerFrameFunctionalGroupsSequence[0]


def drop_pixels(seg):
    del seg.PixelData


def shorten_pixels(seg):
    seg.PixelData = seg.PixelData[:-4]


def pad_each_frame(seg):
    """What writers do that begin every frame of bits at a new byte."""
    from pydicom.pixels import pack_bits

    frames = [seg.get_stored_frame(number + 1) for number in range(seg.NumberOfFrames)]
    seg.PixelData = b"".join(pack_bits(frame.ravel(), pad=False) for frame in frames)


def drop_a_frame(seg):
    del seg.PerFrameFunctionalGroupsSequence[-1]


def unknown_owner(seg):
    first_frame(seg).SegmentIdentificationSequence[0].ReferencedSegmentNumber = 9


def double_number(seg):
    seg.SegmentSequence[1].SegmentNumber = 1
    for frame in seg.PerFrameFunctionalGroupsSequence:
        frame.SegmentIdentificationSequence[0].ReferencedSegmentNumber = 1


def same_label(seg):
    seg.SegmentSequence[1].SegmentLabel = seg.SegmentSequence[0].SegmentLabel


def no_label(seg):
    seg.SegmentSequence[0].SegmentLabel = ""


def two_in_one_place(seg):
    frames = seg.PerFrameFunctionalGroupsSequence
    frames[1].PlanePositionSequence = frames[0].PlanePositionSequence


def move(frame, by):
    position = frame.PlanePositionSequence[0]
    position.ImagePositionPatient = [float(v) + d for v, d in zip(position.ImagePositionPatient, by, strict=True)]


def uneven(seg):
    top = max(float(f.PlanePositionSequence[0].ImagePositionPatient[2]) for f in seg.PerFrameFunctionalGroupsSequence)
    for frame in seg.PerFrameFunctionalGroupsSequence:
        if float(frame.PlanePositionSequence[0].ImagePositionPatient[2]) == top:
            move(frame, (0, 0, 1.5))


def sideways(seg):
    move(seg.PerFrameFunctionalGroupsSequence[1], (0.5, 0, 0))


def no_positions(seg):
    for frame in seg.PerFrameFunctionalGroupsSequence:
        del frame.PlanePositionSequence


def no_orientation(seg):
    del seg.SharedFunctionalGroupsSequence[0].PlaneOrientationSequence


def several_orientations(seg):
    from copy import deepcopy

    shared = seg.SharedFunctionalGroupsSequence[0]
    for number, frame in enumerate(seg.PerFrameFunctionalGroupsSequence):
        frame.PlaneOrientationSequence = deepcopy(shared.PlaneOrientationSequence)
        if number == 1:
            frame.PlaneOrientationSequence[0].ImageOrientationPatient = [0.8, 0.6, 0, -0.6, 0.8, 0]
    del shared.PlaneOrientationSequence


def skewed_axes(seg):
    group = seg.SharedFunctionalGroupsSequence[0].PlaneOrientationSequence[0]
    group.ImageOrientationPatient = [1, 0, 0, 0.3, 0.954, 0]


def no_pixel_size(seg):
    seg.SharedFunctionalGroupsSequence[0].PixelMeasuresSequence[0].PixelSpacing = [0.0, 1.0]


def one_pixel_size(seg):
    seg.SharedFunctionalGroupsSequence[0].PixelMeasuresSequence[0].PixelSpacing = 1.0


def tiled(seg):
    seg.TotalPixelMatrixRows = seg.TotalPixelMatrixColumns = 50


def unknown_type(seg):
    seg.SegmentationType = "PLANAR"


@pytest.mark.extra
@pytest.mark.parametrize(
    ("edit", "error", "code", "word"),
    [
        (drop_pixels, FileReadError, "truncated_file", "truncated"),
        (shorten_pixels, FileReadError, "truncated_file", "truncated"),
        (pad_each_frame, FileReadError, "extra_data", "more pixels"),
        (drop_a_frame, GeometryError, "bad_header", "not every frame"),
        (unknown_owner, FileReadError, "bad_header", "not described"),
        (double_number, FileReadError, "bad_header", "same number"),
        (same_label, LabelMapError, "duplicate_name", "same name"),
        (no_label, LabelMapError, "missing_name", "no name"),
        (two_in_one_place, GeometryError, "no_volume", "same place"),
        (uneven, GeometryError, "irregular_slices", "a gap of 9.5 mm from 42 to 51.5 mm"),
        (sideways, GeometryError, "irregular_slices", "in a line"),
        (no_positions, GeometryError, "no_volume", "no place"),
        (no_orientation, GeometryError, "no_volume", "no place"),
        (several_orientations, GeometryError, "no_volume", "one volume"),
        (skewed_axes, GeometryError, "bad_geometry", "perpendicular"),
        (no_pixel_size, GeometryError, "bad_spacing", "no size"),
        (one_pixel_size, GeometryError, "no_volume", "PixelSpacing"),
        (tiled, GeometryError, "no_volume", "slide"),
        (unknown_type, FileReadError, "unsupported_format", "PLANAR"),
    ],
)
def test_files_that_cannot_be_read_without_guessing(edit, error, code, word, write_seg, base_masks, load):
    found = refusal(load, write_seg(base_masks, edit=edit))
    assert isinstance(found, error)
    assert found.code == code
    assert word in str(found)


@pytest.mark.extra
@pytest.mark.parametrize(
    ("slices", "between", "code"),
    [
        ((2,), None, "unknown_slice_spacing"),
        ((2,), 0.0, "bad_spacing"),
        ((2,), -4.0, "bad_spacing"),
        ((1, 2, 3), 1.0, "contradictory_spacing"),  # the thickness, written as spacing
        ((1, 2, 3), 5.0, "contradictory_spacing"),
        ((1, 2, 3), -4.0, "bad_spacing"),
        ((1, 3, 5), 4.0, "contradictory_spacing"),  # left out between all of them, or wrong
        ((0, 5), 4.0, "contradictory_spacing"),
        ((0, 2, 5), None, "irregular_slices"),
    ],
)
def test_spacings_that_stay_open(slices, between, code, write_seg, load):
    masks = {1: np.zeros((6, 4, 4), bool)}
    masks[1][list(slices), 1, 1] = True

    def state(seg):
        measures = seg.SharedFunctionalGroupsSequence[0].PixelMeasuresSequence[0]
        if between is not None:
            measures.SpacingBetweenSlices = between

    error = refusal(load, write_seg(masks, between=None, thickness=1.0, edit=state))
    assert isinstance(error, GeometryError)
    assert error.code == code
    assert "reference=" in error.next_step or code == "irregular_slices"


@pytest.mark.extra
@pytest.mark.parametrize(("slices", "between"), [((0, 2, 5), 4.0), ((0, 1, 4), None), ((0, 1), 4.0)])
def test_spacings_that_the_positions_settle(slices, between, write_seg, load):
    masks = {1: np.zeros((6, 4, 4), bool)}
    masks[1][list(slices), 1, 1] = True
    label = load(write_seg(masks, between=between))
    assert label.pixdim.tolist() == [3, 2, 4]
    assert label[0, 1, 1].nonzero().flatten().tolist() == [number - slices[0] for number in slices]


@pytest.mark.extra
def test_values_beyond_the_maximum(write_seg, base_masks, load):
    def edit(seg):
        seg.MaximumFractionalValue = 100

    error = refusal(load, write_seg({1: base_masks[1].astype(np.float32)}, kind="FRACTIONAL", edit=edit))
    assert isinstance(error, LabelValueError)
    assert error.key == "MaximumFractionalValue"


@pytest.mark.extra
def test_a_labelmap_with_numbers_that_are_not_described(write_seg, apart_masks, load):
    def edit(seg):
        seg.SegmentSequence = [item for item in seg.SegmentSequence if item.SegmentNumber != 7]

    error = refusal(load, write_seg(apart_masks, kind="LABELMAP", edit=edit))
    assert isinstance(error, LabelValueError)
    assert "[7]" in error.found


@pytest.mark.extra
@pytest.mark.parametrize(("kind", "syntax"), [("BINARY", PLAIN), ("LABELMAP", RLE), ("FRACTIONAL", RLE)])
def test_a_file_cut_anywhere_is_refused(kind, syntax, write_seg, apart_masks, load):
    raw = write_seg(apart_masks, kind=kind, syntax=syntax).read_bytes()
    end = raw.rindex(b"\xfe\xff\xdd\xe0") if syntax == RLE else len(raw)  # the sequence delimiter holds no pixels
    rng = random.Random(1)
    for cut in [0, 100, 131, 132, 140, 300, end - 1, end - 3, *(rng.randrange(400, end) for _ in range(25))]:
        path = write_seg(apart_masks, "cut.dcm")
        path.write_bytes(raw[:cut])
        error = refusal(load, path)
        assert isinstance(error, FileReadError), cut
        assert "truncated" in str(error) or error.code in ("empty_file", "not_dicom", "corrupt_file"), cut


@pytest.mark.parametrize(
    ("content", "code", "word"),
    [
        (b"", "empty_file", "empty"),
        (b"plain text, no DICOM at all" * 20, "not_dicom", "not a DICOM file"),
        (b"\0" * 128 + b"DICM", "truncated_file", "truncated"),
    ],
)
def test_other_content(content, code, word, tmp_path, load):
    (tmp_path / "a.dcm").write_bytes(content)
    error = refusal(load, tmp_path / "a.dcm")
    assert error.code == code
    assert word in str(error)


def test_an_image_is_not_a_label(data_folder, load):
    error = refusal(load, data_folder / "dicom/highdicom_ct/ct_image.dcm")
    assert error.code == "not_segmentation"
    assert error.found == "CT Image"
    assert "SimpleITKReader" in error.next_step


def test_contours_are_out_of_scope(data_folder, tmp_path, load):
    raw = (data_folder / "dicom/highdicom_ct/ct_image.dcm").read_bytes()
    image, contours = b"1.2.840.10008.5.1.4.1.1.2\0", b"1.2.840.10008.5.1.4.1.1.481.3\0"
    at = raw.index(image)
    patched = raw[: at - 2] + len(contours).to_bytes(2, "little") + contours + raw[at + len(image) :]
    (tmp_path / "rs.dcm").write_bytes(patched)
    error = refusal(load, tmp_path / "rs.dcm")
    assert error.found == "RT Structure Set"
    assert "contours" in error.next_step


def test_a_missing_file_and_a_folder(tmp_path, load):
    assert refusal(load, tmp_path / "nothing.dcm").code == "missing_file"
    assert "folder" in str(refusal(load, tmp_path))


def test_several_files(data_folder):
    reader = DicomSegReader()
    path = data_folder / "dicom/dcmqi_ct3_seg/liver.dcm"
    with pytest.raises(FileReadError, match="one file is one segmentation"):
        reader.get_data(reader.read([path, path]))


def test_a_missing_extra_names_the_command(data_folder, load, monkeypatch):
    monkeypatch.setitem(sys.modules, "highdicom", None)
    error = refusal(load, data_folder / "dicom/dcmqi_ct3_seg/liver.dcm")
    assert isinstance(error, MissingExtraError)
    assert 'pip install "monai-spatialqa[dicom]"' in error.next_step


@pytest.mark.parametrize("cut", [0, -0.5, 1.5, float("nan")])
def test_an_impossible_cut(cut):
    with pytest.raises(SettingsError, match="fractional_threshold"):
        DicomSegReader(fractional_threshold=cut)
