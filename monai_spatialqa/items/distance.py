"""DIST: how far apart structures are, by the centres of their bounding boxes (the distance of the SpatialMed paper)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise
from random import Random

from monai_spatialqa.items.draft import Choice, Draft, Rules, subtask
from monai_spatialqa.items.lesion_case import organ_names
from monai_spatialqa.items.names import of_one_series
from monai_spatialqa.items.normal_places import nearer_by_anatomy
from monai_spatialqa.items.options import value_choices, wrong_orders
from monai_spatialqa.items.parts import part_and_whole
from monai_spatialqa.items.quantity import Quantity
from monai_spatialqa.items.ranking import (
    PLAIN,
    any_too_near,
    extreme_margin,
    is_plain,
    order_margin,
    ranked,
    too_near,
    with_rivals,
)
from monai_spatialqa.items.tools import evidence
from monai_spatialqa.items.view import CaseView
from monai_spatialqa.items.wording import listed, readable_name, shown

ALIKE = 1.5
"""Times that a distance may be the one it is compared with; beyond this, anatomy tells which structure is nearer."""


NEAREST = 8
"""Of so many of the nearest structures closest and order are asked, and farthest of so many of the farthest ones.

What lies at the other end of the body from the anchor is no rival for the nearest.
"""


@subtask("DIST", "distance_value")
def distance_value(view: CaseView, rules: Rules, random: Random) -> Iterator[Draft]:
    """How far the box centres of two structures are apart."""
    names = view.askable("place")
    pairs = [pair for pair in combinations(names, 2) if not part_and_whole(*pair)]
    random.shuffle(pairs)
    for first, second in pairs:
        key = view.distance(first, second).to(rules.length_unit)
        others = [name for name in names if name not in (first, second)]
        random.shuffle(others)
        plausible = [
            (view.distance(one, other).to(rules.length_unit).value, f"the distance of the {listed([one, other])}")
            for other in others
            for one in (first, second)
        ]
        choices = value_choices(key, plausible, rules, random)
        if choices is None:
            view.refuse("the value is uncertain by more than the gap between options", first, second)
            continue
        yield Draft(
            task="DIST",
            subtask="distance_value",
            structures=(first, second),
            words={"a": readable_name(first), "b": readable_name(second)},
            key=choices[0],
            wrong=choices[1],
            evidence=(evidence(view, "center_distance", rules.length_unit, first=first, second=second),),
        )


def _others(view: CaseView, names: list[str], anchor: str) -> list[str]:
    """What an anchor's distances may be compared of: nothing whose name tells how near it lies.

    That is the case of numbers of one series, and of a tumour and its own organ.
    """
    own = {*organ_names(view, anchor), *(tumour for tumour in view.tumours if anchor in organ_names(view, tumour))}
    return [
        other
        for other in names
        if other not in (anchor, *own) and not of_one_series(anchor, other) and not part_and_whole(anchor, other)
    ]


def _rivals(
    view: CaseView, anchor: str, others: list[str], rules: Rules, count: int, random: Random, *, farthest: bool = False
) -> list[str]:
    """Some of the nearest structures, or of the farthest ones, that lie about as far from the anchor as each other."""
    order = ranked([(view.distance(anchor, other), other) for other in others], largest_first=farthest)
    pool = [name for _, name in order[: max(NEAREST, count)]]
    first = random.choice(pool)
    return with_rivals(
        first, pool, lambda each: view.distance(anchor, each), ALIKE, rules.comparison_gap, count, random
    )


def _extreme(view: CaseView, rules: Rules, random: Random, name: str, *, farthest: bool) -> Iterator[Draft]:
    names = view.askable("place")
    anchors = list(names)
    random.shuffle(anchors)
    for anchor in anchors:
        others = _others(view, names, anchor)
        if len(others) < rules.options:
            continue
        chosen = _rivals(view, anchor, others, rules, rules.options, random, farthest=farthest)
        order = ranked([(view.distance(anchor, other), other) for other in chosen], largest_first=farthest)
        (best, key), (second, _) = order[0], order[1]
        margin = extreme_margin(order)
        if too_near(best, second, rules):
            view.refuse("two figures are too near to compare", anchor, *sorted(chosen))
            continue
        # Of the nearest and of the farthest alike: where anatomy tells it of all others, nobody is asked.
        ends = [(key, other) if not farthest else (other, key) for _, other in order[1:]]
        if is_plain(order, ALIKE) or all(nearer_by_anatomy(anchor, *pair) for pair in ends):
            view.refuse(PLAIN, anchor, *sorted(chosen))
            continue
        yield Draft(
            task="DIST",
            subtask=name,
            structures=(anchor, *sorted(chosen)),
            words={"a": readable_name(anchor)},
            key=Choice(readable_name(key)),
            wrong=tuple(
                Choice(
                    readable_name(other), f"{_told(found, rules)} away; the correct one is {_told(best, rules)} away"
                )
                for found, other in order[1:]
            ),
            evidence=tuple(
                evidence(view, "center_distance", rules.length_unit, first=anchor, second=other) for _, other in order
            ),
            margin=margin,
        )


def _told(found: Quantity, rules: Rules) -> str:
    return shown(found.to(rules.length_unit))


@subtask("DIST", "closest_of")
def closest_of(view: CaseView, rules: Rules, random: Random) -> Iterator[Draft]:
    """Which of several structures lies closest to another one."""
    yield from _extreme(view, rules, random, "closest_of", farthest=False)


@subtask("DIST", "farthest_of")
def farthest_of(view: CaseView, rules: Rules, random: Random) -> Iterator[Draft]:
    """Which of several structures lies farthest from another one."""
    yield from _extreme(view, rules, random, "farthest_of", farthest=True)


@subtask("DIST", "distance_order")
def distance_order(view: CaseView, rules: Rules, random: Random) -> Iterator[Draft]:
    """Three structures in the order of their distance from another one."""
    names = view.askable("place")
    anchors = list(names)
    random.shuffle(anchors)
    for anchor in anchors:
        others = _others(view, names, anchor)
        if len(others) < 3:
            continue
        chosen = _rivals(view, anchor, others, rules, 3, random)
        order = ranked([(view.distance(anchor, other), other) for other in chosen], largest_first=False)
        if any_too_near(order, rules):
            view.refuse("two figures are too near to compare", anchor, *sorted(chosen))
            continue
        told = [nearer_by_anatomy(anchor, one, other) for (_, one), (_, other) in pairwise(order)]
        if is_plain(order, ALIKE, places=2) or all(told):
            view.refuse(PLAIN, anchor, *sorted(chosen))
            continue
        right = [name for _, name in order]
        orders = wrong_orders(right, rules, random)
        yield Draft(
            task="DIST",
            subtask="distance_order",
            structures=(anchor, *sorted(right)),
            words={"a": readable_name(anchor), "list": listed(sorted(chosen))},
            key=Choice(_sequence(right)),
            wrong=tuple(Choice(_sequence(each), "another order than that of the distances") for each in orders),
            evidence=tuple(
                evidence(view, "center_distance", rules.length_unit, first=anchor, second=other) for other in right
            ),
            margin=order_margin(order),
        )


def _sequence(names: Sequence[str]) -> str:
    return ", ".join(map(readable_name, names))
