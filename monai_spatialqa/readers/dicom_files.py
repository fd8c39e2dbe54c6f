"""What kind of DICOM file a file is, told from its first bytes: needs no DICOM library.

The folder and format readers ask this before they choose: a segmentation, an image slice and a set of contours all end
in ``.dcm``, or in nothing at all.

Source: DICOM PS3.10 section 7.1 (file meta information), PS3.4 annex B.5 (storage SOP classes).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from monai_spatialqa.errors import FileReadError

DicomKind = Literal["segmentation", "image", "rtstruct", "other"]

_HEAD_BYTES = 8192
_PREAMBLE_BYTES = 128
_STORAGE = "1.2.840.10008.5.1.4.1.1."
_UID_ROOT = "1.2.840.10008."

_CLASSES: dict[str, tuple[DicomKind, str]] = {
    _STORAGE + "66.4": ("segmentation", "Segmentation"),
    _STORAGE + "66.7": ("segmentation", "Label Map Segmentation"),
    _STORAGE + "481.3": ("rtstruct", "RT Structure Set"),
    _STORAGE + "2": ("image", "CT Image"),
    _STORAGE + "2.1": ("image", "Enhanced CT Image"),
    _STORAGE + "2.2": ("image", "Legacy Converted Enhanced CT Image"),
    _STORAGE + "4": ("image", "MR Image"),
    _STORAGE + "4.1": ("image", "Enhanced MR Image"),
    _STORAGE + "4.3": ("image", "Enhanced MR Color Image"),
    _STORAGE + "4.4": ("image", "Legacy Converted Enhanced MR Image"),
    _STORAGE + "128": ("image", "Positron Emission Tomography Image"),
    _STORAGE + "130": ("image", "Enhanced PET Image"),
    _STORAGE + "128.1": ("image", "Legacy Converted Enhanced PET Image"),
    _STORAGE + "20": ("image", "Nuclear Medicine Image"),
    _STORAGE + "3.1": ("image", "Ultrasound Multi-frame Image"),
    _STORAGE + "6.1": ("image", "Ultrasound Image"),
    _STORAGE + "6.2": ("image", "Enhanced US Volume"),
    _STORAGE + "1": ("image", "Computed Radiography Image"),
    _STORAGE + "1.1": ("image", "Digital X-Ray Image"),
    _STORAGE + "1.1.1": ("image", "Digital X-Ray Image"),
    _STORAGE + "1.2": ("image", "Digital Mammography X-Ray Image"),
    _STORAGE + "12.1": ("image", "X-Ray Angiographic Image"),
    _STORAGE + "12.1.1": ("image", "Enhanced XA Image"),
    _STORAGE + "12.2": ("image", "X-Ray Radiofluoroscopic Image"),
    _STORAGE + "13.1.1": ("image", "X-Ray 3D Angiographic Image"),
    _STORAGE + "13.1.3": ("image", "Breast Tomosynthesis Image"),
    _STORAGE + "7": ("image", "Secondary Capture Image"),
    _STORAGE + "7.1": ("image", "Multi-frame Single Bit Secondary Capture Image"),
    _STORAGE + "7.2": ("image", "Multi-frame Grayscale Byte Secondary Capture Image"),
    _STORAGE + "7.3": ("image", "Multi-frame Grayscale Word Secondary Capture Image"),
    _STORAGE + "7.4": ("image", "Multi-frame True Color Secondary Capture Image"),
    _STORAGE + "30": ("image", "Parametric Map"),
    _STORAGE + "77.1.6": ("image", "VL Whole Slide Microscopy Image"),
    _STORAGE + "481.1": ("image", "RT Image"),
    _STORAGE + "481.2": ("other", "RT Dose"),
    _STORAGE + "481.5": ("other", "RT Plan"),
    _STORAGE + "66": ("other", "Raw Data"),
    _STORAGE + "66.1": ("other", "Spatial Registration"),
    _STORAGE + "66.3": ("other", "Deformable Spatial Registration"),
    _STORAGE + "66.5": ("other", "Surface Segmentation"),
    _STORAGE + "88.11": ("other", "Basic Text SR"),
    _STORAGE + "88.22": ("other", "Enhanced SR"),
    _STORAGE + "88.33": ("other", "Comprehensive SR"),
    _STORAGE + "88.34": ("other", "Comprehensive 3D SR"),
    _STORAGE + "88.59": ("other", "Key Object Selection"),
    _STORAGE + "104.1": ("other", "Encapsulated PDF"),
    "1.2.840.10008.1.3.10": ("other", "DICOMDIR"),
}

_LONG_VALUE_TYPES = {b"OB", b"OD", b"OF", b"OL", b"OV", b"OW", b"SQ", b"SV", b"UC", b"UN", b"UR", b"UT", b"UV"}

_META_CLASS, _CLASS = (0x0002, 0x0002), (0x0008, 0x0016)
_NO_TAG = (0, 0)


@dataclass(frozen=True)
class DicomClass:
    """What a DICOM file says it is.

    Attributes:
        kind: ``"segmentation"``, ``"image"``, ``"rtstruct"`` or ``"other"``.
        name: in words, for messages.
        uid: its SOP class; empty when the file ends before it.
    """

    kind: DicomKind
    name: str
    uid: str


def dicom_class(path: str | Path) -> DicomClass | None:
    """What a DICOM file says it is; None for any other file.

    The preamble may be missing, as in old files. A SOP class that is not known here is ``"other"``.

    Raises:
        FileReadError: the file cannot be opened.
    """
    folder = Path(path).is_dir()
    try:
        with Path(path).open("rb") as file:
            raw = file.read(_HEAD_BYTES)
    except OSError as error:
        raise FileReadError(
            "this is a folder" if folder else f"the file cannot be opened ({error.strerror or error})",
            code="missing_file" if isinstance(error, FileNotFoundError) else "unreadable_file",
            file=path,
            found="a folder" if folder else "nothing to read",
            expected="a readable file",
            next_step="name the file in it" if folder else "check the path and its permissions",
        ) from None
    marked = raw[_PREAMBLE_BYTES : _PREAMBLE_BYTES + 4] == b"DICM"
    uid = _class_uid(raw, _PREAMBLE_BYTES + 4 if marked else 0)
    if not marked and not uid:
        return None
    kind, name = _CLASSES.get(uid, ("other", f"SOP class {uid}" if uid else "no SOP class"))
    return DicomClass(kind, name, uid)


def dicom_kind(path: str | Path) -> DicomKind | None:
    """``"segmentation"``, ``"image"``, ``"rtstruct"`` or ``"other"``; None for a file that is not DICOM.

    Raises:
        FileReadError: the file cannot be opened.
    """
    found = dicom_class(path)
    return None if found is None else found.kind


def _class_uid(raw: bytes, start: int) -> str:
    """The SOP class in the meta information or, where there is none, in the data set; empty when not found."""
    last = _NO_TAG
    for tag, value in _elements(raw, start):
        if tag in (_META_CLASS, _CLASS):
            uid = value.rstrip(b"\0 ").decode("ascii", "replace")
            if uid.startswith(_UID_ROOT):
                return uid
        if tag <= last or tag > _CLASS or tag[0] not in (_META_CLASS[0], _CLASS[0]):  # tags ascend in a DICOM file
            break
        last = tag
    return ""


def _elements(raw: bytes, at: int) -> Iterator[tuple[tuple[int, int], bytes]]:
    """Tag and value of the elements from a byte on, little-endian, with or without value types."""
    while at + 8 <= len(raw):
        tag = int.from_bytes(raw[at : at + 2], "little"), int.from_bytes(raw[at + 2 : at + 4], "little")
        kind = raw[at + 4 : at + 6]
        if not (kind.isalpha() and kind.isupper()):
            header, length = 8, int.from_bytes(raw[at + 4 : at + 8], "little")
        elif kind in _LONG_VALUE_TYPES:
            header, length = 12, int.from_bytes(raw[at + 8 : at + 12], "little")
        else:
            header, length = 8, int.from_bytes(raw[at + 6 : at + 8], "little")
        yield tag, raw[at + header : at + header + length]
        at += header + length
