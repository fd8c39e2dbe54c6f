"""Streamed marginals: feed voxels in memory order, get every structure's exact integers.

The memory needed is a few planes of runs and the histograms, whatever the size of the volume; the voxels themselves
are never kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from monai_spatialqa.errors import LabelValueError
from monai_spatialqa.geometry import boundaries, kernels
from monai_spatialqa.geometry.marginals import MAX_LABELS, Marginals

BLOCK_BYTES = 1 << 20
"""A block of this size stays in the second-level cache while it is scanned."""

_INTENSITY_VALUES = 100
"""A map with more values than this whose runs are mostly single voxels is an intensity image, not labels."""

_MAX_IGNORED = kernels.HASH_SIZE // 2

_NEVER = np.iinfo(np.int64).max


class MarginalEncoder:
    """Turns a stream of voxels into :class:`Marginals`.

    Args:
        shape: grid shape with the *contiguous* axis first: voxel ``(i, j, k)`` is number ``i + n0 * (j + n1 * k)``.
        dtype: integer or bool type of the voxels that will be fed.
        ignore: values that are no structure besides 0.
        boundaries: also count interior and dilated voxels (6-neighbourhood).
        weights: integer projection (3 world axes, 3 storage axes) whose extremes are wanted; None if not wanted.
        keep_runs_bytes: keep runs for :meth:`value_at` as long as they fit into this many bytes.

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
        self._state = np.zeros(8, np.int64)
        self._state[kernels.ROW_END] = self._grid[0]
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
        self._boundaries = boundaries
        self._weights = None if weights is None else np.asarray(weights, np.int64)[:, self._axes]
        # No row, position or entry of a histogram exceeds the largest face of the grid; half the bytes, half the cache.
        largest_face = max(self._grid[a] * self._grid[b] for a, b in ((0, 1), (0, 2), (1, 2)))
        self._kind = np.dtype(np.int32 if largest_face <= np.iinfo(np.int32).max else np.int64)
        self._runs = np.empty((1 << 14, 4), self._kind)
        self._count = 0  # runs in the buffer
        self._added = 0  # of these, already in the histograms
        self._next_plane = 0  # first plane whose boundaries are not counted yet
        self._grow_slots(128)
        self._position_bits = self._grid[0].bit_length()
        bits = (self._grid[1] * self._grid[2]).bit_length() + 2 * self._position_bits + kernels.SLOT_BITS
        self._kept: list[NDArray[np.int64]] | None = [] if keep_runs_bytes and bits < 64 else None
        self._keep_room = keep_runs_bytes
        self._run_total = 0

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
            grown("_low", (3,), _NEVER)
            grown("_high", (3,), -_NEVER)
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
                raise _looks_like_intensities(f"more than {MAX_LABELS:,} distinct values")
            if not stopped:
                break
            self._absorb()

    def _absorb(self, *, final: bool = False) -> None:
        """Move what is in the run buffer into the totals, and keep only the runs that a later plane still needs."""
        slot_count = int(self._state[kernels.SLOT_COUNT])
        if slot_count > self._slot_capacity:
            self._grow_slots(min(MAX_LABELS, max(slot_count, 2 * self._slot_capacity)))
        first, stop, rows = self._added, self._count, self._grid[1]
        histograms = (self._steps0, self._histogram1, self._histogram2)
        kernels.add_runs(self._runs, first, stop, rows, *histograms, self._weights, self._low, self._high)
        self._run_total += stop - first
        self._keep(self._runs[first:stop])
        self._added = stop
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
        # The plane of the last run may still grow; the one before it needs that plane complete.
        last = planes if final else (int(runs[-1, 0]) // rows if self._count else 0)
        stop_plane = planes if final else max(self._next_plane, last - 1)
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
        keep_from = int(np.searchsorted(runs[:, 0], (self._next_plane - 1) * rows))
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
        voxels = self._grid[0] * self._grid[1] * self._grid[2]
        if self._state[kernels.BASE] != voxels:
            raise LabelValueError(
                "the number of voxels does not fit the shape", found=int(self._state[kernels.BASE]), expected=voxels
            )
        self._scan(np.zeros(1, self._bits))  # a background voxel behind the last one closes the open run
        self._absorb(final=True)
        slot_count = int(self._state[kernels.SLOT_COUNT])
        values = self._slot_bits[:slot_count].astype(self._bits).view(self.dtype)
        labels = [int(value) for value in values]
        histogram0 = np.cumsum(self._steps0[:slot_count, :-1], axis=1, dtype=self._kind)
        histograms: tuple[Any, ...] = (histogram0, self._histogram1[:slot_count], self._histogram2[:slot_count])
        occupied = [histogram > 0 for histogram in histograms]
        count = histograms[2].sum(axis=1, dtype=np.int64)
        refuse_bad_labels(labels, int(count.sum()), self._run_total)
        order = sorted(range(slot_count), key=labels.__getitem__)
        self._slot_of_label = {labels[slot]: slot for slot in order}

        def columns(table: NDArray[np.int64]) -> tuple[NDArray, NDArray, NDArray]:
            return table[order, 0], table[order, 1], table[order, 2]

        found = Marginals(
            shape=self._grid,
            labels=tuple(labels[slot] for slot in order),
            count=count[order],
            index_sum=tuple((h @ np.arange(h.shape[1], dtype=np.int64))[order] for h in histograms),
            start=tuple(o.argmax(axis=1)[order].astype(np.int64) for o in occupied),
            stop=tuple(o.shape[1] - o[:, ::-1].argmax(axis=1)[order].astype(np.int64) for o in occupied),
            interior=self._interior[:slot_count][order] if self._boundaries else None,
            dilated=self._dilated[:slot_count][order] if self._boundaries else None,
            low=None if self._low is None else columns(self._low),
            high=None if self._high is None else columns(self._high),
        )
        return found.reoriented([self._axes.index(axis) for axis in range(3)], [False] * 3)

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


def background_values(ignore: Iterable[int], lowest: int, highest: int) -> list[int]:
    """0 and the ignored values that a type from ``lowest`` to ``highest`` can hold, ascending.

    Raises:
        LabelValueError: too many of them.
    """
    values = {0, *(int(value) for value in ignore if lowest <= value <= highest)}
    if len(values) > _MAX_IGNORED:
        raise LabelValueError(
            "too many values to ignore",
            key="ignore",
            found=len(values),
            expected=f"at most {_MAX_IGNORED}",
            next_step="store the label map without them",
        )
    return sorted(values)


def refuse_bad_labels(labels: Sequence[int], voxels: int, runs: int) -> None:
    """Refuse values that cannot be structure ids.

    Raises:
        LabelValueError: negative values, or values that look like intensities.
    """
    if len(labels) > MAX_LABELS or (len(labels) > _INTENSITY_VALUES and runs > voxels // 2):
        raise _looks_like_intensities(f"{len(labels):,} distinct values")
    negative = sorted(value for value in labels if value < 0)
    if negative:
        raise LabelValueError(
            "negative values are no structure ids",
            code="negative_label",
            found=", ".join(map(str, negative[:5])),
            expected="ids >= 0",
            next_step=f"declare them as background with ignore=[{negative[0]}], or mend the file",
        )


def _looks_like_intensities(found: str) -> LabelValueError:
    return LabelValueError(
        "the label map looks like an intensity image",
        code="intensity_image",
        found=found,
        expected=f"at most {MAX_LABELS:,} structure ids, in regions and not scattered voxel by voxel",
        next_step="check that the label file was not swapped with the image",
    )
