"""Two runs on the same items: how large is the difference, and could it be chance?"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from monai_spatialqa.errors import SpatialQAError
from monai_spatialqa.statistics.bootstrap import Column, Estimate, bootstrap_columns
from monai_spatialqa.statistics.resampling import Clusters, Draws, Groups, checked_values, chunk_width, group_members

TIE = 1e-9
"""Sums of flipped differences nearer than this share of their largest possible size count as equal."""

FLIPS = 1
"""Keeps the seed of the sign flips apart from that of the bootstrap."""


@dataclass(frozen=True)
class Comparison:
    """First run less second.

    Attributes:
        first, second: means of the runs; None without answers.
        difference: ``first - second`` with its interval.
        p_value: share of sign patterns that give at least this difference, either way; None without answers.
        exact: all sign patterns were tried, not a sample.
    """

    first: float | None
    second: float | None
    difference: Estimate
    p_value: float | None
    exact: bool


@overload
def paired_comparison(
    first: ArrayLike,
    second: ArrayLike,
    clusters: Sequence[Hashable] | NDArray[Any],
    groups: None = None,
    weights: ArrayLike | None = None,
    *,
    draws: int = 10_000,
    seed: int = 0,
    level: float = 0.95,
) -> Comparison: ...


@overload
def paired_comparison(
    first: ArrayLike,
    second: ArrayLike,
    clusters: Sequence[Hashable] | NDArray[Any],
    groups: Groups,
    weights: ArrayLike | None = None,
    *,
    draws: int = 10_000,
    seed: int = 0,
    level: float = 0.95,
) -> dict[str, Comparison]: ...


def paired_comparison(
    first: ArrayLike,
    second: ArrayLike,
    clusters: Sequence[Hashable] | NDArray[Any],
    groups: Groups | None = None,
    weights: ArrayLike | None = None,
    *,
    draws: int = 10_000,
    seed: int = 0,
    level: float = 0.95,
) -> Comparison | dict[str, Comparison]:
    """Difference of the means of two runs on the same items, with interval and p-value.

    The interval is the cluster bootstrap's. For the p-value the two runs change places cluster by cluster, as they
    could if they were equally good: it is the share of sign patterns whose difference is at least as large, either
    way. All patterns are tried where there are no more of them than ``draws`` (13 clusters with a difference at
    10,000), else ``draws`` seeded ones, the observed one counted in: (1 + as large) / (1 + draws), never 0.

    Args:
        first: score per item, (N,).
        second: the other run's scores of the same items in the same order.
        clusters: id of the case or patient of each item.
        groups: masks (N,) by name, or one name per item; left out: all items.
        weights: (N,); 0 leaves an item out.
        draws: number of draws, and of sign patterns.
        seed: of both.
        level: of the interval.

    Returns:
        A comparison, or one per group by name. Correct the p-values of several with :func:`holm`.

    Raises:
        SpatialQAError: scores, weights, clusters and masks do not fit together.
        SettingsError: draws, seed or level are impossible.

    Example:
        >>> found = paired_comparison([1, 1, 1, 1], [0, 0, 1, 0], clusters=["a", "b", "c", "d"])
        >>> found.difference.value, found.p_value, found.exact
        (0.75, 0.25, True)
    """
    plan = Draws(draws, seed, level)
    numbered = Clusters.of(clusters)
    length = len(numbered.index)
    ours, weight = checked_values(first, weights, length)
    theirs, _ = checked_values(second, weights, length)
    wanted = {"": np.ones(length, bool)} if groups is None else groups
    members = group_members(wanted, length)
    difference = Column(ours - theirs, weight)
    estimates = bootstrap_columns({"": difference}, clusters, wanted, draws=draws, seed=seed, level=level)
    sums = {name: numbered.sums((ours - theirs) * weight, places) for name, places in members.items()}
    p_values = _p_values(sums, numbered.count, plan)
    found = {}
    for name, places in members.items():
        p_value, exact = p_values[name] if estimates[name][""].count else (None, True)
        means = [_mean(scores[places], weight[places]) for scores in (ours, theirs)]
        found[name] = Comparison(means[0], means[1], estimates[name][""], p_value, exact)
    return found[""] if groups is None else found


def _mean(values: NDArray[np.float64], weights: NDArray[np.float64]) -> float | None:
    total = math.fsum(weights.tolist())
    return math.fsum((values * weights).tolist()) / total if total else None


def _p_values(sums: dict[str, NDArray[np.float64]], clusters: int, draws: Draws) -> dict[str, tuple[float, bool]]:
    """P-value of every group's difference, and whether it is exact, from the sums of differences by cluster."""
    found: dict[str, tuple[float, bool]] = {}
    sampled = []
    for name, by_cluster in sums.items():
        different = by_cluster[by_cluster != 0]  # flipping a zero changes nothing
        if 2 ** len(different) <= draws.number or not len(different):
            flipped = np.zeros(1)
            for one in different:  # every pattern so far goes on with this one as it is, and flipped
                flipped = np.concatenate([flipped + one, flipped - one])
            found[name] = float(np.mean(_as_large(flipped, different))), True
        else:
            sampled.append(name)
    if sampled:
        columns = np.stack([sums[name] for name in sampled], axis=1)
        counted = np.zeros(len(sampled), np.int64)
        random = np.random.default_rng([draws.seed, FLIPS])
        rows = chunk_width(max(clusters, len(sampled)))
        for start in range(0, draws.number, rows):
            signs = random.integers(0, 2, (min(rows, draws.number - start), clusters), dtype=np.int8)
            flipped = (signs * 2.0 - 1) @ columns
            counted += _as_large(flipped, columns).sum(axis=0)
        for name, count in zip(sampled, counted.tolist(), strict=True):
            found[name] = (1 + count) / (1 + draws.number), False
    return found


def _as_large(flipped: NDArray[np.float64], differences: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Whether flipped sums are at least as large as the observed one, in either direction."""
    slack = TIE * np.abs(differences).sum(axis=0)
    return np.abs(flipped) >= np.abs(differences.sum(axis=0)) - slack


def holm(p_values: Sequence[float] | NDArray[Any]) -> list[float]:
    """P-values corrected for being several, by Holm's step-down method (Scand J Stat 1979; 6: 65-70).

    The smallest of m is multiplied by m, the next by m - 1, and so on; none comes out below a smaller one, none above
    1. A corrected value of at most 0.05 keeps the chance of any false finding in the list below 5 %.

    Args:
        p_values: all that were looked at, not only the small ones.

    Returns:
        Corrected ones in the order given.

    Raises:
        SpatialQAError: a value that is not within 0 and 1.

    Example:
        >>> holm([0.01, 0.04, 0.03])
        [0.03, 0.06, 0.06]
    """
    array = np.asarray(p_values, np.float64)
    good = (array >= 0) & (array <= 1)
    if array.ndim != 1 or not good.all():
        place = f"[{int(np.flatnonzero(~good)[0])}]" if array.ndim == 1 else ""
        raise SpatialQAError(
            "this is not a list of p-values",
            code="bad_scores",
            key=f"p_values{place}",
            found=array[~good][0] if array.ndim == 1 else f"shape {array.shape}",
            expected="numbers from 0 to 1",
            next_step="leave out comparisons that have no p-value",
        )
    order = np.argsort(array, kind="stable")
    steps = np.maximum.accumulate(array[order] * np.arange(len(array), 0, -1))
    corrected = np.empty_like(array)
    corrected[order] = np.minimum(steps, 1)
    return [float(value) for value in corrected]
