"""Streamed marginals: feed voxels in memory order, get every structure's exact integers.

The memory needed is a few planes of runs and the histograms, whatever the size of the volume; the voxels themselves
are never kept.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import DTypeLike, NDArray

from monai_spatialqa.errors import LabelValueError
from monai_spatialqa.geometry import boundaries, kernels
from monai_spatialqa.geometry.affine import RasGrid
from monai_spatialqa.geometry.ids import background_values, refuse_too_many
from monai_spatialqa.geometry.marginals import MAX_LABELS, Marginals
from monai_spatialqa.geometry.runs import RunGrid, RunSet
from monai_spatialqa.geometry.totals import NEVER, Totals, together

BLOCK_BYTES = 1 << 20
"""A block of this size stays in the second-level cache while it is scanned."""


class MarginalEncoder:
    """Turns a stream of voxels into :class:`Marginals`.

    Args:
        shape: grid shape with the *contiguous* axis first: voxel ``(i, j, k)`` is number ``i + n0 * (j + n1 * k)``.
        dtype: integer or bool type of the voxels that will be fed.
        ignore: values that are no structure besides 0.
        boundaries: also count interior and dilated voxels (6-neighbourhood).
        weights: integer projection (3 world axes, 3 storage axes) whose extremes are wanted; None if not wanted.
        keep_runs_bytes: keep runs for :meth:`value_at` as long as they fit into this many bytes.
        keep_runs: keep all runs, for :meth:`run_set`; 16 bytes a run.
        planes: half-open range of the planes to count, for one of several encoders that share a volume; default: all.
            A plane is one index of the slowest axis, after leading axes of one voxel were moved behind it.
            :attr:`fed_planes` says which planes such an encoder wants to be fed.

    Raises:
        LabelValueError: for voxels that are no whole numbers, or too many ignored values; while feeding, when there are
            more distinct values than structures can have.
    """

    # One row per slot; they grow together, see _grow_slots.
    _steps0: NDArray
    _histogram1: NDArray
    _histogram2: NDArray
    _interior: NDArray[np.int64]
    _dilated: NDArray[np.int64]
    _spans: NDArray
    _low: NDArray[np.int64] | None = None
    _high: NDArray[np.int64] | None = None

    def __init__(
        self,
        shape: Sequence[int],
        dtype: np.dtype | type,
        *,
        ignore: Iterable[int] = (),
        boundaries: bool = True,
        weights: Sequence[Sequence[int]] | None = None,
        keep_runs_bytes: int = 0,
        keep_runs: bool = False,
        planes: tuple[int, int] | None = None,
    ) -> None:
        self.shape = (int(shape[0]), int(shape[1]), int(shape[2]))
        # Leading axes of one voxel go to the end: the order in memory is the same, and runs become longer than a voxel.
        leading = next((axis for axis in range(3) if self.shape[axis] > 1), 0)
        self._axes = [*range(leading, 3), *range(leading)]
        self._grid = (self.shape[self._axes[0]], self.shape[self._axes[1]], self.shape[self._axes[2]])
        self.dtype = np.dtype(dtype).newbyteorder("=")
        if self.dtype.kind not in "iub":
            raise LabelValueError(
                "voxels of a label map must be whole numbers", key="dtype", found=self.dtype, expected="integer or bool"
            )
        self._bits = np.dtype(f"u{self.dtype.itemsize}")
        self._boundaries = boundaries
        self._planes = (0, self._grid[2]) if planes is None else planes
        first_row = self.fed_planes[0] * self._grid[1]
        self._state = np.zeros(8, np.int64)
        self._state[kernels.BASE] = first_row * self._grid[0]
        self._state[kernels.ROW] = first_row
        self._state[kernels.ROW_END] = (first_row + 1) * self._grid[0]
        self._state[kernels.SLOT] = kernels.NO_SLOT
        self._carried = np.zeros(1, self._bits)
        self._keys = np.zeros(kernels.HASH_SIZE, np.uint64)
        self._slots = np.full(kernels.HASH_SIZE, kernels.FREE, np.int32)
        self._slot_bits = np.zeros(MAX_LABELS, np.uint64)
        lowest, highest = (0, 1) if self.dtype.kind == "b" else (np.iinfo(self.dtype).min, np.iinfo(self.dtype).max)
        for value in background_values(ignore, lowest, highest):
            bits = np.array([value], self.dtype).view(self._bits).astype(np.uint64)[0]
            found = kernels.find_slot(bits, self._keys, self._slots)
            self._keys[found] = bits
            self._slots[found] = kernels.NO_SLOT
        self._weights = None if weights is None else np.asarray(weights, np.int64)[:, self._axes]
        # No row, position or entry of a histogram exceeds the largest face of the grid; half the bytes, half the cache.
        largest_face = max(self._grid[a] * self._grid[b] for a, b in ((0, 1), (0, 2), (1, 2)))
        self._kind = np.dtype(np.int32 if largest_face <= np.iinfo(np.int32).max else np.int64)
        self._runs = np.empty((1 << 14, 4), self._kind)
        self._count = 0  # runs in the buffer
        self._added = 0  # of these, already in the histograms
        self._next_plane = self._planes[0]  # first plane whose boundaries are not counted yet
        self._grow_slots(128)
        self._position_bits = self._grid[0].bit_length()
        bits = (self._grid[1] * self._grid[2]).bit_length() + 2 * self._position_bits + kernels.SLOT_BITS
        self._kept: list[NDArray[np.int64]] | None = [] if keep_runs_bytes and bits < 64 else None
        self._keep_room = keep_runs_bytes
        self._all_runs: list[NDArray] | None = [] if keep_runs else None
        self._run_total = 0

    @property
    def fed_planes(self) -> tuple[int, int]:
        """Half-open range of the planes to feed: those to count, and for boundaries those on both sides of them."""
        first, stop = self._planes
        return (max(0, first - 1), min(self._grid[2], stop + 1)) if self._boundaries else (first, stop)

    @property
    def values(self) -> NDArray:
        """Distinct values met so far, in the order they were met, without background."""
        return self._slot_bits[: self._state[kernels.SLOT_COUNT]].astype(self._bits).view(self.dtype)

    def _grow_slots(self, capacity: int) -> None:
        def grown(name: str, width: tuple[int, ...], fill: int, kind: DTypeLike = np.int64) -> None:
            new = np.full((capacity, *width), fill, kind)
            old = getattr(self, name, None)
            if old is not None:
                new[: old.shape[0]] = old
            setattr(self, name, new)

        grown("_steps0", (self._grid[0] + 1,), 0, self._kind)
        grown("_histogram1", (self._grid[1],), 0, self._kind)
        grown("_histogram2", (self._grid[2],), 0, self._kind)
        if self._boundaries:
            grown("_interior", (), 0)
            grown("_dilated", (), 0)
            grown("_spans", (boundaries.SPAN_COLUMNS,), -1, self._kind)
        if self._weights is not None:
            grown("_low", (3,), NEVER)
            grown("_high", (3,), -NEVER)
        self._slot_capacity = capacity

    def feed(self, block: NDArray) -> None:
        """Take the next voxels, a contiguous 1-D array of the declared type (either byte order)."""
        if block.dtype.newbyteorder("=") != self.dtype or block.ndim != 1:
            raise LabelValueError(
                "a block must be 1-D and of the declared type", found=block.dtype, expected=self.dtype
            )
        self._scan(np.ascontiguousarray(block, dtype=self.dtype).view(self._bits))
        self._state[kernels.BASE] += block.size

    def _scan(self, block: NDArray) -> None:
        self._state[kernels.AT] = 0
        while True:
            self._count = kernels.scan_runs(
                block,
                self._state,
                self._carried,
                self._keys,
                self._slots,
                self._slot_bits,
                self._grid[0],
                self._runs,
                self._count,
            )
            stopped = self._state[kernels.STOPPED]
            if stopped == kernels.TOO_MANY_VALUES:
                refuse_too_many(MAX_LABELS + 1)
            if not stopped:
                break
            self._absorb()

    def _absorb(self, *, final: bool = False) -> None:
        """Move what is in the run buffer into the totals, and keep only the runs that a later plane still needs."""
        slot_count = int(self._state[kernels.SLOT_COUNT])
        if slot_count > self._slot_capacity:
            self._grow_slots(min(MAX_LABELS, max(slot_count, 2 * self._slot_capacity)))
        rows = self._grid[1]
        # Runs ascend by row; those of planes that are not to be counted are at the ends.
        first, stop = (bisect_left(self._runs[:, 0], plane * rows, self._added, self._count) for plane in self._planes)
        histograms = (self._steps0, self._histogram1, self._histogram2)
        kernels.add_runs(self._runs, first, stop, rows, *histograms, self._weights, self._low, self._high)
        self._run_total += stop - first
        self._keep(self._runs[first:stop])
        if self._all_runs is not None:
            self._all_runs.append(self._runs[first:stop].copy())
        self._added = self._count
        if self._boundaries:
            self._count_boundaries(final=final)
        else:
            self._count = self._added = 0
        if self._count > self._runs.shape[0] // 2:
            larger = np.empty((2 * self._runs.shape[0], 4), self._kind)
            larger[: self._count] = self._runs[: self._count]
            self._runs = larger

    def _count_boundaries(self, *, final: bool) -> None:
        rows, planes = self._grid[1], self._grid[2]
        runs = self._runs[: self._count]
        stop_plane = self._planes[1]
        if not final:
            # The plane of the last run may still grow; the one before it needs that plane complete.
            last = int(runs[-1, 0]) // rows if self._count else 0
            stop_plane = min(stop_plane, max(self._next_plane, last - 1))
        if stop_plane > self._next_plane:
            first_row = max(0, self._next_plane - 1) * rows
            stop_row = min(planes, stop_plane + 1) * rows
            pointer = np.empty(stop_row + 1 - first_row, np.int64)
            boundaries.first_runs(runs, first_row, pointer)
            boundaries.count_boundaries(
                runs,
                pointer,
                first_row,
                self._grid[0],
                rows,
                planes,
                self._next_plane,
                stop_plane,
                self._interior,
                self._dilated,
                self._spans,
            )
            self._next_plane = stop_plane
        keep_from = bisect_left(runs[:, 0], (self._next_plane - 1) * rows)
        kept = self._count - keep_from
        self._runs[:kept] = runs[keep_from:].copy()
        self._count = self._added = kept

    def _keep(self, runs: NDArray) -> None:
        if self._kept is None or not len(runs):
            return
        packed = np.empty(len(runs), np.int64)
        self._keep_room -= packed.nbytes
        if self._keep_room < 0:
            self._kept = None
            return
        kernels.pack_runs(runs, self._position_bits, packed)
        self._kept.append(packed)

    def result(self) -> Marginals:
        """Close the stream.

        Raises:
            LabelValueError: when fewer or more voxels came than the shape holds, when a value is negative and not
                ignored, or when the values look like intensities.
        """
        return together([self.totals()], self.shape)

    def totals(self) -> Totals:
        """Close the stream of an encoder that is one of several; nothing is refused for the values yet.

        Raises:
            LabelValueError: when fewer or more voxels came than :attr:`fed_planes` hold.
        """
        plane = self._grid[0] * self._grid[1]
        start_plane, stop_plane = self.fed_planes
        fed, expected = int(self._state[kernels.BASE]) - start_plane * plane, (stop_plane - start_plane) * plane
        if fed != expected:
            raise LabelValueError("the number of voxels does not fit the shape", found=fed, expected=expected)
        self._scan(np.zeros(1, self._bits))  # a background voxel behind the last one closes the open run
        self._absorb(final=True)
        values = self.values
        size = len(values)
        self._slot_of_label = {int(value): slot for slot, value in enumerate(values)}
        histograms: tuple[NDArray, ...] = (
            np.cumsum(self._steps0[:size, :-1], axis=1, dtype=self._kind),
            self._histogram1[:size],
            self._histogram2[:size],
        )
        count = histograms[2].sum(axis=1, dtype=np.int64)
        occupied = [histogram > 0 for histogram in histograms]
        start = [np.where(count, o.argmax(axis=1), NEVER) for o in occupied]
        stop = [np.where(count, o.shape[1] - o[:, ::-1].argmax(axis=1), 0) for o in occupied]
        index_sum = [h @ np.arange(h.shape[1], dtype=np.int64) for h in histograms]

        def by_axis(columns: list[NDArray]) -> NDArray[np.int64]:
            return np.stack([columns[self._axes.index(axis)] for axis in range(3)], axis=1)

        return Totals(
            values=values,
            runs=self._run_total,
            count=count,
            index_sum=by_axis(index_sum),
            start=by_axis(start),
            stop=by_axis(stop),
            interior=self._interior[:size] if self._boundaries else None,
            dilated=self._dilated[:size] if self._boundaries else None,
            low=None if self._low is None else self._low[:size],
            high=None if self._high is None else self._high[:size],
        )

    def run_set(self, grid: RasGrid, stored_axes: Sequence[int]) -> RunSet:
        """All runs, after :meth:`result`; needs ``keep_runs``.

        Args:
            grid: the stored grid.
            stored_axes: for each axis of ``shape``, the axis of the stored grid it is.
        """
        assert self._all_runs is not None
        axes = [stored_axes[axis] for axis in self._axes]
        runs = np.concatenate(self._all_runs) if self._all_runs else np.empty((0, 4), self._kind)
        labels = self._slot_bits[: len(self._slot_of_label)].astype(self._bits).view(self.dtype)
        return RunSet(
            grid=RunGrid(self._grid, (axes[0], axes[1], axes[2]), grid),
            runs=runs,
            labels=tuple(int(label) for label in labels),
        )

    def value_at(self, labels: Sequence[int], positions: NDArray[np.int64]) -> list[bool] | None:
        """Whether voxel number ``positions[n]`` (memory order) belongs to ``labels[n]``; None if runs were not kept."""
        if self._kept is None:
            return None
        slots = np.array([self._slot_of_label.get(label, kernels.NO_SLOT) for label in labels], np.int64)
        row, column = np.divmod(np.asarray(positions, np.int64), self._grid[0])
        # The last run that starts at the position or before it, if it is in the same row.
        start_bits = self._position_bits + kernels.SLOT_BITS
        latest = ((row << self._position_bits | column) + 1 << start_bits) - 1
        found = np.zeros(len(labels), bool)
        for packed in self._kept:
            at = np.searchsorted(packed, latest, side="right") - 1
            run = packed[at]
            stop = run >> kernels.SLOT_BITS & ((1 << self._position_bits) - 1)
            same_row = run >> start_bits + self._position_bits == row
            slot = run & ((1 << kernels.SLOT_BITS) - 1)
            found |= (at >= 0) & same_row & (column < stop) & (slot == slots)
        return [bool(answer) for answer in found]
