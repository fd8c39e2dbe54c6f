# ruff: noqa: RUF001 - the signs that numbers are written with
"""The table of units, and written numbers."""

from __future__ import annotations

import re
from decimal import Decimal

import pytest

from monai_spatialqa.quantities import EXPONENT, UNITS, number_pattern, unit_named, written_number
from monai_spatialqa.quantities.units import unit_spelled


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("mL", "ml"),
        ("millilitres", "ml"),
        ("cm³", "cm3"),
        ("cm^3", "cm3"),
        ("cc", "cm3"),
        ("cubic millimeters", "mm3"),
        ("L", "l"),
        ("µm", "um"),
        ("square cm", "cm2"),
        ("percent", "%"),
        ("times", "times"),
        ("furlong", None),
        ("", None),
        (None, None),
    ],
)
def test_a_unit_has_one_name_for_all_its_spellings(text, name):
    assert unit_named(text) == name


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("毫升", "ml"),
        ("立方厘米", "cm3"),
        ("Kubikzentimeter", "cm3"),
        ("cm ^3", "cm3"),
        ("厘米", "cm"),
        ("inches", "inch"),
        ("倍", "times"),
    ],
)
def test_replies_spell_units_in_more_ways_than_items(text, name):
    assert unit_spelled(text) == name


@pytest.mark.parametrize("name", sorted(UNITS))
def test_every_name_is_a_spelling_of_itself_and_has_a_size(name):
    assert unit_spelled(name) == name
    assert UNITS[name].size > 0


def test_sizes_agree_across_spellings_of_volume():
    assert UNITS["cm3"].size == UNITS["ml"].size == 1000 * UNITS["mm3"].size == UNITS["l"].size / 1000


@pytest.mark.parametrize(
    ("written", "exponent", "value", "step"),
    [
        ("1,450", None, "1450", "1"),
        ("0,450", None, "0.450", "0.001"),
        ("1.450", None, "1.450", "0.001"),
        ("1.234,5", None, "1234.5", "0.1"),
        ("1,234.5", None, "1234.5", "0.1"),
        ("1.234.567", None, "1234567", "1"),
        ("1 234", None, "1234", "1"),
        ("1'234", None, "1234", "1"),
        ("1,23,456", None, "123456", "1"),
        ("12,5", None, "12.5", "0.1"),
        ("1.4", "e3", "1400", "100"),
        ("2", " × 10^-3", "0.002", "0.001"),
        ("2", "x10⁻³", "0.002", "0.001"),
    ],
)
def test_a_written_number_is_worth_what_it_says(written, exponent, value, step):
    assert re.fullmatch(number_pattern(""), written)
    assert exponent is None or re.fullmatch(EXPONENT, exponent)
    assert written_number(written, exponent) == (Decimal(value), Decimal(step))


def test_an_exponent_beyond_all_use_is_no_number():
    assert written_number("1", "e999999") is None
    assert written_number("1", "e" + "9" * 5000) is None
