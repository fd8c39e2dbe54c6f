"""Accuracy and its denominators, validity, chance, averages over tasks."""

from __future__ import annotations

import math

import numpy as np
import pytest

from monai_spatialqa.errors import SpatialQAError
from monai_spatialqa.statistics import (
    CHOICE_TASKS,
    PAPER_COLUMNS,
    abstention_rate,
    accuracy,
    chance_adjusted,
    chance_adjusted_columns,
    macro_average,
    paper_average,
    validity_rate,
)


def test_br_197_both_denominators_are_named():
    """Ten items: six right, two unreadable (wrong), two calls that failed (wrong over all, left out over answered)."""
    found = accuracy([1] * 6 + [0] * 4, answered=[1] * 8 + [0] * 2)
    assert (found.right, found.answered, found.total) == (6, 8, 10)
    assert (found.over_all, found.over_answered) == (6 / 10, 6 / 8)


def test_without_failures_the_denominators_are_one():
    found = accuracy(np.array([True, False]))
    assert (found.over_all, found.over_answered) == (0.5, 0.5)


def test_nothing_asked_has_no_accuracy():
    assert (accuracy([]).over_all, accuracy([]).over_answered) == (None, None)
    assert accuracy([0, 0], [0, 0]).over_all == 0
    assert accuracy([0, 0], [0, 0]).over_answered is None
    assert validity_rate([]) is None
    assert abstention_rate([]) is None


@pytest.mark.parametrize(
    ("correct", "answered", "key"),
    [
        ([1, 1], [1, 0], "correct[1]"),
        ([0, 2], None, "correct[1]"),
        ([1], [1, 1], "answered"),
        ([[1]], None, "correct[0]"),
    ],
)
def test_flags_that_cannot_be_are_refused(correct, answered, key):
    with pytest.raises(SpatialQAError) as error:
        accuracy(correct, answered)
    assert error.value.key == key


def test_rates_are_over_all_answers():
    assert validity_rate([1, 1, 0, 1]) == 0.75
    assert abstention_rate([True, False, False, False]) == 0.25


@pytest.mark.parametrize(("right", "expected"), [(25, 0.0), (100, 1.0), (0, -1 / 3), (40, 0.2)])
def test_chance_adjustment_of_four_options(right, expected):
    assert chance_adjusted([1] * right + [0] * (100 - right), [0.25] * 100) == pytest.approx(expected, abs=1e-12)


def test_guessing_scores_zero_on_mixed_items():
    scores, chances = [0.5, 0.5, 0.25, 0.25, 1 / 3], [1 / 2, 1 / 2, 1 / 4, 1 / 4, 1 / 3]
    assert chance_adjusted(scores, chances) == pytest.approx(0, abs=1e-15)
    assert chance_adjusted([1] * 5, chances) == 1.0
    assert chance_adjusted([], []) is None


def test_the_weighted_mean_of_the_columns_is_the_adjusted_accuracy():
    random = np.random.default_rng(3)
    score, chance = random.integers(0, 2, 50), random.choice([0.25, 0.5], 50)
    values, weights = chance_adjusted_columns(score, chance)
    mean_chance = chance.mean()
    expected = (score.mean() - mean_chance) / (1 - mean_chance)
    assert np.average(values, weights=weights) == pytest.approx(expected, abs=1e-12)
    assert chance_adjusted(score, chance) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("scores", "chances", "key"), [([1], [1.0], "chances[0]"), ([0, 2], [0, 0], "scores[1]"), ([1], [], "chances")]
)
def test_impossible_chances_are_refused(scores, chances, key):
    with pytest.raises(SpatialQAError) as error:
        chance_adjusted(scores, chances)
    assert error.value.key == key


def test_the_paper_average_takes_an_empty_column_as_zero():
    columns = dict(zip(PAPER_COLUMNS, [60, 60, 60, 60, 60, None], strict=True))
    assert paper_average(columns) == 50
    assert paper_average([60, 60, 60, 60, 60, math.nan]) == 50
    assert macro_average(columns) == 60


def test_br_197_a_task_without_a_right_answer_stays_in_the_mean():
    assert macro_average({"DIR": 1.0, "DIST": 0.0}) == 0.5


def test_the_macro_average_is_over_choices_only():
    assert macro_average({"VOLEST": 0.9}) is None
    assert macro_average({**dict.fromkeys(CHOICE_TASKS, 0.5), "VOLEST": 0.9}) == 0.5


@pytest.mark.parametrize("columns", [[1, 2, 3, 4, 5], {"DIR": 1}, dict.fromkeys((*CHOICE_TASKS, "AREA"), 1)])
def test_the_paper_average_is_over_six_columns(columns):
    with pytest.raises(SpatialQAError):
        paper_average(columns)


def test_unknown_tasks_are_refused():
    with pytest.raises(SpatialQAError, match="no task"):
        macro_average({"AREA": 1.0})
