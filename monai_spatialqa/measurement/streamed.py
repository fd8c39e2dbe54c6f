"""The streamed path: from NIfTI files to a record without ever holding a volume. Needs neither torch nor MONAI.

One volume a file, or one mask a structure. Several volumes in a file (one-hot channels, layers) need their voxels side
by side and take the path of arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from monai_spatialqa.errors import PairingError, SpatialQAError
from monai_spatialqa.geometry.affine import RasGrid, column_norms
from monai_spatialqa.geometry.encoder import MarginalEncoder
from monai_spatialqa.geometry.place import check_same_place
from monai_spatialqa.geometry.runs import Runs, run_marginals
from monai_spatialqa.geometry.table import StructureTable
from monai_spatialqa.measurement.label_scan import LabelScan, needs_runs, projection_of, record_of_scan
from monai_spatialqa.measurement.options import MeasureOptions
from monai_spatialqa.readers.masks import list_masks, read_masks
from monai_spatialqa.readers.nifti_header import NiftiGeometry
from monai_spatialqa.readers.nifti_labels import label_block, label_dtype
from monai_spatialqa.readers.nifti_stream import NiftiStream
from monai_spatialqa.readers.scans import Scan, first_file, read_geometry, scan_kind
from monai_spatialqa.records import Measurement, Source

KEPT_RUNS_BYTES = 8 << 20
"""Runs kept to look up centroids; where they need more room, the file is read a second time for these voxels."""


def check_pair(label: Scan, image: Scan, options: MeasureOptions, case_id: str) -> None:
    """Refuse a label map that does not cover the same place as its image, by their headers.

    Raises:
        PairingError: another place or extent.
        SpatialQAError: one of the headers is unusable.
    """
    if isinstance(label, Path) and scan_kind(label) == "dicom_seg":
        return  # its frames are placed on the grid of the image, or refused, when it is read
    headers = [read_geometry(scan, form=options.form) for scan in (label, image)]
    grids = [RasGrid.of(header.shape, header.affine) for header in headers]
    if all(header.orientation_known for header in headers):
        check_same_place(grids[0], grids[1], case=case_id, file=first_file(label))
        return
    # Without an orientation nothing is known of the place; the stored grids must at least be the same.
    sizes = [(grid.stored_shape, column_norms(grid.stored_affine)) for grid in grids]
    if sizes[0][0] != sizes[1][0] or not np.allclose(sizes[0][1], sizes[1][1], rtol=1e-3):
        raise PairingError(
            "the label map and its image differ in shape or spacing, and the orientation is unknown",
            code="other_extent",
            case=case_id,
            file=first_file(label),
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
        return record_of_scan(_read(Path(label), options, ahead), source, options, case_id)
    except SpatialQAError as error:
        raise error.with_context(case=case_id, file=label) from None


def measure_masks(
    label: Scan, source: Source, options: MeasureOptions, case_id: str, *, ahead: bool = True
) -> Measurement:
    """Measure a folder (or a list) of one mask per structure, one mask after the other.

    Args:
        label: the folder, or the files.
        source: what the record says of the files.
        options: how to measure.
        case_id: id of the case.
        ahead: inflate in a thread of its own.

    Raises:
        SpatialQAError: a mask cannot be read, or the masks do not belong together; the message names the file.
    """
    try:
        listing = list_masks(label, options.label_map)
        runs: dict[int, Runs] = {}
        grids, notes = [], {}
        for mask, geometry, grid, found in read_masks(listing, form=options.form, ignore=options.ignore, ahead=ahead):
            grids.append((geometry, grid))
            notes[mask.name] = geometry.notes
            if len(found):
                runs[mask.label] = found
        geometry, grid = grids[0]
        scan = LabelScan(
            grid=grid.ras,
            orientation_known=geometry.orientation_known,
            notes=listing.notes(notes),
            marginals=run_marginals(runs, grid, projection=projection_of(grid.ras)),
            runs=runs,
            run_grid=grid,
            segments=listing.names,
            may_overlap=True,
        )
        return record_of_scan(scan, source, options, case_id)
    except SpatialQAError as error:
        raise error.with_context(case=case_id, file=first_file(label)) from None


def _read(path: Path, options: MeasureOptions, ahead: bool) -> LabelScan:
    with NiftiStream(path, form=options.form) as stream:
        header = stream.geometry
        grid = RasGrid.of(header.shape, header.affine)
        projection = projection_of(grid)
        kept = needs_runs(options)
        encoder = MarginalEncoder(
            header.shape,
            label_dtype(header),
            ignore=options.ignore,
            boundaries=True,
            weights=None if projection is None else projection.stored_weights(grid),
            keep_runs_bytes=0 if kept else KEPT_RUNS_BYTES,
            keep_runs=kept,
        )
        for block in stream.blocks(ahead=ahead):
            encoder.feed(label_block(block, header))
        weights = None if projection is None else projection.weights
        marginals = encoder.result().reoriented(grid.source_axes, grid.flipped, weights)
    found = encoder.run_set(grid, (0, 1, 2)) if kept else None

    def lookup(table: StructureTable, wanted: Sequence[tuple[int, int]]) -> Sequence[bool]:
        labels = [label for label, _ in wanted]
        positions = np.array([_position(grid, table, row) for _, row in wanted], np.int64)
        answers = encoder.value_at(labels, positions)
        if answers is not None:
            return answers
        values = _values_at(path, header, positions, options)
        return [value == label for value, label in zip(values, labels, strict=True)]

    return LabelScan(
        grid=grid,
        orientation_known=header.orientation_known,
        notes=header.notes,
        marginals=marginals,
        runs=None if found is None else {label: found.of(label) for label in marginals.labels},
        run_grid=None if found is None else found.grid,
        centroid_lookup=lookup,
    )


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
            values[here] = label_block(block[positions[here] - at], header)
            at += block.size
    return [int(value) for value in values]
