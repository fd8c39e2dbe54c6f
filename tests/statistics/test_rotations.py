"""CircularEval: right in every rotation; consistency: one answer in every rotation."""

from __future__ import annotations

import pytest

from monai_spatialqa.errors import SpatialQAError
from monai_spatialqa.statistics import (
    circular_accuracy,
    circular_scores,
    consistent_items,
    rotation_consistency,
    tertile_cuts,
    tertile_of,
)


def asked(item: str, right: str, options: int | None = None) -> list[tuple[str, int, bool, int]]:
    """One answer per letter: r right, w wrong, - not given."""
    count = options or len(right)
    return [(item, at, letter == "r", count) for at, letter in enumerate(right) if letter != "-"]


def columns(*rows: list[tuple]) -> list[list]:
    return [list(column) for column in zip(*(row for part in rows for row in part), strict=True)]


@pytest.mark.parametrize(
    ("right", "expected"),
    [("rrrr", True), ("rrrw", False), ("wwww", False), ("rrr-", False), ("-rrr", False), ("rr", True)],
)
def test_an_item_is_right_if_every_rotation_is(right, expected):
    assert circular_scores(*columns(asked("a", right))) == {"a": expected}


def test_the_order_of_answers_does_not_matter_and_items_may_mix():
    rows = [*asked("a", "rrrr"), *asked("b", "rr"), *asked("c", "rw")]
    assert circular_scores(*columns(rows[::-1])) == {"c": False, "b": True, "a": True}
    assert circular_accuracy(*columns(rows)) == 2 / 3


def test_always_the_first_letter_is_never_right_throughout():
    """Moved on by one place each time, A is the key once in four: 25 % of the answers, none of the items."""
    rows = [row for item in "abcd" for row in asked(item, "rwww")]
    assert circular_accuracy(*columns(rows)) == 0


@pytest.mark.parametrize(
    "rows",
    [
        [("a", 0, True, 2), ("a", 0, True, 2)],
        [("a", 2, True, 2)],
        [("a", -1, True, 2)],
        [("a", 0, True, 2), ("a", 1, True, 4)],
    ],
)
def test_rotations_that_cannot_be_are_refused(rows):
    with pytest.raises(SpatialQAError) as error:
        circular_scores(*columns(rows))
    assert (error.value.code, error.value.case) == ("bad_rotations", "a")


def test_columns_of_other_lengths_are_refused():
    with pytest.raises(SpatialQAError):
        circular_scores(["a"], [0], [True, True], [2])
    with pytest.raises(SpatialQAError):
        consistent_items(["a"], [])


def test_consistency_is_one_answer_right_or_wrong():
    items = ["a", "a", "b", "b", "c", "c", "d", "d", "e"]
    choices = ["x", "x", "x", "y", None, None, "x", None, "x"]
    assert consistent_items(items, choices) == {"a": True, "b": False, "c": False, "d": False}
    assert rotation_consistency(items, choices) == 0.25


def test_nothing_asked_has_no_share():
    assert circular_accuracy([], [], [], []) is None
    assert rotation_consistency(["a", "b"], ["x", "x"]) is None


@pytest.mark.parametrize(
    ("values", "cuts"),
    [
        ([1, 2, 3], (1, 2)),
        ([600, 1, 50, 2, 40, 3], (2, 40)),
        (range(1, 8), (3, 5)),
        ([5, 5, 5, 5, 6, 7], (5, 5)),
        ([1, 1, 2], None),
        ([], None),
    ],
)
def test_tertile_cuts_are_values_that_occur(values, cuts):
    assert tertile_cuts(list(values)) == cuts


@pytest.mark.parametrize("count", [3, 4, 5, 30, 301])
def test_thirds_are_as_equal_as_they_can_be(count):
    values = [value**1.5 for value in range(count)]
    found = [tertile_of(value, tertile_cuts(values)) for value in values]
    sizes = [found.count(name) for name in ("small", "medium", "large")]
    assert sum(sizes) == count
    assert max(sizes) - min(sizes) <= 1
    assert found == sorted(found, key=["small", "medium", "large"].index)


def test_equal_values_are_never_parted():
    values = [1, 2, 2, 2, 2, 2, 3, 4, 5]
    cuts = tertile_cuts(values)
    assert len({tertile_of(value, cuts) for value in values if value == 2}) == 1


def test_a_volume_that_is_missing_has_no_third():
    with pytest.raises(SpatialQAError):
        tertile_cuts([1.0, float("nan"), 3.0])
