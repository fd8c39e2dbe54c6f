"""The case card, read back pixel by pixel."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import matplotlib as mpl
import matplotlib.image
import numpy as np
import pytest

from monai_spatialqa.errors import GeometryError, LabelValueError, PairingError, SettingsError
from monai_spatialqa.phantoms import make_phantom
from monai_spatialqa.rendering import Window, draw_case_card
from monai_spatialqa.rendering import page as page_module
from monai_spatialqa.rendering.panels import OTHER_COLOUR, SEGMENT_COLOUR, STRUCTURE_COLOUR
from monai_spatialqa.rendering.scale_bar import round_length_mm
from monai_spatialqa.rendering.slices import extract_slice
from monai_spatialqa.rendering.structures import outlines_mm, structure_box

DPI = page_module._DPI
SPACING = (1.0, 2.0, 4.0)
AFFINE = np.diag([*SPACING, 1.0])


class Card(NamedTuple):
    """The pixels of a card and its three cells, rows from the top."""

    pixels: np.ndarray
    cells: list[np.ndarray]

    def where(self, cell: int, colour: str, tolerance: int = 40) -> np.ndarray:
        """(n, 2) rows and columns in a cell whose colour is near the given one."""
        wanted = np.array([int(colour[at : at + 2], 16) for at in (1, 3, 5)])
        near = np.abs(self.cells[cell].astype(int) - wanted).max(axis=-1) <= tolerance
        return np.argwhere(near)


def read(path) -> Card:
    pixels = (mpl.image.imread(path)[..., :3] * 255).round().astype(np.uint8)
    inch = page_module
    top = round((inch._HEADER_INCH + inch._CAPTION_INCH) * DPI)
    bottom = pixels.shape[0] - round(inch._FOOTER_INCH * DPI)
    width = inch._CELL_INCH * DPI
    lefts = [inch._GAP_INCH * DPI + column * (width + inch._GAP_INCH * DPI) for column in range(3)]
    return Card(pixels, [pixels[top:bottom, round(left) : round(left + width)] for left in lefts])


@pytest.fixture
def blob():
    """A block in the patient's left, anterior, superior corner: index x 10-19, y 40-49, z 22-25 of 100 x 60 x 30."""
    label = np.zeros((100, 60, 30), dtype=np.uint8)
    label[10:20, 40:50, 22:26] = 3
    label[70:90, 5:25, 2:12] = 9
    return label


@pytest.fixture
def draw(tmp_path):
    def run(image, label, affine=AFFINE, name="card.png", **settings):
        settings = {"structure_label": 3, "title": "case", "margin_mm": np.inf, **settings}
        return read(draw_case_card(image, label, affine, path=tmp_path / name, **settings))

    return run


@pytest.mark.parametrize("image", [None, np.full((100, 60, 30), -100.0)], ids=["labels only", "image"])
def test_br_015_left_blob_is_drawn_at_the_image_right_anterior_up(draw, blob, image):
    card = draw(image, blob)
    height, width = card.cells[0].shape[:2]
    rows, columns = card.where(0, STRUCTURE_COLOUR).T
    assert columns.min() > width / 2, "axial: patient's left on the image's right"
    assert rows.max() < height / 2, "axial: anterior up"
    rows, columns = card.where(1, STRUCTURE_COLOUR).T
    assert columns.min() > width / 2, "coronal: patient's left on the image's right"
    assert rows.max() < height / 2, "coronal: superior up"
    rows, columns = card.where(2, STRUCTURE_COLOUR).T
    assert columns.max() < width / 2, "sagittal: anterior on the image's left"
    assert rows.max() < height / 2, "sagittal: superior up"


@pytest.mark.parametrize("cell", [0, 1, 2])
def test_sizes_are_true_to_the_voxels(draw, blob, cell):
    """Box and outline have the block's extent in mm, at one scale across and down, in all three views."""
    extents = {0: (10.0, 20.0), 1: (10.0, 16.0), 2: (20.0, 16.0)}
    card = draw(np.zeros(blob.shape), blob)
    px_per_mm = card.cells[0].shape[1] / 120  # the widest of 100, 100 and 120 mm fills a cell
    found = np.ptp(card.where(cell, STRUCTURE_COLOUR), axis=0)[::-1]
    assert found == pytest.approx(np.multiply(extents[cell], px_per_mm), abs=3)


def test_the_block_is_drawn_where_it_is(draw, blob):
    card = draw(np.zeros(blob.shape), blob)
    height, width = card.cells[0].shape[:2]
    px_per_mm = width / 120
    middle = card.where(0, STRUCTURE_COLOUR)
    middle = (middle.min(axis=0) + middle.max(axis=0)) / 2
    # Block centre 15 mm right of the grid's left edge, whose middle is at 50 mm; 90 of 120 mm from the posterior edge.
    assert middle == pytest.approx((height / 2 - (90 - 60) * px_per_mm, width / 2 + (50 - 15) * px_per_mm), abs=2)


def test_the_scale_bar_is_as_long_as_it_says(draw, blob):
    card = draw(None, blob)
    cell = card.cells[0]
    bar_row = cell[round(cell.shape[0] * (1 - 0.035))]
    bright = np.flatnonzero((bar_row > 200).all(axis=-1))
    assert len(bright) / (cell.shape[1] / 120) == pytest.approx(round_length_mm(0.28 * 120), abs=1)


@pytest.mark.parametrize(
    ("limit", "length"), [(33.6, 20), (50, 50), (99.9, 50), (100, 100), (4.9, 2), (0.7, 0.5), (1, 1), (1500, 1000)]
)
def test_scale_bars_are_round(limit, length):
    assert round_length_mm(limit) == pytest.approx(length)


def test_second_structure_and_segment(draw, blob):
    ends = np.array([[14.5, 89.0, 94.0], [79.5, 29.0, 26.0]])
    card = draw(np.zeros(blob.shape), blob, other_label=9, segment_ras_mm=ends, segment_text="distance 112.0 mm")
    height, width = card.cells[0].shape[:2]
    px_per_mm = width / 120
    for cell in range(3):
        assert len(card.where(cell, OTHER_COLOUR, tolerance=80)) > 50, "at least its dashed box"
    pink = card.where(0, SEGMENT_COLOUR)
    for x, y, _ in ends:
        at = (height / 2 - (y + 1 - 60) * px_per_mm, width / 2 + (50 - (x + 0.5)) * px_per_mm)
        assert np.linalg.norm(pink - at, axis=1).min() < 2


def test_orientation_of_the_file_does_not_change_the_card(tmp_path):
    cards = set()
    for axcodes in ("RAS", "LPS", "PIR", "SAL"):
        scene = make_phantom(1, shape=(60, 45, 50), spacing_mm=(6, 6, 8), axcodes=axcodes, rotation_deg=(5, 0, 8))
        path = draw_case_card(
            scene.image,
            scene.label,
            scene.affine,
            structure_label=5,
            other_label=1,
            title="phantom",
            segment_ras_mm=[scene.shapes[name].center_ras_mm for name in ("liver", "spleen")],
            segment_text="distance 201.3 mm",
            path=tmp_path / f"{axcodes}.png",
        )
        cards.add(path.read_bytes())
    assert len(cards) == 1


def test_phantom_organs_lie_on_their_sides(tmp_path):
    scene = make_phantom(1)
    for name, on_image_left in (("liver", True), ("kidney_right", True), ("spleen", False), ("kidney_left", False)):
        label = scene.shapes[name].label
        path = draw_case_card(
            scene.image, scene.label, scene.affine, structure_label=label, title=name, path=tmp_path / "c.png"
        )
        card = read(path)
        for cell in (0, 1):
            columns = card.where(cell, STRUCTURE_COLOUR)[:, 1]
            assert (columns.mean() < card.cells[cell].shape[1] / 2) == on_image_left, (name, cell)


def test_the_window_decides_the_grey(draw, blob):
    image = np.full(blob.shape, 40.0)
    image[:, :30] = np.nan
    card = draw(image, blob)
    height, width = card.cells[0].shape[:2]
    assert card.cells[0][round(height * 0.4), width // 4].tolist() == [128, 128, 128]
    assert card.cells[0][round(height * 0.75), width // 4].tolist() == [0, 0, 0], "NaN is background"
    darker = draw(image, blob, window=Window(240, 400))
    assert darker.cells[0][round(height * 0.4), width // 4].tolist() == [0, 0, 0]
    bone = draw(image, blob, window="bone")
    assert bone.cells[0][round(height * 0.4), width // 4, 0] == round(255 * 540 / 1800)


def test_mr_is_shown_in_percentiles(draw, blob):
    image = np.random.default_rng(0).uniform(0, 5000, blob.shape)
    image[:, 30:] = 2500.0
    card = draw(image, blob, modality="MR")
    height, width = card.cells[0].shape[:2]
    assert abs(int(card.cells[0][round(height * 0.4), width // 4, 0]) - 128) < 4


def test_small_structures_are_enlarged_unless_told_otherwise(draw):
    label = np.zeros((150, 150, 100), dtype=np.uint16)
    label[70:74, 80:84, 50:52] = 3
    affine = np.diag([3.0, 3, 4, 1])
    sizes = [
        np.ptp(draw(None, label, affine, margin_mm=margin).where(0, STRUCTURE_COLOUR), axis=0).max()
        for margin in (None, np.inf, 20.0)
    ]
    assert sizes[0] > 2 * sizes[1]
    assert sizes[2] > sizes[0]


@pytest.mark.parametrize(
    "label",
    [
        np.full((5, 6, 7), 3, dtype=np.uint8),
        np.pad(np.full((1, 1, 1), 3, dtype=np.int32), 3),
        np.full((1, 1, 1), 3, dtype=np.int8),
        np.pad(np.full((4, 4), 3, dtype=np.uint16), 2)[:, :, None],
    ],
    ids=["fills the volume", "one voxel", "volume of one voxel", "one slice"],
)
def test_extreme_shapes_are_drawn(draw, label):
    card = draw(np.zeros(label.shape), label)
    assert all(len(card.where(cell, STRUCTURE_COLOUR)) > 100 for cell in range(3))


@pytest.mark.parametrize(("dtype", "big"), [(np.uint64, 2**60 + 1), (np.int64, -4), (bool, 1), (np.uint16, 40_000)])
def test_any_whole_number_is_an_id(draw, dtype, big):
    label = np.zeros((20, 20, 20), dtype=dtype)
    label[4:8, 4:8, 4:8] = big
    assert len(draw(None, label, np.eye(4), structure_label=big).where(0, STRUCTURE_COLOUR)) > 100


@pytest.mark.parametrize(
    "title",
    ["", "cost $5 and $x_1$", "line one\nline two", "long " * 200, "patient \N{GREEK SMALL LETTER ALPHA} 100 %"],
)
def test_any_title_is_text(draw, blob, title):
    assert draw(None, blob, title=title, segment_text="100 % of $1$").pixels.shape[1] == round(13.52 * DPI)


@pytest.mark.parametrize(
    ("settings", "error", "said"),
    [
        ({"structure_label": 5}, LabelValueError, r"label 5 is not .* 2 ids present: 3, 9"),
        ({"other_label": 77}, LabelValueError, "label 77 is not"),
        ({"other_label": 3}, SettingsError, "differ"),
        ({"segment_ras_mm": [[0, 0, 0], [1, np.nan, 0]]}, GeometryError, "two finite end points"),
        ({"segment_ras_mm": [0, 0, 0]}, GeometryError, "two finite end points"),
        ({"name": "card.jpg"}, SettingsError, "PNG"),
        ({"margin_mm": -1}, SettingsError, "margin"),
        ({"margin_mm": np.nan}, SettingsError, "margin"),
        ({"image": np.zeros((9, 9, 9))}, PairingError, "differ in shape"),
        ({"image": np.zeros((100, 60, 30)), "modality": "US"}, SettingsError, "unknown modality"),
        ({"image": np.zeros((100, 60, 30)), "modality": "MR", "window": "lung"}, SettingsError, "cannot show an MR"),
        ({"affine": np.zeros((4, 4))}, GeometryError, "affine is unusable"),
    ],
)
def test_refusals_leave_no_file(draw, blob, tmp_path, settings, error, said):
    with pytest.raises(error, match=said):
        draw(settings.pop("image", None), blob, **settings)
    assert not list(tmp_path.iterdir())


def test_labels_are_whole_numbers(draw, blob):
    with pytest.raises(LabelValueError, match="whole numbers"):
        draw(None, blob.astype(np.float32))


def test_absent_labels_name_at_most_twenty_ids(draw):
    label = np.arange(1000, dtype=np.int32).reshape(10, 10, 10) + 1
    with pytest.raises(LabelValueError, match=r"1000 ids present: 1, 2, .*, 20, \.\.\."):
        draw(None, label, structure_label=5000)
    with pytest.raises(LabelValueError, match="only background"):
        draw(None, label * 0, structure_label=1)


def test_cards_are_equal_in_threads_and_under_any_rcparams(blob, tmp_path):
    image = np.random.default_rng(0).normal(0, 100, blob.shape)

    def make(number):
        path = tmp_path / "cards" / f"{number}.png"
        settings = {"structure_label": 3, "other_label": 9, "title": "case", "path": path}
        return draw_case_card(image, blob, AFFINE, **settings).read_bytes()

    first = make("first")
    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(make, range(8))) == {first}
    foreign = {"text.usetex": True, "savefig.bbox": "tight", "figure.dpi": 31, "font.size": 30, "image.cmap": "jet"}
    with mpl.rc_context(foreign):
        assert make("again") == first
    assert len(list((tmp_path / "cards").iterdir())) == 10


def test_pyplot_stays_out(tmp_path):
    code = (
        "import sys, numpy as np; from monai_spatialqa.rendering import draw_case_card;"
        "label = np.zeros((9, 9, 9), int); label[3:5, 3:5, 3:5] = 1;"
        f"draw_case_card(None, label, np.eye(4), structure_label=1, title='t', path={str(tmp_path / 'c.png')!r});"
        "sys.exit('matplotlib.pyplot' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("order", ["C", "F"])
def test_boxes_are_half_open_whatever_the_memory_order(order):
    rng = np.random.default_rng(2)
    label = np.array((rng.random((9, 11, 13)) > 0.98) * 4, dtype=np.int16, order=order)
    found = structure_box(label[::-1, :, ::-1], 4)
    where = np.argwhere(label[::-1, :, ::-1] == 4)
    assert found.start == tuple(where.min(axis=0))
    assert found.stop == tuple(where.max(axis=0) + 1)


@pytest.mark.parametrize(
    ("start", "stop", "middle"), [((0, 0, 0), (1, 2, 3), (0, 0, 1)), ((2, 4, 5), (5, 8, 10), (3, 5, 7))]
)
def test_slices_go_through_the_box_centre(start, stop, middle):
    label = np.zeros((12, 12, 12), dtype=bool)
    label[tuple(slice(a, b) for a, b in zip(start, stop, strict=True))] = True
    assert structure_box(label, 1).center_voxel == middle


def test_outlines_follow_pixel_edges_and_are_closed():
    label = np.zeros((4, 5, 6), dtype=bool)
    label[1:3, 2:5, 3] = True  # reaches the anterior edge
    (line,) = outlines_mm(extract_slice(label, "axial", 3, (2.0, 3.0, 1.0)))
    assert line[0] == pytest.approx(line[-1])
    assert line.min(axis=0) == pytest.approx((2.0, 0.0))
    assert line.max(axis=0) == pytest.approx((6.0, 9.0))


def area_and_check(line: np.ndarray) -> float:
    """Area inside a closed outline, holes negative; it turns at every corner and runs along the pixel edges."""
    steps = np.diff(line, axis=0)
    assert (line[0] == line[-1]).all()
    assert ((steps == 0).sum(axis=1) == 1).all()
    assert ((steps[:-1] == 0) != (steps[1:] == 0)).all()
    return float((line[:-1, 0] * line[1:, 1] - line[1:, 0] * line[:-1, 1]).sum() / 2)


def test_the_outline_of_one_voxel_is_a_rectangle():
    label = np.zeros((4, 5, 6), dtype=bool)
    label[2, 3, 3] = True
    (line,) = outlines_mm(extract_slice(label, "axial", 3, (2.0, 3.0, 1.0)))
    assert line.tolist() == [[2, 3], [4, 3], [4, 6], [2, 6], [2, 3]]


def test_voxels_that_touch_at_a_corner_have_outlines_of_their_own():
    label = np.eye(3, dtype=bool)[:, :, None]
    for turned in (label, label[::-1]):
        lines = outlines_mm(extract_slice(turned, "axial", 0, (1.0, 1.0, 1.0)))
        assert [len(line) for line in lines] == [5, 5, 5]


def test_a_hole_has_an_outline():
    label = np.ones((3, 3, 1), dtype=bool)
    label[1, 1] = False
    areas = [area_and_check(line) for line in outlines_mm(extract_slice(label, "axial", 0, (1.0, 1.0, 1.0)))]
    assert areas == [9, -1]


def test_outlines_enclose_the_area_of_the_voxels():
    rng = np.random.default_rng(3)
    for share in (0.0, 0.1, 0.5, 0.9, 1.0):
        label = rng.random((11, 9, 1)) < share
        lines = outlines_mm(extract_slice(label, "axial", 0, (2.0, 3.0, 1.0)))
        assert sum(map(area_and_check, lines)) == pytest.approx(6 * label.sum())


@pytest.mark.parametrize("size", [40, 160])
def test_outline_and_line_are_both_seen_on_a_structure_one_voxel_thick(draw, size):
    label = np.zeros((size, size, size), dtype=np.uint8)
    label[20, 20, 5:35] = 3
    ends = [[20, 20, 4.5], [20, 20, 34.5]]
    card = draw(np.zeros(label.shape), label, np.eye(4), segment_ras_mm=ends, segment_text="30.0 mm")
    for cell in (1, 2):
        line = card.where(cell, SEGMENT_COLOUR, tolerance=60)
        outline = card.where(cell, STRUCTURE_COLOUR, tolerance=60)
        middle = (line[:, 0].min() + line[:, 0].max()) // 2
        at = line[line[:, 0] == middle][:, 1]
        beside = outline[outline[:, 0] == middle][:, 1]
        assert len(at), "the line is seen"
        assert beside.min() < at.min() <= at.max() < beside.max(), "between the two sides of the outline"
    assert len(card.where(0, SEGMENT_COLOUR, tolerance=60))
    assert len(card.where(0, STRUCTURE_COLOUR, tolerance=60))


def test_the_value_is_written_once(draw, blob):
    """In the header; a long line once had it beside it too."""
    ends = np.array([[0.0, 29.0, 26.0], [99.0, 29.0, 26.0]])
    written, silent = (
        draw(np.zeros(blob.shape), blob, segment_ras_mm=ends, segment_text=text) for text in ("99 mm", None)
    )
    for one, other in zip(written.cells, silent.cells, strict=True):
        np.testing.assert_array_equal(one, other)
    assert (written.pixels != silent.pixels).any()
