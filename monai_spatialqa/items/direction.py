"""DIR: how structures lie to each other along the axes of the patient, by the centres of their bounding boxes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import combinations, pairwise, permutations
from random import Random

import numpy as np

from monai_spatialqa.anatomy.structure import side_of_name
from monai_spatialqa.items.draft import Choice, Draft, Rules, either_way, subtask
from monai_spatialqa.items.names import LEFT_RIGHT, SUPERIOR_INFERIOR, told_by_names
from monai_spatialqa.items.normal_places import told_by_anatomy
from monai_spatialqa.items.options import value_choices, wrong_orders
from monai_spatialqa.items.parts import part_and_whole
from monai_spatialqa.items.quantity import Quantity
from monai_spatialqa.items.ranking import PLAIN, robust_margin
from monai_spatialqa.items.tools import evidence
from monai_spatialqa.items.view import AXES, CaseView
from monai_spatialqa.items.wording import listed, readable_name, shown
from monai_spatialqa.records.item import Evidence

DOMINANCE = (1.25, 2.5)
"""How many times the second longest component the longest one is where the main direction is asked for.

Below the first, there is none; above the second, anatomy alone tells it.
"""

CLEAR_MM = 10.0
"""Centres that are so far apart along an axis lie one beyond the other; of small structures half their length does."""

VARIES_MM = 40.0
"""How far the centres of neighbouring organs move to each other from person to person and with breathing, at most.

Beyond it, who lies where is known without the scan.
"""

_TOWARDS = (("right", "left"), ("anterior", "posterior"), ("superior", "inferior"))
"""Directions along R, A and S: of a positive component, of a negative one."""

RELATION = {"right": "to the patient's right of", "left": "to the patient's left of"} | {
    word: f"{word} to" for word in ("anterior", "posterior", "superior", "inferior")
}
_FARTHEST = {"right": "farthest to the patient's right", "left": "farthest to the patient's left"} | {
    word: f"most {word}" for word in ("anterior", "posterior", "superior", "inferior")
}
_ORDER = {"right": "from the patient's right to the left", "left": "from the patient's left to the right"} | {
    "anterior": "from anterior to posterior",
    "posterior": "from posterior to anterior",
    "superior": "from superior to inferior",
    "inferior": "from inferior to superior",
}
_SIDES = {"right": "right", "left": "left"}
NOWHERE = Quantity(0.0, 0.0, 0.0, "mm")


def direction(axis: int, component: float) -> str:
    """The word for a component along R (0), A (1) or S (2): ``direction(0, -5.0)`` is left."""
    return _TOWARDS[axis][component < 0]


def is_clear(view: CaseView, first: str, second: str, axis: int) -> bool:
    """Whether two structures lie one beyond the other along an axis, and not beside or within each other.

    Their box centres are apart by ``CLEAR_MM``, or by half the length of the shorter one where that is less, and their
    centroids lie the same way. Otherwise the question is counted as refused.
    """
    if part_and_whole(first, second):
        view.refuse("one is a part of the other", *sorted((first, second)))
        return False
    found = view.offset(first, second, axis).value
    shorter = min(high - low for low, high in (view.reach(name, axis) for name in (first, second)))
    if abs(found) < min(CLEAR_MM, shorter / 2):
        view.refuse("the two lie too much beside each other", first, second)
        return False
    if _between_centroids(view, first, second)[axis] * found <= 0:
        view.refuse("box centres and centroids disagree", first, second)
        return False
    return True


def is_open(view: CaseView, first: str, second: str, axis: int) -> bool:
    """Whether it takes the scan to tell how two structures lie to each other along an axis.

    It does not where their normal places are apart along it, or their centres by more than ``VARIES_MM``; the question
    is then counted as refused.
    """
    if told_by_anatomy(first, second, axis) or abs(view.offset(first, second, axis).value) > VARIES_MM:
        view.refuse(PLAIN, *sorted((first, second)))
        return False
    return True


def _between_centroids(view: CaseView, first: str, second: str) -> np.ndarray:
    ends = [view.structure(name).centroid_ras_mm for name in (first, second)]
    assert ends[0] is not None
    assert ends[1] is not None
    return np.subtract(ends[1], ends[0])


def _told(component: Quantity, rules: Rules) -> str:
    return shown(component.to(rules.length_unit).magnitude())


def _offset(view: CaseView, rules: Rules, first: str, second: str, axis: int) -> Evidence:
    return evidence(view, "offset", rules.length_unit, first=first, second=second, axis=axis)


def _pairs(view: CaseView, random: Random) -> list[tuple[str, str]]:
    pairs = list(permutations(view.askable("place"), 2))
    random.shuffle(pairs)
    return pairs


@subtask("DIR", "relation")
def relation(view: CaseView, rules: Rules, random: Random) -> Iterator[Draft]:
    """Whether one structure lies in a stated direction from another one, yes or no."""
    for structure, anchor in _pairs(view, random):
        axis = random.randrange(3)
        if told_by_names(structure, anchor, axis) or not is_clear(view, anchor, structure, axis):
            continue
        if not is_open(view, anchor, structure, axis):
            continue
        found = view.offset(anchor, structure, axis)
        draft = Draft(
            task="DIR",
            subtask="relation",
            structures=(structure, anchor),
            words={"a": readable_name(structure), "b": readable_name(anchor)},
            key=Choice("yes"),
            wrong=(),
            evidence=(_offset(view, rules, anchor, structure, axis),),
            format="yesno",
            margin=robust_margin(found, NOWHERE),
        )
        why = f"its centre lies {_told(found, rules)} {RELATION[direction(axis, found.value)]} that of the other"
        yield asked_towards(draft, "relation", RELATION, axis, found, why, random)


def asked_towards(
    draft: Draft, blank: str, words: Mapping[str, str], axis: int, found: Quantity, why: str, random: Random
) -> Draft:
    """A question whether something lies in a direction, and the same with the opposite one.

    Args:
        draft: without the direction and its answer.
        blank: of the template, for the direction.
        words: how each direction is said there.
        axis: R (0), A (1) or S (2).
        found: how far it lies along the axis.
        why: what is the case.
        random: of the subtask.
    """

    def asking(true: bool) -> Draft:
        asked = words[direction(axis, found.value if true else -found.value)]
        answer, other = ("yes", "no") if true else ("no", "yes")
        return replace(draft, words={**draft.words, blank: asked}, key=Choice(answer), wrong=(Choice(other, why),))

    return either_way(asking, random)


@subtask("DIR", "dominant_direction")
def dominant_direction(view: CaseView, rules: Rules, random: Random) -> Iterator[Draft]:
    """In which of six directions a structure mainly lies from another one."""
    for structure, anchor in _pairs(view, random):
        found = [view.offset(anchor, structure, axis) for axis in range(3)]
        main, second, third = sorted(range(3), key=lambda axis: -abs(found[axis].value))
        if told_by_names(structure, anchor, main):
            continue
        longest, next_longest = abs(found[main].value), abs(found[second].value)
        if longest < DOMINANCE[0] * next_longest:
            view.refuse("no main direction", structure, anchor)
            continue
        if longest > DOMINANCE[1] * next_longest:
            view.refuse(PLAIN, *sorted((structure, anchor)))
            continue
        centroids = np.abs(_between_centroids(view, anchor, structure))
        if int(centroids.argmax()) != main or not is_clear(view, anchor, structure, main):
            continue
        key = direction(main, found[main].value)
        # Two directions and their opposites: the key is no other than the three around it.
        wrong = [(direction(main, -found[main].value), f"it lies {_told(found[main].magnitude(), rules)} {key}")]
        for axis in (second, third):
            way, off = direction(axis, found[axis].value), _told(found[axis].magnitude(), rules)
            wrong.append((way, f"it lies {off} that way, but {_told(found[main].magnitude(), rules)} {key}"))
            wrong.append((direction(axis, -found[axis].value), f"it lies {off} {way}"))
        yield Draft(
            task="DIR",
            subtask="dominant_direction",
            structures=(structure, anchor),
            words={"a": readable_name(structure), "b": readable_name(anchor)},
            key=Choice(key),
            wrong=tuple(Choice(text, why) for text, why in wrong),
            evidence=tuple(_offset(view, rules, anchor, structure, axis) for axis in (main, second, third)),
            margin=min(robust_margin(found[main].magnitude(), found[axis].magnitude()) for axis in (second, third)),
        )


@subtask("DIR", "direction_pair")
def direction_pair(view: CaseView, rules: Rules, random: Random) -> Iterator[Draft]:
    """How a structure lies from another one along two axes at once."""
    axes_of = list(combinations(range(3), 2))
    for structure, anchor in _pairs(view, random):
        axes = random.choice(axes_of)
        if any(told_by_names(structure, anchor, axis) for axis in axes):
            continue
        if not all(is_clear(view, anchor, structure, axis) for axis in axes):
            continue
        if not all(is_open(view, anchor, structure, axis) for axis in axes):
            continue
        found = [view.offset(anchor, structure, axis) for axis in axes]
        right = [direction(axis, offset.value) for axis, offset in zip(axes, found, strict=True)]
        other = [direction(axis, -offset.value) for axis, offset in zip(axes, found, strict=True)]
        wrong = [
            Choice(f"{right[0]} and {other[1]}", f"it lies {_told(found[1], rules)} {right[1]}"),
            Choice(f"{other[0]} and {right[1]}", f"it lies {_told(found[0], rules)} {right[0]}"),
            Choice(f"{other[0]} and {other[1]}", "it lies the other way along both axes"),
        ]
        yield Draft(
            task="DIR",
            subtask="direction_pair",
            structures=(structure, anchor),
            words={"a": readable_name(structure), "b": readable_name(anchor)},
            key=Choice(f"{right[0]} and {right[1]}"),
            wrong=tuple(wrong),
            evidence=tuple(_offset(view, rules, anchor, structure, axis) for axis in axes),
            margin=min(robust_margin(offset, NOWHERE) for offset in found),
        )


@subtask("DIR", "side_of_spine")
def side_of_spine(view: CaseView, rules: Rules, random: Random) -> Iterator[Draft]:
    """Whether an unpaired structure lies on a stated side of the vertebra at its level, yes or no."""
    names = view.askable("place")
    vertebrae = [name for name in names if name.startswith("vertebrae_")]
    organs = [name for name in names if name not in vertebrae and side_of_name(name) is None]
    random.shuffle(organs)
    for organ in organs:
        height = float(view.center(organ)[SUPERIOR_INFERIOR])
        level = [each for each in vertebrae if _spans(view.reach(each, SUPERIOR_INFERIOR), height)]
        if not level:
            view.refuse("no vertebra at its level", organ)
            continue
        vertebra = min(level, key=lambda each: (abs(view.offset(each, organ, SUPERIOR_INFERIOR).value), each))
        if not (is_clear(view, vertebra, organ, LEFT_RIGHT) and is_open(view, vertebra, organ, LEFT_RIGHT)):
            continue
        found = view.offset(vertebra, organ, LEFT_RIGHT)
        draft = Draft(
            task="DIR",
            subtask="side_of_spine",
            structures=(organ, vertebra),
            words={"a": readable_name(organ), "b": readable_name(vertebra)},
            key=Choice("yes"),
            wrong=(),
            evidence=tuple(_offset(view, rules, vertebra, organ, axis) for axis in (LEFT_RIGHT, SUPERIOR_INFERIOR)),
            format="yesno",
            margin=robust_margin(found, NOWHERE),
        )
        why = f"it lies {_told(found, rules)} to the patient's {direction(LEFT_RIGHT, found.value)}"
        yield asked_towards(draft, "side", _SIDES, LEFT_RIGHT, found, why, random)


def _spans(reach: tuple[float, float], position: float) -> bool:
    return reach[0] <= position <= reach[1]


def _in_a_row(view: CaseView, random: Random, count: int) -> Iterator[tuple[int, list[str], str]]:
    """Axis, structures in their order along it, and the direction that the first of them lies in.

    Only structures of which the scan alone tells the order are put together.
    """
    names = view.askable("place")
    firsts = [(first, axis) for first in names for axis in range(3)]
    random.shuffle(firsts)
    for first, axis in firsts:
        chosen = [first]
        for other in random.sample(names, len(names)):
            if len(chosen) < count and other != first and all(_comparable(view, other, one, axis) for one in chosen):
                chosen.append(other)
        if len(chosen) < count:
            continue
        towards = random.choice((1.0, -1.0))
        chosen.sort(key=lambda name: (-towards * float(view.center(name)[axis]), name))
        yield axis, chosen, direction(axis, towards)


def _comparable(view: CaseView, first: str, second: str, axis: int) -> bool:
    if told_by_names(first, second, axis):
        return False
    return is_open(view, first, second, axis) and is_clear(view, first, second, axis)


@subtask("DIR", "outermost_of")
def outermost_of(view: CaseView, rules: Rules, random: Random) -> Iterator[Draft]:
    """Which of several structures lies farthest in one of six directions."""
    for axis, row, towards in _in_a_row(view, random, rules.options):
        key, others = row[0], row[1:]
        found = [view.offset(other, key, axis) for other in others]
        yield Draft(
            task="DIR",
            subtask="outermost_of",
            structures=tuple(sorted(row)),
            asked=key,
            words={"where": _FARTHEST[towards]},
            key=Choice(readable_name(key)),
            wrong=tuple(
                Choice(readable_name(other), f"the correct one lies {_told(offset, rules)} farther that way")
                for offset, other in zip(found, others, strict=True)
            ),
            evidence=tuple(_offset(view, rules, other, key, axis) for other in others),
            margin=min(robust_margin(offset, NOWHERE) for offset in found),
        )


@subtask("DIR", "order_along_axis")
def order_along_axis(view: CaseView, rules: Rules, random: Random) -> Iterator[Draft]:
    """Three structures in their order along an axis of the patient."""
    for axis, row, towards in _in_a_row(view, random, 3):
        steps = list(pairwise(row))
        orders = wrong_orders(row, rules, random)
        back = tuple(reversed(row))
        yield Draft(
            task="DIR",
            subtask="order_along_axis",
            structures=tuple(sorted(row)),
            asked=row[0],
            words={"list": listed(sorted(row)), "order": _ORDER[towards]},
            key=Choice(", ".join(map(readable_name, row))),
            wrong=tuple(
                Choice(
                    ", ".join(map(readable_name, each)),
                    "the reverse order" if each == back else "another order than that of the centres",
                )
                for each in orders
            ),
            evidence=tuple(_offset(view, rules, second, first, axis) for first, second in steps),
            margin=min(robust_margin(view.offset(second, first, axis), NOWHERE) for first, second in steps),
        )


@subtask("DIR", "offset_value")
def offset_value(view: CaseView, rules: Rules, random: Random) -> Iterator[Draft]:
    """How far one structure lies from another one in a stated direction, as a value."""
    for structure, anchor in _pairs(view, random):
        axis = random.randrange(3)
        if not is_clear(view, anchor, structure, axis):
            continue
        along = view.offset(anchor, structure, axis)
        towards = direction(axis, along.value)
        # Measured so that the figure is positive: superior from the anchor up, inferior from the structure up.
        first, second = (anchor, structure) if along.value > 0 else (structure, anchor)
        key = view.offset(first, second, axis).to(rules.length_unit)
        plausible = [
            (view.offset(first, second, other).to(rules.length_unit).magnitude().value, f"along the {AXES[other]} axis")
            for other in range(3)
            if other != axis
        ]
        plausible.append((view.distance(first, second).to(rules.length_unit).value, "the distance in a straight line"))
        random.shuffle(plausible)
        choices = value_choices(key, plausible, rules, random)
        if choices is None:
            view.refuse("the value is uncertain by more than the gap between options", structure, anchor)
            continue
        yield Draft(
            task="DIR",
            subtask="offset_value",
            structures=(structure, anchor),
            words={"a": readable_name(structure), "b": readable_name(anchor), "where": RELATION[towards]},
            key=choices[0],
            wrong=choices[1],
            evidence=(_offset(view, rules, first, second, axis),),
        )
