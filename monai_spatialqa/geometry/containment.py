"""Containment: how much of one structure lies inside another, judged by the other's dilated convex hull.

Why a hull: the structures of a label map exclude each other. A tumour in a liver is a hole in the liver's voxels, so no
voxel of the tumour is one of the liver; but it lies inside the liver's convex hull. Why dilated: a tumour at the
surface reaches as far as the organ would, and the organ's outermost voxels around it are missing.

The hull is that of the voxels' outer corners (index +- 0.5), moved outwards by half a voxel along each grid axis: its
half-spaces ``n . x <= d`` become ``n . x <= d + |n|_1 / 2``. This is the exact Minkowski sum with a voxel, because the
hull of the corners is one itself. So a voxel counts as inside when its centre is at most one step (over a face, an edge
or a corner) away from the convex hull of the voxel centres, the border included. Everything happens in index space:
rotation, anisotropy and shear of the grid do not change it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import ConvexHull

from monai_spatialqa.geometry.compiled import compiled
from monai_spatialqa.geometry.outline import convex_outline
from monai_spatialqa.geometry.runs import RunGrid, Runs

BLOCK = 8
"""Rows and planes whose candidate facets are found together."""

SLACK = 1e-6
"""Relative rounding allowed while facets are sifted; what is left is decided in whole numbers."""


@dataclass(frozen=True)
class DilatedHull:
    """The dilated convex hull of one structure; make it once to test many structures against it.

    A convex set meets a row of voxels in one interval, so the hull is kept as the first and the last voxel of each row.

    Attributes:
        first_row, first_plane: index of the row and plane that ``low[0, 0]`` belongs to; may be outside the grid.
        low, high: first and last voxel inside, int32 (planes, rows); ``low > high`` where the hull misses the row.
        rows_per_plane: rows of the grid per plane.
    """

    first_row: int
    first_plane: int
    low: NDArray[np.int32]
    high: NDArray[np.int32]
    rows_per_plane: int

    @classmethod
    def of(cls, runs: Runs, grid: RunGrid) -> DilatedHull:
        """The dilated hull of a structure with at least one voxel."""
        points = _outer_points(np.ascontiguousarray(runs), grid.shape[1])
        origin = points.min(axis=0)
        hull = ConvexHull(points - origin)
        a, b, c = (points[hull.simplices[:, at]] for at in range(3))
        normal = np.cross(b - a, c - a)
        normal[(normal * hull.equations[:, :3]).sum(axis=1) < 0] *= -1
        normal //= np.maximum(np.gcd.reduce(normal, axis=1), 1)[:, None]
        normal = np.unique(normal[normal.any(axis=1)], axis=0)  # triangles of one facet have one normal
        reach = _farthest(normal, points[hull.vertices])
        # A voxel is inside when half_spaces[:, :3] @ index <= half_spaces[:, 3], in whole numbers.
        half_spaces = np.concatenate([normal, reach[:, None]], axis=1)
        shape = points.max(axis=0) - origin + 1
        low = np.zeros((int(shape[2]), int(shape[1])), np.int32)
        high = np.full_like(low, -1)
        _row_intervals(half_spaces, int(origin[1]), int(origin[2]), BLOCK, SLACK, low, high)
        return cls(int(origin[1]), int(origin[2]), low, high, grid.shape[1])

    def voxels_inside(self, runs: Runs) -> int:
        """How many voxels of a structure are inside."""
        return int(
            _inside(
                np.ascontiguousarray(runs), self.rows_per_plane, self.first_row, self.first_plane, self.low, self.high
            )
        )

    def share(self, runs: Runs) -> float:
        """Share of a structure's voxels that are inside, 0 to 1; NaN for a structure without voxels."""
        voxels = int((runs[:, 2].astype(np.int64) - runs[:, 1]).sum())
        return self.voxels_inside(runs) / voxels if voxels else math.nan


def contained_share(inner: Runs, outer: Runs, grid: RunGrid) -> float:
    """Share of the inner structure's voxels that lie inside the dilated convex hull of the outer one.

    Args:
        inner: runs (R, 3).
        outer: runs (R, 3). Swap the two for the other share.
        grid: where they lie.

    Returns:
        0 to 1; NaN where one of the two has no voxels.
    """
    return DilatedHull.of(outer, grid).share(inner) if len(inner) and len(outer) else math.nan


def _outer_points(runs: Runs, rows_per_plane: int) -> NDArray[np.int64]:
    """Points (N, 3) along the run axes whose convex hull is the dilated one: voxel centres moved one step, reduced."""
    plane, row = np.divmod(runs[:, 0].astype(np.int64), rows_per_plane)
    first = np.array([row.min() - 1, plane.min() - 1])
    size = np.array([row.max(), plane.max()]) + 2 - first
    low = np.full((size[1], size[0]), np.iinfo(np.int64).max)
    high = np.full((size[1], size[0]), np.iinfo(np.int64).min)
    points = _planes_outlines(runs, row - first[0], plane - first[1], low, high)
    points[:, 1:] += first
    return points


@compiled
def _planes_outlines(runs: Any, row: Any, plane: Any, low: Any, high: Any) -> Any:  # pragma: no cover - compiled
    """Vertices of the hull of every plane of the corners of the cubes (centre +- 1) around the voxels, (N, 3)."""
    for at in range(runs.shape[0]):
        for k in (plane[at] - 1, plane[at] + 1):
            for j in (row[at] - 1, row[at] + 1):
                low[k, j] = min(low[k, j], np.int64(runs[at, 1]) - 1)
                high[k, j] = max(high[k, j], np.int64(runs[at, 2]))
    outline = np.empty((2 * low.shape[1], 2), np.int64)
    points = np.empty((1024, 3), np.int64)
    total = 0
    for k in range(low.shape[0]):
        count = convex_outline(low[k], high[k], outline)
        while total + count > points.shape[0]:
            points = np.concatenate((points, points))
        points[total : total + count, :2] = outline[:count]
        points[total : total + count, 2] = k
        total += count
    return points[:total]


@compiled
def _farthest(normals: Any, points: Any) -> Any:  # pragma: no cover - compiled
    """How far the points reach along every normal, int64 (F,)."""
    reach = np.empty(normals.shape[0], np.int64)
    for f in range(normals.shape[0]):
        x, y, z = normals[f]
        reach[f] = np.iinfo(np.int64).min
        for n in range(points.shape[0]):
            reach[f] = max(reach[f], x * points[n, 0] + y * points[n, 1] + z * points[n, 2])
    return reach


@compiled
def _row_intervals(  # pragma: no cover - compiled
    half_spaces: Any, first_row: int, first_plane: int, block: int, slack: float, low: Any, high: Any
) -> None:
    """First and last voxel of every row that are in all half-spaces.

    The facets above and below a row are lower and upper bounds that are linear over the rows. For a block of rows only
    those matter that somewhere in it might bound more tightly than all others do everywhere in it: a few of thousands.
    """
    chosen = np.empty(half_spaces.shape[0], np.int64)
    for k0 in range(0, low.shape[0], block):
        k1 = min(k0 + block, low.shape[0]) - 1
        for j0 in range(0, low.shape[1], block):
            j1 = min(j0 + block, low.shape[1]) - 1
            least_high = np.inf  # every row of the block ends below this
            most_low = -np.inf
            missed = False
            for f in range(half_spaces.shape[0]):
                smallest, largest = _over_block(half_spaces, f, first_row, first_plane, j0, j1, k0, k1)
                step = half_spaces[f, 0]
                if step > 0:
                    least_high = min(least_high, largest)
                elif step < 0:
                    most_low = max(most_low, smallest)
                elif largest < 0:
                    missed = True
            if missed:
                continue
            count = 0
            for f in range(half_spaces.shape[0]):
                smallest, largest = _over_block(half_spaces, f, first_row, first_plane, j0, j1, k0, k1)
                step = half_spaces[f, 0]
                if (
                    (step > 0 and smallest <= least_high + slack * (1 + abs(least_high)))
                    or (step < 0 and largest >= most_low - slack * (1 + abs(most_low)))
                    or (step == 0 and smallest < 0)
                ):
                    chosen[count] = f
                    count += 1
            for k in range(k0, k1 + 1):
                for j in range(j0, j1 + 1):
                    low[k, j], high[k, j] = _row_interval(half_spaces, chosen[:count], j + first_row, k + first_plane)


@compiled
def _over_block(  # pragma: no cover - compiled
    half_spaces: Any, f: int, first_row: int, first_plane: int, j0: int, j1: int, k0: int, k1: int
) -> Any:
    """Smallest and largest bound that a half-space sets over a block of rows; its rest for one along the rows."""
    step = half_spaces[f, 0]
    smallest, largest = np.inf, -np.inf
    for k in (k0, k1):
        for j in (j0, j1):
            rest = half_spaces[f, 3] - half_spaces[f, 1] * (j + first_row) - half_spaces[f, 2] * (k + first_plane)
            bound = rest / step if step != 0 else float(rest)
            smallest = min(smallest, bound)
            largest = max(largest, bound)
    return smallest, largest


@compiled
def _row_interval(half_spaces: Any, chosen: Any, j: int, k: int) -> Any:  # pragma: no cover - compiled
    """First and last voxel of a row within some half-spaces, in whole numbers; (0, -1) where there is none."""
    low, high = np.int64(-(1 << 30)), np.int64(1 << 30)
    for f in chosen:
        step = half_spaces[f, 0]
        rest = half_spaces[f, 3] - half_spaces[f, 1] * j - half_spaces[f, 2] * k  # step * i <= rest
        if step > 0:
            high = min(high, rest // step)
        elif step < 0:
            low = max(low, -(rest // -step))
        elif rest < 0:
            return np.int64(0), np.int64(-1)
    return (low, high) if low <= high else (np.int64(0), np.int64(-1))


@compiled
def _inside(  # pragma: no cover - compiled
    runs: Any, rows_per_plane: int, first_row: int, first_plane: int, low: Any, high: Any
) -> Any:
    """Voxels of the runs that are within the intervals of their rows."""
    total = np.int64(0)
    for at in range(runs.shape[0]):
        row = np.int64(runs[at, 0])
        k = row // rows_per_plane
        j = row - k * rows_per_plane - first_row
        k -= first_plane
        if 0 <= k < low.shape[0] and 0 <= j < low.shape[1]:
            start = max(np.int64(runs[at, 1]), np.int64(low[k, j]))
            last = min(np.int64(runs[at, 2]) - 1, np.int64(high[k, j]))
            if start <= last:
                total += last - start + 1
    return total
