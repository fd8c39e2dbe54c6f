"""What the options of generated questions tell of their key when the scan and the question are hidden: nothing."""

from __future__ import annotations

import math
import re
from collections import Counter
from itertools import pairwise
from random import Random

import pytest

from monai_spatialqa.items.draft import Rules
from monai_spatialqa.items.lesion_case import vessels
from monai_spatialqa.items.option_relations import ATTACKS, attack_results
from monai_spatialqa.items.options import value_choices, wrong_orders
from monai_spatialqa.items.quantity import Quantity
from monai_spatialqa.records.item import LETTERS

NAMES = ("heart", "trachea", "portal_vein_and_splenic_vein", "brain", "skull", "sternum")
"""Structures of which the tables of normal places tell little of each other."""

SUBTASKS = (
    "dominant_direction",
    "direction_pair",
    "order_along_axis",
    "offset_value",
    "distance_value",
    "distance_order",
    "extent_value",
    "box_size",
    "edge_order",
    "volume_value",
    "volume_order",
    "ratio_value",
)
CASES = 400


@pytest.fixture(scope="module")
def choices(by_hand, make_items):
    """Group, options as shown and place of the key: one question of every subtask for each of many random cases."""
    random, found = Random(7), []
    for case in range(CASES):
        layout = {
            name: {
                "ml": 10 ** random.uniform(1.7, 2.7),
                "center": tuple(random.uniform(-38, 38) for _ in range(3)),
                "size": tuple(float(random.randrange(30, 70)) for _ in range(3)),
            }
            for name in NAMES
        }
        record = by_hand(layout)
        for name in SUBTASKS:
            for item, reference in make_items(record, name, seed=case, most=1 if name.endswith("_value") else 6)[:1]:
                found.append((name, item.options, LETTERS.index(reference.answer)))
    return found


def test_there_are_hundreds_of_every_subtask(choices):
    counts = Counter(group for group, _, _ in choices)
    assert min(counts[name] for name in SUBTASKS) >= 300, counts


def within_the_band(hits: float, tries: int) -> bool:
    """Whether a share of right guesses is no more than chance of one in four explains: one-sided, 99 %."""
    return hits <= tries / 4 + 2.33 * math.sqrt(tries * 3 / 16)


@pytest.mark.parametrize("attack", sorted(ATTACKS))
def test_no_relation_among_the_options_tells_the_key(choices, attack):
    results = [each for each in attack_results(choices) if each.attack == attack]
    for each in results:
        assert not each.beyond_chance, each


@pytest.mark.parametrize("subtask", [name for name in SUBTASKS if name.endswith("_value")])
def test_neither_rank_nor_steps_of_values_tell_the_key(choices, subtask):
    """Smallest, middle, largest; the value nearest to a neighbour, or farthest from all: each right by chance."""
    values = [
        ([float(re.findall(r"[\d.]+", option)[0]) for option in options], key)
        for group, options, key in choices
        if group == subtask
    ]
    guesses = {"nearest": 0, "farthest": 0, **{rank: 0 for rank in range(4)}}
    for shown, key in values:
        logs = [math.log(value) for value in shown]
        apart = [sorted(abs(one - other) for other in logs)[1:] for one in logs]
        guesses["nearest"] += min(range(4), key=lambda at: apart[at]) == key
        guesses["farthest"] += max(range(4), key=lambda at: sum(apart[at])) == key
        guesses[sorted(shown).index(shown[key])] += 1
    assert all(within_the_band(hits, len(values)) for hits in guesses.values()), (guesses, len(values))


@pytest.mark.parametrize("subtask", ["order_along_axis", "distance_order", "volume_order"])
def test_votes_for_places_do_not_tell_an_order(choices, subtask):
    """The order that agrees best with the others place by place, and the one with the fewest swaps to all others."""
    tries, votes, medoid = 0, 0.0, 0.0
    for group, options, key in choices:
        if group != subtask:
            continue
        orders = [option.split(", ") for option in options]
        agree = [sum(a == b for other in orders for a, b in zip(one, other, strict=True)) for one in orders]
        swaps = [-sum(_swaps(one, other) for other in orders) for one in orders]
        votes += (agree[key] == max(agree)) / agree.count(max(agree))
        medoid += (swaps[key] == max(swaps)) / swaps.count(max(swaps))
        tries += 1
    assert within_the_band(votes, tries), (votes, tries)
    assert within_the_band(medoid, tries), (medoid, tries)


def _swaps(one, other):
    places = [other.index(part) for part in one]
    return sum(a > b for at, a in enumerate(places) for b in places[at:])


def test_four_orders_are_two_pairs_of_opposites():
    for seed in range(20):
        right = ("a", "b", "c")
        orders = [right, *wrong_orders(right, Rules(), Random(seed))]
        assert len(set(orders)) == 4
        assert all(tuple(reversed(each)) in orders for each in orders)
    assert len(wrong_orders(("a", "b", "c"), Rules(options=6), Random(0))) == 5


def test_steps_between_values_are_of_one_size_whether_they_touch_the_key_or_not():
    random = Random(2)
    beside, between = [], []
    for _ in range(2000):
        key = Quantity(value := 10 ** random.uniform(1, 3), value * 0.97, value * 1.03, "ml")
        plausible = [(value * 10 ** random.uniform(-1, 1), "another structure") for _ in range(8)]
        found = value_choices(key, plausible, Rules(), random)
        assert found is not None
        told = sorted([value, *(each.value for each in found[1])])
        for one, other in pairwise(told):
            (beside if value in (one, other) else between).append(other / one)
    assert min(beside + between) > 1.17
    assert max(beside + between) < 1.62
    assert sum(beside) / len(beside) == pytest.approx(sum(between) / len(between), abs=0.006)


def test_the_ratio_the_other_way_round_is_no_option(fine, make_items):
    made = make_items(fine, "ratio_value")
    assert made
    for item, reference in made:
        assert not re.search(r"how many times the volume of", item.question, re.IGNORECASE)
        inverse = 1 / reference.answer_value
        values = [float(option.split()[0]) for option in item.options]
        assert all(abs(value - inverse) / inverse > 0.05 for value in values)


def test_distances_of_lesions_to_vessels_tell_nothing(tmp_path_factory, make_items):
    import monai_spatialqa as sqa
    from monai_spatialqa.items.view import CaseView

    found = []
    for seed in range(3):
        phantom = sqa.make_phantom(seed, varied=True)
        _, path = phantom.save(tmp_path_factory.mktemp("vessels"), "p")
        record = sqa.measure(path, label_map=phantom.label_map, detail="full", distances="all")
        view = CaseView(record, phantom.label_map)
        assert len(vessels(view)) == 2
        for draw in range(60):
            for item, reference in make_items(view, "lesion_vessel_distance", seed=draw):
                found.append(("lesion_vessel_distance", item.options, LETTERS.index(reference.answer)))
    assert len(found) >= 300
    assert not [each for each in attack_results(found) if each.beyond_chance]
