"""The names under which measuring transforms write, and how they are filled from a table of figures.

Torch-free: works on numpy columns (the streamed path) and on tensors of any device (the transforms) alike, so both give
the same figures to the last bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from monai_spatialqa.geometry.affine import RasGrid
from monai_spatialqa.geometry.distances import direction_signs, lengths_mm, offsets_ras_mm
from monai_spatialqa.geometry.marginals import Columns, stacked
from monai_spatialqa.geometry.table import StructureTable
from monai_spatialqa.records.status import Status

CENTER_KINDS = ("box_center", "centroid")
"""Kinds of distance that need no voxels."""

DISTANCE_KINDS = (*CENTER_KINDS, "surface")
"""All kinds of distance."""

UNVERIFIED, ORIENTATION_UNKNOWN = "unverified", "orientation_unknown"


def status_codes(table: StructureTable, grid: RasGrid, geometry: str) -> Any:
    """Status of every structure as bit codes of :class:`~monai_spatialqa.records.Status`, int64 (N,).

    Args:
        table: the figures.
        grid: the grid they were taken on.
        geometry: what is known of the header: verified, orientation_unknown or unverified.
    """
    whole_scan = Status.OK
    if grid.sheared:
        whole_scan |= Status.SHEARED
    if geometry == ORIENTATION_UNKNOWN:
        whole_scan |= Status.ORIENTATION_UNKNOWN
    if geometry == UNVERIFIED:
        whole_scan |= Status.UNVERIFIED
    flags = [
        (Status.ABSENT, table.segmented & ~table.present),
        (Status.NOT_SEGMENTED, ~table.segmented),
        (Status.TRUNCATED, table.truncated),
        (Status.SINGLE_SLICE, table.single_slice),
    ]
    if geometry != ORIENTATION_UNKNOWN:  # without left and right no name can be wrong
        flags.append((Status.NAME_CONFLICT, table.name_conflict))
    codes = table.voxel_count * 0 + int(whole_scan)
    for flag, holds in flags:
        codes = codes + holds * int(flag)
    return codes


def volume_fields(table: StructureTable, status: Any) -> dict[str, Any]:
    """``voxel_count`` (N,), ``volume_mm3`` (N,), ``volume_band_mm3`` (N, 2), ``volume_status`` (N,)."""
    assert table.band_low_mm3 is not None
    assert table.band_high_mm3 is not None
    return {
        "voxel_count": table.voxel_count,
        "volume_mm3": table.volume_mm3,
        "volume_band_mm3": stacked([table.band_low_mm3, table.band_high_mm3]),
        "volume_status": status,
    }


def box_fields(table: StructureTable, status: Any, *, orientation_known: bool, centroid_inside: Any) -> dict[str, Any]:
    """Boxes and centroids; world positions are NaN where the orientation is unknown.

    ``box_index`` (N, 2, 3): first index and one past the last, RAS grid. ``extent_mm``, ``center_ras_mm``,
    ``world_min_ras_mm``, ``world_max_ras_mm``, ``centroid_ras_mm`` (N, 3). ``centroid_inside`` int64 (N,): 1, 0, or -1
    where there is no centroid. ``box_status`` (N,).
    """
    positions = {
        "center_ras_mm": table.center_ras_mm,
        "world_min_ras_mm": table.world_min_ras_mm,
        "world_max_ras_mm": table.world_max_ras_mm,
        "centroid_ras_mm": table.centroid_ras_mm,
    }
    unknown = 0.0 if orientation_known else float("nan")
    return {
        "box_index": stacked([stacked(table.start), stacked(table.stop)], axis=1),
        "extent_mm": stacked(table.extent_mm),
        **{name: stacked(columns) + unknown for name, columns in positions.items()},
        "centroid_inside": centroid_inside,
        "box_status": status,
    }


def centers(table: StructureTable, kind: str) -> Columns:
    """The points a distance of this kind runs between."""
    return table.center_ras_mm if kind == "box_center" else table.centroid_ras_mm


def _ends(rows: Sequence[tuple[int, int]], like: Any) -> tuple[Any, Any]:
    """Row numbers of the first and of the second structure of each pair, int64 (P,), beside the column ``like``.

    Arrays, not lists: torch takes milliseconds to index with a list of thousands.
    """
    both = np.array(rows, dtype=np.int64).reshape(-1, 2)
    if hasattr(like, "astype"):
        return both[:, 0], both[:, 1]
    import torch

    moved = torch.from_numpy(both).to(like.device)
    return moved[:, 0], moved[:, 1]


def distance_fields(
    table: StructureTable,
    status: Any,
    rows: Sequence[tuple[int, int]],
    *,
    name: str,
    kind: str,
    orientation_known: bool,
) -> dict[str, Any]:
    """``{name}_mm`` (P,), ``{name}_points_ras_mm`` (P, 2, 3), ``{name}_rows`` int64 (P, 2), ``{name}_status`` (P,).

    A status is that of both structures together. A length needs no orientation; the end points do.
    """
    first, second = _ends(rows, status)
    points = centers(table, kind)
    ends = [stacked([column[index] for column in points]) for index in (first, second)]
    return {
        f"{name}_mm": lengths_mm(offsets_ras_mm(points, first, second)),
        f"{name}_points_ras_mm": stacked(ends, axis=1) + (0.0 if orientation_known else float("nan")),
        f"{name}_rows": stacked([first, second]),
        f"{name}_status": status[first] | status[second],
    }


def direction_fields(
    table: StructureTable,
    status: Any,
    rows: Sequence[tuple[int, int]],
    *,
    dead_zone_mm: float,
    orientation_known: bool,
) -> dict[str, Any]:
    """``direction_offset_ras_mm`` (P, 3), ``direction`` int64 (P, 3), ``direction_status`` (P,).

    The offset runs from the first structure's box centre to the second's; ``direction`` is its sign per world axis, 0
    within the dead zone. Both are empty of meaning (NaN, 0) where the orientation is unknown.
    """
    first, second = _ends(rows, status)
    unknown = 0.0 if orientation_known else float("nan")
    offsets: Columns = tuple(column + unknown for column in offsets_ras_mm(table.center_ras_mm, first, second))
    return {
        "direction_offset_ras_mm": stacked(offsets),
        "direction": stacked(direction_signs(offsets, dead_zone_mm)),
        "direction_status": status[first] | status[second],
    }


def side_fields(
    table: StructureTable, midline_rows: Sequence[int], *, dead_zone_mm: float, orientation_known: bool
) -> dict[str, Any]:
    """``side_offset_mm`` (N,) and ``side`` int64 (N,): where a box centre lies from the patient's midline.

    Positive is the patient's right, in mm; ``side`` is -1 left, 1 right, 0 within the dead zone or unknown. The midline
    is the mean R coordinate of the box centres of the midline structures that are present; with none of them there is
    no side.
    """
    x = table.center_ras_mm[0]
    present = [row for row in midline_rows if bool(table.present[row])]
    midline = sum((x[row] for row in present), start=0.0) / len(present) if present else float("nan")
    offset = x - midline + (0.0 if orientation_known else float("nan"))
    return {"side_offset_mm": offset, "side": direction_signs((offset, offset, offset), dead_zone_mm)[0]}
