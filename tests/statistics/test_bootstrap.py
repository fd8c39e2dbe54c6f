"""Intervals from drawing cases: against draws written out one by one, against scipy, and against theory."""

from __future__ import annotations

import math
import tracemalloc

import numpy as np
import pytest
from scipy import stats

from monai_spatialqa.errors import SettingsError, SpatialQAError
from monai_spatialqa.statistics import (
    Column,
    Estimate,
    bootstrap,
    bootstrap_columns,
    cluster_bootstrap,
    drawn_medians,
    macro_bootstrap,
    resampling,
)

DRAWS = 300


def make(answers: int = 60, cases: int = 9, seed: int = 0) -> tuple[np.ndarray, list[str], np.ndarray, np.ndarray]:
    """Values with ties, cases of unequal size, weights some of which are 0, group names."""
    random = np.random.default_rng(seed)
    values = random.integers(0, 8, answers) / 8
    clusters = [f"case_{number}" for number in random.integers(0, cases, answers)]
    weights = random.choice([0.0, 1.0, 2.5], answers)
    return values, clusters, weights, random.choice(["a", "b", "c"], answers)


def drawn_cases(clusters: list[str], seed: int = 0) -> list[list[int]]:
    """Places of the answers of every draw, case by case as often as it was drawn."""
    names = sorted(set(clusters))
    places = [[at for at, label in enumerate(clusters) if label == name] for name in names]
    drawn = np.random.default_rng(seed).integers(0, len(names), (DRAWS, len(names)))
    return [[at for case in row for at in places[case]] for row in drawn]


def interval(figures: list[float], level: float = 0.95) -> tuple[float, float]:
    there = [figure for figure in figures if not math.isnan(figure)]
    return tuple(np.percentile(there, [50 * (1 - level), 50 * (1 + level)]))


def mean_of(values: np.ndarray, weights: np.ndarray, places: list[int]) -> float:
    total = sum(weights[at] for at in places)
    return sum(values[at] * weights[at] for at in places) / total if total else math.nan


def ends(estimate: Estimate) -> tuple[float | None, float | None]:
    return estimate.low, estimate.high


@pytest.mark.parametrize("level", [0.95, 0.5])
@pytest.mark.parametrize("seed", [0, 7])
def test_weighted_means_are_those_of_draws_written_out(seed, level):
    values, clusters, weights, _ = make()
    found = cluster_bootstrap(values, clusters, weights=weights, draws=DRAWS, seed=seed, level=level)
    expected = [mean_of(values, weights, places) for places in drawn_cases(clusters, seed)]
    assert ends(found) == pytest.approx(interval(expected, level), abs=1e-11)
    assert found.value == pytest.approx(np.average(values, weights=weights), abs=1e-14)
    assert (found.count, found.clusters) == (int((weights > 0).sum()), 9)


@pytest.mark.parametrize("answers", [7, 60, 400])
def test_medians_are_those_of_draws_written_out(answers):
    values, clusters, weights, _ = make(answers, cases=6)
    kept = (weights > 0).astype(float)
    found = cluster_bootstrap(values, clusters, weights=kept, statistic="median", draws=DRAWS)
    drawn = [[values[at] for at in places if kept[at]] for places in drawn_cases(clusters)]
    expected = [float(np.median(one)) if one else math.nan for one in drawn]
    assert ends(found) == pytest.approx(interval(expected), abs=1e-12)
    assert found.value == np.median(values[kept > 0])


def test_groups_are_those_of_draws_written_out():
    """A case without an answer in the group is drawn all the same; draws without any answer of it are left out."""
    values, clusters, weights, names = make(answers=24, cases=12)
    found = cluster_bootstrap(values, clusters, names.tolist(), weights, draws=DRAWS)
    assert list(found) == ["a", "b", "c"]
    for name, estimate in found.items():
        inside = weights * (names == name)
        expected = [mean_of(values, inside, places) for places in drawn_cases(clusters)]
        assert ends(estimate) == pytest.approx(interval(expected), abs=1e-11)
        assert estimate.clusters == len({case for case, weight in zip(clusters, inside, strict=True) if weight})


@pytest.mark.parametrize("empty", ["skip", "zero"])
def test_macro_means_are_those_of_draws_written_out(empty):
    values, clusters, weights, names = make()
    groups = {name: names == name for name in ("a", "b", "c")} | {"none": np.zeros(len(values), bool)}
    found = macro_bootstrap(values, clusters, groups, weights, empty=empty, draws=DRAWS)
    divisor = 4 if empty == "zero" else 3

    def macro(places: list[int]) -> float:
        return sum(mean_of(values, weights * (names == name), places) for name in ("a", "b", "c")) / divisor

    assert ends(found) == pytest.approx(interval([macro(places) for places in drawn_cases(clusters)]), abs=1e-11)
    assert found.value == pytest.approx(macro(list(range(len(values)))), abs=1e-14)


def test_the_interval_agrees_with_scipys():
    """Cases of one size: the mean of answers is the mean of case means, which scipy resamples."""
    random = np.random.default_rng(1)
    by_case = random.normal(0, 1, 80)[:, None] + random.normal(0, 0.3, (80, 5))
    found = cluster_bootstrap(by_case.ravel(), np.repeat(np.arange(80), 5))
    theirs = stats.bootstrap(
        (by_case.mean(axis=1),), np.mean, n_resamples=10_000, method="percentile", rng=np.random.default_rng(2)
    )
    assert ends(found) == pytest.approx(tuple(theirs.confidence_interval), abs=0.02)


def test_the_median_interval_agrees_with_scipys():
    values = np.random.default_rng(1).lognormal(size=201)
    found = cluster_bootstrap(values, np.arange(201), statistic="median")
    theirs = stats.bootstrap(
        (values,), np.median, n_resamples=10_000, method="percentile", rng=np.random.default_rng(2)
    )
    assert ends(found) == pytest.approx(tuple(theirs.confidence_interval), abs=0.03)


def test_answers_about_one_case_do_not_count_as_independent():
    """Copies of an answer bring nothing: the interval is that of the cases alone."""
    values = np.random.default_rng(4).integers(0, 2, 50).astype(float)
    once = cluster_bootstrap(values, np.arange(50))
    copied = cluster_bootstrap(np.repeat(values, 40), np.repeat(np.arange(50), 40))
    assert ends(copied) == ends(once)
    assert (once.count, copied.count, copied.clusters) == (50, 2000, 50)
    assert once.high - once.low == pytest.approx(2 * 1.96 * values.std() / math.sqrt(50), rel=0.1)


@pytest.mark.parametrize("statistic", ["mean", "median"])
def test_memory_in_chunks_changes_nothing(monkeypatch, statistic):
    values, clusters, weights, names = make()
    column = {"x": Column(values, (weights > 0) * 1.0, statistic), "y": Column(1 - values, (weights > 0) * 1.0)}
    whole = bootstrap_columns(column, clusters, names.tolist(), draws=DRAWS)
    monkeypatch.setattr(resampling, "CHUNK", 7 * 64)  # seven draws at once
    monkeypatch.setattr(drawn_medians, "BLOCK", 3)
    monkeypatch.setattr(bootstrap, "HELD", 2 * DRAWS)  # two figures at once
    monkeypatch.setattr(bootstrap, "TOGETHER", 1)
    assert bootstrap_columns(column, clusters, names.tolist(), draws=DRAWS) == whole


def test_neither_order_nor_company_changes_an_interval():
    values, clusters, weights, names = make()
    whole = cluster_bootstrap(values, clusters, names.tolist(), weights, draws=DRAWS)
    order = np.random.default_rng(5).permutation(len(values))
    moved = [np.asarray(column)[order] for column in (values, clusters, names, weights)]
    assert cluster_bootstrap(moved[0], moved[1], moved[2].tolist(), moved[3], draws=DRAWS) == whole
    alone = cluster_bootstrap(values, clusters, {"b": names == "b"}, weights, draws=DRAWS)
    assert alone == {"b": whole["b"]}
    named = [name if name == "b" else None for name in names]
    assert cluster_bootstrap(values, clusters, named, weights, draws=DRAWS) == alone


def test_the_seed_decides():
    values, clusters, *_ = make()
    one, again, other = (cluster_bootstrap(values, clusters, draws=50, seed=seed) for seed in (1, 1, 2))
    assert one == again
    assert one.value == other.value
    assert ends(one) != ends(other)


def test_columns_are_single_bootstraps_from_the_same_draws():
    values, clusters, weights, names = make()
    kept = (weights > 0).astype(float)
    columns = {
        "plain": Column(values),
        "weighted": Column(values, weights),
        "other": Column(1 - values, weights),
        "middle": Column(values, kept, "median"),
    }
    found = bootstrap_columns(columns, clusters, names.tolist(), draws=DRAWS)
    for name, column in columns.items():
        single = cluster_bootstrap(
            column.values, clusters, names.tolist(), column.weights, statistic=column.statistic, draws=DRAWS
        )
        assert {group: figures[name] for group, figures in found.items()} == single


def test_one_case_tells_nothing_of_others():
    found = cluster_bootstrap([1, 0, 1], ["a", "a", "a"])
    assert found == Estimate(2 / 3, None, None, 3, 1)
    found = macro_bootstrap([1, 0, 1], ["a", "b", "c"], ["x", "x", "y"])
    assert found == Estimate(0.75, None, None, 3, 3)


def test_no_answer_has_no_figure():
    nothing = Estimate(None, None, None, 0, 0)
    assert cluster_bootstrap([], []) == nothing
    assert cluster_bootstrap([math.nan, None], ["a", "b"], weights=[0, 0]) == nothing
    assert cluster_bootstrap([1, 2], ["a", "b"], {"x": np.array([False, False])}) == {"x": nothing}
    assert macro_bootstrap([], [], {}) == nothing
    assert macro_bootstrap([], [], {"DIR": np.zeros(0, bool)}, empty="zero") == Estimate(0.0, None, None, 0, 0)


def test_all_equal_has_no_width():
    found = cluster_bootstrap(np.ones(100), np.arange(100))
    assert (found.value, found.low, found.high) == (1.0, 1.0, 1.0)


@pytest.mark.parametrize(
    ("arguments", "key"),
    [
        ({"values": [1, math.nan]}, "values[1]"),
        ({"values": [1]}, "values"),
        ({"weights": [1, -1]}, "weights[1]"),
        ({"weights": [1, math.inf]}, "weights[1]"),
        ({"clusters": ["a", None]}, "clusters[1]"),
        ({"clusters": ["a", math.nan]}, "clusters[1]"),
        ({"groups": ["x"]}, "groups"),
        ({"groups": {"x": np.array([1, 0])}}, "groups['x']"),
        ({"groups": {"x": np.array([True])}}, "groups['x']"),
        ({"draws": 0}, "draws"),
        ({"level": 1.0}, "level"),
        ({"seed": -1}, "seed"),
        ({"statistic": "mode"}, "statistic"),
        ({"statistic": "median", "weights": [1, 0.5]}, "weights"),
    ],
)
def test_what_does_not_fit_is_refused(arguments, key):
    with pytest.raises(SpatialQAError) as error:
        cluster_bootstrap(**{"values": [1, 0], "clusters": ["a", "b"], **arguments})
    assert error.value.key == key
    assert isinstance(error.value, SettingsError) == (key in ("draws", "level", "seed", "statistic", "weights"))


def test_another_way_of_averaging_is_refused():
    with pytest.raises(SettingsError):
        macro_bootstrap([1], ["a"], ["x"], empty="one")


@pytest.mark.parametrize(("cases", "draws", "statistic"), [(600, 20_000, "mean"), (3, 200_000, "median")])
def test_memory_does_not_grow_with_draws_times_cases(cases, draws, statistic):
    """All draws at once would be 96 MB of counts, or 102 MB of counts of a block of values."""
    values = np.random.default_rng(8).random(600)
    tracemalloc.start()
    cluster_bootstrap(values, np.arange(600) % cases, statistic=statistic, draws=draws)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 80e6
