"""Intervals of a share: customary cuts, which keep clear of the value and are not far from it."""

from __future__ import annotations

import re
from itertools import pairwise
from random import Random

import pytest

from monai_spatialqa.items.draft import Rules
from monai_spatialqa.items.lesions import SHARE_CUTS
from monai_spatialqa.items.options import FARTHEST, interval_choices, ladder_choices
from monai_spatialqa.items.quantity import Quantity


def cuts_of(found):
    """All numbers in the options, ascending."""
    return sorted({float(number) for choice in (found[0], *found[1]) for number in re.findall(r"[\d.]+", choice.text)})


@pytest.mark.parametrize("value", [0.6, 1.3, 3.0, 7.0, 18.0, 35.0, 62.0, 83.0])
def test_shares_are_asked_for_at_customary_cuts(value):
    key = Quantity(value, value * 0.95, value * 1.05, "%")
    found = ladder_choices(key, SHARE_CUTS, Rules(), Random(1))
    assert found
    for each in found:
        cuts = cuts_of(each)
        assert len(cuts) == 3
        assert set(cuts) <= set(SHARE_CUTS)
        assert all(not key.low / 1.15 <= cut <= key.high * 1.15 for cut in cuts)
        assert sum(cut < value for cut in cuts) == each[0].place
        assert value / FARTHEST <= cuts[-1]
        assert cuts[0] <= value * FARTHEST
        assert each[2] > 1
    places = {each[0].place for each in found}
    assert not 2 < value < 75 or len(places) >= 3  # the key is not always the lowest or the highest


def test_a_range_as_wide_as_the_ladder_has_no_intervals():
    assert ladder_choices(Quantity(10.0, 0.5, 99.0, "%"), SHARE_CUTS, Rules(), Random(1)) == []


@pytest.mark.parametrize("place", range(4))
@pytest.mark.parametrize("spread", [1.05, 1.5, 3.0])
def test_the_width_of_an_interval_does_not_tell_the_key(place, spread):
    key = Quantity(1.0, 1 / spread, spread, "ml")
    found = interval_choices(key, Rules(), Random(1), place)
    ratios = [high / low for low, high in pairwise(cuts_of(found))]
    assert max(ratios) / min(ratios) < 1.6


def test_percent_stands_at_every_number_of_an_interval():
    found = interval_choices(Quantity(10.0, 9.5, 10.5, "%"), Rules(), Random(1), 1)
    assert found[0].text.count("%") == 2
    assert " %" not in found[0].text
