"""What reading a reply gives: what was read, by which rule, or why nothing was."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

PARSER_VERSION = "1.1"
"""Goes up with every change that reads any reply differently."""

REASONS = {
    "empty": "no reply, or nothing but reasoning and blank space",
    "unclosed_reasoning": "the reasoning block was never closed, so there is no answer",
    "refusal": "the model declines to answer",
    "abstained": "the reply says that it cannot be determined",
    "ambiguous": "two answers, or numbers of which none is the stated one",
    "out_of_range": "an answer that is not among the options",
    "no_answer": "no statement of an answer that any rule knows",
    "bound": "only a bound is given: less than, at least",
    "range": "a range, in strict mode",
    "percent": "a percentage where another unit was asked for",
    "other_dimension": "a unit that measures something else, or that is not known",
    "not_finite": "NaN, infinity, or a number beyond what a float holds",
}
"""Why nothing was read. A reading without an answer has exactly one of them."""


@dataclass(frozen=True)
class ChoiceReading:
    """A reply to a question with options.

    Attributes:
        letter: letter of the option in the order shown, A first; None where none was read.
        rule: ``json``, ``letter``, ``statement``, ``option_text``; None where nothing was read.
        reason: key of ``REASONS``; None where a letter was read.
        flags: ``letter_text_conflict`` (the text behind the letter is another option's; the letter counts),
            ``letter_missing`` (read by the option's text), ``reasoning_dropped``, ``shortened``, ``run_on_cut``.
        abstained: the reply says that it cannot be determined, in words or by choosing the option that says so.
    """

    letter: str | None = None
    rule: str | None = None
    reason: str | None = None
    flags: tuple[str, ...] = ()
    abstained: bool = False


@dataclass(frozen=True)
class QuantityReading:
    """A reply to a question that asks for a number.

    Attributes:
        value: in the unit asked for, finite; None where none was read.
        decimal: the same, exactly as written.
        unit: name of the unit that the reply gives; None for a bare number, which is taken in the unit asked for.
        rule: ``json``, ``number`` (the whole reply is one), ``statement``, ``last_with_unit``, ``bare_number``; None
            where nothing was read.
        reason: key of ``REASONS``; None where a number was read.
        flags: ``range`` (the midpoint of one), ``bare`` (no unit written), ``converted``,
            ``several`` (the last of numbers that differ, none of them stated as the answer), ``reasoning_dropped``,
            ``shortened``, ``run_on_cut``.
        abstained: the reply says that it cannot be determined.
    """

    value: float | None = None
    decimal: Decimal | None = None
    unit: str | None = None
    rule: str | None = None
    reason: str | None = None
    flags: tuple[str, ...] = ()
    abstained: bool = False
