"""From figures to the record of a case. Both paths, streamed and transforms, come through here."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from monai_spatialqa.errors import readable
from monai_spatialqa.geometry.affine import RasGrid
from monai_spatialqa.geometry.figures import GRID_FACES, RAS_FACES
from monai_spatialqa.records import (
    Box,
    ErrorDetail,
    Geometry,
    Measurement,
    Pair,
    Source,
    Status,
    Structure,
    portable_path,
)


@dataclass(frozen=True)
class CaseFacts:
    """What a record says besides its figures.

    Attributes:
        case_id: id of the case.
        source: the files, as paths relative to the run's root.
        label_map: name of the label map, None without one.
        settings_sha256: hash of the options.
        grid: the grid that was measured.
        stored_orientation: axis codes of the file.
        geometry: verified, orientation_unknown or unverified.
        notes: what the reader converted or passed over.
        resampled: native or resampled.
        margin: width added to the outermost layer when looking for truncation.
    """

    case_id: str
    source: Source
    label_map: str | None
    settings_sha256: str | None
    grid: RasGrid
    stored_orientation: str
    geometry: str
    notes: Sequence[str]
    resampled: Literal["native", "resampled"]
    margin: int

    @property
    def orientation_known(self) -> bool:
        """Whether the file says where left, front and up are."""
        return self.geometry != "orientation_unknown"


@dataclass(frozen=True)
class NamedPair:
    """A pair to be recorded. ``asked``: named one by one, so it is recorded even when a structure is missing."""

    first: str
    second: str
    asked: bool


def build_measurement(
    facts: CaseFacts,
    labels: Mapping[str, int],
    fields: Mapping[str, Any],
    pairs: Sequence[NamedPair],
    kind: Literal["box_center", "centroid"],
    unknown_labels: Sequence[int],
) -> Measurement:
    """Assemble a record.

    Args:
        facts: everything but the figures.
        labels: structure name -> id, in the order of the rows.
        fields: numpy arrays under the names of :mod:`monai_spatialqa.transforms.fields`; the names of volumes, boxes or
            distances may be missing as a group, their fields are null then.
        pairs: the pairs, in the order of the distance fields.
        kind: kind of the distances.
        unknown_labels: ids found that the label map does not have.
    """
    columns = {name: fields[name].tolist() for name in _STRUCTURE_FIELDS if name in fields}
    rows = range(len(labels))
    structures = {
        name: _structure(facts, label, {key: column[row] for key, column in columns.items()})
        for row, (name, label) in zip(rows, labels.items(), strict=True)
    }
    return Measurement(
        case_id=facts.case_id,
        label_map=facts.label_map,
        settings_sha256=facts.settings_sha256,
        structures=structures,
        unknown_labels=list(unknown_labels),
        pairs=_pairs(fields, pairs, kind) if "distance_mm" in fields else [],
        geometry=_geometry(facts),
        source=facts.source,
    )


def error_measurement(
    case_id: str, source: Source, error: Mapping[str, str | None], settings_sha256: str | None, root: Path
) -> Measurement:
    """The record of a case that could not be measured; its paths are relative to ``root``, like those of the source."""
    told = {name: None if text is None else _relative(text, root) for name, text in error.items()}
    if error.get("file"):
        told["file"] = portable_path(str(error["file"]), root)
    return Measurement(
        case_id=case_id,
        settings_sha256=settings_sha256,
        source=source,
        errors=[ErrorDetail.model_validate({**told, "case": case_id})],
    )


def _relative(text: str, root: Path) -> str:
    """A message without the machine's own folders in front of its paths."""
    return text.replace(f"{readable(str(root))}{os.sep}", "")


_STRUCTURE_FIELDS = (
    "voxel_count",
    "volume_mm3",
    "volume_band_mm3",
    "volume_status",
    "box_index",
    "extent_mm",
    "center_ras_mm",
    "world_min_ras_mm",
    "world_max_ras_mm",
    "centroid_ras_mm",
    "centroid_inside",
    "box_status",
)


def _structure(facts: CaseFacts, label: int, row: Mapping[str, Any]) -> Structure:
    code = Status(row.get("volume_status", row.get("box_status", 0)))
    count = row.get("voxel_count")
    segmented = Status.NOT_SEGMENTED not in code
    volume = row.get("volume_mm3") if segmented else None
    band = row.get("volume_band_mm3") if segmented else None
    boxed = "box_index" in row and not math.isnan(row["box_index"][0][0])
    return Structure(
        label=label,
        voxel_count=count if segmented else None,
        volume_mm3=volume,
        volume_ml=None if volume is None else volume / 1000,
        volume_band_ml=None if band is None else (band[0] / 1000, band[1] / 1000),
        box=_box(row) if boxed else None,
        centroid_ras_mm=_vector(row.get("centroid_ras_mm")),
        centroid_inside=bool(row["centroid_inside"]) if row.get("centroid_inside", -1) >= 0 else None,
        truncated_faces=_faces(facts, row) if boxed else [],
        status=code.names(),
    )


def _box(row: Mapping[str, Any]) -> Box:
    start, stop = row["box_index"]
    return Box(
        index_start=(int(start[0]), int(start[1]), int(start[2])),
        index_stop=(int(stop[0]), int(stop[1]), int(stop[2])),
        extent_mm=tuple(row["extent_mm"]),
        center_ras_mm=_vector(row["center_ras_mm"]),
        world_min_ras_mm=_vector(row["world_min_ras_mm"]),
        world_max_ras_mm=_vector(row["world_max_ras_mm"]),
    )


def _faces(facts: CaseFacts, row: Mapping[str, Any]) -> list[str]:
    names = RAS_FACES if facts.orientation_known else GRID_FACES
    start, stop = row["box_index"]
    reached = []
    for axis, (low, high) in enumerate(names):
        if start[axis] <= facts.margin:
            reached.append(low)
        if stop[axis] >= facts.grid.shape[axis] - facts.margin:
            reached.append(high)
    return reached


def _vector(values: Sequence[float] | None) -> tuple[float, float, float] | None:
    if values is None or any(math.isnan(value) for value in values):
        return None
    return (values[0], values[1], values[2])


def _pairs(
    fields: Mapping[str, Any], pairs: Sequence[NamedPair], kind: Literal["box_center", "centroid"]
) -> list[Pair]:
    distances, points, codes = (fields[f"distance_{name}"] for name in ("mm", "points_ras_mm", "status"))
    overlaps = fields.get("distance_overlap_voxels", np.full(len(pairs), -1))
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
        )
        for pair, distance, unmeasured, ends, placeless, overlap, code in zip(
            pairs, *(column.tolist() for column in columns), strict=True
        )
        if pair.asked or not unmeasured
    ]


def _geometry(facts: CaseFacts) -> Geometry:
    grid = facts.grid
    return Geometry(
        shape=grid.shape,
        spacing_mm=grid.spacing_mm,
        orientation=facts.stored_orientation if facts.orientation_known else None,
        grid=facts.resampled,
        sheared=grid.sheared,
        affine_ras_mm=_rows(grid) if facts.orientation_known else None,
        notes=list(facts.notes),
    )


def _rows(grid: RasGrid) -> tuple[tuple[float, float, float, float], ...]:
    return tuple((float(a), float(b), float(c), float(d)) for a, b, c, d in grid.affine[:3])
