"""What a model is told of its views, and the lines beside the images."""

from __future__ import annotations

import numpy as np
import pytest

from monai_spatialqa.errors import SettingsError
from monai_spatialqa.rendering import (
    CONVENTION,
    ViewGeometry,
    ViewSettings,
    describe_views,
    make_views,
    view_captions,
    views_in_words,
)

GEOMETRY = ViewGeometry("CT", (50, 40, 12), np.diag([1.0, 2, 5, 1]))


def told(geometry=GEOMETRY, **settings):
    settings = ViewSettings(**settings)
    focus = geometry.affine[:3, :3] @ [10, 10, 3] + geometry.affine[:3, 3]
    views = make_views(np.zeros(geometry.shape, dtype=np.int16), geometry, settings, focus_ras_mm=focus)
    return describe_views(views, settings, geometry), view_captions(views, settings)


@pytest.mark.parametrize("kind", ["axial", "planes", "montage", "structure"])
@pytest.mark.parametrize("tell", [{}, {"scale": False, "position": False}])
def test_the_convention_is_always_told(kind, tell):
    assert CONVENTION in told(kind=kind, tell=tell)[0]


@pytest.mark.parametrize(
    ("settings", "parts"),
    [
        (
            {"slices": 4},
            [
                "4 axial slices of one CT scan, evenly spread over its whole height, ordered from inferior to superior",
                "one slice per image",
                "320 x 512 pixels (width x height) and covers 50.0 mm x 80.0 mm",
                "12 axial slices, 5 mm apart, and is 60.0 mm high",
                "From each slice shown to the next it is 15.0 mm.",
                "-160 HU and less is black, 240 HU and more is white",
            ],
        ),
        (
            {"slices": 5, "order": "superior_to_inferior"},
            ["from superior to inferior", "10.0 to 15.0 mm (11.2 on average)"],
        ),
        ({"slices": 1}, ["The image shows one axial slice of one CT scan through its middle."]),
        (
            {"kind": "montage", "slices": 6},
            [
                "montage of 6 axial slices",
                "in 3 columns and 2 rows. Read them",
                "from left to right, then from top to bottom",
            ],
        ),
        (
            {"kind": "montage", "slices": 6, "montage_images": 2},
            ["The 2 images are montages", "in up to 3 columns and 1 row an image", "then image by image"],
        ),
        (
            {"kind": "planes"},
            [
                "an axial, a coronal and a sagittal slice, in this order, through the middle of the scan",
                "The axial slice is 320 x 512 pixels",
                "The coronal slice is 320 x 384 pixels (width x height) and covers 50.0 mm x 60.0 mm",
                "The sagittal slice is 512 x 384 pixels (width x height) and covers 80.0 mm x 60.0 mm",
            ],
        ),
        ({"kind": "structure"}, ["through the centre of the bounding box of the structure"]),
        ({"burn_in": {"letters": True}}, ["directions at the edges (R right, L left, A anterior, P posterior)"]),
        ({"kind": "planes", "burn_in": {"letters": True}}, ["S superior, I inferior)"]),
        ({"burn_in": {"position": True}}, ["number out of all of the scan, counted from inferior to superior."]),
        ({"burn_in": {"position": True, "scale": True}}, ["and its distance from the first one in mm", "scale bar"]),
    ],
)
def test_what_is_told(settings, parts):
    text, _ = told(**settings)
    for part in parts:
        assert part in text


def test_a_straight_scan_needs_no_word_on_tilt_and_nothing_drawn_none_on_drawing():
    text, _ = told()
    assert "degrees" not in text
    assert "Drawn" not in text


def test_an_oblique_scan_is_told():
    turn = np.radians(12)
    affine = np.array([[np.cos(turn), -np.sin(turn), 0, 0], [np.sin(turn), np.cos(turn), 0, 0], [0, 0, 5, 0], [0] * 4])
    affine[3, 3] = 1
    text, _ = told(ViewGeometry("MR", (20, 20, 5), affine))
    assert "taken obliquely: the directions named are the closest ones, up to 12 degrees off" in text


@pytest.mark.parametrize(
    ("settings", "captions"),
    [
        (
            {"slices": 2},
            (
                "Image 1 of 2: axial slice 4 of 12, 15.0 mm above the lowest slice",
                "Image 2 of 2: axial slice 10 of 12, 45.0 mm above the lowest slice",
            ),
        ),
        ({"slices": 1, "tell": {"scale": False}}, ("Image 1 of 1: axial slice 7 of 12",)),
        ({"slices": 1, "tell": {"position": False}}, ("Image 1 of 1: axial",)),
        (
            {"kind": "planes"},
            (
                "Image 1 of 3: axial slice 7 of 12, 30.0 mm above the lowest slice",
                "Image 2 of 3: coronal slice 21 of 40, 40.0 mm in front of the rearmost slice",
                "Image 3 of 3: sagittal slice 26 of 50, 25.0 mm to the right of the leftmost slice",
            ),
        ),
        (
            {"kind": "montage", "slices": 3, "montage_images": 2},
            (
                "Image 1 of 2: axial slices 3, 7 of 12",
                "Image 2 of 2: axial slice 11 of 12, 50.0 mm above the lowest slice",
            ),
        ),
        ({"kind": "montage", "slices": 3, "tell": {"position": False}}, ("Image 1 of 1",)),
    ],
)
def test_captions(settings, captions):
    assert told(**settings)[1] == captions


def test_slices_of_a_montage_are_listed_in_the_prompt():
    text, captions = told(kind="montage", slices=5, montage_images=2)
    assert all(caption in text for caption in captions)
    assert "Image 1" not in told(kind="montage", slices=5, tell={"position": False})[0]


def test_no_views_are_an_error():
    with pytest.raises(SettingsError, match="no views"):
        describe_views([], ViewSettings(), GEOMETRY)


@pytest.mark.parametrize(
    ("settings", "part"),
    [
        ({}, "32 axial slices, inferior to superior; longest edge 512 pixels, bicubic"),
        (
            {"kind": "montage", "slices": 9},
            "montage of 9 axial slices, inferior to superior, in 1 image; longest edge 1536",
        ),
        ({"kind": "planes"}, "three orthogonal slices through the middle of the scan"),
        ({"kind": "structure"}, "through the structure asked about (gives its location away)"),
        ({"ct_window": {"level": 1, "width": 2}}, "CT window level 1, width 2 HU"),
        ({}, "MR window percentiles 1 to 99"),
        ({"mr_window": {"level": 10, "width": 20}}, "MR window level 10, width 20"),
        ({}, "drawn in: nothing; told: convention, scale, position"),
        ({"burn_in": {"letters": True}, "tell": {"position": False}}, "drawn in: letters; told: convention, scale"),
    ],
)
def test_settings_in_one_line_for_a_report(settings, part):
    assert part in views_in_words(ViewSettings(**settings))
