"""Order of figures, how sure it is, and whether it takes the scan to tell it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from random import Random

from monai_spatialqa.items.draft import Rules
from monai_spatialqa.items.quantity import DIMENSION, Quantity, relative_gap
from monai_spatialqa.items.wording import shown

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


def too_near(one: Quantity, other: Quantity, rules: Rules) -> bool:
    """Whether two figures are too near to compare: by the gap, equal as measured, or equal as they are shown.

    Example:
        >>> figures = Quantity(100.0, 99.0, 101.0, "ml"), Quantity(100.2, 99.0, 101.0, "ml")
        >>> too_near(*figures, Rules(comparison_gap=0.0))
        True
    """
    if one.value == other.value or relative_gap(one.value, other.value) < rules.comparison_gap:
        return True
    return _as_shown(one, rules) == _as_shown(other, rules)


def any_too_near(order: Sequence[tuple[Quantity, str]], rules: Rules) -> bool:
    """Whether two neighbours of some ranked figures are too near to compare."""
    return any(too_near(one, other, rules) for (one, _), (other, _) in pairwise(order))


def _as_shown(figure: Quantity, rules: Rules) -> str:
    unit = {"length": rules.length_unit, "volume": rules.volume_unit}.get(DIMENSION.get(figure.unit, ""))
    return shown(figure if unit is None else figure.to(unit))


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
    first: str,
    names: Sequence[str],
    figure: Callable[[str], Quantity],
    most: float,
    gap: float,
    count: int,
    random: Random,
) -> list[str]:
    """A structure with others to compare it with: by chance, those in front that make the best question.

    Best are structures that are alike and yet apart: none is so much larger that anatomy tells it, and the order of all
    of them is certain. Those that are alike only come next, then all others.

    Args:
        first: the structure.
        names: all that may be chosen.
        figure: what is compared.
        most: times that one of two figures is the other where they are alike.
        gap: least relative gap between two figures.
        count: structures in all; fewer where there are fewer.
        random: of the subtask.
    """
    figures = {name: figure(name) for name in {first, *names}}
    own = figures[first].value
    others = [name for name in random.sample(names, len(names)) if name != first]
    alike = [name for name in others if max(own, figures[name].value) <= most * min(own, figures[name].value)]
    chosen = [first]
    for name in alike:
        if len(chosen) < count and all(_apart(figures[name], figures[other], gap) for other in chosen):
            chosen.append(name)
    rest = [name for name in [*alike, *others] if name not in chosen]
    return [*chosen, *dict.fromkeys(rest)][:count]


def _apart(one: Quantity, other: Quantity, gap: float) -> bool:
    return relative_gap(one.value, other.value) >= gap and robust_margin(one, other) > 1


def robust_margin(one: Quantity, other: Quantity) -> float:
    """Difference of two figures over the sum of what half a voxel moves them by.

    Above 1 their order is the same anywhere within half a voxel.
    """
    gap = abs(one.value - other.value)
    larger, smaller = (one, other) if one.value >= other.value else (other, one)
    room = (larger.value - larger.low) + (smaller.high - smaller.value)
    return gap / room if room else math.inf
