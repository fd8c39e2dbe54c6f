"""How far a number is off: relative error, signed ratio, shares within limits, medians."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from monai_spatialqa.errors import SettingsError
from monai_spatialqa.statistics.as_written import (
    LARGEST,
    OUT_OF_REACH,
    Number,
    decades_apart,
    divided,
    finite,
    integer_ratio,
    read_pairs,
)

ERROR_LIMITS = (0.05, 0.10, 0.20, 0.50)
"""Limits of relative error that tables give shares for."""


@overload
def relative_error(  # type: ignore[overload-overlap]  # text is a sequence of text, too
    predicted: Number | None, truth: Number
) -> float: ...


@overload
def relative_error(
    predicted: Sequence[Number | None] | NDArray[Any], truth: Sequence[Number] | NDArray[Any]
) -> NDArray[np.float64]: ...


def relative_error(predicted: Any, truth: Any) -> float | NDArray[np.float64]:
    """``|predicted - truth| / |truth|``, the nearest float to the exact value, so that the unit does not move it.

    Args:
        predicted: a number or a sequence of numbers, as :func:`mean_relative_accuracy` takes them.
        truth: as many numbers.

    Returns:
        A float, or float64 of shape (N,). NaN for a missing prediction; the largest float where the error is beyond.

    Raises:
        SpatialQAError: as :func:`mean_relative_accuracy`.

    Example:
        >>> relative_error("0.105", "0.1"), relative_error(105, 100)
        (0.05, 0.05)
    """
    pairs = read_pairs(predicted, truth)
    return pairs.shaped(_error(p, t) for p, t in zip(pairs.predicted, pairs.truth, strict=True))


def _error(predicted: Decimal | None, truth: Decimal) -> float:
    if predicted is None:
        return math.nan
    if not predicted or decades_apart(predicted, truth) < -OUT_OF_REACH:
        return 1.0
    if decades_apart(predicted, truth) > OUT_OF_REACH:
        return LARGEST
    ours, right = integer_ratio(predicted, truth)
    return divided(abs(ours - right), abs(right))


@overload
def log10_ratio(  # type: ignore[overload-overlap]  # text is a sequence of text, too
    predicted: Number | None, truth: Number
) -> float: ...


@overload
def log10_ratio(
    predicted: Sequence[Number | None] | NDArray[Any], truth: Sequence[Number] | NDArray[Any]
) -> NDArray[np.float64]: ...


def log10_ratio(predicted: Any, truth: Any) -> float | NDArray[np.float64]:
    """``log10(predicted / truth)``: above 0 too large, below 0 too small; 3 is a slip of a thousand (ml for l).

    Args:
        predicted: a number or a sequence of numbers, as :func:`mean_relative_accuracy` takes them.
        truth: as many numbers.

    Returns:
        A float, or float64 of shape (N,). NaN where there is no such ratio: a missing prediction, zero, or one of the
        other sign.

    Raises:
        SpatialQAError: as :func:`mean_relative_accuracy`.

    Example:
        >>> log10_ratio(1_450_000, 1450)
        3.0
    """
    pairs = read_pairs(predicted, truth)
    return pairs.shaped(_log10(p, t) for p, t in zip(pairs.predicted, pairs.truth, strict=True))


def _log10(predicted: Decimal | None, truth: Decimal) -> float:
    if predicted is None or not predicted or predicted.is_signed() != truth.is_signed():
        return math.nan
    apart = decades_apart(predicted, truth)
    if abs(apart) > OUT_OF_REACH:
        return float(apart)
    ours, right = integer_ratio(predicted, truth)
    ratio = divided(ours, right)
    # Beyond float64 the integers' own logarithms are near enough.
    return math.log10(ratio) if 0 < ratio < 1e308 else math.log10(abs(ours)) - math.log10(abs(right))


def share_within(relative_errors: Sequence[float | None] | NDArray[Any], limit: float) -> float | None:
    """Share of all values whose relative error is at most the limit; a missing one (None, NaN) is not within.

    Args:
        relative_errors: from :func:`relative_error`.
        limit: 0.05 for 5 %.

    Returns:
        From 0 to 1, None for an empty sequence.

    Raises:
        SettingsError: a limit that is negative or not finite.

    Example:
        >>> share_within([0.04, 0.05, 0.3, None], 0.05)
        0.5
    """
    if not (math.isfinite(limit) and limit >= 0):
        raise SettingsError(
            "a relative error cannot be compared with this limit",
            key="limit",
            found=limit,
            expected="a share such as 0.05 for 5 %",
            next_step=f"take one of {', '.join(map(str, ERROR_LIMITS))}",
        )
    if not len(relative_errors):
        return None
    return int((finite(relative_errors) <= limit).sum()) / len(relative_errors)


def median(values: Sequence[float | None] | NDArray[Any]) -> float | None:
    """Median of the values that are there; None, NaN and infinity are left out.

    Args:
        values: e.g. relative errors of the numbers that were read.

    Returns:
        The middle value, the mean of the two middle ones of an even number, None without any.

    Example:
        >>> median([0.1, None, 0.4, 0.2])
        0.2
    """
    there = finite(values)
    return float(np.median(there)) if len(there) else None
