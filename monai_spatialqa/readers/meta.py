"""What a reader found out about a file's geometry, as meta data that survives MONAI's pipelines and collation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

GEOMETRY_KEY = "spatialqa_geometry"
"""``"verified"`` or ``"orientation_unknown"``; missing when nobody looked at the raw header."""

NOTES_KEY = "spatialqa_notes"
"""What was converted or passed over while reading, joined by semicolons; empty when nothing was."""

VERIFIED, ORIENTATION_UNKNOWN, UNVERIFIED = "verified", "orientation_unknown", "unverified"


def geometry_meta(*, known: bool, notes: Sequence[str]) -> dict[str, str]:
    """The two entries (plain strings) for a checked header."""
    return {GEOMETRY_KEY: VERIFIED if known else ORIENTATION_UNKNOWN, NOTES_KEY: "; ".join(notes)}


def read_geometry_meta(meta: Mapping[str, Any]) -> tuple[str, list[str]]:
    """The geometry word and the notes of a tensor's meta data; ``"unverified"`` when nobody looked."""
    notes = str(meta.get(NOTES_KEY, ""))
    return str(meta.get(GEOMETRY_KEY, UNVERIFIED)), notes.split("; ") if notes else []
