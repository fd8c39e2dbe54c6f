"""What can be told from the options alone: each attack on options made in its way, and not on others."""

from __future__ import annotations

from itertools import permutations
from random import Random

import pytest

from monai_spatialqa.items.option_relations import (
    ATTACKS,
    FACTORS,
    attack_results,
    factor_origin,
    most_alike,
    most_by_chance,
    parts_of,
    rearranged,
    turned_round,
)

ORGANS = ("liver", "spleen", "stomach")


@pytest.mark.parametrize(
    ("option", "parts"),
    [
        ("liver, spleen and colon", ("liver", "spleen", "colon")),
        ("liver > spleen", ("liver", "spleen")),
        ("left and superior", ("left", "superior")),
        ("10 x 20 x 30 mm", ("10 mm", "20 mm", "30 mm")),
        ("3,4 cm", ("3,4 cm",)),
        ("50 ml or more, but less than 70 ml", ("50 ml or more, but less than 70 ml",)),
    ],
)
def test_parts(option, parts):
    assert parts_of(option) == parts


def test_the_order_that_the_others_are_made_from():
    """The key with two neighbours exchanged, or its ends: each keeps a place of the key, and none of another's."""
    options = ["spleen, liver, stomach", "liver, spleen, stomach", "liver, stomach, spleen", "stomach, spleen, liver"]
    assert most_alike(options) == (1,)
    assert turned_round(options) == (1, 3)
    assert most_alike([", ".join(each) for each in permutations(ORGANS)]) == ()


def test_the_value_that_the_others_are_multiples_of():
    assert factor_origin(["150 ml", "75.0 ml", "210 ml", "240 ml"]) == (0,)
    assert factor_origin(["1.5 l", "750 ml", "2100 ml"]) == (0,)
    assert factor_origin(["liver", "spleen"]) == ()
    assert factor_origin(["less than 50 ml", "50 ml or more"]) == ()


def test_the_size_that_the_others_rearrange():
    options = ["30 x 20 x 10 mm", "10 x 20 x 30 mm", "20 x 10 x 30 mm", "15 x 25 x 35 mm"]
    assert rearranged(options) == (0, 1, 2)
    assert turned_round(options) == (0, 1)


def test_the_direction_whose_opposite_is_an_option():
    assert turned_round(["left", "anterior", "superior", "right"]) == (0, 3)
    assert turned_round(["left", "right"]) == ()


def from_the_key(random):
    key = list(random.sample(ORGANS, 3))
    a, b, c = key
    orders = [key, [b, a, c], [a, c, b], [c, b, a]]
    random.shuffle(orders)
    return "orders", [", ".join(order) for order in orders], orders.index(key)


def by_factors(random):
    key = random.uniform(20, 900)
    values = [key, *(key * factor for factor in random.sample(FACTORS, 3))]
    random.shuffle(values)
    return "values", [f"{value:.1f} ml" for value in values], values.index(key)


def fair_orders(random):
    orders = random.sample(list(permutations(ORGANS)), 4)
    return "orders", [", ".join(order) for order in orders], random.randrange(4)


@pytest.mark.parametrize(("make", "attack"), [(from_the_key, "most_alike"), (by_factors, "factor_origin")])
def test_keys_that_the_options_give_away_are_found(make, attack):
    random = Random(5)
    strongest = attack_results(make(random) for _ in range(60))[0]
    assert (strongest.attack, strongest.beyond_chance) == (attack, True)
    assert strongest.right > 2 * strongest.chance
    assert not attack_results([make(random) for _ in range(19)])


def test_fair_options_give_nothing_away():
    beyond = 0
    for seed in range(40):
        random = Random(seed)
        results = attack_results(fair_orders(random) for _ in range(80))
        assert results
        beyond += sum(result.beyond_chance for result in results)
    assert beyond <= 2


def test_chance_bound():
    from scipy import stats

    assert most_by_chance([0.25] * 40) == stats.binom.ppf(0.999, 40, 0.25)
    assert most_by_chance([0.5] * 21) == stats.binom.ppf(0.999, 21, 0.5)


def test_attacks_say_nothing_of_plain_choices():
    assert all(attack(["liver", "spleen", "left kidney", "colon"]) == () for attack in ATTACKS.values())
