"""The little SVG that the figures need. Colours are classes, so that a figure follows the theme of the page."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable

from markupsafe import Markup, escape

_PIECES = re.compile(r"[^\s\-_/:.]*[\s\-_/:.]+|[^\s\-_/:.]+")
_WIDE = {"M": 1.4, "W": 1.6, "m": 1.5, "w": 1.3}


def number(value: float) -> str:
    """A coordinate: two digits behind the point, no needless zeros."""
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text in ("-0", "") else text


def tag(name: str, *children: str, **attributes: str | float | None) -> Markup:
    """An element. Attributes that are None are left out, ``class_`` is ``class``, ``stroke_width`` ``stroke-width``.

    Children that are not markup, and all attributes, are escaped.
    """
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(number(value) if isinstance(value, (int, float)) else value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    inside = "".join(str(escape(child)) for child in children)
    return Markup(f"<{name}{written}>{inside}</{name}>" if inside else f"<{name}{written}/>")


def text(x: float, y: float, words: str, class_: str = "", anchor: str | None = None) -> Markup:
    """A line of text."""
    return tag("text", words, x=x, y=y, class_=class_ or None, text_anchor=anchor)


def line(x1: float, y1: float, x2: float, y2: float, class_: str) -> Markup:
    """A straight line."""
    return tag("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=class_)


def polygon(points: Iterable[tuple[float, float]], class_: str) -> Markup:
    """A closed shape."""
    return tag("polygon", points=" ".join(f"{number(x)},{number(y)}" for x, y in points), class_=class_)


def with_title(element: Markup, title: str) -> Markup:
    """The element in a group that says what it is when pointed at."""
    return tag("g", tag("title", title), element)


def drawing(width: float, height: float, title: str, description: str, *parts: str) -> Markup:
    """A whole figure: it scales with its column and reads as one image with a title and a description."""
    # Ids are unique in the page as long as no two figures say the same.
    digest = hashlib.sha256(f"{title}\n{description}".encode()).hexdigest()[:10]
    return tag(
        "svg",
        tag("title", title, id=f"t{digest}"),
        tag("desc", description, id=f"d{digest}"),
        *parts,
        viewBox=f"0 0 {number(width)} {number(height)}",
        role="img",
        aria_labelledby=f"t{digest} d{digest}",
        class_="figure",
    )


def wrapped(words: str, most: float) -> list[str]:
    """The words in lines of at most ``most`` widths of a letter; East Asian signs are two wide.

    Lines end at spaces and behind the signs that names are made of; only a longer piece is broken within.
    """
    lines = [""]
    for piece in _PIECES.findall(words):
        for part in [piece] if _letters(piece) <= most else piece:
            if lines[-1] and _letters(lines[-1] + part.rstrip()) > most:
                lines.append("")
            lines[-1] += part
    return [each.strip() for each in lines]


def _letters(words: str) -> float:
    """About how wide a text is, in letters."""
    return sum(2.0 if unicodedata.east_asian_width(sign) in "WF" else _WIDE.get(sign, 1.0) for sign in words)
