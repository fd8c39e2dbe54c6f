"""Means of many figures in many draws: products of matrices.

In a draw, a figure's sum is that of its sums by cluster, each as often as the cluster was drawn. So all figures in all
draws are (figures x clusters) times (clusters x draws), and a mean is one such sum over another. Products are kept
large: many small ones cost more than the zeros of groups that touch few clusters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from monai_spatialqa.statistics.resampling import Clusters

TOGETHER = 256
"""Figures per product."""


@dataclass(frozen=True)
class WeightedFigure:
    """What a mean is taken over.

    Attributes:
        values, weights: of all answers, (N,).
        members: places of the answers that count; all have a weight.
        weighing: figures of one weighing have the same members and weights.
    """

    values: NDArray[np.float64]
    weights: NDArray[np.float64]
    members: NDArray[np.int64]
    weighing: int


@dataclass(frozen=True)
class Quotients:
    """Figures that are computed by one product.

    Attributes:
        above: sums of weight x value, (figures, clusters).
        below: sums of weights, (weighings, clusters).
        weighing: row of ``below`` of each figure, (figures,).
    """

    above: NDArray[np.float64]
    below: NDArray[np.float64]
    weighing: NDArray[np.int64]

    @classmethod
    def of(cls, figures: Sequence[WeightedFigure], clusters: Clusters) -> Quotients:
        """At least one figure; those of one weighing share its sums."""
        rows: dict[int, int] = {}
        below = []
        for figure in figures:
            if figure.weighing not in rows:
                rows[figure.weighing] = len(rows)
                below.append(clusters.sums(figure.weights, figure.members))
        above = [clusters.sums(figure.values * figure.weights, figure.members) for figure in figures]
        weighing = np.array([rows[figure.weighing] for figure in figures], np.int64)
        return cls(np.stack(above), np.stack(below), weighing)

    def means(self, counts: NDArray[np.float64]) -> NDArray[np.float64]:
        """Mean of every figure in every draw.

        Args:
            counts: how often each cluster is in each draw, (clusters, draws).

        Returns:
            (figures, draws), NaN for a draw without any of a figure's answers.
        """
        above, below = self.above @ counts, (self.below @ counts)[self.weighing]
        return np.divide(above, below, out=np.full_like(above, np.nan), where=below > 0)
