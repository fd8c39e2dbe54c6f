"""From shapes to voxels: a voxel belongs to a structure when its centre does."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import numpy.typing as npt

from monai_spatialqa.errors import GeometryError
from monai_spatialqa.phantoms.shape import Shape

Float = npt.NDArray[np.float64]

_POINTS_PER_SLAB = 1_000_000


def index_span(shape: Shape, affine: Float) -> tuple[Float, Float]:
    """Where a shape begins and ends along the grid axes, in voxel indices (0 is the centre of the first voxel).

    Exact on any grid, oblique and sheared ones included.

    Raises:
        GeometryError: when the matrix cannot be inverted.
    """
    inverse = _inverse(affine)
    low, high = shape.span_mm(inverse[:3, :3])
    return low + inverse[:3, 3], high + inverse[:3, 3]


def _inverse(affine: Float) -> Float:
    if not np.isfinite(affine).all() or np.linalg.det(affine[:3, :3]) == 0:
        raise GeometryError("the affine cannot be inverted", code="singular_affine", key="affine", found=affine)
    return np.asarray(np.linalg.inv(affine))


def world_slabs(
    affine: Float, start: npt.ArrayLike, stop: npt.ArrayLike
) -> Iterator[tuple[tuple[slice, slice, slice], Float]]:
    """World positions of the voxel centres in an index box, a few slices at a time to bound memory.

    Args:
        affine: index-to-RAS matrix.
        start: first index along each axis.
        stop: one past the last index.

    Yields:
        The slices of the slab and its positions (x, y, z, 3), RAS mm.
    """
    first, last = np.asarray(start, dtype=int), np.asarray(stop, dtype=int)
    if (last <= first).any():
        return
    ranges = [np.arange(a, b, dtype=np.float64) for a, b in zip(first, last, strict=True)]
    in_plane = ranges[0][:, None, None, None] * affine[:3, 0] + ranges[1][None, :, None, None] * affine[:3, 1]
    thickness = max(1, _POINTS_PER_SLAB // (len(ranges[0]) * len(ranges[1])))
    for begin in range(int(first[2]), int(last[2]), thickness):
        end = min(begin + thickness, int(last[2]))
        along = np.arange(begin, end, dtype=np.float64)[None, None, :, None] * affine[:3, 2] + affine[:3, 3]
        where = (slice(int(first[0]), int(last[0])), slice(int(first[1]), int(last[1])), slice(begin, end))
        yield where, in_plane + along


def paint(
    shapes: Iterable[Shape], affine: Float, label: npt.NDArray[np.integer], image: npt.NDArray[np.floating]
) -> None:
    """Write every shape into the label map and the image; later shapes overwrite earlier ones.

    Args:
        shapes: what to paint, in order. Parts outside the grid are left out.
        affine: index-to-RAS matrix of both arrays.
        label: (X, Y, Z), receives the shapes' ids, in place.
        image: (X, Y, Z), receives the shapes' intensities, in place.
    """
    size = np.asarray(label.shape)
    for shape in shapes:
        low, high = index_span(shape, affine)
        start = np.clip(np.ceil(low - 1e-6), 0, size)
        stop = np.clip(np.floor(high + 1e-6) + 1, 0, size)
        for where, points in world_slabs(affine, start, stop):
            inside = shape.contains(points)
            label[where][inside] = shape.label
            image[where][inside] = shape.intensity
