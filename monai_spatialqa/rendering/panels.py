"""Drawing one slice with its overlays into matplotlib axes, in mm, with letters and a scale bar."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Polygon, Rectangle
from matplotlib.patheffects import withStroke
from matplotlib.text import Text

from monai_spatialqa.rendering.scale_bar import BAR_SHARE, round_length_mm
from monai_spatialqa.rendering.slices import Plane, SliceView
from monai_spatialqa.rendering.structures import IndexBox, outlines_mm

STRUCTURE_COLOUR = "#FFB000"
OTHER_COLOUR = "#4CC9F0"
SEGMENT_COLOUR = "#FF7BC0"
TEXT_COLOUR = "#F2F2F2"
QUIET_COLOUR = "#A9B0B8"

_CAPTION_PX = 14.0
"""How far the middle of the caption lies above the axes."""

_NAMES: dict[Plane, tuple[str, str]] = {
    "axial": ("Axial", "I to S"),
    "coronal": ("Coronal", "P to A"),
    "sagittal": ("Sagittal", "L to R"),
}


@dataclass(frozen=True)
class Overlay:
    """A structure to be drawn: its id, its box, its colour."""

    label: int
    box: IndexBox
    colour: str


@dataclass(frozen=True)
class Field:
    """The part of the volume that is shown: half-open in mm along the RAS grid axes, from the grid's outer corner."""

    start_mm: tuple[float, float, float]
    stop_mm: tuple[float, float, float]

    @property
    def size_mm(self) -> tuple[float, float, float]:
        """Lengths along the three axes."""
        a, b = self.start_mm, self.stop_mm
        return b[0] - a[0], b[1] - a[1], b[2] - a[2]


def write(target: Axes | Figure, x: float, y: float, text: str, **style: Any) -> Text:
    """Text as it stands: no mathematics between dollar signs, no TeX, one font, whatever the user's rcParams say."""
    style = {"color": TEXT_COLOUR, "fontsize": 9.0, "fontfamily": "DejaVu Sans", **style}
    return target.text(x, y, text, parse_math=False, usetex=False, **style)


def set_limits(axes: Axes, view: SliceView, field: Field, cell_mm: tuple[float, float]) -> None:
    """Centre the shown part of the slice in the axes, which are ``cell_mm`` (width, height) large."""
    _, across, down = view.axes
    height, width = view.size_mm
    middle_x = width - (field.start_mm[across] + field.stop_mm[across]) / 2
    middle_y = height - (field.start_mm[down] + field.stop_mm[down]) / 2
    axes.set_xlim(middle_x - cell_mm[0] / 2, middle_x + cell_mm[0] / 2)
    axes.set_ylim(middle_y + cell_mm[1] / 2, middle_y - cell_mm[1] / 2)


def draw_image(axes: Axes, view: SliceView, grey: npt.NDArray[np.uint8], *, smooth: bool) -> None:
    """The grey slice in mm, with a thin frame where the volume ends."""
    height, width = view.size_mm
    axes.imshow(
        grey,
        cmap="gray",
        vmin=0,
        vmax=255,
        origin="upper",
        aspect="auto",
        extent=(0.0, width, height, 0.0),
        interpolation="bilinear" if smooth else "nearest",
    )
    axes.add_patch(Rectangle((0, 0), width, height, fill=False, edgecolor="#3A4048", linewidth=0.7))


def draw_structure(axes: Axes, labels: SliceView, overlay: Overlay, *, filled: bool) -> None:
    """Outline of the structure in this slice and, dashed, its whole box projected onto it."""
    mask = replace(labels, pixels=np.asarray(labels.pixels == overlay.label))
    if filled:
        height, width = mask.size_mm
        tint = np.zeros((*mask.pixels.shape, 4))
        tint[mask.pixels.astype(bool)] = (*_rgb(overlay.colour), 0.45)
        axes.imshow(tint, origin="upper", aspect="auto", extent=(0.0, width, height, 0.0), interpolation="nearest")
    shape: dict[str, Any] = {"fill": False, "joinstyle": "miter", "zorder": 2}
    for line in outlines_mm(mask):
        axes.add_patch(Polygon(line, edgecolor=overlay.colour, linewidth=1.5, path_effects=_halo(2.6, 0.55), **shape))
    (x0, y0), (x1, y1) = labels.to_mm(overlay.box.corners)
    axes.add_patch(
        Rectangle(
            (min(x0, x1), min(y0, y1)),
            abs(x1 - x0),
            abs(y1 - y0),
            fill=False,
            edgecolor=overlay.colour,
            linewidth=1.1,
            linestyle=(0, (5, 3)),
        )
    )


def draw_segment(axes: Axes, view: SliceView, ends_index: npt.NDArray[np.float64], narrowest_mm: float) -> None:
    """The measured line projected onto the slice, with a dot at each end.

    Line and dots become smaller on a structure that is hardly wider than they are, so that its outline stays visible
    on both sides; the dark casing then lies beneath the outline.

    Args:
        axes: with their limits set: sizes are those on the page.
        view: the slice.
        ends_index: (2, 3) end points in RAS-grid indices.
        narrowest_mm: shortest edge of the boxes drawn in this view.
    """
    ends = view.to_mm(ends_index)
    points_per_mm = axes.bbox.width / abs(float(np.diff(axes.get_xlim())[0])) * 72 / axes.figure.dpi
    room = narrowest_mm * points_per_mm
    width = float(np.clip(0.35 * room, 1.1, 1.8))
    dot = float(np.clip(0.6 * room, 1.8, 4.2))
    x, y = ends.T
    axes.plot(x, y, linewidth=width + 1.8, color="black", alpha=0.8, zorder=1.5)
    axes.plot(x, y, linewidth=width, color=SEGMENT_COLOUR, zorder=3)
    edge: dict[str, Any] = {"markeredgecolor": "black", "markeredgewidth": 0.9 * dot / 4.2}
    axes.plot(x, y, linewidth=0, marker="o", markersize=dot + 0.9, color=SEGMENT_COLOUR, zorder=3.1, **edge)


def draw_furniture(axes: Axes, view: SliceView, cell_mm: tuple[float, float], position: str | None) -> None:
    """Edge letters and scale bar in the axes; above them the name of the view, its slice number and position."""
    letter = {"transform": axes.transAxes, "fontsize": 13.0, "fontweight": "bold", "path_effects": _halo(2.5, 1.0)}
    write(axes, 0.02, 0.5, view.letters.left, ha="left", va="center", **letter)
    write(axes, 0.98, 0.5, view.letters.right, ha="right", va="center", **letter)
    write(axes, 0.5, 0.985, view.letters.top, ha="center", va="top", **letter)
    write(axes, 0.5, 0.015, view.letters.bottom, ha="center", va="bottom", **letter)

    above = 1 + _CAPTION_PX / axes.bbox.height
    caption: dict[str, Any] = {"transform": axes.transAxes, "va": "center"}
    name, order = _NAMES[view.plane]
    title = write(axes, 0.01, above, name, fontsize=10.5, fontweight="bold", **caption)
    behind = 0.01 + (title.get_window_extent().width + _CAPTION_PX) / axes.bbox.width
    number = f"slice {view.index + 1} of {view.shape[view.axes[0]]} ({order})"
    write(axes, behind, above, number, color=QUIET_COLOUR, fontsize=8.5, **caption)
    if position:
        write(axes, 0.99, above, position, color=QUIET_COLOUR, fontsize=8.5, ha="right", **caption)

    length = round_length_mm(cell_mm[0] * BAR_SHARE)
    share = length / cell_mm[0]
    bar: dict[str, Any] = {"transform": axes.transAxes, "color": TEXT_COLOUR, "solid_capstyle": "butt"}
    axes.plot([0.97 - share, 0.97], [0.035, 0.035], linewidth=2.4, path_effects=_halo(4.2, 1.0), **bar)
    middle = 0.97 - share / 2
    write(
        axes,
        middle,
        0.048,
        f"{length:g} mm",
        fontsize=8.5,
        ha="center",
        va="bottom",
        transform=axes.transAxes,
        path_effects=_halo(2.2, 1.0),
    )


def _halo(width: float, alpha: float) -> list[Any]:
    return [withStroke(linewidth=width, foreground="black", alpha=alpha)]


def _rgb(colour: str) -> tuple[float, float, float]:
    return int(colour[1:3], 16) / 255, int(colour[3:5], 16) / 255, int(colour[5:7], 16) / 255
