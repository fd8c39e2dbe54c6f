"""The measure stage's settings: what one value stands for, and what a refusal says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from monai_spatialqa.errors import LabelMapError, SettingsError, SpatialQAError
from monai_spatialqa.measurement.settings import MeasureSettings
from monai_spatialqa.measurement.stage import run_measurement
from monai_spatialqa.settings import validated

THREE = "three positive numbers in mm, along R, A and S, e.g. '[1.5, 1.5, 1.5]'"
CARDS = "a number of pictures, 0 or more, or names of structures, e.g. 3 or '[liver, spleen]'"


def settings(**given: Any) -> MeasureSettings:
    made = validated("measure", MeasureSettings, {"labels": "x.nii", "label_map": "totalsegmentator_v2", **given})
    assert isinstance(made, MeasureSettings)
    return made


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("cards", True, CARDS),
        ("cards", "true", CARDS),
        ("cards", "False", CARDS),
        ("cards", "1.5", CARDS),
        ("cards", -1, CARDS),
        ("cards", [True], CARDS),
        ("cards", None, CARDS),
        ("spacing_mm", 2, THREE),
        ("spacing_mm", "2", THREE),
        ("spacing_mm", 1.5, THREE),
        ("spacing_mm", [1.0, 1.0], THREE),
        ("spacing_mm", True, THREE),
        ("segmented", True, "names of structures or groups"),
        ("ignore", True, "whole numbers, e.g. '[-1]'"),
    ],
)
def test_a_wrong_value_is_told_what_is_expected(key: str, value: Any, expected: str) -> None:
    with pytest.raises(SettingsError) as caught:
        settings(**{key: value})
    error = caught.value
    assert (error.key, error.expected) == (key, expected)
    assert error.found == f"{value!r} ({type(value).__name__})"
    assert error.next_step == f"give it as --{key} VALUE or in a config"


def test_a_spacing_that_is_not_positive_is_named() -> None:
    with pytest.raises(SettingsError) as caught:
        settings(spacing_mm=[1, 1, 0])
    assert (caught.value.key, caught.value.expected) == ("spacing_mm::2", "greater than 0")


@pytest.mark.parametrize(
    ("key", "value", "kept"),
    [
        ("segmented", "liver", ["liver"]),
        ("segmented", ["liver", "spleen"], ["liver", "spleen"]),
        ("segmented", None, None),
        ("ignore", -1, [-1]),
        ("ignore", "-1", [-1]),
        ("cards", "liver", ["liver"]),
        ("cards", "2", 2),
        ("cards", [5, "liver"], ["5", "liver"]),
        ("spacing_mm", [1, 2, 3], [1.0, 2.0, 3.0]),
    ],
)
def test_one_value_stands_for_a_list(key: str, value: Any, kept: Any) -> None:
    assert getattr(settings(**{key: value}), key) == kept


@pytest.mark.parametrize(("key", "value"), [("segmented", "livr"), ("segmented", ["livr"]), ("cards", "livr")])
def test_an_unknown_name_is_told_the_closest_one(key: str, value: Any) -> None:
    with pytest.raises(LabelMapError) as caught:
        run_measurement(settings(**{key: value}))
    assert (caught.value.key, caught.value.found) == (key, "'livr'")
    assert caught.value.next_step == "did you mean liver?"


def test_one_name_on_the_command_line(run_measure: Callable[..., Any], write_nifti: Any, block: np.ndarray) -> None:
    write_nifti("seg/a.nii.gz", block)
    given = {"labels": "seg/*.nii.gz", "label_map": {1: "liver", 2: "spleen"}}
    for path in ("stream", "transforms"):
        (record,) = run_measure(**given, segmented="liver", cards="liver", path=path, output_dir=path)
        assert record["structures"]["spleen"]["status"] == ["not_segmented"]
    for wrong, told in (({"segmented": "livr"}, "did you mean liver?"), ({"cards": "true"}, "a number of pictures")):
        with pytest.raises(RuntimeError) as caught:
            run_measure(**given, **wrong)
        assert isinstance(caught.value.__cause__, SpatialQAError)
        assert told in str(caught.value.__cause__)
