"""Mean relative accuracy: the published values, decimal borders, units, and what the public harnesses compute."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monai_spatialqa.errors import SettingsError, SpatialQAError
from monai_spatialqa.statistics import mean_relative_accuracy

MODES = ["exact", "parity"]

# Relative error in percent -> score, right in every convention.
INSIDE = {0: 1.0, 4: 1.0, 7: 0.9, 12: 0.8, 17: 0.7, 22: 0.6, 27: 0.5, 33: 0.4, 38: 0.3, 43: 0.2, 48: 0.1, 51: 0.0}

decimals = st.decimals(min_value=Decimal("0.001"), max_value=Decimal(100_000), allow_nan=False, places=3)


def by_fractions(predicted: str | Decimal, truth: str | Decimal) -> float:
    """The formula, threshold by threshold, in rational numbers."""
    error = abs(Fraction(predicted) - Fraction(truth)) / abs(Fraction(truth))
    thresholds = [Fraction(50 + 5 * step, 100) for step in range(10)]
    return sum(error < 1 - threshold for threshold in thresholds) / 10


def by_floats(predicted: float, truth: float) -> float:
    """As the harnesses do: float64, at most."""
    passed = [abs(predicted - truth) / truth <= 1 - threshold for threshold in np.linspace(0.5, 0.95, 10)]
    return sum(passed) / 10


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("percent", INSIDE)
def test_values_inside_the_steps(percent, sign, mode):
    assert mean_relative_accuracy(100 + sign * percent, 100, mode) == INSIDE[percent]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("predicted", "score"), [(104, 1.0), (107, 0.9), (122, 0.6), (160, 0.0), (0, 0.0)])
def test_values_of_the_fault_tables(predicted, score, mode):
    assert mean_relative_accuracy(predicted, 100, mode) == score
    assert mean_relative_accuracy([predicted], [100], mode).tolist() == [score]


@pytest.mark.parametrize("step", range(1, 11))
def test_at_a_border_the_strict_formula_does_not_pass(step):
    """An error of exactly 5 %, 10 % ... fails its threshold in exact mode, on both sides and in every unit."""
    expected = (10 - step) / 10
    for power in (-6, -3, -1, 0, 1, 3, 6):
        for sign in (1, -1):
            truth = Decimal(100).scaleb(power)
            predicted = (100 + sign * 5 * Decimal(step)).scaleb(power)
            assert mean_relative_accuracy(str(predicted), str(truth)) == expected
            assert mean_relative_accuracy(predicted, truth) == expected
            assert mean_relative_accuracy(float(predicted), float(truth)) == expected


@pytest.mark.parametrize("step", range(1, 11))
def test_next_to_a_border_the_last_digit_decides(step):
    border = 100 + 5 * step
    assert mean_relative_accuracy(f"{border - 1}.{'9' * 60}", "100") == (11 - step) / 10
    assert mean_relative_accuracy(f"{border}.{'0' * 60}1", "100") == (10 - step) / 10


def test_parity_depends_on_the_unit_and_exact_does_not():
    """105 ml against 100 ml, once in litres: the same answer, two scores in the harnesses."""
    assert [mean_relative_accuracy(*pair, "parity") for pair in ((105, 100), ("0.105", "0.1"))] == [1.0, 0.9]
    assert [mean_relative_accuracy(*pair) for pair in ((105, 100), ("0.105", "0.1"))] == [0.9, 0.9]


@given(decimals, decimals)
def test_exact_is_the_formula_in_rational_numbers(predicted, truth):
    assert mean_relative_accuracy(predicted, truth) == by_fractions(predicted, truth)
    assert mean_relative_accuracy(str(predicted), str(truth)) == by_fractions(predicted, truth)


@given(st.integers(1, 400), st.integers(1, 400), st.integers(-4, 4))
def test_exact_does_not_depend_on_the_unit(predicted, truth, power):
    scaled = [Decimal(number).scaleb(power) for number in (predicted, truth)]
    assert mean_relative_accuracy(*scaled) == by_fractions(Decimal(predicted), Decimal(truth))


@given(st.floats(1e-3, 1e6), st.floats(1e-3, 1e6))
def test_parity_is_what_harnesses_compute(predicted, truth):
    assert mean_relative_accuracy(predicted, truth, "parity") == by_floats(predicted, truth)


@pytest.mark.parametrize("truth", [100, 0.1, 3, 864, 1450])
def test_parity_at_the_borders(truth):
    predicted = [truth * (1 + sign * step / 20) for step in range(11) for sign in (1, -1)]
    expected = [by_floats(one, truth) for one in predicted]
    assert mean_relative_accuracy(predicted, [truth] * len(predicted), "parity").tolist() == expected


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("missing", [None, math.nan, math.inf, -math.inf, "", " ", "NaN", Decimal("Infinity"), np.nan])
def test_br_146_a_missing_number_scores_nothing(missing, mode):
    assert mean_relative_accuracy(missing, 100, mode) == 0.0
    assert mean_relative_accuracy([missing, 100], [100, 100], mode).tolist() == [0.0, 1.0]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("zero", [0, 0.0, -0.0, "0", "0.000", "0e5", Decimal(0), "1e-400", np.float32(0)])
def test_br_151_a_truth_of_zero_is_an_error_that_names_it(zero, mode):
    for predicted, truth, key in ((0, zero, "truth"), ([1, 1, 1], [1, 1, zero], "truth[2]")):
        with pytest.raises(SpatialQAError) as error:
            mean_relative_accuracy(predicted, truth, mode)
        assert (error.value.code, error.value.key) == ("zero_truth", key)


@pytest.mark.parametrize("truth", [None, math.nan, math.inf, "", "1e400"])
def test_a_truth_that_is_missing_or_not_finite_is_an_error(truth):
    with pytest.raises(SpatialQAError) as error:
        mean_relative_accuracy(1, truth)
    assert error.value.code == "bad_truth"


@pytest.mark.parametrize("value", ["12 ml", "twelve", True, np.bool_(True), 1j, [1, [2]]])
def test_what_is_not_a_number_is_an_error(value):
    with pytest.raises(SpatialQAError) as error:
        mean_relative_accuracy(value, [1, 1] if isinstance(value, list) else 1)
    assert error.value.code == "not_a_number"


@pytest.mark.parametrize(("predicted", "truth"), [([1, 2], [1]), (1, [1]), ([1], 1), ("12", ["1", "2"])])
def test_pairs_that_do_not_pair_up_are_an_error(predicted, truth):
    with pytest.raises(SpatialQAError) as error:
        mean_relative_accuracy(predicted, truth)
    assert error.value.code == "length_mismatch"


def test_another_mode_is_an_error():
    with pytest.raises(SettingsError):
        mean_relative_accuracy(1, 1, "rounded")


@pytest.mark.parametrize(
    "hundred", [100, 100.0, "100", "1e2", Decimal(100), np.int16(100), np.float32(100), np.array(100.0)]
)
def test_types_of_numbers(hundred):
    assert mean_relative_accuracy(hundred, hundred) == 1.0
    assert mean_relative_accuracy("107", hundred) == 0.9
    assert type(mean_relative_accuracy(hundred, hundred)) is float


def test_float32_counts_as_it_is_written():
    predicted, truth = np.array([0.105], np.float32), np.array([0.1], np.float32)
    assert mean_relative_accuracy(predicted, truth).tolist() == [0.9]


def test_a_negative_truth_counts_with_its_magnitude():
    assert [mean_relative_accuracy("-107", "-100", mode) for mode in MODES] == [0.9, 0.9]
    assert [mean_relative_accuracy("107", "-100", mode) for mode in MODES] == [0.0, 0.0]


@pytest.mark.parametrize("mode", MODES)
def test_numbers_of_absurd_size_are_far_off_and_quick(mode):
    """Nothing is ever written out to a billion digits."""
    for absurd in ("1e999999999", "-1e999999999", "1e-999999999", "9" * 400):
        assert mean_relative_accuracy(absurd, 1450, mode) == 0.0


def test_results_are_arrays_for_sequences():
    found = mean_relative_accuracy((107, None), np.array([100, 100]))
    assert found.dtype == np.float64
    assert found.tolist() == [0.9, 0.0]
    assert mean_relative_accuracy([], []).shape == (0,)
