"""The CSV tables: one row per structure, one row per distance, the unit in every column's name."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from pathlib import Path

from monai_spatialqa.records import Measurement, Structure, write_text_atomic

STRUCTURE_COLUMNS = (
    "case_id",
    "structure",
    "label",
    "status",
    "voxel_count",
    "volume_mm3",
    "volume_ml",
    "volume_band_low_ml",
    "volume_band_high_ml",
    "extent_left_right_mm",
    "extent_posterior_anterior_mm",
    "extent_inferior_superior_mm",
    "center_r_mm",
    "center_a_mm",
    "center_s_mm",
    "centroid_r_mm",
    "centroid_a_mm",
    "centroid_s_mm",
    "centroid_inside",
    "truncated_faces",
    "component_count",
    "largest_component_ml",
    "axial_diameter_mm",
    "axial_diameter_perpendicular_mm",
)
DISTANCE_COLUMNS = (
    "case_id",
    "a",
    "b",
    "kind",
    "distance_mm",
    "status",
    "overlap_voxels",
    "contact_faces",
    "contact_mm2",
    "share_of_a_in_hull_of_b",
    "share_of_b_in_hull_of_a",
)


def write_structure_table(path: Path, records: Iterable[Measurement]) -> None:
    """One row per case and structure; empty cells where a value is not known or not there."""
    rows = [
        _structure_row(record, name, structure) for record in records for name, structure in record.structures.items()
    ]
    _write(path, STRUCTURE_COLUMNS, rows)


def write_distance_table(path: Path, records: Iterable[Measurement]) -> None:
    """One row per case and pair."""
    rows = [
        [
            record.case_id,
            pair.a,
            pair.b,
            pair.kind,
            pair.distance_mm,
            " ".join(pair.status),
            pair.overlap_voxels,
            pair.contact_faces,
            pair.contact_mm2,
            pair.share_of_a_in_hull_of_b,
            pair.share_of_b_in_hull_of_a,
        ]
        for record in records
        for pair in record.pairs
    ]
    _write(path, DISTANCE_COLUMNS, rows)


def _structure_row(record: Measurement, name: str, structure: Structure) -> list[object]:
    # The columns of extents name directions: without an orientation they stay empty, the record has the lengths.
    oriented = record.geometry is not None and record.geometry.orientation is not None
    box = structure.box if oriented else None
    none = (None, None, None)
    return [
        record.case_id,
        name,
        structure.label,
        " ".join(structure.status),
        structure.voxel_count,
        structure.volume_mm3,
        structure.volume_ml,
        *(structure.volume_band_ml or (None, None)),
        *(box.extent_mm if box else none),
        *((box.center_ras_mm if box else None) or none),
        *(structure.centroid_ras_mm or none),
        None if structure.centroid_inside is None else str(structure.centroid_inside).lower(),
        " ".join(structure.truncated_faces),
        None if structure.components is None else structure.components.count,
        None if structure.components is None else structure.components.volumes_ml[0],
        None if structure.axial_diameter is None else structure.axial_diameter.longest_mm,
        None if structure.axial_diameter is None else structure.axial_diameter.perpendicular_mm,
    ]


def _write(path: Path, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    write_text_atomic(path, text.getvalue())
