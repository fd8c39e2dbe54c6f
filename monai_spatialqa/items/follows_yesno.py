"""Yes or no from evidence: a bound, a direction, contact, a part outside, or two figures."""

from __future__ import annotations

import re
from collections.abc import Sequence

from monai_spatialqa.items.evidence_figures import (
    asked_extreme,
    exact_figure,
    figures_by_label,
    offsets_by_axis,
    signs_stated,
    without_names,
)
from monai_spatialqa.items.quantities_in_text import bounds_in, folded
from monai_spatialqa.items.quantity import relative_gap
from monai_spatialqa.records.item import Evidence, Item

_Answer = tuple[bool, float | None] | None


def yes_or_no(item: Item, evidence: Sequence[Evidence]) -> tuple[bool, float | None] | None:
    """Whether yes follows from the evidence, and the gap between the figures compared; None where it is not decided."""
    for ask in (_beyond_bound, _towards, _in_contact, _outside, _compared):
        found = ask(item, evidence)
        if found is not None:
            return found
    return None


def _beyond_bound(item: Item, evidence: Sequence[Evidence]) -> _Answer:
    """As in "... at least 200 ml?": one bound, one figure."""
    bounds, exact = bounds_in(item.question), exact_figure(evidence[0])
    if len(bounds) != 1 or len(evidence) != 1 or exact is None or exact.dimension != bounds[0][0]:
        return None
    bound = bounds[0][1]
    cut = bound.low if bound.low is not None else bound.high
    return bound.holds(exact.base), None if cut is None else relative_gap(float(exact.base), float(cut))


def _towards(item: Item, evidence: Sequence[Evidence]) -> _Answer:
    """As in "... superior to ...?": a direction, and the offset along its axis."""
    offsets, stated = offsets_by_axis(evidence), signs_stated(without_names(item))
    if not offsets or not stated or not stated.keys() <= offsets.keys():
        return None
    return all(offsets[axis] * sign > 0 for axis, sign in stated.items()), None


def _in_contact(item: Item, evidence: Sequence[Evidence]) -> _Answer:
    """As in "... touch ...?": the area of contact."""
    areas = [float(one.value) for one in evidence if one.tool == "contact_area"]
    if len(areas) != 1 or not re.search(r"\b(?:touch(?:es|ing)?|contact)\b", item.question, re.IGNORECASE):
        return None
    return areas[0] > 0, None


def _outside(item: Item, evidence: Sequence[Evidence]) -> _Answer:
    """As in "... a quarter or more ... outside ...?": the share inside."""
    if len(evidence) != 1 or evidence[0].tool != "share_inside":
        return None
    asked = re.search(
        r"\b(quarter|third|half) or more\b.*\boutside\b|\ba? ?(quarter|third|half) or more", item.question
    )
    if asked is None or "outside" not in item.question:
        return None
    part = {"quarter": 25.0, "third": 100 / 3, "half": 50.0}[asked.group(1) or asked.group(2)]
    return 100 - float(evidence[0].value) >= part, None


def _compared(item: Item, evidence: Sequence[Evidence]) -> _Answer:
    """As in "Is ... larger than ...?": the figure of the structure that is named first against the other one."""
    figures = figures_by_label(evidence)
    text, named = folded(item.question), {}
    for label in sorted(figures, key=len, reverse=True):
        at = text.find(label)
        if at >= 0:
            named[at] = figures[label]
            text = text[:at] + "_" * len(label) + text[at + len(label) :]
    direction = asked_extreme(item)
    if len(evidence) != 2 or len(named) != 2 or direction is None:
        return None
    first, second = (named[at] for at in sorted(named))
    return (first - second) * direction > 0, relative_gap(first, second)
