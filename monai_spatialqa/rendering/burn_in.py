"""What is drawn into the pixels of a slice: directions at its edges, its position, a bar with its length in mm."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import matplotlib
from PIL import Image, ImageDraw, ImageFont

from monai_spatialqa.rendering.scale_bar import BAR_SHARE, round_length_mm
from monai_spatialqa.rendering.slices import EdgeLetters

_FONT = "DejaVuSans-Bold.ttf"
"""Ships with matplotlib, so that text looks the same wherever the package is installed."""

_WHITE, _BLACK = 255, 0
_SMALLEST_TEXT_PX, _LARGEST_TEXT_PX = 9, 24
_LETTER = 1.2
"""Height of the letters of the directions, in heights of the other text."""

_LINE = 1.35
"""Distance of two lines, in heights of text."""

_LEAST_LINES = 7
"""Lines of text that an image is at least high and wide, to stay an image."""

_LONGEST_LABEL = "0.05 mm"


def text_size_px(size_px: tuple[int, int]) -> int:
    """Height of the letters on an image of this width and height."""
    return min(max(round(max(size_px) * 0.038), _SMALLEST_TEXT_PX), _LARGEST_TEXT_PX)


def room_px(
    size_px: tuple[int, int], *, letters: bool = False, position: Sequence[str] = (), scale: bool = False
) -> tuple[int, int]:
    """The least width and height on which nothing that is drawn touches another or is cut off.

    Args:
        size_px: width and height of the image; they decide how large letters are.
        letters: whether directions are drawn.
        position: parts of the position; each may have a line of its own.
        scale: whether a scale bar is drawn.
    """
    size = text_size_px(size_px)
    margin = _margin_px(size)
    words = [*position, *([_LONGEST_LABEL] if scale else [])]
    word = math.ceil(max((_width_px(text, size) for text in words), default=0))
    beside = 2 * (margin + word + margin) + _letter_px(size) if letters else word + 2 * margin
    return max(_LEAST_LINES * size, beside), _LEAST_LINES * size


def burn_in(
    picture: Image.Image,
    *,
    letters: EdgeLetters | None = None,
    position: Sequence[str] = (),
    pixel_mm: float | None = None,
) -> Image.Image:
    """Draw onto a copy of a grey image, white with a black rim.

    Args:
        picture: 8-bit grey (mode ``L``), at least as large as :func:`room_px` says.
        letters: patient's directions, in the middle of the four edges.
        position: where the slice lies, in parts, at the top left: in one line where there is room, else one under the
            other.
        pixel_mm: width of a pixel; a scale bar is drawn at the bottom right, of 1, 2 or 5 x 10^k mm.

    Returns:
        A new image of the same size.
    """
    drawn = picture.copy()
    pen = ImageDraw.Draw(drawn)
    width, height = drawn.size
    size = text_size_px(drawn.size)
    margin = _margin_px(size)
    if letters is not None:
        for letter, at, anchor in (
            (letters.left, (margin, height / 2), "lm"),
            (letters.right, (width - 1 - margin, height / 2), "rm"),
            (letters.top, (width / 2, margin), "mt"),
            (letters.bottom, (width / 2, height - 1 - margin), "mb"),
        ):
            _write(pen, at, letter, anchor, round(size * _LETTER))
    free = width if letters is None else (width - _letter_px(size)) / 2
    line = "  ".join(position)
    lines = [line] if _width_px(line, size) + 2 * margin <= free else position
    for number, text in enumerate(lines):
        _write(pen, (margin, margin + round(number * size * _LINE)), text, "lt", size)
    if pixel_mm is not None:
        length_mm = round_length_mm(width * BAR_SHARE * pixel_mm)
        length = round(length_mm / pixel_mm)
        thick = max(2, size // 5)
        right, bottom = width - 1 - margin, height - 1 - margin
        pen.rectangle((right - length, bottom - thick, right + 1, bottom + 1), fill=_BLACK)
        pen.rectangle((right - length + 1, bottom - thick + 1, right, bottom), fill=_WHITE)
        _write(pen, (right, bottom - thick - margin), f"{length_mm:g} mm", "rb", size)
    return drawn


def _margin_px(size: int) -> int:
    return max(2, size // 3)


def _width_px(text: str, size: int) -> float:
    return _font(size).getlength(text) + 2 * _rim_px(size)


def _letter_px(size: int) -> int:
    """Width of the widest letter of a direction."""
    large = round(size * _LETTER)
    return math.ceil(max(_width_px(letter, large) for letter in "RLAPSI"))


def _rim_px(size: int) -> int:
    return max(1, size // 7)


def _write(pen: ImageDraw.ImageDraw, at: tuple[float, float], text: str, anchor: str, size: int) -> None:
    pen.text(at, text, font=_font(size), anchor=anchor, fill=_WHITE, stroke_width=_rim_px(size), stroke_fill=_BLACK)


@lru_cache(maxsize=32)
def _font(size: int) -> ImageFont.FreeTypeFont:
    path = Path(matplotlib.get_data_path()) / "fonts" / "ttf" / _FONT
    return ImageFont.truetype(str(path), size, layout_engine=ImageFont.Layout.BASIC)
