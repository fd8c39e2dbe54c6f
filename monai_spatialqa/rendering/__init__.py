"""Slices in radiological convention, intensity windows, case cards, and views of a scan for models that see images."""

from monai_spatialqa.rendering.card import draw_case_card
from monai_spatialqa.rendering.slices import CONVENTION, PLANES, EdgeLetters, SliceView, extract_slice, reorient_to_ras
from monai_spatialqa.rendering.view_geometry import ViewGeometry
from monai_spatialqa.rendering.view_settings import BurnIn, LevelWidth, Tell, ViewSettings, views_key
from monai_spatialqa.rendering.view_text import describe_views, view_captions, views_in_words
from monai_spatialqa.rendering.views import SlicePlace, View, make_views, window_of
from monai_spatialqa.rendering.windows import CT_WINDOWS, Window, apply_window, choose_window, percentile_window

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
