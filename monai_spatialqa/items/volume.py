"""VOL: how large structures are, as a value, an interval, or against a threshold."""

from __future__ import annotations

import math
from collections.abc import Iterator
from decimal import ROUND_CEILING, ROUND_FLOOR
from random import Random

from monai_spatialqa.anatomy.structure import opposite_name
from monai_spatialqa.items.draft import Choice, Draft, Rules, subtask
from monai_spatialqa.items.names import whole_organs
from monai_spatialqa.items.options import WIDEST, interval_choices, round_number, round_places, value_choices
from monai_spatialqa.items.quantity import Quantity
from monai_spatialqa.items.ranking import robust_margin
from monai_spatialqa.items.tools import evidence
from monai_spatialqa.items.view import CaseView
from monai_spatialqa.items.wording import readable_name, shown_value
from monai_spatialqa.records.item import Evidence


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
            (_volume(view, rules, other).value, f"volume of the {readable_name(other)}")
            for other in ([partner, *others] if partner in names else others)
        ]
        box = Quantity(_box_ml(view, name), 0.0, math.inf, "ml").to(rules.volume_unit)
        # Not always in front, or the largest option by far would be wrong in every question.
        plausible.insert(random.randrange(3), (box.value, "volume of its bounding box"))
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


def _box_ml(view: CaseView, name: str) -> float:
    box = view.structure(name).box
    assert box is not None
    return math.prod(box.extent_mm) / 1000


@subtask("VOL", "volume_interval")
def volume_interval(view: CaseView, rules: Rules, random: Random) -> Iterator[Draft]:
    """Which of several intervals the volume of a structure lies in."""
    for name in _structures(view, random):
        choices = interval_choices(_volume(view, rules, name), rules, random, widest=WIDEST)
        if choices is None:
            view.refuse("no intervals of use hold it for certain", name)
            continue
        yield Draft(
            task="VOL",
            subtask="volume_interval",
            structures=(name,),
            words={"a": readable_name(name)},
            key=choices[0],
            wrong=choices[1],
            evidence=(_evidence(view, rules, name),),
            margin=choices[2],
            ordered=True,
        )


@subtask("VOL", "volume_at_least")
def volume_at_least(view: CaseView, rules: Rules, random: Random) -> Iterator[Draft]:
    """Whether a structure has at least a stated volume, yes or no."""
    for name in _structures(view, random):
        key = _volume(view, rules, name)
        true = random.random() < 0.5
        factor = 1 + random.uniform(rules.value_gap, 1.0)
        low, high = (key.low, key.high) if rules.robust else (key.value, key.value)
        if low <= 0:
            # Refused whatever the answer would be, so that structures this thin do not all have the answer no.
            view.refuse("within half a voxel it has no volume", name)
            continue
        threshold = round_number(low / factor, ROUND_FLOOR) if true else round_number(high * factor, ROUND_CEILING)
        yield Draft(
            task="VOL",
            subtask="volume_at_least",
            structures=(name,),
            words={"a": readable_name(name), "threshold": shown_value(threshold, key.unit, round_places(threshold))},
            key=Choice("yes" if true else "no"),
            wrong=(Choice("no" if true else "yes", f"the measured volume is {shown_value(key.value, key.unit)}"),),
            evidence=(_evidence(view, rules, name),),
            format="yesno",
            margin=robust_margin(key, Quantity(threshold, threshold, threshold, key.unit)),
        )
