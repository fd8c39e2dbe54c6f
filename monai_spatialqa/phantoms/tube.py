"""A vessel: a round tube of constant radius along a straight segment or a polyline, with flat ends."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from monai_spatialqa.errors import SettingsError
from monai_spatialqa.phantoms.shape import Shape, Vector, as_vector, shell_bound_mm3

Float = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Tube(Shape):
    """Cylinders end to end, mitred where the line bends, flat at both ends (no capsule).

    A mitre cuts both neighbours along the plane that halves the bend, as a picture frame is cut. What one side of the
    axis loses the other gains, so volume and side area are exactly those of a straight tube of the same length:
    ``pi r^2 L`` and ``2 pi r L``.

    Args:
        name: structure name.
        label: voxel value.
        intensity: mean image value.
        points_ras_mm: two or more points of the centre line, RAS mm.
        radius_mm: radius, mm.
        holes: only a straight tube may have holes.

    Raises:
        SettingsError: fewer than two points, a repeated point, a line that turns back, segments too short for their
            mitres, or holes in a bent tube. Distant parts of the line running into each other are not detected.

    Example:
        >>> pipe = Tube("vessel", 1, 150.0, ((0.0, 0.0, 0.0), (0.0, 0.0, 50.0)), 5.0)
        >>> round(pipe.volume_mm3, 3), pipe.extent_mm
        (3926.991, (10.0, 10.0, 50.0))
    """

    points_ras_mm: tuple[Vector, ...]
    radius_mm: float

    def __post_init__(self) -> None:
        points = tuple(as_vector(point, "points_ras_mm") for point in self.points_ras_mm)
        object.__setattr__(self, "points_ras_mm", points)
        if len(points) < 2:
            raise SettingsError("a tube needs at least two points", key=self.name, found=len(points))
        if not (math.isfinite(self.radius_mm) and self.radius_mm > 0):
            raise SettingsError("a tube's radius is positive", key=self.name, found=self.radius_mm)
        if not (self._lengths() > 0).all():
            raise SettingsError("a tube's neighbouring points must differ", key=self.name, found=points)
        tangents = self._tangents()
        cosines = np.einsum("ij,ij->i", tangents[:-1], tangents[1:])
        if (cosines < -0.99).any() or (self._lengths() <= self.radius_mm * self._mitre_slopes()).any():
            raise SettingsError(
                "a tube's segments are too short for its bends",
                key=self.name,
                next_step="use fewer points, gentler bends or a smaller radius",
            )
        if self.holes and len(points) > 2:
            raise SettingsError("a bent tube cannot have holes", key=self.name)
        super().__post_init__()

    def _lengths(self) -> Float:
        return np.asarray(np.linalg.norm(np.diff(np.asarray(self.points_ras_mm), axis=0), axis=1))

    def _tangents(self) -> Float:
        steps = np.diff(np.asarray(self.points_ras_mm), axis=0)
        return np.asarray(steps / np.linalg.norm(steps, axis=1, keepdims=True))

    def _cuts(self) -> Float:
        """Unit normals of the cutting plane at every point: the tangent at the ends, halving the bend between."""
        tangents = self._tangents()
        sums = np.concatenate([tangents[:1], tangents[:-1] + tangents[1:], tangents[-1:]])
        return np.asarray(sums / np.linalg.norm(sums, axis=1, keepdims=True))

    def _mitre_slopes(self) -> Float:
        """Per segment, the sum of the slopes of its two cutting planes: times the radius, the length mitres take."""
        tangents, cuts = self._tangents(), self._cuts()
        leans = np.stack([np.einsum("ij,ij->i", cuts[:-1], tangents), np.einsum("ij,ij->i", cuts[1:], tangents)])
        return np.asarray(np.sqrt(np.maximum(1 / leans**2 - 1, 0)).sum(axis=0))

    def solid_contains(self, points_ras_mm: npt.ArrayLike) -> npt.NDArray[np.bool_]:
        """Points (..., 3) in the tube or on its surface: bool (...)."""
        points = np.asarray(points_ras_mm, dtype=np.float64)
        line, tangents, cuts = np.asarray(self.points_ras_mm), self._tangents(), self._cuts()
        inside = np.zeros(points.shape[:-1], dtype=bool)
        for index, tangent in enumerate(tangents):
            offsets = points - line[index]
            across = offsets - (offsets @ tangent)[..., None] * tangent
            near = np.einsum("...i,...i->...", across, across) <= self.radius_mm**2
            after_start = offsets @ cuts[index] >= 0
            before_end = (points - line[index + 1]) @ cuts[index + 1] <= 0
            inside |= near & after_start & before_end
        return inside

    @property
    def length_mm(self) -> float:
        """Length of the centre line, mm."""
        return float(self._lengths().sum())

    @property
    def solid_volume_mm3(self) -> float:
        """Cross section times length: pi r^2 L, mm3."""
        return math.pi * self.radius_mm**2 * self.length_mm

    @property
    def solid_centroid_ras_mm(self) -> Vector:
        """Centre of mass, RAS mm: of mitred pieces, each weighted by its length.

        In a piece of length L whose two cutting planes have the heights ``b . p`` and ``L + t . p`` over the cross
        section point p, integrating over the disc gives ``r^2 (t - b) / (4 L)`` across the axis and
        ``L / 2 + r^2 (|t|^2 - |b|^2) / (8 L)`` along it.
        """
        line, lengths, tangents, cuts = np.asarray(self.points_ras_mm), self._lengths(), self._tangents(), self._cuts()
        total = np.zeros(3)
        for index, (length, tangent) in enumerate(zip(lengths, tangents, strict=True)):
            slopes = [-(cut - (cut @ tangent) * tangent) / (cut @ tangent) for cut in cuts[index : index + 2]]
            bottom, top = slopes
            across = self.radius_mm**2 * (top - bottom) / (4 * length)
            along = length / 2 + self.radius_mm**2 * (top @ top - bottom @ bottom) / (8 * length)
            total += length * (line[index] + across + along * tangent)
        return as_vector(total / lengths.sum(), "centroid_ras_mm")

    @property
    def surface_area_mm2(self) -> float:
        """Side and both ends, mm2."""
        return 2 * math.pi * self.radius_mm * (self.length_mm + self.radius_mm)

    def span_mm(self, directions: npt.ArrayLike) -> tuple[Float, Float]:
        """Smallest and largest over the rims: the ellipses in which the cutting planes meet the tube."""
        vectors = np.asarray(directions, dtype=np.float64)
        tangents = self._tangents()
        lows, highs = [], []
        for index, (point, cut) in enumerate(zip(np.asarray(self.points_ras_mm), self._cuts(), strict=True)):
            tangent = tangents[min(index, len(tangents) - 1)]
            slanted = vectors - ((vectors @ tangent) / (cut @ tangent))[..., None] * cut
            across = slanted - (slanted @ tangent)[..., None] * tangent
            half = self.radius_mm * np.linalg.norm(across, axis=-1)
            lows.append(vectors @ point - half)
            highs.append(vectors @ point + half)
        return np.minimum.reduce(lows), np.maximum.reduce(highs)

    def shrunk(self, by_mm: float) -> Tube | None:
        """Thinner by ``by_mm`` all round and shorter by ``by_mm`` at both ends; None when nothing would remain."""
        lengths, tangents = self._lengths(), self._tangents()
        lengths[0] -= by_mm
        lengths[-1] -= by_mm
        radius = self.radius_mm - by_mm
        if radius <= 0 or (lengths <= radius * self._mitre_slopes()).any():
            return None
        line = np.asarray(self.points_ras_mm).copy()
        line[0] += by_mm * tangents[0]
        line[-1] -= by_mm * tangents[-1]
        points = tuple(as_vector(point, "points_ras_mm") for point in line)
        return replace(self, points_ras_mm=points, radius_mm=radius, holes=())

    def placed(self, scale: float, offset_ras_mm: Vector) -> Tube:
        """Scaled about the world origin, then moved."""
        line = np.asarray(self.points_ras_mm) * scale + np.asarray(offset_ras_mm)
        return replace(
            self,
            points_ras_mm=tuple(as_vector(point, "points_ras_mm") for point in line),
            radius_mm=self.radius_mm * scale,
            holes=tuple(hole.placed(scale, offset_ras_mm) for hole in self.holes),
        )

    def _solid_error_bound_mm3(self, reach_mm: float) -> float:
        """The sum over the mitred pieces, each of them convex; every mitre counts as a face of both neighbours."""
        line, tangents, cuts = np.asarray(self.points_ras_mm), self._tangents(), self._cuts()
        bound = 0.0
        for index, (length, tangent) in enumerate(zip(self._lengths(), tangents, strict=True)):
            leans = cuts[index : index + 2] @ tangent
            faces = math.pi * self.radius_mm**2 * float((1 / leans).sum())
            side = 2 * math.pi * self.radius_mm * float(length)
            edges = np.abs(line[index + 1] - line[index]).sum() + 6 * self.radius_mm * float((1 / leans).max())
            bound += shell_bound_mm3(side + faces, float(edges), reach_mm)
        return bound
