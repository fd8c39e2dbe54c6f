"""The step all measuring transforms share: from a label tensor to the table of its declared structures."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from monai.transforms import Transform
from torch import Tensor

from monai_spatialqa.anatomy import LabelMap, load_label_map
from monai_spatialqa.anatomy.pairs import partner_rows
from monai_spatialqa.anatomy.presence import check_presence, shortened
from monai_spatialqa.errors import LabelValueError, SpatialQAError
from monai_spatialqa.geometry.affine import Projection, RasGrid
from monai_spatialqa.geometry.marginals import Marginals
from monai_spatialqa.geometry.run_tensors import runs_of
from monai_spatialqa.geometry.runs import Runs, RunSet, merged_runs, run_marginals
from monai_spatialqa.geometry.table import LAYOUTS, StructureTable, build_table, channel_of_labels
from monai_spatialqa.geometry.tensors import marginals_of, whole_numbers
from monai_spatialqa.transforms.fields import status_codes
from monai_spatialqa.transforms.inputs import CheckedLabel, check_label, require_setting
from monai_spatialqa.transforms.run_fields import StructureRuns
from monai_spatialqa.transforms.voxels import signed_value, signed_view

_COLUMNS = ("count", "index_sum", "start", "stop", "interior", "dilated", "low", "high")

StructuresSpec = str | Path | Mapping[int, str] | LabelMap


class ChannelRuns:
    """The runs of a label tensor, found when they are asked for and once.

    Args:
        labels: whole-number labels (C, X, Y, Z).
        grid: their grid.
        ignore: values that are no structure besides 0.
    """

    def __init__(self, labels: Tensor, grid: RasGrid, ignore: tuple[int, ...]) -> None:
        self._labels, self._grid, self._ignore = labels, grid, ignore

    @cached_property
    def sets(self) -> list[RunSet]:
        """The runs of each channel; all channels lie in memory alike."""
        return [runs_of(channel, self._grid, ignore=self._ignore) for channel in self._labels]

    def of(self, channel: int, label: int) -> Runs:
        """The runs of one structure."""
        return self.sets[channel].of(label)


@dataclass(frozen=True)
class Measured:
    """A label tensor measured: its table, and where each structure's voxels are.

    Attributes:
        label: the checked input.
        labels: whole-number labels (C, X, Y, Z).
        table: figures per row; numpy columns for a label on the CPU, tensors on its device otherwise.
        status: bit codes per row, int64 (N,), of the same kind.
        ids: row -> (channel, id) of the declared structures that are present.
        unions: row -> runs, of the derived structures that are present.
        runs: the runs of the channels.
        unknown: ids found that are not declared.
    """

    label: CheckedLabel
    labels: Tensor
    table: StructureTable
    status: Any
    ids: dict[int, tuple[int, int]]
    unions: dict[int, Runs]
    runs: ChannelRuns
    unknown: list[int]

    @cached_property
    def voxels(self) -> Tensor:
        """The labels, wide unsigned types seen as signed ones of the same bits."""
        return signed_view(self.labels)

    @cached_property
    def places(self) -> dict[int, tuple[int, int]]:
        """Row -> (channel, value in :attr:`voxels`) of the declared structures that are present."""
        return {row: (channel, signed_value(label, self.labels.dtype)) for row, (channel, label) in self.ids.items()}

    @cached_property
    def structure_runs(self) -> StructureRuns:
        """Every row that is present as runs, on the CPU."""
        own = {row: self.runs.of(channel, label) for row, (channel, label) in self.ids.items()}
        return StructureRuns(
            grid=self.runs.sets[0].grid,
            of_row=own | self.unions,
            status=np.asarray(torch.as_tensor(self.status).cpu()),
            orientation_known=self.label.orientation_known,
        )


class StructureTransform(Transform):
    """Base of the measuring transforms: holds the declared structures and reads the label map once.

    The rows of the results are ``self.structures``: the structures of the label map, then those that it derives from
    them as unions (a whole tumour).

    Args:
        structures: name of a shipped label map, path of a user's YAML or JSON, mapping id -> name, or a
            :class:`~monai_spatialqa.anatomy.LabelMap`. Results are in its order.
        layout: what the channels mean: ``"auto"``, ``"labels"``, ``"one_hot"`` or ``"layers"``; see
            :func:`~monai_spatialqa.geometry.table.channel_of_labels`.
        ignore: values that are no structure besides 0, e.g. ``[-1]``.
        segmented: names that were looked for when the label map was made; the others are ``not_segmented`` instead of
            ``absent``. Default: what the file names, where it names its structures itself, and all otherwise.
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
        ignore: int | Iterable[int] = (),
        segmented: Iterable[str] | None = None,
        fov_margin_voxels: int = 0,
        strict: bool = False,
    ) -> None:
        require_setting(layout in LAYOUTS, "layout", layout, " or ".join(LAYOUTS))
        require_setting(fov_margin_voxels >= 0, "fov_margin_voxels", fov_margin_voxels, "0 or more voxels")
        self.label_map = load_label_map(structures)
        self.structures: tuple[str, ...] = self.label_map.row_names
        self.layout = layout
        self.ignore = tuple(int(value) for value in ([ignore] if isinstance(ignore, int) else ignore))
        ignored = sorted(set(self.ignore) & set(self.label_map.ids))
        require_setting(not ignored, "ignore", ignored, "ids that are not declared")
        self.segmented = None if segmented is None else tuple(self.label_map.select_own(segmented))
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
            numpy_on_cpu(marginals_of(channel, ignore=self.ignore, boundaries=boundaries, weights=weights)).reoriented(
                grid.source_axes, grid.flipped, None if projection is None else projection.weights
            )
            for channel in voxels
        ]
        # A file that names its structures says which ids it holds: its layers are never one-hot channels.
        layout = "layers" if self.layout == "auto" and len(voxels) > 1 and checked.segments is not None else self.layout
        rows, unknown = channel_of_labels([found.labels for found in channels], self.label_map.ids, layout)
        one_hot = layout != "layers" and len(voxels) > 1
        if one_hot and rows and (0, 1) not in rows and all(value == 1 for _, value in rows):
            require_background(voxels)
        ids = {row: (channel, label) for (channel, label), row in rows.items() if label in channels[channel].labels}
        segmented = self._segmented(checked)
        runs = ChannelRuns(voxels, grid, self.ignore)
        unions = self._unions(ids, segmented, runs)
        if unions:
            found = run_marginals(unions, runs.sets[0].grid, boundaries=boundaries, projection=projection)
            rows |= {(len(channels), row): row for row in unions}
            channels.append(on_device(found, voxels.device))
        table = build_table(
            channels,
            rows,
            len(self.structures),
            grid,
            projection=projection,
            segmented=segmented,
            partners=partner_rows(self.label_map),
            margin=self.fov_margin_voxels,
        )
        check_presence(
            [self.structures[row] for row in sorted(ids)],
            [(checked.segments or {}).get(label, label) for label in unknown],
            label_map=self.label_map.name,
            segmented=self.segmented,
            strict=self.strict,
        )
        if unknown:
            self._warn_of_unknown(unknown, checked)
        status = status_codes(table, grid, checked.geometry)
        return Measured(checked, voxels, table, status, ids, unions, runs, unknown)

    def _segmented(self, checked: CheckedLabel) -> list[bool] | None:
        """Per row, whether the structure was looked for; None where all were. Of a union, all of its structures."""
        if self.segmented is not None:
            own = [name in self.segmented for name in self.label_map.names]
        elif checked.segments is not None:
            own = [label in checked.segments for label in self.label_map.ids]
        else:
            return None
        return own + [all(own[member] for member in members) for members in self.label_map.union_rows.values()]

    def _unions(
        self, ids: Mapping[int, tuple[int, int]], segmented: Sequence[bool] | None, runs: ChannelRuns
    ) -> dict[int, Runs]:
        """Runs of the derived structures that are present. A part of a union that was not looked for is not it."""
        unions = {}
        for row, members in self.label_map.union_rows.items():
            there = [runs.of(*ids[member]) for member in members if member in ids]
            if there and (segmented is None or segmented[row]):
                unions[row] = merged_runs(there)
        return unions

    def _warn_of_unknown(self, unknown: Sequence[int], checked: CheckedLabel) -> None:
        where = f" (file: {checked.file})" if checked.file else ""
        warnings.warn(f"ids outside {self.label_map.name} are not measured: {shortened(unknown)}{where}", stacklevel=4)


def require_background(voxels: Tensor) -> None:
    """Refuse a first one-hot channel that is not the background but one more structure.

    Raises:
        LabelValueError: channel 0 is not exactly what the other channels leave over.
    """
    marked = signed_view(voxels) != 0
    if torch.equal(marked[0], ~marked[1:].any(dim=0)):
        return
    raise LabelValueError(
        "the first one-hot channel is not the background",
        code="unclear_channels",
        found=f"{len(voxels)} channels, the first of which is not what the others leave over",
        expected=f"{len(voxels) - 1} structures behind a background channel, or one structure a channel",
        next_step="declare one structure a channel, in the order of the channels",
    )


def on_device(found: Marginals, device: torch.device) -> Marginals:
    """Marginals with numpy columns as :func:`numpy_on_cpu` leaves them: numpy for the CPU, tensors elsewhere."""
    if device.type == "cpu":
        return found

    def moved(column: Any) -> Any:
        if isinstance(column, tuple):
            return tuple(map(moved, column))
        return None if column is None else torch.from_numpy(column).to(device)

    return replace(found, **{name: moved(getattr(found, name)) for name in _COLUMNS})


def numpy_on_cpu(found: Marginals) -> Marginals:
    """Marginals with numpy columns where they lie on the CPU, as they are elsewhere.

    Figures then come from the same library as the streamed path's, and agree to the last bit; torch's square root on
    the CPU is rounded the other way once in a hundred. Nothing is copied.
    """
    if found.count.device.type != "cpu":
        return found

    def numpy_of(column: Any) -> Any:
        if isinstance(column, tuple):
            return tuple(map(numpy_of, column))
        return None if column is None else column.numpy()

    return replace(found, **{name: numpy_of(getattr(found, name)) for name in _COLUMNS})


def as_tensors(found: Mapping[str, Any], device: torch.device | None = None) -> dict[str, Tensor]:
    """Figures as tensors, whichever kind the columns of the table are; on another device if one is named."""
    return {name: torch.as_tensor(value, device=device) for name, value in found.items()}
