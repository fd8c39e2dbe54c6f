"""Draw every picture of the documentation: ``python docs/pictures.py`` writes docs/images/*.png.

The drawings show what the package returns: boxes, centres and volumes are measured on the voxels that are drawn.
"""

from __future__ import annotations

import io
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure
from matplotlib.patches import Ellipse, FancyBboxPatch, Polygon, Rectangle
from monai.data import MetaTensor
from monai.transforms import Spacing
from numpy.typing import NDArray
from PIL import Image

from monai_spatialqa.anatomy import load_label_map
from monai_spatialqa.measurement import MeasureSettings, run_measurement
from monai_spatialqa.phantoms import make_phantom
from monai_spatialqa.readers.nifti_volume import read_volume
from monai_spatialqa.rendering import CT_WINDOWS, apply_window, extract_slice, reorient_to_ras
from monai_spatialqa.transforms import MeasureBoundingBox, MeasureVolume

DOCS = Path(__file__).resolve().parent
EXAMPLE = DOCS.parent / "bundles/spatialqa/example"
SCAN = EXAMPLE / "ct/example_ct.nii.gz"
LABEL = EXAMPLE / "seg/example_seg_fast_force_split.nii.gz"

INK, QUIET, LINE, PAPER = "#1F2A36", "#6B7885", "#D3DAE1", "#FFFFFF"
FILL, EDGE = "#FFD27A", "#C07A00"
FILL_B, EDGE_B = "#A9DBF2", "#1577A6"
ACCENT, WRONG = "#B5165D", "#8A94A0"
DPI = 130

Measured = dict[str, Any]


def figure(width: float, height: float, panels: int, **grid: Any) -> tuple[Figure, list[Axes]]:
    """An empty figure in inches with panels side by side, no frames."""
    made = Figure(figsize=(width, height), dpi=DPI, facecolor=PAPER)
    FigureCanvasAgg(made)
    axes = np.atleast_1d(made.subplots(1, panels, gridspec_kw=grid)).ravel().tolist()
    for one in axes:
        one.set_aspect("equal")
        one.set_axis_off()
    made.subplots_adjust(left=0.02, right=0.98, top=0.9, bottom=0.03, wspace=0.06)
    return made, axes


def write(axes: Axes, x: float, y: float, text: str, **style: Any) -> Any:
    """Text in the house style."""
    return axes.text(x, y, text, **{"color": INK, "fontsize": 9.5, "ha": "center", "va": "center", **style})


def title(axes: Axes, text: str) -> None:
    """A panel's heading."""
    axes.set_title(text, fontsize=11, fontweight="bold", color=INK, pad=6)


def arrow(axes: Axes, start: Sequence[float], stop: Sequence[float], colour: str = INK, style: str = "-|>") -> None:
    """An arrow between two points; ``<|-|>`` for a measured length."""
    axes.annotate(
        "",
        stop,
        start,
        arrowprops={
            "arrowstyle": style,
            "color": colour,
            "linewidth": 1.5,
            "mutation_scale": 12,
            "shrinkA": 0,
            "shrinkB": 0,
        },
    )


def dot(axes: Axes, at: Sequence[float], marker: str, colour: str = ACCENT) -> None:
    """A centre: ``+`` for a box centre, ``o`` for a centroid."""
    axes.plot(*at, marker=marker, color=colour, markersize=9, markeredgewidth=2.4, linestyle="none", zorder=6)


def cells(mask: NDArray[np.bool_], affine: NDArray[np.float64]) -> list[NDArray[np.float64]]:
    """Corners of the marked voxels of a 2-D mask, in the world of a 2-D affine (3 x 3)."""
    square = np.array([(-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5)])
    return [(square + index) @ affine[:2, :2].T + affine[:2, 2] for index in np.argwhere(mask)]


def draw_voxels(
    axes: Axes,
    mask: NDArray[np.bool_],
    affine: NDArray[np.float64],
    fill: str | None = FILL,
    edge: str = LINE,
    **style: Any,
) -> None:
    """Fill the marked voxels, or draw their outlines only."""
    axes.add_collection(
        PolyCollection(
            cells(mask, affine), facecolors=fill or "none", edgecolors=edge, **{"linewidths": 0.8, "zorder": 2, **style}
        )
    )
    axes.autoscale_view()


def polygon(axes: Axes, points: Any, colour: str, style: Any = "--", width: float = 1.8, **more: Any) -> None:
    """A closed outline."""
    axes.add_patch(
        Polygon(
            points, closed=True, fill=False, edgecolor=colour, linestyle=style, linewidth=width, **{"zorder": 5, **more}
        )
    )


def box_points(low: Sequence[float], high: Sequence[float]) -> list[tuple[float, float]]:
    """Corners of an upright rectangle."""
    return [(low[0], low[1]), (high[0], low[1]), (high[0], high[1]), (low[0], high[1])]


def measured(mask: NDArray[np.bool_], affine: NDArray[np.float64], plane: tuple[int, int] = (0, 1)) -> Measured:
    """Box and volume of a drawing, by the package: the mask becomes one slice of 1 mm in the plane of two world axes."""
    matrix = np.eye(4)
    matrix[np.ix_(plane, plane)] = affine[:2, :2]
    matrix[plane, 3] = affine[:2, 2]
    through = ({0, 1, 2} - set(plane)).pop()
    label = MetaTensor(
        torch.from_numpy(np.expand_dims(mask, through).astype(np.uint8))[None], affine=torch.from_numpy(matrix)
    )
    label.meta["original_affine"] = label.affine
    found = MeasureBoundingBox({1: "s"})(label) | MeasureVolume({1: "s"})(label)
    return {name: np.asarray(value)[0][..., plane] for name, value in found.items() if value.shape[-1:] == (3,)} | {
        name: np.asarray(value)[0] for name, value in found.items() if value.shape[-1:] != (3,)
    }


def straight(spacing: float) -> NDArray[np.float64]:
    """A 2-D grid along the world's axes."""
    return np.diag([spacing, spacing, 1.0])


def mask_of(rows: Sequence[str]) -> NDArray[np.bool_]:
    """A mask from text, first row on top; ``#`` is the structure. Axis 0 runs to the right, axis 1 upwards."""
    return np.array([[letter == "#" for letter in row] for row in rows[::-1]]).T


def box_and_extent() -> Figure:
    """Half-open index box, outer faces and extent; box centre and centroid."""
    mask = mask_of(["..........", "..###.....", "..####....", "..##......", "..#####...", "..........", ".........."])
    grid = straight(3.0)
    found = measured(mask, grid)
    (i0, j0), (i1, j1) = found["box_index"].astype(int)
    made, axes = figure(9.6, 3.9, 2)
    for one in axes:
        draw_voxels(one, np.ones_like(mask), grid, None)
        draw_voxels(one, mask, grid, FILL, EDGE)
        polygon(one, box_points(found["world_min_ras_mm"], found["world_max_ras_mm"]), ACCENT)
    left, right = axes
    title(left, "Index box: half-open, in voxels")
    for i in range(mask.shape[0]):
        inside = i0 <= i < i1
        write(left, 3 * i, -3.1, str(i), color=ACCENT if inside else QUIET, fontweight="bold" if inside else "normal")
    for j in range(mask.shape[1]):
        inside = j0 <= j < j1
        write(left, -3.1, 3 * j, str(j), color=ACCENT if inside else QUIET, fontweight="bold" if inside else "normal")
    left.plot(*np.mgrid[0 : mask.shape[0], 0 : mask.shape[1]].reshape(2, -1) * 3.0, ".", color=WRONG, markersize=2.5)
    write(left, 13.5, -6, f"index_start ({i0}, {j0})    index_stop ({i1}, {j1}): one past the last voxel")
    title(right, "Extent: between outer faces, in mm")
    low, high = found["world_min_ras_mm"], found["world_max_ras_mm"]
    arrow(right, (low[0], low[1] - 2.4), (high[0], low[1] - 2.4), ACCENT, "<|-|>")
    arrow(right, (high[0] + 2.4, low[1]), (high[0] + 2.4, high[1]), ACCENT, "<|-|>")
    across, up = found["extent_mm"]
    label = {"color": ACCENT, "fontsize": 9, "bbox": {"facecolor": PAPER, "edgecolor": "none", "pad": 1.2}, "zorder": 7}
    write(right, (low[0] + high[0]) / 2, low[1] - 2.4, f"{i1 - i0} voxels x 3 mm = {across:g} mm", **label)
    write(right, high[0] + 2.4, (low[1] + high[1]) / 2, f"{up:g} mm", **label)
    dot(right, found["center_ras_mm"], "+")
    dot(right, found["centroid_ras_mm"], "o", INK)
    write(right, 13.5, -6, "+  centre of the box          \N{BLACK CIRCLE}  centroid: mean of the voxel centres")
    for one in axes:
        one.set_xlim(-5, 30)
        one.set_ylim(-8, 20.5)
    return made


def volume_band() -> Figure:
    """The volume when every boundary voxel counts half, inside and outside."""
    mask = mask_of(["..........", "...####...", "..######..", "..######..", "...#####..", ".....#....", ".........."])
    grid = straight(1.0)
    padded = np.pad(mask, 1)
    around = [np.roll(padded, step, axis)[1:-1, 1:-1] for axis in (0, 1) for step in (1, -1)]
    inside = mask & ~np.logical_and.reduce(around)
    outside = ~mask & np.logical_or.reduce(around)
    made, axes = figure(9.6, 3.1, 3)
    count = int(mask.sum())
    panels = (
        ("Lower end", inside, f"{count} - {int(inside.sum())} / 2 = {count - inside.sum() / 2:g} voxels"),
        ("Volume", np.zeros_like(mask), f"{count} voxels"),
        ("Upper end", outside, f"{count} + {int(outside.sum())} / 2 = {count + outside.sum() / 2:g} voxels"),
    )
    for one, (name, half, text) in zip(axes, panels, strict=True):
        title(one, name)
        draw_voxels(one, np.ones_like(mask), grid, None)
        draw_voxels(one, mask & ~half, grid, FILL, EDGE)
        draw_voxels(one, half, grid, "#FFF0CF", EDGE, hatch="////")
        write(one, 4.5, -1.35, text)
        one.set_ylim(-2, 7)
    return made


def oblique_and_sheared() -> Figure:
    """What a box means on a grid that is not along the body's axes."""
    mask = mask_of(["......#.", ".....##.", "....##..", "..###...", ".##.....", "#......."])
    angle = np.deg2rad(24)
    turned = np.eye(3)
    turned[:2, :2] = 3.0 * np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    tilted = np.eye(3)
    tilted[:2, :2] = 3.0 * np.array([[1.0, np.sin(np.deg2rad(20))], [0.0, np.cos(np.deg2rad(20))]])
    made, (left, right) = figure(9.6, 4.3, 2)
    for one, grid, plane in ((left, turned, (0, 1)), (right, tilted, (1, 2))):
        found = measured(mask, grid, plane)
        draw_voxels(one, np.ones_like(mask), grid, None)
        draw_voxels(one, mask, grid, FILL, EDGE)
        start, stop = found["box_index"] - 0.5
        corners = np.array(box_points(start, stop)) @ grid[:2, :2].T + grid[:2, 2]
        world = box_points(found["world_min_ras_mm"], found["world_max_ras_mm"])
        sheared = one is right
        if sheared:
            polygon(one, world, ACCENT)
        else:
            polygon(one, box_points(corners.min(axis=0), corners.max(axis=0)), WRONG, ":")
            polygon(one, world, EDGE_B, "-.")
            polygon(one, corners, ACCENT)
        dot(one, found["center_ras_mm"], "+")
        names = ("A", "S") if sheared else ("R", "A")
        low = np.array(one.dataLim.intervalx[0] - 1), one.dataLim.intervaly[0] - 2.5
        arrow(one, low, (low[0] + 6, low[1]))
        arrow(one, low, (low[0], low[1] + 6))
        write(one, low[0] + 7.4, low[1], names[0], fontweight="bold")
        write(one, low[0], low[1] + 7.4, names[1], fontweight="bold")
        if sheared:
            norms = np.linalg.norm(grid[:2, :2], axis=0)
            area, product = abs(np.linalg.det(grid[:2, :2])), float(np.prod(norms))
            text = f"voxel face: |det| {area:.2f} mm\N{SUPERSCRIPT TWO}, product of edges {product:.2f} mm\N{SUPERSCRIPT TWO}"
            write(one, 14, -5.6, text)
        else:
            legend = (("--", ACCENT, "index box: extent_mm"), ("-.", EDGE_B, "world box, from the voxels"))
            for row, (style, colour, text) in enumerate((*legend, (":", WRONG, "around the corners: not used"))):
                one.plot([7.5, 10.5], [-3.2 - 2 * row] * 2, linestyle=style, color=colour, linewidth=1.8)
                write(one, 11.3, -3.2 - 2 * row, text, ha="left", fontsize=8.5)
        one.autoscale_view()
    title(left, "Oblique grid")
    title(right, "Sheared grid (gantry tilt): the world box is the box")
    return made


def centres() -> Figure:
    """Two kinds of centre distance, and a centroid that lies outside."""
    c_shape = mask_of([".####...", "##......", "##......", "##......", "##......", ".######."])
    hook = mask_of(["###.....", "###.....", "#.......", "#.......", "#.......", "#######."])
    grid, far = straight(3.0), straight(3.0)
    far[0, 2], far[1, 2] = 42.0, 6.0
    a, b = measured(c_shape, grid), measured(hook, far)
    made, (left, right) = figure(9.6, 3.7, 2, width_ratios=[1, 2.2])
    draw_voxels(left, c_shape, grid, FILL, EDGE)
    dot(left, a["centroid_ras_mm"], "o", INK)
    dot(left, a["center_ras_mm"], "+")
    title(left, "centroid_inside: false")
    write(left, 9.5, -4.4, "the mean of the voxel centres\nlies in a voxel that is not hers".replace("hers", "marked"))
    draw_voxels(right, c_shape, grid, FILL, EDGE)
    draw_voxels(right, hook, far, FILL_B, EDGE_B)
    for name, marker, colour in (("center_ras_mm", "+", ACCENT), ("centroid_ras_mm", "o", INK)):
        ends = np.array([a[name], b[name]])
        right.plot(*ends.T, color=colour, linewidth=1.6, linestyle="--" if marker == "+" else "-", zorder=5)
        for end in ends:
            dot(right, end, marker, colour)
        kind = "box_center" if marker == "+" else "centroid"
        write(
            right,
            31,
            -3.2 if marker == "+" else -6,
            f"{kind}: {np.linalg.norm(ends[1] - ends[0]):.1f} mm",
            color=colour,
        )
    title(right, "Distance of box centres (+), of centroids (\N{BLACK CIRCLE})")
    for one in (left, right):
        one.set_ylim(-8, 25)
    left.set_xlim(-4, 23)
    right.set_xlim(-3, 67)
    return made


def truncation() -> Figure:
    """A structure that reaches the border of the field of view."""
    made, axes = figure(9.6, 3.6, 2)
    size, grid = (14, 9), straight(1.0)
    index = np.mgrid[0 : size[0], 0 : size[1] + 4]
    organ = ((index[0] - 9.6) / 3.4) ** 2 + ((index[1] - 7.4) / 3.6) ** 2 < 1
    whole = ((index[0] - 3.2) / 1.9) ** 2 + ((index[1] - 3.0) / 2.0) ** 2 < 1
    seen = organ[:, : size[1]]
    for one, margin in zip(axes, (0, 1), strict=True):
        title(one, f"fov_margin_voxels: {margin}")
        layer = np.zeros(size, dtype=bool)
        layer[: 1 + margin], layer[-1 - margin :], layer[:, : 1 + margin], layer[:, -1 - margin :] = (True,) * 4
        draw_voxels(one, np.ones(size, dtype=bool), grid, None)
        draw_voxels(one, layer, grid, "#F1F3F6", LINE)
        draw_voxels(one, seen, grid, FILL, EDGE)
        draw_voxels(one, whole[:, : size[1]], grid, FILL_B, EDGE_B)
        draw_voxels(one, seen & layer, grid, "none", ACCENT, linewidths=1.8, zorder=4)
        draw_voxels(one, whole[:, : size[1]] & layer, grid, "none", ACCENT, linewidths=1.8, zorder=4)
        one.add_patch(
            Ellipse((9.6, 7.4), 6.8, 7.2, fill=False, edgecolor=WRONG, linestyle=":", linewidth=1.5, zorder=1)
        )
        polygon(one, box_points((-0.5, -0.5), (size[0] - 0.5, size[1] - 0.5)), INK, "-", 2.0)
        write(one, 3.0, 9.2, "face: superior", color=QUIET)
        write(one, -1.2, 4, "left", color=QUIET, rotation=90)
        write(one, 14.2, 4, "right", color=QUIET, rotation=90)
        write(one, 6.5, -1.3, "inferior", color=QUIET)
        write(one, 12.6, 10.6, "not in\nthe file", color=QUIET, fontsize=8.5)
        reached = "truncated: superior"
        write(one, 9.6, 5.6, reached, fontsize=8.5, fontweight="bold")
        near = bool((whole[:, : size[1]] & layer).any())
        write(one, 3.2, 3.0, "truncated:\nleft, inferior" if near else "ok", fontsize=8.5, fontweight="bold", zorder=7)
        one.set_xlim(-2, 15)
        one.set_ylim(-2.2, 11.6)
    return made


def radiological() -> Figure:
    """RAS directions on an axial slice as a radiologist hangs it, and direction with a dead zone."""
    made, (left, right) = figure(9.6, 4.2, 2, width_ratios=[1.25, 1])
    image, affine = read_volume(SCAN)
    volume, matrix = reorient_to_ras(image, affine)
    view = extract_slice(volume, "axial", 88, np.linalg.norm(matrix[:3, :3], axis=0).tolist())
    high, wide = view.size_mm
    left.imshow(
        apply_window(view.pixels, CT_WINDOWS["soft_tissue"]),
        cmap="gray",
        extent=(0, wide, high, 0),
        interpolation="bilinear",
    )
    for x, y, letter in (
        (-14, high / 2, "R"),
        (wide + 14, high / 2, "L"),
        (wide / 2, -14, "A"),
        (wide / 2, high + 15, "P"),
    ):
        write(left, x, y, letter, fontsize=14, fontweight="bold")
    middle = np.array([wide / 2, high / 2])
    arrow(left, middle, middle - (110, 0), "#FFB000")
    arrow(left, middle, middle - (0, 95), "#FFB000")
    bright = {"color": "#FFB000", "fontweight": "bold", "fontsize": 11}
    write(left, middle[0] - 128, middle[1], "+R", **bright)
    write(left, middle[0], middle[1] - 108, "+A", **bright)
    left.plot(*middle, marker="o", markersize=13, color="black", markeredgecolor="#FFB000", markeredgewidth=2)
    left.plot(*middle, marker="x", markersize=7, color="#FFB000", markeredgewidth=2)
    write(left, middle[0] + 26, middle[1] + 20, "+S, away", **bright)
    left.set_xlim(-28, wide + 28)
    left.set_ylim(high + 28, -28)
    title(left, "Radiological display: patient's right on image left")
    title(right, "Direction from a to b, dead zone 5 mm")
    right.add_patch(Rectangle((-60, -5), 80, 10, color="#EDF0F4", zorder=0))
    right.add_patch(Rectangle((-5, -32), 10, 64, color="#EDF0F4", zorder=0))
    for name, at, fill, edge in (("a", (0.0, 0.0), FILL, EDGE), ("b", (-42.0, -3.0), FILL_B, EDGE_B)):
        right.add_patch(Ellipse(at, 16, 12, facecolor=fill, edgecolor=edge, linewidth=1.5, zorder=2))
        write(right, at[0] + 5, at[1] + 2.6, name, fontweight="bold", zorder=7)
        dot(right, at, "+", INK)
    arrow(right, (0, 0), (-42, -3), ACCENT)
    write(right, -20, 25, "offset R +42 mm: right (1)", color=ACCENT)
    write(right, -20, -25, "offset A -3 mm: in the dead zone (0)", color=ACCENT)
    write(right, -63, 0, "R", fontsize=13, fontweight="bold")
    write(right, 23, 0, "L", fontsize=13, fontweight="bold")
    write(right, 0, 36, "A", fontsize=13, fontweight="bold")
    write(right, 0, -36, "P", fontsize=13, fontweight="bold")
    right.set_xlim(-66, 27)
    right.set_ylim(-40, 40)
    return made


def presence() -> Figure:
    """Absent and not_segmented are different facts."""
    made, (axes,) = figure(9.6, 2.9, 1)
    axes.set_aspect("auto")
    axes.set_xlim(0, 100)
    axes.set_ylim(0, 32)

    def card(x: float, y: float, text: str, fill: str, edge: str, width: float = 22) -> None:
        style = "round,pad=0,rounding_size=1.2"
        axes.add_patch(
            FancyBboxPatch((x - width / 2, y - 4.6), width, 9.2, boxstyle=style, facecolor=fill, edgecolor=edge)
        )
        write(axes, x, y, text, fontsize=9)

    card(13, 25, "Was the structure looked for?\n(setting: segmented)", "#F4F6F8", QUIET, 24)
    card(50, 25, "Does it have a voxel\nin the label map?", "#F4F6F8", QUIET)
    card(87, 25, "ok, or other statuses\ncount, volume, box, centroid", FILL, EDGE, 24)
    card(13, 6, "not_segmented\neverything is null", "#FFFFFF", ACCENT, 24)
    card(50, 6, "absent\ncount 0, volume 0, no box", "#FFFFFF", ACCENT, 24)
    for start, stop in (((25, 25), (39, 25)), ((61, 25), (75, 25)), ((13, 20.4), (13, 10.6)), ((50, 20.4), (50, 10.6))):
        arrow(axes, start, stop)
    for x, y, text in ((32, 27, "yes"), (68, 27, "yes"), (16, 15.5, "no"), (53, 15.5, "no")):
        write(axes, x, y, text, color=QUIET)
    made.subplots_adjust(top=0.98)
    return made


def resampling() -> Figure:
    """The right adrenal gland of the example on its own grid and resampled; volume changes of small structures."""
    names = ("adrenal_gland_left", "adrenal_gland_right", "rib_left_12", "rib_right_12", "pancreas", "kidney_left")
    spacings = ((1.5, 1.5, 1.5), (1.5, 1.5, 5.0), (5.0, 5.0, 5.0))
    label_map = load_label_map("totalsegmentator_v2")
    array, affine = read_volume(LABEL)
    native = MetaTensor(torch.from_numpy(np.ascontiguousarray(array))[None], affine=torch.from_numpy(affine))
    native.meta["original_affine"] = native.affine
    rows = [label_map.names.index(name) for name in names]
    volumes, grids = [], []
    for spacing in (None, *spacings):
        label = native if spacing is None else Spacing(spacing, mode="nearest")(native)
        volumes.append(MeasureVolume(label_map)(label)["volume_mm3"][rows].numpy() / 1000)
        grids.append(label)
    made, (left, middle, right) = figure(9.6, 3.5, 3, width_ratios=[1, 1, 1.75])
    gland = names[1]
    for one, label, text in ((left, grids[0], "3 mm, as stored"), (middle, grids[-1], "5 mm, nearest neighbour")):
        matrix = np.asarray(label.affine)
        at = round((397.3 - matrix[2, 3]) / matrix[2, 2])
        mask = np.asarray(label[0, :, :, at]) == label_map.by_name(gland).label
        flat = np.eye(3)
        flat[:2, :2], flat[:2, 2] = matrix[:2, :2], matrix[:2, 3]
        flat[0] *= -1  # the patient's right on the image's left
        draw_voxels(one, np.ones_like(mask), flat, None)
        draw_voxels(one, mask, flat, FILL, EDGE)
        one.set_xlim(-52, -8)
        one.set_ylim(118, 170)
        title(one, text)
    write(left, -30, 114, f"{gland}: {volumes[0][1]:.2f} ml")
    write(middle, -30, 114, f"{volumes[-1][1]:.2f} ml")
    right.set_axis_on()
    right.set_aspect("auto")
    styles = (("o", EDGE_B), ("s", EDGE), ("D", ACCENT))
    for found, spacing, (marker, colour) in zip(volumes[1:], spacings, styles, strict=True):
        change = 100 * (found / volumes[0] - 1)
        text = " x ".join(f"{length:g}" for length in spacing) + " mm"
        right.plot(change, range(len(names)), marker, color=colour, label=text, markersize=7)
    right.axvline(0, color=INK, linewidth=1)
    right.set_yticks(
        range(len(names)), [f"{name} ({volume:.1f} ml)" for name, volume in zip(names, volumes[0], strict=True)]
    )
    right.invert_yaxis()
    right.tick_params(labelsize=8.5, colors=INK, length=0)
    right.grid(axis="x", color=LINE)
    right.set_xlabel("change of volume against the stored grid, %", fontsize=9, color=INK)
    right.legend(fontsize=8, loc="lower right", frameon=False)
    for side in ("top", "right", "left"):
        right.spines[side].set_visible(False)
    made.subplots_adjust(bottom=0.16, wspace=0.08)
    box = right.get_position()
    right.set_position([box.x0 + 0.15, box.y0, box.width - 0.15, box.height])
    return made


def phantom() -> Figure:
    """A phantom: image and label map in three planes."""
    made_phantom = make_phantom(7)
    image, matrix = reorient_to_ras(made_phantom.image, made_phantom.affine)
    label, _ = reorient_to_ras(made_phantom.label, made_phantom.affine)
    sizes = np.linalg.norm(matrix[:3, :3], axis=0).tolist()
    colours = _colours(int(label.max()) + 1)
    made, axes = figure(9.6, 4.0, 3, width_ratios=[1.33, 0.9, 0.67])
    for one, plane, point in zip(axes, ("axial", "coronal", "sagittal"), (-4.0, -20.0, -60.0), strict=True):
        axis = {"axial": 2, "coronal": 1, "sagittal": 0}[plane]
        at = round((point - matrix[axis, 3]) / matrix[axis, axis])
        scan, drawn = extract_slice(image, plane, at, sizes), extract_slice(label, plane, at, sizes)
        grey = np.repeat(apply_window(scan.pixels, CT_WINDOWS["soft_tissue"])[..., None], 3, axis=2) / 255
        tint = colours[drawn.pixels.astype(int)]
        shown = np.where((drawn.pixels > 0)[..., None], 0.45 * grey + 0.55 * tint, grey)
        high, wide = scan.size_mm
        one.imshow(shown, extent=(0, wide, high, 0), interpolation="nearest")
        one.text(0.03, 0.5, scan.letters.left, transform=one.transAxes, color="white", fontweight="bold", va="center")
        one.text(
            0.97,
            0.5,
            scan.letters.right,
            transform=one.transAxes,
            color="white",
            fontweight="bold",
            ha="right",
            va="center",
        )
        one.text(
            0.5,
            0.98,
            scan.letters.top,
            transform=one.transAxes,
            color="white",
            fontweight="bold",
            ha="center",
            va="top",
        )
        title(one, plane)
    return made


def _colours(count: int) -> NDArray[np.float64]:
    """One clear colour per id."""
    hues = (np.arange(count) * 0.61803) % 1.0
    wheel = np.stack([np.abs(hues * 6 - 3) - 1, 2 - np.abs(hues * 6 - 2), 2 - np.abs(hues * 6 - 4)], axis=1)
    return np.asarray(0.25 + 0.75 * np.clip(wheel, 0, 1))


def card() -> Image.Image:
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
        run_measurement(settings)
        (path,) = Path(folder, "cards").glob("*.png")
        return Image.open(path).convert("RGB")


def small_png(picture: Image.Image, colours: int) -> bytes:
    """A palette PNG: these pictures have few colours."""
    target = io.BytesIO()
    reduced = picture.quantize(colours, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    reduced.save(target, "PNG", optimize=True)
    return target.getvalue()


PICTURES: dict[str, tuple[Callable[[], Figure | Image.Image], int]] = {
    "box": (box_and_extent, 64),
    "volume_band": (volume_band, 64),
    "oblique_and_sheared": (oblique_and_sheared, 64),
    "centres": (centres, 64),
    "truncation": (truncation, 64),
    "radiological": (radiological, 128),
    "presence": (presence, 64),
    "resampling": (resampling, 64),
    "phantom": (phantom, 128),
    "card_kidney_left": (card, 64),
}
"""File name in docs/images -> what draws it, and how many colours it needs."""


def main(names: Sequence[str]) -> None:
    """Draw the pictures named, or all."""
    folder = DOCS / "images"
    folder.mkdir(exist_ok=True)
    for name in names or PICTURES:
        draw, colours = PICTURES[name]
        drawn = draw()
        if isinstance(drawn, Figure):
            buffer = io.BytesIO()
            drawn.savefig(buffer, format="png", dpi=DPI, metadata={"Software": None})
            drawn = Image.open(buffer).convert("RGB")
        (folder / f"{name}.png").write_bytes(small_png(drawn, colours))


if __name__ == "__main__":
    main(sys.argv[1:])
