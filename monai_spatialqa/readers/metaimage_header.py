"""MetaImage headers (.mha, .mhd) read raw and judged: fields, where the voxels are, and where they lie in RAS mm.

Source: the MetaIO documentation (https://itk.org/Wiki/MetaIO/Documentation) and ITK's reading of it: offset and axis
directions are in LPS mm, and row i of the matrix is the direction of axis i.
"""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from monai_spatialqa.errors import FileReadError, GeometryError, SpatialQAError
from monai_spatialqa.geometry.affine import checked_affine, orientation_codes
from monai_spatialqa.readers.contents import open_file
from monai_spatialqa.readers.meta import ScanGeometry
from monai_spatialqa.readers.stored_voxels import AT_THE_END, Encoding, StoredVoxels
from monai_spatialqa.readers.volume_header import (
    EXPORT_AGAIN,
    NO_ORIENTATION_NOTE,
    NO_UNIT_NOTE,
    VolumeHeader,
    bad_field,
    checked_spacing,
    data_file,
    lengths,
    mm_per,
    no_spacing,
    not_3d,
    not_plain_numbers,
    numbers,
    unclear_axis,
)

_LONGEST_LINE = 1 << 20

_DTYPES = {
    "MET_CHAR": "i1",
    "MET_UCHAR": "u1",
    "MET_SHORT": "i2",
    "MET_USHORT": "u2",
    "MET_INT": "i4",
    "MET_UINT": "u4",
    "MET_LONG": "i4",  # four bytes in MetaIO on every machine
    "MET_ULONG": "u4",
    "MET_LONG_LONG": "i8",
    "MET_ULONG_LONG": "u8",
    "MET_FLOAT": "f4",
    "MET_DOUBLE": "f8",
}
_MATRIX, _ORIGIN = ("TransformMatrix", "Rotation", "Orientation"), ("Offset", "Origin", "Position")
_BYTE_ORDER = ("BinaryDataByteOrderMSB", "ElementByteOrderMSB")

UNIT_LENGTH = 1e-3
"""Axis directions whose length is off 1 by more than this contradict the element spacing."""


def read_metaimage_header(path: str | Path) -> VolumeHeader:
    """The checked header of a MetaImage. The voxels are not read.

    Raises:
        FileReadError: missing, cut short, not a MetaImage, or not one number a voxel in three dimensions.
        GeometryError: the geometry is missing, impossible or contradictory.
    """
    path = Path(path)
    try:
        with open_file(path) as stream:
            fields, listed, end = split_fields(stream)
        sizes = _sizes(fields)
        return VolumeHeader(
            geometry=_geometry(fields, sizes),
            voxels=_stored_voxels(path, fields, listed, end, sizes),
            sizes=sizes,
            space_axes=(0, 1, 2),
        )
    except SpatialQAError as error:
        raise error.with_context(file=path) from None


_KEY = re.compile(r"[^\x00-\x1f\x7f]+")
"""ITK also writes what it knows of the scan: keys such as ``pixdim[0]`` or ``0008|0060``."""


def split_fields(stream: BinaryIO) -> tuple[dict[str, str], list[str], int]:
    """Take a header apart: its fields, the lines behind ``ElementDataFile = LIST``, and where the header ends.

    Raises:
        FileReadError: a line that is no field, or no ``ElementDataFile``, which ends the header.
    """
    fields: dict[str, str] = {}
    while raw := stream.readline(_LONGEST_LINE):
        line = raw.decode("utf-8", "surrogateescape").strip()
        if not line:
            continue
        key, equals, value = (part.strip() for part in line.partition("="))
        if not equals or not _KEY.fullmatch(key):
            raise FileReadError(
                "a line of the header makes no sense: this is not a MetaImage, or the file is damaged",
                code="bad_header" if fields else "not_metaimage",
                found=repr(line[:80]),
                expected="Key = Value, up to ElementDataFile",
                next_step="check that the file is what its name says",
            )
        if fields.setdefault(key, value) != value:
            raise bad_field(key, f"{fields[key]} and {value}", "one value")
        if key == "ElementDataFile":
            end = stream.tell()
            listed = []
            if value.split(" ")[0].upper() == "LIST":
                names = stream.read().decode("utf-8", "surrogateescape").splitlines()
                listed = [name.strip() for name in names if name.strip()]
            return fields, listed, end
    raise FileReadError(
        "the header is cut short: the file is truncated",
        code="truncated_file",
        key="ElementDataFile",
        found="no such field",
        expected="ElementDataFile as the last line of the header",
        next_step="copy the file again from its source",
    )


def _sizes(fields: dict[str, str]) -> tuple[int, ...]:
    kind = fields.get("ObjectType", "Image")
    if kind.lower() != "image":
        raise FileReadError(
            "this MetaIO file is no image",
            code="not_metaimage",
            key="ObjectType",
            found=kind,
            expected="Image",
            next_step="check that the file is what its name says",
        )
    dimension = fields.get("NDims")
    if dimension is None or not dimension.isdecimal() or not 1 <= int(dimension) <= 10:
        raise bad_field("NDims", dimension, "a number from 1 to 10")
    if "DimSize" not in fields:
        raise bad_field("DimSize", None, f"{dimension} lengths")
    sizes = lengths(fields["DimSize"], "DimSize", int(dimension))
    if len(sizes) < 3:
        raise not_3d(sizes, "DimSize")
    if math.prod(sizes[3:]) > 1:
        raise unclear_axis(sizes, "DimSize", "not given")
    return sizes


def _geometry(fields: dict[str, str], sizes: tuple[int, ...]) -> ScanGeometry:
    count, notes = len(sizes), []
    key = next((name for name in ("ElementSpacing", "ElementSize") if name in fields), None)
    if key is None:
        raise no_spacing("ElementSpacing", "neither 'ElementSpacing' nor 'ElementSize'")
    if key == "ElementSize":
        notes.append("no ElementSpacing in the header, ElementSize was used")
    spacing = checked_spacing(numbers(fields[key], key, count)[:3], key)
    unit = mm_per(fields.get("DistanceUnits", ""), "DistanceUnits")
    if unit is None:
        notes.append(NO_UNIT_NOTE)
    elif unit != 1:
        notes.append(f"lengths converted from {fields['DistanceUnits']} to mm")
    to_mm = 1.0 if unit is None else unit
    written = _one_of(fields, _MATRIX)
    directions = np.eye(3) if written is None else _directions(*written, fields, count)
    origin = _one_of(fields, _ORIGIN)
    matrix = np.eye(4)
    matrix[:3, :3] = directions * spacing * to_mm
    if origin is None:
        notes.append("no Offset in the header, taken as 0 0 0")
    else:
        matrix[:3, 3] = np.array(numbers(origin[1], origin[0], count)[:3]) * to_mm
    if any(value != 0 for value in numbers(fields.get("CenterOfRotation", "0"), "CenterOfRotation")):
        notes.append("CenterOfRotation was passed over, as ITK does")
    if written is None:
        notes.append(f"no TransformMatrix in the header: {NO_ORIENTATION_NOTE}")
        return ScanGeometry((sizes[0], sizes[1], sizes[2]), checked_affine(matrix), False, tuple(notes))
    matrix[:2] *= -1
    affine = checked_affine(matrix + 0.0)  # no negative zeros
    _note_other_codes(fields.get("AnatomicalOrientation", ""), affine, notes)
    return ScanGeometry((sizes[0], sizes[1], sizes[2]), affine, True, tuple(notes))


def _directions(key: str, text: str, fields: dict[str, str], count: int) -> NDArray[np.float64]:
    """Directions of the three axes in LPS, one a column."""
    full = np.array(numbers(text, key, count * count)).reshape(count, count)
    matrix = full[:3, :3].T
    checked_affine(np.block([[matrix, np.zeros((3, 1))], [np.zeros((1, 3)), np.ones((1, 1))]]))
    if (np.abs(np.linalg.norm(matrix, axis=0) - 1) > UNIT_LENGTH).any():
        raise GeometryError(
            "the directions of the axes are not of length 1, which contradicts the spacing",
            code="contradictory_geometry",
            key=key,
            found=text,
            expected="rows of length 1; the voxel size is in ElementSpacing",
            next_step=EXPORT_AGAIN,
        )
    return matrix


def _note_other_codes(written: str, affine: NDArray[np.float64], notes: list[str]) -> None:
    """MetaIO's three letters name the sides the axes come from; they are a comment on the matrix, which counts."""
    if not re.fullmatch(r"[RLAPIS]{3}", written.upper()):
        return
    come_from = orientation_codes(affine).translate(str.maketrans("RLAPIS", "LRPASI"))
    if written.upper() != come_from:
        notes.append(f"AnatomicalOrientation {written} does not fit the TransformMatrix ({come_from}), which was used")


def _one_of(fields: dict[str, str], names: tuple[str, ...]) -> tuple[str, str] | None:
    """The field that is there under one of several names, with its name."""
    found = [(name, fields[name]) for name in names if name in fields]
    if len({value for _, value in found}) > 1:
        raise GeometryError(
            "two fields for the same thing contradict each other",
            code="contradictory_geometry",
            key=" and ".join(name for name, _ in found),
            found=" and ".join(value for _, value in found),
            expected="one of them",
            next_step="find out which is true, and delete the other from the header",
        )
    return found[0] if found else None


def _flag(fields: dict[str, str], name: str, default: bool | None) -> bool:
    text = fields.get(name)
    if text is None and default is not None:
        return default
    if text is None or text.lower() not in ("true", "false", "1", "0", "t", "f"):
        raise bad_field(name, text, "True or False")
    return text.lower() in ("true", "1", "t")


def _stored_voxels(
    path: Path, fields: dict[str, str], listed: list[str], end: int, sizes: tuple[int, ...]
) -> StoredVoxels:
    kind = fields.get("ElementType")
    if kind is None:
        raise bad_field("ElementType", None, "a type such as MET_UCHAR")
    channels = fields.get("ElementNumberOfChannels", "1")
    if kind not in _DTYPES or channels != "1":
        raise not_plain_numbers("ElementType, ElementNumberOfChannels", f"{kind}, {channels} numbers a voxel")
    _refuse_scaling(fields)
    dtype = np.dtype(_DTYPES[kind])
    binary = _flag(fields, "BinaryData", True)
    encoding: Encoding = "text" if not binary else "zlib" if _flag(fields, "CompressedData", False) else "raw"
    if binary and dtype.itemsize > 1:
        key = next((name for name in _BYTE_ORDER if name in fields), _BYTE_ORDER[0])
        dtype = dtype.newbyteorder(">" if _flag(fields, key, None) else "<")
    skipped = fields.get("HeaderSize", "0")
    if not re.fullmatch(r"-1|\d+", skipped) or (skipped == "-1" and encoding != "raw"):
        raise bad_field("HeaderSize", skipped, "0 or more; -1 only where the voxels are not compressed")
    files = _data_files(path, fields["ElementDataFile"], listed, sizes)
    offset = int(skipped)
    if files is None:
        files, offset = (path,), AT_THE_END if offset == AT_THE_END else end + offset
    return StoredVoxels(path, files, encoding, dtype, math.prod(sizes), offset)


def _refuse_scaling(fields: dict[str, str]) -> None:
    """MetaIO can say that values are to be scaled; ITK does not do it, so readers differ."""
    for name, neutral in (("ElementToIntensityFunctionSlope", 1.0), ("ElementToIntensityFunctionOffset", 0.0)):
        if name in fields and numbers(fields[name], name, 1) != [neutral]:
            raise FileReadError(
                "the header asks for scaling of the values, which programs treat differently",
                code="unsupported_scaling",
                key=name,
                found=fields[name],
                expected=neutral,
                next_step="write the file again with the scaled values",
            )


def _data_files(path: Path, written: str, listed: list[str], sizes: tuple[int, ...]) -> tuple[Path, ...] | None:
    """The files that hold the voxels; None when they follow the header."""
    if written.upper() == "LOCAL":
        return None
    tokens = written.split()
    if not tokens:
        raise bad_field("ElementDataFile", written, "LOCAL, LIST, or the name of a file")
    pattern = re.fullmatch(r"(.*%[0-9]*d.*?)\s+(\d+)\s+(\d+)\s+(\d+)", written)
    if tokens[0].upper() == "LIST":
        subdim = int(tokens[1]) if len(tokens) > 1 and tokens[1].isdecimal() else len(sizes) - 1
        names, expected = listed, math.prod(sizes[subdim:])
    elif pattern is not None and int(pattern[4]) > 0:
        first, last, step = (int(pattern[at]) for at in (2, 3, 4))
        names, expected = [pattern[1] % number for number in range(first, last + 1, step)], sizes[-1]
    else:
        return (data_file(path, written),)
    if len(names) != expected:
        raise FileReadError(
            "the list of data files does not fit the dimensions",
            code="bad_header",
            key="ElementDataFile",
            found=f"{len(names)} files",
            expected=f"{expected} files",
            next_step=EXPORT_AGAIN,
        )
    return tuple(data_file(path, name) for name in names)
