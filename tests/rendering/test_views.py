"""Views for models: which slices, where left is, how large, in which window; the same bytes every time."""

from __future__ import annotations

import io
import subprocess
import sys

import numpy as np
import pytest
from nibabel.orientations import apply_orientation, axcodes2ornt, inv_ornt_aff, io_orientation, ornt_transform
from PIL import Image

from monai_spatialqa.errors import GeometryError, PairingError, SettingsError
from monai_spatialqa.rendering import (
    CONVENTION,
    BurnIn,
    ViewGeometry,
    ViewSettings,
    Window,
    describe_views,
    make_views,
    reorient_to_ras,
    views_in_words,
    views_key,
)
from monai_spatialqa.rendering.views import spread

AFFINE = np.array([[2.0, 0, 0, -7], [0, 2.0, 0, 11], [0, 0, 5.0, -60], [0, 0, 0, 1]])
AIR = -1000


def stored(ras, axcodes):
    """The same voxels in another orientation, with their matrix."""
    turn = ornt_transform(io_orientation(AFFINE), axcodes2ornt(tuple(axcodes)))
    return apply_orientation(ras, turn), AFFINE @ inv_ornt_aff(turn, ras.shape)


def views_of(array, affine, modality="CT", settings=None, **focus):
    volume, matrix = reorient_to_ras(np.asarray(array), affine)
    return make_views(volume, ViewGeometry(modality, volume.shape, matrix), settings or ViewSettings(), **focus)


def pixels(view):
    picture = Image.open(io.BytesIO(view.png))
    assert (picture.format, picture.mode) == ("PNG", "L")
    assert picture.size == view.size_px
    return np.asarray(picture)


def blob(shape, where, value=1000):
    volume = np.full(shape, AIR, dtype=np.int16)
    volume[where] = value
    return volume


def ramp(slices, shape=(20, 16)):
    """Axial slices that each have a grey value of their own in the window 0 to 255."""
    return np.broadcast_to(np.arange(slices) * 2 + 20, (*shape, slices)).astype(np.int16)


PLAIN = {"level": 127.5, "width": 255}
"""A window in which a value is its own grey value."""


@pytest.mark.parametrize("axcodes", ["RAS", "LPS", "LAS", "RPI", "PIR", "SAL", "ASR"])
def test_br_015_patient_left_is_image_right_and_anterior_is_up(axcodes):
    ras = blob((40, 30, 9), np.s_[6:14, 20:26, 3:6])  # low R: patient's left; high A: front
    settings = ViewSettings(slices=3)
    (_, view, _) = views = views_of(*stored(ras, axcodes), settings=settings)
    rows, columns = np.nonzero(pixels(view) > 128)
    assert columns.min() > view.size_px[0] / 2, "the patient's left must be in the image's right half"
    assert rows.max() < view.size_px[1] / 2, "anterior must be up"
    assert [one.png for one in views] == [one.png for one in views_of(ras, AFFINE, settings=settings)]
    volume, matrix = reorient_to_ras(*stored(ras, axcodes))
    assert CONVENTION in describe_views(views, settings, ViewGeometry("CT", volume.shape, matrix))


@pytest.mark.parametrize("axcodes", ["RAS", "LPS", "PIR"])
def test_br_015_coronal_and_sagittal_views(axcodes):
    ras = blob((40, 30, 20), np.s_[6:22, 14:26, 12:18])  # through both middle planes; left, front, up
    settings = ViewSettings(kind="planes")
    axial, coronal, sagittal = views_of(*stored(ras, axcodes), settings=settings)
    assert [view.plane for view in (axial, coronal, sagittal)] == ["axial", "coronal", "sagittal"]
    for view, left, letters in ((coronal, False, "RLSI"), (sagittal, True, "APSI")):
        rows, columns = np.nonzero(pixels(view) > 128)
        middle = (np.array(view.size_px) - 1) / 2
        assert (columns.mean() < middle[0]) == left, "front is left in a sagittal view, the patient's left is right"
        assert rows.mean() < middle[1], "superior must be up"
        assert "".join(view.letters) == letters


def test_br_200_the_window_is_part_of_the_settings_and_of_what_is_told():
    volume = np.tile(np.array([-1000, -600, 55, 240, 1000], dtype=np.int16)[:, None, None], (4, 20, 2))
    seen = {}
    for name, level, width in (("soft_tissue", 40, 400), ("lung", -600, 1500), ("bone", 400, 1800), ("brain", 40, 80)):
        settings = ViewSettings(ct_window=name, slices=1, interpolation="nearest")
        (view,) = views_of(volume, AFFINE, settings=settings)
        assert view.window == Window(level, width)
        shares = (np.clip([-1000, -600, 55, 240, 1000], level - width / 2, level + width / 2) - level) / width + 0.5
        assert set(np.unique(pixels(view)).tolist()) == set(np.rint(shares * 255).astype(int).tolist())
        assert f"level {level} HU, width {width} HU" in describe_views(
            [view], settings, ViewGeometry("CT", volume.shape, AFFINE)
        )
        assert f"level {level}, width {width} HU" in views_in_words(settings)
        assert settings.model_dump()["ct_window"] == name
        seen[views_key(settings)] = view.png
    assert len(seen) == len(set(seen.values())) == 4


def test_br_203_anisotropic_voxels_become_square_pixels():
    # A cube of 40 mm on voxels of 1 x 2 x 5 mm.
    affine = np.diag([1.0, 2, 5, 1])
    volume = blob((100, 60, 30), np.s_[30:70, 20:40, 11:19])
    for view in views_of(volume, affine, settings=ViewSettings(kind="planes", size_px=600)):
        rows, columns = np.nonzero(pixels(view) > 128)
        wide, high = np.ptp(columns) + 1, np.ptp(rows) + 1
        assert (wide * view.pixel_mm[0], high * view.pixel_mm[1]) == pytest.approx((40, 40), abs=0.6), view.plane
        assert view.pixel_mm[0] == pytest.approx(view.pixel_mm[1], rel=0.01)


@pytest.mark.parametrize(
    ("tell", "burn_in", "kind", "known"),
    [
        (True, {}, "axial", True),
        (False, {}, "axial", False),
        (False, {"scale": True}, "axial", False),  # nothing says how far apart the slices are
        (False, {"scale": True, "position": True}, "axial", True),
        (False, {"scale": True}, "montage", False),
        (False, {"scale": True}, "planes", True),
        (False, {"position": True, "letters": True}, "planes", False),
    ],
)
def test_br_203_physical_size_is_told_or_numbers_are_unanswerable(tell, burn_in, kind, known):
    settings = ViewSettings(kind=kind, slices=4, tell={"scale": tell}, burn_in=burn_in)
    geometry = ViewGeometry("CT", (50, 40, 12), np.diag([1.0, 2, 5, 1]))
    text = describe_views(make_views(np.zeros((50, 40, 12)), geometry, settings), settings, geometry)
    assert settings.scale_known == known
    assert ("50.0 mm x 80.0 mm" in text) == tell
    assert ("scale hidden" in views_in_words(settings)) != known
    if not known:
        assert "mm" not in text


@pytest.mark.parametrize(
    ("count", "wanted", "indices"),
    [
        (10, 5, [1, 3, 5, 7, 9]),
        (9, 3, [1, 4, 7]),
        (3, 32, [0, 1, 2]),
        (1, 1, [0]),
        (7, 1, [3]),
        (8, 1, [4]),
        (5, 2, [1, 3]),
    ],
)
def test_slices_are_spread_evenly(count, wanted, indices):
    assert spread(count, wanted) == indices


def test_slices_are_spread_over_the_whole_scan():
    for count in range(1, 120):
        indices = spread(count, 32)
        assert len(indices) == min(32, count)
        gaps = np.diff([-1, *indices, count])
        assert (gaps > 0).all()
        between = gaps[1:-1]
        assert len(between) < 2 or np.ptp(between) <= 1
        assert abs(int(gaps[0]) - int(gaps[-1])) <= 1, "as much above as below"


@pytest.mark.parametrize("order", ["inferior_to_superior", "superior_to_inferior"])
def test_order_of_slices(order):
    views = views_of(ramp(50), AFFINE, settings=ViewSettings(slices=5, order=order, ct_window=PLAIN))
    greys = [int(pixels(view)[0, 0]) for view in views]
    assert [view.indices for view in views] == [(int((grey - 20) / 2),) for grey in greys]
    assert greys == sorted(greys, reverse=order == "superior_to_inferior")
    assert [view.places[0].from_first_mm for view in views] == pytest.approx([5.0 * view.indices[0] for view in views])


@pytest.mark.parametrize("kind", ["axial", "planes", "structure"])
@pytest.mark.parametrize("size_px", [64, 512, 777])
def test_the_longest_edge_is_as_asked(kind, size_px):
    views = views_of(
        np.zeros((40, 30, 21)), AFFINE, settings=ViewSettings(kind=kind, size_px=size_px), focus_ras_mm=(20, 40, -30)
    )
    assert max(max(view.size_px) for view in views) == size_px
    scales = {round(mm * max(view.size_px), 0) / max(view.size_px) for view in views for mm in view.pixel_mm}
    assert max(scales) / min(scales) < 1.05, "all images of a set have one scale"


@pytest.mark.parametrize("images", [1, 2, 3])
@pytest.mark.parametrize("order", ["inferior_to_superior", "superior_to_inferior"])
def test_montage_is_in_reading_order(images, order):
    settings = ViewSettings(kind="montage", slices=11, montage_images=images, order=order, ct_window=PLAIN, size_px=500)
    views = views_of(ramp(44), AFFINE, settings=settings)
    assert len(views) == images
    read = []
    for view in views:
        picture = pixels(view)
        (wide, high), places = view.slice_px, len(view.places)
        rows = -(-places // view.columns)
        assert max(view.size_px) <= 500
        for place in range(rows * view.columns):
            row, column = divmod(place, view.columns)
            tile = picture[row * (high + 4) : row * (high + 4) + high, column * (wide + 4) : column * (wide + 4) + wide]
            assert tile.shape == (high, wide)
            assert np.ptp(tile) == 0
            if place < places:
                read.append(int(tile[0, 0]))
            else:
                assert (tile == 0).all(), "places left over are black"
    assert read == [20 + 2 * index for view in views for index in view.indices]
    assert read == sorted(read, reverse=order == "superior_to_inferior")
    assert len(read) == 11


def test_structure_views_go_through_the_structure_and_are_marked():
    volume = blob((40, 30, 9), np.s_[6:14, 20:26, 3:6])
    focus = AFFINE[:3, :3] @ [9.5, 22.5, 4] + AFFINE[:3, 3]
    settings = ViewSettings(kind="structure")
    for axcodes in ("RAS", "LPI", "SRP"):
        views = views_of(*stored(volume, axcodes), settings=settings, focus_ras_mm=focus)
        assert [view.indices for view in views] == [(4,), (22,), (9,)]
        assert all(view.leaks_location for view in views)
        assert all((pixels(view) == 255).any() for view in views)
    assert settings.leaks_location
    assert "gives its location away" in views_in_words(settings)


@pytest.mark.parametrize("kind", ["axial", "planes", "montage"])
def test_other_views_leak_nothing(kind):
    settings = ViewSettings(kind=kind)
    volume = np.zeros((20, 20, 20))
    views = views_of(volume, AFFINE, settings=settings)
    told = views_of(volume, AFFINE, settings=settings, focus_ras_mm=(0, 20, -50))
    assert [view.png for view in views] == [view.png for view in told], "the structure's place changes nothing"
    assert not settings.leaks_location
    assert not any(view.leaks_location for view in views)


@pytest.mark.parametrize("dtype", [np.int16, np.int32, np.float32, np.float64])
@pytest.mark.parametrize("memory", ["C", "F"])
def test_same_input_same_bytes(dtype, memory):
    volume = np.random.default_rng(0).integers(-1000, 1000, (30, 20, 10))
    settings = ViewSettings(kind="planes", burn_in={"scale": True, "position": True, "letters": True})
    first = views_of(volume.astype(np.int16), AFFINE, settings=settings)
    again = views_of(np.asarray(volume.astype(dtype), order=memory), AFFINE, settings=settings)
    assert [view.png for view in first] == [view.png for view in again]


def test_values_are_clipped_before_the_type_is_narrowed():
    volume = np.zeros((6, 4, 1), dtype=np.float64)
    volume[:] = np.array([-np.inf, np.nan, -1e9, 40 + 65536, 1e9, np.inf])[:, None, None]
    (view,) = views_of(volume, AFFINE, settings=ViewSettings(slices=1, interpolation="nearest"))
    wide = view.size_px[0] // 6
    seen = pixels(view)[0, ::-1][wide // 2 :: wide][:6]  # from the patient's left to the right
    assert seen.tolist() == [0, 0, 0, 255, 255, 255]
    assert np.isnan(volume[1]).all(), "the volume is not changed"


def test_mr_is_shown_between_percentiles_never_in_hounsfield_units():
    volume = np.random.default_rng(1).gamma(2.0, 300, (30, 20, 10))
    geometry = ViewGeometry("MR", volume.shape, AFFINE)
    for percentiles in ((1, 99), (5, 80)):
        settings = ViewSettings(slices=2, ct_window="lung", mr_window=percentiles)
        views = make_views(volume, geometry, settings)
        low, high = np.percentile(volume, percentiles)
        assert (views[0].window.low, views[0].window.high) == pytest.approx((low, high))
        assert views[0].png == make_views(volume, geometry, ViewSettings(slices=2, mr_window=percentiles))[0].png
        text = describe_views(views, settings, geometry)
        assert "HU" not in text
        assert "MR window" in text
    own = ViewSettings(slices=2, mr_window={"level": 500, "width": 900})
    assert make_views(volume, geometry, own)[0].window == Window(500, 900)


@pytest.mark.parametrize("modality", [None, "", "PET", "ct"])
def test_an_unknown_modality_is_an_error_that_names_the_setting(modality):
    with pytest.raises(SettingsError) as caught:
        ViewGeometry(modality, (4, 4, 4), AFFINE)
    assert (caught.value.code, caught.value.key) == ("unknown_modality", "modality")
    assert "set modality to CT or MR" in str(caught.value)


def test_a_thin_scan_leaves_room_for_what_is_drawn():
    volume = np.zeros((100, 100, 3))
    geometry = ViewGeometry("CT", volume.shape, np.diag([2.0, 2, 2, 1]))
    bare = make_views(volume, geometry, ViewSettings(kind="planes"))
    drawn = make_views(volume, geometry, ViewSettings(kind="planes", burn_in={"letters": True}))
    assert [view.scan_px for view in bare] == [view.scan_px for view in drawn] == [(512, 512), (512, 15), (512, 15)]
    assert [view.size_px for view in bare] == [(512, 512), (512, 15), (512, 15)]
    assert all(view.size_px[1] >= 100 for view in drawn)
    assert all(view.pixel_mm == pytest.approx((0.39, 0.39), rel=0.05) for view in drawn)


def test_a_sheared_grid_has_slices_closer_than_its_edges():
    affine = np.eye(4)
    affine[:3, 2] = [0, 4 * np.tan(np.radians(20)), 4]
    geometry = ViewGeometry("CT", (20, 20, 10), affine)
    assert geometry.spacing_mm[2] == pytest.approx(4 / np.cos(np.radians(20)))
    assert geometry.slice_distance_mm(2) == pytest.approx(4)
    views = make_views(np.zeros((20, 20, 10)), geometry, ViewSettings(slices=10))
    assert [view.places[0].from_first_mm for view in views] == pytest.approx(list(range(0, 40, 4)))
    text = describe_views(views, ViewSettings(slices=10), geometry)
    assert "tilted against its other axes" in text
    assert "up to 20 degrees off" in text


@pytest.mark.parametrize(
    ("shape", "focus", "settings", "error", "told"),
    [
        ((4, 4, 5), None, {}, PairingError, "differ in shape"),
        ((4, 4, 4), None, {"kind": "structure"}, SettingsError, "structure's centre"),
        ((4, 4, 4), (900, 0, 0), {"kind": "structure"}, GeometryError, "outside the scan"),
        ((4, 4, 4), None, {"kind": "montage", "size_px": 20}, SettingsError, "too small"),
        ((4, 4, 4), None, {"size_px": 20, "burn_in": {"letters": True}}, SettingsError, "too small"),
    ],
)
def test_impossible_views_are_refused(shape, focus, settings, error, told):
    with pytest.raises(error, match=told):
        make_views(np.zeros(shape), ViewGeometry("CT", (4, 4, 4), AFFINE), ViewSettings(**settings), focus_ras_mm=focus)


@pytest.mark.parametrize("affine", [np.diag([-1.0, 1, 1, 1]), np.diag([1.0, 1, 0, 1]), np.eye(3)])
def test_a_grid_that_is_not_ras_is_refused(affine):
    with pytest.raises(GeometryError):
        ViewGeometry("CT", (4, 4, 4), affine)


def test_burn_in_is_off_unless_asked():
    assert not ViewSettings().burn_in.any
    assert all(BurnIn(**{name: True}).any for name in ("scale", "position", "letters"))


def test_views_are_loaded_without_plotting():
    code = (
        "import sys, monai_spatialqa.rendering as r; r.make_views, r.ViewSettings, r.describe_views\n"
        "assert not {'matplotlib.figure', 'matplotlib.pyplot', 'torch', 'monai'} & set(sys.modules)\n"
        "assert r.draw_case_card.__name__ == 'draw_case_card' and 'matplotlib.figure' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
