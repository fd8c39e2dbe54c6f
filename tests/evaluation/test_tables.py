"""The result of a run: denominators, averages, groups and intervals, against sums written out plainly."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from random import Random
from statistics import mean, median
from typing import Any

import pytest

from monai_spatialqa.anatomy import organs_of
from monai_spatialqa.errors import ScoringError
from monai_spatialqa.evaluation.result import DIMENSIONS, FIGURES, Figure, RunResult
from monai_spatialqa.evaluation.scoring import score_answers
from monai_spatialqa.evaluation.tables import About, build_result
from monai_spatialqa.records.answer import Answer, Score, Usage
from monai_spatialqa.records.item import Item, Reference
from tests.evaluation.phantom_items import (
    made,
    phantom_items,
    phantom_measurements,
    phantom_references,
    reply,
)

DRAWS = 300
CHOICE_TASKS = ("DIR", "DIST", "EXT", "VOL", "COMP")


def result_of(pairs: Sequence[tuple[Item, Reference]], answers: Sequence[Answer], **fields: Any) -> RunResult:
    items = [item for item, _ in pairs]
    scores = score_answers(items, [reference for _, reference in pairs], answers)
    return build_result(scores, answers, items, draws=DRAWS, **fields)


def value_of(result: RunResult, name: str) -> tuple[float | None, int]:
    figure = result.overall.figures[name]
    return figure.value, figure.count


def test_br_197_unread_replies_count_as_wrong_and_failures_are_told_apart():
    pairs = [made(f"q{number}", "B") for number in range(10)]
    answers = [reply(item, "B") for item, _ in pairs[:6]]
    answers += [reply(item, text) for (item, _), text in zip(pairs[6:8], ("A. or C", "Hm."), strict=True)]
    answers += [reply(item, None, outcome="service", problem="503") for item, _ in pairs[8:]]
    result = result_of(pairs, answers)
    assert value_of(result, "accuracy_all") == (0.6, 10)
    assert value_of(result, "accuracy_answered") == (0.75, 8)
    assert value_of(result, "validity") == (0.6, 10)
    counts = result.counts
    assert (counts.items, counts.answers, counts.read, counts.unread, counts.abstained) == (10, 10, 6, 2, 0)
    assert counts.failed == {"service": 2}
    assert sum(counts.reasons.values()) == 2
    assert (counts.missing, counts.unknown) == ([], [])
    assert counts.read + counts.unread + counts.abstained + sum(counts.failed.values()) == counts.answers


def test_br_199_missing_and_unknown_ids_are_listed_and_the_mean_is_over_all_items():
    pairs = [made(f"q{number}", "B") for number in range(10)]
    stranger, _ = made("nobody", "B")
    answers = [reply(item, "B") for item, _ in pairs[:8]] + [reply(stranger, "B")]
    result = result_of(pairs, answers)
    assert result.counts.missing == ["q8", "q9"]
    assert result.counts.unknown == ["nobody"]
    assert value_of(result, "accuracy_all") == (0.8, 10)
    assert value_of(result, "accuracy_answered") == (1.0, 8)
    assert value_of(result, "validity") == (0.8, 10)
    assert result.counts.answers == 8


def test_a_category_with_no_right_answer_stays_in_the_mean():
    pairs = [made("a", "B", task="VOL"), made("b", "B", task="VOL"), made("c", "B", task="COMP")]
    answers = [reply(item, letter) for (item, _), letter in zip(pairs, "BBA", strict=True)]
    result = result_of(pairs, answers)
    assert result.column("COMP") == Figure(value=0, count=1)
    assert result.macro_average is not None
    assert result.macro_average.value == 0.5


def test_the_average_as_published_counts_empty_columns_as_nothing_and_macro_the_columns_with_choices():
    pairs = [made("a", "B", task="VOL"), made("b", "B", task="DIR"), made("c", 100.0)]
    answers = [reply(pairs[0][0], "B"), reply(pairs[1][0], "A"), reply(pairs[2][0], "107 ml")]
    result = result_of(pairs, answers)
    assert result.paper_average is not None
    assert result.macro_average is not None
    assert result.paper_average.value == pytest.approx((1 + 0 + 0.9) / 6)
    assert (result.macro_average.value, result.macro_average.count) == (0.5, 2)
    assert result.column("VOLEST") == Figure(value=0.9, count=1)
    assert result.column("DIST") is None


def test_abstaining_counts_as_wrong_and_has_its_own_rate():
    pairs = [made(f"q{number}", "B") for number in range(4)]
    answers = [reply(pairs[0][0], "Cannot be determined."), *(reply(item, "B") for item, _ in pairs[1:])]
    result = result_of(pairs, answers)
    assert value_of(result, "accuracy_all") == (0.75, 4)
    assert value_of(result, "abstention") == (0.25, 4)
    assert (result.counts.abstained, result.counts.unread, result.counts.reasons) == (1, 0, {})


def test_chance_is_that_of_each_items_options():
    pairs = [made("a", "B"), made("b", "A", options=("1 ml", "2 ml")), made("c", "yes")]
    right = result_of(pairs, [reply(item, reference.answer) for item, reference in pairs])
    assert value_of(right, "chance_adjusted") == (1.0, 3)
    wrong = result_of(pairs, [reply(item, text) for (item, _), text in zip(pairs, ("A", "B", "no"), strict=True)])
    chance = (1 / 4 + 1 / 2 + 1 / 2) / 3
    assert wrong.overall.figures["chance_adjusted"].value == pytest.approx(-chance / (1 - chance))


def test_repeats_are_averaged_within_an_item():
    pairs = [made("a", "B"), made("b", "B")]
    answers = [reply(pairs[0][0], letter, repeat=at) for at, letter in enumerate("BBAA")]
    answers += [reply(pairs[1][0], letter, repeat=at) for at, letter in enumerate("BBBA")]
    result = result_of(pairs, answers)
    assert value_of(result, "accuracy_all") == (0.625, 2)
    assert result.counts.answers == 8


def test_numbers_have_errors_shares_and_medians():
    said = {"a": "100 ml", "b": "108 ml", "c": "60 ml", "d": "100 L", "e": "I do not know"}
    pairs = [made(name, 100.0) for name in said]
    result = result_of(pairs, [reply(item, said[item.item_id]) for item, _ in pairs])
    assert value_of(result, "mra") == (pytest.approx((1 + 0.9 + 0.2 + 0 + 0) / 5), 5)
    errors = (0, 0.08, 0.4, 999)
    assert value_of(result, "median_relative_error") == (pytest.approx(median(errors)), 4)
    ratios = (0, math.log10(1.08), math.log10(0.6), 3)
    assert value_of(result, "median_log10_ratio") == (pytest.approx(median(ratios)), 4)
    for limit, share in ((5, 1 / 5), (10, 2 / 5), (20, 2 / 5), (50, 3 / 5)):
        assert value_of(result, f"within_{limit}") == (pytest.approx(share), 5)
    assert "accuracy_all" not in result.overall.figures


def test_intervals_draw_whole_cases():
    # All of one case right, all of the other wrong: half of the draws are one-sided, whatever the number of items.
    pairs = [made(f"{case}{number}", "B", case_id=case) for case in "ab" for number in range(20)]
    answers = [reply(item, "B" if item.case.case_id == "a" else "C") for item, _ in pairs]
    figure = result_of(pairs, answers).overall.figures["accuracy_all"]
    assert (figure.value, figure.low, figure.high) == (0.5, 0, 1)


def test_scans_of_one_patient_are_one_cluster_and_one_cluster_has_no_interval():
    pairs = [made(f"q{number}", "B", patient_id="p") for number in range(6)]
    figure = result_of(pairs, [reply(item, "B") for item, _ in pairs]).overall.figures["accuracy_all"]
    assert figure == Figure(value=1, count=6)


def test_a_result_is_of_one_run():
    pairs = [made("a", "B"), made("b", "B")]
    with pytest.raises(ScoringError, match="one run of one model"):
        result_of(pairs, [reply(pairs[0][0], "B"), reply(pairs[1][0], "B", model="another")])
    with pytest.raises(ScoringError, match="one run of one model"):
        result_of(pairs, [reply(pairs[0][0], "B"), reply(pairs[1][0], "B", blind=True)])
    with pytest.raises(ScoringError, match="no answers"):
        result_of(pairs, [])


def test_the_gain_is_over_the_choices_that_were_asked_both_ways():
    pairs = [made(f"q{number}", "B") for number in range(4)] + [made("v", 100.0)]
    items, references = [item for item, _ in pairs], [reference for _, reference in pairs]
    seen = [reply(item, "100 ml" if item.format == "numeric" else "B") for item in items]
    unseen = [reply(item, letter, blind=True) for item, letter in zip(items, "BACAA", strict=True)]
    blind = score_answers(items, references, unseen[1:])
    result = build_result(score_answers(items, references, seen), seen, items, blind=blind, draws=DRAWS)
    assert result.blind_gain is not None
    assert (result.blind_gain.value, result.blind_gain.count) == (1.0, 3)
    alone = build_result(blind, unseen[1:], items, draws=DRAWS)
    assert (alone.run, alone.blind, alone.blind_gain) == ("tester (blind)", True, None)


def test_calls_and_tokens_are_counted_from_the_answers_and_names_come_from_the_run():
    pairs = [made("a", "B"), made("b", "B")]
    usages = (Usage(prompt_tokens=100, completion_tokens=5), Usage(prompt_tokens=50))
    answers = [reply(item, "B", usage=usage) for (item, _), usage in zip(pairs, usages, strict=True)]
    spent = result_of(pairs, answers).spent
    assert (spent.calls, spent.prompt_tokens, spent.completion_tokens) == (2, 150, 5)
    named = result_of(pairs, answers, about=About(run="ours", family="Qwen3-VL", size_billion=4, views="32 slices"))
    assert (named.run, named.model, named.family, named.size_billion) == ("ours", "tester", "Qwen3-VL", 4)


# A run of all kinds of answers over generated items, and every figure of every group again, written out plainly.


def _answers() -> list[Answer]:
    dice = Random(3)
    answers = []
    for item, reference in zip(phantom_items(), phantom_references(), strict=True):
        luck = dice.random()
        if luck < 0.05:
            continue
        if luck < 0.1:
            answers.append(reply(item, None, outcome="truncated"))
        elif luck < 0.15:
            answers.append(reply(item, "Cannot be determined."))
        elif luck < 0.2:
            answers.append(reply(item, "Hm."))
        elif item.format == "numeric":
            assert reference.answer_value is not None
            answers.append(reply(item, f"{reference.answer_value * dice.uniform(0.5, 1.6):.4g} {item.answer_unit}"))
        else:
            wrong = "no" if item.format == "yesno" else dice.choice("ABCD")
            answers.append(reply(item, reference.answer if dice.random() < 0.6 else wrong))
    return answers


@pytest.fixture(scope="module")
def run() -> tuple[RunResult, dict[str, Score]]:
    answers = _answers()
    scores = score_answers(phantom_items(), phantom_references(), answers, measurements=phantom_measurements())
    result = build_result(scores, answers, phantom_items(), measurements=phantom_measurements(), draws=DRAWS)
    return result, {score.item_id: score for score in scores}


def _volume(item: Item) -> float | None:
    for record in phantom_measurements():
        if record.case_id == item.case.case_id:
            return record.structures[item.structures[0]].volume_ml
    raise AssertionError(item.case.case_id)


def _member(dimension: str, name: str, cuts: tuple[float, float]) -> Callable[[Item], bool]:
    def volume(item: Item) -> bool:
        own = _volume(item)
        assert own is not None
        return name == ("small" if own <= cuts[0] else "medium" if own <= cuts[1] else "large")

    ways: dict[str, Callable[[Item], bool]] = {
        "all": lambda item: True,
        "task": lambda item: item.task == name,
        "subtask": lambda item: item.subtask == name,
        "structure": lambda item: name in item.structures,
        "organ": lambda item: any(name in organs_of(one) for one in item.structures),
        "volume": volume,
        "source": lambda item: name == "totalsegmentator_v2",
        "modality": lambda item: name == "CT",
    }
    return ways[dimension]


def _expected(items: Sequence[Item], scores: dict[str, Score]) -> dict[str, tuple[float, int]]:
    """Every figure of some items; those without an answer are wrong, unread and never abstain."""
    there = {item.item_id: scores[item.item_id] for item in items if item.item_id in scores}
    choices = [item for item in items if item.format != "numeric"]
    numbers = [item for item in items if item.format == "numeric"]
    points = {item.item_id: there[item.item_id].score if item.item_id in there else 0.0 for item in items}
    replied = [item.item_id for item in choices if item.item_id in there and there[item.item_id].outcome == "answered"]
    errors = [one.relative_error for one in there.values() if one.relative_error is not None]
    ratios = [one.log10_ratio for one in there.values() if one.log10_ratio is not None]
    expected = {
        "validity": (sum(one.valid for one in there.values()) / len(items), len(items)),
        "abstention": (sum(one.reading.abstained for one in there.values()) / len(items), len(items)),
    }
    if choices:
        accuracy = mean(points[item.item_id] for item in choices)
        chance = mean(1 / len(item.options) for item in choices)
        expected["accuracy_all"] = accuracy, len(choices)
        expected["chance_adjusted"] = (accuracy - chance) / (1 - chance), len(choices)
    if replied:
        expected["accuracy_answered"] = mean(points[item_id] for item_id in replied), len(replied)
    if numbers:
        expected["mra"] = mean(points[item.item_id] for item in numbers), len(numbers)
        for limit in (5, 10, 20, 50):
            expected[f"within_{limit}"] = sum(error <= limit / 100 for error in errors) / len(numbers), len(numbers)
    if errors:
        expected["median_relative_error"] = median(errors), len(errors)
        expected["median_log10_ratio"] = median(ratios), len(ratios)
    return expected


def test_every_figure_of_every_group_is_what_plain_sums_give(run):
    result, scores = run
    assert result.volume_cuts_ml is not None
    for group in (result.overall, *result.groups):
        member = _member(group.dimension, group.name, result.volume_cuts_ml)
        expected = _expected([item for item in phantom_items() if member(item)], scores)
        found = {name: (figure.value, figure.count) for name, figure in group.figures.items() if name != "mra_parity"}
        assert found.keys() == expected.keys(), (group.dimension, group.name)
        for name, (value, count) in expected.items():
            assert found[name] == (pytest.approx(value, abs=1e-12), count), (group.dimension, group.name, name)


def test_intervals_enclose_their_figures(run):
    result, _ = run
    with_interval = 0
    for group in (result.overall, *result.groups):
        for figure in group.figures.values():
            if figure.low is not None:
                assert figure.low - 1e-9 <= figure.value <= figure.high + 1e-9
                with_interval += 1
    assert with_interval > 100


def test_groups_are_complete_and_in_the_order_of_tables(run):
    result, _ = run
    items = phantom_items()
    names = {dimension: [g.name for g in result.groups if g.dimension == dimension] for dimension in DIMENSIONS}
    assert names["task"] == [*CHOICE_TASKS, "VOLEST"]
    assert set(names["subtask"]) == {item.subtask for item in items}
    assert set(names["structure"]) == {name for item in items for name in item.structures}
    assert {"liver", "kidney", "spleen"} <= set(names["organ"])
    assert names["volume"] == ["small", "medium", "large"]
    assert (names["source"], names["modality"], names["tumour"]) == (["totalsegmentator_v2"], ["CT"], [])
    assert [g.dimension for g in result.groups] == sorted((g.dimension for g in result.groups), key=DIMENSIONS.index)
    for group in result.groups:
        assert list(group.figures) == [name for name in FIGURES if name in group.figures]


def test_volumes_are_cut_where_a_third_of_the_structures_lies(run):
    result, _ = run
    volumes = sorted({(item.case.case_id, item.structures[0]): _volume(item) for item in phantom_items()}.values())
    low, high = result.volume_cuts_ml
    assert low in volumes
    assert high in volumes
    for cut, part in ((low, 1 / 3), (high, 2 / 3)):
        below = sum(volume <= cut for volume in volumes)
        assert below >= part * len(volumes)
        assert sum(volume < cut for volume in volumes) < part * len(volumes)


def test_volumes_and_sources_of_unanswered_items_come_from_the_measurements():
    items, references = phantom_items(), phantom_references()
    answers = [reply(item, "B") for item in items[: len(items) // 2]]
    scores = score_answers(items, references, answers)  # without measurements: scores without volumes
    result = build_result(scores, answers, items, measurements=phantom_measurements(), draws=DRAWS)
    (source,) = [group for group in result.groups if group.dimension == "source"]
    assert source.figures["validity"].count == len(items)
    assert build_result(scores, answers, items, draws=DRAWS).volume_cuts_ml is None


def test_tumours_are_told_by_name():
    pairs = [
        made("a", "B", structures=["liver_tumour"]),
        made("b", "C", structures=["kidney_tumour", "kidney_left"]),
        made("c", "D", structures=["spleen"]),
    ]
    result = result_of(pairs, [reply(item, "B") for item, _ in pairs])
    found = {group.name: group.figures["accuracy_all"].value for group in result.groups if group.dimension == "tumour"}
    assert found == {"kidney": 0, "liver": 1}
    assert [group.name for group in result.groups if group.dimension == "organ"] == ["liver", "kidney", "spleen"]


def test_the_order_of_records_changes_nothing():
    answers = _answers()
    items, references = phantom_items(), phantom_references()

    def result(turned: bool) -> RunResult:
        step = -1 if turned else 1
        scores = score_answers(items, references, answers[::step])
        return build_result(scores, answers[::step], items[::step], draws=DRAWS)

    assert result(turned=True) == result(turned=False)


def test_br_194_a_result_without_values_is_strict_json():
    pairs = [made("v", 100.0)]
    text = result_of(pairs, [reply(pairs[0][0], "none")]).model_dump_json()
    assert "NaN" not in text
    assert "Infinity" not in text
    assert RunResult.model_validate_json(text).overall.figures["mra"].value == 0
