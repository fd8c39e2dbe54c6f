"""What kind of DICOM file a file is, from its first bytes and without a DICOM library."""

from __future__ import annotations

import struct

import pytest

from monai_spatialqa.errors import FileReadError
from monai_spatialqa.readers.dicom_files import dicom_class, dicom_kind

STORAGE = "1.2.840.10008.5.1.4.1.1."


def element(tag, value, kind=b"UI"):
    """An element with its value type; without one when ``kind`` is empty."""
    value += b"\0" * (len(value) % 2)
    head = struct.pack("<HH", *tag)
    if not kind:
        return head + struct.pack("<L", len(value)) + value
    long = kind in (b"OB", b"UN")
    return head + kind + (struct.pack("<HL", 0, len(value)) if long else struct.pack("<H", len(value))) + value


def meta(uid):
    version = element((2, 1), b"\0\1", b"OB")
    return b"\0" * 128 + b"DICM" + version + element((2, 2), uid.encode()) + element((2, 3), b"1.2.3")


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("dcmqi_ct3_seg/liver.dcm", "segmentation"),
        ("dcmqi_pet_sr/seg.dcm", "segmentation"),
        ("highdicom_ct/seg_image_ct_binary.dcm", "segmentation"),
        ("highdicom_ct/ct_image.dcm", "image"),
        ("dcmqi_ct3_seg/liver_seg.nrrd", None),
    ],
)
def test_real_files(name, kind, data_folder):
    assert dicom_kind(data_folder / "dicom" / name) == kind


@pytest.mark.parametrize(
    ("uid", "kind", "name"),
    [
        (STORAGE + "66.4", "segmentation", "Segmentation"),
        (STORAGE + "66.7", "segmentation", "Label Map Segmentation"),
        (STORAGE + "4.1", "image", "Enhanced MR Image"),
        (STORAGE + "481.3", "rtstruct", "RT Structure Set"),
        (STORAGE + "66.5", "other", "Surface Segmentation"),
        (STORAGE + "999", "other", f"SOP class {STORAGE}999"),
    ],
)
@pytest.mark.parametrize("form", ["part 10", "no meta", "no preamble", "implicit"])
def test_forms(form, uid, kind, name, tmp_path):
    content = {
        "part 10": meta(uid),
        "no meta": b"\0" * 128 + b"DICM" + element((8, 5), b"ISO_IR 100", b"CS") + element((8, 0x16), uid.encode()),
        "no preamble": element((8, 8), b"DERIVED", b"CS") + element((8, 0x16), uid.encode()),
        "implicit": element((8, 0), b"\0\0\0\0", b"") + element((8, 0x16), uid.encode(), b""),
    }[form]
    (tmp_path / "file").write_bytes(content + b"\0" * 50)
    found = dicom_class(tmp_path / "file")
    assert (found.kind, found.name, found.uid) == (kind, name, uid)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x1f\x8b\x08\0" + b"\7" * 400,
        b"NRRD0004\ntype: short\n" * 20,
        struct.pack("<l", 348) + b"\0" * 400,
        element((8, 0x16), b"1.2.3.4"),
        element((0x10, 0x10), b"A^B", b"PN") + element((8, 0x16), (STORAGE + "2").encode()),
        b"\0" * 200,
        bytes(range(256)) * 8,
    ],
)
def test_other_files(content, tmp_path):
    (tmp_path / "file.dcm").write_bytes(content)
    assert dicom_kind(tmp_path / "file.dcm") is None


def test_a_file_that_ends_before_it_says_what_it_is(tmp_path):
    (tmp_path / "file").write_bytes(meta(STORAGE + "2")[:134])
    assert dicom_class(tmp_path / "file").uid == ""
    assert dicom_kind(tmp_path / "file") == "other"


def test_a_missing_file(tmp_path):
    with pytest.raises(FileReadError) as caught:
        dicom_kind(tmp_path / "nothing")
    assert caught.value.code == "missing_file"
