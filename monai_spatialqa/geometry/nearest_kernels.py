"""Compiled loops: the nearest two voxels of two structures, by branch and bound over trees of boxes.

A first pair is found by walking to and fro between the structures; its distance is the bound. Then pairs of boxes are
split, nearest first, and those dropped that are farther apart than the best pair found so far. Everything that might
be as near is looked at, so of equal distances the same pair always wins: the one whose first voxel, then whose second
voxel comes first in the RAS grid.

On perpendicular axes the bound of two boxes is computed as the distance is, from whole numbers of voxels that are not
larger. Rounding is monotonic, so that not even the last bit of it can drop a pair wrongly; on sheared axes the bound is
taken a little lower than it is.

``tree`` stands for voxels, boxes, first, stop and leaves of a ``SurfaceTree``; ``squares``, ``cross``, ``frame`` and
``shortest`` are those of ``GridMetric``. On first use the loops are compiled once for perpendicular axes (``frame`` is
None) and once for sheared ones.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from monai_spatialqa.geometry.compiled import compiled


@compiled
def _squared(  # pragma: no cover - compiled
    squares: Any, cross: Any, frame: Any, voxels: Any, one: int, other: int
) -> Any:
    """Squared distance of two voxels, mm2."""
    x = np.int64(voxels[other, 0]) - np.int64(voxels[one, 0])
    y = np.int64(voxels[other, 1]) - np.int64(voxels[one, 1])
    z = np.int64(voxels[other, 2]) - np.int64(voxels[one, 2])
    found = squares[0, np.uintp(abs(x))] + squares[1, np.uintp(abs(y))] + squares[2, np.uintp(abs(z))]
    if frame is not None:
        found += cross[0] * np.float64(x * y) + cross[1] * np.float64(x * z) + cross[2] * np.float64(y * z)
    return found


@compiled
def _gap(low: float, high: float) -> Any:  # pragma: no cover - compiled
    """Smallest size of a number between two."""
    return max(0, low, -high)


@compiled
def _offset_bound(  # pragma: no cover - compiled
    squares: Any, frame: Any, x_low: int, x_high: int, y_low: int, y_high: int, z_low: int, z_high: int
) -> Any:
    """No offset between the two along each axis, ends included, is shorter than this, mm2."""
    if frame is None:
        x, y, z = np.uintp(_gap(x_low, x_high)), np.uintp(_gap(y_low, y_high)), np.uintp(_gap(z_low, z_high))
        return squares[0, x] + squares[1, y] + squares[2, z]
    # Along each axis of the frame from the least to the most that the offsets can add up to.
    first = _gap(
        frame[0, 0] * x_low
        + min(frame[0, 1] * y_low, frame[0, 1] * y_high)
        + min(frame[0, 2] * z_low, frame[0, 2] * z_high),
        frame[0, 0] * x_high
        + max(frame[0, 1] * y_low, frame[0, 1] * y_high)
        + max(frame[0, 2] * z_low, frame[0, 2] * z_high),
    )
    second = _gap(
        frame[1, 1] * y_low + min(frame[1, 2] * z_low, frame[1, 2] * z_high),
        frame[1, 1] * y_high + max(frame[1, 2] * z_low, frame[1, 2] * z_high),
    )
    third = _gap(frame[2, 2] * z_low, frame[2, 2] * z_high)
    return first * first + second * second + third * third


@compiled
def _box_bound(squares: Any, frame: Any, boxes: Any, one: int, other: int) -> Any:  # pragma: no cover - compiled
    """No voxels of two boxes are nearer than this, mm2."""
    return _offset_bound(
        squares,
        frame,
        np.int64(boxes[other, 0]) - np.int64(boxes[one, 3]),
        np.int64(boxes[other, 3]) - np.int64(boxes[one, 0]),
        np.int64(boxes[other, 1]) - np.int64(boxes[one, 4]),
        np.int64(boxes[other, 4]) - np.int64(boxes[one, 1]),
        np.int64(boxes[other, 2]) - np.int64(boxes[one, 5]),
        np.int64(boxes[other, 5]) - np.int64(boxes[one, 2]),
    )


@compiled
def _voxel_bound(  # pragma: no cover - compiled
    squares: Any, frame: Any, voxels: Any, voxel: int, boxes: Any, box: int
) -> Any:
    """No voxel of a box is nearer to a voxel than this, mm2."""
    x, y, z = np.int64(voxels[voxel, 0]), np.int64(voxels[voxel, 1]), np.int64(voxels[voxel, 2])
    return _offset_bound(
        squares,
        frame,
        boxes[box, 0] - x,
        boxes[box, 3] - x,
        boxes[box, 1] - y,
        boxes[box, 4] - y,
        boxes[box, 2] - z,
        boxes[box, 5] - z,
    )


@compiled
def _before(voxels: Any, one: int, others: Any, other: int) -> Any:  # pragma: no cover - compiled
    """Whether an index comes before another one, by the first axis, then the second, then the third.

    The lowest corner of a box comes before all in it: boxes may stand for voxels.
    """
    if voxels[one, 0] != others[other, 0]:
        return voxels[one, 0] < others[other, 0]
    if voxels[one, 1] != others[other, 1]:
        return voxels[one, 1] < others[other, 1]
    return voxels[one, 2] < others[other, 2]


@compiled
def _descend(  # pragma: no cover - compiled
    squares: Any, cross: Any, frame: Any, tree: Any, root: int, at: int
) -> Any:
    """A voxel below ``root`` near to the voxel ``at``: the nearest one of the leaf that seems nearest."""
    voxels, boxes, first, stop, leaves = tree
    node = root
    while node >= leaves:
        lowest = np.inf
        chosen = first[node]
        for child in range(first[node], stop[node]):
            bound = _voxel_bound(squares, frame, voxels, at, boxes, child)
            if bound < lowest:
                lowest, chosen = bound, child
        node = chosen
    best = np.inf
    nearest = first[node]
    for voxel in range(first[node], stop[node]):
        found = _squared(squares, cross, frame, voxels, at, voxel)
        if found < best:
            best, nearest = found, voxel
    return nearest, best


@compiled
def _near_pair(  # pragma: no cover - compiled
    squares: Any, cross: Any, frame: Any, tree: Any, root_a: int, root_b: int
) -> Any:
    """Two voxels of two structures that are near to each other, and their squared distance: to and fro from any."""
    _, _, first, _, leaves = tree
    node = root_b
    while node >= leaves:
        node = first[node]
    a, b = -1, first[node]
    best = np.inf
    in_a = True
    while True:
        voxel, found = _descend(squares, cross, frame, tree, root_a if in_a else root_b, b if in_a else a)
        if found >= best:
            return best, a, b
        best = found
        if in_a:
            a = voxel
        else:
            b = voxel
        in_a = not in_a


@compiled
def _nearest_of_leaves(  # pragma: no cover - compiled
    squares: Any,
    cross: Any,
    frame: Any,
    shortest: float,
    tree: Any,
    leaf_a: int,
    leaf_b: int,
    best: float,
    a: int,
    b: int,
) -> Any:
    """The best pair of voxels: ``a`` and ``b``, or two of the leaves."""
    voxels, boxes, first, stop, _ = tree
    for one in range(first[leaf_a], stop[leaf_a]):
        bound = max(shortest, _voxel_bound(squares, frame, voxels, one, boxes, leaf_b))
        if bound > best or (bound == best and _before(voxels, a, voxels, one)):
            continue
        for other in range(first[leaf_b], stop[leaf_b]):
            found = _squared(squares, cross, frame, voxels, one, other)
            if found > best:
                continue
            if (
                found < best
                or _before(voxels, one, voxels, a)
                or (not _before(voxels, a, voxels, one) and _before(voxels, other, voxels, b))
            ):
                best, a, b = found, one, other
    return best, a, b


@compiled
def nearest_voxels(  # pragma: no cover - compiled
    squares: Any,
    cross: Any,
    frame: Any,
    shortest: float,
    tree: Any,
    roots: Any,
    best_squared: Any,
    best_voxels: Any,
) -> None:
    """The nearest voxels of pairs of structures that share no voxel.

    ``roots`` (P, 2) are those of the two structures of each pair. ``best_squared``, float64 (P,), is filled with
    squared distances, mm2, ``best_voxels``, int64 (P, 2), with positions in the tree's voxels.
    """
    voxels, boxes, first, stop, leaves = tree
    # A tree has at most 21 levels of at most 8 children, and one node of a pair is split at a time.
    nodes = np.empty((2 * 21 * 8, 2), np.int64)
    bounds = np.empty(nodes.shape[0], np.float64)
    for pair in range(roots.shape[0]):
        best, a, b = _near_pair(squares, cross, frame, tree, roots[pair, 0], roots[pair, 1])
        nodes[0, 0], nodes[0, 1] = roots[pair, 0], roots[pair, 1]
        bounds[0] = _box_bound(squares, frame, boxes, nodes[0, 0], nodes[0, 1])
        count = 1
        while count:
            count -= 1
            bound, node_a, node_b = bounds[count], nodes[count, 0], nodes[count, 1]
            if bound > best or (bound == best and _before(voxels, a, boxes, node_a)):
                continue
            larger = max(node_a, node_b)  # a larger number is no smaller node
            if larger < leaves:
                best, a, b = _nearest_of_leaves(squares, cross, frame, shortest, tree, node_a, node_b, best, a, b)
                continue
            lowest = np.inf
            chosen = count
            for child in range(first[larger], stop[larger]):
                bound = max(shortest, _box_bound(squares, frame, boxes, child, min(node_a, node_b)))
                if bound <= best:
                    nodes[count, 0] = child if node_a == larger else node_a
                    nodes[count, 1] = node_b if node_a == larger else child
                    bounds[count] = bound
                    if bound < lowest:
                        lowest, chosen = bound, count
                    count += 1
            if lowest < np.inf:  # the nearest one is looked at first
                top = count - 1
                bound, node_a, node_b = bounds[chosen], nodes[chosen, 0], nodes[chosen, 1]
                bounds[chosen], nodes[chosen, 0], nodes[chosen, 1] = bounds[top], nodes[top, 0], nodes[top, 1]
                bounds[top], nodes[top, 0], nodes[top, 1] = bound, node_a, node_b
        best_squared[pair] = best
        best_voxels[pair, 0] = a
        best_voxels[pair, 1] = b


@compiled
def overlap(  # pragma: no cover - compiled
    first: Any, second: Any, rows_per_plane: int, axes: Any, offset: Any, sign: Any, common: Any
) -> Any:
    """Voxels that two structures share; ``common`` (1, 3) becomes the first of them in the RAS grid.

    ``first`` and ``second`` are runs; ``axes``, ``offset`` and ``sign`` lead to the RAS grid (``ras_directions``).
    """
    count = np.int64(0)
    index = np.empty(3, np.int64)
    place = np.empty((1, 3), np.int64)
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
                    place[0, axis] = offset[axis] + sign[axis] * index[axes[axis]]
                if (count == 0 and end == low) or _before(place, 0, common, 0):
                    for axis in range(3):
                        common[0, axis] = place[0, axis]
            count += high - low
            other += 1
    return count
