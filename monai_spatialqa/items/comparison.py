"""COMP: which structure is larger, by volume, and by how much."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, permutations
from random import Random

from monai_spatialqa.anatomy.structure import opposite_name, side_of_name
from monai_spatialqa.items.draft import Choice, Draft, Rules, either_way, subtask
from monai_spatialqa.items.names import whole_organs
from monai_spatialqa.items.options import in_intervals, ladder_choices, value_choices, wrong_orders
from monai_spatialqa.items.quantity import Quantity
from monai_spatialqa.items.ranking import (
    PLAIN,
    any_too_near,
    extreme_margin,
    is_plain,
    order_margin,
    ranked,
    robust_margin,
    too_near,
    with_rivals,
)
from monai_spatialqa.items.tools import evidence, volume_ratio
from monai_spatialqa.items.view import CaseView
from monai_spatialqa.items.wording import listed, readable_name, shown
from monai_spatialqa.records.item import Evidence

LARGEST_RATIO = 20.0
"""Ratios above it are not asked for: nobody sees how many times a bladder is a rib."""

RATIO_CUTS = (1.5, 2.0, 3.0, 4.0, 5.0, 7.0, 10.0, 15.0)
"""Times at which ratios of a larger volume to a smaller one are parted."""

ALIKE = 2.5
"""Times that a volume may be the one it is compared with. Normal organs vary by some ten percent from person to person:
beyond this, who is larger is known without the scan."""


def _structures(view: CaseView, random: Random) -> list[str]:
    names = whole_organs(view, "size")
    random.shuffle(names)
    return names


def _evidence(view: CaseView, rules: Rules, *names: str) -> tuple[Evidence, ...]:
    return tuple(evidence(view, "volume", rules.volume_unit, structure=name) for name in names)


def _told(found: Quantity, rules: Rules) -> str:
    return shown(found.to(rules.volume_unit))


def _larger(view: CaseView, rules: Rules, random: Random, name: str, first: str, second: str) -> Draft | None:
    """Whether one of two is larger; which of them is asked for decides the answer."""
    order = ranked([(view.volume(each), each) for each in (first, second)], largest_first=True)
    (large, larger), (small, smaller) = order
    if any_too_near(order, rules):
        view.refuse("two figures are too near to compare", *sorted((first, second)))
        return None
    if is_plain(order, ALIKE):
        view.refuse(PLAIN, *sorted((first, second)))
        return None
    why = f"the {readable_name(larger)} has {_told(large, rules)}, the {readable_name(smaller)} {_told(small, rules)}"

    def asking(true: bool) -> Draft:
        asked, other = (larger, smaller) if true else (smaller, larger)
        return Draft(
            task="COMP",
            subtask=name,
            structures=(asked, other),
            words={"a": readable_name(asked), "b": readable_name(other)},
            key=Choice("yes" if true else "no"),
            wrong=(Choice("no" if true else "yes", why),),
            evidence=_evidence(view, rules, asked, other),
            format="yesno",
            margin=robust_margin(large, small),
        )

    return either_way(asking, random)


@subtask("COMP", "larger_than")
def larger_than(view: CaseView, rules: Rules, random: Random) -> Iterator[Draft]:
    """Whether one structure has a larger volume than another one, yes or no."""
    pairs = [pair for pair in combinations(_structures(view, random), 2) if opposite_name(pair[0]) != pair[1]]
    random.shuffle(pairs)
    for first, second in pairs:
        draft = _larger(view, rules, random, "larger_than", first, second)
        if draft is not None:
            yield draft


@subtask("COMP", "larger_side")
def larger_side(view: CaseView, rules: Rules, random: Random) -> Iterator[Draft]:
    """Whether a structure is larger than its partner on the other side of the body, yes or no."""
    names = _structures(view, random)
    for left in names:
        right = opposite_name(left)
        if side_of_name(left) != "left" or right not in names:
            continue
        draft = _larger(view, rules, random, "larger_side", left, right)
        if draft is not None:
            yield draft


def _extreme(view: CaseView, rules: Rules, random: Random, name: str, *, largest: bool) -> Iterator[Draft]:
    names = _structures(view, random)
    if len(names) < rules.options:
        return
    for first in names:
        chosen = with_rivals(first, names, view.volume, ALIKE, rules.comparison_gap, rules.options, random)
        order = ranked([(view.volume(each), each) for each in chosen], largest_first=largest)
        (best, key), (second, _) = order[:2]
        if too_near(best, second, rules):
            view.refuse("two figures are too near to compare", *sorted(chosen))
            continue
        if is_plain(order, ALIKE):
            view.refuse(PLAIN, *sorted(chosen))
            continue
        told = f"the {readable_name(key)} has {_told(best, rules)}"
        yield Draft(
            task="COMP",
            subtask=name,
            structures=tuple(sorted(chosen)),
            asked=key,
            words={},
            key=Choice(readable_name(key)),
            wrong=tuple(
                Choice(readable_name(other), f"it has {_told(found, rules)}; {told}") for found, other in order[1:]
            ),
            evidence=_evidence(view, rules, *(each for _, each in order)),
            margin=extreme_margin(order),
        )


@subtask("COMP", "largest_of")
def largest_of(view: CaseView, rules: Rules, random: Random) -> Iterator[Draft]:
    """Which of several structures has the largest volume."""
    yield from _extreme(view, rules, random, "largest_of", largest=True)


@subtask("COMP", "smallest_of")
def smallest_of(view: CaseView, rules: Rules, random: Random) -> Iterator[Draft]:
    """Which of several structures has the smallest volume."""
    yield from _extreme(view, rules, random, "smallest_of", largest=False)


@subtask("COMP", "volume_order")
def volume_order(view: CaseView, rules: Rules, random: Random) -> Iterator[Draft]:
    """Three structures in the order of their volumes."""
    names = _structures(view, random)
    if len(names) < 3:
        return
    for first in names:
        chosen = with_rivals(first, names, view.volume, ALIKE, rules.comparison_gap, 3, random)
        order = ranked([(view.volume(each), each) for each in chosen], largest_first=True)
        if any_too_near(order, rules):
            view.refuse("two figures are too near to compare", *sorted(chosen))
            continue
        if is_plain(order, ALIKE, places=2):
            view.refuse(PLAIN, *sorted(chosen))
            continue
        right = [each for _, each in order]
        orders = wrong_orders(right, rules, random)
        why = ", ".join(f"{readable_name(each)} {_told(found, rules)}" for found, each in order)
        yield Draft(
            task="COMP",
            subtask="volume_order",
            structures=tuple(sorted(chosen)),
            asked=first,
            words={"list": listed(sorted(chosen))},
            key=Choice(", ".join(map(readable_name, right))),
            wrong=tuple(Choice(", ".join(map(readable_name, each)), f"the volumes are {why}") for each in orders),
            evidence=_evidence(view, rules, *right),
            margin=order_margin(order),
        )


def _ratios(view: CaseView, rules: Rules, random: Random) -> Iterator[tuple[str, str, Quantity, Evidence]]:
    """Two structures in either order, and how many times the second the first is: below 1 as often as above."""
    pairs = list(permutations(_structures(view, random), 2))
    random.shuffle(pairs)
    for first, second in pairs:
        ratio = volume_ratio(view, first, second)
        if too_near(view.volume(first), view.volume(second), rules):
            view.refuse("two figures are too near to compare", *sorted((first, second)))
        elif not 1 / LARGEST_RATIO <= ratio.value <= LARGEST_RATIO:
            view.refuse("one is too many times as large", *sorted((first, second)))
        else:
            yield first, second, ratio, evidence(view, "volume_ratio", first=first, second=second)


@subtask("COMP", "ratio_value")
def ratio_value(view: CaseView, rules: Rules, random: Random) -> Iterator[Draft]:
    """The volume of a structure divided by that of another one, as a value."""
    every = whole_organs(view, "size")
    for first, second, key, found in _ratios(view, rules, random):
        names = [name for name in every if name not in (first, second)]
        plausible = [
            (volume_ratio(view, first, other).value, f"the ratio to the volume of the {readable_name(other)}")
            for other in names
        ]
        random.shuffle(plausible)
        choices = value_choices(key, plausible, rules, random, banned=(1 / key.value,))
        if choices is None:
            view.refuse("the value is uncertain by more than the gap between options", first, second)
            continue
        yield Draft(
            task="COMP",
            subtask="ratio_value",
            structures=(first, second),
            words={"a": readable_name(first), "b": readable_name(second)},
            key=choices[0],
            wrong=choices[1],
            evidence=(found,),
        )


@subtask("COMP", "ratio_interval")
def ratio_interval(view: CaseView, rules: Rules, random: Random) -> Iterator[Draft]:
    """Which of several intervals the ratio of a larger volume to a smaller one lies in."""
    for first, second, key, found in _ratios(view, rules, random):
        if key.value < 1:  # people say how many times as large the larger one is
            continue
        choices = ladder_choices(key, RATIO_CUTS, rules, random)
        if all(right.place == 0 for right, _, _ in choices):  # none, or the lowest interval whatever the cuts
            view.refuse("no intervals of use hold it for certain", first, second)
            continue
        draft = Draft(
            task="COMP",
            subtask="ratio_interval",
            structures=(first, second),
            words={"a": readable_name(first), "b": readable_name(second)},
            key=choices[0][0],
            wrong=(),
            evidence=(found,),
        )
        yield in_intervals(draft, choices)
