"""Paired comparison against scipy and all sign patterns; Holm's correction against closed testing."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from monai_spatialqa.errors import SpatialQAError
from monai_spatialqa.statistics import cluster_bootstrap, holm, paired_comparison, resampling


def all_patterns(differences: np.ndarray, clusters: list[str]) -> float:
    """Share of the sign patterns over cases whose sum is as far from 0."""
    sums = [sum(differences[at] for at, c in enumerate(clusters) if c == name) for name in sorted(set(clusters))]
    patterns = [
        abs(sum(sign * one for sign, one in zip(signs, sums, strict=True)))
        for signs in product((1, -1), repeat=len(sums))
    ]
    return sum(one >= abs(sum(sums)) - 1e-9 for one in patterns) / len(patterns)


@pytest.mark.parametrize("seed", range(5))
def test_exact_p_values_are_over_all_sign_patterns_of_cases(seed):
    random = np.random.default_rng(seed)
    first, second = random.integers(0, 2, (2, 40))
    clusters = [f"case_{number}" for number in random.integers(0, 8, 40)]
    found = paired_comparison(first, second, clusters, draws=1000)
    assert found.exact
    assert found.p_value == pytest.approx(all_patterns(first - second, clusters), abs=1e-12)


def test_exact_p_values_agree_with_scipys():
    random = np.random.default_rng(11)
    first, second = random.normal(0.4, 1, 12), random.normal(0, 1, 12)
    theirs = stats.permutation_test(
        (first, second), lambda a, b, axis: np.mean(a - b, axis=axis), permutation_type="samples", n_resamples=np.inf
    )
    found = paired_comparison(first, second, np.arange(12))
    assert found.exact
    assert found.p_value == pytest.approx(theirs.pvalue, abs=1e-12)


@pytest.mark.parametrize("shift", [0.0, 0.15, 0.4])
def test_sampled_p_values_agree_with_the_t_test(shift):
    random = np.random.default_rng(12)
    first, second = random.normal(shift, 1, 200), random.normal(0, 1, 200)
    found = paired_comparison(first, second, np.arange(200))
    assert not found.exact
    assert found.p_value == pytest.approx(stats.ttest_rel(first, second).pvalue, abs=0.02)
    assert found.p_value >= 1 / 10_001


def test_the_figures_are_the_means_and_the_bootstrap_of_the_difference():
    random = np.random.default_rng(13)
    first, second = random.integers(0, 2, (2, 90)).astype(float)
    clusters, weights = random.integers(0, 30, 90), random.choice([0.0, 1.0], 90)
    found = paired_comparison(first, second, clusters, weights=weights, draws=500)
    assert found.first == pytest.approx(np.average(first, weights=weights))
    assert found.second == pytest.approx(np.average(second, weights=weights))
    assert found.difference == cluster_bootstrap(first - second, clusters, weights=weights, draws=500)
    back = paired_comparison(second, first, clusters, weights=weights, draws=500)
    assert back.difference.value == -found.difference.value
    assert back.p_value == found.p_value


def test_answers_of_a_case_change_places_together():
    """Forty copies of a difference are no more evidence than one."""
    first, second = np.array([1.0, 1, 1, 0]), np.array([0.0, 0, 0, 1])
    once = paired_comparison(first, second, np.arange(4))
    copied = paired_comparison(np.repeat(first, 40), np.repeat(second, 40), np.repeat(np.arange(4), 40))
    assert copied.p_value == once.p_value == 10 / 16


def test_equal_runs_do_not_differ():
    found = paired_comparison([1, 0, 1], [1, 0, 1], ["a", "b", "c"])
    assert (found.difference.value, found.p_value, found.exact) == (0, 1.0, True)


def test_groups_are_compared_each_on_its_own():
    random = np.random.default_rng(14)
    first, second = random.integers(0, 2, (2, 120))
    clusters, names = random.integers(0, 40, 120), random.choice(["a", "b"], 120)
    found = paired_comparison(first, second, clusters, names.tolist(), draws=400)
    for name in ("a", "b"):
        single = paired_comparison(first, second, clusters, {name: names == name}, draws=400)[name]
        assert single == found[name]
    none = paired_comparison(first, second, clusters, {"none": np.zeros(120, bool)})["none"]
    assert (none.first, none.difference.value, none.p_value) == (None, None, None)


def test_false_alarms_are_as_rare_as_promised():
    """Equal runs: a p-value of at most 0.05 in about one of twenty."""
    random = np.random.default_rng(15)
    alarms = 0
    for _ in range(200):
        first, second = random.integers(0, 2, (2, 60))
        found = paired_comparison(first, second, np.repeat(np.arange(20), 3), draws=199)
        alarms += found.p_value <= 0.05
    assert 1 <= alarms <= 20


def test_chunks_change_only_the_sample(monkeypatch):
    random = np.random.default_rng(16)
    first, second = random.normal(0.2, 1, 100), random.normal(0, 1, 100)
    whole = paired_comparison(first, second, np.arange(100))
    monkeypatch.setattr(resampling, "CHUNK", 1000)
    cut = paired_comparison(first, second, np.arange(100))
    assert cut.p_value == pytest.approx(whole.p_value, abs=0.02)
    assert cut.difference == whole.difference


@pytest.mark.parametrize(
    ("p_values", "expected"),
    [
        ([0.01, 0.04, 0.03], [0.03, 0.06, 0.06]),
        ([0.01, 0.02, 0.03, 0.04], [0.04, 0.06, 0.06, 0.06]),
        ([0.5, 0.6], [1.0, 1.0]),
        ([0.02], [0.02]),
        ([0.0, 1.0], [0.0, 1.0]),
        ([], []),
    ],
)
def test_holm_of_known_values(p_values, expected):
    assert holm(p_values) == pytest.approx(expected)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=7))
def test_holm_is_its_closed_testing(p_values):
    """A hypothesis's corrected value is the largest Bonferroni value of the sets of hypotheses that contain it."""
    found = holm(p_values)
    for at, p_value in enumerate(p_values):
        # The worst set with k members takes those with the largest p-values beside it.
        others = sorted(p_values[:at] + p_values[at + 1 :], reverse=True)
        worst = max(min(1.0, (k + 1) * min([p_value, *others[:k]])) for k in range(len(p_values)))
        assert found[at] == pytest.approx(worst, abs=1e-12)


def test_holm_follows_the_values_not_their_order():
    for order in permutations([0.01, 0.02, 0.2]):
        assert dict(zip(order, holm(order), strict=True)) == {0.01: 0.03, 0.02: 0.04, 0.2: 0.2}


@pytest.mark.parametrize("p_values", [[0.1, float("nan")], [1.1], [-0.1], [[0.1]]])
def test_what_is_no_p_value_is_refused(p_values):
    with pytest.raises(SpatialQAError):
        holm(p_values)
