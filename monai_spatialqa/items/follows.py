"""Whether an answer follows from its evidence: decided by the form of the key, without knowing its subtask.

A value must be the evidence as shown, an interval must hold it, a structure must be the extreme that the question asks
for, an order must be that of the figures, a direction must have the sign of the offset. A key of any other form is not
decided; that is said, never passed over.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise

from monai_spatialqa.items.quantities_in_text import (
    Reading,
    ShownQuantity,
    bounds_in,
    folded,
    in_base,
    read_text,
    unit_named,
)
from monai_spatialqa.items.quantity import relative_gap
from monai_spatialqa.items.view import AXES
from monai_spatialqa.items.wording import readable_name
from monai_spatialqa.records.item import LETTERS, Evidence, Item, Reference

_TINY = Decimal("1e-9")
_SMALLEST = (
    r"closest|closer|nearest|nearer|small(?:est|er)|short(?:est|er)|least|low(?:est|er)|narrow(?:est|er)|ascending"
)
_LARGEST = (
    r"farthest|farther|furthest|further|larg(?:est|er)|long(?:est|er)|great(?:est|er)|most|bigg(?:est|er)|wid(?:est|er)|"
    r"tall(?:est|er)|high(?:est|er)|descending"
)
_POSITIVE = ("right|rightmost", "anterior|front|ventral|anteriorly", "superior|above|cranial|higher|highest|uppermost")
_NEGATIVE = ("left|leftmost", "posterior|behind|back|dorsal", "inferior|below|caudal|lower|lowest|lowermost")


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


def shows(quantity: ShownQuantity, value: float, unit: str | None) -> bool:
    """Whether a figure, rounded to the digits that are shown, is what is shown. A bare number is in ``unit``."""
    named = unit_named(unit)
    if quantity.unit is not None and unit is not None and named is not None:
        exact, shown = in_base(Decimal(repr(value)), named), quantity
        same = shown.dimension == in_base(Decimal(1), named).dimension
        return same and abs(shown.base - exact.base) <= shown.base_step / 2 + _TINY * abs(exact.base)
    if quantity.unit is not None and quantity.unit != unit:
        return False
    exact_value = Decimal(repr(float(value)))
    return abs(quantity.value - exact_value) <= quantity.step / 2 + _TINY * abs(exact_value)


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
        and shows(_with_default(reading.quantities[0], unit), value, unit)
        and _equal(value, unit, first)
    )
    return Verdict(right, key, expected)


def _with_default(quantity: ShownQuantity, unit: str | None) -> ShownQuantity:
    named = unit_named(unit)
    if quantity.unit is not None or named is None:
        return quantity
    return ShownQuantity(quantity.value, named, quantity.step)


def _equal(value: float, unit: str | None, one: Evidence) -> bool:
    """Whether two figures in possibly different units are the same."""
    first, second = unit_named(unit), unit_named(one.unit)
    if first is not None and second is not None:
        left, right = in_base(Decimal(repr(value)), first), in_base(Decimal(repr(float(one.value))), second)
        return left.dimension == right.dimension and abs(left.base - right.base) <= _TINY * max(abs(right.base), _TINY)
    return (unit or None) == (one.unit or None) and abs(value - float(one.value)) <= 1e-9 * max(1.0, abs(value))


def _yesno(item: Item, reference: Reference, key: str) -> Verdict | None:
    if item.format != "yesno":
        return None
    for ask in (_beyond_bound, _towards, _in_contact, _outside, _compared):
        found = ask(item, reference.evidence)
        if found is not None:
            expected = "yes" if found[0] else "no"
            return Verdict(key == expected, key, expected, found[1])
    return None


_Answer = tuple[bool, float | None] | None
"""Yes or no, and the gap between the figures that were compared."""


def _beyond_bound(item: Item, evidence: Sequence[Evidence]) -> _Answer:
    """ "... at least 200 ml?": one bound, one figure."""
    bounds, exact = bounds_in(item.question), _exact(evidence[0])
    if len(bounds) != 1 or len(evidence) != 1 or exact is None or exact.dimension != bounds[0][0]:
        return None
    bound = bounds[0][1]
    cut = bound.low if bound.low is not None else bound.high
    return bound.holds(exact.base), None if cut is None else relative_gap(float(exact.base), float(cut))


def _towards(item: Item, evidence: Sequence[Evidence]) -> _Answer:
    """ "... superior to ...?": a direction, and the offset along its axis."""
    offsets, stated = _offsets(evidence), _signs(_without_names(item))
    if not offsets or not stated or not stated.keys() <= offsets.keys():
        return None
    return all(offsets[axis] * sign > 0 for axis, sign in stated.items()), None


def _in_contact(item: Item, evidence: Sequence[Evidence]) -> _Answer:
    """ "... touch ...?": the area of contact."""
    areas = [float(one.value) for one in evidence if one.tool == "contact_area"]
    if len(areas) != 1 or not re.search(r"\b(?:touch(?:es|ing)?|contact)\b", item.question, re.IGNORECASE):
        return None
    return areas[0] > 0, None


def _outside(item: Item, evidence: Sequence[Evidence]) -> _Answer:
    """ "... a quarter or more ... outside ...?": the share inside."""
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
    """ "Is ... larger than ...?": the figure of the structure that is named first against the other one."""
    figures = _figures(evidence)
    text, named = folded(item.question), {}
    for label in sorted(figures, key=len, reverse=True):
        at = text.find(label)
        if at >= 0:
            named[at] = figures[label]
            text = text[:at] + "_" * len(label) + text[at + len(label) :]
    direction = _direction(item)
    if len(evidence) != 2 or len(named) != 2 or direction is None:
        return None
    first, second = (named[at] for at in sorted(named))
    return (first - second) * direction > 0, relative_gap(first, second)


def _without_names(item: Item) -> str:
    """The question without the names of its structures, which may hold words for sides and levels."""
    text = item.question
    for name in sorted((readable_name(name) for name in item.structures), key=len, reverse=True):
        text = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", "_", text, flags=re.IGNORECASE)
    return text


def _exact(one: Evidence) -> ShownQuantity | None:
    if not isinstance(one.value, (int, float)):
        return None
    named = unit_named(one.unit)
    value = Decimal(repr(float(one.value)))
    return in_base(value, named) if named or not one.unit else None


def _range(item: Item, reference: Reference, key: str) -> Verdict | None:
    reading = read_text(key)
    exact = _exact(reference.evidence[0])
    if reading.interval is None or exact is None:
        return None
    readings = [read_text(option) for option in item.options]
    holding = [option for option, one in zip(item.options, readings, strict=True) if _holds(one, exact)]
    return Verdict(
        holding == [key], key, " and ".join(holding) or f"an interval that holds {reference.evidence[0].value}"
    )


def _holds(reading: Reading, exact: ShownQuantity) -> bool:
    interval = reading.interval
    return interval is not None and reading.quantities[0].dimension == exact.dimension and interval.holds(exact.base)


def _value(item: Item, reference: Reference, key: str) -> Verdict | None:
    reading = read_text(key)
    count = len(reading.quantities)
    if not count or any(not isinstance(one.value, (int, float)) for one in reference.evidence):
        return None
    if _named(reference.evidence, key) is not None or (not reading.whole and count != 1):
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
        right = _equal(reference.answer_value, reference.answer_unit, stated[0])
    expected = " x ".join(f"{one.value} {one.unit or ''}".strip() for one in stated)
    return Verdict(right, key, expected)


def _labels(one: Evidence) -> set[str]:
    """What a piece of evidence may be called in an option: its structures, its axis."""
    found: set[str] = set()
    for value in one.arguments.values():
        if isinstance(value, str):
            found |= {folded(value), folded(readable_name(value))}
    axis = one.arguments.get("axis")
    if isinstance(axis, int) and not isinstance(axis, bool) and 0 <= axis < len(AXES):
        found.add(AXES[axis])
    return found


def _figures(evidence: Sequence[Evidence]) -> dict[str, float]:
    """Label -> figure, for labels that belong to one piece of evidence only, all in one unit.

    Offsets along one axis are taken together: each structure has its position, seen from the first one.
    """
    if len({(one.tool, one.unit) for one in evidence}) != 1 or any(isinstance(one.value, str) for one in evidence):
        return {}
    if evidence[0].tool == "offset" and len({str(one.arguments.get("axis")) for one in evidence}) == 1:
        return _positions(evidence)
    counts: dict[str, list[float]] = {}
    for one in evidence:
        for label in _labels(one):
            counts.setdefault(label, []).append(float(one.value))
    return {label: values[0] for label, values in counts.items() if len(values) == 1}


def _positions(evidence: Sequence[Evidence]) -> dict[str, float]:
    steps = [(str(one.arguments.get("first")), str(one.arguments.get("second")), float(one.value)) for one in evidence]
    found = {steps[0][0]: 0.0}
    for _ in steps:  # each round reaches at least one more structure, if the steps hang together
        for first, second, offset in steps:
            if first in found:
                found.setdefault(second, found[first] + offset)
            elif second in found:
                found[first] = found[second] - offset
    return {label: value for name, value in found.items() for label in (folded(name), folded(readable_name(name)))}


def _offsets(evidence: Sequence[Evidence]) -> dict[int, float]:
    """Axis -> offset between the same two structures."""
    found = {
        axis: float(one.value)
        for one in evidence
        if one.tool == "offset"
        and isinstance(axis := one.arguments.get("axis"), int)
        and not isinstance(one.value, str)
    }
    return found if len(found) == len(evidence) else {}


def _named(evidence: Sequence[Evidence], text: str) -> float | None:
    """The figure of the structure or axis that a text names; None where it names none."""
    figures = _figures(evidence)
    shown = folded(text)
    if shown in figures:
        return figures[shown]
    for axis in AXES:
        if axis in figures and all(word in re.findall(r"\w+", shown) for word in axis.split("-")):
            return figures[axis]
    return None


def _direction(item: Item) -> int | None:
    """1 where the largest is asked for, -1 where the smallest is; None where the words say neither or both."""
    for text in (item.subtask.replace("_", " "), item.question):
        first = re.search(rf"\b(?:({_SMALLEST})|({_LARGEST}))(?: one)? first\b", text, re.IGNORECASE)
        if first is None:
            first = re.search(rf"\bfrom (?:the )?(?:({_SMALLEST})|({_LARGEST})) to\b", text, re.IGNORECASE)
        if first:
            return 1 if first.group(1) else -1  # smallest first: an ascending order
        small = re.search(rf"\b(?:{_SMALLEST})\b", text, re.IGNORECASE)
        large = re.search(rf"\b(?:{_LARGEST})\b", text, re.IGNORECASE)
        if bool(small) != bool(large):
            return -1 if small else 1
    return None


def _side(item: Item, evidence: Sequence[Evidence]) -> int | None:
    """The same for offsets: 1 where the one most to the right, in front or above is asked for, or is to be last."""
    axes = {one.arguments.get("axis") for one in evidence}
    (axis,) = axes if len(axes) == 1 else (None,)
    if {one.tool for one in evidence} != {"offset"} or not isinstance(axis, int) or isinstance(axis, bool):
        return None
    text, words = _without_names(item), rf"\b(?:({_POSITIVE[axis]})|({_NEGATIVE[axis]}))\b"
    order = re.search(rf"\bfrom\b[\w' ]*?{words}.*?\bto\b", text, re.IGNORECASE)
    if order:
        return -1 if order.group(1) else 1
    found = [bool(match.group(1)) for match in re.finditer(words, text, re.IGNORECASE)]
    return None if len(set(found)) != 1 else 1 if found[0] else -1


def _extreme(item: Item, reference: Reference, key: str) -> Verdict | None:
    figure = _named(reference.evidence, key)
    if figure is None:
        return None
    others = {option: _named(reference.evidence, option) for option in item.options if option != key}
    side = _side(item, reference.evidence)
    direction = side or _direction(item)
    known = [value for value in others.values() if value is not None]
    if direction is None or len(known) < len(others) or not known:
        return None
    best = max([figure, *known], key=lambda value: value * direction)
    expected = key if figure == best else next(option for option, value in others.items() if value == best)
    right = all((figure - value) * direction > 0 for value in known)
    return Verdict(right, key, expected, None if side else min(relative_gap(figure, value) for value in known))


def _order(item: Item, reference: Reference, key: str) -> Verdict | None:
    parts = [part for part in re.split(r"\s*(?:,|;|<|>|→|\bthen\b)\s*", key) if part]
    figures = [_named(reference.evidence, part) for part in parts]
    known = [figure for figure in figures if figure is not None]
    if len(parts) < 2 or len(known) < len(parts):
        return None
    side = _side(item, reference.evidence)
    ascending = side or _direction(item)
    if ascending is None:
        return None
    ordered = sorted(zip(known, parts, strict=True), reverse=ascending < 0)
    right = [part for _, part in ordered] == parts
    distinct = len(set(known)) == len(known)
    gap = None if side else min(relative_gap(one, other) for (one, _), (other, _) in pairwise(ordered))
    return Verdict(right and distinct, key, ", ".join(part for _, part in ordered), gap)


def _signs(text: str) -> dict[int, int]:
    """Axis -> sign of the direction that a text states along it."""
    found: dict[int, int] = {}
    for axis in range(len(AXES)):
        for sign, words in ((1, _POSITIVE[axis]), (-1, _NEGATIVE[axis])):
            if re.search(rf"\b(?:{words})\b", text, re.IGNORECASE):
                found[axis] = 0 if axis in found else sign
    return {axis: sign for axis, sign in found.items() if sign}


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
    offsets, stated = _offsets(reference.evidence), _signs(key)
    if not offsets or not stated or not stated.keys() <= offsets.keys():
        return None
    main = sorted(offsets, key=lambda axis: -abs(offsets[axis]))[: len(stated)]
    words: Mapping[int, Sequence[str]] = {1: _POSITIVE, -1: _NEGATIVE}
    expected = " and ".join(words[1 if offsets[axis] > 0 else -1][axis].partition("|")[0] for axis in sorted(main))
    right = set(main) == stated.keys() and all(offsets[axis] * sign > 0 for axis, sign in stated.items())
    return Verdict(right, key, expected)


_Decider = Callable[[Item, Reference, str], Verdict | None]
_DECIDERS: tuple[_Decider, ...] = (_numeric, _yesno, _longest_along, _extreme, _order, _range, _value, _heading)
