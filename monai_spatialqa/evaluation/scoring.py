"""From replies to scores: what each says, in the item's own order and unit, and what it counts for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal

from monai_spatialqa.answers import PARSER_VERSION, read_choice, read_quantity
from monai_spatialqa.errors import ScoringError
from monai_spatialqa.evaluation.attributes import ItemFacts, facts_of
from monai_spatialqa.evaluation.matching import each_once, keyed
from monai_spatialqa.records import Measurement
from monai_spatialqa.records.answer import Answer, Reading, Score
from monai_spatialqa.records.item import LETTERS, Item, Reference
from monai_spatialqa.statistics import log10_ratio, mean_relative_accuracy, relative_error


def score_answers(
    items: Iterable[Item],
    references: Iterable[Reference],
    answers: Iterable[Answer],
    *,
    measurements: Iterable[Measurement] | None = None,
    strict: bool = False,
) -> list[Score]:
    """Read and score replies. The same records give the same scores, whatever their order; nothing is drawn at random.

    A choice counts 1 or 0, a number its mean relative accuracy, in decimal arithmetic on the digits of the reply. What
    cannot be read counts 0, with the reason; so does a call that did not end in an answer, whatever text it left.

    Args:
        items: the questions.
        references: their answers; more than the items' are passed over.
        answers: of one run. Answers to other items get no score: see
            :func:`~monai_spatialqa.evaluation.matching.unmatched`.
        measurements: of the cases, for volume and source of what is asked about.
        strict: read no number from a range, such as "1.2-1.5 ml".

    Returns:
        One score for each answer to an item, in the order of the answers.

    Raises:
        ScoringError: a double id, two answers to one asking of an item, an item without a fitting reference (a true
            value of 0 has none), or options shown that are not the item's.
    """
    items = list(items)
    pairs = keyed(items, references)
    facts = facts_of(items, measurements)
    scores = []
    for answer in each_once(answers):
        if answer.item_id in pairs:
            item, reference = pairs[answer.item_id]
            scores.append(_score(item, reference, answer, facts[item.item_id], strict))
    return scores


def _score(item: Item, reference: Reference, answer: Answer, facts: ItemFacts, strict: bool) -> Score:
    numeric = item.format == "numeric"
    exact, parity, error, ratio = 0.0, None, None, None
    number: Decimal | float | None = None
    if answer.outcome != "answered":
        reading = Reading(reason=answer.outcome)
    elif numeric:
        reading, number = _read_number(item, answer, strict)
    else:
        reading = _read_choice(item, answer)
    truth = reference.answer_value if numeric else None
    if truth is not None:
        parity = 0.0
    if truth is not None and number is not None:
        value = float(number)
        exact = mean_relative_accuracy(number, truth)
        parity = mean_relative_accuracy(value, truth, mode="parity")
        error = relative_error(value, truth)
        ratio = log10_ratio(value, truth) if value and (value > 0) is (truth > 0) else None
    elif not numeric:
        exact = float(reading.letter == reference.answer)
    return Score(
        answer_id=answer.answer_id,
        item_id=item.item_id,
        model=answer.model,
        kind=answer.kind,
        blind=answer.blind,
        rotation=answer.rotation,
        repeat=answer.repeat,
        task=item.task,
        subtask=item.subtask,
        format=item.format,
        case_id=item.case.case_id,
        patient_id=item.case.patient_id,
        structures=item.structures,
        organs=list(facts.organs),
        tumours=list(facts.tumours),
        volume_ml=facts.volume_ml,
        modality=facts.modality,
        source=facts.source,
        outcome=answer.outcome,
        reading=reading,
        valid=reading.letter is not None or reading.value is not None,
        score=exact,
        score_parity=parity,
        chance=None if numeric else 1 / len(item.options),
        key=reference.answer,
        key_value=truth,
        unit=item.answer_unit,
        relative_error=error,
        log10_ratio=ratio,
        parser_version=PARSER_VERSION,
    )


def _read_number(item: Item, answer: Answer, strict: bool) -> tuple[Reading, Decimal | float | None]:
    """The reading, and the number with all its digits."""
    assert item.answer_unit is not None  # a numeric item has a unit
    found = read_quantity(answer.reply or "", item.answer_unit, strict=strict)
    reading = Reading(
        value=found.value,
        written_unit=found.unit,
        rule=found.rule,
        reason=found.reason,
        flags=list(found.flags),
        abstained=found.abstained,
    )
    return reading, found.value if found.decimal is None else found.decimal


def _read_choice(item: Item, answer: Answer) -> Reading:
    """The reading, its letter in the item's own order, or yes or no."""
    shown = _options_shown(item, answer)
    found = read_choice(answer.reply or "", shown)
    letter = None
    if found.letter is not None:
        text = shown[LETTERS.index(found.letter)]
        letter = text if item.format == "yesno" else LETTERS[item.options.index(text)]
    return Reading(
        letter=letter, rule=found.rule, reason=found.reason, flags=list(found.flags), abstained=found.abstained
    )


def _options_shown(item: Item, answer: Answer) -> Sequence[str]:
    if not answer.options and not answer.rotation:
        return item.options
    if sorted(answer.options) != sorted(item.options):
        raise ScoringError(
            "the options that an answer was given to are not those of its item",
            code="other_options",
            case=answer.answer_id,
            found=answer.options,
            expected=item.options,
            next_step="score it with the items that were asked",
        )
    return answer.options
