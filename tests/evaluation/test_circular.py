"""Choices asked in all rotations of their options: right every time, and one answer every time."""

from __future__ import annotations

from monai_spatialqa.evaluation.circular import circular_figures
from monai_spatialqa.evaluation.result import Figure
from monai_spatialqa.evaluation.scoring import score_answers
from monai_spatialqa.evaluation.tables import build_result
from monai_spatialqa.records.answer import Answer
from monai_spatialqa.records.item import LETTERS, Item, Reference
from tests.evaluation.phantom_items import made, reply


def asked(item: Item, said: dict[int, str | None], *, repeat: int = 0) -> list[Answer]:
    """Answers by rotation; what is said is the letter in the item's own order, given as it is shown."""
    answers = []
    for places, letter in said.items():
        shown = [item.options[(at - places) % len(item.options)] for at in range(len(item.options))]
        text = None if letter is None else LETTERS[shown.index(item.options[LETTERS.index(letter)])]
        answers.append(reply(item, text, rotation=places, options=shown, repeat=repeat))
    return answers


def figures(pairs: list[tuple[Item, Reference]], answers: list[Answer]) -> tuple[Figure | None, Figure | None]:
    items = [item for item, _ in pairs]
    scores = score_answers(items, [reference for _, reference in pairs], answers)
    return circular_figures(scores, items, draws=200, seed=0)


def said(letters: str) -> dict[int, str | None]:
    return dict(enumerate(letters))


def test_right_means_right_in_every_rotation():
    pairs = [made(name, "B") for name in "abcd"]
    answers = [
        *asked(pairs[0][0], said("BBBB")),  # right and consistent
        *asked(pairs[1][0], said("BBBC")),  # one wrong
        *asked(pairs[2][0], said("CCCC")),  # wrong, and consistently so
        *asked(pairs[3][0], {**said("BBB"), 3: None}),  # one unread
    ]
    right, alike = figures(pairs, answers)
    assert right is not None
    assert alike is not None
    assert (right.value, right.count) == (0.25, 4)
    assert (alike.value, alike.count) == (0.5, 4)


def test_always_the_same_place_is_never_right():
    pairs = [made("a", "B"), made("b", "A")]
    answers = []
    for item, _ in pairs:
        for places in range(4):
            shown = [item.options[(at - places) % 4] for at in range(4)]
            answers.append(reply(item, "A", rotation=places, options=shown))
    right, alike = figures(pairs, answers)
    assert (right and right.value, alike and alike.value) == (0, 0)


def test_what_was_not_asked_in_all_rotations_or_not_at_all_is_wrong():
    pairs = [made(name, "B") for name in "abcd"]
    answers = [
        *asked(pairs[0][0], said("BBBB")),
        *asked(pairs[1][0], said("BBB")),
        *asked(pairs[2][0], said("B")),
    ]
    right, alike = figures(pairs, answers)
    assert right is not None
    assert alike is not None
    assert (right.value, right.count) == (0.25, 4)
    assert (alike.value, alike.count) == (1.0, 2)


def test_formats_that_were_not_rotated_do_not_count():
    pairs = [made("a", "B"), made("y", "yes"), made("v", 100.0)]
    answers = [*asked(pairs[0][0], said("BBBB")), reply(pairs[1][0], "yes"), reply(pairs[2][0], "100 ml")]
    right, _ = figures(pairs, answers)
    assert right is not None
    assert (right.value, right.count) == (1, 1)


def test_repeats_are_judged_by_themselves():
    pairs = [made("a", "B"), made("b", "B")]
    answers = [*asked(pairs[0][0], said("BBBB")), *asked(pairs[0][0], said("BBCB"), repeat=1)]
    answers += [*asked(pairs[1][0], said("BBBB")), *asked(pairs[1][0], said("BBBB"), repeat=1)]
    right, _ = figures(pairs, answers)
    assert right is not None
    assert (right.value, right.count) == (0.75, 2)


def test_without_rotations_there_is_no_figure_and_rotated_answers_stay_out_of_the_others():
    pairs = [made("a", "B"), made("b", "B")]
    items = [item for item, _ in pairs]
    assert figures(pairs, [reply(item, "B") for item in items]) == (None, None)
    answers = [*asked(items[0], said("BCCC")), *asked(items[1], said("CBBB"))]
    scores = score_answers(items, [reference for _, reference in pairs], answers)
    result = build_result(scores, answers, items, draws=200)
    assert result.overall.figures["accuracy_all"].value == 0.5
    assert result.counts.answers == 8
    assert result.circular_accuracy is not None
    assert result.circular_accuracy.value == 0
