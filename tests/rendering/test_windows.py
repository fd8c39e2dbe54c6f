"""Grey values: the presets, clipping before narrowing, NaN, and no HU window on an MR."""

from __future__ import annotations

import math

import numpy as np
import pytest

from monai_spatialqa.errors import SettingsError
from monai_spatialqa.rendering import CT_WINDOWS, Window, apply_window, choose_window, percentile_window


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [("soft_tissue", -160, 240), ("lung", -1350, 150), ("bone", -500, 1300), ("brain", 0, 80)],
)
def test_presets(name, low, high):
    window = CT_WINDOWS[name]
    assert (window.low, window.high) == (low, high)
    assert apply_window([low - 1, low, window.level, high, high + 1], window).tolist() == [0, 0, 128, 255, 255]


@pytest.mark.parametrize("dtype", [np.int16, np.int32, np.uint16, np.float32, np.float64, np.int64])
def test_values_are_clipped_before_the_type_is_narrowed(dtype):
    values = np.array([0, 40, 240, 256, 300, 3000, 32767]).astype(dtype)
    grey = apply_window(values, CT_WINDOWS["soft_tissue"])
    assert grey.dtype == np.uint8
    assert grey.tolist() == [102, 128, 255, 255, 255, 255, 255]
    assert (np.diff(grey.astype(int)) >= 0).all()


def test_nan_is_background_and_infinities_are_the_ends():
    values = np.array([[math.nan, math.inf], [-math.inf, 40.0]])
    assert apply_window(values, CT_WINDOWS["soft_tissue"]).tolist() == [[0, 255], [0, 128]]


@pytest.mark.parametrize("shape", [(100_001,), (1001, 101), (120, 150, 200)])
def test_mr_windows_are_percentiles(shape):
    values = np.random.default_rng(0).uniform(0, 1000, shape)
    values.reshape(-1)[::1000] = math.nan
    values.reshape(-1)[1] = 1e9
    window = choose_window(values, "MR")
    assert window.low == pytest.approx(10, abs=2)
    assert window.high == pytest.approx(990, abs=2)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (np.full((4, 4), 7.0), Window(7, 1)),
        (np.full(5, math.nan), Window(0, 1)),
        (np.array([], dtype=float), Window(0, 1)),
        (np.array([5], dtype=np.uint8), Window(5, 1)),
    ],
)
def test_flat_images_have_a_window(values, expected):
    assert percentile_window(values) == expected


def test_choices():
    image = np.zeros((3, 3, 3))
    own = Window(300, 600)
    assert choose_window(image, "CT") == CT_WINDOWS["soft_tissue"]
    assert choose_window(image, "CT", "lung") == CT_WINDOWS["lung"]
    assert choose_window(image, "CT", own) is own
    assert choose_window(image, "MR", own) is own


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: choose_window(np.zeros(3), "MR", "bone"), "cannot show an MR"),
        (lambda: choose_window(np.zeros(3), "CT", "liver"), "unknown window"),
        (lambda: choose_window(np.zeros(3), "PET"), "unknown modality"),
        (lambda: percentile_window(np.zeros(3), 99, 1), "percentiles"),
        (lambda: Window(0, 0), "positive width"),
        (lambda: Window(math.nan, 1), "finite level"),
    ],
)
def test_wrong_windows_are_refused(make, said):
    with pytest.raises(SettingsError, match=said):
        make()
