"""Structures as runs: what of a label map goes back to the voxels, without the voxels.

A *run* is a maximal stretch of one structure along the contiguous axis of one row. A label map of 10^8 voxels has 10^5
to 10^6 of them; surfaces, components, contacts and diameters follow from the runs exactly, and neither the volume nor
its file is needed again.

Index spaces: *run axes* are the axes in memory order, the contiguous one first; ``row = j + n1 * k`` numbers the rows.
:class:`RunGrid` leads from there to the RAS grid and to RAS mm.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monai_spatialqa.geometry.affine import Projection, RasGrid
from monai_spatialqa.geometry.boundaries import SPAN_COLUMNS, count_boundaries, first_runs
from monai_spatialqa.geometry.compiled import compiled
from monai_spatialqa.geometry.marginals import Marginals

Runs = NDArray[Any]
"""Runs of one structure: integers (R, 3), row, start and stop (half-open), ascending; they do not touch or overlap."""


@dataclass(frozen=True)
class RunGrid:
    """The grid that runs lie on.

    Attributes:
        shape: voxels along the run axes, the contiguous one first.
        stored_axes: for each run axis, the axis of the stored array it is.
        ras: the stored grid and the RAS grid it becomes.
    """

    shape: tuple[int, int, int]
    stored_axes: tuple[int, int, int]
    ras: RasGrid

    def ras_index(self, index: NDArray[Any]) -> NDArray[np.int64]:
        """RAS-grid indices (..., 3) of indices (..., 3) along the run axes."""
        result = np.empty(index.shape, np.int64)
        for axis in range(3):
            stored = self.ras.source_axes[axis]
            column = index[..., self.stored_axes.index(stored)]
            result[..., axis] = self.ras.stored_shape[stored] - 1 - column if self.ras.flipped[axis] else column
        return result

    def run_index(self, index: NDArray[Any]) -> NDArray[np.int64]:
        """Indices (..., 3) along the run axes of RAS-grid indices (..., 3): the inverse of :meth:`ras_index`."""
        result = np.empty(index.shape, np.int64)
        for axis in range(3):
            stored = self.ras.source_axes[axis]
            column = index[..., axis]
            at = self.stored_axes.index(stored)
            result[..., at] = self.ras.stored_shape[stored] - 1 - column if self.ras.flipped[axis] else column
        return result

    def run_axis(self, ras_axis: int) -> int:
        """The run axis that a RAS axis is."""
        return self.stored_axes.index(self.ras.source_axes[ras_axis])


@dataclass(frozen=True)
class RunSet:
    """All runs of one label map (one channel).

    Attributes:
        grid: where they lie.
        runs: integers (R, 4): row, start, stop (half-open), slot; ascending by row, then start.
        labels: id of each slot.
    """

    grid: RunGrid
    runs: NDArray[Any]
    labels: tuple[int, ...]

    def of(self, label: int) -> Runs:
        """Runs of one structure, (R, 3); none for an id that is not there."""
        if label not in self.labels:
            return self.runs[:0, :3]
        order, ends = self._by_slot
        slot = self.labels.index(label)
        return np.ascontiguousarray(self.runs[order[ends[slot] : ends[slot + 1]], :3])

    @property
    def _by_slot(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Order that sorts the runs by slot, and where each slot begins in it; worked out once."""
        known = self.__dict__.get("_sorted")
        if known is None:
            slots = self.runs[:, 3]
            order = np.argsort(slots, kind="stable")
            known = order, np.searchsorted(slots[order], np.arange(len(self.labels) + 1))
            object.__setattr__(self, "_sorted", known)
        return known


def run_marginals(
    structures: Mapping[int, Runs],
    grid: RunGrid,
    *,
    boundaries: bool = True,
    projection: Projection | None = None,
) -> Marginals:
    """Marginals, on the RAS grid, of structures given by their runs; they may overlap.

    Args:
        structures: id -> runs, at least one each.
        grid: where the runs lie.
        boundaries: also count interior and dilated voxels.
        projection: the projection whose extremes are wanted.
    """
    labels = sorted(structures)
    weights = None
    if projection is not None:
        stored = np.array(projection.stored_weights(grid.ras), np.int64)
        weights = stored[:, list(grid.stored_axes)]
    facts = [_facts(structures[label], grid, boundaries, weights) for label in labels]

    def column(name: str) -> NDArray[np.int64]:
        return np.array([fact[name] for fact in facts], np.int64)

    def triple(name: str) -> tuple[Any, Any, Any]:
        rows = column(name).reshape(-1, 3)
        return rows[:, 0], rows[:, 1], rows[:, 2]

    found = Marginals(
        shape=grid.shape,
        labels=tuple(labels),
        count=column("count"),
        index_sum=triple("index_sum"),
        start=triple("start"),
        stop=triple("stop"),
        interior=column("interior") if boundaries else None,
        dilated=column("dilated") if boundaries else None,
        low=None if weights is None else triple("low"),
        high=None if weights is None else triple("high"),
    )
    source = [grid.run_axis(axis) for axis in range(3)]
    return found.reoriented(source, grid.ras.flipped, None if projection is None else projection.weights)


def _facts(runs: Runs, grid: RunGrid, boundaries: bool, weights: NDArray[np.int64] | None) -> dict[str, Any]:
    row, start, stop = (runs[:, at].astype(np.int64) for at in range(3))
    k, j = np.divmod(row, grid.shape[1])
    length = stop - start
    fact: dict[str, Any] = {
        "count": length.sum(),
        "index_sum": [(length * (start + stop - 1)).sum() // 2, (length * j).sum(), (length * k).sum()],
        "start": [start.min(), j.min(), k.min()],
        "stop": [stop.max(), j.max() + 1, k.max() + 1],
    }
    if weights is not None:
        ends = [weights[:, :1] * end + weights[:, 1:2] * j + weights[:, 2:] * k for end in (start, stop - 1)]
        fact["low"] = np.minimum(*ends).min(axis=1)
        fact["high"] = np.maximum(*ends).max(axis=1)
    if boundaries:
        fact["interior"], fact["dilated"] = _boundary_counts(runs, grid)
    return fact


def _boundary_counts(runs: Runs, grid: RunGrid) -> tuple[int, int]:
    """Interior and dilated voxels of one structure."""
    table = np.zeros((len(runs), 4), np.int64)
    table[:, :3] = runs
    rows, planes = grid.shape[1], grid.shape[2]
    pointer = np.empty(rows * planes + 1, np.int64)
    first_runs(table, 0, pointer)
    interior, dilated = np.zeros(1, np.int64), np.zeros(1, np.int64)
    spans = np.full((1, SPAN_COLUMNS), -1, np.int64)
    count_boundaries(table, pointer, 0, grid.shape[0], rows, planes, 0, planes, interior, dilated, spans)
    return int(interior[0]), int(dilated[0])


def merged_runs(structures: Sequence[Runs]) -> Runs:
    """Runs of the union of several structures, which may touch or overlap."""
    runs = np.concatenate([np.asarray(one)[:, :3] for one in structures]) if structures else np.empty((0, 3), np.int64)
    runs = runs[np.lexsort((runs[:, 1], runs[:, 0]))]
    return runs[: _merge(runs)]


@compiled
def _merge(runs: Any) -> int:  # pragma: no cover - compiled
    """Unite runs that touch or overlap, in place; returns how many are left."""
    count = 0
    for at in range(runs.shape[0]):
        if count and runs[count - 1, 0] == runs[at, 0] and runs[at, 1] <= runs[count - 1, 2]:
            runs[count - 1, 2] = max(runs[count - 1, 2], runs[at, 2])
        else:
            runs[count] = runs[at]
            count += 1
    return count


def contains(runs: Runs, grid: RunGrid, ras_index: Sequence[int]) -> bool:
    """Whether a voxel of the RAS grid belongs to the structure."""
    i, j, k = grid.run_index(np.asarray(ras_index)).tolist()
    row = j + grid.shape[1] * k
    first, last = np.searchsorted(runs[:, 0], [row, row + 1])
    at = first + np.searchsorted(runs[first:last, 1], i, side="right") - 1
    return bool(at >= first and i < runs[at, 2])


def common_voxels(first: Runs, second: Runs, grid: RunGrid) -> tuple[int, tuple[int, int, int] | None]:
    """Voxels that belong to both structures, and the run-axes index of the first of them, None without one."""
    count, row, position = _common(np.ascontiguousarray(first), np.ascontiguousarray(second))
    k, j = divmod(int(row), grid.shape[1])
    return int(count), (int(position), j, k) if count else None


@compiled
def _common(first: Any, second: Any) -> Any:  # pragma: no cover - compiled
    count = np.int64(0)
    row = position = np.int64(-1)
    at = 0
    for n in range(first.shape[0]):
        while at < second.shape[0] and (
            second[at, 0] < first[n, 0] or (second[at, 0] == first[n, 0] and second[at, 2] <= first[n, 1])
        ):
            at += 1
        other = at
        while other < second.shape[0] and second[other, 0] == first[n, 0] and second[other, 1] < first[n, 2]:
            low = max(first[n, 1], second[other, 1])
            high = min(first[n, 2], second[other, 2])
            if count == 0:
                row, position = np.int64(first[n, 0]), np.int64(low)
            count += high - low
            other += 1
    return count, row, position
