"""From a reply to its score: choices, numbers, failures, rotated options, and what is refused."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from monai_spatialqa.answers import PARSER_VERSION, REASONS
from monai_spatialqa.errors import ScoringError
from monai_spatialqa.evaluation.scoring import score_answers
from monai_spatialqa.records.answer import Score
from monai_spatialqa.records.item import LETTERS
from tests.evaluation.phantom_items import (
    made,
    phantom_items,
    phantom_measurements,
    phantom_references,
    reply,
)


def scored(key: str | float, text: str | None, *, strict: bool = False, **fields: object) -> Score:
    """The score of one reply to one item made by hand."""
    item, reference = made("q", key)
    (score,) = score_answers([item], [reference], [reply(item, text, **fields)], strict=strict)
    return score


@pytest.mark.parametrize(
    ("key", "text", "letter", "score"),
    [
        ("B", "The answer is (B) because A is smaller.", "B", 1),
        ("B", "The answer is (D).", "D", 0),
        ("C", "20 ml", "C", 1),
        ("yes", "Yes.", "yes", 1),
        ("no", "Yes.", "yes", 0),
        ("no", "B", "no", 1),
        ("no", '{"answer": "no"}', "no", 1),
        ("D", '```json\n{"answer": "D"}\n```', "D", 1),
    ],
)
def test_a_choice_counts_one_or_nothing(key, text, letter, score):
    found = scored(key, text)
    assert (found.reading.letter, found.score, found.valid) == (letter, score, True)
    assert found.reading.rule
    assert found.reading.reason is None
    assert found.chance == (0.5 if key in ("yes", "no") else 0.25)
    assert found.key == key
    assert found.parser_version == PARSER_VERSION


@pytest.mark.parametrize(
    ("text", "value", "exact", "parity"),
    [
        ("104 ml", 104, 1.0, 1.0),
        ("107 ml", 107, 0.9, 0.9),
        ("122 ml", 122, 0.6, 0.6),
        ("160 ml", 160, 0.0, 0.0),
        ("0 ml", 0, 0.0, 0.0),
        ("105 ml", 105, 0.9, 1.0),  # a whole multiple of 5 %: where the strict and the lax formula part
        ("0.107 L", 107, 0.9, 0.9),
        ("107000 mm3", 107, 0.9, 0.9),
        ("107", 107, 0.9, 0.9),
        ('{"value": 107, "unit": "ml"}', 107, 0.9, 0.9),
    ],
)
def test_a_number_counts_its_mean_relative_accuracy(text, value, exact, parity):
    found = scored(100.0, text)
    assert found.reading.value == pytest.approx(value)
    assert (found.score, found.score_parity, found.valid, found.chance) == (exact, parity, True, None)
    assert found.relative_error == pytest.approx(abs(value - 100) / 100)
    assert (found.key_value, found.unit) == (100.0, "ml")


def test_br_141_the_unit_of_the_reply_does_not_change_the_score():
    # 0.105 l is 105 ml exactly: float arithmetic would put it on either side of 5 %.
    assert {scored(100.0, text).score for text in ("105 ml", "0.105 l", "105000 mm3", "105 cm3", "1.05e2 ml")} == {0.9}


def test_a_slip_of_a_thousand_is_seen_in_the_signed_ratio():
    assert scored(100.0, "100 L").log10_ratio == pytest.approx(3)
    assert scored(100.0, "100 mm3").log10_ratio == pytest.approx(-3)
    assert scored(100.0, "0 ml").log10_ratio is None


def test_br_143_a_range_counts_its_midpoint_and_nothing_when_strict():
    assert (scored(1.35, "about 1.2-1.5 ml").score, scored(1.35, "about 1.2-1.5 ml").reading.flags) == (1.0, ["range"])
    strict = scored(1.35, "about 1.2-1.5 ml", strict=True)
    assert (strict.score, strict.valid, strict.reading.reason) == (0, False, "range")


@pytest.mark.parametrize("key", ["B", "yes", 100.0])
@pytest.mark.parametrize("text", ["I'm sorry, but I can't help with that.", "", None, "It is hard to say. Hmm."])
def test_br_130_what_cannot_be_read_counts_nothing_and_is_never_guessed(key, text):
    found = [scored(key, text) for _ in range(5)]
    assert {(one.score, one.valid, one.reading.letter, one.reading.value) for one in found} == {(0, False, None, None)}
    assert found[0].reading.reason in REASONS
    assert all(one == found[0] for one in found)


@pytest.mark.parametrize("text", ["NaN", "inf", "cannot be measured", "60%", "less than 200 ml", "12 mm"])
def test_br_146_br_149_what_is_no_quantity_of_this_kind_scores_0_and_counts_invalid(text):
    found = scored(100.0, text)
    assert (found.score, found.score_parity, found.valid, found.relative_error) == (0, 0, False, None)
    assert found.reading.reason in REASONS


def test_br_151_a_true_value_of_zero_is_refused_by_name():
    item, reference = made("volume-of-nothing", 0.0)
    with pytest.raises(ScoringError, match="volume-of-nothing") as told:
        score_answers([item], [reference], [])
    assert told.value.code == "zero_truth"


@pytest.mark.parametrize("outcome", ["truncated", "refused", "empty", "malformed", "service", "image_ignored"])
@pytest.mark.parametrize("key", ["B", 100.0])
def test_a_call_that_failed_counts_nothing_whatever_text_it_left(outcome, key):
    found = scored(key, "The answer is B. 100 ml", outcome=outcome)
    assert (found.score, found.valid, found.reading.reason, found.outcome) == (0, False, outcome, outcome)


def test_abstaining_is_no_answer_and_told_apart():
    found = scored("B", "This cannot be determined from the images.")
    assert (found.score, found.valid, found.reading.abstained) == (0, False, True)


@pytest.mark.parametrize("places", range(4))
def test_rotated_options_are_read_as_shown_and_kept_in_the_items_own_order(places):
    item, reference = made("q", "B")
    shown = [item.options[(at - places) % 4] for at in range(4)]
    right = reply(item, LETTERS[shown.index("15 ml")], rotation=places, options=shown)
    wrong = reply(item, LETTERS[shown.index("30 ml")], rotation=places, options=shown, repeat=1)
    found = score_answers([item], [reference], [right, wrong])
    assert [(one.reading.letter, one.score) for one in found] == [("B", 1), ("D", 0)]


def test_rotated_yes_and_no_are_read_by_their_place():
    item, reference = made("q", "no")
    (found,) = score_answers([item], [reference], [reply(item, "A", rotation=1, options=["no", "yes"])])
    assert (found.reading.letter, found.score) == ("no", 1)


def test_other_options_than_the_items_are_refused():
    item, reference = made("q", "B")
    with pytest.raises(ScoringError, match="not those of its item"):
        score_answers([item], [reference], [reply(item, "B", options=["1 ml", "2 ml", "3 ml", "4 ml"])])


def test_rotated_without_the_options_shown_is_refused():
    item, reference = made("q", "B")
    with pytest.raises(ScoringError, match="not those of its item"):
        score_answers([item], [reference], [reply(item, "B", options=[], rotation=1)])


def test_br_190_an_answer_that_is_there_twice_is_refused():
    item, reference = made("q", "B")
    with pytest.raises(ScoringError, match="same id") as told:
        score_answers([item], [reference], [reply(item, "B"), reply(item, "C")])
    assert (told.value.code, told.value.case) == ("duplicate_id", "q")
    with pytest.raises(ScoringError, match="same asking"):
        score_answers([item], [reference], [reply(item, "B"), reply(item, "C", answer_id="q again")])


def test_br_192_items_of_equal_wording_are_scored_each():
    pairs = [made("one", "B"), made("two", "C")]
    answers = [reply(item, "B") for item, _ in pairs]
    found = score_answers([item for item, _ in pairs], [reference for _, reference in pairs], answers)
    assert [(one.item_id, one.score) for one in found] == [("one", 1), ("two", 0)]


@pytest.mark.parametrize("double", ["item", "reference"])
def test_ids_are_unique(double):
    item, reference = made("q", "B")
    items, references = [item] * (1 + (double == "item")), [reference] * (1 + (double == "reference"))
    with pytest.raises(ScoringError, match=f"two {double} records"):
        score_answers(items, references, [])


def test_references_must_fit_their_items():
    item, reference = made("q", "B")
    number, volume = made("v", 100.0)
    for items, references, told in (
        ([item], [], "no reference"),
        ([item], [reference.model_copy(update={"answer": "E"})], "none of the options"),
        ([number], [volume.model_copy(update={"answer_value": None})], "no value"),
        ([number], [volume.model_copy(update={"answer_unit": "mm"})], "another unit"),
    ):
        with pytest.raises(ScoringError, match=told):
            score_answers(items, references, [])


def test_answers_to_unknown_items_get_no_score_and_other_references_are_passed_over():
    item, reference = made("q", "B")
    other, of_other = made("other", "C")
    found = score_answers([item], [reference, of_other], [reply(item, "B"), reply(other, "C")])
    assert [one.item_id for one in found] == ["q"]


def test_a_score_holds_all_that_tables_group_by():
    items, references = phantom_items(), phantom_references()
    measurements = {record.case_id: record for record in phantom_measurements()}
    scores = score_answers(items, references, [reply(item, "A") for item in items], measurements=measurements.values())
    for item, score in zip(items, scores, strict=True):
        structure = measurements[item.case.case_id].structures[item.structures[0]]
        assert (score.task, score.subtask, score.format) == (item.task, item.subtask, item.format)
        assert (score.case_id, score.structures) == (item.case.case_id, item.structures)
        assert (score.modality, score.source) == ("CT", "totalsegmentator_v2")
        assert score.volume_ml == structure.volume_ml
        kidneys = any(name.startswith("kidney") for name in item.structures)
        assert ("kidney" in score.organs) is kidneys
    assert Counter(score.format for score in scores).keys() == {"mca", "yesno", "numeric"}


def test_the_order_of_answers_changes_no_score_and_br_194_lines_are_strict_json():
    items, references = phantom_items(), phantom_references()
    answers = [reply(item, "B" if at % 3 else None) for at, item in enumerate(items)]
    forth = {one.answer_id: one for one in score_answers(items, references, answers)}
    back = {one.answer_id: one for one in score_answers(items[::-1], references[::-1], answers[::-1])}
    assert forth == back

    def refused(name: str) -> None:
        raise AssertionError(f"{name} is no JSON")

    for one in forth.values():
        assert json.loads(one.to_json_line(), parse_constant=refused)["answer_id"] == one.answer_id
