"""What a drawing needs to know of a label map: where a structure is, and its outline in one slice."""

from __future__ import annotations

from collections.abc import Container
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from monai_spatialqa.errors import LabelValueError
from monai_spatialqa.rendering.slices import SliceView

_IDS_SHOWN = 20


class IndexBox(NamedTuple):
    """Half-open box of voxel indices in the RAS grid."""

    start: tuple[int, int, int]
    stop: tuple[int, int, int]

    @property
    def center_voxel(self) -> tuple[int, int, int]:
        """The voxel at the middle of the box; the lower one of two."""
        a, b = self.start, self.stop
        return (a[0] + b[0] - 1) // 2, (a[1] + b[1] - 1) // 2, (a[2] + b[2] - 1) // 2

    @property
    def corners(self) -> npt.NDArray[np.float64]:
        """Index positions (2, 3) of the two outermost voxel corners, half a voxel beyond the centres."""
        return np.array([self.start, self.stop], dtype=np.float64) - 0.5


def structure_box(label_ras: npt.NDArray[np.generic], structure_label: int) -> IndexBox:
    """The index box of one structure, found slice by slice with no volume-sized temporary.

    Args:
        label_ras: (X, Y, Z) integer or bool ids in RAS axis order.
        structure_label: the id.

    Returns:
        Its half-open box.

    Raises:
        LabelValueError: when the map does not hold whole numbers, or does not hold the id; the ids present are named.
    """
    if label_ras.dtype.kind not in "iub":
        raise LabelValueError(
            "a label map to draw holds whole numbers",
            code="not_integer",
            found=label_ras.dtype,
            expected="an integer or bool type",
            next_step="read the labels in the file's own type, or round them after checking",
        )
    slow = int(np.argmax(np.abs(label_ras.strides)))
    others = [axis for axis in range(3) if axis != slow]
    slices = np.moveaxis(label_ras, slow, 0)
    occupied = [np.zeros(length, dtype=bool) for length in label_ras.shape]
    for index, flat in enumerate(slices):
        mask = flat == structure_label
        if mask.any():
            occupied[slow][index] = True
            occupied[others[0]] |= mask.any(axis=1)
            occupied[others[1]] |= mask.any(axis=0)
    if not occupied[slow].any():
        raise _absent(label_ras, structure_label)
    ends = [np.flatnonzero(line)[[0, -1]] for line in occupied]
    (x0, x1), (y0, y1), (z0, z1) = [(int(first), int(last) + 1) for first, last in ends]
    return IndexBox((x0, y0, z0), (x1, y1, z1))


def _absent(label_ras: npt.NDArray[np.generic], structure_label: int) -> LabelValueError:
    present = [int(value) for value in np.unique(label_ras) if value != 0]
    shown = ", ".join(map(str, present[:_IDS_SHOWN])) + (", ..." if len(present) > _IDS_SHOWN else "")
    return LabelValueError(
        f"label {structure_label} is not in the label map",
        code="absent_label",
        found=f"{len(present)} ids present: {shown}" if present else "only background",
        expected=structure_label,
        next_step="draw a structure that is present",
    )


def outlines_mm(mask: SliceView) -> list[npt.NDArray[np.float64]]:
    """Closed outlines of a mask slice, exactly along the pixel edges: one pixel gives a rectangle.

    Pixels that meet only at a corner have outlines of their own; holes have theirs.

    Args:
        mask: slice whose pixels are true inside. Parts that reach the image's edge are closed along it.

    Returns:
        One (n, 2) array of x, y corners per outline, the first one repeated at the end; mm rightwards and downwards
        from the image's top left corner.
    """
    height, width = mask.pixel_size_mm
    edges = _directed_edges(np.asarray(mask.pixels, dtype=bool))
    waiting = dict.fromkeys(edges)
    outlines = []
    while waiting:
        start = edge = next(iter(waiting))  # a top edge, and the left end of a row of them
        corners = [start[:2]]
        while True:
            del waiting[edge]
            after = _next_edge(edge, edges)
            if after[2] != edge[2]:
                corners.append(after[:2])
            if after == start:
                break
            edge = after
        outlines.append(np.array(corners, dtype=np.float64)[:, ::-1] * (width, height))
    return outlines


_Edge = tuple[int, int, int]
"""Row and column of the corner where a pixel edge starts, and its heading."""

_STEPS = ((0, 1), (1, 0), (0, -1), (-1, 0))
"""Row and column steps of the headings right, down, left, up."""


def _directed_edges(inside: npt.NDArray[np.bool_]) -> dict[_Edge, None]:
    """Pixel edges between inside and outside, headed so that the inside lies on their right; top edges come first."""
    around = np.pad(inside, 1)
    neighbours = (around[:-2, 1:-1], around[1:-1, 2:], around[2:, 1:-1], around[1:-1, :-2])  # above, right, below, left
    starts = ((0, 0), (0, 1), (1, 1), (1, 0))
    edges: dict[_Edge, None] = {}
    for heading, (neighbour, start) in enumerate(zip(neighbours, starts, strict=True)):
        for row, column in (np.argwhere(inside & ~neighbour) + start).tolist():
            edges[row, column, heading] = None
    return edges


def _next_edge(edge: _Edge, edges: Container[_Edge]) -> _Edge:
    """The edge that goes on where this one ends; where two pixels touch, the right turn stays with the same pixel."""
    row, column, heading = edge
    row, column = row + _STEPS[heading][0], column + _STEPS[heading][1]
    ways = ((row, column, (heading + turn) % 4) for turn in (1, 0, 3))
    return next(way for way in ways if way in edges)
