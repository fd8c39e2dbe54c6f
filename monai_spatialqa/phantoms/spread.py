"""Tumours that differ from patient to patient: small and large ones, within their organ, on it, and against a vessel.

A tumour on an organ is a ball that touches its surface from outside, so that every volume stays known analytically.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from monai_spatialqa.phantoms.shape import Shape, Vector, as_vector

Float = npt.NDArray[np.float64]

LATERAL_RADIUS_MM = 11.0
"""Of a tumour on the outer side of a kidney."""

_CLEAR_MM = 0.02
"""What is left between a ball and what it touches: less than any voxel."""

_DIRECTIONS = 400
_STEPS = 40


def touching_ball(organ: Shape, radius_mm: float, direction: Sequence[float]) -> tuple[Vector, float]:
    """Centre and radius of a ball that lies on an organ, in a direction from its centre."""
    way = np.asarray(direction, dtype=np.float64) / np.linalg.norm(direction)
    low, high = 0.0, float(max(organ.extent_mm)) + radius_mm
    for _ in range(_STEPS):
        middle = (low + high) / 2
        center = np.add(organ.center_ras_mm, middle * way)
        low, high = (middle, high) if _meets(organ, center, radius_mm) else (low, middle)
    return as_vector(np.add(organ.center_ras_mm, high * way), "at_ras_mm"), radius_mm - _CLEAR_MM


def ball_between(organ: Shape, vessel: Shape, vessel_center: Sequence[float]) -> tuple[Vector, float]:
    """Centre and radius of a ball that touches an organ and a vessel, on the line from one centre to the other.

    Args:
        organ: whose tumour it is.
        vessel: beside it.
        vessel_center: point of the vessel at the organ's height.
    """
    start, end = np.asarray(organ.center_ras_mm), np.asarray(vessel_center, dtype=np.float64)
    low, high = 0.0, 1.0
    for _ in range(_STEPS):  # nearer to the organ: the ball must move on
        at = (low + high) / 2
        center = start + at * (end - start)
        low, high = (at, high) if _room(organ, center) < _room(vessel, center) else (low, at)
    center = start + high * (end - start)
    return as_vector(center, "at_ras_mm"), min(_room(organ, center), _room(vessel, center)) - _CLEAR_MM


def _room(shape: Shape, center: Float) -> float:
    """Radius of the largest ball around a point that does not meet a shape."""
    low, high = 0.0, 200.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if _meets(shape, center, middle) else (middle, high)
    return low


def _meets(shape: Shape, center: Float, radius: float) -> bool:
    points = np.concatenate([center + share * radius * _sphere() for share in (0.0, 0.5, 0.8, 1.0)])
    return bool(shape.solid_contains(points).any())


def _sphere() -> Float:
    """Points all over a unit sphere, in a spiral."""
    height = 1 - 2 * (np.arange(_DIRECTIONS) + 0.5) / _DIRECTIONS
    turn = np.pi * (1 + 5**0.5) * np.arange(_DIRECTIONS)
    radius = np.sqrt(1 - height * height)
    return np.stack([radius * np.cos(turn), radius * np.sin(turn), height], axis=1)
