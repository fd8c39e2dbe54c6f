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
        voxels: whole-number labels (C, X, Y, Z).
        table: figures per declared structure.
        status: bit codes per declared structure, int64 (N,).
        places: row -> (channel, value) of the structures that are present.
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
        self.segmented = None if segmented is None else tuple(self.label_map.select(list(segmented)))
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
        voxels = whole_numbers(checked.voxels)
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
        places = {rows[place]: place for place in rows if place[1] in channels[place[0]].labels}
        return Measured(checked, voxels, table, status_codes(table, grid, checked.geometry), places, unknown)

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
        warnings.warn(
            f"ids outside {self.label_map.name} are not measured: {shown} (file: {checked.file})", stacklevel=4
        )


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
    channel = torch.tensor([measured.places[row][0] for row in rows], device=voxels.device)
    signed = torch.tensor([_as_int64(measured.places[row][1]) for row in rows], device=voxels.device)
    found = voxels[channel, stored[0], stored[1], stored[2]].to(torch.int64)
    inside[rows] = (found == signed).to(torch.int64)
    return inside


def overlap_voxels(measured: Measured, rows: Sequence[tuple[int, int]]) -> Tensor:
    """Voxels that belong to both structures of each pair, int64 (P,); -1 where one of them is not there."""
    counts = torch.full((len(rows),), -1, dtype=torch.int64, device=measured.voxels.device)
    for at, (first, second) in enumerate(rows):
        if first in measured.places and second in measured.places:
            (one, a), (other, b) = measured.places[first], measured.places[second]
            if one == other:
                counts[at] = 0
            else:
                both = (measured.voxels[one] == a) & (measured.voxels[other] == b)
                counts[at] = torch.count_nonzero(both)
    return counts


def _as_int64(value: int) -> int:
    """The int64 with the same bits as an unsigned 64-bit id."""
    return value - 2**64 if value >= 2**63 else value
