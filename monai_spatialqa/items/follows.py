"""Whether an answer follows from its evidence: decided by the form of the key, without knowing its subtask.

A value must be the evidence as shown, an interval must hold it, a structure must be the extreme that the question asks
for, an order must be that of the figures, a direction must have the sign of the offset. A key of any other form is not
decided; that is said, never passed over.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from monai_spatialqa.items.evidence_figures import (
    NEGATIVE,
    POSITIVE,
    asked_extreme,
    asked_side,
    exact_figure,
    figure_named,
    offsets_by_axis,
    same_figure,
    shows,
    signs_stated,
    with_default,
)
from monai_spatialqa.items.follows_yesno import yes_or_no
from monai_spatialqa.items.quantities_in_text import Reading, ShownQuantity, folded, read_text
from monai_spatialqa.items.quantity import relative_gap
from monai_spatialqa.items.view import AXES
from monai_spatialqa.items.wording import readable_name
from monai_spatialqa.quantities import unit_named
from monai_spatialqa.records.item import LETTERS, Item, Reference


@dataclass(frozen=True)
class Verdict:
    """Whether an answer follows.

    Attributes:
        follows: None where the form of the key says nothing about the evidence.
        found: the answer.
        expected: what follows from the evidence, in words.
        gap: smallest relative gap between two figures that were compared; None where none were.
    """

    follows: bool | None
    found: str
    expected: str
    gap: float | None = None


def answer_from_evidence(item: Item, reference: Reference) -> Verdict:
    """Decide whether the answer of a reference follows from its evidence."""
    key = key_text(item, reference)
    if key is None:
        return Verdict(False, reference.answer, "an answer that the item has")
    for decide in _DECIDERS:
        verdict = decide(item, reference, key)
        if verdict is not None:
            return verdict
    return Verdict(None, key, "a key whose form says what it rests on")


def key_text(item: Item, reference: Reference) -> str | None:
    """Text of the option that the answer names; None where the item has no such option."""
    if item.format == "numeric":
        return reference.answer_text
    if item.format == "yesno":
        return reference.answer if reference.answer in item.options else None
    at = LETTERS.find(reference.answer) if len(reference.answer) == 1 else -1
    return item.options[at] if 0 <= at < len(item.options) else None


def _numeric(item: Item, reference: Reference, key: str) -> Verdict | None:
    if item.format != "numeric":
        return None
    first = reference.evidence[0]
    expected = f"{first.value} {first.unit or ''}".strip()
    reading = read_text(key)
    value, unit = reference.answer_value, reference.answer_unit
    right = (
        isinstance(first.value, (int, float))
        and value is not None
        and len(reading.quantities) == 1
        and folded(unit or "") == folded(item.answer_unit or "")
        and shows(with_default(reading.quantities[0], unit), value, unit)
        and same_figure(value, unit, first)
    )
    return Verdict(right, key, expected)


def _yesno(item: Item, reference: Reference, key: str) -> Verdict | None:
    found = yes_or_no(item, reference.evidence) if item.format == "yesno" else None
    if found is None:
        return None
    expected = "yes" if found[0] else "no"
    return Verdict(key == expected, key, expected, found[1])


def _holds(reading: Reading, exact: ShownQuantity) -> bool:
    interval = reading.interval
    return interval is not None and reading.quantities[0].dimension == exact.dimension and interval.holds(exact.base)


def _range(item: Item, reference: Reference, key: str) -> Verdict | None:
    reading = read_text(key)
    exact = exact_figure(reference.evidence[0])
    if reading.interval is None or exact is None:
        return None
    readings = [read_text(option) for option in item.options]
    holding = [option for option, one in zip(item.options, readings, strict=True) if _holds(one, exact)]
    return Verdict(
        holding == [key], key, " and ".join(holding) or f"an interval that holds {reference.evidence[0].value}"
    )


def _value(item: Item, reference: Reference, key: str) -> Verdict | None:
    reading = read_text(key)
    count = len(reading.quantities)
    if not count or any(not isinstance(one.value, (int, float)) for one in reference.evidence):
        return None
    if figure_named(reference.evidence, key) is not None or (not reading.whole and count != 1):
        return None
    stated = reference.evidence[:count]
    if count > len(reference.evidence):
        return None
    units = [reading.quantities[at].unit or one.unit for at, one in enumerate(stated)]
    if not reading.whole and unit_named(units[0]) is None and reference.evidence[0].unit:
        return None
    right = all(
        shows(quantity, float(one.value), one.unit) for quantity, one in zip(reading.quantities, stated, strict=True)
    )
    if right and count == 1 and reference.answer_value is not None:
        right = same_figure(reference.answer_value, reference.answer_unit, stated[0])
    expected = " x ".join(f"{one.value} {one.unit or ''}".strip() for one in stated)
    return Verdict(right, key, expected)


def _extreme(item: Item, reference: Reference, key: str) -> Verdict | None:
    figure = figure_named(reference.evidence, key)
    if figure is None:
        return None
    others = {option: figure_named(reference.evidence, option) for option in item.options if option != key}
    side = asked_side(item, reference.evidence)
    direction = side or asked_extreme(item)
    known = [value for value in others.values() if value is not None]
    if direction is None or len(known) < len(others) or not known:
        return None
    best = max([figure, *known], key=lambda value: value * direction)
    first = [key] * (figure == best) + [option for option, value in others.items() if value == best]
    expected = first[0] if len(first) == 1 else f"one alone; {' and '.join(first)} are equal, a tie"
    right = all((figure - value) * direction > 0 for value in known)
    return Verdict(right, key, expected, None if side else min(relative_gap(figure, value) for value in known))


def _order(item: Item, reference: Reference, key: str) -> Verdict | None:
    parts = [part for part in re.split(r"\s*(?:,|;|<|>|→|\bthen\b)\s*", key) if part]
    figures = [figure_named(reference.evidence, part) for part in parts]
    known = [figure for figure in figures if figure is not None]
    if len(parts) < 2 or len(known) < len(parts):
        return None
    side = asked_side(item, reference.evidence)
    ascending = side or asked_extreme(item)
    if ascending is None:
        return None
    ordered = sorted(zip(known, parts, strict=True), reverse=ascending < 0)
    right = [part for _, part in ordered] == parts
    distinct = len(set(known)) == len(known)
    gap = None if side else min(relative_gap(one, other) for (one, _), (other, _) in pairwise(ordered))
    expected = ", ".join(part for _, part in ordered)
    if not distinct:
        tied = [part for figure, part in ordered if known.count(figure) > 1]
        expected = f"figures that differ; {' and '.join(tied)} are equal, a tie"
    return Verdict(right and distinct, key, expected, gap)


def _longest_along(item: Item, reference: Reference, key: str) -> Verdict | None:
    """Which structure is longest along a stated axis: the edges of each, all three of them."""
    edges: dict[str, dict[int, float]] = {}
    for one in reference.evidence:
        axis, name = one.arguments.get("axis"), one.arguments.get("structure")
        if one.tool != "extent" or not isinstance(axis, int) or not isinstance(name, str) or isinstance(one.value, str):
            return None
        edges.setdefault(folded(readable_name(name)), {})[axis] = float(one.value)
    asked = [at for at, axis in enumerate(AXES) if axis in folded(item.question)]
    if len(asked) != 1 or any(len(edges.get(folded(option), {})) != len(AXES) for option in item.options):
        return None
    right = [
        option for option in item.options if max(found := edges[folded(option)], key=found.__getitem__) == asked[0]
    ]
    gaps = []
    for found in edges.values():
        shorter, longest = sorted(found.values())[-2:]
        gaps.append(relative_gap(shorter, longest))
    return Verdict(
        right == [key], key, " and ".join(right) or f"a structure that is longest {AXES[asked[0]]}", min(gaps)
    )


def _heading(item: Item, reference: Reference, key: str) -> Verdict | None:
    """A key that states directions: each has the sign of its offset, and no other offset is larger than theirs."""
    offsets, stated = offsets_by_axis(reference.evidence), signs_stated(key)
    if not offsets or not stated or not stated.keys() <= offsets.keys():
        return None
    main = sorted(offsets, key=lambda axis: -abs(offsets[axis]))[: len(stated)]
    words: Mapping[int, Sequence[str]] = {1: POSITIVE, -1: NEGATIVE}
    expected = " and ".join(words[1 if offsets[axis] > 0 else -1][axis].partition("|")[0] for axis in sorted(main))
    right = set(main) == stated.keys() and all(offsets[axis] * sign > 0 for axis, sign in stated.items())
    return Verdict(right, key, expected)


_Decider = Callable[[Item, Reference, str], Verdict | None]
_DECIDERS: tuple[_Decider, ...] = (_numeric, _yesno, _longest_along, _extreme, _order, _range, _value, _heading)
