"""What is drawn into the pixels of a slice: directions at its edges, its position, a bar with its length in mm."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import matplotlib
from PIL import Image, ImageDraw, ImageFont

from monai_spatialqa.rendering.panels import round_length_mm
from monai_spatialqa.rendering.slices import EdgeLetters

_FONT = "DejaVuSans-Bold.ttf"
"""Ships with matplotlib, so that text looks the same wherever the package is installed."""

_WHITE, _BLACK = 255, 0
_SMALLEST_TEXT_PX, _LARGEST_TEXT_PX = 9, 24
_BAR_SHARE = 0.28


def text_size_px(size_px: tuple[int, int]) -> int:
    """Height of the letters on an image of this width and height."""
    return min(max(round(max(size_px) * 0.038), _SMALLEST_TEXT_PX), _LARGEST_TEXT_PX)


def least_edge_px(size_px: tuple[int, int]) -> int:
    """The shortest edge on which what is drawn stays legible: six lines of text."""
    return 6 * text_size_px(size_px)


def burn_in(
    picture: Image.Image,
    *,
    letters: EdgeLetters | None = None,
    position: str | None = None,
    pixel_mm: float | None = None,
) -> Image.Image:
    """Draw onto a copy of a grey image, white with a black rim.

    Args:
        picture: 8-bit grey (mode ``L``).
        letters: patient's directions, in the middle of the four edges.
        position: where the slice lies, at the top left.
        pixel_mm: width of a pixel; a scale bar is drawn at the bottom right, of 1, 2 or 5 x 10^k mm.

    Returns:
        A new image of the same size.
    """
    drawn = picture.copy()
    pen = ImageDraw.Draw(drawn)
    width, height = drawn.size
    size = text_size_px(drawn.size)
    margin = max(2, size // 3)
    if letters is not None:
        for letter, at, anchor in (
            (letters.left, (margin, height / 2), "lm"),
            (letters.right, (width - 1 - margin, height / 2), "rm"),
            (letters.top, (width / 2, margin), "mt"),
            (letters.bottom, (width / 2, height - 1 - margin), "mb"),
        ):
            _write(pen, at, letter, anchor, round(size * 1.2))
    if position is not None:
        _write(pen, (margin, margin), position, "lt", size)
    if pixel_mm is not None:
        length_mm = round_length_mm(width * _BAR_SHARE * pixel_mm)
        length = round(length_mm / pixel_mm)
        thick = max(2, size // 5)
        right, bottom = width - 1 - margin, height - 1 - margin
        pen.rectangle((right - length, bottom - thick, right + 1, bottom + 1), fill=_BLACK)
        pen.rectangle((right - length + 1, bottom - thick + 1, right, bottom), fill=_WHITE)
        _write(pen, (right, bottom - thick - margin), f"{length_mm:g} mm", "rb", size)
    return drawn


def _write(pen: ImageDraw.ImageDraw, at: tuple[float, float], text: str, anchor: str, size: int) -> None:
    rim = max(1, size // 7)
    pen.text(at, text, font=_font(size), anchor=anchor, fill=_WHITE, stroke_width=rim, stroke_fill=_BLACK)


@lru_cache(maxsize=32)
def _font(size: int) -> ImageFont.FreeTypeFont:
    path = Path(matplotlib.get_data_path()) / "fonts" / "ttf" / _FONT
    return ImageFont.truetype(str(path), size, layout_engine=ImageFont.Layout.BASIC)
