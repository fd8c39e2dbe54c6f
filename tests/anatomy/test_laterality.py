"""Names against positions."""

from __future__ import annotations

import doctest
import importlib
import math

import pytest

from monai_spatialqa.anatomy import SideConflict, find_side_conflicts, load_label_map
from monai_spatialqa.errors import SettingsError

KIDNEYS = load_label_map({1: "kidney_left", 2: "kidney_right", 3: "liver", 4: "lung_left"})


@pytest.mark.parametrize(
    ("left_r", "right_r", "margin_mm", "wrong_by"),
    [
        (-50.0, 60.0, 0.0, None),
        (60.0, -50.0, 0.0, 110.0),
        (1.0, 0.0, 0.0, 1.0),
        (0.0, 0.0, 0.0, None),
        (1.0, 0.0, 1.0, None),
        (1.5, 0.0, 1.0, 1.5),
        (math.nan, 0.0, 0.0, None),
        (0.0, math.nan, 0.0, None),
    ],
)
def test_pairs(left_r, right_r, margin_mm, wrong_by):
    centroids = {"kidney_left": (left_r, 0.0, 0.0), "kidney_right": (right_r, 5.0, 5.0), "liver": (40.0, 0.0, 0.0)}
    expected = [] if wrong_by is None else [SideConflict("kidney_left", "kidney_right", wrong_by)]
    assert find_side_conflicts(KIDNEYS, centroids, margin_mm) == expected


@pytest.mark.parametrize(
    "centroids", [{}, {"kidney_left": (9.0, 0.0, 0.0)}, {"kidney_left": (9.0, 0.0, 0.0), "kidney_right": None}]
)
def test_absent_structures_contradict_nothing(centroids):
    assert find_side_conflicts(KIDNEYS, centroids) == []


def test_ribs_are_compared_with_the_rib_of_the_same_number():
    total = load_label_map("totalsegmentator_v2")
    centroids = {"rib_left_1": (-30.0, 0.0, 0.0), "rib_right_1": (30.0, 0.0, 0.0)}
    centroids |= {"rib_left_12": (40.0, 0.0, 0.0), "rib_right_12": (-40.0, 0.0, 0.0)}
    assert find_side_conflicts(total, centroids) == [SideConflict("rib_left_12", "rib_right_12", 80.0)]


@pytest.mark.parametrize("margin_mm", [-1.0, math.nan, math.inf])
def test_unusable_margin_is_refused(margin_mm):
    with pytest.raises(SettingsError, match="margin"):
        find_side_conflicts(KIDNEYS, {}, margin_mm)


@pytest.mark.parametrize("module", ["structure", "label_map", "loading", "laterality"])
def test_docstring_examples(module):
    results = doctest.testmod(importlib.import_module(f"monai_spatialqa.anatomy.{module}"))
    assert results.attempted
    assert not results.failed
