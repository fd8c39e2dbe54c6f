"""Intervals of a share: below 100 percent, and none that its width gives away."""

from __future__ import annotations

import re
from itertools import pairwise
from random import Random

import pytest

from monai_spatialqa.items.draft import Rules
from monai_spatialqa.items.options import interval_choices
from monai_spatialqa.items.quantity import Quantity


def cuts_of(found):
    """All numbers in the options, ascending."""
    return sorted({float(number) for choice in (found[0], *found[1]) for number in re.findall(r"[\d.]+", choice.text)})


@pytest.mark.parametrize("place", range(4))
def test_no_cut_reaches_what_the_value_cannot(place):
    key = Quantity(60.0, 55.0, 66.0, "%")
    found = interval_choices(key, Rules(), Random(1), place, below=100.0)
    free = interval_choices(key, Rules(), Random(1), place)
    assert free is not None
    assert (found is None) == (cuts_of(free)[-1] >= 100)
    assert found is None or found[0].text == free[0].text


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
