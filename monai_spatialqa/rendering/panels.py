"""Drawing one slice with its overlays into matplotlib axes, in mm, with letters and a scale bar."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.patheffects import withStroke
from matplotlib.text import Text

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


@dataclass(frozen=True, eq=False)
class Segment:
    """A measured line.

    Args:
        ends_index: (2, 3) end points in RAS-grid indices.
        text: value with unit, drawn beside the line, or None.
    """

    ends_index: npt.NDArray[np.float64]
    text: str | None


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


def round_length_mm(limit_mm: float) -> float:
    """The largest of 1, 2, 5 x 10^k mm that is not longer than the limit."""
    power = 10.0 ** math.floor(math.log10(limit_mm))
    return max(step * power for step in (1, 2, 5) if step * power <= limit_mm)


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
    for line in outlines_mm(mask):
        axes.plot(line[:, 0], line[:, 1], color=overlay.colour, linewidth=1.5, path_effects=_halo(2.6, 0.55))
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


def draw_segment(axes: Axes, view: SliceView, segment: Segment, cell_mm: tuple[float, float], *, named: bool) -> None:
    """The line projected onto the slice, with a dot at each end and, where ``named``, its value beside it.

    On a line much shorter than the text the value is left out.

    The axes' limits must be set before: the text is placed by its size on the page.
    """
    ends = view.to_mm(segment.ends_index)
    style: dict[str, Any] = {"color": SEGMENT_COLOUR, "path_effects": _halo(3.6, 0.8)}
    axes.plot(ends[:, 0], ends[:, 1], linewidth=1.8, marker="o", markersize=4.2, **style)
    if not (named and segment.text):
        return
    middle = ends.mean(axis=0)
    text = write(
        axes,
        float(middle[0]),
        float(middle[1]),
        segment.text,
        color=SEGMENT_COLOUR,
        fontsize=9.5,
        fontweight="bold",
        ha="center",
        va="center",
        bbox={"boxstyle": "round,pad=0.2", "facecolor": "black", "edgecolor": "none", "alpha": 0.65},
        zorder=6,
    )
    extent = text.get_window_extent()
    half = np.array([extent.width, extent.height]) / 2 * cell_mm[0] / axes.bbox.width
    if 2 * half[0] > 1.5 * np.linalg.norm(ends[1] - ends[0]):
        text.remove()  # it would hide what the short line measures; the header has the value
        return
    at = _beside(ends, half * (1.08, 1.5), axes)
    text.set_position((float(at[0]), float(at[1])))


def _beside(ends: npt.NDArray[np.float64], half: npt.NDArray[np.float64], axes: Axes) -> npt.NDArray[np.float64]:
    """Centre of a text of this half size, mm, that stands above the middle of a line and within the axes."""
    step = ends[1] - ends[0]
    length = float(np.linalg.norm(step))
    normal = np.array([step[1], -step[0]]) / length if length > 0 else np.array([0.0, -1.0])
    if normal[1] > 0:
        normal = -normal
    at = ends.mean(axis=0) + normal * (np.abs(normal) @ half + 0.4 * half[1])
    limits = np.sort(np.array([axes.get_xlim(), axes.get_ylim()]), axis=1)
    return np.asarray(np.clip(at, limits[:, 0] + half, limits[:, 1] - half))


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

    length = round_length_mm(cell_mm[0] * 0.28)
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
