"""The voxels of a structure that can be nearest to another one, from its runs.

On perpendicular axes these are the voxels with a face neighbour that is not of the structure. A face of the volume does
not make a voxel one of them: nothing nearer to another structure could lie outside. On sheared axes up to 14 neighbours
count, and so do the volume's faces (:class:`~monai_spatialqa.geometry.metric.GridMetric` tells why).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from monai_spatialqa.geometry.compiled import compiled
from monai_spatialqa.geometry.metric import GridMetric
from monai_spatialqa.geometry.runs import RunGrid, Runs

_ONE_CELL = 62
"""As many bits that the whole volume is one cell."""

NO_VOXELS = np.empty((0, 3), np.int32)


class SurfaceScan:
    """The loop over a structure's runs that finds its surface, with what it needs to know of the grid.

    Args:
        grid: where the runs lie.
        metric: of ``grid.ras``.
    """

    def __init__(self, grid: RunGrid, metric: GridMetric) -> None:
        self.grid = grid
        self.axes, self.offset, self.sign = ras_directions(grid)
        self.neighbours = np.empty_like(metric.neighbours)
        self.neighbours[:, self.axes] = metric.neighbours * self.sign
        self.outside_counts = metric.sheared

    def __call__(self, runs: Runs, low: Any, shape: Any, bits: int, following: Any, voxels: Any) -> None:
        """Count or write: see :func:`scan_surface`."""
        scan_surface(
            np.ascontiguousarray(runs, np.int64),
            np.array(self.grid.shape, np.int64),
            self.neighbours,
            self.outside_counts,
            self.axes,
            self.offset,
            self.sign,
            low,
            shape,
            bits,
            following,
            voxels,
        )


def surface_voxels(runs: Runs, grid: RunGrid, *, metric: GridMetric | None = None) -> NDArray[np.int32]:
    """The voxels of a structure that can be nearest to another one.

    Args:
        runs: the structure.
        grid: where it lies.
        metric: of ``grid.ras``, where it is at hand.

    Returns:
        RAS-grid indices, int32 (V, 3), ascending by the first, then the second, then the third; none for an empty
        structure, nor for one that fills a volume with perpendicular axes.
    """
    scan = SurfaceScan(grid, GridMetric.of(grid.ras) if metric is None else metric)
    low, shape = np.zeros(3, np.int64), np.ones(3, np.int64)
    count = np.zeros(1, np.int64)
    scan(runs, low, shape, _ONE_CELL, count, NO_VOXELS)
    voxels = np.empty((int(count[0]), 3), np.int32)
    if len(voxels):
        scan(runs, low, shape, _ONE_CELL, np.zeros(1, np.int64), voxels)
    return voxels[np.lexsort(voxels.T[::-1])]


def ras_box(runs: Runs, grid: RunGrid) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Lowest and highest RAS-grid index (3,) of a structure that is not empty."""
    ends = grid.ras_index(_box(np.ascontiguousarray(runs, np.int64), grid.shape[1]))
    return ends.min(axis=0), ends.max(axis=0)


def ras_directions(grid: RunGrid) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """How RAS-grid indices follow from those along the run axes: ``offset + sign * index[axes]``."""
    axes = np.array([grid.run_axis(axis) for axis in range(3)], np.int64)
    offset = grid.ras_index(np.zeros(3, np.int64))
    return axes, offset, np.where(grid.ras.flipped, np.int64(-1), np.int64(1))


@compiled
def _box(runs: Any, rows_per_plane: int) -> Any:  # pragma: no cover - compiled
    """Lowest and highest index (2, 3) along the run axes."""
    box = np.empty((2, 3), np.int64)
    for axis in range(3):
        box[0, axis], box[1, axis] = np.iinfo(np.int64).max, -1
    for at in range(runs.shape[0]):
        k = runs[at, 0] // rows_per_plane
        j = runs[at, 0] - k * rows_per_plane
        box[0, 0] = min(box[0, 0], runs[at, 1])
        box[0, 1] = min(box[0, 1], j)
        box[0, 2] = min(box[0, 2], k)
        box[1, 0] = max(box[1, 0], runs[at, 2] - 1)
        box[1, 1] = max(box[1, 1], j)
        box[1, 2] = max(box[1, 2], k)
    return box


@compiled
def scan_surface(  # pragma: no cover - compiled
    runs: Any,
    shape: Any,
    neighbours: Any,
    outside_counts: bool,
    axes: Any,
    offset: Any,
    sign: Any,
    low: Any,
    cells: Any,
    bits: int,
    following: Any,
    voxels: Any,
) -> None:
    """Count the surface voxels of one structure by cell, or write them to their places.

    Args:
        runs: (R, 3) row, start, stop, ascending.
        shape: voxels along the run axes.
        neighbours: (N, 3) offsets along the run axes; a voxel without one of these neighbours is on the surface.
        outside_counts: whether a neighbour outside the volume counts as missing.
        axes: with ``offset`` and ``sign`` the way to the RAS grid: see :func:`ras_directions`.
        offset: see ``axes``.
        sign: see ``axes``.
        low: RAS-grid index of the first cell's first voxel.
        cells: cells along the RAS axes.
        bits: a cell has ``2 ** bits`` voxels along each axis.
        following: int64, per cell; counting adds to it; writing takes it for the next place and moves on.
        voxels: int32 (V, 3), written to; of length 0 to count.
    """
    write = voxels.shape[0] > 0
    size = runs.shape[0]
    at = np.zeros(neighbours.shape[0], np.int64)  # per neighbour, where its walk along the runs is: only forward
    target = np.empty(neighbours.shape[0], np.int64)  # the row it looks at; -1 outside the volume
    step = np.array([cells[1] * cells[2], cells[2], 1])
    along = 0  # the RAS axis that the runs lie along
    while axes[along] != 0:
        along += 1
    index = np.zeros(3, np.int64)
    place = np.empty(3, np.int64)
    for own in range(size):
        row, start, stop = runs[own, 0], runs[own, 1], runs[own, 2]
        index[2] = row // shape[1]
        index[1] = row - index[2] * shape[1]
        for n in range(neighbours.shape[0]):
            j, k = index[1] + neighbours[n, 1], index[2] + neighbours[n, 2]
            target[n] = j + shape[1] * k if 0 <= j < shape[1] and 0 <= k < shape[2] else -1
            if target[n] >= 0:
                while at[n] < size and runs[at[n], 0] < target[n]:
                    at[n] += 1
        cell = 0
        for axis in range(3):
            place[axis] = offset[axis] + sign[axis] * index[axes[axis]]
            if axis != along:
                cell += ((place[axis] - low[axis]) >> bits) * step[axis]
        position = start
        while position < stop:
            # From here on, up to where every neighbour is there, and up to where one is missing.
            inner, outer = stop, position
            for n in range(neighbours.shape[0]):
                shift = neighbours[n, 0]
                moved = position + shift
                if target[n] < 0 or moved < 0 or moved >= shape[0]:
                    until = stop if target[n] < 0 or moved >= 0 else min(stop, -shift)
                    if outside_counts:
                        outer = max(outer, until)
                    else:
                        inner = min(inner, until)
                    continue
                there = at[n]
                while there < size and runs[there, 0] == target[n] and runs[there, 2] <= moved:
                    there += 1
                at[n] = there
                if there == size or runs[there, 0] != target[n]:
                    outer = max(outer, stop if outside_counts or shift <= 0 else min(stop, shape[0] - shift))
                elif runs[there, 1] > moved:
                    outer = max(outer, min(stop, runs[there, 1] - shift))
                else:
                    inner = min(inner, runs[there, 2] - shift)
            for found in range(position, outer):
                place[along] = offset[along] + sign[along] * found
                here = cell + ((place[along] - low[along]) >> bits) * step[along]
                if write:
                    for axis in range(3):
                        voxels[following[here], axis] = place[axis]
                following[here] += 1
            position = outer if outer > position else inner
