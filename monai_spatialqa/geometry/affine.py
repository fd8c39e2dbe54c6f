"""Arithmetic on 4x4 voxel-to-world matrices: spacing, orientation, shear, and the lossless way to the RAS grid.

World is RAS mm: x grows to the patient's right, y to the front, z to the head. Voxel indices mean voxel centres.
Everything returns Python floats or small numpy arrays; no voxel is touched.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from nibabel.orientations import axcodes2ornt, io_orientation, ornt2axcodes, ornt_transform
from numpy.typing import ArrayLike, NDArray

from monai_spatialqa.errors import GeometryError

SHEAR_COSINE = 1e-3
"""Axes whose angle is off 90 degrees by more than this (0.057 degrees) count as sheared."""

SINGULAR_RATIO = 1e-6
"""|det| below this share of the product of column norms means that the axes do not span space."""


def checked_affine(affine: ArrayLike) -> NDArray[np.float64]:
    """A finite, invertible 4x4 matrix as float64.

    Raises:
        GeometryError: when it is not 4x4, not finite, or singular.
    """
    matrix = np.array(affine, dtype=np.float64)
    if matrix.shape != (4, 4):
        raise GeometryError("the affine must be 4x4", key="affine", found=matrix.shape, expected="(4, 4)")
    if not np.isfinite(matrix).all():
        raise GeometryError(
            "the affine holds NaN or infinity",
            code="non_finite_affine",
            key="affine",
            found=matrix[:3].tolist(),
            expected="finite numbers",
            next_step="restore the header from the original scan",
        )
    norms = column_norms(matrix)
    if min(norms) == 0 or voxel_volume_mm3(matrix) <= SINGULAR_RATIO * math.prod(norms):
        raise GeometryError(
            "the affine is singular: its axes do not span space",
            code="singular_affine",
            key="affine",
            found=matrix[:3, :3].tolist(),
            expected="three independent columns",
            next_step="restore the header from the original scan",
        )
    return matrix


def column_norms(affine: NDArray[np.float64]) -> tuple[float, float, float]:
    """Voxel edge lengths in mm, one per grid axis."""
    return tuple(math.sqrt(sum(float(affine[row, axis]) ** 2 for row in range(3))) for axis in range(3))  # type: ignore[return-value]


def voxel_volume_mm3(affine: NDArray[np.float64]) -> float:
    """|det| of the 3x3 part: right whatever the rotation, flip or shear (a product of edge lengths is not)."""
    (a, b, c), (d, e, f), (g, h, i) = (tuple(map(float, row[:3])) for row in affine[:3])
    return abs(a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g))


def largest_axis_cosine(affine: NDArray[np.float64]) -> float:
    """Largest |cosine| between two grid axes: 0 when they are perpendicular."""
    unit = affine[:3, :3] / np.array(column_norms(affine))
    gram = unit.T @ unit
    return float(max(abs(gram[0, 1]), abs(gram[0, 2]), abs(gram[1, 2])))


def is_sheared(affine: NDArray[np.float64]) -> bool:
    """Whether the grid axes are not perpendicular, as after gantry tilt."""
    return largest_axis_cosine(affine) > SHEAR_COSINE


def without_shear(affine: NDArray[np.float64]) -> NDArray[np.float64]:
    """The nearest matrix with perpendicular axes and the same edge lengths and origin (what a qform can hold).

    Source: polar decomposition, as nibabel's ``set_qform(strip_shears=True)`` stores it.
    """
    norms = np.array(column_norms(affine))
    left, _, right = np.linalg.svd(affine[:3, :3] / norms)
    result = affine.copy()
    result[:3, :3] = (left @ right) * norms
    return result


def grid_corners(shape: Sequence[int]) -> NDArray[np.float64]:
    """Homogeneous indices (4, 8) of the eight corner voxel centres."""
    ends = [(0.0, float(length - 1)) for length in shape]
    corners = [(i, j, k, 1.0) for i in ends[0] for j in ends[1] for k in ends[2]]
    return np.array(corners).T


def corner_shift_mm(first: NDArray[np.float64], second: NDArray[np.float64], shape: Sequence[int]) -> float:
    """Largest distance in mm between the places two matrices give the same corner voxel."""
    return float(np.linalg.norm(((first - second) @ grid_corners(shape))[:3], axis=0).max())


def orientation_codes(affine: NDArray[np.float64]) -> str:
    """Axis codes such as ``"LPS"``: where each grid axis points, by the closest world axis."""
    return "".join(ornt2axcodes(io_orientation(affine)))


@dataclass(frozen=True)
class RasGrid:
    """A stored grid and the RAS grid it becomes by permuting and flipping axes only.

    Attributes:
        stored_shape: voxels along the axes of the array as stored.
        stored_affine: index to RAS mm, of the array as stored.
        source_axes: for each RAS axis, the stored axis it comes from.
        flipped: for each RAS axis, whether it runs against the stored axis.
        affine: index of the RAS grid to RAS mm.
        orientation: axis codes of the stored grid.
    """

    stored_shape: tuple[int, int, int]
    stored_affine: NDArray[np.float64]
    source_axes: tuple[int, int, int]
    flipped: tuple[bool, bool, bool]
    affine: NDArray[np.float64]
    orientation: str

    @classmethod
    def of(cls, shape: Sequence[int], affine: ArrayLike) -> RasGrid:
        """Work out the RAS grid of a stored one, as MONAI's ``Orientation("RAS")`` does.

        Raises:
            GeometryError: from :func:`checked_affine`.
        """
        matrix = checked_affine(affine)
        stored = io_orientation(matrix)
        transform = ornt_transform(stored, axcodes2ornt("RAS"))
        source_axes = [0, 0, 0]
        flipped = [False, False, False]
        ras = matrix.copy()
        for axis, (target, direction) in enumerate(transform):
            source_axes[int(target)] = axis
            flipped[int(target)] = bool(direction < 0)
            ras[:3, int(target)] = matrix[:3, axis] * direction
            if direction < 0:  # index 0 moves to the other end; multiplied out, so that every library rounds alike
                ras[:3, 3] += matrix[:3, axis] * (int(shape[axis]) - 1)
        return cls(
            stored_shape=tuple(int(length) for length in shape),  # type: ignore[arg-type]
            stored_affine=matrix,
            source_axes=tuple(source_axes),  # type: ignore[arg-type]
            flipped=tuple(flipped),  # type: ignore[arg-type]
            affine=ras + 0.0,  # no negative zeros
            orientation="".join(ornt2axcodes(stored)),
        )

    @property
    def shape(self) -> tuple[int, int, int]:
        """Voxels along the RAS axes."""
        return tuple(self.stored_shape[axis] for axis in self.source_axes)  # type: ignore[return-value]

    @cached_property
    def spacing_mm(self) -> tuple[float, float, float]:
        """Voxel edge lengths along the RAS axes."""
        return column_norms(self.affine)

    @cached_property
    def sheared(self) -> bool:
        """Whether the axes are not perpendicular."""
        return is_sheared(self.affine)

    @property
    def diagonal(self) -> bool:
        """Whether the RAS grid's axes are exactly the world's axes."""
        return bool((self.affine[:3, :3] == np.diag(np.diag(self.affine[:3, :3]))).all())

    def stored_index(self, index: Sequence[int]) -> tuple[int, int, int]:
        """The stored voxel behind a voxel of the RAS grid."""
        result = [0, 0, 0]
        for axis in range(3):
            source = self.source_axes[axis]
            result[source] = self.stored_shape[source] - 1 - index[axis] if self.flipped[axis] else index[axis]
        return tuple(result)  # type: ignore[return-value]


@dataclass(frozen=True)
class Projection:
    """World coordinates of voxel centres as integers, so that extremes over millions of voxels are exact.

    A world coordinate is ``translation + sum(weights * index) / scale``. The scale is a power of two chosen so that no
    sum overflows; the rounding error stays below 1e-9 mm for any scan.

    Attributes:
        weights: (3 world axes, 3 RAS-grid axes) Python integers.
        scale: the power of two.
    """

    weights: tuple[tuple[int, int, int], ...]
    scale: float

    @classmethod
    def of(cls, grid: RasGrid) -> Projection:
        """The projection of a grid's voxel centres on the three world axes."""
        reach = max(sum(abs(float(grid.affine[row, axis])) * grid.shape[axis] for axis in range(3)) for row in range(3))
        scale = 2.0 ** math.floor(60 - math.log2(reach))
        weights = tuple(tuple(round(float(grid.affine[row, axis]) * scale) for axis in range(3)) for row in range(3))
        return cls(weights=weights, scale=scale)  # type: ignore[arg-type]

    def stored_weights(self, grid: RasGrid) -> list[list[int]]:
        """The weights for the axes of the grid as stored."""
        rows = []
        for row in self.weights:
            stored = [0, 0, 0]
            for axis in range(3):
                stored[grid.source_axes[axis]] = -row[axis] if grid.flipped[axis] else row[axis]
            rows.append(stored)
        return rows


def to_world(affine: NDArray[np.float64], index: Sequence[Any]) -> tuple[Any, Any, Any]:
    """RAS mm of (fractional) voxel indices given as three columns.

    Written as separate multiplications and additions, never as a matrix product, so that every device and library
    rounds alike.
    """
    return tuple(
        index[0] * float(affine[row, 0])
        + index[1] * float(affine[row, 1])
        + index[2] * float(affine[row, 2])
        + float(affine[row, 3])
        for row in range(3)
    )
