"""The longest diameter of a structure in an axial slice, and the longest chord perpendicular to it, as RECIST has it.

Both lie in one slice along the third RAS axis and run between points of the structure's outline there: midpoints of
pixel edges with the structure on one side and none on the other (the border of the volume is outside), which are the
vertices of the outline at level 0.5. The longest distance between them is one between vertices of their convex hull.
That hull is also the one of all edge midpoints of all pixels, since an inner edge lies between two outer ones of its
line; so the ends of each row are enough.

The perpendicular is the longest chord of that convex hull, so it may cross a notch of the structure, as a caliper does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monai_spatialqa.geometry.affine import to_world
from monai_spatialqa.geometry.compiled import compiled
from monai_spatialqa.geometry.outline import convex_outline
from monai_spatialqa.geometry.runs import RunGrid, Runs

SAME_LENGTH = 1e-9
"""Lengths that differ relatively by less are equal; then the lower slice, then the smaller indices decide."""


@dataclass(frozen=True)
class AxialDiameter:
    """Longest diameter over all axial slices.

    On an oblique grid "axial" means the slices of the RAS grid; lengths and the right angle are those of the world.

    Attributes:
        longest_mm: its length.
        slice_index: index of its slice along the third axis of the RAS grid.
        ends_ras_mm: its ends, float64 (2, 3).
        perpendicular_mm: the longest chord perpendicular to it, in the same slice, of the outline's convex hull.
        perpendicular_ends_ras_mm: the ends of that, float64 (2, 3).
    """

    longest_mm: float
    slice_index: int
    ends_ras_mm: NDArray[np.float64]
    perpendicular_mm: float
    perpendicular_ends_ras_mm: NDArray[np.float64]


def axial_diameter(runs: Runs, grid: RunGrid) -> AxialDiameter | None:
    """The longest diameter of a structure in an axial slice; None for a structure without voxels.

    Of diameters of equal length the one in the lowest slice is taken, then the one whose ends have the smallest indices
    along the first RAS axis, then the second: memory order and orientation of the file do not matter.

    Args:
        runs: its runs, (R, 3).
        grid: where they lie.
    """
    if not len(runs):
        return None
    rows = _SliceRows.of(runs, grid)
    edges = grid.ras.affine[:3, :2]
    gram = edges.T @ edges
    bounds = rows.bounds(gram)
    order = np.argsort(-bounds, kind="stable")
    at, *corners = _longest(rows.low, rows.high, rows.first_line, rows.along, order, bounds, gram)
    ends = np.array(corners).reshape(2, 2) / 2
    outline = _vertices(rows.low[at], rows.high[at], rows.first_line, rows.along) / 2
    chord = _perpendicular_chord(outline[np.lexsort(outline.T[::-1])], gram @ (ends[1] - ends[0]))
    slice_index = rows.first_slice + at

    def in_world(pair: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.stack(to_world(grid.ras.affine, (pair[:, 0], pair[:, 1], slice_index)), axis=1)

    return AxialDiameter(
        longest_mm=float(np.linalg.norm(edges @ (ends[1] - ends[0]))),
        slice_index=slice_index,
        ends_ras_mm=in_world(ends),
        perpendicular_mm=float(np.linalg.norm(edges @ (chord[1] - chord[0]))),
        perpendicular_ends_ras_mm=in_world(chord),
    )


@dataclass(frozen=True)
class _SliceRows:
    """First and last pixel of a structure on every line of every slice of its box, in RAS-grid indices.

    Attributes:
        low, high: int64 (slices, lines); ``low > high`` where a line is empty.
        first_slice: index of the first slice.
        first_line: index of the first line along the RAS axis across the lines.
        along: RAS axis, 0 or 1, along the lines: the one that memory order suggests.
    """

    low: NDArray[np.int64]
    high: NDArray[np.int64]
    first_slice: int
    first_line: int
    along: int

    @classmethod
    def of(cls, runs: Runs, grid: RunGrid) -> _SliceRows:
        """The lines run along the contiguous axis; where that is the slices' own axis, along the next one."""
        w = grid.run_axis(2)
        u = 1 if w == 0 else 0
        v = 3 - u - w
        first, last = _index_ranges(runs, grid)
        line, slices = int(first[v].min()), (int(first[w].min()), int(last[w].max()) + 1)
        shape = slices[1] - slices[0], int(first[v].max()) + 1 - line
        limits = np.iinfo(np.int64)
        low, high = np.full(shape, limits.max), np.full(shape, limits.min)
        _fill(first[u], last[u], first[v] - line, first[w] - slices[0], last[w] - slices[0], low, high)
        return cls(low, high, slices[0], line, 0 if grid.run_axis(0) == u else 1)

    def bounds(self, gram: NDArray[np.float64]) -> NDArray[np.float64]:
        """Above the squared diameter of every slice, in half pixels as ``gram`` measures them; -1 for an empty one."""
        filled = self.low <= self.high
        first, last = filled.argmax(axis=1), filled.shape[1] - filled[:, ::-1].argmax(axis=1)
        across = 2.0 * (last - first)
        along = 2.0 * (self.high.max(axis=1).astype(float) - self.low.min(axis=1) + 1)
        at = self.along
        squares = gram[at, at] * along**2 + gram[1 - at, 1 - at] * across**2 + 2 * abs(gram[0, 1]) * along * across
        return np.where(filled.any(axis=1), squares, -1.0)


def _index_ranges(runs: Runs, grid: RunGrid) -> tuple[list[NDArray[np.int64]], list[NDArray[np.int64]]]:
    """First and last (inclusive) RAS-grid index of every run, for the three run axes."""
    row, start, stop = (runs[:, at].astype(np.int64) for at in range(3))
    k, j = np.divmod(row, grid.shape[1])
    first, last = [start, j, k], [stop - 1, j, k]
    for axis in range(3):
        run_axis = grid.run_axis(axis)
        if grid.ras.flipped[axis]:
            end = grid.shape[run_axis] - 1
            first[run_axis], last[run_axis] = end - last[run_axis], end - first[run_axis]
    return first, last


def _perpendicular_chord(outline: NDArray[np.float64], normal: NDArray[np.float64]) -> NDArray[np.float64]:
    """Ends (2, 2) of the longest chord of a convex polygon on which ``normal . x`` is constant.

    Its length is a concave function of that constant with kinks where the chord meets a vertex: one of those is the
    longest. Of equally long ones, that of the first vertex.

    Args:
        outline: the vertices (H, 2), in ascending order.
        normal: (2,).
    """
    center = outline.mean(axis=0)
    around = outline[np.argsort(np.arctan2(*(outline - center).T), kind="stable")]
    direction = np.array([-normal[1], normal[0]])
    height, level = around @ normal, outline @ normal
    following = np.roll(around, -1, axis=0)
    rise = np.roll(height, -1) - height
    with np.errstate(divide="ignore", invalid="ignore"):
        share = (level[:, None] - height) / rise
    points = around + np.nan_to_num(share)[..., None] * (following - around)
    place = points @ direction
    met = (share >= 0) & (share <= 1) & (rise != 0)
    first, last = np.where(met, place, np.inf), np.where(met, place, -np.inf)
    length = last.max(axis=1) - first.min(axis=1)
    at = int(np.flatnonzero(length >= length.max() * (1 - SAME_LENGTH))[0])
    ends = points[at, [first[at].argmin(), last[at].argmax()]]
    return ends[np.lexsort(ends.T[::-1])]


@compiled
def _fill(  # pragma: no cover - compiled
    start: Any, last: Any, line: Any, first_slice: Any, last_slice: Any, low: Any, high: Any
) -> None:
    """Widen the lines' extents by every run; a run may span many slices."""
    for at in range(line.size):
        for w in range(first_slice[at], last_slice[at] + 1):
            low[w, line[at]] = min(low[w, line[at]], start[at])
            high[w, line[at]] = max(high[w, line[at]], last[at])


@compiled
def _vertices(low: Any, high: Any, first_line: int, along: int) -> Any:  # pragma: no cover - compiled
    """Vertices of the hull of one slice's edge midpoints, in half pixels along RAS axes 0 and 1, int64 (H, 2)."""
    left = np.full(2 * low.size + 1, np.iinfo(np.int64).max)  # on the lines, and half way between them
    right = np.full(2 * low.size + 1, np.iinfo(np.int64).min)
    for v in range(low.size):
        if low[v] <= high[v]:
            for step in range(3):
                wider = step == 1
                left[2 * v + step] = min(left[2 * v + step], 2 * low[v] - wider)
                right[2 * v + step] = max(right[2 * v + step], 2 * high[v] + wider)
    outline = np.empty((2 * left.size, 2), np.int64)
    count = convex_outline(left, right, outline)
    vertices = np.empty((count, 2), np.int64)
    vertices[:, along] = outline[:count, 0]
    vertices[:, 1 - along] = outline[:count, 1] - 1 + 2 * first_line
    return vertices


@compiled
def _longest(  # pragma: no cover - compiled
    low: Any, high: Any, first_line: int, along: int, order: Any, bounds: Any, gram: Any
) -> Any:
    """Slice and the two ends, in half pixels, of the longest diameter: (slice, x, y, x, y).

    Slices are looked at by descending bound, until none can be longer.
    """
    best = -1.0
    zero = np.int64(0)
    chosen = (zero, zero, zero, zero, zero)
    for at in order:
        if bounds[at] < best * (1 - SAME_LENGTH):
            break
        points = _vertices(low[at], high[at], first_line, along)
        for a in range(len(points)):
            for b in range(a):
                dx, dy = points[a, 0] - points[b, 0], points[a, 1] - points[b, 1]
                square = gram[0, 0] * dx * dx + gram[1, 1] * dy * dy + 2 * gram[0, 1] * dx * dy
                if square < best * (1 - SAME_LENGTH):
                    continue
                one, other = (points[a, 0], points[a, 1]), (points[b, 0], points[b, 1])
                if other < one:
                    one, other = other, one
                this = (at, one[0], one[1], other[0], other[1])
                if square > best * (1 + SAME_LENGTH) or this < chosen:
                    best = max(best, square)
                    chosen = this
    return chosen
