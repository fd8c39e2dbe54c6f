"""From exact integers to figures: volume, box, centroid, band, truncation.

Pure arithmetic on columns of shape (N,), one entry per structure. The columns may be numpy arrays or tensors on any
device; every operation is an elementwise IEEE one, so the figures agree to the last bit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from monai_spatialqa.geometry.affine import Projection, RasGrid, to_world, voxel_volume_mm3
from monai_spatialqa.geometry.marginals import Columns, Marginals, real

RAS_FACES = (("left", "right"), ("posterior", "anterior"), ("inferior", "superior"))
"""Names of the low and high face of the field of view along each RAS axis."""

GRID_FACES = (("first_0", "last_0"), ("first_1", "last_1"), ("first_2", "last_2"))
"""Names of the faces when orientation is unknown: first and last layer of each grid axis."""


@dataclass(frozen=True)
class WorldBox:
    """Extremes of a structure over whole voxels, RAS mm; columns of shape (N,)."""

    low: Columns
    high: Columns


def volume_mm3(marginals: Marginals, grid: RasGrid) -> Any:
    """Voxel count x |det(affine)|, mm3, (N,)."""
    return real(marginals.count) * voxel_volume_mm3(grid.affine)


def volume_band_mm3(marginals: Marginals, grid: RasGrid) -> tuple[Any, Any]:
    """Volume when every boundary voxel counts half, mm3: the lower and the upper end, each (N,).

    Boundary voxels inside are those with a face on another value or on the edge of the grid; boundary voxels outside
    are those of the grid that share a face with the structure (6-neighbourhood). The lower end takes half a voxel away
    for each inside one, the upper end adds half a voxel for each outside one.
    """
    half_voxel = voxel_volume_mm3(grid.affine) / 2
    inside = marginals.count + marginals.interior
    outside = marginals.count + marginals.dilated
    return real(inside) * half_voxel, real(outside) * half_voxel


def centroid_ras_mm(marginals: Marginals, grid: RasGrid) -> Columns:
    """Mean of the voxel centres, RAS mm; three columns (N,)."""
    return to_world(grid.affine, [real(total) / real(marginals.count) for total in marginals.index_sum])


def centroid_voxel(marginals: Marginals) -> Columns:
    """Index of the voxel that holds the centroid (halves go up), RAS grid; three int64 columns (N,)."""
    return tuple((2 * total + marginals.count) // (2 * marginals.count) for total in marginals.index_sum)


def world_box(marginals: Marginals, grid: RasGrid, projection: Projection | None) -> WorldBox:
    """World-axis-aligned box around whole voxels, from the voxels themselves (not from the corners of the index box).

    ``projection`` must be the one whose extremes the marginals hold; None for a grid whose axes are the world's.
    """
    low, high = [], []
    for row in range(3):
        half = sum(abs(float(grid.affine[row, axis])) for axis in range(3)) / 2
        origin = float(grid.affine[row, 3])
        if projection is None:
            step = float(grid.affine[row, row])
            low.append(real(marginals.start[row]) * step + (origin - half))
            high.append(real(marginals.stop[row] - 1) * step + (origin + half))
        else:
            assert marginals.low is not None
            assert marginals.high is not None
            low.append(real(marginals.low[row]) / projection.scale + (origin - half))
            high.append(real(marginals.high[row]) / projection.scale + (origin + half))
    return WorldBox(low=tuple(low), high=tuple(high))


def box_center_ras_mm(marginals: Marginals, grid: RasGrid, world: WorldBox) -> Columns:
    """Centre of the box, RAS mm: of the index box; of the world box when the grid is sheared."""
    if grid.sheared:
        return tuple((low + high) / 2 for low, high in zip(world.low, world.high, strict=True))
    middle = [real(start + stop - 1) / 2 for start, stop in zip(marginals.start, marginals.stop, strict=True)]
    return to_world(grid.affine, middle)


def extent_mm(marginals: Marginals, grid: RasGrid, world: WorldBox) -> Columns:
    """Edge lengths of the box between outer voxel faces, mm: along grid axes; along world axes when sheared."""
    if grid.sheared:
        return tuple(high - low for low, high in zip(world.low, world.high, strict=True))
    return tuple(
        real(stop - start) * spacing
        for start, stop, spacing in zip(marginals.start, marginals.stop, grid.spacing_mm, strict=True)
    )


def reached_faces(marginals: Marginals, margin: int = 0) -> tuple[tuple[Any, Any], ...]:
    """Whether a structure has a voxel in the outermost layer of the grid: per axis, bool columns (low face, high face).

    ``margin`` widens the layer by so many voxels.
    """
    return tuple(
        (start <= margin, stop >= length - margin)
        for start, stop, length in zip(marginals.start, marginals.stop, marginals.shape, strict=True)
    )


def single_slice(marginals: Marginals) -> Any:
    """Whether a structure is one voxel thick along at least one grid axis, bool (N,)."""
    thin = [stop - start == 1 for start, stop in zip(marginals.start, marginals.stop, strict=True)]
    return thin[0] | thin[1] | thin[2]
