"""From figures of pairs to their records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from monai_spatialqa.records import Pair, Status
from monai_spatialqa.records.measurement import DistanceKind


@dataclass(frozen=True)
class NamedPair:
    """A pair to be recorded. ``asked``: named one by one, so it is recorded even when a structure is missing."""

    first: str
    second: str
    asked: bool


def pair_records(fields: Mapping[str, Any], pairs: Sequence[NamedPair], kind: DistanceKind) -> list[Pair]:
    """A record for each pair and kind of distance that was measured: first the kind asked for, then surfaces.

    Args:
        fields: numpy arrays: ``distance_*`` of ``kind``, ``surface_*`` where surfaces were measured besides, and
            ``contact_*``, which go with the surfaces.
        pairs: the pairs, in the order of the fields.
        kind: kind of ``distance_*``.
    """
    records = []
    if "distance_mm" in fields:
        records += _records(fields, pairs, "distance", kind)
    if "surface_mm" in fields and kind != "surface":
        records += _records(fields, pairs, "surface", "surface")
    return records


def _records(fields: Mapping[str, Any], pairs: Sequence[NamedPair], name: str, kind: DistanceKind) -> list[Pair]:
    distances, points, codes = (fields[f"{name}_{what}"] for what in ("mm", "points_ras_mm", "status"))
    overlaps = fields.get(f"{name}_overlap_voxels", np.full(len(pairs), -1))
    contact = [{}] * len(pairs) if kind != "surface" or "contact_faces" not in fields else _contact(fields)
    words = {code: Status(code).names() for code in np.unique(codes).tolist()}
    columns = (distances, np.isnan(distances), points, np.isnan(points).any(axis=(1, 2)), overlaps, codes)
    return [
        Pair(
            a=pair.first,
            b=pair.second,
            kind=kind,
            distance_mm=None if unmeasured else distance,
            points_ras_mm=None if placeless else ends,
            overlap_voxels=overlap if overlap >= 0 else None,
            status=words[code],
            **shared,
        )
        for pair, shared, distance, unmeasured, ends, placeless, overlap, code in zip(
            pairs, contact, *(column.tolist() for column in columns), strict=True
        )
        if pair.asked or not unmeasured
    ]


def _contact(fields: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Per pair, the fields of a record that tell of contact; none where a structure is missing."""
    return [
        {
            "contact_faces": faces,
            "contact_mm2": area,
            "share_of_a_in_hull_of_b": shares[0],
            "share_of_b_in_hull_of_a": shares[1],
        }
        if faces >= 0
        else {}
        for faces, area, shares in zip(
            *(fields[name].tolist() for name in ("contact_faces", "contact_mm2", "contained_share")), strict=True
        )
    ]
