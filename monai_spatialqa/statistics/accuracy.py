"""Shares of right answers, with their denominators, and averages over tasks."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monai_spatialqa.errors import SpatialQAError

Flags = Sequence[bool] | Sequence[int] | Sequence[float] | NDArray[Any]
"""One 0 or 1 per answer."""

CHOICE_TASKS = ("DIR", "DIST", "EXT", "VOL", "COMP")
"""Tasks whose items are choices."""

PAPER_COLUMNS = (*CHOICE_TASKS, "VOLEST")
"""Columns of the published result table, in its order."""


@dataclass(frozen=True)
class Accuracy:
    """Right answers and the two numbers they can be divided by.

    Attributes:
        right: answers that are right.
        answered: items to which the model replied; a reply from which nothing could be read is one, and wrong.
        total: items asked, failed calls included.
    """

    right: int
    answered: int
    total: int

    @property
    def over_all(self) -> float | None:
        """Right over all items asked; None when there are none."""
        return self.right / self.total if self.total else None

    @property
    def over_answered(self) -> float | None:
        """Right over the items with a reply; None when there are none."""
        return self.right / self.answered if self.answered else None


def accuracy(correct: Flags, answered: Flags | None = None) -> Accuracy:
    """Accuracy over all items and over those with a reply, which differ when calls failed.

    Args:
        correct: 1 for a right answer, 0 for a wrong one, for one that could not be read, and for none.
        answered: 1 where the model replied at all, 0 where the call failed; left out: it always did.

    Returns:
        The counts, with both shares.

    Raises:
        SpatialQAError: other values than 0 and 1, lengths that differ, or a right answer without a reply.

    Example:
        >>> found = accuracy([1] * 6 + [0] * 4, answered=[1] * 8 + [0] * 2)
        >>> found.over_all, found.over_answered
        (0.6, 0.75)
    """
    right = _flags(correct, "correct")
    replied = np.ones_like(right) if answered is None else _flags(answered, "answered")
    if len(right) != len(replied):
        raise _wrong("the flags do not belong to the same answers", "answered", len(replied), f"{len(right)} values")
    if (right & ~replied).any():
        place = int(np.flatnonzero(right & ~replied)[0])
        raise _wrong("an answer is right that was never given", f"correct[{place}]", 1, "0 where answered is 0")
    return Accuracy(int(right.sum()), int(replied.sum()), len(right))


def validity_rate(valid: Flags) -> float | None:
    """Share of all answers from which a letter or a number was read; None without answers.

    Raises:
        SpatialQAError: other values than 0 and 1.
    """
    return _share(_flags(valid, "valid"))


def abstention_rate(abstained: Flags) -> float | None:
    """Share of all answers that say that it cannot be determined; None without answers.

    Raises:
        SpatialQAError: other values than 0 and 1.
    """
    return _share(_flags(abstained, "abstained"))


def chance_adjusted(scores: Sequence[float] | NDArray[Any], chances: Sequence[float] | NDArray[Any]) -> float | None:
    """How much of the way from guessing to perfect was made: 0 for guessing, 1 for all right, negative below chance.

    ``sum(score - chance) / sum(1 - chance)``, which is (accuracy - chance) / (1 - chance) with the mean chance of the
    items. Options are counted per item, so that yes/no items and items with four options can be mixed.

    Args:
        scores: 1 or 0 per item.
        chances: 1 over the number of options, per item.

    Returns:
        At most 1, None without items.

    Raises:
        SpatialQAError: a chance that is not within [0, 1), a score that is not within [0, 1], lengths that differ.

    Example:
        >>> chance_adjusted([1, 1, 0, 0], [0.25, 0.25, 0.5, 0.5])
        0.2
    """
    values, weights = chance_adjusted_columns(scores, chances)
    return math.fsum(values * weights) / math.fsum(weights) if len(values) else None


def chance_adjusted_columns(
    scores: Sequence[float] | NDArray[Any], chances: Sequence[float] | NDArray[Any]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Values and weights whose weighted mean is :func:`chance_adjusted`, for intervals and groups.

    Returns:
        ``(score - chance) / (1 - chance)`` and ``1 - chance``, float64 of shape (N,) each.

    Raises:
        SpatialQAError: as :func:`chance_adjusted`.
    """
    score, chance = np.asarray(scores, np.float64), np.asarray(chances, np.float64)
    if score.shape != chance.shape or score.ndim != 1:
        raise _wrong("scores and chances do not belong together", "chances", chance.shape, f"shape {score.shape}")
    for name, array, good, expected in (
        ("scores", score, (score >= 0) & (score <= 1), "0 to 1"),
        ("chances", chance, (chance >= 0) & (chance < 1), "1 over the number of options, which is 2 or more"),
    ):
        if not good.all():
            place = int(np.flatnonzero(~good)[0])
            raise _wrong("a value is out of range", f"{name}[{place}]", array[place], expected)
    return (score - chance) / (1 - chance), 1 - chance


def paper_average(columns: Mapping[str, float | None] | Sequence[float | None]) -> float:
    """The column AVG of the published table: unweighted mean of the six columns, an empty one (None, NaN) as 0.

    It mixes accuracy with mean relative accuracy, and punishes a model that was never asked for numbers. It is for
    setting figures beside the published ones; :func:`macro_average` is the one to read. Source: the table of
    arXiv 2603.13800, 12 of whose 14 rows it gives.

    Args:
        columns: the six tasks by name (``PAPER_COLUMNS``), or six values in that order; shares or percent.

    Returns:
        In the unit of the columns.

    Raises:
        SpatialQAError: other columns than these six.
    """
    named = columns if isinstance(columns, Mapping) else dict(zip(PAPER_COLUMNS, columns, strict=False))
    if set(named) != set(PAPER_COLUMNS) or len(columns) != len(PAPER_COLUMNS):
        found = sorted(columns) if isinstance(columns, Mapping) else f"{len(columns)} values"
        raise _wrong("the average is over six columns", "columns", found, ", ".join(PAPER_COLUMNS))
    return math.fsum(_there(named.values())) / len(PAPER_COLUMNS)


def macro_average(columns: Mapping[str, float | None]) -> float | None:
    """Unweighted mean over the tasks whose items are choices; tasks that were not asked are left out.

    Args:
        columns: accuracy by task; VOLEST, which has no accuracy, is ignored.

    Returns:
        In the unit of the columns, None without a choice task.

    Raises:
        SpatialQAError: a name that is no task.

    Example:
        >>> macro_average({"DIR": 0.5, "VOL": 0.25, "DIST": None, "VOLEST": 0.9})
        0.375
    """
    unknown = sorted(set(columns) - set(PAPER_COLUMNS))
    if unknown:
        raise _wrong("this is no task", "columns", ", ".join(unknown), ", ".join(PAPER_COLUMNS))
    there = _there(columns.get(task) for task in CHOICE_TASKS)
    return math.fsum(there) / len(there) if there else None


def _there(values: Iterable[float | None]) -> list[float]:
    return [value for value in values if value is not None and not math.isnan(value)]


def _share(flags: NDArray[np.bool_]) -> float | None:
    return int(flags.sum()) / len(flags) if len(flags) else None


def _flags(values: Flags, key: str) -> NDArray[np.bool_]:
    array = np.asarray(values)
    good = np.isin(array, (0, 1)) if array.ndim == 1 else np.zeros(1, bool)
    if not good.all():
        place = int(np.flatnonzero(~good)[0])
        found = values[place] if array.ndim == 1 else f"{array.ndim} dimensions"
        raise _wrong("a flag is neither 0 nor 1", f"{key}[{place}]", found, "0 or 1 for each answer")
    return array.astype(bool)


def _wrong(problem: str, key: str, found: Any, expected: str) -> SpatialQAError:
    return SpatialQAError(
        problem,
        code="bad_scores",
        key=key,
        found=found,
        expected=expected,
        next_step="look at the records the figures were taken from",
    )
