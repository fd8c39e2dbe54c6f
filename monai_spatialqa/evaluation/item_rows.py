"""Scores as columns, one row an item: repeats are averaged, an item without an answer counts as a failed one.

Rows count the answers to the options as the item has them; answers to rotated options are for :mod:`.circular` only,
so that a run with CircularEval and one without can be compared.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from monai_spatialqa.evaluation.attributes import cases_of
from monai_spatialqa.records.answer import Score
from monai_spatialqa.records.item import Item
from monai_spatialqa.statistics import ERROR_LIMITS, Column, chance_adjusted_columns

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ItemRows:
    """The answers of one run, one row an item.

    Attributes:
        items: the rows.
        clusters: of each row, the patient, or the case where no patient is stated.
        means: figure -> its column over the items; a weight of 0 leaves an item out.
        gain: score less that without images, over the choices asked both ways; None without a blind run.
        reads: row of every number that was read; with repeats a row may be there several times.
        medians: figure -> its column over the numbers that were read.
    """

    items: Sequence[Item]
    clusters: list[str]
    means: dict[str, Column]
    gain: Column | None
    reads: NDArray[np.intp]
    medians: dict[str, Column]


def item_rows(items: Sequence[Item], scores: Iterable[Score], blind: Iterable[Score] | None = None) -> ItemRows:
    """Columns of a run.

    Args:
        items: everything that was asked.
        scores: of one run.
        blind: of the same model without images, for the gain; items that it lacks are left out of that figure.
    """
    found = unrotated_by_item(scores)
    rows = [found.get(item.item_id, []) for item in items]
    choice = np.array([item.format != "numeric" for item in items], bool)
    mean = _Means(rows)
    score = mean(lambda one: one.score)
    answered = mean(lambda one: float(one.outcome == "answered"))
    chance = np.array([1 / len(item.options) if item.options else 0.0 for item in items])
    everything = np.ones(len(items))
    columns = {
        "accuracy_all": Column(score, everything * choice),
        "accuracy_answered": Column(
            np.divide(score, answered, out=np.zeros_like(score), where=answered > 0), answered * choice
        ),
        "mra": Column(score, everything * ~choice),
        "mra_parity": Column(mean(lambda one: one.score_parity or 0.0), everything * ~choice),
        "validity": Column(mean(lambda one: float(one.valid)), everything),
        "abstention": Column(mean(lambda one: float(one.reading.abstained)), everything),
    }
    adjusted, weights = chance_adjusted_columns(score, chance)
    columns["chance_adjusted"] = Column(adjusted, weights * choice)
    for limit in ERROR_LIMITS:
        columns[f"within_{limit * 100:.0f}"] = Column(mean(_within(limit)), everything * ~choice)
    gain = None
    if blind is not None:
        unseen = unrotated_by_item(blind)
        both = [item.item_id in found and item.item_id in unseen for item in items]
        without = _Means([unseen.get(item.item_id, []) for item in items])
        gain = Column(score - without(lambda one: one.score), choice & np.array(both, bool))
    read = [(at, one) for at, row in enumerate(rows) for one in row if one.relative_error is not None]
    return ItemRows(
        items=items,
        clusters=list(cases_of(items).values()),
        means=columns,
        gain=gain,
        reads=np.array([at for at, _ in read], np.intp),
        medians={
            "median_relative_error": _median([one.relative_error for _, one in read]),
            "median_log10_ratio": _median([one.log10_ratio for _, one in read]),
        },
    )


def unrotated_by_item(scores: Iterable[Score]) -> dict[str, list[Score]]:
    """Scores of unrotated answers, in the order of repeats, so that sums do not depend on the order of answers."""
    found: dict[str, list[Score]] = defaultdict(list)
    for score in scores:
        if not score.rotation:
            found[score.item_id].append(score)
    for repeats in found.values():
        repeats.sort(key=lambda one: one.repeat)
    return found


@dataclass(frozen=True)
class _Means:
    """Means over the repeats of each item, 0 for an item without any."""

    rows: list[list[Score]]

    def __call__(self, value: Callable[[Score], float]) -> Floats:
        return np.array([sum(map(value, row)) / len(row) if row else 0.0 for row in self.rows], np.float64)


def _within(limit: float) -> Callable[[Score], float]:
    return lambda one: float(one.relative_error is not None and one.relative_error <= limit)


def _median(values: Sequence[float | None]) -> Column:
    there = np.array([value is not None for value in values], float)
    return Column(np.array([0.0 if value is None else value for value in values]), there, "median")
