"""NRRD headers read raw: fields, key/value pairs, and where the voxels are.

Source: the NRRD file format specification, versions 1 to 5 (http://teem.sourceforge.net/nrrd/format.html).
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

import numpy as np

from monai_spatialqa.errors import FileReadError, SpatialQAError
from monai_spatialqa.readers.contents import open_file
from monai_spatialqa.readers.nrrd_space import read_space
from monai_spatialqa.readers.stored_voxels import AT_THE_END, Encoding, StoredVoxels
from monai_spatialqa.readers.volume_header import (
    EXPORT_AGAIN,
    VolumeHeader,
    bad_field,
    data_file,
    lengths,
    not_plain_numbers,
)

_LONGEST_LINE = 1 << 22

_TYPES = {
    "i1": "signed char, int8, int8_t",
    "u1": "uchar, unsigned char, uint8, uint8_t",
    "i2": "short, short int, signed short, signed short int, int16, int16_t",
    "u2": "ushort, unsigned short, unsigned short int, uint16, uint16_t",
    "i4": "int, signed int, int32, int32_t",
    "u4": "uint, unsigned int, uint32, uint32_t",
    "i8": "longlong, long long, long long int, signed long long, signed long long int, int64, int64_t",
    "u8": "ulonglong, unsigned long long, unsigned long long int, uint64, uint64_t",
    "f4": "float",
    "f8": "double",
}
_DTYPES = {name: dtype for dtype, names in _TYPES.items() for name in names.split(", ")}

_ENCODINGS: dict[str, Encoding] = {
    "raw": "raw",
    "txt": "text",
    "text": "text",
    "ascii": "text",
    "hex": "hex",
    "gz": "gzip",
    "gzip": "gzip",
    "bz2": "bzip2",
    "bzip2": "bzip2",
}
_ALIASES = {
    "datafile": "data file",
    "lineskip": "line skip",
    "byteskip": "byte skip",
    "centerings": "centers",
}


@dataclass
class NrrdFields:
    """A header taken apart, nothing judged.

    Attributes:
        path: the file.
        fields: the format's own fields, names in lower case.
        keys: key/value pairs.
        listed: the lines behind ``data file: LIST``.
        end: first byte behind the header.
        attached: whether the header ends with an empty line, behind which data may follow.
    """

    path: Path
    fields: dict[str, str] = field(default_factory=dict)
    keys: dict[str, str] = field(default_factory=dict)
    listed: list[str] = field(default_factory=list)
    end: int = 0
    attached: bool = False


def read_nrrd_header(path: str | Path) -> VolumeHeader:
    """The checked header of an NRRD file, attached or detached. The voxels are not read.

    Raises:
        FileReadError: missing, cut short, not NRRD, or not one number a voxel in three dimensions.
        GeometryError: the geometry is missing, impossible or contradictory.
    """
    path = Path(path)
    try:
        with open_file(path) as stream:
            parts = split_fields(path, stream)
        if not parts.attached and "data file" not in parts.fields:
            raise FileReadError(
                "the header does not end and names no data file: the file is truncated",
                code="truncated_file",
                found="no empty line behind the header",
                expected="voxels behind an empty line, or a field 'data file'",
                next_step="copy the file again from its source",
            )
        dimension = parts.fields.get("dimension")
        if dimension is None or not dimension.isdecimal() or not 1 <= int(dimension) <= 16:
            raise bad_field("dimension", dimension, "a number from 1 to 16")
        sizes = lengths(_required(parts, "sizes"), "sizes", int(dimension))
        is_segmentation = any(re.match(r"Segment(\d+|ation)_", key) for key in parts.keys)
        space = read_space(parts.fields, sizes, layered=is_segmentation)
        return VolumeHeader(
            geometry=space.geometry,
            voxels=_stored_voxels(parts, sizes),
            sizes=sizes,
            space_axes=space.space_axes,
            layer_axis=space.layer_axis,
            keys=parts.keys,
        )
    except SpatialQAError as error:
        raise error.with_context(file=path) from None


def split_fields(path: Path, stream: BinaryIO) -> NrrdFields:
    """Take a header apart, line by line.

    Raises:
        FileReadError: not NRRD, cut short, or a line or field that makes no sense.
    """
    parts = NrrdFields(path)
    magic = stream.readline(_LONGEST_LINE).rstrip(b"\r\n")
    if not re.fullmatch(rb"NRRD000[1-5]", magic):
        raise FileReadError(
            "this is not an NRRD file of a known version",
            code="not_nrrd",
            found=f"first line {magic[:20]!r}",
            expected="NRRD0001 to NRRD0005",
            next_step="check that the file is what its name says",
        )
    while raw := stream.readline(_LONGEST_LINE):
        # Names of files and structures beyond ASCII are UTF-8 in practice; other bytes survive as they are.
        line = raw.decode("utf-8", "surrogateescape").rstrip("\r\n")
        if not line:
            parts.attached = True
            break
        if line.startswith("#"):
            continue
        _take_line(parts, line)
        if parts.fields.get("data file", "").split(" ")[0] == "LIST":
            rest = stream.read().decode("utf-8", "surrogateescape")
            parts.listed = [name.strip() for name in rest.splitlines() if name.strip()]
            break
    parts.end = stream.tell()
    return parts


def _take_line(parts: NrrdFields, line: str) -> None:
    field_like = re.match(r"([^:=]+): (.*)|([^:=]+):$", line)
    if field_like:
        name = (field_like[1] or field_like[3]).strip().lower()
        into, value = parts.fields, (field_like[2] or "").strip()
        name = _ALIASES.get(name, name)
    else:
        name, separator, value = line.partition(":=")
        into = parts.keys
        value = re.sub(r"\\(n|\\)", lambda found: "\n" if found[1] == "n" else "\\", value)
        if not separator:
            raise FileReadError(
                "a line of the header makes no sense: the file is truncated or damaged",
                code="bad_header",
                found=repr(line[:80]),
                expected='"field: value" or "key:=value"',
                next_step="copy the file again from its source",
            )
    if into.setdefault(name, value) != value:
        raise bad_field(name, f"{into[name]} and {value}", "one value")


def _required(parts: NrrdFields, name: str) -> str:
    if name not in parts.fields:
        raise bad_field(name, None, "this field, which the format demands")
    return parts.fields[name]


def _stored_voxels(parts: NrrdFields, sizes: tuple[int, ...]) -> StoredVoxels:
    kind = _required(parts, "type").lower()
    if kind not in _DTYPES:
        raise not_plain_numbers("type", kind)
    dtype = np.dtype(_DTYPES[kind])
    written = _required(parts, "encoding").lower()
    if written not in _ENCODINGS:
        raise FileReadError(
            "this encoding is not read",
            code="unsupported_encoding",
            key="encoding",
            found=written,
            expected=", ".join(_ENCODINGS),
            next_step="write the file again with gzip encoding",
        )
    encoding = _ENCODINGS[written]
    if dtype.itemsize > 1 and encoding != "text":
        endian = _required(parts, "endian").lower()
        if endian not in ("little", "big"):
            raise bad_field("endian", endian, "little or big")
        dtype = dtype.newbyteorder("<" if endian == "little" else ">")
    lines, inner = _skip(parts, "line skip"), _skip(parts, "byte skip")
    files, offset = _data_files(parts, sizes)
    if inner == -1:
        if encoding != "raw":
            raise bad_field("byte skip", -1, "0 or more where the voxels are packed")
        offset, lines, inner = AT_THE_END, 0, 0
    return StoredVoxels(parts.path, files, encoding, dtype, math.prod(sizes), offset, lines, inner)


def _skip(parts: NrrdFields, name: str) -> int:
    text = parts.fields.get(name, "0")
    if not re.fullmatch(r"\d+", text) and not (name == "byte skip" and text == "-1"):
        raise bad_field(name, text, "a number of 0 or more")
    return int(text)


def _data_files(parts: NrrdFields, sizes: tuple[int, ...]) -> tuple[tuple[Path, ...], int]:
    """The files that hold the voxels, and where in each of them they start."""
    written = parts.fields.get("data file")
    if written is None:
        return (parts.path,), parts.end
    if written.split(" ")[0] == "LIST":
        names, subdim = parts.listed, written.split()[1:]
    elif pattern := re.fullmatch(r"(.*%[0-9]*d.*?) (-?\d+) (-?\d+) (-?\d+)(?: (\d+))?", written):
        first, last, step = (int(pattern[at]) for at in (2, 3, 4))
        if step == 0:
            raise bad_field("data file", written, "a step other than 0")
        names = [pattern[1] % number for number in range(first, last + (1 if step > 0 else -1), step)]
        subdim = [pattern[5]] if pattern[5] else []
    else:
        return (data_file(parts.path, written),), 0
    if subdim and (not subdim[0].isdecimal() or not 1 <= int(subdim[0]) <= len(sizes)):
        raise bad_field("data file", written, f"a dimension from 1 to {len(sizes)} at the end")
    slices = math.prod(sizes[int(subdim[0]) :]) if subdim else sizes[-1]
    split_evenly = len(names) and (len(names) == slices or (bool(subdim) and int(subdim[0]) == len(sizes)))
    if not split_evenly:
        raise FileReadError(
            "the list of data files does not fit the dimensions",
            code="bad_header",
            key="data file",
            found=f"{len(names)} files",
            expected=f"{slices} files",
            next_step=EXPORT_AGAIN,
        )
    return tuple(data_file(parts.path, name) for name in names), 0
