"""Tiling slices into one image, in reading order: from left to right, then from top to bottom."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from PIL import Image

GAP_PX = 4
_GAP_GREY = 96


def columns_for(count: int, width: float, height: float) -> int:
    """How many columns make the most compact montage of equal tiles: the shortest longest edge, the fewest gaps.

    Args:
        count: tiles.
        width: of a tile, in any unit.
        height: of a tile, in the same one.

    Returns:
        The number of columns; ties go to fewer empty places, then to more columns.
    """

    def cost(columns: int) -> tuple[float, int, int]:
        rows = math.ceil(count / columns)
        return max(columns * width, rows * height), rows * columns - count, -columns

    return min(range(1, count + 1), key=cost)


def split_evenly(count: int, parts: int) -> list[range]:
    """Consecutive ranges of nearly equal length, the longer ones first; never an empty one."""
    parts = min(parts, count)
    short, longer = divmod(count, parts)
    stops = [part * short + min(part, longer) for part in range(parts + 1)]
    return [range(start, stop) for start, stop in pairwise(stops)]


def tile(pictures: Sequence[Image.Image], columns: int) -> Image.Image:
    """Grey images of one size in rows, with grey lines between them; places left over are black.

    Args:
        pictures: at least one, all of one size, mode ``L``.
        columns: images a row.

    Returns:
        The montage.
    """
    width, height = pictures[0].size
    rows = math.ceil(len(pictures) / columns)
    whole = Image.new("L", (columns * (width + GAP_PX) - GAP_PX, rows * (height + GAP_PX) - GAP_PX), _GAP_GREY)
    blank = Image.new("L", (width, height), 0)
    for place in range(rows * columns):
        row, column = divmod(place, columns)
        picture = pictures[place] if place < len(pictures) else blank
        whole.paste(picture, (column * (width + GAP_PX), row * (height + GAP_PX)))
    return whole
