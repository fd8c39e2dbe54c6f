"""Settings of views: what is refused, what the key covers."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from monai_spatialqa.rendering import CT_WINDOWS, Tell, ViewSettings, views_key


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"ct_window": "liver"}, ", ".join(CT_WINDOWS)),
        ({"ct_window": {"level": 40, "width": 0}}, "greater than 0"),
        ({"ct_window": {"level": float("nan"), "width": 1}}, "finite"),
        ({"mr_window": "lung"}, "Hounsfield units cannot show an MR"),
        ({"mr_window": "soft_tissue"}, "Hounsfield units cannot show an MR"),
        ({"mr_window": (99, 1)}, "percentiles rise"),
        ({"mr_window": (-1, 50)}, "percentiles rise"),
        ({"mr_window": (1, 101)}, "percentiles rise"),
        ({"kind": "oblique"}, "axial"),
        ({"slices": 0}, "greater than or equal to 1"),
        ({"size_px": 3}, "greater than or equal to 16"),
        ({"slice": 3}, "Extra inputs"),
        ({"burn_in": {"scal": True}}, "Extra inputs"),
        ({"tell": {"convention": False}}, "Extra inputs"),  # it is always told
    ],
)
def test_wrong_settings_are_refused(wrong, told):
    with pytest.raises(ValidationError, match=told):
        ViewSettings(**wrong)


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "planes"},
        {"slices": 16},
        {"order": "superior_to_inferior"},
        {"size_px": 384},
        {"montage_images": 2},
        {"ct_window": "bone"},
        {"ct_window": {"level": 40, "width": 399}},
        {"mr_window": (2, 98)},
        {"interpolation": "nearest"},
        {"burn_in": {"letters": True}},
    ],
)
def test_the_key_changes_with_what_shapes_pixels(change):
    key = views_key(ViewSettings())
    assert len(key) == 64
    assert views_key(ViewSettings(**change)) != key


def test_the_key_covers_every_setting_but_the_words():
    shaping = {"kind", "slices", "order", "size_px", "montage_images", "ct_window", "mr_window", "interpolation"}
    assert set(ViewSettings.model_fields) == shaping | {"burn_in", "tell"}, "test the new one above"
    for name in Tell.model_fields:
        assert views_key(ViewSettings(tell={name: False})) == views_key(ViewSettings())


@pytest.mark.parametrize(("kind", "longest"), [("axial", 512), ("planes", 512), ("structure", 512), ("montage", 1536)])
def test_longest_edge_by_kind(kind, longest):
    assert ViewSettings(kind=kind).longest_px == longest
    assert ViewSettings(kind=kind, size_px=300).longest_px == 300
