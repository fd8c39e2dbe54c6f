"""What a file is, told by its first bytes, and opening it with an error that says why it cannot be."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

from monai_spatialqa.errors import FileReadError

FIRST_BYTES = 512
"""How much of a file :func:`content_of` looks at."""

_NAMES: tuple[tuple[bytes, str], ...] = (
    (b"NRRD000", "nrrd"),
    (b"\x1f\x8b", "gzip"),
    (b"BZh", "bzip2"),
    (b"PK\x03\x04", "ZIP archive"),
    (b"\x89PNG", "PNG picture"),
    (b"\xff\xd8\xff", "JPEG picture"),
    (b"\x89HDF", "HDF5 file"),
    (b"version https://git-lfs", "Git LFS pointer, not the file itself"),
    (b"<!DOCTYPE", "web page"),
    (b"<html", "web page"),
    (b"<?xml", "XML file"),
    (b"%PDF", "PDF document"),
)
_META_KEYS = (b"objecttype", b"ndims", b"comment", b"dimsize", b"binarydata")


def content_of(first: bytes) -> str:
    """``"nrrd"``, ``"metaimage"`` or ``"dicom"`` for what this room reads; words for anything else.

    Args:
        first: the first :data:`FIRST_BYTES` bytes, fewer when the file is shorter.
    """
    if not first:
        return "empty"
    for magic, name in _NAMES:
        if first.startswith(magic):
            return name
    if first[128:132] == b"DICM":
        return "dicom"
    if int.from_bytes(first[:4], "little") in (348, 540) or int.from_bytes(first[:4], "big") in (348, 540):
        return "NIfTI file"
    key, equals, _ = first.split(b"\n", 1)[0].partition(b"=")
    if equals and key.strip().lower() in _META_KEYS:
        return "metaimage"
    if not any(first):
        return "nothing but zeros"
    return "text" if all(byte in b"\t\n\r" or 32 <= byte < 127 for byte in first) else "unknown binary data"


def open_file(path: Path) -> BinaryIO:
    """Open a file for reading bytes.

    Raises:
        FileReadError: missing, a folder, or not readable.
    """
    try:
        return path.open("rb")
    except OSError as error:
        raise FileReadError(
            f"the file cannot be opened ({error.strerror or error})",
            code="missing_file" if isinstance(error, FileNotFoundError) else "unreadable_file",
            file=path,
            found="nothing to read",
            expected="a readable file",
            next_step="check the path and its permissions",
        ) from None


def first_bytes(path: Path) -> bytes:
    """The first bytes of a file; never none.

    Raises:
        FileReadError: cannot be opened, or empty.
    """
    with open_file(path) as stream:
        first = stream.read(FIRST_BYTES)
    if not first:
        raise FileReadError(
            "the file is empty",
            code="empty_file",
            file=path,
            found="0 bytes",
            expected="a header and voxels",
            next_step="copy it again from its source",
        )
    return first
