"""Options of values and intervals, numbers as shown, and what a guesser could make of them."""

from __future__ import annotations

import math
import re
from collections import Counter
from decimal import ROUND_CEILING, ROUND_FLOOR
from itertools import pairwise
from random import Random

import pytest

from monai_spatialqa.items.assemble import item_id, random_of
from monai_spatialqa.items.draft import SUBTASKS, Choice, Draft, Rules
from monai_spatialqa.items.options import WIDEST, complete, interval_choices, round_number, round_places, value_choices
from monai_spatialqa.items.quantity import PER_BASE_UNIT, Quantity
from monai_spatialqa.items.wording import decimals, shown_value
from monai_spatialqa.records.item import LETTERS

# Lesions have tests of their own.
OF_ORGANS = {name: each for name, each in SUBTASKS.items() if "lesion" not in name}

TASKS = ("DIR", "EXT", "VOL", "COMP", "VOLEST")
CHI2_3 = 7.815
"""The 95 % point of chi squared with three degrees of freedom."""


def chi_squared(counts, places):
    expected = sum(counts.values()) / places
    return sum((counts[place] - expected) ** 2 for place in range(places)) / expected if expected else 0.0


def numbers(text):
    return [float(found) for found in re.findall(r"\d+(?:\.\d+)?", text)]


def keys(count=3000, seed=5):
    """Quantities of all sizes, some very uncertain."""
    random = Random(seed)
    for _ in range(count):
        value = 10 ** random.uniform(-2, 5)
        yield Quantity(value, value * random.uniform(0.4, 1.0), value * random.uniform(1.0, 2.0), "ml")


def test_br_003_a_number_and_its_unit_read_back_as_the_same_quantity():
    """864 mm3 is shown as such, in ml as 0.864 ml, and never as 0.864 mm3."""
    block = Quantity(864.0, 800.0, 900.0, "mm3")
    assert shown_value(block.value, block.unit) == "864 mm3"
    assert shown_value(block.to("ml").value, "ml") == "0.864 ml"
    assert shown_value(block.to("cm3").value, "cm3") == "0.864 cm3"
    random = Random(3)
    for unit in ("mm", "cm", "mm2", "cm2", "ml", "cm3", "mm3", "l", "times"):
        for _ in range(500):
            value = 10 ** random.uniform(-5, 6)
            number, _, found = shown_value(value, unit).partition(" ")
            assert found == unit
            assert abs(float(number) - value) <= 0.5 * 10.0 ** -decimals(value) * (1 + 1e-9)
            assert float(number) == pytest.approx(value, rel=0.00501)
    assert shown_value(0.0, "ml") == "0 ml"


@pytest.mark.parametrize("units", [("ml", "mm"), ("cm3", "cm"), ("mm3", "mm")])
def test_br_003_items_in_any_unit_state_the_same_quantity(fine, make_items, units):
    volume_unit, length_unit = units
    rules = Rules(volume_unit=volume_unit, length_unit=length_unit)
    for name, made in OF_ORGANS.items():
        if made.task not in ("EXT", "VOL", "VOLEST"):
            continue
        for item, reference in make_items(fine, name, rules=rules, most=60):
            found = reference.evidence[0]
            own = fine.structures[item.structures[0]]
            if name in ("volume_value", "volume_estimate"):
                assert found.unit == volume_unit
                assert reference.answer_unit == volume_unit
                factor = PER_BASE_UNIT[volume_unit]
                assert numbers(reference.answer_text)[0] / factor == pytest.approx(own.volume_ml, rel=0.006)
            if name == "extent_value":
                assert found.unit == length_unit
                value = numbers(reference.answer_text)[0] / PER_BASE_UNIT[length_unit]
                assert value == pytest.approx(own.box.extent_mm[found.arguments["axis"]], abs=0.5)
            if name == "volume_interval":
                assert all(option.endswith((volume_unit, "or more")) for option in item.options)
                assert sum(option.count(volume_unit) for option in item.options) == 6


def test_br_167_values_that_look_equal_are_not_two_options():
    """1449.96 and 1450.04 are both shown as 1450; a draft that has both yields another option, or none."""
    draft = Draft(
        task="VOL",
        subtask="volume_value",
        structures=("liver",),
        words={"a": "liver"},
        key=Choice("1450.0 ml", value=1449.96, unit="ml"),
        wrong=(
            Choice("1450.0 ml", "too near", 1450.04, "ml"),
            Choice("1450.0  ML", "the same text", None, "ml"),
            Choice("1500 ml", "too near", 1500.0, "ml"),
            Choice("725 ml", "half", 725.0, "ml"),
            Choice("2900 ml", "twice", 2900.0, "ml"),
            Choice("2901 ml", "too near the last", 2901.0, "ml"),
            Choice("400 ml", "another", 400.0, "ml"),
        ),
        evidence=(),
    )
    options, letter, wrong = complete(draft, Rules(), Random(0))
    assert sorted(options) == ["1450.0 ml", "2900 ml", "400 ml", "725 ml"]
    assert options[LETTERS.index(letter)] == "1450.0 ml"
    assert [each.text for each in wrong] == [option for option in options if option != "1450.0 ml"]
    assert complete(draft, Rules(options=5), Random(0)) == "too few plausible wrong options"


def test_values_have_options_apart_from_the_key_and_each_other():
    random = Random(11)
    made = 0
    for key in keys():
        plausible = [
            (key.value * 10 ** random.uniform(-1.2, 1.2), "another structure") for _ in range(random.randrange(5))
        ]
        found = value_choices(key, plausible, Rules(), random)
        assert (found is None) == (key.half_width() / key.value > 0.15)
        if found is None:
            continue
        made += 1
        draft = Draft("VOL", "volume_value", ("liver",), {}, found[0], found[1], ())
        options, letter, wrong = complete(draft, Rules(), random)
        values = sorted([key.value, *(each.value for each in wrong)])
        assert all((high - low) / high >= 0.15 for low, high in pairwise(values))
        assert all(not key.low <= each.value <= key.high for each in wrong)
        assert options[LETTERS.index(letter)] == shown_value(key.value, "ml")
        assert len({option.split()[0] for option in options}) == 4
    assert made > 150


def test_the_key_is_any_of_the_values_by_size():
    """As often the smallest as the largest or one between: the middle is no better guess."""
    random = Random(3)
    ranks = Counter()
    for key in keys(4000):
        sure = Quantity(key.value, key.value * 0.97, key.value * 1.03, "ml")
        right, wrong = value_choices(sure, [(key.value * 1.5, "a"), (key.value / 2, "b")], Rules(), random)
        _, _, told = complete(Draft("VOL", "x", ("liver",), {}, right, wrong, ()), Rules(), random)
        ranks[sum(each.value < key.value for each in told)] += 1
    assert chi_squared(ranks, 4) < CHI2_3


def test_intervals_are_exhaustive_and_do_not_overlap():
    random = Random(4)
    made = 0
    for key in keys():
        for options in (2, 3, 4, 5):
            found = interval_choices(key, Rules(options=options), random)
            assert found is not None
            made += 1
            right, wrong, margin = found
            texts = [choice.text for choice in sorted((right, *wrong), key=lambda choice: choice.place)]
            cuts = [numbers(text) for text in texts]
            assert texts[0].startswith("less than ")
            assert texts[-1].endswith(" ml or more")
            assert all(" or more, but less than " in text for text in texts[1:-1])
            assert len(texts) == options
            # Each begins where the one before it ends, and ends above that.
            assert all(one[-1] == other[0] for one, other in pairwise(cuts))
            assert all(one[0] < one[1] for one in cuts[1:-1])
            edges = [0.0, *(cut[-1] for cut in cuts[:-1]), math.inf]
            assert edges[right.place] < key.low
            assert key.high < edges[right.place + 1]
            assert margin > 1
            assert right.value == key.value
            assert all(f"{cut:.1e}" == f"{cut:.6e}".replace("00000e", "e") for cut in edges[1:-1])
    assert made == 12000


def test_the_place_of_the_key_among_intervals_is_uniform():
    random = Random(6)
    places = Counter(interval_choices(key, Rules(), random)[0].place for key in keys(4000))
    assert chi_squared(places, 4) < CHI2_3


def test_intervals_are_of_one_width_so_that_it_does_not_tell_the_key():
    """A guesser who takes the wider of the two middle intervals is right no more often than by chance."""
    random = Random(7)
    hits, tries = 0, 0
    for key in keys(4000):
        right, wrong, _ = interval_choices(key, Rules(), random)
        middle = sorted((each for each in (right, *wrong) if each.place in (1, 2)), key=lambda each: each.place)
        widths = [high / low for low, high in (numbers(each.text) for each in middle)]
        assert max(widths) / min(widths) < 1.5
        if right.place in (1, 2):
            tries += 1
            hits += middle[widths.index(max(widths))] is right
    assert abs(hits / tries - 0.5) < 0.06


def test_intervals_may_be_refused_for_their_width():
    wide = Quantity(10.0, 4.0, 20.0, "ml")
    assert interval_choices(wide, Rules(), Random(0)) is not None
    assert interval_choices(wide, Rules(), Random(0), widest=WIDEST) is None
    assert interval_choices(Quantity(1.0, 0.0, 2.0, "ml"), Rules(), Random(0)) is None
    assert interval_choices(Quantity(1.0, 0.0, math.inf, "ml"), Rules(robust=False), Random(0)) is not None


@pytest.mark.parametrize(
    ("value", "down", "up"),
    [
        (137.0, 130.0, 140.0),
        (99.4, 95.0, 100.0),
        (0.0123, 0.012, 0.013),
        (50.0, 50.0, 50.0),
        (1.0, 1.0, 1.0),
        (0.3, 0.3, 0.3),
        (5123.0, 5000.0, 5500.0),
    ],
)
def test_round_numbers(value, down, up):
    assert round_number(value, ROUND_FLOOR) == down
    assert round_number(value, ROUND_CEILING) == up
    assert round_number(value) in (down, up)
    assert abs(round_number(value) / value - 1) < 0.05
    assert float(f"{up:.{round_places(up)}f}") == up


def test_br_171_the_key_stands_anywhere(records, make_items):
    """400 items and more of each task: letters, and yes and no, within the 95 % band of uniform; the same again."""
    for task in TASKS[:4]:
        letters, words = Counter(), Counter()
        for seed in range(12):
            for name, each in OF_ORGANS.items():
                if each.task == task:
                    for record in records.values():
                        for item, reference in make_items(record, name, seed=seed, most=12):
                            if name == "ratio_interval":
                                continue  # a ratio of 2 lies low on its ladder; the run balances these
                            if item.format == "mca":
                                letters[LETTERS.index(reference.answer)] += 1
                            else:
                                words[reference.answer] += 1
        assert sum(letters.values()) > 400
        # Items of one case share structures, and seeds repeat questions: the band is that of independent ones, doubled.
        assert chi_squared(letters, 4) < 2 * CHI2_3, letters
        if task != "EXT":
            total = sum(words.values())
            assert total > 100
            assert abs(words["yes"] - total / 2) < 1.96 * math.sqrt(total) / 2 * math.sqrt(2), words


def test_br_171_four_hundred_questions_of_distinct_cases(by_hand, make_items):
    """Independent cases: the plain 95 % band."""
    random, letters, words = Random(1), Counter(), Counter()
    names = ("liver", "spleen", "pancreas", "stomach", "duodenum", "colon")
    for at in range(400):
        layout = {
            name: {
                "ml": 10 ** random.uniform(1, 3),
                "center": tuple(random.uniform(-150, 150) for _ in range(3)),
                "size": tuple(random.uniform(20, 60) for _ in range(3)),
            }
            for name in names
        }
        record = by_hand(layout)
        for name in ("volume_value", "volume_interval", "extent_value", "dominant_direction"):
            for _, reference in make_items(record, name, seed=at, most=1):
                letters[LETTERS.index(reference.answer)] += 1
        for name in ("relation", "volume_at_least", "larger_than"):
            for _, reference in make_items(record, name, seed=at, most=1):
                words[reference.answer] += 1
    assert sum(letters.values()) > 1000
    assert chi_squared(letters, 4) < CHI2_3, letters
    assert abs(words["yes"] - sum(words.values()) / 2) < 1.96 * math.sqrt(sum(words.values())) / 2, words


def test_no_option_stands_out_by_its_length(records, make_items):
    """Taking the longest option, ties by chance, is right about as often as chance."""
    random, hits, tries = Random(1), 0, 0
    for record in records.values():
        for name, each in OF_ORGANS.items():
            if each.task in TASKS:
                for item, reference in make_items(record, name, most=40):
                    if item.format == "mca":
                        longest = max(map(len, item.options))
                        guess = random.choice([option for option in item.options if len(option) == longest])
                        hits += guess == reference.answer_text
                        tries += 1
    assert tries > 400
    assert abs(hits / tries - 0.25) < 0.06


def test_br_173_no_option_speaks_of_other_options(records, make_items):
    """None says "all of the above", "both A and B" or the like: options can stand in any order, intervals in theirs."""
    for record in records.values():
        for name, each in OF_ORGANS.items():
            if each.task not in TASKS:
                continue
            for item, reference in make_items(record, name, most=40):
                for option in item.options:
                    assert not re.search(r"\b(all|none|both|neither|above|below|cannot|equal|same)\b", option), option
                    assert not re.search(r"\b[A-D]\b(?! vertebra)", option) or "vertebra" in option
                assert not any(re.search(r"\boption\b|\b[A-D]\)", wrong.why) for wrong in reference.distractors)
                if item.subtask.endswith("_interval"):
                    starts = [numbers(option)[0] for option in item.options[1:]]
                    assert item.options[0].startswith("less than")
                    assert starts == sorted(starts)


def test_br_174_zero_is_a_seed(example, make_items):
    """0 seeds like any other number, and ids do not depend on it."""
    assert random_of(0, "a").random() != random_of(1, "a").random()
    assert random_of(0, "a").random() == random_of(0, "a").random()
    orders = [
        {item.item_id: item.options for item, _ in make_items(example, "edge_order", seed=seed)} for seed in (0, 1)
    ]
    assert orders[0].keys() == orders[1].keys()
    assert orders[0] != orders[1]
    draft = next(SUBTASKS["edge_order"].make(_view(example), Rules(), random_of(0)))
    assert item_id("x", draft) == item_id("x", draft)


def _view(record):
    from monai_spatialqa.items.view import CaseView

    return CaseView(record)


def test_yes_and_no_are_balanced_whatever_is_asked(example, fine, make_items):
    for name in ("relation", "volume_at_least", "larger_than"):
        words = Counter()
        for seed in range(30):
            for record in (example, fine):
                words.update(reference.answer for _, reference in make_items(record, name, seed=seed, most=8))
        total = sum(words.values())
        assert total > 300
        assert abs(words["yes"] / total - 0.5) < 0.07, (name, words)


def test_ratios_state_their_unit(fine, make_items):
    made = make_items(fine, "ratio_estimate")
    assert made
    for item, reference in made:
        assert item.answer_unit == "times"
        assert reference.evidence[0].unit == "times"
        assert "how many times" in item.question.lower()
        assert 1 <= reference.answer_value <= 20
    below = [reference.answer_value < 1 for _, reference in make_items(fine, "ratio_value")]
    assert 0.2 < sum(below) / len(below) < 0.8
