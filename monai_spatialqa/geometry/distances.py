"""Distances and directions between two structures' centres, in RAS mm."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from monai_spatialqa.geometry.marginals import Columns

DIRECTION_WORDS = (("left", "right"), ("posterior", "anterior"), ("inferior", "superior"))
"""What a negative and a positive offset along R, A and S mean."""


def offsets_ras_mm(centers: Columns, first: Any, second: Any) -> Columns:
    """Vector from structure ``first[p]`` to ``second[p]``, RAS mm; three columns (P,)."""
    return tuple(column[second] - column[first] for column in centers)


def lengths_mm(offsets: Columns) -> Any:
    """Euclidean lengths, mm, (P,)."""
    return (offsets[0] * offsets[0] + offsets[1] * offsets[1] + offsets[2] * offsets[2]) ** 0.5


def direction_signs(offsets: Columns, dead_zone_mm: float) -> tuple[Any, Any, Any]:
    """-1, 0 or 1 per world axis: 0 inside the dead zone (|offset| <= dead zone) and where the offset is NaN."""
    return tuple((column > dead_zone_mm) * 1 - (column < -dead_zone_mm) * 1 for column in offsets)


def direction_words(signs: Sequence[int]) -> list[str]:
    """The words of one pair's signs, e.g. ``[-1, 0, 1]`` -> ``["left", "superior"]``."""
    return [words[0 if sign < 0 else 1] for sign, words in zip(signs, DIRECTION_WORDS, strict=True) if sign]


def all_pairs(count: int) -> tuple[list[int], list[int]]:
    """Every unordered pair of ``count`` structures as two index lists, in lexicographic order."""
    first = [a for a in range(count) for _ in range(a + 1, count)]
    second = [b for a in range(count) for b in range(a + 1, count)]
    return first, second
