# ruff: noqa: RUF001 - punctuation that replies are written with
"""Reading a number with its unit from a reply. Never a guess: what no rule reads is none, with a reason."""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import Decimal
from typing import Any

from monai_spatialqa.answers.joined import Term, converted, dimension, terms_in
from monai_spatialqa.answers.json_reply import answer_fields
from monai_spatialqa.answers.number_words import with_digits
from monai_spatialqa.answers.quantity_cues import (
    EQUATED,
    NO_UNIT,
    NOT_FINITE,
    PADDING,
    QUANTITY_FIELDS,
    UNIT_FIELDS,
    declined_spans,
    statements,
)
from monai_spatialqa.answers.reasoning import final_part
from monai_spatialqa.answers.refusals import abstains_at, silence
from monai_spatialqa.answers.result import QuantityReading
from monai_spatialqa.answers.text import Vocabulary, plain, small
from monai_spatialqa.answers.written import FOREIGN, numbers_in
from monai_spatialqa.errors import SettingsError
from monai_spatialqa.quantities.units import UNITS, unit_spelled


def read_quantity(reply: str | None, unit: str | None, *, strict: bool = False) -> QuantityReading:
    """Read the number that a reply gives, in the unit that was asked for.

    Reasoning blocks and a run-on next question are dropped. Then, in this order: a JSON field of the answer; a reply
    that is a number; the last explicit statement of the answer; the last number with a fitting unit; the one bare
    number. Ids, slice numbers, steps, counts and factors of a product are no answers.

    Args:
        reply: text of the model; None for none.
        unit: the unit asked for, in any spelling of ``quantities.UNITS``; None or empty for a number without one.
        strict: a range is none, instead of its midpoint.

    Returns:
        The value in ``unit``, exactly and as a float, and the rule; or the reason why there is none.

    Raises:
        SettingsError: an unknown unit.

    Example:
        >>> read_quantity("The volume is about 1.45 L.", "ml").value
        1450.0
    """
    asked = unit_spelled(unit) if unit else None
    if unit and asked is None:
        raise SettingsError(
            "the unit asked for is not known",
            key="unit",
            found=unit,
            expected=", ".join(UNITS),
            next_step="give one of these, or None for a number without a unit",
        )
    final = final_part(reply)
    if final.reason:
        return QuantityReading(reason=final.reason, flags=final.flags)
    reading = _read(final.text, asked, strict=strict)
    if reading.reason == "abstained":
        reading = replace(reading, abstained=True)
    return replace(reading, flags=(*reading.flags, *final.flags)) if final.flags else reading


def _read(raw: str, asked: str | None, *, strict: bool) -> QuantityReading:
    fields = answer_fields(raw, tuple(QUANTITY_FIELDS))
    if fields is not None:
        found = _in_fields(fields, asked, strict=strict)
        return replace(found, rule="json") if found.value is not None else found
    return _in_text(plain(raw), asked, strict=strict)


def _in_fields(fields: dict[str, Any], asked: str | None, *, strict: bool) -> QuantityReading:
    """What the answer field of a structured reply says, with the field of its unit or the unit in the field's name."""
    name = next(name for name in QUANTITY_FIELDS if name in fields)
    value, told = fields[name], QUANTITY_FIELDS[name]
    if isinstance(value, dict):
        inner = {str(key).strip().lower(): part for key, part in value.items()}
        named = next((key for key in QUANTITY_FIELDS if key in inner and not isinstance(inner[key], dict)), None)
        if named is None:
            return QuantityReading(reason="no_answer")
        fields, value, told = inner, inner[named], QUANTITY_FIELDS[named]
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if value is None:
        return QuantityReading(reason="abstained")
    if isinstance(value, bool | dict | list):
        return QuantityReading(reason="ambiguous" if isinstance(value, list) and value else "no_answer")
    written = next((fields[key] for key in UNIT_FIELDS if fields.get(key)), None)
    if written is not None and plain(str(written)).lower() not in NO_UNIT:
        told = unit_spelled(plain(str(written))) or FOREIGN
    if isinstance(value, Decimal):
        return _valued(value, told, asked, "json", ())
    found = _in_text(plain(str(value)), asked, strict=strict)
    if found.value is None or told is None:
        return found
    if found.unit is None:
        return _valued(found.decimal, told, asked, "json", tuple(flag for flag in found.flags if flag == "range"))
    return (
        found
        if dimension(found.unit) == dimension(told) and found.unit == told
        else QuantityReading(reason="ambiguous")
    )


def _in_text(text: str, asked: str | None, *, strict: bool) -> QuantityReading:
    if not text:
        return QuantityReading(reason="empty")
    if NOT_FINITE.fullmatch(text):
        return QuantityReading(reason="not_finite")
    vocabulary = Vocabulary(small(text))
    text = with_digits(text, vocabulary)
    terms = terms_in(text, numbers_in(text, vocabulary), asked)
    if terms and _is_whole(text, terms):
        return _from(terms[0], asked, "number", strict=strict)
    last: Term | str | None = None
    for at, direct in statements(text, small(text), vocabulary):
        last = _said(text, at, terms, asked, direct=direct)
        if last is not None:
            break
    if isinstance(last, str):
        return QuantityReading(reason=last)
    if last is None and terms and _heads(text, terms[0]):
        last = terms[0]
    if last is not None:
        return _from(last, asked, "statement", strict=strict)
    return _last_fitting(text, terms, asked, vocabulary, strict=strict)


def _is_whole(text: str, terms: list[Term]) -> bool:
    """Whether a text is one quantity and nothing else but marks and ``about``."""
    return len(terms) == 1 and bool(
        PADDING.fullmatch(text, 0, terms[0].start) and PADDING.fullmatch(text, terms[0].end)
    )


def _heads(text: str, term: Term) -> bool:
    """Whether a text begins with a quantity in a clause of its own."""
    if term.named or term.kind == "size" or not PADDING.fullmatch(text, 0, term.start):
        return False
    behind = text[term.end : term.end + 10]
    return behind.startswith((". ", ".\n", "\n", " (", ", ", "; ", " - ", " because", " since", "。", "，", "；"))


def _said(text: str, at: int, terms: list[Term], asked: str | None, *, direct: bool) -> Term | str | None:
    """The term that a statement gives, or a reason; None where it gives neither."""
    if direct:
        near = next((term for term in terms if term.start >= at), None)
        if near is None or near.named or not PADDING.fullmatch(text, at, near.start):
            return None
        return near if near.unit is None or dimension(near.unit) == dimension(asked) else None
    if abstains_at(text, at):
        return "abstained"
    if NOT_FINITE.match(text, at):
        return "not_finite"
    end = _sentence_end(text, at)
    told = [term for term in terms if at <= term.start < end and not term.negated]
    if not told:
        return None
    if PADDING.fullmatch(text, at, told[0].start) and not told[0].named:
        return told[0]
    told = [term for term in told if not term.named]
    fitting = [term for term in told if term.unit and dimension(term.unit) == dimension(asked) and not term.aside]
    bare = [term for term in told if term.unit is None]
    equated = [term for term in bare if EQUATED.search(text[max(at, term.start - 40) : term.start])]
    one_bare = bare if len(bare) == 1 else []
    return next((group[0] for group in (fitting, equated, one_bare, told) if group), None)


def _sentence_end(text: str, at: int) -> int:
    """Where the sentence ends that begins at a place; a first line break does not end it."""
    start = at + 1 if text[at : at + 1] == "\n" else at
    end = min(len(text), start + 400)
    for place in range(start, end):
        mark = text[place]
        if mark in "\n。；" or (mark in ".!?;" and text[place + 1 : place + 2] in ("", " ", "\n")):
            if mark == "." and text[max(0, place - 6) : place].lower().endswith(("approx", "ca", " e.g", " i.e")):
                continue
            return place
    return end


def _last_fitting(
    text: str, terms: list[Term], asked: str | None, vocabulary: Vocabulary, *, strict: bool
) -> QuantityReading:
    """The last number with a fitting unit, else the one bare number."""
    declined = declined_spans(text, vocabulary)
    counted = [
        term
        for term in terms
        if not (term.named or term.negated or any(start <= term.start < end for start, end in declined))
    ]
    fitting = [term for term in counted if term.unit is not None and dimension(term.unit) == dimension(asked)]
    if fitting:
        return _last_of(_preferred(fitting), asked, "last_with_unit", strict=strict)
    bare = [term for term in _preferred(counted) if term.unit is None and term.kind != "size"]
    equated = [term for term in bare if EQUATED.search(text[max(0, term.start - 40) : term.start])]
    if equated:
        return _last_of(equated, asked, "bare_number", strict=strict)
    if bare and len({term.value for term in bare}) == 1:
        return _from(bare[-1], asked, "bare_number", strict=strict)
    quiet = silence(text, vocabulary)
    if quiet:
        return QuantityReading(reason=quiet)
    if bare or any(term.kind == "size" and term.unit is None for term in counted):
        return QuantityReading(reason="ambiguous")
    return _from(counted[-1], asked, "statement", strict=strict) if counted else QuantityReading(reason="no_answer")


def _last_of(terms: list[Term], asked: str | None, rule: str, *, strict: bool) -> QuantityReading:
    """The last of numbers none of which is stated as the answer; flagged where they differ."""
    found = _from(terms[-1], asked, rule, strict=strict)
    values = {None if term.value is None else converted(term.value, term.unit, asked) for term in terms}
    return replace(found, flags=(*found.flags, "several")) if found.value is not None and len(values) > 1 else found


def _preferred(terms: list[Term]) -> list[Term]:
    """Without normal values, products that nobody worked out and bounds, as long as any other is left."""
    for unwanted in ("aside", "size", "bound"):
        left = [term for term in terms if not (term.kind == "size" if unwanted == "size" else getattr(term, unwanted))]
        terms = left or terms
    return terms


def _from(term: Term, asked: str | None, rule: str, *, strict: bool) -> QuantityReading:
    """The reading of one term."""
    if term.negated:
        return QuantityReading(reason="no_answer")
    if term.unit is not None and dimension(term.unit) != dimension(asked):
        return QuantityReading(reason="percent" if term.unit == "%" else "other_dimension")
    if term.kind in ("several", "size"):
        return QuantityReading(reason="ambiguous")
    if term.bound:
        return QuantityReading(reason="bound")
    if term.kind == "range" and strict:
        return QuantityReading(reason="range")
    return _valued(term.value, term.unit, asked, rule, ("range",) if term.kind == "range" else ())


def _valued(
    value: Decimal | None, unit: str | None, asked: str | None, rule: str, flags: tuple[str, ...]
) -> QuantityReading:
    """A value in the unit asked for."""
    if unit is not None and dimension(unit) != dimension(asked):
        return QuantityReading(reason="percent" if unit == "%" else "other_dimension")
    if value is None or not value.is_finite():
        return QuantityReading(reason="not_finite")
    exact = converted(value, unit, asked)
    assert exact is not None  # the value is there
    number = float(exact)
    if not math.isfinite(number) or (number == 0 and exact != 0):
        return QuantityReading(reason="not_finite")
    if unit is None and asked is not None:
        flags = (*flags, "bare")
    elif unit != asked:
        flags = (*flags, "converted")
    return QuantityReading(number, exact, unit, rule, flags=flags)
