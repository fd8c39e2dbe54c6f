"""Compiled loops: the nearest two voxels of two structures, by branch and bound over cells of surface voxels.

A first pair is found by walking to and fro: the voxel of one structure nearest to a voxel of the other, then the
nearest of the other to that, until it comes no nearer. Its distance is the bound: cells that are farther from all of the
other structure are dropped, then pairs of cells, then voxels. Everything that might be as near is looked at, so of equal
distances the same pair always wins: the one whose first voxel, then whose second voxel comes first in the RAS grid.

The bound of two boxes is computed as the distance is, from whole numbers of voxels that are not larger. Rounding is
monotonic, so that not even the last bit of it can drop a pair wrongly.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from monai_spatialqa.geometry.compiled import compiled


@compiled
def squared(squares: Any, cross: Any, sheared: bool, one: Any, other: Any) -> Any:  # pragma: no cover - compiled
    """Squared distance of two voxels, mm2; the arguments are those of ``GridMetric``."""
    x = np.int64(other[0]) - np.int64(one[0])
    y = np.int64(other[1]) - np.int64(one[1])
    z = np.int64(other[2]) - np.int64(one[2])
    found = squares[0, np.uintp(abs(x))] + squares[1, np.uintp(abs(y))] + squares[2, np.uintp(abs(z))]
    if sheared:
        found += cross[0] * np.float64(x * y) + cross[1] * np.float64(x * z) + cross[2] * np.float64(y * z)
    return found


@compiled
def _box_bound(squares: Any, share: float, one: Any, other: Any) -> Any:  # pragma: no cover - compiled
    """No voxels of two boxes (6,) are nearer than this, mm2."""
    x = max(0, np.int64(other[0]) - np.int64(one[3]), np.int64(one[0]) - np.int64(other[3]))
    y = max(0, np.int64(other[1]) - np.int64(one[4]), np.int64(one[1]) - np.int64(other[4]))
    z = max(0, np.int64(other[2]) - np.int64(one[5]), np.int64(one[2]) - np.int64(other[5]))
    return share * (squares[0, np.uintp(x)] + squares[1, np.uintp(y)] + squares[2, np.uintp(z)])


@compiled
def _voxel_bound(squares: Any, share: float, voxel: Any, box: Any) -> Any:  # pragma: no cover - compiled
    """No voxel of a box (6,) is nearer to a voxel than this, mm2."""
    x = max(0, np.int64(box[0]) - np.int64(voxel[0]), np.int64(voxel[0]) - np.int64(box[3]))
    y = max(0, np.int64(box[1]) - np.int64(voxel[1]), np.int64(voxel[1]) - np.int64(box[4]))
    z = max(0, np.int64(box[2]) - np.int64(voxel[2]), np.int64(voxel[2]) - np.int64(box[5]))
    return share * (squares[0, np.uintp(x)] + squares[1, np.uintp(y)] + squares[2, np.uintp(z)])


@compiled
def _before(one: Any, other: Any) -> Any:  # pragma: no cover - compiled
    """Whether an index comes before another one, by the first axis, then the second, then the third."""
    if one[0] != other[0]:
        return one[0] < other[0]
    if one[1] != other[1]:
        return one[1] < other[1]
    return one[2] < other[2]


@compiled
def _nearest_to(  # pragma: no cover - compiled
    squares: Any, cross: Any, share: float, voxels: Any, first: Any, boxes: Any, begin: int, end: int, voxel: Any
) -> Any:
    """Which of the voxels in cells ``begin .. end`` is nearest to a given one; of several, any."""
    sheared = share < 1
    cell = begin
    lowest = np.inf
    for at in range(begin, end):
        bound = _voxel_bound(squares, share, voxel, boxes[at])
        if bound < lowest:
            lowest, cell = bound, at
    best = np.inf
    nearest = first[begin]
    for at in range(first[cell], first[cell + 1]):
        found = squared(squares, cross, sheared, voxel, voxels[at])
        if found < best:
            best, nearest = found, at
    for other in range(begin, end):
        if other != cell and _voxel_bound(squares, share, voxel, boxes[other]) < best:
            for at in range(first[other], first[other + 1]):
                found = squared(squares, cross, sheared, voxel, voxels[at])
                if found < best:
                    best, nearest = found, at
    return nearest


@compiled
def _near_cells(  # pragma: no cover - compiled
    squares: Any, share: float, boxes: Any, candidates: Any, box: Any, best: float, around: Any
) -> Any:
    """Keep the candidates that may have a voxel as near to a box as ``best``; ``around`` becomes their common box."""
    count = 0
    around[:3] = np.iinfo(np.int64).max
    around[3:] = -1
    for cell in candidates:
        if _box_bound(squares, share, boxes[cell], box) <= best:
            candidates[count] = cell
            count += 1
            for axis in range(3):
                around[axis] = min(around[axis], boxes[cell, axis])
                around[3 + axis] = max(around[3 + axis], boxes[cell, 3 + axis])
    return candidates[:count]


@compiled
def nearest_voxels(  # pragma: no cover - compiled
    squares: Any,
    cross: Any,
    share: float,
    voxels: Any,
    first: Any,
    boxes: Any,
    cells: Any,
    pairs: Any,
    best_squared: Any,
    best_voxels: Any,
) -> None:
    """The nearest voxels of pairs of structures that share no voxel.

    Args:
        squares, cross, share: see ``GridMetric``.
        voxels, first, boxes, cells: see ``SurfaceCells``.
        pairs: (P, 2) positions of structures with at least one voxel each.
        best_squared: float64 (P,), filled with squared distances, mm2.
        best_voxels: int64 (P, 2), filled with positions in ``voxels``.
    """
    sheared = share < 1
    middle = np.empty(3, np.int64)
    whole = np.empty(6, np.int64)
    near_a, near_b = np.empty(6, np.int64), np.empty(6, np.int64)
    for pair in range(pairs.shape[0]):
        begin_a, end_a = cells[pairs[pair, 0]], cells[pairs[pair, 0] + 1]
        begin_b, end_b = cells[pairs[pair, 1]], cells[pairs[pair, 1] + 1]

        # A first pair, from the middle of the second structure's box to and fro.
        candidates_b = np.arange(begin_b, end_b)
        _near_cells(squares, share, boxes, candidates_b, boxes[begin_b], np.inf, whole)
        for axis in range(3):
            middle[axis] = (whole[axis] + whole[3 + axis]) // 2
        a = _nearest_to(squares, cross, share, voxels, first, boxes, begin_a, end_a, middle)
        b = _nearest_to(squares, cross, share, voxels, first, boxes, begin_b, end_b, voxels[a])
        best = squared(squares, cross, sheared, voxels[a], voxels[b])
        while True:
            other_a = _nearest_to(squares, cross, share, voxels, first, boxes, begin_a, end_a, voxels[b])
            other_b = _nearest_to(squares, cross, share, voxels, first, boxes, begin_b, end_b, voxels[other_a])
            found = squared(squares, cross, sheared, voxels[other_a], voxels[other_b])
            if found >= best:
                break
            best, a, b = found, other_a, other_b

        candidates_a = _near_cells(squares, share, boxes, np.arange(begin_a, end_a), whole, best, near_a)
        candidates_b = _near_cells(squares, share, boxes, candidates_b, near_a, best, near_b)
        candidates_a = _near_cells(squares, share, boxes, candidates_a, near_b, best, near_a)
        for cell_a in candidates_a:
            bound = _box_bound(squares, share, boxes[cell_a], near_b)
            if bound > best or (bound == best and _before(voxels[a], boxes[cell_a])):
                continue
            for cell_b in candidates_b:
                bound = _box_bound(squares, share, boxes[cell_a], boxes[cell_b])
                if bound > best or (bound == best and _before(voxels[a], boxes[cell_a])):
                    continue
                for one in range(first[cell_a], first[cell_a + 1]):
                    bound = _voxel_bound(squares, share, voxels[one], boxes[cell_b])
                    if bound > best or (bound == best and _before(voxels[a], voxels[one])):
                        continue
                    for other in range(first[cell_b], first[cell_b + 1]):
                        found = squared(squares, cross, sheared, voxels[one], voxels[other])
                        if found < best or (
                            found == best
                            and (
                                _before(voxels[one], voxels[a])
                                or (not _before(voxels[a], voxels[one]) and _before(voxels[other], voxels[b]))
                            )
                        ):
                            best, a, b = found, one, other
        best_squared[pair] = best
        best_voxels[pair, 0] = a
        best_voxels[pair, 1] = b


@compiled
def overlap(  # pragma: no cover - compiled
    first: Any, second: Any, rows_per_plane: int, axes: Any, offset: Any, sign: Any, common: Any
) -> Any:
    """Voxels that two structures share; ``common`` (3,) becomes the first of them in the RAS grid.

    ``first`` and ``second`` are runs; ``axes``, ``offset`` and ``sign`` lead to the RAS grid (``ras_directions``).
    """
    count = np.int64(0)
    index = np.empty(3, np.int64)
    place = np.empty(3, np.int64)
    at = 0
    for n in range(first.shape[0]):
        while at < second.shape[0] and (
            second[at, 0] < first[n, 0] or (second[at, 0] == first[n, 0] and second[at, 2] <= first[n, 1])
        ):
            at += 1
        other = at
        while other < second.shape[0] and second[other, 0] == first[n, 0] and second[other, 1] < first[n, 2]:
            low, high = max(first[n, 1], second[other, 1]), min(first[n, 2], second[other, 2])
            index[2] = first[n, 0] // rows_per_plane
            index[1] = first[n, 0] - index[2] * rows_per_plane
            for end in (low, high - 1):  # one of them comes before all between
                index[0] = end
                for axis in range(3):
                    place[axis] = offset[axis] + sign[axis] * index[axes[axis]]
                if (count == 0 and end == low) or _before(place, common):
                    common[:] = place
            count += high - low
            other += 1
    return count
