"""Predicted against true volume on log axes, with bands around the truth and the lines of a slip of a thousand."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from markupsafe import Markup

from monai_spatialqa.report.figures.svg import drawing, line, polygon, tag, text, with_title
from monai_spatialqa.report.wording import plain

_WIDTH, _HEIGHT = 360.0, 336.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 62.0, 20.0, 8.0, 42.0
_BANDS = ((0.5, "band wide"), (0.1, "band narrow"))
_SLIP = 3.0
_SLIP_WITHIN = math.log10(1.5)
_MOST_LABELS = 7
_HALF_MARK = 4.0


class Point(NamedTuple):
    """A volume that was read: truth and answer in ml, and which item it is."""

    truth_ml: float
    answer_ml: float
    name: str = ""


def is_slip(truth: float, answer: float) -> bool:
    """Whether an answer is a thousand times too large or too small, give or take half: a slip of the unit.

    Example:
        >>> is_slip(120.0, 118_000.0), is_slip(120.0, 240.0)
        (True, False)
    """
    if not (truth > 0 and answer > 0):
        return False
    return abs(abs(math.log10(answer / truth)) - _SLIP) <= _SLIP_WITHIN


def usable(points: Iterable[Point]) -> list[Point]:
    """The points that a log axis can show: both volumes finite and above zero."""
    return [
        point
        for point in points
        if all(math.isfinite(value) and value > 0 for value in (point.truth_ml, point.answer_ml))
    ]


def scatter(title: str, points: Sequence[Point], *, beside: Iterable[Point] = ()) -> Markup:
    """Draw the answers of one run. Points off a log axis are left out and counted in the description.

    Args:
        title: of the figure.
        points: one an answer that was read.
        beside: points of the figures next to it, so that all have the same axes.
    """
    kept = usable(points)
    frame = _Frame.around([*kept, *usable(beside)])
    parts = [frame.band(share, style) for share, style in _BANDS]
    parts += frame.axes()
    for shift, style, words in (
        (0.0, "equal", ""),
        (_SLIP, "slip", "\N{MULTIPLICATION SIGN} 1000"),
        (-_SLIP, "slip", "\N{DIVISION SIGN} 1000"),
    ):
        parts += frame.diagonal(shift, style, words)
    parts += [_mark(frame, point) for point in kept]
    if not kept:
        parts.append(text((_LEFT + _WIDTH - _RIGHT) / 2, _HEIGHT / 2 - 24, "no volume was read", "absent", "middle"))
    return drawing(_WIDTH, _HEIGHT, title, _described(kept, len(points)), *parts)


class _Frame(NamedTuple):
    """The plotted range, in decades."""

    x0: int
    x1: int
    y0: int
    y1: int

    @classmethod
    def around(cls, points: Sequence[Point]) -> _Frame:
        truths = [math.log10(point.truth_ml) for point in points] or [0.0, 3.0]
        answers = [*truths, *(math.log10(point.answer_ml) for point in points)]
        x0, x1 = math.floor(min(truths) - 0.05), math.ceil(max(truths) + 0.05)
        return cls(x0, x1, min(x0, math.floor(min(answers) - 0.05)), max(x1, math.ceil(max(answers) + 0.05)))

    def x(self, decade: float) -> float:
        return _LEFT + (decade - self.x0) / (self.x1 - self.x0) * (_WIDTH - _LEFT - _RIGHT)

    def y(self, decade: float) -> float:
        return _HEIGHT - _BOTTOM - (decade - self.y0) / (self.y1 - self.y0) * (_HEIGHT - _TOP - _BOTTOM)

    def clipped(self, shift: float) -> tuple[float, float] | None:
        """Where the line ``answer = truth + shift`` (decades) is inside the frame: from and to which truth."""
        low, high = max(self.x0, self.y0 - shift), min(self.x1, self.y1 - shift)
        return (low, high) if low < high else None

    def band(self, share: float, style: str) -> Markup:
        """The answers that are at most a share off the truth."""
        lower, upper = math.log10(1 - share), math.log10(1 + share)
        corners: list[tuple[float, float]] = [(self.x0, max(self.y0, self.x0 + lower))]
        if self.x0 + lower < self.y0:
            corners.append((self.y0 - lower, self.y0))
        corners.append((self.x1, self.x1 + lower))
        corners.append((self.x1, min(self.y1, self.x1 + upper)))
        if self.x1 + upper > self.y1:
            corners.append((self.y1 - upper, self.y1))
        corners.append((self.x0, self.x0 + upper))
        return polygon([(self.x(x), self.y(y)) for x, y in corners], style)

    def axes(self) -> list[Markup]:
        floor, edge = _HEIGHT - _BOTTOM, _WIDTH - _RIGHT
        parts = []
        for decade in range(self.x0, self.x1 + 1):
            parts.append(line(self.x(decade), _TOP, self.x(decade), floor, "grid"))
        for decade in range(self.y0, self.y1 + 1):
            parts.append(line(_LEFT, self.y(decade), edge, self.y(decade), "grid"))
        for decade in _thinned(self.x0, self.x1):
            parts.append(text(self.x(decade), floor + 15, _power(decade), "tick", "middle"))
        for decade in _thinned(self.y0, self.y1):
            parts.append(text(_LEFT - 6, self.y(decade) + 4, _power(decade), "tick", "end"))
        parts.append(tag("rect", x=_LEFT, y=_TOP, width=edge - _LEFT, height=floor - _TOP, class_="frame"))
        parts.append(text((_LEFT + edge) / 2, _HEIGHT - 8, "true volume, ml", "axis", "middle"))
        middle = (_TOP + floor) / 2
        parts.append(
            tag(
                "text",
                "answer, ml",
                x=11,
                y=middle,
                class_="axis",
                text_anchor="middle",
                transform=f"rotate(-90 11 {middle:g})",
            )
        )
        return parts

    def diagonal(self, shift: float, style: str, words: str) -> list[Markup]:
        ends = self.clipped(shift)
        if ends is None:
            return []
        low, high = ends
        parts = [line(self.x(low), self.y(low + shift), self.x(high), self.y(high + shift), style)]
        x, y = self.x(low), self.y(low + shift)
        # On the side that the rising line leaves free: right of a start on the left edge, else left of it.
        if words and x < _LEFT + 1:
            parts.append(text(x + 12, y + 6, words, "slip-name"))
        elif words:
            parts.append(text(x - 2, y - 8, words, "slip-name", "end"))
        return parts


def _thinned(low: int, high: int) -> range:
    return range(low, high + 1, 1 + (high - low) // _MOST_LABELS)


def _power(decade: int) -> str:
    if 0 <= decade <= 4:
        return f"{10**decade:,}".replace(",", "\u202f")
    if -3 <= decade < 0:
        return f"{10.0**decade:.{-decade}f}"
    return "10" + str(decade).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))


def _mark(frame: _Frame, point: Point) -> Markup:
    x, y = frame.x(math.log10(point.truth_ml)), frame.y(math.log10(point.answer_ml))
    words = f"{point.name}: truth {plain(point.truth_ml)} ml, answer {plain(point.answer_ml)} ml".removeprefix(": ")
    if is_slip(point.truth_ml, point.answer_ml):
        half = _HALF_MARK
        mark = polygon([(x, y - half - 1), (x + half + 1, y + half), (x - half - 1, y + half)], "point slip-point")
        return with_title(mark, f"{words}: a slip of a thousand")
    return with_title(tag("circle", cx=x, cy=y, r=_HALF_MARK - 0.5, class_="point"), words)


def _described(kept: Sequence[Point], given: int) -> str:
    slips = sum(is_slip(point.truth_ml, point.answer_ml) for point in kept)
    ratios = [point.answer_ml / point.truth_ml for point in kept]
    near = [sum(abs(ratio - 1) <= share for ratio in ratios) for share in (0.1, 0.5)]
    told = f"{len(kept)} answers: {near[0]} within 10 %, {near[1]} within 50 %, {slips} a thousand times off."
    return told if given == len(kept) else f"{told} {given - len(kept)} are zero or below and not drawn."
