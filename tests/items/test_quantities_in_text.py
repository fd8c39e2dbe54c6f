"""Numbers with units as items show them are read exactly."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monai_spatialqa.items.quantities_in_text import (
    bounds_in,
    quantities_in,
    read_text,
    unit_asked,
)
from monai_spatialqa.items.quantity import DIMENSION, PER_BASE_UNIT
from monai_spatialqa.items.wording import shown_value
from monai_spatialqa.quantities import UNITS, unit_named

VALUES = {
    "105.72 cm3": ("105.72", "cm3"),
    "1,450 cm³": ("1450", "cm3"),
    "1,450,000 mm^3": ("1450000", "mm3"),
    "1\u00a0450 ml": ("1450", "ml"),
    "1 450 ml": ("1450", "ml"),
    "1.450 ml": ("1.450", "ml"),
    "1.450,5 ml": ("1450.5", "ml"),
    "3,4 cm": ("3.4", "cm"),
    "0,450 l": ("0.450", "l"),
    "3.4 cm": ("3.4", "cm"),
    "-3.4 cm": ("-3.4", "cm"),
    "−3.4 cm": ("-3.4", "cm"),  # noqa: RUF001
    "2e3 mm3": ("2000", "mm3"),
    "2.5E-2 l": ("0.025", "l"),
    "2 x 10^3 mm3": ("2000", "mm3"),
    "1.5×10⁻² l": ("0.015", "l"),  # noqa: RUF001
    "12%": ("12", "%"),
    "12 percent": ("12", "%"),
    "105cm3": ("105", "cm3"),
    "5 mL": ("5", "ml"),
    "5 millilitres": ("5", "ml"),
    "20 cubic centimeters": ("20", "cm3"),
    "4521 voxels": ("4521", "voxel"),
    "2.31 times": ("2.31", "times"),
    "about 50 ml": ("50", "ml"),
    "3": ("3", None),
}


@pytest.mark.parametrize("text", VALUES)
def test_values(text):
    reading = read_text(text)
    value, unit = VALUES[text]
    (found,) = reading.quantities
    assert (found.value, found.unit) == (Decimal(value), unit)
    assert reading.whole
    assert reading.interval is None


INTERVALS = {
    "50-70 ml": (50, 70, True, True),
    "50–70 mL": (50, 70, True, True),  # noqa: RUF001
    "50 - 70 ml": (50, 70, True, True),
    "50 ml -70 ml": (50, 70, True, True),
    "50 to 70 ml": (50, 70, True, True),
    "between 50 and 70 ml": (50, 70, True, True),
    "from 2 up to 4 cm": (20, 40, True, True),
    "-5 to 5 mm": (-5, 5, True, True),
    "less than 20 mm": (None, 20, False, False),
    "under 20 mm": (None, 20, False, False),
    "< 20 mm": (None, 20, False, False),
    "at most 2 cm": (None, 20, False, True),
    "up to 20 mm": (None, 20, False, True),
    "20 mm or less": (None, 20, False, True),
    "no more than 20 mm": (None, 20, False, True),
    "more than 20 mm": (20, None, False, False),
    "≥20 mm": (20, None, True, False),
    "200 ml or more": (200, None, True, False),
    "90+ ml": (90, None, True, False),
    "85 ml or more, but less than 150 ml": (85, 150, True, False),
    "at least 20 mm, less than 40 mm": (20, 40, True, False),
    "more than 20 mm and at most 40 mm": (20, 40, False, True),
    "less than 40 mm but at least 20 mm": (20, 40, True, False),
    "20 mm to less than 40 mm": (20, 40, True, False),
    "0.5 l to 1 l": (500, 1000, True, True),
}


@pytest.mark.parametrize("text", INTERVALS)
def test_intervals_in_base_units(text):
    reading = read_text(text)
    found = reading.interval
    assert found is not None
    assert (found.low, found.high, found.low_closed, found.high_closed) == INTERVALS[text]
    assert reading.whole


@pytest.mark.parametrize("text", ["L4 vertebra", "12th rib", "T10-T12", "liver", "", "3D box", "cm3"])
def test_digits_in_names_are_no_numbers(text):
    assert quantities_in(text) == []


def test_sizes_and_numbers_in_sentences():
    size = read_text("120 × 80 × 60 mm")  # noqa: RUF001
    assert [one.base for one in size.quantities] == [120, 80, 60]
    assert size.whole
    assert size.interval is None
    several = read_text("liver 120 ml, spleen 30 ml")
    assert (several.frame, several.whole) == ("liver # , spleen #", False)
    assert read_text("Yes, less than 20 mm").frame == "yes , #"
    assert read_text("right rib 12").quantities[0].unit is None


def test_units_asked_and_bounds():
    assert unit_asked("What is the volume in cm3?") == "cm3"
    assert unit_asked("What is the volume (mL)?") == "ml"
    assert unit_asked("What lies in the liver?") is None
    assert unit_named("millilitres") == "ml"
    ((dimension, bound),) = bounds_in("Does the left kidney have a volume of at least 0.2 l?")
    assert dimension == "volume"
    assert (bound.low, bound.low_closed) == (200, True)


def test_sizes_of_units_are_those_of_quantities():
    for unit, per_base in PER_BASE_UNIT.items():
        assert UNITS[unit].dimension == DIMENSION[unit]
        assert float(UNITS[unit].size) * per_base == pytest.approx(1)


@given(
    st.floats(min_value=0.001, max_value=1e6) | st.floats(min_value=-1e6, max_value=-0.001),
    st.sampled_from([*PER_BASE_UNIT, "%", "times"]),
)
def test_what_is_shown_is_read_back(value, unit):
    text = shown_value(value, unit)
    (found,) = read_text(text).quantities
    assert found.unit == unit
    assert abs(found.value - Decimal(repr(value))) <= found.step / 2


@given(st.text(max_size=60))
def test_any_text_is_read(text):
    assert all(one.step > 0 for one in read_text(text).quantities)
