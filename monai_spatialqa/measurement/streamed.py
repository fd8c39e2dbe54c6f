"""The streamed path: from a NIfTI file to a record without ever holding the volume. Needs neither torch nor MONAI.

One volume a file; several (one-hot channels, layers) need their voxels side by side and take the path of arrays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from monai_spatialqa.anatomy import fallback_name, load_label_map
from monai_spatialqa.anatomy.pairs import partner_rows, resolve_pairs
from monai_spatialqa.anatomy.presence import check_presence
from monai_spatialqa.errors import LabelMapError, PairingError, SettingsError, SpatialQAError
from monai_spatialqa.geometry.affine import Projection, RasGrid, column_norms
from monai_spatialqa.geometry.encoder import MarginalEncoder
from monai_spatialqa.geometry.marginals import Marginals
from monai_spatialqa.geometry.place import check_same_place
from monai_spatialqa.geometry.table import StructureTable, build_table
from monai_spatialqa.geometry.values import whole_number_block
from monai_spatialqa.measurement.options import MeasureOptions
from monai_spatialqa.measurement.records import CaseFacts, NamedPair, build_measurement
from monai_spatialqa.readers.meta import ORIENTATION_UNKNOWN, VERIFIED
from monai_spatialqa.readers.nifti_header import NiftiGeometry
from monai_spatialqa.readers.nifti_stream import NiftiStream, read_header
from monai_spatialqa.records import Measurement, Source
from monai_spatialqa.transforms import fields

KEPT_RUNS_BYTES = 8 << 20
"""Runs kept to look up centroids; where they need more room, the file is read a second time for these voxels."""


def check_pair(label: str | Path, image: str | Path, options: MeasureOptions, case_id: str) -> None:
    """Refuse a label map that does not cover the same place as its image, by their headers.

    Raises:
        PairingError: another place or extent.
        SpatialQAError: one of the headers is unusable.
    """
    headers = [read_header(path, form=options.form) for path in (label, image)]
    grids = [RasGrid.of(header.shape, header.affine) for header in headers]
    if all(header.orientation_known for header in headers):
        check_same_place(grids[0], grids[1], case=case_id, file=label)
        return
    # Without an orientation nothing is known of the place; the stored grids must at least be the same.
    sizes = [(grid.stored_shape, column_norms(grid.stored_affine)) for grid in grids]
    if sizes[0][0] != sizes[1][0] or not np.allclose(sizes[0][1], sizes[1][1], rtol=1e-3):
        raise PairingError(
            "the label map and its image differ in shape or spacing, and the orientation is unknown",
            code="other_extent",
            case=case_id,
            file=label,
            key="sform_code, qform_code",
            found=f"label {sizes[0][0]} at {sizes[0][1]} mm, image {sizes[1][0]} at {sizes[1][1]} mm",
            expected="the same grid, or a form code in both headers",
            next_step="restore the headers from the original scan, or measure without an image",
        )


def measure_streamed(
    label: str | Path, source: Source, options: MeasureOptions, case_id: str, *, ahead: bool = True
) -> Measurement:
    """Measure one NIfTI label map while it is being inflated.

    Args:
        label: the file.
        source: what the record says of the files.
        options: how to measure.
        case_id: id of the case.
        ahead: inflate in a thread of its own.

    Raises:
        SpatialQAError: the file cannot be measured without guessing.
    """
    try:
        return _measure(Path(label), source, options, case_id, ahead)
    except SpatialQAError as error:
        raise error.with_context(case=case_id, file=label) from None


def _measure(path: Path, source: Source, options: MeasureOptions, case_id: str, ahead: bool) -> Measurement:
    with NiftiStream(path, form=options.form) as stream:
        header = stream.geometry
        grid = RasGrid.of(header.shape, header.affine)
        projection = None if grid.diagonal else Projection.of(grid)
        encoder = _encoder(header, grid, projection, options)
        for block in stream.blocks(ahead=ahead):
            encoder.feed(_whole_numbers(block, header))
        weights = None if projection is None else projection.weights
        marginals = encoder.result().reoriented(grid.source_axes, grid.flipped, weights)
    names, unknown = declared_structures(marginals.labels, options)
    table = _table(marginals, names, grid, projection, options)
    inside = _centroid_inside(path, header, grid, table, names, encoder, options)
    geometry = VERIFIED if header.orientation_known else ORIENTATION_UNKNOWN
    status = fields.status_codes(table, grid, geometry)
    found = fields.volume_fields(table, status) | fields.box_fields(
        table, status, orientation_known=header.orientation_known, centroid_inside=inside
    )
    pairs = named_pairs(options, names)
    if pairs:
        row_of = {name: row for row, name in enumerate(names)}
        found |= fields.distance_fields(
            table,
            status,
            [(row_of[pair.first], row_of[pair.second]) for pair in pairs],
            name="distance",
            kind=options.distance_kind,
            orientation_known=header.orientation_known,
        )
        found["distance_overlap_voxels"] = np.where(np.isnan(found["distance_mm"]), -1, 0)
    facts = CaseFacts(
        case_id=case_id,
        source=source,
        label_map=None if options.label_map is None else options.label_map.name,
        settings_sha256=options.sha256,
        grid=grid,
        stored_orientation=grid.orientation,
        geometry=geometry,
        notes=header.notes,
        resampled="native",
        margin=options.fov_margin_voxels,
    )
    return build_measurement(facts, names, found, pairs, options.distance_kind, unknown)


def _encoder(
    header: NiftiGeometry, grid: RasGrid, projection: Projection | None, options: MeasureOptions
) -> MarginalEncoder:
    exact = header.dtype.kind in "iu" and not header.scaled
    return MarginalEncoder(
        header.shape,
        header.dtype if exact else np.dtype(np.int64),
        ignore=options.ignore,
        boundaries=True,
        weights=None if projection is None else projection.stored_weights(grid),
        keep_runs_bytes=KEPT_RUNS_BYTES,
    )


def _whole_numbers(block: NDArray, header: NiftiGeometry) -> NDArray:
    if header.dtype.kind in "iu" and not header.scaled:
        return block
    exact_below = 2 ** (np.finfo(header.dtype).nmant + 1) if header.dtype.kind == "f" else 2**53
    return whole_number_block(block.astype(np.float64) * header.slope + header.inter, exact_below=exact_below)


def declared_structures(found: Sequence[int], options: MeasureOptions) -> tuple[dict[str, int], list[int]]:
    """Structure name -> id in the order of the record, and which of the ids the label map does not have.

    Raises:
        LabelValueError: ids outside the label map in strict mode, or a structure that was said not to be segmented.
    """
    if options.label_map is None:
        return {fallback_name(label): label for label in sorted(found)}, []
    label_map = options.label_map
    declared = dict(zip(label_map.names, label_map.ids, strict=True))
    unknown = sorted(set(found) - set(label_map.ids))
    there = set(found)
    check_presence(
        [name for name, label in declared.items() if label in there],
        unknown,
        label_map=label_map.name,
        segmented=options.segmented,
        strict=options.strict,
    )
    return declared | {fallback_name(label): label for label in unknown}, unknown


def _table(
    marginals: Marginals,
    names: Mapping[str, int],
    grid: RasGrid,
    projection: Projection | None,
    options: MeasureOptions,
) -> StructureTable:
    segmented = None
    if options.segmented is not None and options.label_map is not None:
        never = set(options.label_map.names) - set(options.segmented)
        segmented = [name not in never for name in names]
    return build_table(
        [marginals],
        {(0, label): row for row, label in enumerate(names.values())},
        len(names),
        grid,
        projection=projection,
        segmented=segmented,
        partners=[] if options.label_map is None else partner_rows(options.label_map),
        margin=options.fov_margin_voxels,
    )


def _centroid_inside(
    path: Path,
    header: NiftiGeometry,
    grid: RasGrid,
    table: StructureTable,
    names: Mapping[str, int],
    encoder: MarginalEncoder,
    options: MeasureOptions,
) -> NDArray[np.int64]:
    inside = np.full(len(names), -1, np.int64)
    wanted = [(label, row) for row, label in enumerate(names.values()) if table.present[row]]
    labels = [label for label, _ in wanted]
    positions = np.array([_position(grid, table, row) for _, row in wanted], np.int64)
    answers = encoder.value_at(labels, positions)
    if answers is None:
        values = _values_at(path, header, positions, options)
        answers = [value == label for value, label in zip(values, labels, strict=True)]
    for (_, row), answer in zip(wanted, answers, strict=True):
        inside[row] = answer
    return inside


def _position(grid: RasGrid, table: StructureTable, row: int) -> int:
    """Number, in stored order, of the voxel that holds a structure's centroid."""
    i, j, k = grid.stored_index([int(table.centroid_voxel[axis][row]) for axis in range(3)])
    return i + grid.stored_shape[0] * (j + grid.stored_shape[1] * k)


def _values_at(path: Path, header: NiftiGeometry, positions: NDArray[np.int64], options: MeasureOptions) -> list[int]:
    """Label values of a few voxels, by reading the file once more."""
    values = np.zeros(len(positions), np.int64 if header.dtype.kind != "u" else np.uint64)
    at = 0
    with NiftiStream(path, form=options.form) as stream:
        for block in stream.blocks():
            here = (positions >= at) & (positions < at + block.size)
            values[here] = _whole_numbers(block[positions[here] - at], header)
            at += block.size
    return [int(value) for value in values]


def named_pairs(options: MeasureOptions, names: Mapping[str, int]) -> list[NamedPair]:
    """The pairs to record; pairs asked for as a group are recorded only where both structures are there."""
    if options.distances is None:
        return []
    if not names:
        return []
    label_map = options.label_map or load_label_map({label: name for name, label in names.items()})
    asked = not isinstance(options.distances, (str, Mapping))
    try:
        pairs = resolve_pairs(options.distances, label_map)
    except LabelMapError as error:
        raise SettingsError(
            "distances name a structure that is not there",
            key="distances",
            found=error.found,
            next_step=error.next_step,
        ) from None
    return [NamedPair(first, second, asked) for first, second in pairs]
