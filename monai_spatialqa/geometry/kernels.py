"""Compiled loops over runs: the CPU path of the marginals.

A *run* is a maximal stretch of equal voxels along the contiguous axis of one row. Everything here works on raw bit
patterns of unsigned integers and on int64 counts; there is no float and no division by voxel size. All functions
release the GIL. They are compiled on first call and cached on disk by numba.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

HASH_SIZE = 1 << 14
"""Slots of the open-addressing table; larger than any allowed number of distinct values."""

# Positions in the ``state`` vector that a scan carries from block to block.
AT, BASE, RUN_START, ROW, ROW_END, SLOT_COUNT, SLOT, STOPPED = range(8)

FULL, TOO_MANY_VALUES = 1, 2
"""Reasons, in ``state[STOPPED]``, why a scan returned before the end of its block."""

NO_SLOT = -1
"""Slot of values that are no structure (background and ignored values)."""


_DE_BRUIJN = np.uint64(0x03F79D71B4CB0A89)
_BIT_OF_PRODUCT = np.zeros(64, np.int64)
for _bit in range(64):
    _BIT_OF_PRODUCT[(int(_DE_BRUIJN) << _bit) % 2**64 >> 58] = _bit


@njit(nogil=True, cache=True)
def lowest_bit(word: Any) -> Any:  # pragma: no cover - compiled
    """Position of the lowest set bit of a non-zero uint64."""
    return _BIT_OF_PRODUCT[((word & (~word + np.uint64(1))) * _DE_BRUIJN) >> np.uint64(58)]


@njit(nogil=True, cache=True)
def skip_equal(words: Any, first: int, pattern: Any) -> Any:  # pragma: no cover - compiled
    """Index of the first word from ``first`` on that differs from ``pattern``; the number of words when none does.

    Eight words are compared at a time without a branch between them, which the compiler turns into vector code;
    unsigned indices spare it the check for negative ones.
    """
    word = np.uintp(first)
    size = np.uintp(words.size)
    one = np.uintp(1)
    eight = np.uintp(8)
    while word + eight <= size:
        differs = np.uint64(0)
        for step in range(8):
            differs |= words[word + np.uintp(step)] ^ pattern
        if differs != 0:
            break
        word += eight
    while word < size and words[word] == pattern:
        word += one
    return np.int64(word)


@njit(nogil=True, cache=True)
def find_slot(bits: Any, keys: Any, slots: Any) -> Any:  # pragma: no cover - compiled
    """Index into the hash table where ``bits`` is or belongs; ``slots`` holds -2 where free."""
    at = np.int64((bits * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(50))
    while slots[at] != -2 and keys[at] != bits:
        at = (at + 1) & (HASH_SIZE - 1)
    return at


@njit(nogil=True, cache=True)
def scan_runs(  # pragma: no cover - compiled
    block: Any,
    words: Any,
    final: bool,
    state: Any,
    carried: Any,
    keys: Any,
    slots: Any,
    slot_bits: Any,
    row_length: int,
    runs: Any,
    count: int,
) -> int:
    """Cut a block of consecutive voxels into runs and append those of structures to ``runs``.

    Args:
        block: 1-D unsigned view of the voxels in memory order.
        words: the same memory as uint64, as many whole words as fit.
        final: no block follows; the last run ends with this one.
        state: int64 vector carried between calls, see the constants above.
        carried: one-element array holding the value of the run that is open.
        keys: the hash table value -> slot: its values.
        slots: its slots; values of no structure are in it with slot -1.
        slot_bits: bit pattern per slot, filled as values are met.
        row_length: voxels per row.
        runs: int64 (capacity, 4): row, start, stop (half-open, within the row), slot.
        count: runs already in ``runs``.

    Returns:
        The new number of runs. ``state[STOPPED]`` is non-zero when the block is not used up.
    """
    size = block.size
    lanes = 8 // block.itemsize
    lane_bits = 64 // lanes
    base = state[BASE]
    at = state[AT]
    row = state[ROW]
    row_end = state[ROW_END]
    run_start = state[RUN_START]
    slot = state[SLOT]
    capacity = runs.shape[0]
    value = carried[0]
    known_value = value  # of the last look-ups: most runs repeat the structure before the gap
    known_slot = slot
    state[STOPPED] = 0
    while True:
        # The end of the open run: a differing bit in this word, else whole words, then the voxels behind the last word.
        word = at // lanes
        if word < words.size:
            pattern = np.uint64(value)
            width = lane_bits
            while width < 64:
                pattern |= pattern << np.uint64(width)
                width *= 2
            skipped = at - word * lanes
            differs = (words[word] ^ pattern) >> np.uint64(skipped * lane_bits)
            if differs == 0:
                skipped = 0
                word = skip_equal(words, word + 1, pattern)
                if word < words.size:
                    differs = words[word] ^ pattern
            at = word * lanes + skipped
            if differs != 0:
                at += lowest_bit(differs) // lane_bits
        if word >= words.size:
            while at < size and block[at] == value:
                at += 1
        if at == size and not final:
            break
        if slot >= 0:
            run_end = base + at
            while run_start < run_end:
                while row_end <= run_start:
                    row += 1
                    row_end += row_length
                if count == capacity:
                    state[STOPPED] = FULL
                    break
                row_start = row_end - row_length
                stop = min(run_end, row_end)
                runs[count, 0] = row
                runs[count, 1] = run_start - row_start
                runs[count, 2] = stop - row_start
                runs[count, 3] = slot
                count += 1
                run_start = stop
            if state[STOPPED] != 0:
                break
        if at == size:
            break
        value = block[at]
        run_start = base + at
        if value == 0:
            slot = NO_SLOT
        elif value == known_value:
            slot = known_slot
        else:
            bits = np.uint64(value)
            found = find_slot(bits, keys, slots)
            if slots[found] == -2:
                if state[SLOT_COUNT] == slot_bits.size:
                    state[STOPPED] = TOO_MANY_VALUES
                    break
                keys[found] = bits
                slots[found] = state[SLOT_COUNT]
                slot_bits[state[SLOT_COUNT]] = bits
                state[SLOT_COUNT] += 1
            slot = slots[found]
            known_value = value
            known_slot = slot
    state[AT] = at
    state[ROW] = row
    state[ROW_END] = row_end
    state[RUN_START] = run_start
    state[SLOT] = slot
    carried[0] = value
    return count


@njit(nogil=True, cache=True)
def add_runs(  # pragma: no cover - compiled
    runs: Any, first: int, stop: int, rows_per_plane: int, steps0: Any, histogram1: Any, histogram2: Any
) -> None:
    """Add runs ``first .. stop`` to the per-structure histograms along the three axes.

    ``steps0`` (slots, n0 + 1) holds the *differences* of the histogram along the contiguous axis: +1 where a run
    starts, -1 where it stops; a cumulative sum turns it into the histogram.
    """
    plane = runs[first, 0] // rows_per_plane if first < stop else 0
    plane_end = (plane + 1) * rows_per_plane
    for at in range(first, stop):
        row = runs[at, 0]
        while row >= plane_end:
            plane += 1
            plane_end += rows_per_plane
        start = runs[at, 1]
        end = runs[at, 2]
        slot = runs[at, 3]
        steps0[slot, start] += 1
        steps0[slot, end] -= 1
        histogram1[slot, row - plane_end + rows_per_plane] += end - start
        histogram2[slot, plane] += end - start


@njit(nogil=True, cache=True)
def project_runs(  # pragma: no cover - compiled
    runs: Any, first: int, stop: int, rows_per_plane: int, weights: Any, low: Any, high: Any
) -> None:
    """Extremes of three integer linear functions of the voxel index over each structure.

    ``weights`` is int64 (3 functions, 3 storage axes); a linear function is extreme at an end of a run.
    """
    for at in range(first, stop):
        row = runs[at, 0]
        plane = row // rows_per_plane
        row_in_plane = row - plane * rows_per_plane
        slot = runs[at, 3]
        for function in range(3):
            offset = weights[function, 1] * row_in_plane + weights[function, 2] * plane
            one = offset + weights[function, 0] * runs[at, 1]
            other = offset + weights[function, 0] * (runs[at, 2] - 1)
            low[slot, function] = min(low[slot, function], one, other)
            high[slot, function] = max(high[slot, function], one, other)


@njit(nogil=True, cache=True)
def _interior(runs: Any, at: int, pointers: Any, ends: Any) -> int:  # pragma: no cover - compiled
    """Voxels of one run whose six neighbours are all of the same structure.

    ``pointers`` walk the four neighbouring rows and only move forward; a row outside the grid is an empty list.
    """
    label = runs[at, 3]
    here = runs[at, 1] + 1
    limit = runs[at, 2] - 1
    inside = 0
    while here < limit:
        until = limit
        resume = here
        for side in range(4):
            p = pointers[side]
            while p < ends[side] and runs[p, 2] <= here:
                p += 1
            pointers[side] = p
            if p == ends[side]:
                return inside
            if runs[p, 3] != label:
                resume = max(resume, runs[p, 2])
            elif runs[p, 1] > here:
                resume = max(resume, runs[p, 1])
            else:
                until = min(until, runs[p, 2])
        if resume > here:
            here = resume
        else:
            inside += until - here
            here = until
    return inside


@njit(nogil=True, cache=True)
def count_boundaries(  # pragma: no cover - compiled
    runs: Any,
    pointer: Any,
    first_row: int,
    row_length: int,
    rows_per_plane: int,
    planes: int,
    first_plane: int,
    stop_plane: int,
    interior: Any,
    dilated: Any,
    seen_row: Any,
    reached: Any,
) -> None:
    """Per structure: interior voxels, and voxels of the structure dilated by its 6-neighbourhood.

    Args:
        runs: runs sorted by row.
        pointer: ``pointer[r - first_row]`` is the first run of row ``r``; one more entry closes the last row.
        first_row: row of ``pointer[0]``.
        row_length: voxels per row.
        rows_per_plane: rows of the grid per plane.
        planes: planes of the grid.
        first_plane: first plane to count; the runs of its neighbouring planes must be present.
        stop_plane: one past the last plane to count.
        interior: int64 (slots,), added to.
        dilated: int64 (slots,), added to.
        seen_row: int64 scratch (slots,), carried between calls.
        reached: int64 scratch (slots,), carried between calls.
    """
    pointers = np.empty(5, np.int64)
    ends = np.empty(5, np.int64)
    heads = np.empty(5, np.int64)
    none = np.int64(1) << np.int64(62)
    for plane in range(first_plane, stop_plane):
        for row_in_plane in range(rows_per_plane):
            row = plane * rows_per_plane + row_in_plane
            local = row - first_row
            for side in range(5):
                pointers[side] = 0
                ends[side] = 0
            if row_in_plane > 0:
                pointers[0], ends[0] = pointer[local - 1], pointer[local]
            if row_in_plane < rows_per_plane - 1:
                pointers[1], ends[1] = pointer[local + 1], pointer[local + 2]
            if plane > 0:
                pointers[2], ends[2] = pointer[local - rows_per_plane], pointer[local - rows_per_plane + 1]
            if plane < planes - 1:
                pointers[3], ends[3] = pointer[local + rows_per_plane], pointer[local + rows_per_plane + 1]
            pointers[4], ends[4] = pointer[local], pointer[local + 1]
            some = False
            for side in range(5):
                some |= pointers[side] < ends[side]
            if not some:
                continue

            # The union, per structure, of the own row widened by one voxel and the four neighbouring rows: the lists
            # are merged by start, so each structure's intervals arrive in order.
            for side in range(5):
                heads[side] = runs[pointers[side], 1] if pointers[side] < ends[side] else none
            if heads[4] < none:
                heads[4] -= 1
            own_first, own_stop = pointers[4], ends[4]
            start0, start1, start2, start3 = pointers[0], pointers[1], pointers[2], pointers[3]
            while True:
                best = 0
                for side in range(1, 5):
                    if heads[side] < heads[best]:
                        best = side
                if heads[best] == none:
                    break
                p = pointers[best]
                label = runs[p, 3]
                begin = max(heads[best], 0)
                end = runs[p, 2]
                if best == 4:
                    end = min(end + 1, row_length)
                if seen_row[label] != row:
                    seen_row[label] = row
                    reached[label] = 0
                begin = max(begin, reached[label])
                if end > begin:
                    dilated[label] += end - begin
                    reached[label] = end
                p += 1
                pointers[best] = p
                if p == ends[best]:
                    heads[best] = none
                else:
                    heads[best] = runs[p, 1] - (1 if best == 4 else 0)

            if own_first < own_stop:
                pointers[0], pointers[1], pointers[2], pointers[3] = start0, start1, start2, start3
                for at in range(own_first, own_stop):
                    interior[runs[at, 3]] += _interior(runs, at, pointers, ends)
