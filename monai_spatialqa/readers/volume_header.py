"""What the readers of text headers (NRRD, MetaImage) share: the header found out, and the judging of its numbers.

Nothing is repaired: libraries turn a zero or negative spacing into a usable one, and a header without directions into
one with them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from monai_spatialqa.errors import FileReadError, GeometryError
from monai_spatialqa.readers.meta import ScanGeometry
from monai_spatialqa.readers.stored_voxels import StoredVoxels

EXPORT_AGAIN = "export the file again from its source"
NO_UNIT_NOTE = "no spatial unit in the header, taken as mm"
NO_ORIENTATION_NOTE = "orientation unknown"

_MM_PER_UNIT = {
    1000.0: ("m", "meter", "meters", "metre", "metres"),
    10.0: ("cm", "centimeter", "centimeters", "centimetre", "centimetres"),
    1.0: ("mm", "millimeter", "millimeters", "millimetre", "millimetres"),
    # U+00B5 is the micro sign, U+03BC the Greek letter that looks the same
    1e-3: ("um", "\u00b5m", "\u03bcm", "micron", "microns", "micrometer", "micrometers", "micrometre", "micrometres"),
    1e-6: ("nm", "nanometer", "nanometers", "nanometre", "nanometres"),
}


@dataclass(frozen=True)
class VolumeHeader:
    """A text header, checked.

    Attributes:
        geometry: the grid of the three spatial axes.
        voxels: where the numbers are.
        sizes: lengths of all axes, fastest first.
        space_axes: which of them are the spatial ones, in order.
        layer_axis: the axis of the layers, None when there is none.
        keys: key/value pairs beyond the format's own fields.
    """

    geometry: ScanGeometry
    voxels: StoredVoxels
    sizes: tuple[int, ...]
    space_axes: tuple[int, int, int]
    layer_axis: int | None = None
    keys: Mapping[str, str] = field(default_factory=dict)


def mm_per(unit: str, key: str) -> float | None:
    """Millimetres in a unit; None for an empty one.

    Raises:
        GeometryError: a unit of no length.
    """
    text = unit.strip()
    if text in ("", "?", "???"):
        return None
    for factor, names in _MM_PER_UNIT.items():
        if text in names or text.lower() in names:
            return factor
    raise GeometryError(
        "the spatial unit is unknown",
        code="bad_unit",
        key=key,
        found=repr(text),
        expected="mm, m, cm, um or nm",
        next_step="set the unit that the lengths in the header are in",
    )


def numbers(text: str, key: str, count: int | None = None) -> list[float]:
    """The numbers of a field.

    Raises:
        FileReadError: something else than numbers, or not as many as expected.
    """
    try:
        values = [float(token) for token in text.replace(",", " ").split()]
    except ValueError:
        values = []
    if not values or (count is not None and len(values) != count):
        raise bad_field(key, text, f"{count if count is not None else 'some'} numbers")
    return values


def lengths(text: str, key: str, count: int) -> tuple[int, ...]:
    """The lengths of the axes.

    Raises:
        FileReadError: anything but ``count`` positive whole numbers.
    """
    tokens = text.split()
    if len(tokens) != count or not all(token.isdecimal() and int(token) > 0 for token in tokens):
        raise bad_field(key, text, f"{count} positive whole numbers")
    return tuple(int(token) for token in tokens)


def bad_field(key: str, found: object, expected: object) -> FileReadError:
    """A field of the header that is missing or unusable."""
    return FileReadError(
        f"the field {key!r} of the header is {'missing' if found is None else 'unusable'}",
        code="bad_header",
        key=key,
        found="nothing" if found is None else repr(found),
        expected=expected,
        next_step=EXPORT_AGAIN,
    )


def checked_spacing(spacing: Sequence[float], key: str) -> NDArray[np.float64]:
    """Voxel sizes as an array.

    Raises:
        GeometryError: zero, negative, NaN or infinite.
    """
    for axis, value in enumerate(spacing):
        if not (math.isfinite(value) and value > 0):
            raise GeometryError(
                f"the voxel size along axis {'ijk'[axis]} is impossible",
                code="bad_spacing",
                key=key,
                found=value,
                expected="a positive number",
                next_step="restore the spacing from the original scan",
            )
    return np.array(spacing, np.float64)


def no_spacing(key: str, found: str) -> GeometryError:
    """No field says how large a voxel is."""
    return GeometryError(
        "the header does not say how large a voxel is",
        code="missing_spacing",
        key=key,
        found=found,
        expected="a spacing for each spatial axis",
        next_step="restore the spacing from the original scan",
    )


def not_3d(sizes: Sequence[int], key: str) -> FileReadError:
    """Fewer than three spatial axes."""
    return FileReadError(
        "a volume has three spatial axes",
        code="not_3d",
        key=key,
        found=tuple(sizes),
        expected="(X, Y, Z)",
        next_step="join the slices into a volume first",
    )


def unclear_axis(sizes: Sequence[int], key: str, kind: str) -> FileReadError:
    """A fourth axis that may be time, channels or layers."""
    return FileReadError(
        "there is a fourth axis; what does it mean: time, channels, or layers of structures?",
        code="unclear_axis",
        key=key,
        found=f"sizes {tuple(sizes)}, kind of the fourth axis: {kind}",
        expected="(X, Y, Z), or the layers of a seg.nrrd",
        next_step="write each volume to a file of its own, or the layers as a seg.nrrd with segments",
    )


def not_plain_numbers(key: str, found: str) -> FileReadError:
    """Colours, vectors or matrices instead of one number a voxel."""
    return FileReadError(
        "voxels are not plain numbers",
        code="unsupported_dtype",
        key=key,
        found=found,
        expected="one integer or float of at most 64 bits a voxel",
        next_step="export ids as integers, one value a voxel",
    )


def data_file(header: Path, name: str) -> Path:
    """The data file that a header names, beside the header unless the name is absolute.

    The separators of Windows are turned where the name as written is no file.
    """
    written = header.parent / name
    turned = header.parent / name.replace("\\", "/")
    return turned if turned.is_file() and not written.is_file() else written
