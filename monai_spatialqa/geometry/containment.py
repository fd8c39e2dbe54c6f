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


@dataclass(frozen=True)
class DilatedHull:
    """The dilated convex hull of one structure; make it once to test many structures against it.

    Attributes:
        half_spaces: int64 (F, 4): a voxel ``x``, as an index along the run axes, is inside when
            ``half_spaces[:, :3] @ x <= half_spaces[:, 3]``. Whole numbers: centres on the border are told exactly.
        rows_per_plane: rows of the grid per plane.
    """

    half_spaces: NDArray[np.int64]
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
        normal = normal[np.argsort(np.abs(normal).sum(axis=1), kind="stable")]  # the box first: it decides most voxels
        reach = _farthest(normal, points[hull.vertices])
        return cls(np.concatenate([normal, reach[:, None]], axis=1), grid.shape[1])

    def voxels_inside(self, runs: Runs) -> int:
        """How many voxels of a structure are inside."""
        return int(_inside(np.ascontiguousarray(runs), self.half_spaces, self.rows_per_plane))

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
def _inside(runs: Any, half_spaces: Any, rows_per_plane: int) -> int:  # pragma: no cover - compiled
    """Voxels of the runs that are in all half-spaces: a convex set meets a run in one interval."""
    total = 0
    for at in range(runs.shape[0]):
        row = np.int64(runs[at, 0])
        k = row // rows_per_plane
        j = row - k * rows_per_plane
        low, high = int(runs[at, 1]), int(runs[at, 2]) - 1
        for f in range(half_spaces.shape[0]):
            step = half_spaces[f, 0]
            rest = half_spaces[f, 3] - half_spaces[f, 1] * j - half_spaces[f, 2] * k  # step * i <= rest
            if step > 0:
                if step * high > rest:
                    high = rest // step
            elif step < 0:
                if step * low > rest:
                    low = -(rest // -step)
            elif rest < 0:
                high = low - 1
            if low > high:
                break
        total += high - low + 1 if low <= high else 0
    return total
