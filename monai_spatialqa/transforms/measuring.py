"""The step all measuring transforms share: from a label tensor to the table of its declared structures."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from monai.transforms import Transform
from torch import Tensor

from monai_spatialqa.anatomy import LabelMap, load_label_map
from monai_spatialqa.anatomy.pairs import partner_rows
from monai_spatialqa.anatomy.presence import check_presence, shortened
from monai_spatialqa.errors import LabelValueError, SpatialQAError
from monai_spatialqa.geometry.affine import Projection
from monai_spatialqa.geometry.marginals import Marginals
from monai_spatialqa.geometry.table import LAYOUTS, StructureTable, build_table, channel_of_labels
from monai_spatialqa.geometry.tensors import marginals_of, whole_numbers
from monai_spatialqa.transforms.fields import status_codes
from monai_spatialqa.transforms.inputs import CheckedLabel, check_label, require_setting
from monai_spatialqa.transforms.voxels import signed_value, signed_view

StructuresSpec = str | Path | Mapping[int, str] | LabelMap


@dataclass(frozen=True)
class Measured:
    """A label tensor measured: its table, and where each structure's voxels are.

    Attributes:
        label: the checked input.
        voxels: whole-number labels (C, X, Y, Z); wide unsigned types seen as signed ones of the same bits.
        table: figures per declared structure; numpy columns for a label on the CPU, tensors on its device otherwise.
        status: bit codes per declared structure, int64 (N,), of the same kind.
        places: row -> (channel, value in ``voxels``) of the structures that are present.
        unknown: ids found that are not declared.
    """

    label: CheckedLabel
    voxels: Tensor
    table: StructureTable
    status: Any
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
        ignore: int | Iterable[int] = (),
        segmented: Iterable[str] | None = None,
        fov_margin_voxels: int = 0,
        strict: bool = False,
    ) -> None:
        require_setting(layout in LAYOUTS, "layout", layout, " or ".join(LAYOUTS))
        require_setting(fov_margin_voxels >= 0, "fov_margin_voxels", fov_margin_voxels, "0 or more voxels")
        self.label_map = load_label_map(structures)
        self.structures: tuple[str, ...] = self.label_map.names
        self.layout = layout
        self.ignore = tuple(int(value) for value in ([ignore] if isinstance(ignore, int) else ignore))
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
        voxels = whole_numbers(checked.voxels)
        channels = [
            numpy_on_cpu(marginals_of(channel, ignore=self.ignore, boundaries=boundaries, weights=weights)).reoriented(
                grid.source_axes, grid.flipped, None if projection is None else projection.weights
            )
            for channel in voxels
        ]
        rows, unknown = channel_of_labels([found.labels for found in channels], self.label_map.ids, self.layout)
        if len(voxels) > 1 and rows and (0, 1) not in rows and all(value == 1 for _, value in rows):
            require_background(voxels)
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
        check_presence(
            [name for row, name in enumerate(self.structures) if table.present[row]],
            unknown,
            label_map=self.label_map.name,
            segmented=self.segmented,
            strict=self.strict,
        )
        if unknown:
            self._warn_of_unknown(unknown, checked)
        places = {
            row: (channel, signed_value(value, voxels.dtype))
            for (channel, value), row in rows.items()
            if value in channels[channel].labels
        }
        status = status_codes(table, grid, checked.geometry)
        return Measured(checked, signed_view(voxels), table, status, places, unknown)

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

    return replace(
        found,
        count=numpy_of(found.count),
        index_sum=numpy_of(found.index_sum),
        start=numpy_of(found.start),
        stop=numpy_of(found.stop),
        interior=numpy_of(found.interior),
        dilated=numpy_of(found.dilated),
        low=numpy_of(found.low),
        high=numpy_of(found.high),
    )


def as_tensors(found: Mapping[str, Any]) -> dict[str, Tensor]:
    """Figures as tensors, whichever kind the columns of the table are."""
    return {name: torch.as_tensor(value) for name, value in found.items()}
