"""Distances between voxel centres of one grid, in mm, from the difference of their RAS-grid indices.

On perpendicular axes, whichever way they point in the world, the squared distance is the sum of the squared offsets
along the axes. Sheared axes (gantry tilt) add a term for each pair of axes: then it is the exact world distance of the
affine. Either way it is computed in one fixed order of operations from whole numbers, so that equal offsets give equal
distances, bit for bit, wherever the voxels lie and however the volume was stored.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from monai_spatialqa.geometry.affine import RasGrid, largest_axis_cosine

PERPENDICULAR_COSINE = 1e-6
"""Axes whose cosine stays below this are perpendicular up to the rounding of a header in single precision.

Taking them for perpendicular changes a distance by less than one part in a million."""

_BOUND_SLACK = 1e-9
"""Relative, taken off distances along the frame of a sheared grid: far more than rounding, too little to cost time."""

_AXIS_PAIRS = ((0, 1), (0, 2), (1, 2))


@dataclass(frozen=True)
class GridMetric:
    """The squared distance of two voxels of a grid.

    It is ``squares[0, |d0|] + squares[1, |d1|] + squares[2, |d2|]`` for the offsets ``d`` along the RAS axes, plus, on
    a sheared grid, ``cross[0] * d0 * d1 + cross[1] * d0 * d2 + cross[2] * d1 * d2``.

    Attributes:
        squares: mm2, (3, longest axis): the square of a number of voxels along each RAS axis.
        cross: mm2, (3,): twice the products of the axes (0, 1), (0, 2) and (1, 2); 0 on perpendicular axes.
        frame: on a sheared grid, mm, (3, 3) upper triangular: takes an offset to perpendicular axes, on which no offset
            is longer than it is; None on perpendicular axes.
        neighbours: RAS index offsets (N, 3). Of a voxel that is nearest to another structure, at least one of these
            neighbours is not of its own structure, or lies outside the volume.
    """

    squares: NDArray[np.float64]
    cross: NDArray[np.float64]
    frame: NDArray[np.float64] | None
    neighbours: NDArray[np.int64]

    @classmethod
    def of(cls, grid: RasGrid) -> GridMetric:
        """The metric of a grid."""
        lengths = np.arange(max(grid.shape), dtype=np.float64)
        squares = np.stack([(spacing * lengths) ** 2 for spacing in grid.spacing_mm])
        if largest_axis_cosine(grid.affine) <= PERPENDICULAR_COSINE:
            faces = np.array(
                [[sign * (axis == at) for axis in range(3)] for at in range(3) for sign in (-1, 1)], np.int64
            )
            return cls(squares=squares, cross=np.zeros(3), frame=None, neighbours=faces)
        columns = [[float(grid.affine[row, axis]) for row in range(3)] for axis in range(3)]
        cross = np.array([2.0 * _dot(columns[a], columns[b]) for a, b in _AXIS_PAIRS])
        return cls(squares=squares, cross=cross, frame=_frame(grid), neighbours=_voronoi_neighbours(grid))

    @property
    def sheared(self) -> bool:
        """Whether the axes are not perpendicular."""
        return self.frame is not None

    @property
    def shortest(self) -> float:
        """No two voxels are nearer than this, mm2; on perpendicular axes some are as near."""
        return 0.0 if self.sheared or self.squares.shape[1] < 2 else float(self.squares[:, 1].min())


def _dot(one: list[float], other: list[float]) -> float:
    return one[0] * other[0] + one[1] * other[1] + one[2] * other[2]


def _frame(grid: RasGrid) -> NDArray[np.float64]:
    """The grid's axes seen from perpendicular ones, shortened a little for rounding; the diagonal is positive."""
    upper = np.linalg.qr(grid.affine[:3, :3])[1]
    return upper * np.where(np.diag(upper) < 0, -1.0, 1.0)[:, None] * (1 - _BOUND_SLACK)


def _voronoi_neighbours(grid: RasGrid) -> NDArray[np.int64]:
    """The offsets to all grid points that bound the region of space nearest to one of them: at most 14.

    A step to one of them leads nearer to any other grid point; on perpendicular axes six would do. Selling's reduction
    turns the axes into four vectors that sum to zero with no acute angle between two of them; the sums of some of the
    four are the offsets wanted (Conway and Sloane, "Low-dimensional lattices VI", Proc. R. Soc. Lond. A 436, 1992).
    """
    scale = max(grid.spacing_mm)
    axes = grid.affine[:3, :3] / scale
    four = [np.eye(3, dtype=np.int64)[axis] for axis in range(3)]
    four.append(-sum(four))
    obtuse = False
    while not obtuse:
        obtuse = True
        for a, b in combinations(range(4), 2):
            if float((axes @ four[a]) @ (axes @ four[b])) > 1e-12:
                c, d = (at for at in range(4) if at not in (a, b))
                four[c], four[d] = four[c] + four[a], four[d] + four[a]
                four[a] = -four[a]
                obtuse = False
                break
    sums = [sum(chosen) for size in (1, 2, 3) for chosen in combinations(four, size)]
    return np.unique(np.array(sums, np.int64), axis=0)
