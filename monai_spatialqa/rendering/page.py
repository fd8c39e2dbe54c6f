"""The page around the slices of a case card: three black cells of equal scale, a title above, a legend below."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from monai_spatialqa.rendering.panels import QUIET_COLOUR, Field, write
from monai_spatialqa.rendering.slices import SliceView

_DPI = 120
_CELL_INCH = 4.4
_GAP_INCH = 0.08
_EDGE_INCH = 0.14
_HEADER_INCH = 0.5
_CAPTION_INCH = 0.24
_FOOTER_INCH = 0.86
_SWATCH_INCH = 0.28
_PAPER = "#14171B"
_CONVENTION = (
    "Radiological convention: patient right (R) on image left; axial seen from the feet, sagittal from the left"
)


class LegendEntry(NamedTuple):
    """A line style and what it stands for."""

    colour: str
    style: Literal["-", "--"]
    text: str


def slice_boxes(width: int, height: int) -> list[tuple[int, int, int, int]]:
    """Where the three slices of a card stand, each with its caption: left, top, right, bottom in pixels.

    Args:
        width: of the card, pixels.
        height: of the card, pixels.
    """
    scale = width / (3 * (_CELL_INCH + _GAP_INCH) + _GAP_INCH)
    lefts = [scale * (_GAP_INCH + column * (_CELL_INCH + _GAP_INCH)) for column in range(3)]
    top, bottom = round(scale * _HEADER_INCH), round(height - scale * _FOOTER_INCH)
    return [(round(left), top, round(left + scale * _CELL_INCH), bottom) for left in lefts]


@dataclass(frozen=True, eq=False)
class Page:
    """An empty card.

    Args:
        figure: the whole page.
        canvas: what it is drawn on.
        cells: one axes per slice, black, of equal size.
        cell_mm: width and height of a cell at the common scale, mm.
    """

    figure: Figure
    canvas: FigureCanvasAgg
    cells: tuple[Axes, ...]
    cell_mm: tuple[float, float]

    @classmethod
    def for_views(cls, views: Sequence[SliceView], field: Field) -> Page:
        """A page whose cells hold the shown part of every view at one scale."""
        widest = max(field.size_mm[view.axes[1]] for view in views)
        highest = max(field.size_mm[view.axes[2]] for view in views)
        width = _CELL_INCH
        height = width * min(max(highest / widest, 0.72), 1.2)
        mm_per_inch = max(widest / width, highest / height)
        total = (len(views) * (width + _GAP_INCH) + _GAP_INCH, height + _HEADER_INCH + _CAPTION_INCH + _FOOTER_INCH)
        figure = Figure(figsize=total, dpi=_DPI, facecolor=_PAPER)
        cells = []
        for column in range(len(views)):
            left = _GAP_INCH + column * (width + _GAP_INCH)
            bounds = (left / total[0], _FOOTER_INCH / total[1], width / total[0], height / total[1])
            cell = figure.add_axes(bounds, facecolor="black", xticks=[], yticks=[])
            cell.set_autoscale_on(False)
            for spine in cell.spines.values():
                spine.set_visible(False)
            cells.append(cell)
        return cls(figure, FigureCanvasAgg(figure), tuple(cells), (width * mm_per_inch, height * mm_per_inch))

    def add_header(self, title: str, value: str | None, value_colour: str) -> None:
        """Title at the left, made smaller and at last cut where it is too long; the value at the right."""
        width, height = self.figure.get_size_inches()
        style: dict[str, Any] = {"fontsize": 14.0, "fontweight": "bold", "va": "center"}
        middle = 1 - _HEADER_INCH / 2 / height
        room = (width - 4 * _EDGE_INCH) * _DPI
        if value:
            at = 1 - _EDGE_INCH / width
            room -= (
                write(self.figure, at, middle, value, color=value_colour, ha="right", **style).get_window_extent().width
            )
        title = " ".join(title.split())
        text = write(self.figure, _EDGE_INCH / width, middle, title, **style)
        size = 14.0
        while text.get_window_extent().width > room and size > 8:
            size -= 0.5
            text.set_fontsize(size)
        while (taken := text.get_window_extent().width) > room and len(title) > 1:
            title = title[: min(len(title) - 1, int(len(title) * room / taken))].rstrip()
            text.set_text(title + "\N{HORIZONTAL ELLIPSIS}")

    def add_footer(self, legend: Sequence[LegendEntry], notes: str) -> None:
        """The legend, the display convention, and how the image is shown."""
        width, height = self.figure.get_size_inches()
        row = 0.65 / height
        at = _EDGE_INCH
        for entry in legend:
            swatch = Line2D(
                [at / width, (at + _SWATCH_INCH) / width],
                [row, row],
                color=entry.colour,
                linestyle=entry.style,
                linewidth=2.2,
                transform=self.figure.transFigure,
            )
            self.figure.add_artist(swatch)
            at += _SWATCH_INCH + 0.08
            text = write(self.figure, at / width, row, entry.text, fontsize=9.5, va="center")
            at += text.get_window_extent().width / _DPI + 0.3
        small: dict[str, Any] = {"color": QUIET_COLOUR, "fontsize": 8.0, "va": "center"}
        write(self.figure, _EDGE_INCH / width, 0.38 / height, _CONVENTION, **small)
        write(self.figure, _EDGE_INCH / width, 0.17 / height, notes, **small)

    def save(self, target: Path, note: str) -> Path:
        """Write the PNG by way of a temporary file, with a note as its description; equal pages give equal bytes."""
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary = target.with_name(f".{uuid.uuid4().hex}.png")
        try:
            told = {"Software": None, "Description": f"{_CONVENTION}   |   {note}"}
            self.canvas.print_png(str(temporary), metadata=told)
            temporary.replace(target)
        finally:
            temporary.unlink(missing_ok=True)
        return target
