"""Order of figures, and how sure it is."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise

from monai_spatialqa.items.quantity import Quantity, relative_gap


def ranked(figures: Iterable[tuple[Quantity, str]], *, largest_first: bool) -> list[tuple[Quantity, str]]:
    """Figures with their names, by value; equal ones by name."""
    return sorted(figures, key=lambda pair: (-pair[0].value if largest_first else pair[0].value, pair[1]))


def extreme_margin(order: Sequence[tuple[Quantity, str]]) -> float:
    """How sure the first of some ranked figures is the first: its smallest margin over any other."""
    return min(robust_margin(order[0][0], other) for other, _ in order[1:])


def order_margin(order: Sequence[tuple[Quantity, str]]) -> float:
    """How sure the order of some ranked figures is: the smallest margin of neighbours."""
    return min(robust_margin(one, other) for (one, _), (other, _) in pairwise(order))


def smallest_gap(order: Sequence[tuple[Quantity, str]]) -> float:
    """Smallest relative gap between neighbours of some ranked figures."""
    return min(relative_gap(one.value, other.value) for (one, _), (other, _) in pairwise(order))


def robust_margin(one: Quantity, other: Quantity) -> float:
    """Difference of two figures over the sum of what half a voxel moves them by.

    Above 1 their order is the same anywhere within half a voxel.
    """
    gap = abs(one.value - other.value)
    larger, smaller = (one, other) if one.value >= other.value else (other, one)
    room = (larger.value - larger.low) + (smaller.high - smaller.value)
    return gap / room if room else math.inf
