"""Compiled loops over runs: the CPU path of the marginals.

A *run* is a maximal stretch of equal voxels along the contiguous axis of one row. Everything here works on raw bit
patterns of unsigned integers and on integer counts; there is no float and no division by voxel size. All functions
release the GIL. They are compiled on first call and cached on disk by numba. They index with unsigned integers where
speed matters: numba then leaves out the test for negative ones.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from monai_spatialqa.geometry.compiled import compiled
from monai_spatialqa.geometry.lanes import LANES, changes, lowest_bit

HASH_SIZE = 1 << 14
"""Slots of the open-addressing table; larger than any allowed number of distinct values."""

SLOT_BITS = 13
"""Bits that hold any slot; :data:`~monai_spatialqa.geometry.marginals.MAX_LABELS` is smaller than two to this power."""

# Positions in the ``state`` vector that a scan carries from block to block.
AT, BASE, RUN_START, ROW, ROW_END, SLOT_COUNT, SLOT, STOPPED = range(8)

FULL, TOO_MANY_VALUES = 1, 2
"""Reasons, in ``state[STOPPED]``, why a scan returned before the end of its block."""

NO_SLOT, FREE = -1, -2
"""Slot of values that are no structure (background and ignored values), and mark of a free place in the hash table."""


@compiled
def find_slot(bits: Any, keys: Any, slots: Any) -> Any:  # pragma: no cover - compiled
    """Index into the hash table where ``bits`` is or belongs; ``slots`` holds FREE where free."""
    at = np.uintp((bits * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(50))
    while slots[at] != FREE and keys[at] != bits:
        at = (at + np.uintp(1)) & np.uintp(HASH_SIZE - 1)
    return at


@compiled
def scan_runs(  # pragma: no cover - compiled
    block: Any,
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

    The run that is open at the end of the block stays open; a background voxel behind the last one closes it.

    Args:
        block: 1-D unsigned view of the voxels in memory order.
        state: int64 vector carried between calls, see the constants above.
        carried: one-element array holding the value of the run that is open.
        keys: the hash table value -> slot: its values.
        slots: its slots; values of no structure are in it with slot NO_SLOT.
        slot_bits: bit pattern per slot, filled as values are met.
        row_length: voxels per row.
        runs: integers (capacity, 4): row, start, stop (half-open, within the row), slot.
        count: runs already in ``runs``.

    Returns:
        The new number of runs. ``state[STOPPED]`` is non-zero when the block is not used up.
    """
    size = block.size
    capacity = runs.shape[0]
    base = state[BASE]
    at = state[AT]
    row = state[ROW]
    row_end = state[ROW_END]
    run_start = state[RUN_START]
    slot = state[SLOT]
    value = carried[0]
    stopped = 0
    while at < size and not stopped:
        width = min(size - at, LANES)
        if at == 0:  # the voxel before the first is the last of the block before
            changed = np.uint64(block[0] != value)
            width = 1
        elif width == LANES:
            changed = changes(block, at)
        else:
            changed = np.uint64(0)
            for lane in range(width):
                changed |= np.uint64(block[at + lane] != block[at + lane - 1]) << np.uint64(lane)
        while changed != 0:
            edge = at + lowest_bit(changed)
            if slot >= 0:
                run_end = base + edge
                while run_start < run_end:
                    while row_end <= run_start:
                        row += 1
                        row_end += row_length
                    if count == capacity:
                        stopped = FULL
                        break
                    row_start = row_end - row_length
                    stop = min(run_end, row_end)
                    run = runs[np.uintp(count)]
                    run[0] = row
                    run[1] = run_start - row_start
                    run[2] = stop - row_start
                    run[3] = slot
                    count += 1
                    run_start = stop
                if stopped:
                    break
            value = block[np.uintp(edge)]
            run_start = base + edge
            slot = NO_SLOT
            if value != 0:
                bits = np.uint64(value)
                found = find_slot(bits, keys, slots)
                if slots[found] == FREE:
                    if state[SLOT_COUNT] == slot_bits.size:
                        stopped = TOO_MANY_VALUES
                        break
                    keys[found] = bits
                    slots[found] = state[SLOT_COUNT]
                    slot_bits[state[SLOT_COUNT]] = bits
                    state[SLOT_COUNT] += 1
                slot = slots[found]
            changed &= changed - np.uint64(1)
        # A scan that stopped goes on at the same change: it will be the first one found.
        at = edge if stopped else at + width
    state[AT] = at
    state[ROW] = row
    state[ROW_END] = row_end
    state[RUN_START] = run_start
    state[SLOT] = slot
    state[STOPPED] = stopped
    carried[0] = value
    return count


@compiled
def add_runs(  # pragma: no cover - compiled
    runs: Any,
    first: int,
    stop: int,
    rows_per_plane: int,
    steps0: Any,
    histogram1: Any,
    histogram2: Any,
    weights: Any,
    low: Any,
    high: Any,
) -> None:
    """Add runs ``first .. stop`` to the per-structure histograms along the three axes, and to the extremes.

    ``steps0`` (slots, n0 + 1) holds the *differences* of the histogram along the contiguous axis: +1 where a run
    starts, -1 where it stops; a cumulative sum turns it into the histogram.

    ``weights`` (functions, 3 storage axes) are integer linear functions of the voxel index, or none; ``low`` and
    ``high`` (slots, functions) take their extremes. A linear function is extreme at an end of a run.
    """
    plane = runs[first, 0] // rows_per_plane if first < stop else 0
    plane_end = (plane + 1) * rows_per_plane
    for at in range(np.uintp(first), np.uintp(stop)):
        run = runs[at]
        row = run[0]
        while row >= plane_end:
            plane += 1
            plane_end += rows_per_plane
        row_in_plane = row - plane_end + rows_per_plane
        length = run[2] - run[1]
        slot = np.uintp(run[3])
        steps0[slot, np.uintp(run[1])] += 1
        steps0[slot, np.uintp(run[2])] -= 1
        histogram1[slot, np.uintp(row_in_plane)] += length
        histogram2[slot, np.uintp(plane)] += length
        if weights is not None:
            for function in range(3):
                weight = weights[function]
                offset = weight[1] * row_in_plane + weight[2] * plane
                one = offset + weight[0] * run[1]
                other = offset + weight[0] * (run[2] - 1)
                low[slot, function] = min(low[slot, function], one, other)
                high[slot, function] = max(high[slot, function], one, other)


@compiled
def pack_runs(runs: Any, position_bits: int, packed: Any) -> None:  # pragma: no cover - compiled
    """Runs as int64 that ascend as the runs do: row, start, stop and slot, from the highest bits to the lowest.

    ``position_bits`` must hold the length of a row.
    """
    for at in range(np.uintp(runs.shape[0])):
        run = runs[at]
        ends = np.int64(run[0]) << position_bits | run[1]
        packed[at] = (ends << position_bits | run[2]) << SLOT_BITS | run[3]
