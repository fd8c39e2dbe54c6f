"""What is drawn into slices: there where asked, nothing elsewhere, of the right length. And tiling."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image

from monai_spatialqa.errors import SettingsError
from monai_spatialqa.rendering import EdgeLetters, ViewGeometry, ViewSettings, make_views
from monai_spatialqa.rendering.burn_in import burn_in, room_px
from monai_spatialqa.rendering.montage import columns_for, split_evenly

AXIAL = EdgeLetters("R", "L", "A", "P")
NAMES = ("scale", "position", "letters")


def shown(**drawn):
    """One mid-grey axial slice, 300 mm wide and 240 mm high, 600 pixels wide."""
    geometry = ViewGeometry("CT", (100, 80, 40), np.diag([3.0, 3, 5, 1]))
    settings = ViewSettings(slices=1, size_px=600, burn_in=drawn)
    (view,) = make_views(np.full((100, 80, 40), 40), geometry, settings)
    return np.asarray(Image.open(io.BytesIO(view.png))).astype(int)


def regions(picture):
    """Where things are drawn: named parts of a 600 x 480 picture, and the rest."""
    rest = picture.copy()
    parts = {
        "position": np.s_[:40, :260],
        "letter A": np.s_[:40, 280:320],
        "letter P": np.s_[-40:, 280:320],
        "letter R": np.s_[215:265, :45],
        "letter L": np.s_[215:265, -45:],
        "scale": np.s_[-60:, -200:],
    }
    found = {name: picture[where].copy() for name, where in parts.items()}
    for where in parts.values():
        rest[where] = 128
    return found | {"rest": rest}


@pytest.mark.parametrize("drawn", [(), *[(name,) for name in NAMES], NAMES])
def test_drawn_where_asked_and_nowhere_else(drawn):
    for name, part in regions(shown(**dict.fromkeys(drawn, True))).items():
        expected = name.split()[0].replace("letter", "letters") in drawn
        assert (part != 128).any() == expected, name
        if expected:
            assert part.max() == 255, "white"
            assert part.min() == 0, "with a black rim"


def test_the_bar_is_as_long_as_it_says():
    bottom = regions(shown(scale=True))["scale"]
    row = bottom[-10:].max(axis=0) if (bottom[-10:] == 255).any() else bottom[-14:].max(axis=0)
    length = int((row == 255).sum())
    assert length * 0.5 == pytest.approx(50, abs=0.5), "50 mm is the longest 1-2-5 length below 28 % of 300 mm"


def test_each_letter_stands_at_its_edge():
    black = Image.new("L", (400, 300))
    whole = np.asarray(burn_in(black, letters=AXIAL))
    for place, where in enumerate((np.s_[:, :60], np.s_[:, -60:], np.s_[:60], np.s_[-60:])):
        alone = EdgeLetters(*(letter if at == place else " " for at, letter in enumerate(AXIAL)))
        middle = np.asarray(burn_in(black, letters=alone))
        inside = np.zeros(middle.shape, dtype=bool)
        inside[where] = True
        assert middle[inside].max() == 255
        assert middle[~inside].max() == 0
        assert (whole[middle > 0] == middle[middle > 0]).all()
    mirrored = np.asarray(burn_in(black, letters=EdgeLetters("L", "R", "A", "P")))
    assert (mirrored != whole).any()


def test_the_picture_given_is_not_changed():
    black = Image.new("L", (200, 200))
    burn_in(black, letters=AXIAL, position=("1/2",), pixel_mm=1.0)
    assert np.asarray(black).max() == 0


@pytest.mark.parametrize("position", [("1/9",), ("1200/1200", "1199.0 mm")])
@pytest.mark.parametrize("size", [(40, 30), (64, 256), (114, 512), (512, 102), (512, 512), (30, 2000)])
@pytest.mark.parametrize("pixel_mm", [0.0007, 0.3, 7])
def test_nothing_drawn_touches_another_or_is_cut_off(size, position, pixel_mm):
    room = tuple(
        max(pair) for pair in zip(size, room_px(size, letters=True, position=position, scale=True), strict=True)
    )
    black = Image.new("L", room)
    each = [
        np.asarray(burn_in(black, letters=AXIAL)),
        np.asarray(burn_in(black, letters=AXIAL, position=position)) - np.asarray(burn_in(black, letters=AXIAL)),
        np.asarray(burn_in(black, pixel_mm=pixel_mm)),
    ]
    assert all(one.max() == 255 for one in each)
    assert np.sum([one > 0 for one in each], axis=0).max() == 1
    whole = np.asarray(burn_in(black, letters=AXIAL, position=position, pixel_mm=pixel_mm))
    assert (np.maximum.reduce(each) == whole).all()
    for edge in (whole[0], whole[-1], whole[:, 0], whole[:, -1]):
        assert edge.max() < 128, "cut off"


def test_position_takes_two_lines_where_one_would_reach_the_letter():
    def height(width):
        rows = np.nonzero(np.asarray(burn_in(Image.new("L", (width, 200)), position=("1/2", "3.0 mm"))).max(axis=1))[0]
        return np.ptp(rows)

    assert height(200) < 12 < height(62)


@pytest.mark.parametrize(("shape", "kind"), [((20, 16, 400), "planes"), ((60, 60, 600), "structure")])
def test_long_thin_slices_get_room_for_what_is_drawn(shape, kind):
    geometry = ViewGeometry("CT", shape, np.eye(4))
    volume = np.full(shape, 300, dtype=np.int16)
    for drawn in ({"scale": True, "position": True, "letters": True}, {"position": True}, {"scale": True}):
        settings = ViewSettings(kind=kind, burn_in=drawn)
        for view in make_views(volume, geometry, settings, focus_ras_mm=(3, 3, 3)):
            picture = np.asarray(Image.open(io.BytesIO(view.png)))
            assert max(view.size_px) <= 512
            assert view.size_px == view.slice_px == picture.shape[::-1]
            filled = (picture == 255).any(axis=0).nonzero()[0]
            assert view.scan_px[0] <= np.ptp(filled) + 1
            assert view.pixel_mm[0] == pytest.approx(view.pixel_mm[1], rel=0.1)


def test_a_montage_without_room_for_what_is_drawn_is_refused():
    geometry = ViewGeometry("CT", (100, 80, 112), np.diag([3.0, 3, 3, 1]))
    settings = ViewSettings(kind="montage", size_px=512, burn_in={"letters": True, "position": True, "scale": True})
    with pytest.raises(SettingsError, match="raise montage_images or lower slices"):
        make_views(np.zeros((100, 80, 112)), geometry, settings)
    more = settings.model_copy(update={"montage_images": 4})
    assert all(max(view.size_px) <= 512 for view in make_views(np.zeros((100, 80, 112)), geometry, more))


@pytest.mark.parametrize(
    ("count", "width", "height", "columns"),
    [(1, 1, 1, 1), (4, 1, 1, 2), (9, 1, 1, 3), (3, 1, 2, 3), (3, 2, 1, 1), (32, 366, 303, 5), (6, 1, 1, 3)],
)
def test_montage_is_compact(count, width, height, columns):
    assert columns_for(count, width, height) == columns


@pytest.mark.parametrize(
    ("count", "parts", "lengths"), [(32, 1, [32]), (32, 3, [11, 11, 10]), (2, 5, [1, 1]), (7, 2, [4, 3])]
)
def test_slices_are_split_evenly(count, parts, lengths):
    ranges = split_evenly(count, parts)
    assert [len(part) for part in ranges] == lengths
    assert [index for part in ranges for index in part] == list(range(count))
