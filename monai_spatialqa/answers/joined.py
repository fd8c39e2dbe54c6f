# ruff: noqa: RUF001 - the dashes and signs that numbers are joined with
"""Numbers of a reply that belong together: ranges, equations, sizes, sums of two units, one quantity said twice."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from decimal import Context, Decimal
from typing import Literal

from monai_spatialqa.answers.written import FOREIGN, Written
from monai_spatialqa.quantities.units import UNITS

EXACT = Context(prec=600)
"""Arithmetic without rounding for anything that a reply writes."""

SAME_WITHIN = Decimal("0.05")
"""Two figures are one quantity said twice when they differ by at most this share: ``1.4 L (1450 ml)``."""

Kind = Literal["value", "range", "several", "size"]

_ABOUT = r"(?:(?:about|approximately|approx\.?|around|roughly|nearly|almost|etwa|environ|约|大约|~|≈) ?){0,2}"
_DASH = re.compile(r" ?(?:-|–|—|−|‐|~|∼|至|到|…|\.\.) ?|(?:,)? (?:to|through|until|bis|à|a|hasta) ")
_AND = re.compile(rf",? (?:and|und|et|y|e|to|-) {_ABOUT}| ?(?:和|与|到|至) ?")
_BETWEEN = re.compile(r"(?:\b(?:between|zwischen|entre|from|range of|ranges? from|von|de)|介于|在) ?$", re.IGNORECASE)
_MARGIN = re.compile(r" ?(?:±|\+ ?/ ?-|\+-|plus or minus|plus/minus) ?")
_EQUALS = re.compile(
    rf" ?(?:=|≈|==|->|→|⇒|=>|equals|is equal to|which is(?: equal to)?|that is,?|i\.e\.,?|or equivalently) ?{_ABOUT}"
)
_AGAIN = re.compile(
    rf",? ?[(\[] ?(?:(?:or|=|i\.e\.,?|that is,?|also|equivalent to|equal to) ?)?{_ABOUT}| ?/ ?|,? (?:or|also"
    rf"|i\.e\.,?) {_ABOUT}"
)
_EITHER = re.compile(rf",? (?:or|and|oder|und|ou|et|o|y|and/or) {_ABOUT}|[,;] ?| ?(?:或|或者|和|、) ?")
_PRODUCT = re.compile(r" ?(?:×|x|\*|·|by|mal|/|÷|\+|times) ?(?:\( ?)?", re.IGNORECASE)
_MINUS = re.compile(r" ?[-–−] ?")
_SUM = re.compile(r" ?(?:and |und |et |y )?|,? ")
_EQUATION = re.compile(r"\)? ?(?:=|≈) ?")


@dataclass(frozen=True)
class Term:
    """What a text gives as one quantity.

    Attributes:
        first, last: the first and the last number that it is made of.
        kind: ``several`` are two that differ, ``size`` is a product that nobody worked out.
        value: in ``unit``; the midpoint of a range; None for one beyond any float.
        unit, bound, negated, named, aside: as those of ``Written``.
        start, end: place in the text.
    """

    first: Written
    last: Written
    kind: Kind
    value: Decimal | None
    unit: str | None
    start: int
    end: int

    @property
    def bound(self) -> bool:
        """Whether it is only the end of a range."""
        return self.kind == "value" and self.last.bound

    @property
    def negated(self) -> bool:
        """Whether the text denies it."""
        return self.first.negated

    @property
    def named(self) -> bool:
        """Whether it is an id, a marker or a count."""
        return self.first.named or self.last.named

    @property
    def aside(self) -> bool:
        """Whether it is a normal value, a spacing."""
        return self.first.aside


def dimension(unit: str | None) -> str | None:
    """What a unit measures; None for a bare number."""
    return None if unit is None else "other" if unit == FOREIGN else UNITS[unit].dimension


def terms_in(text: str, numbers: list[Written], asked: str | None) -> list[Term]:
    """The numbers of a text, those that belong together as one term.

    Args:
        text: in the form of ``plain``.
        numbers: what ``numbers_in`` finds in it.
        asked: name of the unit that was asked for; of one quantity in two units, the figure that fits is taken.
    """
    terms: list[Term] = []
    at = 0
    while at < len(numbers):
        term, at = _ranged(text, numbers, at)
        while at < len(numbers):
            following, after = _ranged(text, numbers, at)
            joined = _joined(text[term.end : following.start], term, following, asked)
            if joined is None:
                break
            term, at = joined, after
        terms.append(term)
    return terms


def _single(number: Written) -> Term:
    return Term(number, number, "value", number.value, number.unit, number.start, number.end)


def _ranged(text: str, numbers: list[Written], at: int) -> tuple[Term, int]:
    """The number at a place, with the one behind it where both are a range, a margin or a sum; and the next place."""
    first = numbers[at]
    if at + 1 == len(numbers):
        return _single(first), at + 1
    second = numbers[at + 1]
    between = text[first.end : second.start]
    if len(between) > 40:
        return _single(first), at + 1
    if _MARGIN.fullmatch(between):
        unit = first.unit or (second.unit if second.unit != "%" else None)
        return replace(_single(first), unit=unit, end=second.end), at + 2
    low = replace(first, unit=second.unit) if first.unit is None else first
    high = replace(second, unit=low.unit) if second.unit is None else second
    if dimension(low.unit) != dimension(high.unit) or low.value is None or high.value is None:
        return _single(first), at + 1
    smaller, larger = _in(low, high.unit), high.value
    spoken = _BETWEEN.search(text[max(0, first.start - 16) : first.start]) is not None
    if (spoken and (_AND.fullmatch(between) or _DASH.fullmatch(between))) or (
        _DASH.fullmatch(between) and smaller is not None and smaller <= larger and not _subtracts(text, numbers, at + 1)
    ):
        if smaller is None:
            return _single(first), at + 1
        middle = EXACT.multiply(EXACT.add(smaller, larger), Decimal("0.5"))
        return Term(first, second, "range", middle, high.unit, first.start, second.end), at + 2
    if first.unit and second.unit and first.unit != second.unit and _SUM.fullmatch(between) and not first.bound:
        part = _in(second, first.unit)
        if part is not None and 0 < part < 1 and first.value is not None and first.value == first.value.to_integral():
            total = EXACT.add(first.value, part)
            return Term(first, second, "value", total, first.unit, first.start, second.end), at + 2
    return _single(first), at + 1


def _subtracts(text: str, numbers: list[Written], at: int) -> bool:
    """Whether what follows makes two numbers with a dash a subtraction: ``50 - 70 = ...``; or a date."""
    if _EQUATION.match(text, numbers[at].end):
        return True
    return at + 1 < len(numbers) and text[numbers[at].end : numbers[at + 1].start] in ("-", "–", "/")


def _in(number: Written, unit: str | None) -> Decimal | None:
    return converted(number.value, number.unit, unit)


def converted(value: Decimal | None, unit: str | None, wanted: str | None) -> Decimal | None:
    """A value in another unit of the same dimension, exactly; a bare one is in any unit."""
    if value is None or unit is None or wanted is None or unit == wanted:
        return value
    return EXACT.divide(EXACT.multiply(value, UNITS[unit].size), UNITS[wanted].size)


def _joined(between: str, first: Term, second: Term, asked: str | None) -> Term | None:
    """Two terms as one, or None where they are two."""
    if len(between) > 40 or second.negated:
        return None
    start, end = first.start, second.end
    if _EQUALS.fullmatch(between):
        if first.kind == "value" and first.first is first.last and first.unit and _same(first, second):
            chosen = _fitting(first, second, asked)
            return replace(chosen, start=start, end=end)
        return replace(second, start=start)
    if _AGAIN.fullmatch(between) and _same(first, second):
        return replace(_fitting(first, second, asked), start=start, end=end)
    restated = between.lstrip().startswith("(") and _AGAIN.fullmatch(between)
    if restated and first.unit and second.unit and dimension(first.unit) == dimension(second.unit):
        return Term(first.first, second.last, "several", first.value, first.unit, start, end)
    if _MINUS.fullmatch(between) and (
        first.kind == "size" or second.value is None or first.value is None or second.value < first.value
    ):
        return Term(first.first, second.last, "size", second.value, second.unit or first.unit, start, end)
    if _PRODUCT.fullmatch(between) and not (between.strip() == "/" and second.unit and first.unit):
        return Term(first.first, second.last, "size", second.value, second.unit or first.unit, start, end)
    if _EITHER.fullmatch(between) and first.kind != "size":
        alike = first.unit is None or second.unit is None or dimension(first.unit) == dimension(second.unit)
        if alike and not (first.named or (second.named and between.strip() in (",", ";"))):
            return Term(first.first, second.last, "several", second.value, second.unit or first.unit, start, end)
        if first.named and second.unit is None:
            return Term(first.first, second.last, "several", second.value, None, start, end)
    return None


def _fitting(first: Term, second: Term, asked: str | None) -> Term:
    """Of two figures of one quantity, the one in the unit asked for, else the first."""
    return second if second.unit == asked != first.unit and second.kind == "value" else first


def _same(first: Term, second: Term) -> bool:
    """Whether two terms, each with a unit, give the same quantity."""
    if not first.unit or not second.unit or dimension(first.unit) != dimension(second.unit):
        return False
    if FOREIGN in (first.unit, second.unit) or first.value is None or second.value is None:
        return False
    other = converted(second.value, second.unit, first.unit)
    assert other is not None  # both values are there
    return abs(first.value - other) <= SAME_WITHIN * max(abs(first.value), abs(other))
