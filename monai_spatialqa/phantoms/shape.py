"""What every phantom structure can say about itself without a voxel: volume, box, centroid, and how far voxels may err.

Knows no grid and no anatomy. Positions are RAS+ mm: x grows towards the patient's right, y anterior, z superior.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from monai_spatialqa.errors import SettingsError

Vector = tuple[float, float, float]
ShapeT = TypeVar("ShapeT", bound="Shape")


def voxel_edges(grid: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """The three edge vectors of a voxel.

    Args:
        grid: three voxel sizes in mm (perpendicular axes), or a 3x3 or 4x4 index-to-world matrix (also sheared).

    Returns:
        (3, 3) float64, one edge vector per column, mm.

    Raises:
        SettingsError: when the argument has another shape or holds something that is not finite.
    """
    array = np.asarray(grid, dtype=np.float64)
    if array.shape not in {(3,), (3, 3), (4, 4)} or not np.isfinite(array).all():
        raise SettingsError(
            "a grid is given by three voxel sizes or by a 3x3 or 4x4 matrix",
            key="grid",
            found=f"array of shape {array.shape}",
        )
    return np.diag(array) if array.ndim == 1 else array[:3, :3]


def half_diagonal_mm(grid: npt.ArrayLike) -> float:
    """Half the longest diagonal of a voxel, mm: no point of a voxel is farther from its centre."""
    edges = voxel_edges(grid)
    signs = np.array([(1, 1, 1), (1, 1, -1), (1, -1, 1), (1, -1, -1)], dtype=np.float64)
    return float(np.linalg.norm(signs @ edges.T, axis=1).max() / 2)


def as_vector(values: npt.ArrayLike, key: str, *, positive: bool = False) -> Vector:
    """Three finite numbers as a tuple of floats.

    Raises:
        SettingsError: when there are not three, one is not finite, or one is not positive where that is asked.
    """
    array = np.asarray(values, dtype=np.float64)
    if array.shape != (3,) or not np.isfinite(array).all() or (positive and not (array > 0).all()):
        wanted = "three positive finite numbers" if positive else "three finite numbers"
        raise SettingsError(f"{key} is unusable", key=key, found=values, expected=wanted)
    return float(array[0]), float(array[1]), float(array[2])


@dataclass(frozen=True)
class Shape(ABC):
    """A solid in world space, with an id and a brightness, possibly with smaller solids taken out of it.

    Every figure is analytic. ``volume_mm3`` and ``centroid_ras_mm`` account for the holes; box, extent and box centre
    are those of the outer surface, because holes lie inside.

    Args:
        name: structure name.
        label: voxel value in the label map, at least 1.
        intensity: mean image value of its voxels: HU in a CT, arbitrary units in an MR.
        holes: solids inside this one that belong to other structures (a tumour in an organ).

    Raises:
        SettingsError: when the label is below 1, a number is not finite, or a hole's box is not inside the solid.
    """

    name: str
    label: int
    intensity: float
    holes: tuple[Shape, ...] = field(default=(), kw_only=True)

    def __post_init__(self) -> None:
        if self.label < 1:
            raise SettingsError("a structure's label starts at 1; 0 is background", key=self.name, found=self.label)
        if not math.isfinite(self.intensity):
            raise SettingsError("a structure's intensity is a finite number", key=self.name, found=self.intensity)
        for hole in self.holes:
            if not self._surely_holds(hole):
                raise SettingsError(
                    f"{hole.name} must lie inside {self.name}, its whole bounding box included",
                    key=hole.name,
                    next_step="make it smaller or move it towards the centre",
                )

    def _surely_holds(self, hole: Shape) -> bool:
        """For a convex solid: all corners of the hole's box are inside, hence the whole hole."""
        low, high = hole.world_box_ras_mm
        corners = np.stack(np.meshgrid(*zip(low, high, strict=True), indexing="ij"), axis=-1).reshape(-1, 3)
        return bool(self.solid_contains(corners).all())

    @abstractmethod
    def solid_contains(self, points_ras_mm: npt.ArrayLike) -> npt.NDArray[np.bool_]:
        """Which of the points (..., 3) lie in the solid or on its surface, holes filled: bool (...)."""

    @property
    @abstractmethod
    def solid_volume_mm3(self) -> float:
        """Volume with the holes filled, mm3."""

    @property
    @abstractmethod
    def solid_centroid_ras_mm(self) -> Vector:
        """Centre of mass with the holes filled, RAS mm."""

    @property
    @abstractmethod
    def surface_area_mm2(self) -> float:
        """Area of the outer surface, mm2."""

    @abstractmethod
    def span_mm(self, directions: npt.ArrayLike) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Smallest and largest value of ``direction . point`` over the solid (its support function).

        Args:
            directions: (..., 3). Unit vectors give mm; any other vector scales the answer, so rows of an inverse
                affine give voxel indices (without the translation).

        Returns:
            low and high, float64 (...).
        """

    @abstractmethod
    def shrunk(self: ShapeT, by_mm: float) -> ShapeT | None:
        """A solid of the same kind whose every point is at least ``by_mm`` inside; None when too thin for one."""

    @abstractmethod
    def placed(self: ShapeT, scale: float, offset_ras_mm: Vector) -> ShapeT:
        """The same shape with every position and length multiplied by ``scale``, then moved by ``offset_ras_mm``."""

    def contains(self, points_ras_mm: npt.ArrayLike) -> npt.NDArray[np.bool_]:
        """Which of the points belong to the structure: in the solid (surface included) and in none of its holes.

        Args:
            points_ras_mm: (..., 3), RAS mm.

        Returns:
            bool (...).
        """
        points = np.asarray(points_ras_mm, dtype=np.float64)
        inside = self.solid_contains(points)
        for hole in self.holes:
            inside &= ~hole.solid_contains(points)
        return inside

    @property
    def volume_mm3(self) -> float:
        """Volume without the holes, mm3."""
        return self.solid_volume_mm3 - sum(hole.solid_volume_mm3 for hole in self.holes)

    @property
    def centroid_ras_mm(self) -> Vector:
        """Centre of mass without the holes, RAS mm. Equals ``center_ras_mm`` only for a symmetric shape."""
        moment = self.solid_volume_mm3 * np.asarray(self.solid_centroid_ras_mm)
        for hole in self.holes:
            moment = moment - hole.solid_volume_mm3 * np.asarray(hole.solid_centroid_ras_mm)
        return as_vector(moment / self.volume_mm3, "centroid_ras_mm")

    @property
    def world_box_ras_mm(self) -> tuple[Vector, Vector]:
        """Smallest and largest R, A, S of the surface, mm."""
        low, high = self.span_mm(np.eye(3))
        return as_vector(low, "low"), as_vector(high, "high")

    @property
    def center_ras_mm(self) -> Vector:
        """Centre of the world bounding box, RAS mm."""
        low, high = np.asarray(self.world_box_ras_mm)
        return as_vector((low + high) / 2, "center_ras_mm")

    @property
    def extent_mm(self) -> Vector:
        """Edge lengths of the world bounding box along R, A, S, mm."""
        low, high = np.asarray(self.world_box_ras_mm)
        return as_vector(high - low, "extent_mm")

    def volume_error_bound_mm3(self, grid: npt.ArrayLike) -> float:
        """How far voxel count x voxel volume can be from ``volume_mm3``, on any placement of the grid.

        With h half the longest voxel diagonal, all wrongly counted space lies within h of a surface. Outside a convex
        solid of area A that shell measures ``A h + M h^2 + 4/3 pi h^3`` (Steiner's formula), inside it less than
        ``A h``. M, the integral of mean curvature, is 2 pi times the mean width, which is at most half the sum of the
        box's edges (mean width grows with the body). Holes add their own bounds.

        Args:
            grid: three voxel sizes in mm, or a 3x3 or 4x4 matrix (needed when sheared).

        Returns:
            mm3. A bound, not an estimate: the error of round shapes is some tens of times smaller; boxes parallel to
            the grid come closest to it.
        """
        reach = half_diagonal_mm(grid)
        return self._solid_error_bound_mm3(reach) + sum(hole._solid_error_bound_mm3(reach) for hole in self.holes)

    def _solid_error_bound_mm3(self, reach_mm: float) -> float:
        return shell_bound_mm3(self.surface_area_mm2, sum(self.extent_mm), reach_mm)

    def span_error_bound_mm(self, directions: npt.ArrayLike, grid: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """How far the outer voxel faces can be from :meth:`span_mm`, at either end, on any placement of the grid.

        Outwards: half a voxel's length along the direction. Inwards: at the end of the shape there is a ball of half
        the voxel diagonal inside it, and every such ball holds a voxel centre; the bound is the depth of its centre.

        Args:
            directions: (..., 3) unit vectors.
            grid: three voxel sizes in mm, or a 3x3 or 4x4 matrix.

        Returns:
            mm, float64 (...); infinite when the shape is too thin for the grid to be sure of a single voxel. Holes
            are taken to lie deeper than the bound.
        """
        vectors = np.asarray(directions, dtype=np.float64)
        outwards = np.abs(vectors @ voxel_edges(grid)).sum(axis=-1) / 2
        inner = self.shrunk(half_diagonal_mm(grid))
        if inner is None:
            return np.full_like(outwards, np.inf)
        low, high = self.span_mm(vectors)
        inner_low, inner_high = inner.span_mm(vectors)
        return np.maximum(outwards, np.maximum(inner_low - low, high - inner_high))

    def box_error_bound_mm(self, grid: npt.ArrayLike) -> Vector:
        """:meth:`span_error_bound_mm` along R, A, S: per face of the world box. Twice it bounds ``extent_mm``."""
        bound = self.span_error_bound_mm(np.eye(3), grid)
        return float(bound[0]), float(bound[1]), float(bound[2])


def shell_bound_mm3(area_mm2: float, edge_sum_mm: float, reach_mm: float) -> float:
    """Volume within ``reach_mm`` outside a convex solid of this area and sum of box edges, from above (Steiner)."""
    return area_mm2 * reach_mm + math.pi * edge_sum_mm * reach_mm**2 + 4 / 3 * math.pi * reach_mm**3
