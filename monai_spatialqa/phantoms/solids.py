"""The two convex solids of the phantoms: an ellipsoid and a cuboid, both aligned with the world axes."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy.special import elliprg

from monai_spatialqa.phantoms.shape import Shape, Vector, as_vector, half_diagonal_mm


def _moved(position: Vector, scale: float, offset: Vector) -> Vector:
    return as_vector(np.asarray(position) * scale + np.asarray(offset), "at_ras_mm")


@dataclass(frozen=True)
class Ellipsoid(Shape):
    """A solid ellipsoid whose axes are R, A and S.

    Args:
        name: structure name.
        label: voxel value.
        intensity: mean image value.
        at_ras_mm: its centre, RAS mm.
        radii_mm: semi-axes along R, A, S, mm.
        holes: solids taken out of it.

    Example:
        >>> ball = Ellipsoid("cyst", 1, 0.0, (10.0, 0.0, -5.0), (3.0, 3.0, 3.0))
        >>> round(ball.volume_mm3, 3), ball.extent_mm, ball.center_ras_mm
        (113.097, (6.0, 6.0, 6.0), (10.0, 0.0, -5.0))
    """

    at_ras_mm: Vector
    radii_mm: Vector

    def __post_init__(self) -> None:
        object.__setattr__(self, "at_ras_mm", as_vector(self.at_ras_mm, "at_ras_mm"))
        object.__setattr__(self, "radii_mm", as_vector(self.radii_mm, "radii_mm", positive=True))
        super().__post_init__()

    def solid_contains(self, points_ras_mm: npt.ArrayLike) -> npt.NDArray[np.bool_]:
        """Points (..., 3) in the ellipsoid or on its surface: bool (...)."""
        scaled = (np.asarray(points_ras_mm, dtype=np.float64) - self.at_ras_mm) / self.radii_mm
        return np.asarray(np.einsum("...i,...i->...", scaled, scaled) <= 1.0)

    @property
    def solid_volume_mm3(self) -> float:
        """4/3 pi a b c, mm3."""
        return 4 / 3 * math.pi * math.prod(self.radii_mm)

    @property
    def solid_centroid_ras_mm(self) -> Vector:
        """Its centre, RAS mm."""
        return self.at_ras_mm

    @property
    def surface_area_mm2(self) -> float:
        """Exact area by Carlson's symmetric integral: 4 pi R_G(a^2 b^2, a^2 c^2, b^2 c^2), mm2 (DLMF 19.33.1)."""
        a, b, c = self.radii_mm
        return 4 * math.pi * float(elliprg((a * b) ** 2, (a * c) ** 2, (b * c) ** 2))

    def span_mm(self, directions: npt.ArrayLike) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Centre plus and minus the length of the direction scaled by the radii."""
        vectors = np.asarray(directions, dtype=np.float64)
        middle = vectors @ np.asarray(self.at_ras_mm)
        half = np.linalg.norm(vectors * self.radii_mm, axis=-1)
        return middle - half, middle + half

    def shrunk(self, by_mm: float) -> Ellipsoid | None:
        """The ellipsoid with the same proportions that touches the one shrunk by ``by_mm`` along its shortest axis.

        Scaling by ``1 - by / shortest`` leaves at least ``by`` everywhere, because ``by / shortest`` times the solid
        contains a ball of radius ``by``. Conservative along the long axes.
        """
        factor = 1 - by_mm / min(self.radii_mm)
        if factor <= 0:
            return None
        return replace(self, radii_mm=as_vector(np.multiply(self.radii_mm, factor), "radii_mm"), holes=())

    def span_error_bound_mm(self, directions: npt.ArrayLike, grid: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """As for every shape, but tight where a ball of half a voxel diagonal rolls freely inside.

        It does when its radius is at most the smallest radius of curvature, shortest^2 / longest (Blaschke's rolling
        theorem): then it touches the surface at every end, and the bound is its radius.
        """
        vectors = np.asarray(directions, dtype=np.float64)
        reach = half_diagonal_mm(grid)
        if reach <= min(self.radii_mm) ** 2 / max(self.radii_mm):
            return np.full(vectors.shape[:-1], reach)
        return super().span_error_bound_mm(vectors, grid)

    def placed(self, scale: float, offset_ras_mm: Vector) -> Ellipsoid:
        """Scaled about the world origin, then moved."""
        return replace(
            self,
            at_ras_mm=_moved(self.at_ras_mm, scale, offset_ras_mm),
            radii_mm=as_vector(np.multiply(self.radii_mm, scale), "radii_mm"),
            holes=tuple(hole.placed(scale, offset_ras_mm) for hole in self.holes),
        )


@dataclass(frozen=True)
class Cuboid(Shape):
    """A box whose edges are parallel to R, A and S.

    Args:
        name: structure name.
        label: voxel value.
        intensity: mean image value.
        at_ras_mm: its centre, RAS mm.
        size_mm: edge lengths along R, A, S, mm.
        holes: solids taken out of it.

    Example:
        >>> Cuboid("block", 1, 0.0, (0.0, 0.0, 0.0), (2.0, 4.0, 6.0)).world_box_ras_mm
        ((-1.0, -2.0, -3.0), (1.0, 2.0, 3.0))
    """

    at_ras_mm: Vector
    size_mm: Vector

    def __post_init__(self) -> None:
        object.__setattr__(self, "at_ras_mm", as_vector(self.at_ras_mm, "at_ras_mm"))
        object.__setattr__(self, "size_mm", as_vector(self.size_mm, "size_mm", positive=True))
        super().__post_init__()

    def solid_contains(self, points_ras_mm: npt.ArrayLike) -> npt.NDArray[np.bool_]:
        """Points (..., 3) in the box or on a face: bool (...)."""
        offsets = np.abs(np.asarray(points_ras_mm, dtype=np.float64) - self.at_ras_mm)
        return np.asarray((offsets <= np.divide(self.size_mm, 2)).all(axis=-1))

    @property
    def solid_volume_mm3(self) -> float:
        """Product of the edges, mm3."""
        return math.prod(self.size_mm)

    @property
    def solid_centroid_ras_mm(self) -> Vector:
        """Its centre, RAS mm."""
        return self.at_ras_mm

    @property
    def surface_area_mm2(self) -> float:
        """Area of the six faces, mm2."""
        a, b, c = self.size_mm
        return 2 * (a * b + b * c + a * c)

    def span_mm(self, directions: npt.ArrayLike) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Centre plus and minus half the edges projected on the direction."""
        vectors = np.asarray(directions, dtype=np.float64)
        middle = vectors @ np.asarray(self.at_ras_mm)
        half = np.abs(vectors) @ np.divide(self.size_mm, 2)
        return middle - half, middle + half

    def shrunk(self, by_mm: float) -> Cuboid | None:
        """Every face moved inwards."""
        size = np.subtract(self.size_mm, 2 * by_mm)
        return None if (size <= 0).any() else replace(self, size_mm=as_vector(size, "size_mm"), holes=())

    def placed(self, scale: float, offset_ras_mm: Vector) -> Cuboid:
        """Scaled about the world origin, then moved."""
        return replace(
            self,
            at_ras_mm=_moved(self.at_ras_mm, scale, offset_ras_mm),
            size_mm=as_vector(np.multiply(self.size_mm, scale), "size_mm"),
            holes=tuple(hole.placed(scale, offset_ras_mm) for hole in self.holes),
        )
