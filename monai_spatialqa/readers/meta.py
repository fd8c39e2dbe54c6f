"""What a reader found out about a file, as meta data that survives MONAI's pipelines and collation."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

GEOMETRY_KEY = "spatialqa_geometry"
"""``"verified"`` or ``"orientation_unknown"``; missing when nobody looked at the raw header."""

NOTES_KEY = "spatialqa_notes"
"""What was converted or passed over while reading, joined by semicolons; empty when nothing was."""

SEGMENTS_KEY = "spatialqa_segments"
"""JSON object id -> name of the structures that the file itself says were looked for; missing when it does not say."""

KIND_KEY = "spatialqa_kind"
"""``"image"`` for what can only be an image, never a label map: DICOM slices."""

IMAGE = "image"

VERIFIED, ORIENTATION_UNKNOWN, UNVERIFIED = "verified", "orientation_unknown", "unverified"


@dataclass(frozen=True)
class ScanGeometry:
    """The grid of a scan, as its file states it. NIfTI headers say more, under the same names.

    Attributes:
        shape: voxels along the three axes of the array that the reader returns.
        affine: index of that array to RAS mm, float64. With an unknown orientation only its spacing has a meaning.
        orientation_known: whether the file says where left, front and up are.
        notes: what was converted or passed over.
    """

    shape: tuple[int, int, int]
    affine: NDArray[np.float64]
    orientation_known: bool = True
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class LoadedScan:
    """A scan in memory.

    Attributes:
        voxels: (X, Y, Z), or (X, Y, Z, L) with several layers or volumes; in the file's memory order.
        geometry: its grid.
        names: id -> name of the structures that the file says were looked for; None where it does not say.
        image_only: whether it can only be an image.
    """

    voxels: NDArray[Any]
    geometry: ScanGeometry
    names: Mapping[int, str] | None = None
    image_only: bool = False


def geometry_meta(*, known: bool, notes: Sequence[str]) -> dict[str, str]:
    """The two entries (plain strings) for a checked header."""
    return {GEOMETRY_KEY: VERIFIED if known else ORIENTATION_UNKNOWN, NOTES_KEY: "; ".join(notes)}


def read_geometry_meta(meta: Mapping[str, Any]) -> tuple[str, list[str]]:
    """The geometry word and the notes of a tensor's meta data; ``"unverified"`` when nobody looked."""
    notes = str(meta.get(NOTES_KEY, ""))
    return str(meta.get(GEOMETRY_KEY, UNVERIFIED)), notes.split("; ") if notes else []


def segments_meta(names: Mapping[int, str]) -> dict[str, str]:
    """The entry (a plain string) for the structures that a file names itself.

    Args:
        names: id in the voxels -> name, of every structure that was looked for, found or not. Ids are unique over all
            layers of the file.
    """
    return {SEGMENTS_KEY: json.dumps({str(number): name for number, name in names.items()}, ensure_ascii=False)}


def read_segments_meta(meta: Mapping[str, Any]) -> dict[int, str] | None:
    """Id -> name of the structures that the file named; None when it did not."""
    text = meta.get(SEGMENTS_KEY)
    return None if text is None else {int(number): name for number, name in json.loads(str(text)).items()}


def kind_meta() -> dict[str, str]:
    """The entry (a plain string) for what can only be an image."""
    return {KIND_KEY: IMAGE}


def is_image(meta: Mapping[str, Any]) -> bool:
    """Whether meta data say that this can only be an image."""
    return str(meta.get(KIND_KEY, "")) == IMAGE
