"""The convex hull of points that lie on the rows of a lattice: whole numbers throughout, so it is exact."""

from __future__ import annotations

from typing import Any

from monai_spatialqa.geometry.compiled import compiled


@compiled
def convex_outline(low: Any, high: Any, outline: Any) -> int:  # pragma: no cover - compiled
    """Vertices of the convex hull of the points ``(low[v], v)`` and ``(high[v], v)``.

    Args:
        low: first point of every row, int64 (V,).
        high: last point of every row; smaller than the first where a row is empty.
        outline: int64 (2 V, 2), filled with (position, row): up along ``high``, then down along ``low``.

    Returns:
        How many vertices there are; none lies on a line between its neighbours.
    """
    count = 0
    for v in range(low.size):
        if low[v] <= high[v]:
            count = _append(outline, 0, count, high[v], v)
    side = -1  # where the way down begins in ``outline``
    for v in range(low.size - 1, -1, -1):
        if low[v] > high[v]:
            continue
        if side < 0:
            side = count
            if low[v] == high[v]:  # the last row is a single point, from which both ways go
                side -= 1
                continue
        count = _append(outline, side, count, low[v], v)
    if count > 1 and outline[count - 1, 0] == outline[0, 0] and outline[count - 1, 1] == outline[0, 1]:
        count -= 1
    return count


@compiled
def _append(outline: Any, first: int, count: int, u: int, v: int) -> int:  # pragma: no cover - compiled
    """Append a point to one side and drop what then no longer bulges outwards; returns the new number of points."""
    while count - first >= 2:
        ax, ay = outline[count - 2]
        bx, by = outline[count - 1]
        if (bx - ax) * (v - by) - (by - ay) * (u - bx) > 0:
            break
        count -= 1
    outline[count, 0], outline[count, 1] = u, v
    return count + 1
