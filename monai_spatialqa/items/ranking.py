"""Order of figures, how sure it is, and whether it takes the scan to tell it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from random import Random

from monai_spatialqa.items.quantity import Quantity, relative_gap

PLAIN = "anatomy alone tells the answer"
"""Why a question is not made that nobody needs the scan for."""


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


def is_plain(order: Sequence[tuple[Quantity, str]], most: float, places: int = 1) -> bool:
    """Whether anatomy alone tells the first places of some ranked figures: one is over ``most`` times its neighbour.

    Args:
        order: by value, in either direction.
        most: times that a figure may be the next one.
        places: how many places are asked for; all but one ask for the whole order.
    """
    return any(
        max(one.value, other.value) > most * min(one.value, other.value)
        for (one, _), (other, _) in list(pairwise(order))[:places]
    )


def with_rivals(
    first: str, names: Sequence[str], figure: Callable[[str], float], most: float, count: int, random: Random
) -> list[str]:
    """A structure with others to compare it with: by chance, those that it is alike to in front of others.

    Args:
        first: the structure.
        names: all that may be chosen.
        figure: what is compared.
        most: times that one of two figures is the other where they are alike.
        count: structures in all; fewer where there are fewer.
        random: of the subtask.
    """
    own = figure(first)
    others = [name for name in random.sample(names, len(names)) if name != first]
    alike = [name for name in others if max(own, figure(name)) <= most * min(own, figure(name))]
    return [first, *[*alike, *(name for name in others if name not in alike)][: count - 1]]


def robust_margin(one: Quantity, other: Quantity) -> float:
    """Difference of two figures over the sum of what half a voxel moves them by.

    Above 1 their order is the same anywhere within half a voxel.
    """
    gap = abs(one.value - other.value)
    larger, smaller = (one, other) if one.value >= other.value else (other, one)
    room = (larger.value - larger.low) + (smaller.high - smaller.value)
    return gap / room if room else math.inf
