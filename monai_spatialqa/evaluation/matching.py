"""Which records belong together: ids that must be unique, items without an answer, answers without an item."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from functools import lru_cache
from typing import NamedTuple, TypeVar

from monai_spatialqa.errors import ScoringError
from monai_spatialqa.items.quantities_in_text import ShownQuantity, quantities_in
from monai_spatialqa.quantities import UNITS, unit_named
from monai_spatialqa.records import Record
from monai_spatialqa.records.answer import Answer
from monai_spatialqa.records.item import LETTERS, Item, Reference

RecordT = TypeVar("RecordT", bound=Record)

_BELONG = "give the references.jsonl that was written with these items, or make both again"
_ROUNDED = Decimal("0.005")
"""By how much a text of three figures may differ from its value."""


class Unmatched(NamedTuple):
    """Ids that have no partner, each once.

    Attributes:
        missing: of items without an answer to their options as they stand, sorted.
        unknown: that answers name and no item has, sorted.
    """

    missing: list[str]
    unknown: list[str]


def unique(records: Iterable[RecordT], what: str) -> dict[str, RecordT]:
    """Records by id.

    Args:
        records: of one kind.
        what: the kind, for the message.

    Raises:
        ScoringError: two of them share an id.
    """
    found: dict[str, RecordT] = {}
    for record in records:
        if record.record_id in found:
            raise ScoringError(
                f"two {what} records have the same id",
                code="duplicate_id",
                case=record.record_id,
                expected="every id once",
                next_step="remove one of them; rows that were appended twice count twice otherwise",
            )
        found[record.record_id] = record
    return found


def each_once(answers: Iterable[Answer]) -> list[Answer]:
    """The answers, in their order.

    Raises:
        ScoringError: two share an id, or are to the same item in the same rotation, repeat and model.
    """
    listed = list(unique(answers, "answer").values())
    asked: dict[tuple[str, str, bool, int, int], str] = {}
    for answer in listed:
        asking = answer.item_id, answer.model, answer.blind, answer.rotation, answer.repeat
        if asking in asked:
            raise ScoringError(
                "two answers are to the same asking of an item",
                code="duplicate_answer",
                case=answer.item_id,
                found=f"{asked[asking]} and {answer.answer_id}",
                expected=f"one answer of {answer.model} to rotation {answer.rotation}, repeat {answer.repeat}",
                next_step="remove one of them, or number the repeats",
            )
        asked[asking] = answer.answer_id
    return listed


def unmatched(items: Iterable[Item], answers: Iterable[Answer]) -> Unmatched:
    """Items without an answer, and answers to items that are not there."""
    given = [(answer.item_id, answer.rotation) for answer in answers]
    known = {item.item_id for item in items}
    answered = {item_id for item_id, rotation in given if not rotation}
    return Unmatched(sorted(known - answered), sorted({item_id for item_id, _ in given} - known))


def keyed(items: Iterable[Item], references: Iterable[Reference]) -> dict[str, tuple[Item, Reference]]:
    """Items with their references, by item id. References to other items are passed over.

    Raises:
        ScoringError: an id is double, or an item has no reference, or one that it cannot have: a letter or word that is
            none of its options, a text that is not that of the option, no number, another unit, a text that is not the
            value, or a true value of 0, which no relative error has.
    """
    asked = unique(items, "item")
    known = unique(references, "reference")
    for item_id, item in asked.items():
        if item_id not in known:
            raise ScoringError(
                "an item has no reference",
                code="missing_reference",
                case=item_id,
                expected="a reference for every item",
                next_step="give the references.jsonl that was made with the items",
            )
        _check(item, known[item_id])
    return {item_id: (item, known[item_id]) for item_id, item in asked.items()}


def _check(item: Item, reference: Reference) -> None:
    if item.format == "numeric":
        _check_number(item, reference)
        return
    if reference.answer not in answers_of(item):
        raise ScoringError(
            "the reference names none of the options",
            case=item.item_id,
            key="answer",
            found=reference.answer,
            expected=", ".join(answers_of(item)),
            next_step="make item and reference again",
        )
    text = item.options[answers_of(item).index(reference.answer)]
    if reference.answer_text != text:
        raise ScoringError(
            "the reference contradicts its item: its text is not that of the option it names",
            code="contradicted",
            case=item.item_id,
            key="answer_text",
            found=f"{reference.answer}: {reference.answer_text}",
            expected=f"{reference.answer}: {text}",
            next_step=_BELONG,
        )


def _check_number(item: Item, reference: Reference) -> None:
    value = reference.answer_value
    if value is None or reference.answer_unit not in (None, item.answer_unit):
        raise ScoringError(
            "the reference of a number has no value, or another unit than its item",
            case=item.item_id,
            key="answer_value",
            found=f"{value} {reference.answer_unit}",
            expected=f"a number in {item.answer_unit}",
            next_step="make item and reference again",
        )
    if value == 0:
        raise ScoringError(
            "the true value is 0, and no answer has a relative error against it",
            code="zero_truth",
            case=item.item_id,
            key="answer_value",
            found="0",
            expected="a number that is not 0",
            next_step="leave the item out, or ask it as a choice",
        )
    for key, text in (("answer", reference.answer), ("answer_text", reference.answer_text)):
        if not _says(text, value, item.answer_unit):
            raise ScoringError(
                "the reference contradicts itself: its text is not its value",
                code="contradicted",
                case=item.item_id,
                key=key,
                found=text,
                expected=f"{value:g} {item.answer_unit}, rounded to three figures or better",
                next_step=_BELONG,
            )


def _says(text: str, value: float, unit: str | None) -> bool:
    """Whether a number of a text is this value, as far as its digits go; a bare one is in the unit asked for."""
    named = unit_named(unit)
    size = Decimal(1) if named is None else UNITS[named].size
    truth = Decimal(repr(value)) * size
    for one in _numbers(text):
        number, step = (one.value * size, one.step * size) if one.unit is None else (one.base, one.base_step)
        fits = one.unit is None or named is None or one.dimension == UNITS[named].dimension
        if fits and abs(number - truth) <= max(step, abs(truth) * _ROUNDED):
            return True
    return False


@lru_cache(maxsize=65536)
def _numbers(text: str) -> tuple[ShownQuantity, ...]:
    return tuple(quantities_in(text))


def answers_of(item: Item) -> list[str]:
    """What a reference can name, in the order of the options: letters of a choice, yes and no; nothing for a number."""
    return item.options if item.format == "yesno" else list(LETTERS[: len(item.options)])
