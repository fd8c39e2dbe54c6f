"""Numbers exactly as they were written, so that a score does not depend on the unit: 0.105 l and 105 ml are one value.

Binary floats cannot hold 0.1; a relative error of exactly 5 % then falls on either side of a limit, depending on the
unit it was computed in. Here a number is the decimal that was written, and comparisons are made between integers.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from monai_spatialqa.errors import SpatialQAError

Number: TypeAlias = str | int | float | Decimal
"""A decimal as text, an integer, a ``Decimal``, or a float, which counts as the shortest decimal that gives it back."""

OUT_OF_REACH = 700
"""Decades: the widest range of float64. Numbers further apart than this have no ratio that a float could hold."""

LARGEST = sys.float_info.max


def exact_decimal(value: Any, key: str) -> Decimal | None:
    """The decimal that was written, without rounding.

    Args:
        value: a number; None, empty text, NaN and infinity are missing.
        key: what the value is, for the error.

    Returns:
        The decimal, or None for a missing one.

    Raises:
        SpatialQAError: not a number (``not_a_number``): other text, a boolean, another type.
    """
    if value is None:
        return None
    if isinstance(value, Decimal):
        decimal = value
    elif isinstance(value, str):
        if not value.strip():
            return None
        try:
            decimal = Decimal(value)
        except InvalidOperation:
            raise _not_a_number(value, key) from None
    elif isinstance(value, bool | np.bool_):
        raise _not_a_number(value, key)
    elif isinstance(value, int | np.integer):
        decimal = Decimal(int(value))
    elif isinstance(value, float):  # np.float64 is one, but its own repr is not a number
        decimal = Decimal(float.__repr__(value))
    elif isinstance(value, np.floating):
        decimal = Decimal(str(value))
    elif getattr(value, "ndim", None) == 0:
        return exact_decimal(value.item(), key)
    else:
        raise _not_a_number(value, key)
    return decimal if decimal.is_finite() else None


def _not_a_number(value: Any, key: str) -> SpatialQAError:
    return SpatialQAError(
        "this is not a number",
        code="not_a_number",
        key=key,
        found=repr(value),
        expected="a number, text such as 12.5 or 1.2e3, or None for a missing one",
        next_step="read the reply first, with monai_spatialqa.answers.read_quantity",
    )


@dataclass(frozen=True)
class Pairs:
    """Predictions with their truths.

    Attributes:
        predicted: None where missing.
        truth: neither zero nor beyond float64.
        scalar: one pair was given, not a sequence.
    """

    predicted: tuple[Decimal | None, ...]
    truth: tuple[Decimal, ...]
    scalar: bool

    def shaped(self, values: Iterable[float]) -> float | NDArray[np.float64]:
        """One value per pair in the form in which the pairs came."""
        result = np.fromiter(values, np.float64, len(self.truth))
        return float(result[0]) if self.scalar else result


def read_pairs(predicted: Any, truth: Any) -> Pairs:
    """Two numbers, or two sequences of numbers of one length.

    Raises:
        SpatialQAError: a truth is zero (``zero_truth``), missing or beyond float64 (``bad_truth``); a value is not a
            number (``not_a_number``); the lengths differ (``length_mismatch``). In sequences, the index is named.
    """
    scalar = _is_scalar(truth)
    if scalar != _is_scalar(predicted):
        raise _lengths("one number", "a sequence") if scalar else _lengths("a sequence", "one number")
    predictions = [predicted] if scalar else list(predicted)
    truths = [truth] if scalar else list(truth)
    if len(predictions) != len(truths):
        raise _lengths(f"{len(truths)} values", f"{len(predictions)} values")
    place = "" if scalar else "[{}]"
    return Pairs(
        tuple(exact_decimal(value, "predicted" + place.format(n)) for n, value in enumerate(predictions)),
        tuple(_truth(value, "truth" + place.format(n)) for n, value in enumerate(truths)),
        scalar,
    )


def _is_scalar(value: Any) -> bool:
    return isinstance(value, str) or not isinstance(value, Iterable) or getattr(value, "ndim", None) == 0


def _lengths(expected: str, found: str) -> SpatialQAError:
    return SpatialQAError(
        "predictions and truths do not pair up",
        code="length_mismatch",
        key="predicted",
        found=found,
        expected=expected,
        next_step="give one prediction per truth, None where there is none",
    )


def _truth(value: Any, key: str) -> Decimal:
    decimal = exact_decimal(value, key)
    as_float = 0.0 if decimal is None else float(decimal)
    if decimal is None or math.isinf(as_float):
        raise SpatialQAError(
            "the truth is missing or not finite",
            code="bad_truth",
            key=key,
            found=repr(value),
            expected="a finite number other than zero",
            next_step="leave out the item, or repair its reference",
        )
    if as_float == 0:
        raise SpatialQAError(
            "nothing is relative to a truth of zero",
            code="zero_truth",
            key=key,
            found=str(value),
            expected="a number other than zero",
            next_step="leave out the item: an absent structure has no volume to estimate",
        )
    return decimal


def integer_ratio(one: Decimal, other: Decimal) -> tuple[int, int]:
    """Two numbers as integers on a common scale: ``one / other`` is exactly their ratio.

    Both must lie within ``OUT_OF_REACH`` decades of each other, or the integers get long.
    """
    parts = [number.as_tuple() for number in (one, other)]
    exponents = [int(part.exponent) for part in parts]
    lowest = min(exponents)
    first, second = (
        int(Decimal((part.sign, part.digits, 0))) * 10 ** (exponent - lowest)
        for part, exponent in zip(parts, exponents, strict=True)
    )
    return first, second


def decades_apart(predicted: Decimal, truth: Decimal) -> int:
    """How many decades further the leading digit of the prediction stands than that of the truth; neither is zero."""
    return predicted.adjusted() - truth.adjusted()


def divided(numerator: int, denominator: int) -> float:
    """The nearest float to a ratio of integers, the largest float where it is beyond."""
    try:
        return numerator / denominator
    except OverflowError:
        return LARGEST if (numerator > 0) == (denominator > 0) else -LARGEST


def finite(values: Sequence[float | None] | NDArray[Any]) -> NDArray[np.float64]:
    """The values that are there: None, NaN and infinity left out, as float64."""
    array = np.array([math.nan if value is None else float(value) for value in values], np.float64)
    return array[np.isfinite(array)]
