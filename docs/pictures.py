"""Draw every picture of the documentation: ``python docs/pictures.py`` writes docs/images/*.png.

The drawings show what the package returns: boxes, centres, distances and volumes are measured on the voxels drawn.
"""

from __future__ import annotations

import contextlib
import io
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from drawing import (
    ACCENT,
    EDGE,
    EDGE_B,
    FILL,
    FILL_B,
    HALF,
    INK,
    LINE,
    PAPER,
    QUIET,
    SHADE,
    UNUSED,
    arrow,
    directions,
    dot,
    draw_grid,
    draw_voxels,
    figure,
    mask_of,
    measured,
    outline,
    rectangle,
    scan,
    small_png,
    straight,
    window,
    write,
)
from finer_pictures import axial_diameter, surface_distance
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Ellipse, FancyBboxPatch, Rectangle
from monai.transforms import Spacing
from PIL import Image
from report_pictures import report_case, report_narrow, report_wide
from view_pictures import views_axial, views_montage, views_planes, views_structure, views_windows

from monai_spatialqa.anatomy import load_label_map
from monai_spatialqa.measurement import MeasureSettings, run_measurement
from monai_spatialqa.phantoms import make_phantom
from monai_spatialqa.readers.nifti_volume import read_volume
from monai_spatialqa.rendering import CT_WINDOWS, SliceView, apply_window, extract_slice, reorient_to_ras
from monai_spatialqa.transforms import MeasureVolume

DOCS = Path(__file__).resolve().parent
EXAMPLE = DOCS.parent / "bundles/spatialqa/example"
SCAN = EXAMPLE / "ct/example_ct.nii.gz"
LABEL = EXAMPLE / "seg/example_seg_fast_force_split.nii.gz"


def box() -> Figure:
    """Half-open index box, outer faces and extent; box centre and centroid."""
    mask = mask_of(["..........", "..###.....", "..####....", "..##......", "..#####...", "..........", ".........."])
    grid = straight(3.0)
    found = measured(mask, grid)
    start, stop = found["box_index"].astype(int)
    low, high = found["world_min_ras_mm"], found["world_max_ras_mm"]
    made, (left, right) = figure(9.6, 3.9, 2)
    for one in (left, right):
        draw_grid(one, mask, grid)
        outline(one, rectangle(low, high), ACCENT)
    left.plot(*np.mgrid[0 : mask.shape[0], 0 : mask.shape[1]].reshape(2, -1) * 3.0, ".", color=UNUSED, markersize=2.5)
    for axis, length in enumerate(mask.shape):
        for index in range(length):
            at = (3 * index, -3.1) if axis == 0 else (-3.1, 3 * index)
            inside = start[axis] <= index < stop[axis]
            write(left, *at, str(index), color=ACCENT if inside else QUIET, fontweight="bold" if inside else "normal")
    text = f"index_start ({start[0]}, {start[1]})    index_stop ({stop[0]}, {stop[1]}): one past the last voxel"
    write(left, 13.5, -6, text)
    across, up = found["extent_mm"]
    arrow(right, (low[0], low[1] - 1.6), (high[0], low[1] - 1.6), ACCENT, "<|-|>")
    arrow(right, (high[0] + 1.6, low[1]), (high[0] + 1.6, high[1]), ACCENT, "<|-|>")
    label: dict[str, Any] = {
        "color": ACCENT,
        "bbox": {"facecolor": PAPER, "edgecolor": "none", "pad": 1.0},
        "zorder": 7,
    }
    write(right, (low[0] + high[0]) / 2, low[1] - 3.4, f"{stop[0] - start[0]} voxels x 3 mm = {across:g} mm", **label)
    write(right, high[0] + 4.8, (low[1] + high[1]) / 2, f"{up:g} mm", **label)
    dot(right, found["center_ras_mm"], "+")
    dot(right, found["centroid_ras_mm"], "o", INK)
    dot(right, (-2.5, -6), "+")
    write(right, -1, -6, "centre of the box", ha="left")
    dot(right, (12, -6), "o", INK)
    write(right, 13.5, -6, "centroid: mean of the voxel centres", ha="left")
    window(left, (-5, 32), (-8, 20), "Index box: half-open, in voxels")
    window(right, (-5, 32), (-8, 20), "Extent: between outer faces, in mm")
    return made


def volume_band() -> Figure:
    """The volume when every boundary voxel counts half, inside and outside."""
    mask = mask_of(["..........", "...####...", "..######..", "..######..", "...#####..", ".....#....", ".........."])
    padded = np.pad(mask, 1)
    around = [np.roll(padded, step, axis)[1:-1, 1:-1] for axis in (0, 1) for step in (1, -1)]
    inside = mask & ~np.logical_and.reduce(around)
    outside = ~mask & np.logical_or.reduce(around)
    count, within, without = int(mask.sum()), int(inside.sum()), int(outside.sum())
    panels = (
        ("Lower end", inside, f"{count} - {within} / 2 = {count - within / 2:g} voxels"),
        ("Volume", np.zeros_like(mask), f"{count} voxels"),
        ("Upper end", outside, f"{count} + {without} / 2 = {count + without / 2:g} voxels"),
    )
    made, axes = figure(9.6, 3.0, 3)
    for one, (name, half, text) in zip(axes, panels, strict=True):
        draw_grid(one, mask & ~half, straight(1.0))
        draw_voxels(one, half, straight(1.0), HALF, EDGE, hatch="////")
        write(one, 4.5, -1.2, text)
        window(one, (-0.7, 9.7), (-1.8, 6.7), name)
    return made


def oblique_and_sheared() -> Figure:
    """What a box means on a grid that does not run along the body's axes."""
    mask = mask_of(["......#.", ".....##.", "....##..", "..###...", ".##.....", "#......."])
    angle, tilt = np.deg2rad(24), np.deg2rad(20)
    turned, tilted = np.eye(3), np.eye(3)
    turned[:2, :2] = 3.0 * np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    tilted[:2, :2] = 3.0 * np.array([[1.0, np.sin(tilt)], [0.0, np.cos(tilt)]])
    made, (left, right) = figure(9.6, 4.5, 2)
    found = measured(mask, turned)
    draw_grid(left, mask, turned)
    corners = rectangle(*(found["box_index"] - 0.5)) @ turned[:2, :2].T + turned[:2, 2]
    boxes = (
        (corners, ACCENT, "--", "index box: index_start, index_stop, extent_mm, center_ras_mm"),
        (
            rectangle(found["world_min_ras_mm"], found["world_max_ras_mm"]),
            EDGE_B,
            "-.",
            "world box: world_min_ras_mm, world_max_ras_mm",
        ),
        (rectangle(corners.min(axis=0), corners.max(axis=0)), UNUSED, ":", "around the index box's corners: not used"),
    )
    for row, (points, colour, style, text) in reversed(list(enumerate(boxes))):
        outline(left, points, colour, style)
        left.plot([26, 23], [-5 - 2 * row] * 2, linestyle=style, color=colour, linewidth=1.8)
        write(left, 22.4, -5 - 2 * row, text, ha="left", fontsize=8.5)
    dot(left, found["center_ras_mm"], "+")
    directions(left, (-13.2, 8), 3.2, "RA")
    found = measured(mask, tilted, (1, 2))
    draw_grid(right, mask, tilted)
    outline(right, rectangle(found["world_min_ras_mm"], found["world_max_ras_mm"]), ACCENT)
    dot(right, found["center_ras_mm"], "+")
    directions(right, (29, -1), 4, "AS")
    area, product = abs(np.linalg.det(tilted[:2, :2])), float(np.prod(np.linalg.norm(tilted[:2, :2], axis=0)))
    write(right, 13, -5, "the world box gives extent_mm and center_ras_mm", fontsize=8.5)
    unit = "mm\N{SUPERSCRIPT TWO}"
    text = f"a voxel's face measures |det| = {area:.2f} {unit}, not 3 mm x 3 mm = {product:.2f} {unit}"
    write(right, 13, -7, text, fontsize=8.5)
    window(left, (28, -15), (-10, 28), "Oblique grid (axial)")
    window(right, (36, -6), (-14, 24), "Sheared grid, as after gantry tilt (sagittal)")
    return made


def centres() -> Figure:
    """Two kinds of centre distance, and a centroid that lies outside."""
    c_shape = mask_of([".####...", "##......", "##......", "##......", "##......", ".######."])
    hook = mask_of(["###.....", "###.....", "#.......", "#.......", "#.......", "#######."])
    near, far = straight(3.0), straight(3.0)
    far[:2, 2] = 42.0, 6.0
    a, b = measured(c_shape, near), measured(hook, far)
    made, (left, right) = figure(9.6, 3.3, 2, width_ratios=[27, 71])
    for one in (left, right):
        draw_voxels(one, c_shape, near, FILL, EDGE)
    draw_voxels(right, hook, far, FILL_B, EDGE_B)
    dot(left, a["centroid_ras_mm"], "o", INK)
    write(left, 9.5, -4.2, "the voxel that holds the centroid\nis not one of the structure's", fontsize=8.5)
    kinds = (("center_ras_mm", "box_center", "+", ACCENT, "--"), ("centroid_ras_mm", "centroid", "o", INK, "-"))
    for row, (name, kind, marker, colour, style) in enumerate(kinds):
        ends = np.array([a[name], b[name]])
        right.plot(*ends.T, color=colour, linewidth=1.6, linestyle=style, zorder=5)
        for end in ends:
            dot(right, end, marker, colour)
        length = float(np.linalg.norm(ends[1] - ends[0]))
        dot(right, (25, -3.4 - 2.6 * row), marker, colour)
        write(right, 27, -3.4 - 2.6 * row, f"{kind}: {length:.1f} mm", color=colour, ha="left")
    window(left, (-4, 23), (-8, 24), "centroid_inside: false")
    window(right, (-4, 67), (-8, 24), "The two kinds of distance between centres")
    return made


def truncation() -> Figure:
    """A structure that reaches the border of the field of view, in a coronal drawing."""
    size, grid = (14, 9), straight(1.0)
    across, up = np.mgrid[0 : size[0], 0 : size[1]]
    cut = ((across - 4.0) / 2.7) ** 2 + ((up - 7.4) / 3.6) ** 2 < 1
    whole = ((across - 9.5) / 2.0) ** 2 + ((up - 2.6) / 2.0) ** 2 < 1
    made, axes = figure(9.6, 3.5, 2)
    for one, margin in zip(axes, (0, 1), strict=True):
        layer = np.ones(size, dtype=bool)
        layer[1 + margin : -1 - margin, 1 + margin : -1 - margin] = False
        one.add_patch(Ellipse((4.0, 7.4), 5.4, 7.2, fill=False, edgecolor=UNUSED, linestyle=":", linewidth=1.5))
        draw_voxels(one, ~layer, grid)
        draw_voxels(one, layer, grid, SHADE)
        for mask, fill, edge in ((cut, FILL, EDGE), (whole, FILL_B, EDGE_B)):
            draw_voxels(one, mask, grid, fill, edge)
            draw_voxels(one, mask & layer, grid, "none", ACCENT, linewidths=1.9, zorder=4)
        outline(one, rectangle((-0.5, -0.5), (size[0] - 0.5, size[1] - 0.5)), INK, "-", 2.0)
        for x, y, face in ((9.5, 9.1, "superior"), (6.5, -1.2, "inferior"), (14.1, 4, "right"), (-1.1, 4, "left")):
            write(one, x, y, face, color=QUIET, rotation=90 if y == 4 else 0)
        write(one, 7.2, 10.4, "not in the file", color=QUIET, fontsize=8.5, ha="right")
        bold: dict[str, Any] = {"fontsize": 8.5, "fontweight": "bold", "zorder": 8}
        write(one, 4.0, 5.3, "truncated:\nsuperior", **bold)
        write(one, 9.5, 2.8, "truncated:\ninferior" if (whole & layer).any() else "ok", **bold)
        window(one, (15, -2), (-2, 11.4), f"fov_margin_voxels: {margin}")
    return made


def radiological() -> Figure:
    """RAS directions on an axial slice as radiologists hang it, and a direction with its dead zone."""
    made, (left, right) = figure(9.6, 4.3, 2, width_ratios=[1.3, 1])
    image, affine = read_volume(SCAN)
    volume, matrix = reorient_to_ras(image, affine)
    view = extract_slice(volume, "axial", 88, np.linalg.norm(matrix[:3, :3], axis=0).tolist())
    high, wide = view.size_mm
    grey = apply_window(view.pixels, CT_WINDOWS["soft_tissue"])
    left.imshow(grey, cmap="gray", extent=(0, wide, high, 0), interpolation="bilinear")
    letters = view.letters
    for x, y, text in (
        (-15, high / 2, letters.left),
        (wide + 15, high / 2, letters.right),
        (wide / 2, -15, letters.top),
        (wide / 2, high + 16, letters.bottom),
    ):
        write(left, x, y, text, fontsize=14, fontweight="bold")
    x, y = wide / 2, high / 2
    bright = "#FFB000"
    arrow(left, (x, y), (x - 105, y), bright)
    arrow(left, (x, y), (x, y - 90), bright)
    left.plot(x, y, "o", markersize=14, color="black", markeredgecolor=bright, markeredgewidth=2, zorder=8)
    left.plot(x, y, "x", markersize=7, color=bright, markeredgewidth=2, zorder=9)
    for dx, dy, text in ((-124, 0, "+R"), (0, -103, "+A"), (70, 26, "+S, into the picture")):
        back = {"facecolor": "black", "alpha": 0.6, "edgecolor": "none", "pad": 1.5}
        write(left, x + dx, y + dy, text, color=bright, fontweight="bold", fontsize=11, bbox=back, zorder=10)
    window(left, (-30, wide + 30), (high + 30, -30), "Axial, patient's right on the image's left")
    for corner, size in (((-30, -5), (85, 10)), ((-5, -42), (10, 84))):
        right.add_patch(Rectangle(corner, *size, color=SHADE, zorder=0))
    ends = np.array([(0.0, 0.0), (42.0, -3.0)])
    for (r, a), name, fill, edge in zip(ends, "ab", (FILL, FILL_B), (EDGE, EDGE_B), strict=True):
        right.add_patch(Ellipse((r, a), 17, 13, facecolor=fill, edgecolor=edge, linewidth=1.5, zorder=2))
        write(right, r - 5, a + 3.2, name, fontweight="bold", zorder=7)
        dot(right, (r, a), "+", INK)
    arrow(right, ends[0], ends[1], ACCENT)
    write(right, 28, 24, "R +42 mm:\nb is to the right of a (1)", color=ACCENT)
    write(right, 28, -24, "A -3 mm: in the dead zone,\nneither front nor back (0)", color=ACCENT)
    for r, a, letter in ((60, 0, "R"), (-35, 0, "L"), (0, 47, "A"), (0, -47, "P")):
        write(right, r, a, letter, fontsize=13, fontweight="bold")
    window(right, (64, -39), (-57, 57), "Direction from a to b, dead zone 5 mm")
    return made


def presence() -> Figure:
    """Absent and not_segmented are different facts."""
    made, (axes,) = figure(9.6, 2.9, 1)
    axes.set_aspect("auto")
    cards = (
        (13, 25, "Was the structure looked for?\n(setting: segmented)", SHADE, QUIET),
        (50, 25, "Does it have voxels\nin the label map?", SHADE, QUIET),
        (87, 25, "ok, or other statuses:\ncount, volume, box, centroid", FILL, EDGE),
        (13, 6, "not_segmented:\neverything is null", PAPER, ACCENT),
        (50, 6, "absent: count 0, volume 0,\nno box, no centroid", PAPER, ACCENT),
    )
    for x, y, text, fill, edge in cards:
        shape = "round,pad=0,rounding_size=1.2"
        axes.add_patch(FancyBboxPatch((x - 12.5, y - 4.8), 25, 9.6, boxstyle=shape, facecolor=fill, edgecolor=edge))
        write(axes, x, y, text, fontsize=9)
    for start, stop, at, text in (
        ((25.5, 25), (37.5, 25), (31.5, 27.2), "yes"),
        ((62.5, 25), (74.5, 25), (68.5, 27.2), "yes"),
        ((13, 20.2), (13, 10.8), (15.2, 15.5), "no"),
        ((50, 20.2), (50, 10.8), (52.2, 15.5), "no"),
    ):
        arrow(axes, start, stop)
        write(axes, *at, text, color=QUIET)
    axes.set_xlim(0, 100)
    axes.set_ylim(0, 32)
    made.subplots_adjust(top=0.98)
    return made


def resampling() -> Figure:
    """The right adrenal gland of the example as stored and resampled; how the volumes of some structures change."""
    names = ("adrenal_gland_right", "adrenal_gland_left", "rib_right_12", "rib_left_12", "pancreas", "kidney_left")
    spacings = ((1.5, 1.5, 1.5), (1.5, 1.5, 5.0), (5.0, 5.0, 5.0))
    label_map = load_label_map("totalsegmentator_v2")
    array, affine = read_volume(LABEL)
    native = scan(torch.from_numpy(array)[None], affine)
    labels = [native, *(Spacing(spacing, mode="nearest")(native) for spacing in spacings)]
    rows = [label_map.names.index(name) for name in names]
    volumes = [MeasureVolume(label_map)(label)["volume_mm3"][rows].numpy() / 1000 for label in labels]
    made, (left, middle, right) = figure(9.6, 3.5, 3, width_ratios=[1, 1, 1.6])
    for one, number, text in ((left, 0, "3 mm, as stored"), (middle, -1, "5 mm, nearest neighbour")):
        matrix = np.asarray(labels[number].affine)
        height = round((397.3 - matrix[2, 3]) / matrix[2, 2])
        mask = np.asarray(labels[number][0, :, :, height]) == label_map.by_name(names[0]).label
        draw_grid(one, mask, matrix[np.ix_((0, 1, 3), (0, 1, 3))])
        write(one, 29, 115.5, f"{names[0]}: {volumes[number][0]:.1f} ml", fontsize=9)
        window(one, (52, 6), (120, 172), text)
    right.set_axis_on()
    right.set_aspect("auto")
    looks = (("o", EDGE_B), ("s", EDGE), ("D", ACCENT))
    for found, spacing, (marker, colour) in zip(volumes[1:], spacings, looks, strict=True):
        text = " x ".join(f"{length:g}" for length in spacing) + " mm"
        right.plot(100 * (found / volumes[0] - 1), range(len(names)), marker, color=colour, label=text, markersize=7)
    right.axvline(0, color=INK, linewidth=1)
    told = [f"{name}, {volume:.1f} ml" for name, volume in zip(names, volumes[0], strict=True)]
    right.set_yticks(range(len(names)), told)
    right.invert_yaxis()
    right.tick_params(labelsize=8.5, colors=INK, length=0)
    right.grid(axis="x", color=LINE)
    right.set_xlabel("change of volume by resampling, %", fontsize=9, color=INK)
    right.legend(fontsize=8, loc="lower right", frameon=False)
    for side in ("top", "right", "left"):
        right.spines[side].set_visible(False)
    made.subplots_adjust(bottom=0.16, left=0.01)
    place = right.get_position()
    right.set_position((place.x0 + 0.17, place.y0, place.width - 0.17, place.height))
    return made


def phantom() -> Figure:
    """A phantom in three planes, its structures tinted."""
    made_phantom = make_phantom(7)
    image, matrix = reorient_to_ras(made_phantom.image, made_phantom.affine)
    label, _ = reorient_to_ras(made_phantom.label, made_phantom.affine)
    sizes = np.linalg.norm(matrix[:3, :3], axis=0).tolist()
    hues = np.arange(int(label.max()) + 1)[:, None] * 0.61803
    colours = 0.25 + 0.75 * np.clip(np.abs((hues + np.array([0, 2, 1]) / 3) % 1 * 6 - 3) - 1, 0, 1)
    cuts = (("axial", 2, "pancreas"), ("coronal", 1, "kidney_left"), ("sagittal", 0, "vertebrae_L3"))
    made, axes = figure(9.6, 4.0, 3, width_ratios=[360, 360, 270])
    for one, (plane, axis, name) in zip(axes, cuts, strict=True):
        at = round((made_phantom.shapes[name].center_ras_mm[axis] - matrix[axis, 3]) / matrix[axis, axis])
        view, ids = (extract_slice(volume, plane, at, sizes) for volume in (image, label))  # type: ignore[arg-type]
        grey = np.repeat(apply_window(view.pixels, CT_WINDOWS["soft_tissue"])[..., None], 3, axis=2) / 255
        tinted = 0.45 * grey + 0.55 * colours[ids.pixels.astype(int)]
        high, wide = view.size_mm
        shown = np.where((ids.pixels > 0)[..., None], tinted, grey)
        one.imshow(shown, extent=(0, wide, high, 0), interpolation="nearest")
        _letters(one, view)
        window(one, (0, wide), (400, 0), plane)
    return made


def _letters(axes: Axes, view: SliceView) -> None:
    high, wide = view.size_mm
    for x, y, letter in (
        (10, high / 2, view.letters.left),
        (wide - 10, high / 2, view.letters.right),
        (wide / 2, 12, view.letters.top),
    ):
        write(axes, x, y, letter, color="white", fontweight="bold", fontsize=11)


def card_kidney_left() -> Image.Image:
    """The case card of the example's left kidney, as the measure stage draws it."""
    with tempfile.TemporaryDirectory() as folder:
        settings = MeasureSettings(
            labels=str(LABEL),
            images=str(SCAN),
            label_map="totalsegmentator_v2",
            distances={"among": ["abdominal_organs"]},
            cards=["kidney_left"],
            output_dir=folder,
            progress=False,
        )
        with contextlib.redirect_stdout(io.StringIO()):  # its summary
            run_measurement(settings)
        (path,) = Path(folder, "cards").glob("*.png")
        drawn = Image.open(path).convert("RGB")
    return drawn.resize((drawn.width * 5 // 6, drawn.height * 5 // 6), Image.Resampling.LANCZOS)


PICTURES: dict[Callable[[], Figure | Image.Image], int] = {
    box: 64,
    volume_band: 64,
    oblique_and_sheared: 64,
    centres: 64,
    surface_distance: 128,
    axial_diameter: 128,
    truncation: 64,
    radiological: 128,
    presence: 64,
    resampling: 64,
    phantom: 128,
    card_kidney_left: 64,
    views_axial: 48,
    views_planes: 64,
    views_montage: 48,
    views_structure: 64,
    views_windows: 64,
    report_wide: 64,
    report_case: 48,
    report_narrow: 64,
}
"""What draws ``docs/images/<name>.png``, and how many colours it needs."""


def main(names: Sequence[str]) -> None:
    """Draw the pictures named, or all."""
    folder = DOCS / "images"
    folder.mkdir(exist_ok=True)
    for draw, colours in PICTURES.items():
        if not names or draw.__name__ in names:
            (folder / f"{draw.__name__}.png").write_bytes(small_png(draw(), colours))


if __name__ == "__main__":
    main(sys.argv[1:])
