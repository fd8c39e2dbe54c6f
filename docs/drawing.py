"""What the pictures of the documentation share: one style, voxels as squares, and figures measured by the package."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure
from matplotlib.patches import Polygon
from monai.data import MetaTensor
from numpy.typing import NDArray
from PIL import Image

from monai_spatialqa.transforms import MeasureBoundingBox

INK, QUIET, LINE, PAPER, SHADE = "#1F2A36", "#6B7885", "#D3DAE1", "#FFFFFF", "#EDF0F4"
FILL, EDGE, HALF = "#FFD27A", "#C07A00", "#FFF0CF"
FILL_B, EDGE_B = "#A9DBF2", "#1577A6"
ACCENT, UNUSED = "#B5165D", "#8A94A0"
DPI = 130

Float = NDArray[np.float64]
Mask = NDArray[np.bool_]


def figure(width: float, height: float, panels: int, **grid: Any) -> tuple[Figure, list[Axes]]:
    """An empty figure in inches with panels side by side, without frames."""
    made = Figure(figsize=(width, height), dpi=DPI, facecolor=PAPER)
    FigureCanvasAgg(made)
    axes = np.atleast_1d(made.subplots(1, panels, gridspec_kw=grid)).ravel().tolist()
    for one in axes:
        one.set_aspect("equal")
        one.set_axis_off()
    made.subplots_adjust(left=0.02, right=0.98, top=0.9, bottom=0.03, wspace=0.06)
    return made, axes


def window(axes: Axes, x: tuple[float, float], y: tuple[float, float], heading: str) -> None:
    """What a panel shows, and its heading. ``x`` may run backwards: the patient's right on the image's left."""
    axes.set_xlim(*x)
    axes.set_ylim(*y)
    axes.set_title(heading, fontsize=11, fontweight="bold", color=INK, pad=5)


def write(axes: Axes, x: float, y: float, text: str, **style: Any) -> None:
    """Text in the house style."""
    axes.text(x, y, text, **{"color": INK, "fontsize": 9.5, "ha": "center", "va": "center", **style})


def arrow(axes: Axes, start: Sequence[float], stop: Sequence[float], colour: str = INK, style: str = "-|>") -> None:
    """An arrow between two points; ``<|-|>`` for a measured length."""
    look = {"arrowstyle": style, "color": colour, "linewidth": 1.5, "mutation_scale": 12, "shrinkA": 0, "shrinkB": 0}
    axes.annotate("", tuple(stop), tuple(start), arrowprops=look, annotation_clip=False, zorder=6)


def directions(axes: Axes, corner: tuple[float, float], length: float, names: str) -> None:
    """Two small arrows for the directions in which the world's coordinates grow."""
    x, y = corner
    arrow(axes, corner, (x + length, y))
    arrow(axes, corner, (x, y + length))
    write(axes, x + 1.3 * length, y, names[0], fontweight="bold")
    write(axes, x, y + 1.25 * length, names[1], fontweight="bold")


def dot(axes: Axes, at: Sequence[float], marker: str, colour: str = ACCENT) -> None:
    """A centre: ``+`` for a box centre, ``o`` for a centroid."""
    axes.plot(at[0], at[1], marker=marker, color=colour, markersize=9, markeredgewidth=2.4, linestyle="none", zorder=7)


def straight(spacing: float) -> Float:
    """A 2-D grid (3 x 3 matrix) along the world's axes."""
    return np.diag([spacing, spacing, 1.0])


def mask_of(rows: Sequence[str]) -> Mask:
    """A mask from text, first row on top; ``#`` is the structure. Axis 0 runs to the right, axis 1 upwards."""
    return np.array([[letter == "#" for letter in row] for row in rows[::-1]]).T


def draw_voxels(axes: Axes, mask: Mask, grid: Float, fill: str = "none", edge: str = LINE, **style: Any) -> None:
    """The marked voxels of a 2-D mask as squares, or as what a grid makes of squares."""
    square = np.array([(-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5)])
    corners = [(square + index) @ grid[:2, :2].T + grid[:2, 2] for index in np.argwhere(mask)]
    look = {"linewidths": 0.8, "zorder": 2, **style}
    axes.add_collection(PolyCollection(corners, facecolors=fill, edgecolors=edge, **look))


def draw_grid(axes: Axes, mask: Mask, grid: Float, fill: str = FILL, edge: str = EDGE) -> None:
    """All voxels of a 2-D mask, the marked ones filled."""
    draw_voxels(axes, np.ones_like(mask), grid)
    draw_voxels(axes, mask, grid, fill, edge)


def outline(axes: Axes, points: Any, colour: str, style: str = "--", width: float = 1.8) -> None:
    """A closed line."""
    axes.add_patch(
        Polygon(points, closed=True, fill=False, edgecolor=colour, linestyle=style, linewidth=width, zorder=5)
    )


def rectangle(low: Sequence[float], high: Sequence[float]) -> Float:
    """Corners of an upright rectangle."""
    return np.array([(low[0], low[1]), (high[0], low[1]), (high[0], high[1]), (low[0], high[1])])


def measured(mask: Mask, grid: Float, plane: tuple[int, int] = (0, 1)) -> dict[str, Float]:
    """What ``MeasureBoundingBox`` says of a drawing, in the plane of two world axes, as one slice of 1 mm."""
    through = ({0, 1, 2} - set(plane)).pop()
    affine = np.eye(4)
    affine[np.ix_(plane, (*plane, 3))] = grid[:2]
    voxels = torch.from_numpy(np.expand_dims(mask, through).astype(np.uint8))[None]
    found = MeasureBoundingBox({1: "drawn"})(scan(voxels, affine))
    return {name: value[0].numpy()[..., list(plane)] for name, value in found.items() if value.ndim > 1}


def scan(voxels: torch.Tensor, affine: Float) -> MetaTensor:
    """A channel-first array with its affine, as a reader would hand it on."""
    made = MetaTensor(voxels, affine=torch.from_numpy(affine.copy()))
    made.meta["original_affine"] = made.affine.clone()
    return made


def small_png(picture: Figure | Image.Image, colours: int) -> bytes:
    """A palette PNG, the same bytes from the same picture."""
    if isinstance(picture, Figure):
        buffer = io.BytesIO()
        picture.savefig(buffer, format="png", dpi=DPI)
        picture = Image.open(buffer)
    pixels = picture.convert("RGB")
    palette = _greys_and_bright(pixels, colours)
    reduced = pixels.quantize(palette=palette, dither=Image.Dither.NONE)
    paper = Image.fromarray((np.asarray(pixels).min(axis=2) == 255).astype(np.uint8) * 255)
    reduced.paste(colours // 2 - 1, mask=paper)  # white stays white
    target = io.BytesIO()
    reduced.save(target, "PNG", optimize=True)
    return target.getvalue()


def _greys_and_bright(picture: Image.Image, colours: int) -> Image.Image:
    """A palette for drawings and scans: half of it greys, half of it what is coloured, however small its area."""
    pixels = np.asarray(picture).reshape(-1, 3)
    bright = pixels[np.ptp(pixels.astype(int), axis=1) > 24]
    half = colours // 2
    palette = np.repeat(np.linspace(0, 255, half).round().astype(np.uint8)[:, None], 3, axis=1)
    if len(bright):
        found = Image.fromarray(bright[None]).quantize(half, method=Image.Quantize.MEDIANCUT).getpalette() or []
        palette = np.concatenate([palette, np.array(found, np.uint8).reshape(-1, 3)])
    result = Image.new("P", (1, 1))
    result.putpalette(palette.ravel().tolist())
    return result
