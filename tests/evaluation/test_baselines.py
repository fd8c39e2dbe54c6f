"""Baselines: what each answers, that the oracle proves the chain, and that guessing is what chance says."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from math import comb
from statistics import median

import pytest

from monai_spatialqa.errors import ScoringError, SettingsError
from monai_spatialqa.evaluation.baseline_runs import BaselineRun, run_baseline
from monai_spatialqa.evaluation.baselines import BASELINES, baseline_answers
from monai_spatialqa.evaluation.guessing import chance_interval
from monai_spatialqa.evaluation.scoring import score_answers
from monai_spatialqa.records.item import LETTERS, Item, Reference
from tests.evaluation.phantom_items import made, phantom_items, phantom_measurements, phantom_references

Pair = tuple[Item, Reference]


def run(name: str, pairs: Sequence[Pair] | None = None, seed: int = 0) -> BaselineRun:
    items = phantom_items() if pairs is None else [item for item, _ in pairs]
    references = phantom_references() if pairs is None else [reference for _, reference in pairs]
    return run_baseline(name, items, references, measurements=phantom_measurements(), draws=500, seed=seed)


def replies(name: str, pairs: Sequence[Pair], seed: int = 0) -> dict[str, str | None]:
    """Item id -> reply."""
    found = baseline_answers(name, [item for item, _ in pairs], [reference for _, reference in pairs], seed=seed)
    return {answer.item_id: answer.reply for answer in found}


@pytest.mark.parametrize("seed", range(6))
def test_the_oracle_scores_one_hundred_percent(seed):
    found = run("oracle", seed=seed)
    assert found.result is not None
    bad = [(one.item_id, one.score) for one in found.scores if one.score != 1]
    assert not bad, [(answer.reply, answer.options) for answer in found.answers if answer.item_id in dict(bad)]
    overall = found.result.overall.figures
    for name in ("accuracy_all", "accuracy_answered", "chance_adjusted", "mra", "mra_parity", "validity", "within_5"):
        assert overall[name].value == 1, name
    for figure in (found.result.paper_average, found.result.macro_average):
        assert figure is not None
        assert (figure.value, figure.low, figure.high) == (1, 1, 1)
    for group in found.result.groups:
        assert {figure.value for name, figure in group.figures.items() if name in ("accuracy_all", "mra")} <= {1}


def test_the_oracle_writes_in_every_form():
    forms = {answer.reply for seed in range(80) for answer in run("oracle", [made("q", "B")], seed).answers}
    assert len(forms) == 9
    numbers = {answer.reply for seed in range(30) for answer in run("oracle", [made("q", 1450.25)], seed).answers}
    assert {"1450.25 ml", "1,450.25 ml", "1.450250e+03 ml", "1.45025 l"} <= numbers
    assert any(json.loads(text)["value"] == 1450.25 for text in numbers if text and text.startswith("{"))


def test_the_random_baseline_is_within_the_range_of_chance_and_changes_with_the_seed_only():
    choices = [item for item in phantom_items() if item.format != "numeric"]
    chance = chance_interval(choices)
    assert chance is not None
    found = run("random")
    assert found.result is not None
    accuracy = found.result.overall.figures["accuracy_all"]
    assert chance.low <= accuracy.value <= chance.high
    assert accuracy.count == len(choices)
    assert found.answers == run("random").answers
    assert found.answers != run("random", seed=1).answers
    # Over many seeds every option comes equally often, and the mean is what chance says.
    shares = [sum(one.score for one in run_scores(seed)) / len(choices) for seed in range(40)]
    assert sum(shares) / len(shares) == pytest.approx(chance.expected, abs=0.02)
    inside = sum(chance.low <= share <= chance.high for share in shares)
    assert inside >= 35


def run_scores(seed: int):
    items, references = phantom_items(), phantom_references()
    return score_answers(items, references, baseline_answers("random", items, references, seed=seed))


def test_random_looks_at_nothing_but_the_item():
    pairs = [made(f"q{number}", "A") for number in range(300)]
    alone = replies("random", pairs[:1])
    assert replies("random", pairs)["q0"] == alone["q0"]
    counts = Counter(replies("random", pairs).values())
    assert counts.keys() == set("ABCD")
    assert all(45 <= count <= 105 for count in counts.values())  # 75 expected, four standard deviations either way


def test_the_range_of_chance_is_that_of_binomials_summed():
    pairs = [made(f"q{number}", "A") for number in range(8)] + [made(f"y{number}", "yes") for number in range(4)]
    found = chance_interval([item for item, _ in pairs])
    assert found is not None
    probability = [
        sum(
            comb(8, first) * 0.25**first * 0.75 ** (8 - first) * comb(4, total - first) * 0.5**4
            for first in range(9)
            if 0 <= total - first <= 4
        )
        for total in range(13)
    ]
    assert found.expected == pytest.approx((8 / 4 + 4 / 2) / 12)
    low, high = round(found.low * 12), round(found.high * 12)
    assert sum(probability[:low]) <= 0.025 < sum(probability[: low + 1])
    assert sum(probability[high + 1 :]) <= 0.025 < sum(probability[high:])


def test_always_a_takes_the_first_option():
    pairs = [made("q", "B"), made("r", "A"), made("y", "no"), made("v", 3.0)]
    assert replies("always_a", pairs) == {"q": "A", "r": "A", "y": "yes"}
    keys = [reference.answer for _, reference in pairs[:3]]
    result = run("always_a", pairs).result
    assert result is not None
    assert result.overall.figures["accuracy_all"].value == sum(key in ("A", "yes") for key in keys) / 3


def test_guessing_is_not_asked_for_numbers_and_no_figure_counts_them():
    for name in ("random", "always_a"):
        result = run(name).result
        assert result is not None
        choices = sum(item.format != "numeric" for item in phantom_items())
        assert result.counts.items == result.counts.answers == choices
        assert result.column("VOLEST") is None
        assert result.counts.missing == []
        assert "mra" not in result.overall.figures
    assert run("random", [made("v", 3.0)]) == BaselineRun([], [], None)


def test_all_rows_of_a_table_cut_volumes_alike():
    cuts = {run(name).result.volume_cuts_ml for name in BASELINES}  # type: ignore[union-attr]
    assert len(cuts) == 1
    assert None not in cuts


def test_frequency_takes_the_median_of_the_other_cases():
    volumes = {"a": 100.0, "b": 120.0, "c": 200.0, "d": 900.0}
    pairs = [made(f"liver-{case}", value, case_id=case) for case, value in volumes.items()]
    pairs += [made("spleen-a", 5000.0, case_id="a", structures=["spleen"])]
    found = replies("frequency", pairs)
    for case in volumes:
        expected = median(value for other, value in volumes.items() if other != case)
        assert found[f"liver-{case}"] == f"{expected:.6g} ml"
    # Nothing is known of spleens elsewhere: all volumes of the subtask in the other cases.
    assert found["spleen-a"] == "200 ml"


def test_frequency_takes_the_unit_of_the_item_where_the_reference_has_none():
    pairs = [made(f"q{number}", value) for number, value in enumerate((10.0, 20.0, 90.0))]
    bare = [(item, reference.model_copy(update={"answer_unit": None})) for item, reference in pairs]
    assert replies("frequency", bare) == replies("frequency", pairs) == {"q0": "55 ml", "q1": "50 ml", "q2": "15 ml"}


def test_frequency_takes_the_text_that_was_right_most_often_in_other_cases():
    # Letters differ, the text counts: in cases b, c, d the liver is the answer, in a the spleen.
    names = ("liver", "spleen", "aorta", "stomach")
    pairs = [
        made("a", "B", options=names),
        made("b", "A", options=names),
        made("c", "D", options=("aorta", "stomach", "spleen", "liver")),
        made("d", "C", options=("aorta", "stomach", "liver", "spleen")),
    ]
    assert replies("frequency", pairs) == {"a": "A", "b": "A", "c": "D", "d": "C"}
    result = run("frequency", pairs).result
    assert result is not None
    assert result.overall.figures["accuracy_all"].value == 0.75


def valued(item_id: str, key: str, volumes: Sequence[float]) -> Pair:
    """A choice between volumes, told as numbers in the reference, too."""
    texts = [f"{volume:g} ml" for volume in volumes]
    item, reference = made(item_id, key, options=texts)
    right = LETTERS.index(key)
    others = [
        other.model_copy(update={"value": float(other.text.removesuffix(" ml")), "unit": "ml"})
        for other in reference.distractors
    ]
    told = {"answer_value": volumes[right], "answer_unit": "ml", "distractors": others}
    return item, reference.model_copy(update=told)


def test_frequency_takes_the_value_nearest_to_what_the_structure_has_in_other_cases():
    pairs = [
        valued("a", "A", (100, 50, 240, 400)),
        valued("b", "B", (31, 130, 260, 520)),
        valued("c", "D", (1, 2, 3, 150)),
        valued("d", "C", (90, 180, 900, 360)),
    ]
    # Medians of the other keys: 150, 150, 130, 130; no text was the key elsewhere.
    assert replies("frequency", pairs) == {"a": "A", "b": "B", "c": "D", "d": "A"}


def test_frequency_never_uses_the_items_own_case():
    pairs = [made(f"{case}-{number}", "B", case_id=case) for case in "ab" for number in range(3)]
    other = [made(f"a-{number}", "C", case_id="a") for number in range(3)] + pairs[3:]
    # What case a says changes the answers of b, never those of a.
    first, second = replies("frequency", pairs), replies("frequency", other)
    assert {first[f"a-{number}"] for number in range(3)} == {second[f"a-{number}"] for number in range(3)} == {"B"}
    assert {first[f"b-{number}"] for number in range(3)} == {"B"}
    assert {second[f"b-{number}"] for number in range(3)} == {"C"}


def test_frequency_keeps_patients_together():
    pairs = [made(f"{case}", "B", case_id=case, patient_id="p") for case in ("scan1", "scan2")]
    pairs += [made("other", "D", case_id="other", patient_id="q")]
    assert replies("frequency", pairs) == {"scan1": "D", "scan2": "D", "other": "B"}


def test_frequency_of_a_single_case_leaves_out_the_item_alone():
    pairs = [made(f"q{number}", value, case_id="only") for number, value in enumerate((10.0, 20.0, 90.0))]
    assert replies("frequency", pairs) == {"q0": "55 ml", "q1": "50 ml", "q2": "15 ml"}


def test_frequency_without_anything_to_go_by_says_so():
    (answer,) = run("frequency", [made("q", 3.0)]).answers
    assert (answer.outcome, answer.reply) == ("empty", None)
    assert replies("frequency", [made("q", "C")]) == {"q": "A"}


@pytest.mark.parametrize("name", BASELINES)
def test_baselines_are_read_like_models(name):
    found = run(name)
    assert found.result is not None
    assert found.result.kind == "baseline"
    assert found.result.run == name
    assert found.result.overall.figures["validity"].value == 1
    assert all(score.reading.rule and score.kind == "baseline" for score in found.scores)
    assert all(0 <= LETTERS.find(score.reading.letter or "A") < 8 for score in found.scores if score.format == "mca")


def test_an_unknown_baseline_and_a_missing_reference_are_named():
    item, reference = made("q", "B")
    with pytest.raises(SettingsError, match="always_a"):
        baseline_answers("always-b", [item], [reference])
    with pytest.raises(ScoringError, match="q"):
        baseline_answers("random", [item], [])
