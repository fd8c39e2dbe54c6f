"""The tumour radar: one spoke a tumour kind, the centre is 0 % and the rim 100 %."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from monai_spatialqa.evaluation.result import Figure
from monai_spatialqa.report.figures.svg import drawing, line, polygon, tag, text, with_title
from monai_spatialqa.report.wording import percent

_WIDTH, _HEIGHT, _RADIUS = 404.0, 268.0, 100.0
_CENTRE = (222.0, 134.0)
_RINGS = (0.25, 0.5, 0.75, 1.0)
_FEWEST_FOR_A_SHAPE = 3
_BESIDE = {"first": -3.5, "second": 3.5}
"""How far marks stand beside a spoke that has two, so that they do not cover each other."""


@dataclass(frozen=True)
class RadarLine:
    """One line of the radar.

    Attributes:
        name: for the legend and for those who point at a mark.
        style: class of the style sheet: ``first`` (round marks, full line) or ``second`` (square marks, dashed).
        figures: spoke -> share of 1, with its interval; spokes without items are left out.
    """

    name: str
    style: str
    figures: Mapping[str, Figure]


def radar(title: str, spokes: Mapping[str, str], lines: Sequence[RadarLine], *, smallest_count: int = 1) -> Markup:
    """Draw the radar of one run.

    A mark stands at each value, a thin bar along the spoke is its interval. Marks over fewer than ``smallest_count``
    answers are hollow. A line joins the marks of neighbouring spokes; a shape is filled only if no spoke is missing.

    Args:
        title: of the figure.
        spokes: key -> what it is called, clockwise from the top.
        lines: what to draw.
        smallest_count: fewest answers of a full mark.
    """
    keys = list(spokes)
    parts = [tag("circle", cx=_CENTRE[0], cy=_CENTRE[1], r=_RADIUS * ring, class_="ring") for ring in _RINGS]
    for place, key in enumerate(keys):
        x, y = _at(place, len(keys), 1.0)
        parts.append(line(*_CENTRE, x, y, "axis-line"))
        parts.append(_label(place, len(keys), spokes[key], any(_value(each, key) is not None for each in lines)))
    shared = [sum(_value(each, key) is not None for each in lines) > 1 for key in keys]
    shifts = {each.style: [_BESIDE[each.style] * both for both in shared] for each in lines}
    for each in lines:
        parts += _shape(each, keys, shifts[each.style])
    for each in lines:
        parts += _marks(each, keys, shifts[each.style], spokes, smallest_count)
    for ring in (0.5, 1.0):
        x, y = _at(0.5, len(keys), ring)  # between two spokes, where no mark stands; over the lines that cross there
        parts.append(text(x, y + 4, percent(ring, 0), "tick", "middle"))
    return drawing(_WIDTH, _HEIGHT, title, _described(spokes, lines), *parts)


def _value(each: RadarLine, key: str) -> float | None:
    figure = each.figures.get(key)
    return None if figure is None or figure.value is None else min(1.0, max(0.0, figure.value))


def _at(place: float, count: int, share: float, beside: float = 0.0) -> tuple[float, float]:
    angle = 2 * math.pi * place / count - math.pi / 2
    across, along = math.cos(angle), math.sin(angle)
    x, y = _RADIUS * share * across - beside * along, _RADIUS * share * along + beside * across
    return _CENTRE[0] + x, _CENTRE[1] + y


def _label(place: int, count: int, words: str, known: bool) -> Markup:
    x, y = _at(place, count, 1.13)
    beside = x - _CENTRE[0]
    anchor = "middle" if abs(beside) < 12 else "start" if beside > 0 else "end"
    shift = 4.0 if abs(beside) >= 12 else 0.0 if y < _CENTRE[1] else 9.0
    return text(x, y + shift, words, "spoke" if known else "spoke absent", anchor)


def _shape(each: RadarLine, keys: Sequence[str], shifts: Sequence[float]) -> list[Markup]:
    """The area of a whole round; otherwise lines between neighbours that both have a value."""
    values = [_value(each, key) for key in keys]
    points = [
        None if value is None else _at(place, len(keys), value, shifts[place]) for place, value in enumerate(values)
    ]
    whole = [point for point in points if point is not None]
    if len(whole) == len(points) and len(points) >= _FEWEST_FOR_A_SHAPE:
        return [polygon(whole, f"area {each.style}")]
    if len(points) < _FEWEST_FOR_A_SHAPE:
        return []
    return [
        line(*one, *other, f"join {each.style}")
        for one, other in zip(points, [*points[1:], points[0]], strict=True)
        if one is not None and other is not None
    ]


def _marks(
    each: RadarLine, keys: Sequence[str], shifts: Sequence[float], spokes: Mapping[str, str], smallest_count: int
) -> list[Markup]:
    parts = []
    for place, key in enumerate(keys):
        value, figure = _value(each, key), each.figures.get(key)
        if value is None or figure is None:
            continue
        ends = "" if figure.low is None or figure.high is None else f", {percent(figure.low)} to {percent(figure.high)}"
        if ends and figure.low is not None and figure.high is not None:
            low, high = (min(1.0, max(0.0, end)) for end in (figure.low, figure.high))
            from_to = (_at(place, len(keys), low, shifts[place]), _at(place, len(keys), high, shifts[place]))
            parts.append(line(*from_to[0], *from_to[1], f"interval {each.style}"))
        x, y = _at(place, len(keys), value, shifts[place])
        style = f"mark {each.style}" + (" few" if figure.count < smallest_count else "")
        mark = (
            tag("circle", cx=x, cy=y, r=4.0, class_=style)
            if each.style == "first"
            else tag("rect", x=x - 3.6, y=y - 3.6, width=7.2, height=7.2, class_=style)
        )
        words = f"{spokes[key]}, {each.name}: {percent(value)} %{ends}, over {figure.count}"
        parts.append(with_title(mark, words))
    return parts


def _described(spokes: Mapping[str, str], lines: Sequence[RadarLine]) -> str:
    told = []
    for each in lines:
        values = [(spokes[key], _value(each, key)) for key in spokes]
        known = [f"{name} {percent(value)} %" for name, value in values if value is not None]
        told.append(f"{each.name}: {', '.join(known) or 'no items'}.")
    return " ".join(told) or "No items."
