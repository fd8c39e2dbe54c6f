"""Intervals by cluster bootstrap: cases are drawn with replacement, each with all its answers.

Answers about one scan are alike: treating them as independent makes intervals too narrow. Every draw takes as many
cases as there are, and a figure is computed anew from the answers of the drawn cases. The interval is between
percentiles of those figures.

All groups see the same draws, so a group's interval depends neither on which others are computed nor on their order.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from monai_spatialqa.errors import SettingsError
from monai_spatialqa.statistics.drawn_means import TOGETHER, Quotients, WeightedFigure
from monai_spatialqa.statistics.drawn_medians import SortedValues
from monai_spatialqa.statistics.resampling import Clusters, Draws, Groups, checked_values, group_members

HELD = 1 << 24
"""Figures times draws that are held at once: 128 MiB of numbers, 1,677 figures at 10,000 draws."""

Statistic = Literal["mean", "median"]


@dataclass(frozen=True)
class Estimate:
    """A figure with its interval.

    Attributes:
        value: None where there is no answer to compute it from.
        low, high: ends of the interval; None where all answers belong to one cluster, which tells nothing of others.
        count: answers it is over (those with a weight).
        clusters: clusters that these belong to.
    """

    value: float | None
    low: float | None
    high: float | None
    count: int
    clusters: int


@dataclass(frozen=True)
class Column:
    """One figure of every answer.

    Attributes:
        values: (N,), finite where the weight is not 0.
        weights: (N,); left out: 1. 0 leaves an answer out. A mean is sum(weight x value) / sum(weight); for a median
            weights are 0 or 1.
        statistic: ``mean`` or ``median``.
    """

    values: ArrayLike
    weights: ArrayLike | None = None
    statistic: Statistic = "mean"


@dataclass(frozen=True)
class _Job:
    """One figure of one group: its members and what they have, all with a weight."""

    figure: WeightedFigure
    statistic: Statistic
    clusters: int

    @property
    def count(self) -> int:
        return len(self.figure.members)

    def value(self) -> float | None:
        if not self.count:
            return None
        values, weights = self.figure.values[self.figure.members], self.figure.weights[self.figure.members]
        if self.statistic == "median":
            return float(np.median(values))
        return math.fsum((values * weights).tolist()) / math.fsum(weights.tolist())

    def estimate(self, drawn: NDArray[np.float64], draws: Draws) -> Estimate:
        low, high = draws.interval(drawn) if self.clusters > 1 else (None, None)
        return Estimate(self.value(), low, high, self.count, self.clusters)


@overload
def cluster_bootstrap(
    values: ArrayLike,
    clusters: Sequence[Hashable] | NDArray[Any],
    groups: None = None,
    weights: ArrayLike | None = None,
    *,
    statistic: Statistic = "mean",
    draws: int = 10_000,
    seed: int = 0,
    level: float = 0.95,
) -> Estimate: ...


@overload
def cluster_bootstrap(
    values: ArrayLike,
    clusters: Sequence[Hashable] | NDArray[Any],
    groups: Groups,
    weights: ArrayLike | None = None,
    *,
    statistic: Statistic = "mean",
    draws: int = 10_000,
    seed: int = 0,
    level: float = 0.95,
) -> dict[str, Estimate]: ...


def cluster_bootstrap(
    values: ArrayLike,
    clusters: Sequence[Hashable] | NDArray[Any],
    groups: Groups | None = None,
    weights: ArrayLike | None = None,
    *,
    statistic: Statistic = "mean",
    draws: int = 10_000,
    seed: int = 0,
    level: float = 0.95,
) -> Estimate | dict[str, Estimate]:
    """Mean or median of the values, of all or of many groups, with intervals from drawing clusters with replacement.

    Args:
        values: one figure per answer, (N,).
        clusters: what answers belong together by: the id of the case, or of the patient.
        groups: masks (N,) by name, or one name per answer; left out: all answers.
        weights: (N,); 0 leaves an answer out. The mean is sum(weight x value) / sum(weight), numerator and denominator
            drawn together.
        statistic: ``mean`` or ``median``; the median is that of the drawn answers, not approximated.
        draws: number of draws.
        seed: of the draws.
        level: of the interval: percentiles (1 - level) / 2 and (1 + level) / 2 of the draws. Draws that contain no
            answer of a small group are left out for it.

    Returns:
        An estimate, or one per group by name.

    Raises:
        SpatialQAError: values, weights, clusters and masks do not fit together.
        SettingsError: draws, seed, level or statistic are impossible.

    Example:
        >>> found = cluster_bootstrap([1, 1, 0, 1, 0, 0], clusters=["a", "a", "b", "b", "c", "c"])
        >>> found.value, found.low, found.high, found.clusters
        (0.5, 0.0, 1.0, 3)
    """
    column = {"": Column(values, weights, statistic)}
    wanted = {"": np.ones(len(clusters), bool)} if groups is None else groups
    found = bootstrap_columns(column, clusters, wanted, draws=draws, seed=seed, level=level)
    return found[""][""] if groups is None else {name: figures[""] for name, figures in found.items()}


def bootstrap_columns(
    columns: Mapping[str, Column],
    clusters: Sequence[Hashable] | NDArray[Any],
    groups: Groups,
    *,
    draws: int = 10_000,
    seed: int = 0,
    level: float = 0.95,
) -> dict[str, dict[str, Estimate]]:
    """Several figures of many groups from the same draws; see :func:`cluster_bootstrap`.

    Args:
        columns: figures by name.
        clusters: id of the cluster of each answer.
        groups: masks (N,) by name, or one name per answer.
        draws: number of draws.
        seed: of the draws.
        level: of the intervals.

    Returns:
        Group to figure to estimate.

    Raises:
        SpatialQAError: values, weights, clusters and masks do not fit together.
        SettingsError: draws, seed, level or a statistic are impossible.
    """
    plan = Draws(draws, seed, level)
    numbered = Clusters.of(clusters)
    members = group_members(groups, len(numbered.index))
    jobs = _jobs(columns, numbered, members)
    estimates: list[Estimate] = []
    for part in _held(jobs, plan):
        drawn = _draw(part, numbered, plan)
        estimates += [job.estimate(row, plan) for job, row in zip(part, drawn, strict=True)]
    result: dict[str, dict[str, Estimate]] = {}
    for (group, column), estimate in zip(((g, c) for g in members for c in columns), estimates, strict=True):
        result.setdefault(group, {})[column] = estimate
    return result


def macro_bootstrap(
    values: ArrayLike,
    clusters: Sequence[Hashable] | NDArray[Any],
    groups: Groups,
    weights: ArrayLike | None = None,
    *,
    empty: Literal["skip", "zero"] = "skip",
    draws: int = 10_000,
    seed: int = 0,
    level: float = 0.95,
) -> Estimate:
    """Unweighted mean of the groups' means, with an interval in which all groups are drawn together.

    Args:
        values: one figure per answer, (N,).
        clusters: id of the cluster of each answer.
        groups: what is averaged over: masks (N,) by name, or one name per answer.
        weights: (N,), as in :func:`cluster_bootstrap`.
        empty: a group without any answer is left out (``skip``), or counts as 0 (``zero``), as in
            :func:`paper_average`.
        draws: number of draws; those in which a group is empty that is not empty in truth are left out.
        seed: of the draws.
        level: of the interval.

    Returns:
        The estimate; without an interval if any group has its answers from one cluster only.

    Raises:
        SpatialQAError: values, weights, clusters and masks do not fit together.
        SettingsError: draws, seed, level or ``empty`` are impossible.
    """
    if empty not in ("skip", "zero"):
        raise _unknown("empty", empty, "skip or zero")
    plan = Draws(draws, seed, level)
    numbered = Clusters.of(clusters)
    members = group_members(groups, len(numbered.index))
    jobs = _jobs({"": Column(values, weights)}, numbered, members)
    filled = [job for job in jobs if job.count]
    divisor = len(jobs) if empty == "zero" else len(filled)
    together = np.unique(np.concatenate([np.zeros(0, np.int64), *(job.figure.members for job in filled)]))
    count, spread = len(together), len(np.unique(numbered.index[together]))
    if not divisor:
        return Estimate(None, None, None, 0, 0)
    value = math.fsum(mean for job in filled if (mean := job.value()) is not None) / divisor
    if not filled or min(job.clusters for job in filled) < 2:
        return Estimate(value, None, None, count, spread)
    drawn = np.zeros(draws)
    for part in _held(filled, plan):
        drawn += _draw(part, numbered, plan).sum(axis=0)
    low, high = plan.interval(drawn / divisor)
    return Estimate(value, low, high, count, spread)


def _jobs(columns: Mapping[str, Column], clusters: Clusters, groups: Mapping[str, NDArray[np.int64]]) -> list[_Job]:
    """Every column of every group, group by group."""
    ready = []
    for name, column in columns.items():
        if column.statistic not in ("mean", "median"):
            raise _unknown("statistic", column.statistic, "mean or median")
        values, weights = checked_values(column.values, column.weights, len(clusters.index))
        if column.statistic == "median" and not np.isin(weights, (0, 1)).all():
            raise _unknown(f"weights of {name!r}" if name else "weights", "other weights", "0 or 1 for a median")
        ready.append((values, weights, column.statistic))
    # Columns of equal weights share their denominators.
    alike = [next(at for at, other in enumerate(ready) if np.array_equal(one[1], other[1])) for one in ready]
    jobs = []
    for number, places in enumerate(groups.values()):
        for (values, weights, statistic), first in zip(ready, alike, strict=True):
            members = places[weights[places] > 0]
            figure = WeightedFigure(values, weights, members, number * len(ready) + first)
            jobs.append(_Job(figure, statistic, len(np.unique(clusters.index[members]))))
    return jobs


def _held(jobs: Sequence[_Job], draws: Draws) -> Iterator[Sequence[_Job]]:
    """As many at once as may be held."""
    step = max(1, HELD // draws.number)
    for start in range(0, len(jobs), step):
        yield jobs[start : start + step]


def _draw(jobs: Sequence[_Job], clusters: Clusters, draws: Draws) -> NDArray[np.float64]:
    """Every figure in every draw, (jobs, draws); NaN in a draw without any of its answers."""
    result = np.full((len(jobs), draws.number), np.nan)
    spread = [at for at, job in enumerate(jobs) if job.clusters > 1]
    means = np.array([at for at in spread if jobs[at].statistic == "mean"], np.int64)
    parts = [means[start : start + TOGETHER] for start in range(0, len(means), TOGETHER)]
    products = [(part, Quotients.of([jobs[at].figure for at in part], clusters)) for part in parts]
    medians = [at for at in spread if jobs[at].statistic == "median"]
    ordered = {at: SortedValues.of(jobs[at].figure.values, clusters, jobs[at].figure.members) for at in medians}
    start = 0
    for counts in draws.counts(clusters.count) if spread else ():
        here = slice(start, start + counts.shape[1])
        start = here.stop
        for part, product in products:
            result[part, here] = product.means(counts)
        for at, values in ordered.items():
            result[at, here] = values.medians(counts)
    return result


def _unknown(key: str, found: Any, expected: str) -> SettingsError:
    return SettingsError(
        "this way of resampling does not exist",
        key=key,
        found=found,
        expected=expected,
        next_step=f"give {expected}",
    )
