"""VOL: how large structures are, as a value, an interval, or against a threshold."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import ROUND_CEILING, ROUND_FLOOR
from random import Random

from monai_spatialqa.anatomy.structure import opposite_name
from monai_spatialqa.items.draft import Choice, Draft, Rules, either_way, subtask
from monai_spatialqa.items.names import whole_organs
from monai_spatialqa.items.options import every_interval_choice, in_intervals, round_number, round_places, value_choices
from monai_spatialqa.items.quantity import Quantity
from monai_spatialqa.items.ranking import robust_margin
from monai_spatialqa.items.tools import evidence
from monai_spatialqa.items.view import CaseView
from monai_spatialqa.items.wording import readable_name, shown, shown_value
from monai_spatialqa.records.item import Evidence

FARTHEST_THRESHOLD = 2.5
"""A threshold this many times the volume, or as many times smaller, is no question: anybody knows the answer."""


def _structures(view: CaseView, random: Random) -> list[str]:
    names = whole_organs(view, "size")
    random.shuffle(names)
    return names


def _volume(view: CaseView, rules: Rules, name: str) -> Quantity:
    return view.volume(name).to(rules.volume_unit)


def _evidence(view: CaseView, rules: Rules, name: str) -> Evidence:
    return evidence(view, "volume", rules.volume_unit, structure=name)


@subtask("VOL", "volume_value")
def volume_value(view: CaseView, rules: Rules, random: Random) -> Iterator[Draft]:
    """How large a structure is, as a value."""
    names = _structures(view, random)
    for name in names:
        key = _volume(view, rules, name)
        partner = opposite_name(name)
        others = [other for other in random.sample(names, len(names)) if other not in (name, partner)]
        plausible = [
            (_volume(view, rules, other).value, f"the volume of the {readable_name(other)}")
            for other in ([partner, *others] if partner in names else others)
        ]
        choices = value_choices(key, plausible, rules, random)
        if choices is None:
            view.refuse("the value is uncertain by more than the gap between options", name)
            continue
        yield Draft(
            task="VOL",
            subtask="volume_value",
            structures=(name,),
            words={"a": readable_name(name)},
            key=choices[0],
            wrong=choices[1],
            evidence=(_evidence(view, rules, name),),
        )


@subtask("VOL", "volume_interval")
def volume_interval(view: CaseView, rules: Rules, random: Random) -> Iterator[Draft]:
    """Which of several intervals the volume of a structure lies in."""
    for name in _structures(view, random):
        choices = every_interval_choice(_volume(view, rules, name), rules, random)
        if not choices:
            view.refuse("no intervals of use hold it for certain", name)
            continue
        draft = Draft(
            task="VOL",
            subtask="volume_interval",
            structures=(name,),
            words={"a": readable_name(name)},
            key=choices[0][0],
            wrong=(),
            evidence=(_evidence(view, rules, name),),
        )
        yield in_intervals(draft, choices)


@subtask("VOL", "volume_at_least")
def volume_at_least(view: CaseView, rules: Rules, random: Random) -> Iterator[Draft]:
    """Whether a structure has at least a stated volume, yes or no."""
    for name in _structures(view, random):
        key = _volume(view, rules, name)
        bounds = _thresholds(key, rules, random)
        if bounds is None:
            view.refuse("no threshold near the volume is certain", name)
            continue

        def asking(true: bool, name: str = name, key: Quantity = key, bounds: tuple[float, float] = bounds) -> Draft:
            bound = bounds[0] if true else bounds[1]
            return Draft(
                task="VOL",
                subtask="volume_at_least",
                structures=(name,),
                words={"a": readable_name(name), "threshold": shown_value(bound, key.unit, round_places(bound))},
                key=Choice("yes" if true else "no"),
                wrong=(Choice("no" if true else "yes", f"the measured volume is {shown(key)}"),),
                evidence=(_evidence(view, rules, name),),
                format="yesno",
                margin=robust_margin(key, Quantity(bound, bound, bound, key.unit)),
            )

        yield either_way(asking, random)


def _thresholds(key: Quantity, rules: Rules, random: Random) -> tuple[float, float] | None:
    """A round number below the range of a volume and one above, as far from it; None where one is far off."""
    low, high = (key.low, key.high) if rules.robust else (key.value, key.value)
    factor = 1 + random.uniform(rules.value_gap, FARTHEST_THRESHOLD / 2)
    if low <= 0:
        return None
    below, above = round_number(low / factor, ROUND_FLOOR), round_number(high * factor, ROUND_CEILING)
    return None if max(key.value / below, above / key.value) > FARTHEST_THRESHOLD else (below, above)
