"""Drawing whole clusters with replacement: which answers belong together, and how often each cluster is drawn."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from monai_spatialqa.errors import SettingsError, SpatialQAError

Groups: TypeAlias = Mapping[str, ArrayLike] | Sequence[str | None] | NDArray[Any]
"""A mask of bool (N,) by name, so that an answer may be in many groups; or one name per answer, None for no group."""

CHUNK = 1 << 21
"""Draws times clusters that are held at once: 16 MiB of numbers."""

BLOCK = 64
"""Values of a median that are looked at together; draws are cut so that these, too, stay within ``CHUNK``."""


@dataclass(frozen=True)
class Clusters:
    """Which answers belong together.

    Attributes:
        index: number of the cluster of each answer, int64 (N,).
        count: number of clusters.
    """

    index: NDArray[np.int64]
    count: int

    @classmethod
    def of(cls, labels: Sequence[Hashable] | NDArray[Any]) -> Clusters:
        """Clusters by label, numbered in the labels' sorted order so that the order of the answers does not matter.

        Raises:
            SpatialQAError: a label is missing.
        """
        listed = list(labels)
        for place, label in enumerate(listed):
            if label is None or label != label:  # NaN is unlike itself
                raise SpatialQAError(
                    "an answer belongs to no cluster",
                    code="bad_clusters",
                    key=f"clusters[{place}]",
                    found=label,
                    expected="the id of a case or patient",
                    next_step="give the case id; an answer without one is a cluster of its own and needs its own id",
                )
        names, index = np.unique(np.array([str(label) for label in listed], dtype=np.str_), return_inverse=True)
        return cls(index.astype(np.int64), len(names))

    def sums(self, values: NDArray[np.float64], members: NDArray[np.int64]) -> NDArray[np.float64]:
        """Sum of the members' values by cluster, (count,)."""
        summed = np.bincount(self.index[members], weights=values[members], minlength=self.count)
        return summed.astype(np.float64, copy=False)


@dataclass(frozen=True)
class Draws:
    """How often to draw, and from which seed.

    Attributes:
        number: of draws.
        seed: of numpy's default generator; the same seed gives the same draws for one release of numpy.
        level: of the interval, e.g. 0.95.
    """

    number: int
    seed: int
    level: float

    def __post_init__(self) -> None:
        for name, found, good, expected in (
            ("draws", self.number, self.number >= 1, "1 or more"),
            ("level", self.level, 0 < self.level < 1, "between 0 and 1, such as 0.95"),
            ("seed", self.seed, self.seed >= 0, "0 or more"),
        ):
            if not good:
                raise SettingsError(
                    "this cannot be drawn",
                    key=name,
                    found=found,
                    expected=expected,
                    next_step=f"change {name}, or leave it out for the default",
                )

    def counts(self, clusters: int) -> Iterator[NDArray[np.float64]]:
        """How often every cluster is in each draw: chunks of (clusters, draws), whole numbers as float64.

        Every column adds up to ``clusters``.
        """
        random = np.random.default_rng(self.seed)
        width = chunk_width(clusters)
        for start in range(0, self.number, width):
            draws = min(width, self.number - start)
            drawn = random.integers(0, clusters, (draws, clusters))
            drawn += np.arange(draws)[:, None] * clusters
            counted = np.bincount(drawn.ravel(), minlength=draws * clusters)
            yield counted.reshape(draws, clusters).T.astype(np.float64, order="C")

    def interval(self, statistics: NDArray[np.float64]) -> tuple[float, float] | tuple[None, None]:
        """Percentile interval of one statistic over the draws that have it (no NaN); no ends where none has."""
        there = statistics[~np.isnan(statistics)]
        if not len(there):
            return None, None
        tail = (1 - self.level) / 2
        low, high = np.quantile(there, [tail, 1 - tail])
        # A matrix product differs in its last digits from one machine to another.
        return round(float(low), 12), round(float(high), 12)


def chunk_width(numbers: int) -> int:
    """Draws that are held at once when each holds so many numbers."""
    return max(1, CHUNK // max(numbers, BLOCK))


def group_members(groups: Groups, length: int) -> dict[str, NDArray[np.int64]]:
    """Places of the answers of every group, by name.

    Raises:
        SpatialQAError: a mask is not boolean, or a length is not that of the answers.
    """
    if isinstance(groups, Mapping):
        masks = {name: np.asarray(mask) for name, mask in groups.items()}
    else:
        if len(groups) != length:
            raise _not_fitting("groups", f"{len(groups)} names", f"{length} names, one per answer")
        names = np.array(["" if name is None else str(name) for name in groups], dtype=np.str_)
        there = np.array([name is not None for name in groups], dtype=bool)
        masks = {str(name): (names == name) & there for name in np.unique(names[there])}
    for name, mask in masks.items():
        if (length and mask.dtype != bool) or mask.shape != (length,):
            found = f"{mask.dtype}, shape {mask.shape}"
            raise _not_fitting(f"groups[{name!r}]", found, f"bool, shape ({length},): a mask over the answers")
    return {name: np.flatnonzero(mask) for name, mask in masks.items()}


def checked_values(values: ArrayLike, weights: ArrayLike | None, length: int) -> tuple[NDArray, NDArray]:
    """Values and weights as float64 (N,); a value of weight 0 is set to 0, whatever it is.

    Raises:
        SpatialQAError: lengths that differ from that of the clusters, a weight that is negative or not finite, a value
            that is not finite and has a weight.
    """
    value = np.array(values, np.float64)
    weight = np.ones(length) if weights is None else np.array(weights, np.float64)
    for name, array in (("values", value), ("weights", weight)):
        if array.shape != (length,):
            raise _not_fitting(name, f"shape {array.shape}", f"({length},), one per answer")
    if not (np.isfinite(weight) & (weight >= 0)).all():
        place = int(np.flatnonzero(~(np.isfinite(weight) & (weight >= 0)))[0])
        raise _not_fitting(f"weights[{place}]", weight[place], "finite, 0 or more")
    value[weight == 0] = 0
    if not np.isfinite(value).all():
        place = int(np.flatnonzero(~np.isfinite(value))[0])
        raise _not_fitting(f"values[{place}]", value[place], "a finite value, or weight 0 for one that is missing")
    return value, weight


def _not_fitting(key: str, found: Any, expected: str) -> SpatialQAError:
    return SpatialQAError(
        "the answers cannot be resampled",
        code="bad_scores",
        key=key,
        found=found,
        expected=expected,
        next_step="give values, weights, clusters and masks of the same answers in the same order",
    )
