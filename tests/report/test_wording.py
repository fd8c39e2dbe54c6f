"""How numbers and names are written."""

from __future__ import annotations

import math

import pytest

from monai_spatialqa.evaluation.result import Figure
from monai_spatialqa.report.wording import (
    Shown,
    amount,
    duration,
    grouped,
    p_value,
    percent,
    plain,
    shown,
    signed,
    tool_words,
)


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0.5234, "52.3"),
        (0.0, "0.0"),
        (1.0, "100.0"),
        (-0.0001, "0.0"),
        (-0.25, "\N{MINUS SIGN}25.0"),
        (None, "\N{EN DASH}"),
        (math.nan, "\N{EN DASH}"),
    ],
)
def test_shares(share: float | None, text: str) -> None:
    assert percent(share) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (1234.5, "1\u202f234"),
        (0.01234, "0.0123"),
        (1e7, "1.00e+07"),
        (-2e-5, "\N{MINUS SIGN}2.00e-05"),
        (math.inf, "\N{EN DASH}"),
    ],
)
def test_plain_numbers(value: float, text: str) -> None:
    assert plain(value) == text


def test_figures() -> None:
    assert shown(None) == Shown("\N{EN DASH}")
    assert shown(Figure(value=None, count=0)) == Shown("\N{EN DASH}", "", "0")
    assert shown(Figure(value=0.5, count=1234)) == Shown("50.0", "", "1\u202f234")
    assert shown(Figure(value=0.5, low=-0.1, high=1.0, count=3)) == Shown("50.0", "\N{MINUS SIGN}10.0 to 100.0", "3")
    ratio = Figure(value=3.0, low=-0.001, high=3.1, count=3)
    assert shown(ratio, "median_log10_ratio").interval == "0.00\N{EN DASH}3.10"


def test_a_sign_never_stands_beside_a_dash() -> None:
    assert signed(Figure(value=0.05, low=-0.01, high=0.1, count=3)) == Shown("+5.0", "\N{MINUS SIGN}1.0 to 10.0", "3")
    figures = [Figure(value=value, count=1) for value in (0.0001, 0.0, None)]
    assert [signed(figure).value for figure in figures] == ["0.0", "0.0", "\N{EN DASH}"]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(4.24, "4.2 s"), (59.99, "60.0 s"), (200, "3 min 20 s"), (7500, "2 h 5 min"), (None, "\N{EN DASH}")],
)
def test_durations(seconds: float | None, text: str) -> None:
    assert duration(seconds) == text


@pytest.mark.parametrize(("p", "text"), [(0.0004, "< 0.001"), (0.0456, "0.046"), (0.5, "0.50"), (None, "\N{EN DASH}")])
def test_p_values(p: float | None, text: str) -> None:
    assert p_value(p) == text


def test_counts_and_names() -> None:
    assert (grouped(1234567), grouped(None)) == ("1\u202f234\u202f567", "\N{EN DASH}")
    assert (amount(1, "slip"), amount(0, "slip"), amount(2, "box", "boxes")) == ("1 slip", "0 slips", "2 boxes")
    assert tool_words("surface_distance") == "surface distance"
    assert tool_words("center_distance") == "distance of box centres"
