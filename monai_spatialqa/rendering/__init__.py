"""Slices in radiological convention, intensity windows, case cards, and views of a scan for models that see images.

Case cards are loaded on use: views need no plotting.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from monai_spatialqa.rendering.slices import CONVENTION, PLANES, EdgeLetters, SliceView, extract_slice, reorient_to_ras
from monai_spatialqa.rendering.view_geometry import ViewGeometry
from monai_spatialqa.rendering.view_settings import BurnIn, LevelWidth, Tell, ViewSettings, views_key
from monai_spatialqa.rendering.view_text import describe_views, view_captions, views_in_words
from monai_spatialqa.rendering.views import SlicePlace, View, make_views, window_of
from monai_spatialqa.rendering.windows import CT_WINDOWS, Window, apply_window, choose_window, percentile_window

if TYPE_CHECKING:
    from monai_spatialqa.rendering.card import draw_case_card

__all__ = [
    "CONVENTION",
    "CT_WINDOWS",
    "PLANES",
    "BurnIn",
    "EdgeLetters",
    "LevelWidth",
    "SlicePlace",
    "SliceView",
    "Tell",
    "View",
    "ViewGeometry",
    "ViewSettings",
    "Window",
    "apply_window",
    "choose_window",
    "describe_views",
    "draw_case_card",
    "extract_slice",
    "make_views",
    "percentile_window",
    "reorient_to_ras",
    "view_captions",
    "views_in_words",
    "views_key",
    "window_of",
]


def __getattr__(name: str) -> Any:
    if name != "draw_case_card":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(f"{__name__}.card").draw_case_card
