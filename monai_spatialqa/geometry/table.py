"""One row per declared structure: the figures of :mod:`.figures`, spread over a fixed list, gaps said in so many words.

Works on numpy columns and on tensors of any device alike. Absent structures (looked for, none found) have count and
volume 0 and NaN geometry; structures never looked for have count -1 and NaN everywhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from monai_spatialqa.errors import LabelValueError
from monai_spatialqa.geometry import figures
from monai_spatialqa.geometry.affine import Projection, RasGrid
from monai_spatialqa.geometry.marginals import Columns, Marginals, real

LAYOUTS = ("auto", "labels", "one_hot", "layers")
"""What the channels of a label array may mean; see :func:`channel_of_labels`."""


@dataclass(frozen=True)
class StructureTable:
    """Figures of N declared structures. Columns have shape (N,); coordinates are three columns.

    Attributes:
        voxel_count: int64; 0 absent, -1 not segmented.
        volume_mm3: float64; 0 absent, NaN not segmented.
        band_low_mm3, band_high_mm3: volume when every boundary voxel counts half; None when not asked.
        start, stop: half-open index box in the RAS grid, float64, NaN where there is none.
        extent_mm: edge lengths of the box.
        center_ras_mm, world_min_ras_mm, world_max_ras_mm, centroid_ras_mm: positions.
        centroid_voxel: RAS-grid index of the voxel that holds the centroid, int64, -1 where there is none.
        faces: per axis, bool columns (low, high): reaches that face of the field of view.
        present, segmented, single_slice, name_conflict: bool.
    """

    voxel_count: Any
    volume_mm3: Any
    band_low_mm3: Any | None
    band_high_mm3: Any | None
    start: Columns
    stop: Columns
    extent_mm: Columns
    center_ras_mm: Columns
    world_min_ras_mm: Columns
    world_max_ras_mm: Columns
    centroid_ras_mm: Columns
    centroid_voxel: Columns
    faces: tuple[tuple[Any, Any], ...]
    present: Any
    segmented: Any
    single_slice: Any
    name_conflict: Any

    @property
    def truncated(self) -> Any:
        """Whether any face of the field of view is reached, bool (N,)."""
        reached = self.present & ~self.present
        for low, high in self.faces:
            reached = reached | low | high
        return reached


def _filled(like: Any, size: int, value: float, kind: str) -> Any:
    """A new column of ``size`` on the device of ``like``."""
    if isinstance(like, np.ndarray):
        return np.full(size, value, dtype=kind)
    import torch

    return torch.full((size,), value, dtype=getattr(torch, kind), device=like.device)


def build_table(
    channels: Sequence[Marginals],
    rows: Mapping[tuple[int, int], int],
    size: int,
    grid: RasGrid,
    *,
    projection: Projection | None,
    segmented: Sequence[bool] | None = None,
    partners: Sequence[tuple[int, int]] = (),
    margin: int = 0,
) -> StructureTable:
    """Spread the marginals of one or more channels over the declared structures.

    Args:
        channels: marginals of each channel, on the RAS grid.
        rows: ``(channel, label) -> row``; labels without a row are left out.
        size: number of declared structures N.
        grid: the RAS grid.
        projection: the projection whose extremes the marginals hold, None for a grid along the world's axes.
        segmented: per row, whether the structure was looked for at all; default: all were.
        partners: rows (left, right) of structures that exist on both sides.
        margin: voxels added to the outermost layer of the field of view when looking for truncation.
    """
    like = channels[0].count
    columns: dict[str, Any] = {}

    def spread(name: str, found: Any, to: Any, fill: float, kind: str) -> None:
        if name not in columns:
            columns[name] = _filled(like, size, fill, kind)
        columns[name][to] = found

    bands = all(marginals.interior is not None for marginals in channels)
    for channel, marginals in enumerate(channels):
        at = [n for n, label in enumerate(marginals.labels) if (channel, label) in rows]
        to = [rows[channel, marginals.labels[n]] for n in at]
        world = figures.world_box(marginals, grid, projection)
        spread("present", True, to, False, "bool")
        spread("voxel_count", marginals.count[at], to, 0, "int64")
        spread("volume_mm3", figures.volume_mm3(marginals, grid)[at], to, 0.0, "float64")
        if bands:
            low, high = figures.volume_band_mm3(marginals, grid)
            spread("band_low_mm3", low[at], to, 0.0, "float64")
            spread("band_high_mm3", high[at], to, 0.0, "float64")
        spread("single_slice", figures.single_slice(marginals)[at], to, False, "bool")
        faces = figures.reached_faces(marginals, margin)
        vectors = {
            "start": tuple(map(real, marginals.start)),
            "stop": tuple(map(real, marginals.stop)),
            "extent_mm": figures.extent_mm(marginals, grid, world),
            "center_ras_mm": figures.box_center_ras_mm(marginals, grid, world),
            "world_min_ras_mm": world.low,
            "world_max_ras_mm": world.high,
            "centroid_ras_mm": figures.centroid_ras_mm(marginals, grid),
        }
        voxel = figures.centroid_voxel(marginals)
        for axis in range(3):
            for name, vector in vectors.items():
                spread(f"{name}{axis}", vector[axis][at], to, float("nan"), "float64")
            spread(f"centroid_voxel{axis}", voxel[axis][at], to, -1, "int64")
            for end, face in enumerate(faces[axis]):
                spread(f"face{axis}{end}", face[at], to, False, "bool")

    looked_for = _filled(like, size, True, "bool")
    if segmented is not None and not all(segmented):
        never = [row for row, was in enumerate(segmented) if not was]
        looked_for[never] = False
        columns["voxel_count"][never] = -1
        for name in ("volume_mm3", *(("band_low_mm3", "band_high_mm3") if bands else ())):
            columns[name][never] = float("nan")
    conflict = _filled(like, size, False, "bool")
    x = columns["centroid_ras_mm0"]
    for left, right in partners:
        # NaN compares false: no conflict without both positions.
        wrong = x[left] > x[right]
        conflict[left] |= wrong
        conflict[right] |= wrong

    def triple(name: str) -> Columns:
        return columns[f"{name}0"], columns[f"{name}1"], columns[f"{name}2"]

    return StructureTable(
        voxel_count=columns["voxel_count"],
        volume_mm3=columns["volume_mm3"],
        band_low_mm3=columns.get("band_low_mm3"),
        band_high_mm3=columns.get("band_high_mm3"),
        start=triple("start"),
        stop=triple("stop"),
        extent_mm=triple("extent_mm"),
        center_ras_mm=triple("center_ras_mm"),
        world_min_ras_mm=triple("world_min_ras_mm"),
        world_max_ras_mm=triple("world_max_ras_mm"),
        centroid_ras_mm=triple("centroid_ras_mm"),
        centroid_voxel=triple("centroid_voxel"),
        faces=tuple((columns[f"face{axis}0"], columns[f"face{axis}1"]) for axis in range(3)),
        present=columns["present"],
        segmented=looked_for,
        single_slice=columns["single_slice"],
        name_conflict=conflict,
    )


def channel_of_labels(
    found: Sequence[Sequence[int]], declared: Sequence[int], layout: str = "auto"
) -> tuple[dict[tuple[int, int], int], list[int]]:
    """Which channel and value stand for which declared structure.

    Args:
        found: the values present in each channel.
        declared: ids of the declared structures, in order.
        layout: ``"labels"``: one channel of ids. ``"one_hot"``: one channel a structure, values 0 and 1; channel c is
            the c-th declared structure, or, with one channel more than structures, channel 0 is the background.
            ``"layers"``: several channels of ids, every id in one channel only. ``"auto"``: labels for one channel,
            one_hot when no value exceeds 1, layers otherwise.

    Returns:
        ``(channel, value) -> row in declared``, and the ids found that are not declared, ascending.

    Raises:
        LabelValueError: when the channels cannot be told apart without guessing.
    """
    if layout not in LAYOUTS:
        raise LabelValueError("unknown layout", key="layout", found=layout, expected=", ".join(LAYOUTS))
    binary = all(set(values) <= {1} for values in found)
    if layout == "auto":
        layout = "labels" if len(found) == 1 else "one_hot" if binary else "layers"
    if layout == "labels" and len(found) != 1:
        raise LabelValueError(
            "an integer label map has one channel", key="layout", found=f"{len(found)} channels", expected="1"
        )
    if layout == "one_hot":
        return _one_hot_rows(found, declared, binary)
    row_of = {label: row for row, label in enumerate(declared)}
    rows: dict[tuple[int, int], int] = {}
    unknown: list[int] = []
    channel_of: dict[int, int] = {}
    for channel, values in enumerate(found):
        for value in values:
            if value in channel_of:
                raise LabelValueError(
                    "the meaning of the channel axis is unclear: the same id occurs in several channels",
                    code="unclear_channels",
                    found=f"id {value} in channels {channel_of[value]} and {channel}",
                    expected="one channel of ids, one binary channel a structure, or layers that share no id",
                    next_step="split a time series into one file a time point; or name the layout",
                )
            channel_of[value] = channel
            if value in row_of:
                rows[channel, value] = row_of[value]
            else:
                unknown.append(value)
    return rows, sorted(unknown)


def _one_hot_rows(
    found: Sequence[Sequence[int]], declared: Sequence[int], binary: bool
) -> tuple[dict[tuple[int, int], int], list[int]]:
    first = len(found) - len(declared)
    if not binary:
        values = sorted({value for channel in found for value in channel} - {1})
        raise LabelValueError(
            "one-hot channels hold 0 and 1 only", found=", ".join(map(str, values[:5])), expected="0 and 1"
        )
    if first not in (0, 1):
        raise LabelValueError(
            "the number of one-hot channels does not fit the declared structures",
            code="unclear_channels",
            found=f"{len(found)} channels",
            expected=f"{len(declared)}, or {len(declared) + 1} with the background first",
            next_step="declare one structure a channel, in the order of the channels",
        )
    return {(channel, 1): channel - first for channel in range(first, len(found))}, []
