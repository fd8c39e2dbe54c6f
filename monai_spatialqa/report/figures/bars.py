"""Bars with their intervals: one row a run, shares of 0 to 100 %."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from markupsafe import Markup

from monai_spatialqa.evaluation.result import Figure
from monai_spatialqa.report.figures.svg import drawing, line, tag, text, with_title, wrapped
from monai_spatialqa.report.wording import NONE, percent

_WIDTH, _LEFT, _RIGHT = 360.0, 8.0, 52.0
_ROW, _BAR, _TOP, _BOTTOM = 40.0, 12.0, 6.0, 22.0
_TICKS = (0.0, 0.25, 0.5, 0.75, 1.0)
_NAME_LINE, _LETTERS = 16.0, 46.0


class Bar(NamedTuple):
    """A row: its name and its figure; None where it has no items. A quiet bar is a baseline's."""

    name: str
    figure: Figure | None
    quiet: bool = False


def bars(title: str, rows: Sequence[Bar]) -> Markup:
    """Draw horizontal bars, each under its name, with its interval as a whisker and its value at the right."""
    names = [wrapped(row.name, _LETTERS) for row in rows]
    height = _TOP + _ROW * max(1, len(rows)) + _NAME_LINE * sum(len(lines) - 1 for lines in names) + _BOTTOM
    floor = height - _BOTTOM
    parts = [line(_x(tick), _TOP, _x(tick), floor, "grid") for tick in _TICKS]
    parts += [
        text(_x(tick), floor + 14, percent(tick, 0), "tick", "start" if tick == 0 else "middle") for tick in _TICKS
    ]
    if not rows:
        parts.append(text(_WIDTH / 2, _TOP + _ROW / 2 + 4, "no items", "absent", "middle"))
    top = _TOP
    for row, lines in zip(rows, names, strict=True):
        style = "name quiet" if row.quiet else "name"
        parts += [text(_LEFT, top + 13 + place * _NAME_LINE, each, style) for place, each in enumerate(lines)]
        top += (len(lines) - 1) * _NAME_LINE
        parts += _row(row, top)
        top += _ROW
    return drawing(_WIDTH, height, title, _described(rows), *parts)


def _x(share: float) -> float:
    return _LEFT + (_WIDTH - _LEFT - _RIGHT) * min(1.0, max(0.0, share))


def _row(row: Bar, top: float) -> list[Markup]:
    figure = row.figure
    middle = top + 18 + _BAR / 2
    if figure is None or figure.value is None:
        return [text(_LEFT, middle + 4, f"{NONE} no items", "absent")]
    style = "bar quiet" if row.quiet else "bar"
    parts = [
        with_title(
            tag("rect", x=_LEFT, y=top + 18, width=max(0.5, _x(figure.value) - _LEFT), height=_BAR, class_=style),
            f"{row.name}: {_words(figure)}",
        )
    ]
    if figure.low is not None and figure.high is not None:
        low, high = _x(figure.low), _x(figure.high)
        strokes = [(low, middle, high, middle), *((end, middle - 4, end, middle + 4) for end in (low, high))]
        parts += [line(*stroke, style) for style in ("whisker-case", "whisker") for stroke in strokes]
    parts.append(text(_WIDTH - 2, middle + 4, percent(figure.value), "value", "end"))
    return parts


def _words(figure: Figure) -> str:
    ends = "" if figure.low is None or figure.high is None else f" ({percent(figure.low)} to {percent(figure.high)})"
    return f"{percent(figure.value)} %{ends} over {figure.count}"


def _described(rows: Sequence[Bar]) -> str:
    told = [f"{row.name}: {NONE if row.figure is None else _words(row.figure)}" for row in rows]
    return "; ".join(told) or "No items."
