"""The step all measuring transforms share: from a label tensor to the table of its declared structures."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from monai.transforms import Transform
from torch import Tensor

from monai_spatialqa.anatomy import LabelMap, load_label_map
from monai_spatialqa.anatomy.pairs import partner_rows
from monai_spatialqa.errors import LabelValueError, SpatialQAError
from monai_spatialqa.geometry.affine import Projection
from monai_spatialqa.geometry.table import LAYOUTS, StructureTable, build_table, channel_of_labels
from monai_spatialqa.geometry.tensors import marginals_of, whole_numbers
from monai_spatialqa.transforms.fields import status_codes
from monai_spatialqa.transforms.inputs import CheckedLabel, check_label, require_setting

StructuresSpec = str | Path | Mapping[int, str] | LabelMap


@dataclass(frozen=True)
class Measured:
    """A label tensor measured: its table, and where each structure's voxels are.

    Attributes:
        label: the checked input.
        voxels: whole-number labels (C, X, Y, Z); wide unsigned types seen as signed ones of the same bits.
        table: figures per declared structure.
        status: bit codes per declared structure, int64 (N,).
        places: row -> (channel, value in ``voxels``) of the structures that are present.
        unknown: ids found that are not declared.
    """

    label: CheckedLabel
    voxels: Tensor
    table: StructureTable
    status: Tensor
    places: dict[int, tuple[int, int]]
    unknown: list[int]


class StructureTransform(Transform):
    """Base of the measuring transforms: holds the declared structures and reads the label map once.

    Args:
        structures: name of a shipped label map, path of a user's YAML or JSON, mapping id -> name, or a
            :class:`~monai_spatialqa.anatomy.LabelMap`. Results are in its order.
        layout: what the channels mean: ``"auto"``, ``"labels"``, ``"one_hot"`` or ``"layers"``; see
            :func:`~monai_spatialqa.geometry.table.channel_of_labels`.
        ignore: values that are no structure besides 0, e.g. ``[-1]``.
        segmented: names that were looked for when the label map was made; the others are ``not_segmented`` instead of
            ``absent``. Default: all were looked for.
        fov_margin_voxels: a structure this close to the border of the volume counts as truncated; 0 means in the
            outermost layer.
        strict: refuse ids that are not declared instead of warning.

    Raises:
        LabelMapError: at construction, when the structures are unusable.
        SettingsError: at construction, when another argument is.
    """

    def __init__(
        self,
        structures: StructuresSpec,
        *,
        layout: str = "auto",
        ignore: Iterable[int] = (),
        segmented: Iterable[str] | None = None,
        fov_margin_voxels: int = 0,
        strict: bool = False,
    ) -> None:
        require_setting(layout in LAYOUTS, "layout", layout, " or ".join(LAYOUTS))
        require_setting(fov_margin_voxels >= 0, "fov_margin_voxels", fov_margin_voxels, "0 or more voxels")
        self.label_map = load_label_map(structures)
        self.structures: tuple[str, ...] = self.label_map.names
        self.layout = layout
        self.ignore = tuple(int(value) for value in ignore)
        ignored = sorted(set(self.ignore) & set(self.label_map.ids))
        require_setting(not ignored, "ignore", ignored, "ids that are not declared")
        self.segmented = None if segmented is None else tuple(self.label_map.select(segmented))
        self.fov_margin_voxels = fov_margin_voxels
        self.strict = strict

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._shown()})"

    def _shown(self) -> str:
        shown = [f"structures=<{len(self.structures)} of {self.label_map.name}>"]
        defaults = {"layout": "auto", "ignore": (), "segmented": None, "fov_margin_voxels": 0, "strict": False}
        shown += [f"{name}={getattr(self, name)!r}" for name, usual in defaults.items() if getattr(self, name) != usual]
        return ", ".join(shown)

    def measure(self, label: Any, *, boundaries: bool) -> Measured:
        """Check the label map and read it once.

        Args:
            label: channel-first MetaTensor.
            boundaries: also count boundary voxels, for the volume band.

        Raises:
            SpatialQAError: the input cannot be measured without guessing.
        """
        checked = check_label(label)
        try:
            return self._measure(checked, boundaries)
        except SpatialQAError as error:
            raise error.with_context(file=checked.file) from None

    def _measure(self, checked: CheckedLabel, boundaries: bool) -> Measured:
        grid = checked.grid
        projection = None if grid.diagonal else Projection.of(grid)
        weights = None if projection is None else projection.stored_weights(grid)
        voxels = _exact_ids(checked.voxels)
        channels = [
            marginals_of(channel, ignore=self.ignore, boundaries=boundaries, weights=weights).reoriented(
                grid.source_axes, grid.flipped, None if projection is None else projection.weights
            )
            for channel in voxels
        ]
        rows, unknown = channel_of_labels([found.labels for found in channels], self.label_map.ids, self.layout)
        if unknown:
            self._tell_unknown(unknown, checked)
        table = build_table(
            channels,
            rows,
            len(self.structures),
            grid,
            projection=projection,
            segmented=None if self.segmented is None else [name in self.segmented for name in self.structures],
            partners=partner_rows(self.label_map),
            margin=self.fov_margin_voxels,
        )
        never = [name for row, name in enumerate(self.structures) if not table.segmented[row] and table.present[row]]
        if never:
            raise LabelValueError(
                "structures that were not segmented are in the label map",
                key="segmented",
                found=", ".join(never[:5]),
                expected="only structures named by segmented",
            )
        places = {
            row: (channel, _signed_value(value, voxels.dtype))
            for (channel, value), row in rows.items()
            if value in channels[channel].labels
        }
        status = status_codes(table, grid, checked.geometry)
        return Measured(checked, _signed(voxels), table, status, places, unknown)

    def _tell_unknown(self, unknown: Sequence[int], checked: CheckedLabel) -> None:
        shown = ", ".join(map(str, unknown[:5])) + (" ..." if len(unknown) > 5 else "")
        if self.strict:
            raise LabelValueError(
                "the label map holds ids that are not declared",
                code="unknown_labels",
                found=shown,
                expected=f"ids of {self.label_map.name}",
                next_step="declare them, or pass strict=False to measure the declared ones only",
            )
        where = f" (file: {checked.file})" if checked.file else ""
        warnings.warn(f"ids outside {self.label_map.name} are not measured: {shown}{where}", stacklevel=4)


_SIGNED = {torch.uint16: torch.int16, torch.uint32: torch.int32, torch.uint64: torch.int64}
"""CUDA neither indexes nor compares the wide unsigned types; their bits as signed ones it does."""


def _signed(voxels: Tensor) -> Tensor:
    """A view of wide unsigned voxels as signed ones; other types as they are."""
    return voxels.view(_SIGNED[voxels.dtype]) if voxels.dtype in _SIGNED else voxels


def _signed_value(value: int, dtype: torch.dtype) -> int:
    """What a label of that type reads in the view of :func:`_signed`."""
    bits = torch.iinfo(dtype).bits if dtype in _SIGNED else 64
    return value - 2**bits if dtype in _SIGNED and value >= 2 ** (bits - 1) else value


def _exact_ids(voxels: Tensor) -> Tensor:
    """Labels as whole numbers; float types must hold every id exactly.

    Raises:
        LabelValueError: see :func:`~monai_spatialqa.geometry.tensors.whole_numbers`; or ids at which neighbours merge.
    """
    ids = whole_numbers(voxels)
    if voxels.is_floating_point():
        limit, largest = int(2 / torch.finfo(voxels.dtype).eps), max(int(ids.max()), -int(ids.min()))
        if largest >= limit:
            raise LabelValueError(
                "ids this large are not exact in floats: neighbours have merged",
                code="inexact_labels",
                found=f"{largest} in {voxels.dtype}",
                expected=f"ids below {limit}, or an integer type",
                next_step="load label maps with LoadImaged(dtype=None), and measure before resampling",
            )
    return ids


def centroid_inside(measured: Measured) -> Tensor:
    """Whether the voxel that holds the centroid is of the structure: int64 (N,), -1 where there is no centroid."""
    table, voxels = measured.table, measured.voxels
    inside = torch.full_like(table.voxel_count, -1)
    if not measured.places:
        return inside
    rows = sorted(measured.places)
    grid = measured.label.grid
    stored = [torch.zeros_like(inside[rows])] * 3
    for axis, source in enumerate(grid.source_axes):
        index = table.centroid_voxel[axis][rows]
        stored[source] = grid.stored_shape[source] - 1 - index if grid.flipped[axis] else index
    channel, value = torch.tensor([measured.places[row] for row in rows], device=voxels.device).unbind(1)
    found = voxels[channel, stored[0], stored[1], stored[2]].to(torch.int64)
    inside[rows] = (found == value).to(torch.int64)
    return inside


def overlap_voxels(measured: Measured, rows: Sequence[tuple[int, int]]) -> Tensor:
    """Voxels that belong to both structures of each pair, int64 (P,); -1 where one of them is not there."""
    voxels, places = measured.voxels, measured.places
    both_there = [first in places and second in places for first, second in rows]
    counts = torch.tensor([0 if there else -1 for there in both_there], dtype=torch.int64, device=voxels.device)
    if len(voxels) == 1:
        return counts
    boxes = _stored_boxes(measured)
    for at, (first, second) in enumerate(rows):
        if not both_there[at] or places[first][0] == places[second][0]:
            continue
        common = [slice(max(a, c), min(b, d)) for (a, b), (c, d) in zip(boxes[first], boxes[second], strict=True)]
        if all(span.start < span.stop for span in common):
            one, other = (voxels[places[row][0]][tuple(common)] == places[row][1] for row in (first, second))
            counts[at] = torch.count_nonzero(one & other)
    return counts


def _stored_boxes(measured: Measured) -> dict[int, list[tuple[int, int]]]:
    """Half-open index box of each structure that is there, along the axes of the voxels as stored."""
    grid, table = measured.label.grid, measured.table
    ends = torch.stack([*table.start, *table.stop]).tolist()
    boxes: dict[int, list[tuple[int, int]]] = {}
    for row in measured.places:
        boxes[row] = [(0, 0)] * 3
        for axis, source in enumerate(grid.source_axes):
            start, stop = int(ends[axis][row]), int(ends[3 + axis][row])
            length = grid.stored_shape[source]
            boxes[row][source] = (length - stop, length - start) if grid.flipped[axis] else (start, stop)
    return boxes
