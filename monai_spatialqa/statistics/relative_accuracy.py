"""Mean relative accuracy (MRA): how near a number came, as a score from 0 to 1."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import NDArray

from monai_spatialqa.errors import SettingsError
from monai_spatialqa.statistics.as_written import Number, Pairs, decades_apart, integer_ratio, read_pairs

THRESHOLDS = 10
"""0.50, 0.55, ... 0.95: a relative error of less than 0.50, 0.45, ... 0.05 passes them."""

ERROR_STEPS = 20
"""The errors that pass are 1, 2, ... 10 twentieths of the truth."""


@overload
def mean_relative_accuracy(  # type: ignore[overload-overlap]  # text is a sequence of text, too
    predicted: Number | None, truth: Number, mode: Literal["exact", "parity"] = "exact"
) -> float: ...


@overload
def mean_relative_accuracy(
    predicted: Sequence[Number | None] | NDArray[Any],
    truth: Sequence[Number] | NDArray[Any],
    mode: Literal["exact", "parity"] = "exact",
) -> NDArray[np.float64]: ...


def mean_relative_accuracy(
    predicted: Any, truth: Any, mode: Literal["exact", "parity"] = "exact"
) -> float | NDArray[np.float64]:
    """Share of the thresholds 0.50, 0.55, ... 0.95 that the relative error of a prediction passes.

    A threshold t is passed when ``|predicted - truth| / |truth| < 1 - t`` (VSI-Bench, arXiv 2412.14171, section 3.2).
    The published formula divides by the truth; a negative truth counts with its magnitude here.

    - ``exact``: the formula, with its strict "less than", on the numbers as they were written. Text, ``Decimal`` and
      ``int`` are exact; a float counts as its ``repr``. The score does not depend on the unit.
    - ``parity``: what public harnesses compute: float64, thresholds from ``linspace(0.5, 0.95, 10)``, "less than or
      equal" (EvolvingLMMs-Lab/lmms-eval, ``lmms_eval/tasks/vsibench/utils.py``, commit 78ef58a). It differs where the
      relative error is a whole multiple of 5 %.

    Args:
        predicted: a number, or a sequence of numbers, in the unit of the truth. None, NaN, infinity and empty text are
            missing and score 0. Text is a number, not a reply.
        truth: as many numbers.
        mode: ``exact`` or ``parity``.

    Returns:
        A score from 0 to 1, a multiple of 0.1: a float for two numbers, float64 of shape (N,) for sequences.

    Raises:
        SpatialQAError: a truth is zero, missing or not finite, a value is not a number, or lengths differ. In
            sequences the key names the index, as in ``truth[3]``.
        SettingsError: another mode.

    Example:
        >>> mean_relative_accuracy("107", "100")
        0.9
        >>> mean_relative_accuracy([105, None], [100, 100]).tolist()
        [0.9, 0.0]
        >>> mean_relative_accuracy(105, 100, mode="parity")
        1.0
    """
    if mode not in ("exact", "parity"):
        raise SettingsError(
            "this way of computing mean relative accuracy does not exist",
            key="mode",
            found=repr(mode),
            expected="exact or parity",
            next_step="take exact, or parity to compare with figures of public harnesses",
        )
    pairs = read_pairs(predicted, truth)
    if mode == "parity":
        return pairs.shaped(_parity(pairs).tolist())
    return pairs.shaped(_exact(p, t) / THRESHOLDS for p, t in zip(pairs.predicted, pairs.truth, strict=True))


def _exact(predicted: Decimal | None, truth: Decimal) -> int:
    """How many of the ten thresholds are passed."""
    # Two decades apart, the error is above 90 %: no integers of that length are needed to see it.
    if predicted is None or not predicted or abs(decades_apart(predicted, truth)) >= 2:
        return 0
    ours, right = integer_ratio(predicted, truth)
    # error < k / 20 for k = 1 ... 10 holds for every k above floor(20 x error).
    return max(0, THRESHOLDS - ERROR_STEPS * abs(ours - right) // abs(right))


def _parity(pairs: Pairs) -> NDArray[np.float64]:
    predicted = np.array([np.nan if value is None else float(value) for value in pairs.predicted], np.float64)
    truth = np.array([float(value) for value in pairs.truth], np.float64)
    with np.errstate(over="ignore"):
        error = np.abs(predicted - truth) / np.abs(truth)
    return np.mean(error[:, None] <= 1 - np.linspace(0.5, 0.95, THRESHOLDS), axis=1)
