"""What evidence says in the words of an item: figures of named structures, sides, and what a question asks for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal

from monai_spatialqa.items.quantities_in_text import ShownQuantity, folded, in_base
from monai_spatialqa.items.view import AXES
from monai_spatialqa.items.wording import readable_name
from monai_spatialqa.quantities import unit_named
from monai_spatialqa.records.item import Evidence, Item

_TINY = Decimal("1e-9")
_SMALLEST = (
    r"closest|closer|nearest|nearer|small(?:est|er)|short(?:est|er)|least|low(?:est|er)|narrow(?:est|er)|ascending"
)
_LARGEST = (
    r"farthest|farther|furthest|further|larg(?:est|er)|long(?:est|er)|great(?:est|er)|most|bigg(?:est|er)|wid(?:est|er)|"
    r"tall(?:est|er)|high(?:est|er)|descending"
)
POSITIVE = ("right|rightmost", "anterior|front|ventral|anteriorly", "superior|above|cranial|higher|highest|uppermost")
NEGATIVE = ("left|leftmost", "posterior|behind|back|dorsal", "inferior|below|caudal|lower|lowest|lowermost")


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


def with_default(quantity: ShownQuantity, unit: str | None) -> ShownQuantity:
    """A bare number in a unit; any other as it is."""
    named = unit_named(unit)
    if quantity.unit is not None or named is None:
        return quantity
    return ShownQuantity(quantity.value, named, quantity.step)


def same_figure(value: float, unit: str | None, one: Evidence) -> bool:
    """Whether two figures in possibly different units are the same."""
    first, second = unit_named(unit), unit_named(one.unit)
    if first is not None and second is not None:
        left, right = in_base(Decimal(repr(value)), first), in_base(Decimal(repr(float(one.value))), second)
        return left.dimension == right.dimension and abs(left.base - right.base) <= _TINY * max(abs(right.base), _TINY)
    return (unit or None) == (one.unit or None) and abs(value - float(one.value)) <= 1e-9 * max(1.0, abs(value))


def exact_figure(one: Evidence) -> ShownQuantity | None:
    """The figure of a piece of evidence, to be compared with written ones; None where it is no number."""
    if not isinstance(one.value, (int, float)):
        return None
    named = unit_named(one.unit)
    value = Decimal(repr(float(one.value)))
    return in_base(value, named) if named or not one.unit else None


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


def figures_by_label(evidence: Sequence[Evidence]) -> dict[str, float]:
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


def offsets_by_axis(evidence: Sequence[Evidence]) -> dict[int, float]:
    """Axis -> offset between the same two structures."""
    found = {
        axis: float(one.value)
        for one in evidence
        if one.tool == "offset"
        and isinstance(axis := one.arguments.get("axis"), int)
        and not isinstance(one.value, str)
    }
    return found if len(found) == len(evidence) else {}


def figure_named(evidence: Sequence[Evidence], text: str) -> float | None:
    """The figure of the structure or axis that a text names; None where it names none."""
    figures = figures_by_label(evidence)
    shown = folded(text)
    if shown in figures:
        return figures[shown]
    words = set(re.findall(r"\w+", shown))
    axes = [axis for axis in AXES if words.issuperset(axis.split("-"))]
    if len(axes) == 1 and axes[0] in figures:
        return figures[axes[0]]
    return None


def without_names(item: Item) -> str:
    """The question without the names of its structures, which may hold words for sides and levels."""
    text = item.question
    for name in sorted((readable_name(name) for name in item.structures), key=len, reverse=True):
        text = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", "_", text, flags=re.IGNORECASE)
    return text


def asked_extreme(item: Item) -> int | None:
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


def asked_side(item: Item, evidence: Sequence[Evidence]) -> int | None:
    """The same for offsets: 1 where the one most to the right, in front or above is asked for, or is to be last."""
    axes = {one.arguments.get("axis") for one in evidence}
    (axis,) = axes if len(axes) == 1 else (None,)
    if {one.tool for one in evidence} != {"offset"} or not isinstance(axis, int) or isinstance(axis, bool):
        return None
    text, words = without_names(item), rf"\b(?:({POSITIVE[axis]})|({NEGATIVE[axis]}))\b"
    order = re.search(rf"\bfrom\b[\w' ]*?{words}.*?\bto\b", text, re.IGNORECASE)
    if order:
        return -1 if order.group(1) else 1
    found = [bool(match.group(1)) for match in re.finditer(words, text, re.IGNORECASE)]
    return None if len(set(found)) != 1 else 1 if found[0] else -1


def signs_stated(text: str) -> dict[int, int]:
    """Axis -> sign of the direction that a text states along it."""
    found: dict[int, int] = {}
    for axis in range(len(AXES)):
        for sign, words in ((1, POSITIVE[axis]), (-1, NEGATIVE[axis])):
            if re.search(rf"\b(?:{words})\b", text, re.IGNORECASE):
                found[axis] = 0 if axis in found else sign
    return {axis: sign for axis, sign in found.items() if sign}
