"""Rules about what is written: questions that give the key away, units missing, mixed, or those of an array."""

from __future__ import annotations

import re
from collections.abc import Iterator

from monai_spatialqa.items.lint_item import Fault, LintContext, LintItem, item_rule
from monai_spatialqa.items.quantities_in_text import folded, quantities_in, read_text
from monai_spatialqa.items.wording import readable_name
from monai_spatialqa.quantities import ARRAY_UNITS, UNITS, unit_named

_ARRAY_WORDS = re.compile(r"\b(?:voxels?|vox|pixels?|px)\b", re.IGNORECASE)
_OF_ARRAYS = {UNITS[name].dimension for name in ARRAY_UNITS}

_ASKS_FOR_SLICES = re.compile(
    r"\b(?:how many|number of|count of)\s+(?:\w+\s+){0,4}slices?\b|\bin (?:\w+ )?slices\b(?=\s*[?.,;)]|$)"
    r"|\(\s*(?:in )?slices\s*\)|\b(?:which|what)\s+(?:\w+\s+){0,2}slice\b(?! (?:thickness|spacing))"
    r"|\bslice (?:number|index|count)s?\b|\bslices? (?:apart|long|thick|high|tall|deep)\b",
    re.IGNORECASE,
)
"""Slices are what is asked for; "within one axial slice" only says where."""

_ASKED: dict[str, re.Pattern[str]] = {
    dimension: re.compile(rf"\b(?:{words})\b", re.IGNORECASE)
    for dimension, words in {
        "volume": "volumes?",
        "length": "how (?:long|far|tall|wide|high|thick|deep)|lengths?|distances?|diameters?|heights?|widths?|extents?|"
        "extends?|thickness|depth|radius|edges?",
        "area": "areas?",
        "share": "shares?|percent(?:age)?|proportion|fraction",
        "ratio": "ratio|times|multiple|divided|factor|fold",
        "angle": "angles?|degrees?",
        "attenuation": "attenuation|density|hounsfield|hu|intensity",
    }.items()
}
"""Words of a question that say what kind of figure is asked for."""

_CONVENTION = re.compile(r"\bleft and right are\b", re.IGNORECASE)
"""Whose left and right is meant is a convention, and tells nothing of the answer."""

_NO_UNIT_ASKED = re.compile(
    r"\bhow many\b|\bnumber of\b|\bcount of\b|\bratio\b|\btimes\b|\bfactor\b|\bfold\b|\bfraction\b|\bproportion\b|"
    r"\bscore\b|\bgrade\b|\bindex\b",
    re.IGNORECASE,
)


@item_rule("error")
def malformed_item(item: LintItem, context: LintContext) -> Iterator[Fault]:
    """A field is missing or is not what an item has there; the finding names the field."""
    yield from item.malformed


@item_rule("error")
def key_in_question(item: LintItem, context: LintContext) -> Iterator[Fault]:
    """The question gives the key away: the key is the only option that it names."""
    if item.key is None or item.format == "yesno":
        return
    if item.format == "numeric":
        if _names_value(item.question, item.key):
            yield Fault("question", item.question, f"a question that does not name {item.key!r}")
        return
    question = _CONVENTION.sub("_", item.question)
    if all(structure_named(item, option) is None for option in item.options):
        for name in sorted(map(readable_name, item.structures), key=len, reverse=True):
            question = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", "_", question, flags=re.IGNORECASE)
    named = [option for option in item.options if _names(question, option)]
    if named == [item.key] and len(item.options) > 1:
        yield Fault(
            "question", item.question, f"a question that does not name {item.key!r}, or names other options, too"
        )


@item_rule("error")
def unit_missing(item: LintItem, context: LintContext) -> Iterator[Fault]:
    """A measured value has no unit: neither in the option, nor in a field of the item, nor in the question."""
    has_unit = item.asked_unit is not None
    if item.format == "numeric":
        alone = [read_text(answer) for answer in item.answers]
        bare = item.unit is None and any(r.whole and any(q.unit is None for q in r.quantities) for r in alone)
        if bare and not has_unit and not _NO_UNIT_ASKED.search(item.question):
            yield Fault("unit", "none", "the unit of the answer")
        return
    with_unit = [at for at, one in enumerate(item.readings) if one.quantities and all(q.unit for q in one.quantities)]
    without = [
        at
        for at, reading in enumerate(item.readings)
        if reading.whole and any(quantity.unit is None for quantity in reading.quantities)
    ]
    if not without or (not with_unit and (has_unit or item.unit or _NO_UNIT_ASKED.search(item.question))):
        return
    yield Fault(item.option_field(*without), ", ".join(item.options[at] for at in without), "numbers with their unit")


@item_rule("error")
def mixed_units(item: LintItem, context: LintContext) -> Iterator[Fault]:
    """The options of an item, or its options and the unit that it states, are in different units."""
    units = {quantity.unit for reading in item.readings for quantity in reading.quantities if quantity.unit}
    frames = {reading.frame for reading in item.readings if reading.quantities}
    if len(units) > 1 and len(frames) == 1:
        yield Fault("options", ", ".join(item.options), f"one unit, not {' and '.join(sorted(units))}")
    stated = unit_named(item.unit)
    if item.format == "numeric":
        units = {quantity.unit for answer in item.answers for quantity in read_text(answer).quantities if quantity.unit}
    if stated is not None and len(units) == 1 and units != {stated}:
        yield Fault("unit", f"{item.unit}, but {next(iter(units))} in the answers", "one unit")


@item_rule("error")
def voxel_units(item: LintItem, context: LintContext) -> Iterator[Fault]:
    """Something is given or asked in voxels, pixels or slices, which mean nothing without the spacing of the array."""
    shown = {"question": item.question, "unit": item.unit or ""}
    shown |= {item.option_field(at): option for at, option in enumerate(item.options)}
    if not item.options:
        shown |= {"answer": ", ".join(item.answers)}
    for name, text in shown.items():
        in_array = any(quantity.unit in ARRAY_UNITS for quantity in quantities_in(text)) and name != "question"
        slices = name == "question" and _ASKS_FOR_SLICES.search(text)
        if in_array or slices or _ARRAY_WORDS.search(text) or (name == "unit" and unit_named(text) in ARRAY_UNITS):
            yield Fault(name, text, "a physical unit such as mm or ml")


@item_rule("error")
def wrong_dimension(item: LintItem, context: LintContext) -> Iterator[Fault]:
    """The question asks for one kind of figure, such as a volume, and the answers are of another, such as a length."""
    question = folded(item.question)
    for name in sorted((*item.structures, *map(readable_name, item.structures)), key=len, reverse=True):
        question = question.replace(folded(name), "_")
    asked = {dimension for dimension, words in _ASKED.items() if words.search(question)}
    if not asked or item.format == "yesno":
        return
    answers = {item.option_field(at): option for at, option in enumerate(item.options)}
    answers = answers or {"answer": ", ".join(item.answers), "unit": f"1 {item.unit}" if unit_named(item.unit) else ""}
    for field, text in answers.items():
        reading = read_text(text)
        found = {one for one in reading.dimensions if one is not None} if reading.quantities else set()
        if reading.whole and found and not found & asked and not found & _OF_ARRAYS:
            shown = text if field != "unit" else str(item.unit)
            yield Fault(
                field, f"{shown}, a figure of {' and '.join(sorted(found))}", f"one of {' or '.join(sorted(asked))}"
            )


def structure_named(item: LintItem, option: str) -> str | None:
    """The structure of the item that an option is the name of; None for none."""
    shown = folded(option)
    return next((name for name in item.structures if shown in (folded(name), folded(readable_name(name)))), None)


def _names(question: str, option: str) -> bool:
    """Whether a text stands in a question as words of its own, or as the same quantity in any unit."""
    words = folded(option).strip(" .")
    if words and re.search(rf"(?<!\w){re.escape(words)}(?!\w)", folded(question)):
        return True
    return _names_value(question, option)


def _names_value(question: str, text: str) -> bool:
    reading = read_text(text)
    if not reading.whole or reading.interval or len(reading.quantities) != 1:
        return False
    one = reading.quantities[0]
    return any(
        other.dimension == one.dimension
        and abs(other.base - one.base) <= min(other.base_step, one.base_step) / 2
        and one.unit is not None
        for other in quantities_in(question)
    )
