"""Order of figures, and how sure it is."""

from __future__ import annotations

import math
from collections.abc import Iterable

from monai_spatialqa.items.quantity import Quantity


def ranked(figures: Iterable[tuple[Quantity, str]], *, largest_first: bool) -> list[tuple[Quantity, str]]:
    """Figures with their names, by value; equal ones by name."""
    return sorted(figures, key=lambda pair: (-pair[0].value if largest_first else pair[0].value, pair[1]))


def robust_margin(one: Quantity, other: Quantity) -> float:
    """Difference of two figures over the sum of what half a voxel moves them by.

    Above 1 their order is the same anywhere within half a voxel.
    """
    gap = abs(one.value - other.value)
    larger, smaller = (one, other) if one.value >= other.value else (other, one)
    room = (larger.value - larger.low) + (smaller.high - smaller.value)
    return gap / room if room else math.inf
