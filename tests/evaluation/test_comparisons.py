"""Two runs on the same items: paired differences, p-values, and Holm's correction over the table."""

from __future__ import annotations

import pytest

from monai_spatialqa.evaluation.comparisons import compare_runs
from monai_spatialqa.evaluation.scoring import score_answers
from monai_spatialqa.records.answer import Score
from tests.evaluation.phantom_items import made, reply

PAIRS = [made(f"q{number:02}", "B", task=("VOL", "COMP")[number % 2]) for number in range(12)]


def scores(letters: str, **fields: object) -> list[Score]:
    """Scores of a run that gave these letters, one an item; a blank for no answer."""
    items, references = [item for item, _ in PAIRS], [reference for _, reference in PAIRS]
    answers = [reply(item, letter, **fields) for item, letter in zip(items, letters, strict=False) if letter != " "]
    return score_answers(items, references, answers)


def test_the_difference_is_paired_and_its_p_value_exact():
    first, second = scores("B" * 12), scores("BBBBBBBBAAAA")
    found = {one.task: one for one in compare_runs({"one": first, "two": second}, draws=5000)}
    assert list(found) == ["all", "VOL", "COMP"]
    assert (found["all"].first, found["all"].second) == ("one", "two")
    assert (found["all"].difference.value, found["all"].difference.count) == (pytest.approx(4 / 12), 12)
    # Four cases differ, all one way: 2 of the 16 sign patterns are as large.
    assert found["all"].p_value == pytest.approx(2 / 16)
    assert found["VOL"].p_value == found["COMP"].p_value == pytest.approx(2 / 4)
    assert [found[task].p_holm for task in ("all", "VOL", "COMP")] == pytest.approx([3 / 8, 1, 1])


def test_holm_is_over_all_pairs_and_tasks():
    runs = {"one": scores("B" * 12), "two": scores("A" * 12), "three": scores("B" * 12)}
    found = compare_runs(runs, draws=5000)
    assert [(one.first, one.second) for one in found if one.task == "all"] == [
        ("one", "two"),
        ("one", "three"),
        ("two", "three"),
    ]
    assert len(found) == 9
    least = min(one.p_value for one in found if one.p_value is not None)
    assert least == pytest.approx(2 / 2**12)
    assert min(one.p_holm for one in found if one.p_holm is not None) == pytest.approx(9 * least)
    same = next(one for one in found if (one.first, one.second, one.task) == ("one", "three", "all"))
    assert (same.difference.value, same.p_value) == (0, 1)


def test_items_that_only_one_run_has_are_left_out():
    first, second = scores("BBBBBBBB    "), scores("    AAAAAAAA")
    found = {one.task: one for one in compare_runs({"one": first, "two": second}, draws=500)}
    assert (found["all"].difference.value, found["all"].difference.count) == (1, 4)
    assert compare_runs({"one": scores("BB"), "two": scores("  BB")}, draws=500) == []


def test_repeats_are_averaged_and_rotated_answers_left_out():
    item, reference = PAIRS[0]
    turned = [*item.options[3:], *item.options[:3]]
    answers = [reply(item, "B"), reply(item, "A", repeat=1), reply(item, "A", rotation=1, options=turned)]
    first = score_answers([item], [reference], answers)
    second = score_answers([item], [reference], [reply(item, "A")])
    found = compare_runs({"one": first, "two": second}, draws=500)
    assert found[0].difference.value == 0.5


def test_the_better_run_is_found_whatever_the_order():
    better, worse = scores("B" * 12), scores("A" * 10 + "BB")
    forth = compare_runs({"one": better, "two": worse}, draws=3000)
    back = compare_runs({"two": worse, "one": better}, draws=3000)
    for one, other in zip(forth, back, strict=True):
        assert one.difference.value == -other.difference.value
        assert one.p_value == other.p_value
        assert one.p_value is not None
        assert one.difference.low is not None
