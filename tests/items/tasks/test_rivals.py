"""What structures are compared with: rivals that are near, alike and yet apart; offsets along one direction."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from monai_spatialqa.generation.balance import RunBalance
from monai_spatialqa.items.distance import NEAREST
from monai_spatialqa.items.names import of_one_series
from monai_spatialqa.items.parts import part_and_whole
from monai_spatialqa.items.quantity import Quantity
from monai_spatialqa.items.ranking import robust_margin, with_rivals
from monai_spatialqa.items.view import CaseView


@pytest.mark.parametrize(
    ("name", "farthest"), [("closest_of", False), ("distance_order", False), ("farthest_of", True)]
)
def test_rivals_for_the_nearest_are_near_and_for_the_farthest_far(example, make_items, name, farthest):
    view = CaseView(example)
    made = [pair for seed in range(4) for pair in make_items(view, name, seed=seed)]
    assert len(made) > 12
    for item, _ in made:
        anchor, *others = item.structures
        away = {other: view.distance(anchor, other).value for other in view.askable("place") if other != anchor}
        order = sorted(away, key=away.get, reverse=farthest)
        others_of = [each for each in order if not (of_one_series(anchor, each) or part_and_whole(anchor, each))]
        assert set(others) <= set(others_of[:NEAREST])
        assert others == sorted(others)


def test_rivals_are_alike_and_their_order_is_certain():
    figures = {
        name: Quantity(value, value * 0.95, value * 1.05, "ml")
        for name, value in (("a", 100.0), ("b", 104.0), ("c", 130.0), ("d", 170.0), ("e", 290.0), ("f", 900.0))
    }
    for seed in range(30):
        chosen = with_rivals("a", list(figures), figures.__getitem__, 3.0, 0.1, 4, Random(seed))
        assert set(chosen) == {"a", "c", "d", "e"}
        assert all(robust_margin(figures[one], figures[other]) > 1 for one in chosen for other in chosen if one < other)
    chosen = with_rivals("a", list(figures), figures.__getitem__, 3.0, 0.1, 6, Random(0))
    assert set(chosen[:4]) == {"a", "c", "d", "e"}
    assert chosen[4:] == ["b", "f"]  # alike first, then what is left


def test_an_offset_is_the_step_along_the_direction_that_is_stated(example, make_items):
    ways = {
        "patient's right": (0, 1),
        "patient's left": (0, -1),
        "anterior": (1, 1),
        "posterior": (1, -1),
        "superior": (2, 1),
        "inferior": (2, -1),
    }
    view, seen = CaseView(example), set()
    for item, reference in make_items(view, "offset_value", most=200):
        ((axis, sign),) = {way for word, way in ways.items() if f" {word} " in item.question}
        structure, anchor = item.structures
        step = sign * float(np.subtract(view.center(structure), view.center(anchor))[axis])
        assert step > 0
        assert reference.answer_value == pytest.approx(step)
        seen.add((axis, sign))
    assert len(seen) == 6


def test_of_equal_questions_the_one_whose_key_the_run_has_not_had_comes_first(example, make_items):
    pairs = make_items(CaseView(example), "dominant_direction", most=100)
    balance = RunBalance()
    first = pairs[0]
    balance.take(first, "somebody else")
    had = [pair for pair in pairs if pair[1].answer_text == first[1].answer_text]
    new = [pair for pair in pairs if pair[1].answer_text != first[1].answer_text]
    assert had
    assert new
    assert max(balance.had(pair, "liver") for pair in new) < min(balance.had(pair, "liver") for pair in had)
