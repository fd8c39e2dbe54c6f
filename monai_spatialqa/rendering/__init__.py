"""Slices in radiological convention, intensity windows, and the case card that shows where a figure comes from."""

from monai_spatialqa.rendering.card import draw_case_card
from monai_spatialqa.rendering.slices import CONVENTION, PLANES, EdgeLetters, SliceView, extract_slice, reorient_to_ras
from monai_spatialqa.rendering.windows import CT_WINDOWS, Window, apply_window, choose_window, percentile_window

__all__ = [
    "CONVENTION",
    "CT_WINDOWS",
    "PLANES",
    "EdgeLetters",
    "SliceView",
    "Window",
    "apply_window",
    "choose_window",
    "draw_case_card",
    "extract_slice",
    "percentile_window",
    "reorient_to_ras",
]
