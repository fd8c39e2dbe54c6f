"""Compiled loops over runs: the voxels on both sides of every structure's surface.

Five lists of runs matter to a row: its own and those of its four neighbours. In most rows a structure has at most one
run in each list and these overlap: then the union and the intersection of the five follow from their ends alone. Where
it is not so, the union is painted into bits and the intersection is found by walking along the lists.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from monai_spatialqa.geometry.compiled import compiled
from monai_spatialqa.geometry.lanes import bit_count

# Columns of ``spans``, what the five lists of one row hold of a structure: the row, the ends of the union (LOW, HIGH)
# and of the intersection (INNER_LOW, INNER_HIGH), and flags.
SEEN, LOW, HIGH, INNER_LOW, INNER_HIGH, FLAGS = range(6)

SPAN_COLUMNS = 8
"""Two spans fill a cache line."""

# Flags: bit n, it is in list n; TWICE, a list has several runs of it; GAP, a run did not touch the union so far.
IN_ALL, TWICE, GAP = 0b11111, 1 << 5, 1 << 6


@compiled
def first_runs(runs: Any, first_row: int, pointer: Any) -> None:  # pragma: no cover - compiled
    """Fill ``pointer``: ``pointer[r - first_row]`` is the first of ``runs`` whose row is ``r`` or later."""
    filled = np.uintp(0)
    size = np.uintp(pointer.size)
    for at in range(np.uintp(runs.shape[0])):
        until = runs[at, 0] - first_row
        while np.int64(filled) <= until and filled < size:
            pointer[filled] = at
            filled += np.uintp(1)
    pointer[filled:] = runs.shape[0]


@compiled
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
    spans: Any,
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
        spans: scratch (slots, SPAN_COLUMNS), filled with -1 before the first call and kept between calls.
    """
    # The own row, those before and after it in its plane, those in the planes before and after.
    first = np.zeros(5, np.int64)
    stop = np.zeros(5, np.int64)
    met = np.empty(spans.shape[0], np.uintp)
    bits = np.zeros((spans.shape[0], (row_length + 63) // 64), np.uint64)
    for plane in range(first_plane, stop_plane):
        for row_in_plane in range(rows_per_plane):
            row = plane * rows_per_plane + row_in_plane
            here = row - first_row
            first[0], stop[0] = pointer[here], pointer[here + 1]
            first[1:], stop[1:] = 0, 0  # outside the grid is an empty list
            if row_in_plane > 0:
                first[1], stop[1] = pointer[here - 1], pointer[here]
            if row_in_plane < rows_per_plane - 1:
                first[2], stop[2] = pointer[here + 1], pointer[here + 2]
            if plane > 0:
                first[3], stop[3] = pointer[here - rows_per_plane], pointer[here - rows_per_plane + 1]
            if plane < planes - 1:
                first[4], stop[4] = pointer[here + rows_per_plane], pointer[here + rows_per_plane + 1]

            count = _gather_own(runs, first[0], stop[0], row, row_length, spans, met)
            for side in range(1, 5):
                count = _gather(runs, first[side], stop[side], side, row, spans, met, count)
            unclear = 0
            for at in range(count):
                span = spans[met[at]]
                if not span[FLAGS] & GAP:
                    dilated[met[at]] += span[HIGH] - span[LOW]
                if span[FLAGS] & (IN_ALL | TWICE) == IN_ALL:
                    interior[met[at]] += max(0, span[INNER_HIGH] - span[INNER_LOW])
                unclear |= span[FLAGS]
            if unclear & GAP:
                _unite(runs, first, stop, row_length, spans, met[:count], bits, dilated)
            if unclear & TWICE:
                _intersect(runs, first, stop, spans, interior)


@compiled
def _gather_own(  # pragma: no cover - compiled
    runs: Any, first: int, stop: int, row: int, row_length: int, spans: Any, met: Any
) -> Any:
    """Begin a row's spans with its own runs: one voxel wider for the union, one narrower for the intersection."""
    count = 0
    for at in range(np.uintp(first), np.uintp(stop)):
        run = runs[at]
        slot = np.uintp(run[3])
        span = spans[slot]
        low = max(run[1] - 1, 0)
        if span[SEEN] != row:
            met[count] = slot
            count += 1
            span[SEEN] = row
            span[LOW] = low
            span[INNER_LOW] = run[1] + 1
            span[INNER_HIGH] = run[2] - 1
            span[FLAGS] = 1
        else:
            span[FLAGS] |= TWICE | (low > span[HIGH]) * GAP
        span[HIGH] = min(run[2] + 1, row_length)
    return count


@compiled
def _gather(  # pragma: no cover - compiled
    runs: Any, first: int, stop: int, side: int, row: int, spans: Any, met: Any, count: int
) -> Any:
    """Add the runs of a neighbouring row to the spans; returns the new number of structures met."""
    for at in range(np.uintp(first), np.uintp(stop)):
        run = runs[at]
        start = run[1]
        end = run[2]
        slot = np.uintp(run[3])
        span = spans[slot]
        if span[SEEN] != row:
            met[count] = slot
            count += 1
            span[SEEN] = row
            span[LOW] = start
            span[HIGH] = end
            span[FLAGS] = 1 << side
        else:
            flags = span[FLAGS]
            again = (flags >> side) & 1
            apart = (start > span[HIGH]) | (end < span[LOW])
            span[FLAGS] = flags | (1 << side) | again * TWICE | apart * GAP
            span[LOW] = min(span[LOW], start)
            span[HIGH] = max(span[HIGH], end)
            span[INNER_LOW] = max(span[INNER_LOW], start)
            span[INNER_HIGH] = min(span[INNER_HIGH], end)
    return count


@compiled
def _unite(  # pragma: no cover - compiled
    runs: Any, first: Any, stop: Any, row_length: int, spans: Any, met: Any, bits: Any, dilated: Any
) -> None:
    """Length of the union of the five lists, for structures whose union may have gaps.

    ``bits`` (slots, words) is zero before and after.
    """
    for side in range(5):
        wider = side == 0
        for at in range(np.uintp(first[side]), np.uintp(stop[side])):
            run = runs[at]
            slot = np.uintp(run[3])
            if spans[slot, FLAGS] & GAP:
                _set_bits(bits[slot], max(run[1] - wider, 0), min(run[2] + wider, row_length) - 1)
    for slot in met:
        span = spans[slot]
        if span[FLAGS] & GAP:
            for word in range(span[LOW] >> 6, ((span[HIGH] - 1) >> 6) + 1):
                dilated[slot] += bit_count(bits[slot, word])
                bits[slot, word] = 0


@compiled
def _set_bits(words: Any, low: int, last: int) -> None:  # pragma: no cover - compiled
    """Set the bits ``low .. last``."""
    ones = ~np.uint64(0)
    head = ones << np.uint64(low & 63)
    tail = ones >> np.uint64(63 - (last & 63))
    word = np.uintp(low >> 6)
    last_word = np.uintp(last >> 6)
    if word == last_word:
        words[word] |= head & tail
    else:
        words[word] |= head
        words[word + np.uintp(1) : last_word] = ones
        words[last_word] |= tail


@compiled
def _intersect(  # pragma: no cover - compiled
    runs: Any, first: Any, stop: Any, spans: Any, interior: Any
) -> None:
    """Voxels whose six neighbours are of the same structure, for structures with several runs in one of the lists."""
    at = first.copy()  # where the walk along each list is: it only goes forward
    for own in range(np.uintp(first[0]), np.uintp(stop[0])):
        slot = runs[own, 3]
        if spans[np.uintp(slot), FLAGS] & (IN_ALL | TWICE) != IN_ALL | TWICE:
            continue
        here = runs[own, 1] + 1
        limit = runs[own, 2] - 1
        while here < limit:
            until = limit
            resume = here
            for side in range(1, 5):
                p = np.uintp(at[side])
                end = np.uintp(stop[side])
                while p < end and runs[p, 2] <= here:
                    p += np.uintp(1)
                at[side] = p
                if p == end:
                    resume = limit
                elif runs[p, 3] != slot:
                    resume = max(resume, runs[p, 2])
                elif runs[p, 1] > here:
                    resume = max(resume, runs[p, 1])
                else:
                    until = min(until, runs[p, 2])
            if resume > here:
                here = resume
            else:
                interior[slot] += until - here
                here = until
