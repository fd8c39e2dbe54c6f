"""The geometry of an NRRD header: which axes are spatial, and where its voxels lie in RAS mm.

Source: the NRRD file format specification, "Basic fields", "Per-axis specifications" and "Space and orientation
information" (http://teem.sourceforge.net/nrrd/format.html).
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from monai_spatialqa.errors import GeometryError
from monai_spatialqa.geometry.affine import checked_affine
from monai_spatialqa.readers.meta import ScanGeometry
from monai_spatialqa.readers.volume_header import (
    NO_ORIENTATION_NOTE,
    NO_UNIT_NOTE,
    bad_field,
    checked_spacing,
    mm_per,
    no_spacing,
    not_3d,
    not_plain_numbers,
    numbers,
    unclear_axis,
)

_TO_RAS = {
    "right-anterior-superior": (1, 1, 1),
    "ras": (1, 1, 1),
    "left-anterior-superior": (-1, 1, 1),
    "las": (-1, 1, 1),
    "left-posterior-superior": (-1, -1, 1),
    "lps": (-1, -1, 1),
}
"""Spaces of the patient's body, and the signs that turn them into RAS."""

_ELSEWHERE = ("scanner-xyz", "3d-right-handed", "3d-left-handed")
"""Spaces of three dimensions that do not say where the patient's left and front are."""

_SPATIAL_KINDS = {"domain", "space", "???", "none", ""}
_SEVERAL_NUMBERS = re.compile(r"vector|color|normal|point|gradient|complex|quaternion|matrix|scalar|stub")

SPACING_AGREEMENT = 1e-3
"""Share by which ``spacings`` and the lengths of ``space directions`` may differ where a header has both."""


class NrrdSpace(NamedTuple):
    """The grid of the spatial axes, which axes they are, and the axis of the layers."""

    geometry: ScanGeometry
    space_axes: tuple[int, int, int]
    layer_axis: int | None


def read_space(fields: Mapping[str, str], sizes: tuple[int, ...], *, layered: bool) -> NrrdSpace:
    """Work out the geometry.

    Args:
        fields: the format's own fields.
        sizes: lengths of all axes.
        layered: whether the file is a seg.nrrd, whose fourth axis holds layers.

    Raises:
        FileReadError: not three spatial axes, or a fourth axis of unknown meaning.
        GeometryError: the geometry is missing, impossible or contradictory.
    """
    directions = _directions(fields, len(sizes))
    spacings = numbers(fields["spacings"], "spacings", len(sizes)) if "spacings" in fields else None
    spatial, layer_axis = _axes(fields, sizes, directions, spacings, layered=layered)
    shape = (sizes[spatial[0]], sizes[spatial[1]], sizes[spatial[2]])
    notes: list[str] = []
    matrix = np.eye(4)
    if directions is None:
        if spacings is None:
            raise no_spacing("spacings", "neither 'space directions' nor 'spacings'")
        sized = checked_spacing([spacings[axis] for axis in spatial], "spacings")
        matrix[:3, :3] = np.diag(sized * _axis_units(fields, spatial, len(sizes), notes))
        notes.append(f"no space directions in the header: {NO_ORIENTATION_NOTE}")
        return NrrdSpace(ScanGeometry(shape, checked_affine(matrix), False, tuple(notes)), spatial, layer_axis)
    for place, axis in enumerate(spatial):
        vector = directions[axis]
        assert vector is not None
        matrix[:3, place] = vector
    with np.errstate(invalid="ignore", over="ignore"):
        norms = checked_spacing([float(value) for value in np.linalg.norm(matrix[:3, :3], axis=0)], "space directions")
    if spacings is not None:
        _compare(np.array([spacings[axis] for axis in spatial]), norms)
    if "space origin" in fields:
        matrix[:3, 3] = _vector(fields["space origin"], "space origin")
    else:
        notes.append("no space origin in the header, taken as (0, 0, 0)")
    matrix[:3] *= _space_units(fields, notes)[:, None]
    signs = _signs(fields, notes)
    if signs is not None:
        matrix[:3] *= np.array(signs, np.float64)[:, None]
    affine = checked_affine(matrix + 0.0)  # no negative zeros
    return NrrdSpace(ScanGeometry(shape, affine, signs is not None, tuple(notes)), spatial, layer_axis)


def _axes(
    fields: Mapping[str, str],
    sizes: tuple[int, ...],
    directions: list[NDArray[np.float64] | None] | None,
    spacings: list[float] | None,
    *,
    layered: bool,
) -> tuple[tuple[int, int, int], int | None]:
    """The three spatial axes and the axis of the layers."""
    kinds = fields["kinds"].split() if "kinds" in fields else [""] * len(sizes)
    if len(kinds) != len(sizes):
        raise bad_field("kinds", fields["kinds"], f"{len(sizes)} kinds")
    kinds = [kind.lower() for kind in kinds]

    def is_spatial(axis: int) -> bool:
        if kinds[axis] not in _SPATIAL_KINDS:
            return False
        if directions is not None:
            return directions[axis] is not None
        # Without directions and kinds, an axis of a 4-D array that is not spatial shows by a spacing of NaN.
        return kinds[axis] != "" or len(sizes) <= 3 or spacings is None or not math.isnan(spacings[axis])

    spatial = [axis for axis in range(len(sizes)) if is_spatial(axis)]
    others = [axis for axis in range(len(sizes)) if axis not in spatial]
    for axis in others:
        if _SEVERAL_NUMBERS.search(kinds[axis]) and sizes[axis] > 1 and not layered:
            raise not_plain_numbers("kinds", f"{kinds[axis]}, {sizes[axis]} numbers a voxel")
    if len(spatial) < 3:
        raise not_3d(sizes, "sizes")
    if len(spatial) > 3:
        raise unclear_axis(sizes, "kinds", kinds[spatial[3]] or "not given")
    long_ones = [axis for axis in others if sizes[axis] > 1]
    if long_ones and (not layered or len(long_ones) > 1 or "time" in kinds[long_ones[0]]):
        raise unclear_axis(sizes, "kinds", kinds[long_ones[0]] or "not given")
    return (spatial[0], spatial[1], spatial[2]), (long_ones[0] if long_ones else None)


def _directions(fields: Mapping[str, str], dimension: int) -> list[NDArray[np.float64] | None] | None:
    """A vector for each axis, None for an axis without one; None when the header has no directions."""
    text = fields.get("space directions")
    if text is None:
        return None
    found = re.findall(r"none|\([^)]*\)", text)
    if len(found) != dimension or re.sub(r"none|\([^)]*\)|\s", "", text):
        raise bad_field("space directions", text, f"{dimension} vectors or 'none'")
    return [None if part == "none" else _vector(part, "space directions") for part in found]


def _vector(text: str, key: str) -> NDArray[np.float64]:
    match = re.fullmatch(r"\s*\(([^)]*)\)\s*", text)
    if match is None:
        raise bad_field(key, text, "(a,b,c)")
    return np.array(numbers(match[1], key, 3), np.float64)


def _signs(fields: Mapping[str, str], notes: list[str]) -> tuple[int, int, int] | None:
    """The signs that turn the header's space into RAS; None when it does not say where the patient is."""
    space = fields.get("space")
    if space is None:
        notes.append(f"the header names no space: {NO_ORIENTATION_NOTE}")
        return None
    name = space.strip('"').lower()
    if name in _TO_RAS:
        return _TO_RAS[name]
    if name in _ELSEWHERE:
        notes.append(f"the space is {name}: {NO_ORIENTATION_NOTE}")
        return None
    raise GeometryError(
        "the space is unknown",
        code="unknown_space",
        key="space",
        found=space,
        expected=", ".join(sorted({*_TO_RAS, *_ELSEWHERE})),
        next_step="find out which way the axes of the space run, and set it in the header",
    )


def _space_units(fields: Mapping[str, str], notes: list[str]) -> NDArray[np.float64]:
    """Millimetres in the unit of each axis of the space."""
    text = fields.get("space units")
    if text is None:
        notes.append(NO_UNIT_NOTE)
        return np.ones(3)
    return _units(text, "space units", 3, (0, 1, 2), notes)


def _axis_units(
    fields: Mapping[str, str], spatial: tuple[int, int, int], dimension: int, notes: list[str]
) -> NDArray[np.float64]:
    """Millimetres in the unit of each spatial axis of the array."""
    if "units" not in fields:
        notes.append(NO_UNIT_NOTE)
        return np.ones(3)
    return _units(fields["units"], "units", dimension, spatial, notes)


def _units(text: str, key: str, count: int, chosen: tuple[int, int, int], notes: list[str]) -> NDArray[np.float64]:
    names = re.findall(r'"([^"]*)"', text) if '"' in text else text.split()
    if len(names) != count:
        raise bad_field(key, text, f"{count} units")
    factors = [mm_per(names[axis], key) for axis in chosen]
    if None in factors:
        notes.append(NO_UNIT_NOTE)
    converted = sorted({names[axis] for axis, factor in zip(chosen, factors, strict=True) if factor not in (None, 1.0)})
    if converted:
        notes.append(f"lengths converted from {' and '.join(converted)} to mm")
    return np.array([1.0 if factor is None else factor for factor in factors])


def _compare(spacings: NDArray[np.float64], norms: NDArray[np.float64]) -> None:
    known = [not math.isnan(value) for value in spacings]
    if (np.abs(spacings - norms)[known] > SPACING_AGREEMENT * norms[known]).any():
        raise GeometryError(
            "the spacings and the space directions contradict each other",
            code="contradictory_geometry",
            key="spacings, space directions",
            found=f"{spacings.tolist()} and lengths {norms.tolist()}",
            expected="the same lengths",
            next_step="find out which is true, and delete the other from the header",
        )
