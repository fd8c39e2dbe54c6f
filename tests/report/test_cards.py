"""Which cases are shown: by rule, the same every time, and at least one of each task."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from monai_spatialqa.records.answer import Score
from monai_spatialqa.report import Card, select_cards
from tests.report.factory import MadeRun, made_items, made_run

PAIRS = made_items(6)
ITEMS = [item for item, _ in PAIRS]
REFERENCES = [reference for _, reference in PAIRS]


def cards_of(runs: Sequence[MadeRun], **options: int) -> list[Card]:
    scores = {run.result.run: run.scores for run in runs}
    answers = {run.result.run: run.answers for run in runs}
    return select_cards(scores, answers, ITEMS, REFERENCES, **options)


def perfect(name: str = "run", **fields: object) -> MadeRun:
    return made_run(PAIRS, name, skill=1.0, unread=0.0, **fields)  # type: ignore[arg-type]


def changed(run: MadeRun, item_id: str, change: Callable[[Score], dict[str, object]]) -> MadeRun:
    scores = [s.model_copy(update=change(s)) if s.item_id == item_id else s for s in run.scores]
    return run._replace(scores=scores)


def wrong(score: Score) -> dict[str, object]:
    return {"score": 0.0, "reading": score.reading.model_copy(update={"letter": "D" if score.key != "D" else "A"})}


def slipped(score: Score) -> dict[str, object]:
    assert score.key_value is not None
    value = score.key_value * 1000
    reading = score.reading.model_copy(update={"value": value})
    return {"score": 0.0, "reading": reading, "log10_ratio": 3.0, "relative_error": 999.0}


def far_off(score: Score) -> dict[str, object]:
    assert score.key_value is not None
    reading = score.reading.model_copy(update={"value": score.key_value * 20})
    return {"score": 0.0, "reading": reading, "log10_ratio": 1.3, "relative_error": 19.0}


def unread(score: Score) -> dict[str, object]:
    reading = score.reading.model_copy(update={"letter": None, "reason": "ambiguous"})
    return {"score": 0.0, "valid": False, "reading": reading}


def failed(score: Score) -> dict[str, object]:
    return {**unread(score), "outcome": "service"}


@pytest.mark.parametrize(
    ("item_id", "change", "why"),
    [
        ("case_003-vol", wrong, "wrong"),
        ("case_003-volest", slipped, "slip"),
        ("case_003-volest", far_off, "far_off"),
        ("case_003-ext", unread, "unread"),
        ("case_003-ext", failed, "failed"),
    ],
)
def test_a_fault_is_shown_with_its_reason(item_id: str, change: Callable[[Score], dict[str, object]], why: str) -> None:
    cards = cards_of([changed(perfect(), item_id, change)])
    found = {card.item.item_id: card.why for card in cards}
    assert found[item_id] == (why,)
    assert {reasons for name, reasons in found.items() if name != item_id} == {("task",)}


def test_of_every_task_there_is_one() -> None:
    assert {card.item.task for card in cards_of([perfect()])} == {item.task for item in ITEMS}
    assert len(cards_of([perfect()], most=3)) == 3
    assert cards_of([perfect()], most=0) == []


def test_runs_that_disagree_are_shown_together() -> None:
    cards = cards_of([perfect("good"), changed(perfect("bad"), "case_002-comp", wrong)])
    (card,) = (card for card in cards if "conflict" in card.why)
    assert card.item.item_id == "case_002-comp"
    assert card.why == ("conflict", "wrong")
    assert [(reply.run, reply.score.score) for reply in card.replies] == [("good", 1.0), ("bad", 0.0)]
    assert all(reply.answer is not None and reply.answer.item_id == "case_002-comp" for reply in card.replies)


def test_the_clearest_of_wrong_answers_comes_first() -> None:
    run = perfect()
    for case in (1, 4, 2):  # the margin of the key grows with the case
        run = changed(run, f"case_{case:03d}-vol", wrong)
    cards = cards_of([run], most=6)
    assert [card.item.item_id for card in cards if card.item.task == "VOL"] == ["case_004-vol"]


def test_one_fault_that_repeats_itself_does_not_fill_the_page() -> None:
    """Cloned scans with one question and one wrong reply each; two other faults that are less clear."""
    pairs = [
        (
            item.model_copy(update={"question": "How large?"}) if item.task == "VOL" else item,
            reference.model_copy(update={"margin": 100.0}) if item.task == "VOL" else reference,
        )
        for item, reference in made_items(12)
    ]
    run = made_run(pairs, "run", skill=1.0, unread=0.0)
    for item, _ in pairs:
        if item.task == "VOL" or item.item_id in ("case_003-ext", "case_004-comp"):
            run = changed(run, item.item_id, wrong)
    items, references = [item for item, _ in pairs], [reference for _, reference in pairs]
    cards = select_cards({"run": run.scores}, {"run": run.answers}, items, references, most=7)
    asked = [card.item.question for card in cards]
    assert asked.count("How large?") <= 2
    assert {"case_003-ext", "case_004-comp"} <= {card.item.item_id for card in cards}
    assert len({card.item.case.case_id for card in cards}) >= 6


def test_a_flagged_reading_is_no_plain_wrong_answer() -> None:
    def flagged(score: Score) -> dict[str, object]:
        change = wrong(score)
        reading = change["reading"].model_copy(update={"flags": ["letter_text_conflict"]})  # type: ignore[attr-defined]
        return {**change, "reading": reading}

    cards = cards_of([changed(perfect(), "case_003-vol", flagged)])
    assert "wrong" not in {why for card in cards for why in card.why}


def test_an_abstention_is_no_unreadable_reply() -> None:
    def abstained(score: Score) -> dict[str, object]:
        change = unread(score)
        reading = change["reading"].model_copy(update={"abstained": True})  # type: ignore[attr-defined]
        return {**change, "reading": reading}

    cards = cards_of([changed(perfect(), "case_003-vol", abstained)])
    assert "unread" not in {why for card in cards for why in card.why}


def test_baselines_and_blind_runs_choose_no_case_beside_a_model() -> None:
    model, blind = perfect("model"), changed(perfect("blind", blind=True), "case_002-vol", wrong)
    random = changed(perfect("random", kind="baseline"), "case_001-vol", wrong)
    cards = cards_of([model, blind, random])
    assert {reply.run for card in cards for reply in card.replies} == {"model"}
    assert "wrong" in {why for card in cards_of([blind, random]) for why in card.why}


def test_rotations_and_repeats_are_left_out() -> None:
    run = perfect()
    turned = changed(run, "case_003-vol", lambda score: {**wrong(score), "rotation": 1})
    again = changed(run, "case_003-vol", lambda score: {**wrong(score), "repeat": 1})
    for each in (turned, again):
        assert "wrong" not in {why for card in cards_of([each]) for why in card.why}


def test_the_same_records_in_any_order_give_the_same_cards() -> None:
    run = made_run(PAIRS, "run", skill=0.4, unread=0.3)
    cards = cards_of([run])
    back = select_cards({"run": run.scores[::-1]}, {"run": run.answers[::-1]}, ITEMS[::-1], REFERENCES[::-1])
    assert [(card.item.item_id, card.why) for card in back] == [(card.item.item_id, card.why) for card in cards]
    assert len({card.item.item_id for card in cards}) == len(cards) == 12


def test_what_has_no_reference_or_no_answer_is_no_case() -> None:
    run = perfect()
    assert select_cards({"run": run.scores}, {}, ITEMS, []) == []
    assert select_cards({"run": []}, {"run": []}, ITEMS, REFERENCES) == []
    (card,) = select_cards({"run": run.scores}, {}, ITEMS, REFERENCES[:1])
    assert card.replies[0].answer is None
