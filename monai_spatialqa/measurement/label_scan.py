"""A label file once read: exact integers per structure, and the step from there to a record. Torch-free."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from monai_spatialqa.anatomy.pairs import partner_rows
from monai_spatialqa.geometry.affine import Projection, RasGrid
from monai_spatialqa.geometry.marginals import Marginals
from monai_spatialqa.geometry.runs import RunGrid, Runs, common_voxels, contains, merged_runs, run_marginals
from monai_spatialqa.geometry.table import StructureTable, build_table
from monai_spatialqa.measurement.declared import (
    declared_structures,
    looked_for,
    named_pairs,
    union_members,
    union_notes,
)
from monai_spatialqa.measurement.options import MeasureOptions
from monai_spatialqa.measurement.pair_records import pair_records
from monai_spatialqa.measurement.records import CaseFacts, build_measurement
from monai_spatialqa.readers.meta import ORIENTATION_UNKNOWN, VERIFIED
from monai_spatialqa.records import Measurement, Overlap, Source, Status
from monai_spatialqa.transforms import fields, run_fields

InsideLookup = Callable[[StructureTable, Sequence[tuple[int, int]]], Sequence[bool]]
"""Whether the voxels at the centroids of (id, row) belong to their structures."""


@dataclass(frozen=True)
class LabelScan:
    """What one pass over the label file or files of a case found.

    Attributes:
        grid: the grid.
        orientation_known: whether left, front and up are known.
        notes: what the reader converted or passed over.
        marginals: of every id, on the RAS grid.
        runs: id -> runs; None where they were not kept.
        run_grid: where the runs lie; None without runs.
        segments: id -> name where the file names its structures itself.
        may_overlap: whether structures can share voxels.
        centroid_lookup: where there are no runs.
    """

    grid: RasGrid
    orientation_known: bool
    notes: Sequence[str]
    marginals: Marginals
    runs: Mapping[int, Runs] | None = None
    run_grid: RunGrid | None = None
    segments: Mapping[int, str] | None = None
    may_overlap: bool = False
    centroid_lookup: InsideLookup | None = field(default=None, compare=False)


def needs_runs(options: MeasureOptions) -> bool:
    """Whether anything is asked for that goes back to the voxels."""
    unions = options.label_map is not None and bool(options.label_map.derived_structures)
    return options.detail == "full" or options.distance_kind == "surface" or unions


def projection_of(grid: RasGrid) -> Projection | None:
    """The projection that world boxes need; None on a grid along the world's axes."""
    return None if grid.diagonal else Projection.of(grid)


def record_of_scan(scan: LabelScan, source: Source, options: MeasureOptions, case_id: str) -> Measurement:
    """Measure a scan that was read.

    Raises:
        SpatialQAError: the ids or the pairs do not fit the options.
    """
    names, unknown = declared_structures(scan.marginals.labels, options, scan.segments)
    segmented = looked_for(names, options, scan.segments)
    row_of_label = {label: row for row, label in enumerate(names.values()) if label is not None}
    own = {row_of_label[label]: label for label in scan.marginals.labels}
    structure_runs = {} if scan.runs is None else {row: scan.runs[label] for row, label in own.items()}
    unions = _unions(structure_runs, segmented, options)
    table = _table(scan, row_of_label, unions, segmented, names, options)
    geometry = VERIFIED if scan.orientation_known else ORIENTATION_UNKNOWN
    status = fields.status_codes(table, scan.grid, geometry)
    inside = _centroid_inside(scan, table, own, structure_runs | unions)
    found = fields.volume_fields(table, status) | fields.box_fields(
        table, status, orientation_known=scan.orientation_known, centroid_inside=inside
    )
    pairs = named_pairs(options, names)
    position = {name: row for row, name in enumerate(names)}
    rows = [(position[pair.first], position[pair.second]) for pair in pairs]
    if options.distance_kind != "surface" and rows:
        found |= _center_fields(scan, table, status, rows, structure_runs | unions, options)
    if scan.run_grid is not None:
        runs = run_fields.StructureRuns(scan.run_grid, structure_runs | unions, status, scan.orientation_known)
        if options.distance_kind == "surface" and rows:
            found |= run_fields.surface_fields(runs, rows, name="distance")
        if options.detail == "full":
            tumours = () if options.label_map is None else options.label_map.tumour_rows
            found |= run_fields.full_fields(runs, rows, tumours)
    facts = CaseFacts(
        case_id=case_id,
        source=source,
        label_map=None if options.label_map is None else options.label_map.name,
        settings_sha256=options.sha256,
        grid=scan.grid,
        stored_orientation=scan.grid.orientation,
        geometry=geometry,
        notes=[*scan.notes, *union_notes(options, unknown)],
        resampled="native",
        margin=options.fov_margin_voxels,
    )
    return build_measurement(
        facts,
        names,
        found,
        pair_records(found, pairs, options.distance_kind),
        unions=union_members(options),
        overlaps=overlaps_of(structure_runs, list(names), scan.run_grid) if scan.may_overlap else (),
        unknown_labels=unknown,
    )


def _unions(runs: Mapping[int, Runs], segmented: Sequence[bool] | None, options: MeasureOptions) -> dict[int, Runs]:
    unions: dict[int, Runs] = {}
    if options.label_map is None:
        return unions
    for row, members in options.label_map.union_rows.items():
        there = [runs[member] for member in members if member in runs]
        if there and (segmented is None or segmented[row]):
            unions[row] = merged_runs(there)
    return unions


def _table(
    scan: LabelScan,
    row_of_label: Mapping[int, int],
    unions: Mapping[int, Runs],
    segmented: Sequence[bool] | None,
    names: Mapping[str, int | None],
    options: MeasureOptions,
) -> StructureTable:
    projection = projection_of(scan.grid)
    channels = [scan.marginals]
    rows = {(0, label): row for label, row in row_of_label.items()}
    if unions and scan.run_grid is not None:
        channels.append(run_marginals(unions, scan.run_grid, projection=projection))
        rows |= {(1, row): row for row in unions}
    return build_table(
        channels,
        rows,
        len(names),
        scan.grid,
        projection=projection,
        segmented=segmented,
        partners=[] if options.label_map is None else partner_rows(options.label_map),
        margin=options.fov_margin_voxels,
    )


def _centroid_inside(
    scan: LabelScan, table: StructureTable, own: Mapping[int, int], runs: Mapping[int, Runs]
) -> NDArray[np.int64]:
    inside = np.full(len(table.voxel_count), -1, np.int64)
    if scan.run_grid is not None:
        for row, structure in runs.items():
            inside[row] = contains(structure, scan.run_grid, [int(column[row]) for column in table.centroid_voxel])
    elif scan.centroid_lookup is not None:
        wanted = [(label, row) for row, label in own.items()]
        for (_, row), answer in zip(wanted, scan.centroid_lookup(table, wanted), strict=True):
            inside[row] = answer
    return inside


def _center_fields(
    scan: LabelScan,
    table: StructureTable,
    status: NDArray[np.int64],
    rows: Sequence[tuple[int, int]],
    runs: Mapping[int, Runs],
    options: MeasureOptions,
) -> dict[str, NDArray]:
    found = fields.distance_fields(
        table,
        status,
        rows,
        name="distance",
        kind=options.distance_kind,
        orientation_known=scan.orientation_known,
    )
    overlap = np.where(np.isnan(found["distance_mm"]), -1, 0)
    if scan.run_grid is not None:
        unions = set() if options.label_map is None else set(options.label_map.union_rows)
        for at, (first, second) in enumerate(rows):
            if overlap[at] == 0 and (scan.may_overlap or first in unions or second in unions):
                overlap[at] = common_voxels(runs[first], runs[second], scan.run_grid)[0]
    found["distance_overlap_voxels"] = overlap
    found["distance_status"] = found["distance_status"] | (overlap > 0) * int(Status.OVERLAPPING)
    return found


def overlaps_of(runs: Mapping[int, Runs], names: Sequence[str], grid: RunGrid | None) -> list[Overlap]:
    """Every two structures that share voxels."""
    if grid is None:
        return []
    planes = {row: (int(one[0, 0]), int(one[-1, 0])) for row, one in runs.items()}
    overlaps = []
    for first, second in combinations(sorted(runs), 2):
        if planes[first][0] <= planes[second][1] and planes[second][0] <= planes[first][1]:
            voxels, _ = common_voxels(runs[first], runs[second], grid)
            if voxels:
                overlaps.append(Overlap(a=names[first], b=names[second], voxels=voxels))
    return overlaps
