"""The little SVG that the figures need. Colours are classes, so that a figure follows the theme of the page."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from markupsafe import Markup, escape


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


def shortened(words: str, most: int) -> str:
    """The words, cut with an ellipsis where they are longer than there is room for."""
    return words if len(words) <= most else words[: most - 1].rstrip() + "\N{HORIZONTAL ELLIPSIS}"
