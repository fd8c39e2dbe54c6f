"""Relative error, signed ratio, shares within limits, medians."""

from __future__ import annotations

import math
import statistics as standard
import sys
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monai_spatialqa.errors import SettingsError, SpatialQAError
from monai_spatialqa.statistics import ERROR_LIMITS, log10_ratio, median, relative_error, share_within

decimals = st.decimals(min_value=Decimal("0.001"), max_value=Decimal(10**9), allow_nan=False, places=3)


@given(decimals, decimals)
def test_relative_error_is_the_nearest_float_to_the_exact_ratio(predicted, truth):
    exact = abs(Fraction(predicted) - Fraction(truth)) / Fraction(truth)
    assert relative_error(predicted, truth) == float(exact)


@pytest.mark.parametrize("power", range(-6, 7, 3))
@pytest.mark.parametrize("percent", [5, 10, 20, 50])
def test_the_unit_moves_no_error_over_a_limit(percent, power):
    truth, predicted = Decimal(100).scaleb(power), Decimal(100 + percent).scaleb(power)
    error = relative_error(str(predicted), str(truth))
    assert error == percent / 100
    assert share_within([error], percent / 100) == 1.0


@pytest.mark.parametrize(
    ("predicted", "truth", "expected"),
    [
        (0, 5, 1.0),
        (-5, 5, 2.0),
        (-107, -100, 0.07),
        ("1e-999999", 5, 1.0),
        ("1e999999", 5, sys.float_info.max),
        (1e308, 1e-308, sys.float_info.max),
        (None, 5, math.nan),
        ("", 5, math.nan),
    ],
)
def test_errors_of_odd_numbers(predicted, truth, expected):
    assert relative_error(predicted, truth) == pytest.approx(expected, nan_ok=True, rel=1e-15)


@pytest.mark.parametrize("function", [relative_error, log10_ratio])
def test_br_151_nothing_is_relative_to_zero(function):
    with pytest.raises(SpatialQAError) as error:
        function([1, 2], ["1", "0"])
    assert (error.value.code, error.value.key) == ("zero_truth", "truth[1]")


@pytest.mark.parametrize("slip", range(-9, 10, 3))
def test_the_ratio_finds_slips_of_a_thousand(slip):
    assert log10_ratio(Decimal(1450).scaleb(slip), 1450) == slip
    assert log10_ratio(float(f"1450e{slip}"), 1450.0) == slip


@given(decimals, decimals)
def test_the_ratio_is_a_difference_of_logarithms(predicted, truth):
    expected = math.log10(predicted) - math.log10(truth)
    assert log10_ratio(predicted, truth) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(("predicted", "expected"), [("1e400", 400), ("1e-400", -400), ("1e5000", 5000)])
def test_ratios_beyond_floats(predicted, expected):
    assert log10_ratio(predicted, 1) == pytest.approx(expected)


@pytest.mark.parametrize("predicted", [0, -3, None, "", "NaN"])
def test_there_is_no_ratio_to_zero_or_another_sign(predicted):
    assert math.isnan(log10_ratio(predicted, 3))


def test_sequences_give_arrays():
    assert log10_ratio([1000, None], [1, 1]).tolist()[0] == 3.0
    assert relative_error(["110", None], [100, 100]).shape == (2,)


def test_shares_are_over_all_answers_and_include_the_limit():
    errors = [0.05, 0.1, 0.2, 0.5, 0.51, None, math.nan, math.inf]
    assert [share_within(errors, limit) for limit in ERROR_LIMITS] == [1 / 8, 2 / 8, 3 / 8, 4 / 8]
    assert share_within([], 0.05) is None


@pytest.mark.parametrize("limit", [-0.1, math.nan, math.inf])
def test_impossible_limits_are_refused(limit):
    with pytest.raises(SettingsError):
        share_within([0.1], limit)


@given(st.lists(st.floats(-1e6, 1e6), min_size=1), st.lists(st.sampled_from([None, math.nan, math.inf])))
def test_the_median_is_that_of_the_values_there(values, missing):
    assert median([*values, *missing]) == pytest.approx(standard.median(values), rel=1e-12, abs=1e-300)


def test_no_value_has_no_median():
    assert median([]) is None
    assert median([None, np.nan]) is None
