"""From figures to the record of a case. Both paths, streamed and transforms, come through here."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from monai_spatialqa.errors import readable
from monai_spatialqa.geometry.affine import RasGrid
from monai_spatialqa.geometry.figures import GRID_FACES, RAS_FACES
from monai_spatialqa.records import (
    AxialDiameter,
    Box,
    Components,
    ErrorDetail,
    Geometry,
    Measurement,
    Overlap,
    Pair,
    Source,
    Status,
    Structure,
    portable_path,
)
from monai_spatialqa.transforms.run_fields import CONNECTIVITY


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


def build_measurement(
    facts: CaseFacts,
    labels: Mapping[str, int | None],
    fields: Mapping[str, Any],
    pairs: Sequence[Pair] = (),
    *,
    unions: Mapping[str, Sequence[str]] | None = None,
    overlaps: Sequence[Overlap] = (),
    unknown_labels: Sequence[int] = (),
) -> Measurement:
    """Assemble a record.

    Args:
        facts: everything but the figures.
        labels: structure name -> id, in the order of the rows; None for a union of others.
        fields: numpy arrays under the names of :mod:`monai_spatialqa.transforms.fields` and
            :mod:`monai_spatialqa.transforms.run_fields`; the names of volumes, boxes, components or diameters may be
            missing as a group, their fields are null then.
        pairs: records of the pairs, see :func:`~monai_spatialqa.measurement.pair_records.pair_records`.
        unions: name of each union -> the structures it unites.
        overlaps: structures that share voxels.
        unknown_labels: ids found that the label map does not have.
    """
    columns = {name: fields[name].tolist() for name in _STRUCTURE_FIELDS if name in fields}
    members = unions or {}
    structures = {
        name: _structure(facts, label, members.get(name), {key: column[row] for key, column in columns.items()})
        for row, (name, label) in enumerate(labels.items())
    }
    return Measurement(
        case_id=facts.case_id,
        label_map=facts.label_map,
        settings_sha256=facts.settings_sha256,
        structures=structures,
        unknown_labels=list(unknown_labels),
        pairs=list(pairs),
        overlaps=list(overlaps),
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
    "component_count",
    "component_voxel_count",
    "component_volume_mm3",
    "component_box_index",
    "component_status",
    "diameter_mm",
    "diameter_points_ras_mm",
    "diameter_slice",
)


def _structure(
    facts: CaseFacts, label: int | None, union_of: Sequence[str] | None, row: Mapping[str, Any]
) -> Structure:
    code = Status(row.get("volume_status", row.get("box_status", 0)) | row.get("component_status", 0))
    count = row.get("voxel_count")
    segmented = Status.NOT_SEGMENTED not in code
    volume = row.get("volume_mm3") if segmented else None
    band = row.get("volume_band_mm3") if segmented else None
    boxed = "box_index" in row and not math.isnan(row["box_index"][0][0])
    return Structure(
        label=label,
        union_of=None if union_of is None else list(union_of),
        voxel_count=count if segmented else None,
        volume_mm3=volume,
        volume_ml=None if volume is None else volume / 1000,
        volume_band_ml=None if band is None else (band[0] / 1000, band[1] / 1000),
        box=_box(row) if boxed else None,
        centroid_ras_mm=_vector(row.get("centroid_ras_mm")),
        centroid_inside=bool(row["centroid_inside"]) if row.get("centroid_inside", -1) >= 0 else None,
        components=_components(row) if row.get("component_count", 0) > 0 else None,
        axial_diameter=_diameter(row) if row.get("diameter_slice", -1) >= 0 else None,
        truncated_faces=_faces(facts, row) if boxed else [],
        status=code.names(),
    )


def _components(row: Mapping[str, Any]) -> Components:
    listed = sum(count > 0 for count in row["component_voxel_count"])
    return Components(
        count=row["component_count"],
        connectivity=CONNECTIVITY,
        voxel_counts=row["component_voxel_count"][:listed],
        volumes_ml=[volume / 1000 for volume in row["component_volume_mm3"][:listed]],
        boxes=[(_index(start), _index(stop)) for start, stop in row["component_box_index"][:listed]],
    )


def _diameter(row: Mapping[str, Any]) -> AxialDiameter:
    longest, perpendicular = ((_point(ends[0]), _point(ends[1])) for ends in row["diameter_points_ras_mm"])
    return AxialDiameter(
        longest_mm=row["diameter_mm"][0],
        perpendicular_mm=row["diameter_mm"][1],
        slice_index=row["diameter_slice"],
        longest_points_ras_mm=longest,
        perpendicular_points_ras_mm=perpendicular,
    )


def _index(values: Sequence[float]) -> tuple[int, int, int]:
    return int(values[0]), int(values[1]), int(values[2])


def _point(values: Sequence[float]) -> tuple[float, float, float]:
    return values[0], values[1], values[2]


def _box(row: Mapping[str, Any]) -> Box:
    start, stop = row["box_index"]
    return Box(
        index_start=_index(start),
        index_stop=_index(stop),
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
    return _point(values)


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
