"""Small, medium and large: cutting measured sizes into three groups of about one number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from monai_spatialqa.errors import SpatialQAError

Tertile = Literal["small", "medium", "large"]

TERTILES: tuple[Tertile, ...] = ("small", "medium", "large")


def tertile_cuts(values: Sequence[float] | NDArray[Any]) -> tuple[float, float] | None:
    """Largest value of the lower third and of the middle third.

    Of n sorted values the cuts are those at places ceil(n/3) and ceil(2n/3), counted from 1: values that occur, so
    that a cut can be printed and read, and equal values are never parted. Small is up to the first cut, medium up to
    the second, both inclusive, large above. Give every structure of every case once, not once per question.

    Args:
        values: finite numbers, e.g. volumes in ml.

    Returns:
        The cuts in the unit of the values; None for fewer than three different values, which have no thirds.

    Raises:
        SpatialQAError: a value that is not finite.

    Example:
        >>> tertile_cuts([1, 2, 3, 40, 50, 600])
        (2.0, 40.0)
    """
    array = np.sort(np.asarray(values, np.float64))
    if not np.isfinite(array).all():
        raise SpatialQAError(
            "a value that is not finite belongs to no third",
            code="bad_scores",
            key="values",
            found=array[~np.isfinite(array)][0],
            expected="finite numbers",
            next_step="leave out structures that have no volume",
        )
    if len(np.unique(array)) < len(TERTILES):
        return None
    low, high = (-(-part * len(array) // 3) - 1 for part in (1, 2))
    return float(array[low]), float(array[high])


def tertile_of(value: float, cuts: tuple[float, float]) -> Tertile:
    """The third that a value belongs to; cuts from :func:`tertile_cuts`.

    Example:
        >>> tertile_of(2, (2.0, 40.0)), tertile_of(40.5, (2.0, 40.0))
        ('small', 'large')
    """
    return TERTILES[int(value > cuts[0]) + int(value > cuts[1])]
