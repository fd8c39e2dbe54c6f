"""The surface voxels of several structures, sorted into an octree of boxes for each, for searching.

The leaves are cells of 4 voxels along each axis, some ten surface voxels each. Cells are in Morton order: the eight
that make up a cube of twice the size follow each other, and so do eight of these, up to one box for the structure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from monai_spatialqa.geometry.compiled import compiled
from monai_spatialqa.geometry.metric import GridMetric
from monai_spatialqa.geometry.runs import RunGrid, Runs
from monai_spatialqa.geometry.surface import NO_VOXELS, SurfaceScan, ras_box

CELL_BITS = 2
"""A leaf has ``2 ** CELL_BITS`` voxels along each axis."""

Item = TypeVar("Item")
Answer = TypeVar("Answer")


@dataclass(frozen=True)
class SurfaceTree:
    """Surface voxels of several structures and boxes around them.

    Attributes:
        voxels: RAS-grid indices, int32 (V, 3), by structure and cell.
        boxes: RAS-grid indices, int32 (N, 6), of each node: lowest, then highest; they hold its voxels tightly. Leaves
            come first; a node comes after its children.
        first: int64 (N,), first voxel of a leaf, first child of any other node.
        stop: int64 (N,), one past the last.
        leaves: how many nodes are leaves.
        roots: node that holds all of a structure, int64 (S,); -1 for an empty one.
    """

    voxels: NDArray[np.int32]
    boxes: NDArray[np.int32]
    first: NDArray[np.int64]
    stop: NDArray[np.int64]
    leaves: int
    roots: NDArray[np.int64]

    @classmethod
    def of(cls, structures: Sequence[Runs], grid: RunGrid, metric: GridMetric, *, threads: int = 1) -> SurfaceTree:
        """Find and sort the surface voxels of structures given by their runs.

        It goes over the runs twice, to count and to write, so that each voxel is written to its place at once.

        Args:
            structures: runs of each.
            grid: where they lie.
            metric: of ``grid.ras``.
            threads: how many to use.
        """
        scan = SurfaceScan(grid, metric)
        tallies = list(in_threads(lambda runs: _tally(scan, runs), structures, threads))
        cells = np.cumsum([0, *(len(tally.counts) for tally in tallies)])
        ends = np.cumsum(np.concatenate([np.zeros(1, np.int64), *(tally.counts for tally in tallies)]))
        voxels = np.empty((int(ends[-1]), 3), np.int32)
        boxes = np.empty((int(cells[-1]), 6), np.int32)

        def write(at: int) -> None:
            tally = tallies[at]
            begin, end = int(cells[at]), int(cells[at + 1])
            if begin < end:
                following = np.zeros(int(np.prod(tally.shape)), np.int64)
                following[tally.occupied] = ends[begin:end]
                scan(structures[at], tally.low, tally.shape, CELL_BITS, following, voxels)
                _bound_cells(voxels, ends, begin, end, boxes)

        list(in_threads(write, range(len(structures)), threads))
        codes = np.concatenate([np.zeros(0, np.int64), *(tally.codes for tally in tallies)])
        owners = np.repeat(np.arange(len(structures)), np.diff(cells))
        return _grown(voxels, boxes, ends, codes, owners, len(structures))


@dataclass(frozen=True)
class _Tally:
    """Surface voxels of one structure, counted by cell.

    Attributes:
        low: lowest RAS-grid index of the structure.
        shape: cells along the RAS axes.
        occupied: the cells that hold any, as flat indices, in Morton order.
        codes: their Morton codes.
        counts: how many voxels each of them holds.
    """

    low: NDArray[np.int64]
    shape: NDArray[np.int64]
    occupied: NDArray[np.int64]
    codes: NDArray[np.int64]
    counts: NDArray[np.int64]


def _tally(scan: SurfaceScan, runs: Runs) -> _Tally:
    if not len(runs):
        nothing = np.zeros(0, np.int64)
        return _Tally(low=nothing, shape=nothing, occupied=nothing, codes=nothing, counts=nothing)
    low, high = ras_box(runs, scan.grid)
    shape = ((high - low) >> CELL_BITS) + 1
    counts = np.zeros(int(np.prod(shape)), np.int64)
    scan(runs, low, shape, CELL_BITS, counts, NO_VOXELS)
    occupied = np.flatnonzero(counts)
    codes = _morton_codes(np.unravel_index(occupied, tuple(shape.tolist())))
    order = np.argsort(codes)
    occupied = occupied[order]
    return _Tally(low=low, shape=shape, occupied=occupied, codes=codes[order], counts=counts[occupied])


def _morton_codes(places: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """The bits of three coordinates, interleaved."""
    codes = np.zeros(len(places[0]), np.int64)
    for axis, place in enumerate(places):
        for bit in range(int(place.max(initial=0)).bit_length()):
            codes |= (place >> bit & 1) << (3 * bit + axis)
    return codes


def _grown(
    voxels: NDArray[np.int32],
    boxes: NDArray[np.int32],
    ends: NDArray[np.int64],
    codes: NDArray[np.int64],
    owners: NDArray[np.int64],
    structures: int,
) -> SurfaceTree:
    """The tree on top of the leaves, level by level: eight neighbours become one, until each structure is one."""
    levels, first, stop = [boxes], [ends[:-1]], [ends[1:]]
    below = 0  # the first node of the level that was finished last
    present = len(np.unique(owners))
    while len(codes) > present:
        codes = codes >> 3
        starts = np.flatnonzero(np.diff(codes, prepend=-1) | np.diff(owners, prepend=-1))
        last = levels[-1]
        lowest, highest = np.minimum.reduceat(last[:, :3], starts), np.maximum.reduceat(last[:, 3:], starts)
        levels.append(np.concatenate([lowest, highest], axis=1))
        first.append(below + starts)
        stop.append(below + np.append(starts[1:], len(last)))
        below += len(last)
        codes, owners = codes[starts], owners[starts]
    roots = np.full(structures, -1, np.int64)
    roots[owners] = below + np.arange(len(owners))
    return SurfaceTree(
        voxels=voxels,
        boxes=np.concatenate(levels),
        first=np.concatenate(first),
        stop=np.concatenate(stop),
        leaves=len(boxes),
        roots=roots,
    )


def in_threads(function: Callable[[Item], Answer], items: Iterable[Item], threads: int) -> Iterable[Answer]:
    """``map`` with several threads; the compiled loops hold no lock."""
    if threads <= 1:
        return map(function, items)
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(function, items))


@compiled
def _bound_cells(voxels: Any, ends: Any, begin: int, end: int, boxes: Any) -> None:  # pragma: no cover - compiled
    """Fill the boxes of cells ``begin .. end``; the voxels of cell ``c`` are ``ends[c] .. ends[c + 1]``."""
    for cell in range(begin, end):
        for axis in range(3):
            low = high = voxels[ends[cell], axis]
            for at in range(ends[cell] + 1, ends[cell + 1]):
                low = min(low, voxels[at, axis])
                high = max(high, voxels[at, axis])
            boxes[cell, axis] = low
            boxes[cell, 3 + axis] = high
