"""Means of many figures in many draws: products of matrices.

In a draw, a figure's sum is that of its sums by cluster, each as often as the cluster was drawn. So all figures in all
draws are (figures x clusters) times (clusters x draws), and a mean is one such sum over another. A small group touches
few clusters; its product is taken over those alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from monai_spatialqa.statistics.resampling import Clusters

FEW = 4
"""A figure that touches less than one in so many clusters is computed from those alone."""

TOGETHER = 128
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
        figures: their places among all figures.
        touched: clusters that they touch; None for all.
        above: sums of weight x value, (figures, touched clusters).
        below: sums of weights, (weighings, touched clusters).
        weighing: row of ``below`` of each figure.
    """

    figures: NDArray[np.int64]
    touched: NDArray[np.int64] | None
    above: NDArray[np.float64]
    below: NDArray[np.float64]
    weighing: NDArray[np.int64]

    def means(self, counts: NDArray[np.float64]) -> NDArray[np.float64]:
        """Mean of every figure in every draw.

        Args:
            counts: how often each cluster is in each draw, (clusters, draws).

        Returns:
            (figures, draws), NaN for a draw without any of a figure's answers.
        """
        drawn = counts if self.touched is None else counts[self.touched]
        above, below = self.above @ drawn, (self.below @ drawn)[self.weighing]
        return np.divide(above, below, out=np.full_like(above, np.nan), where=below > 0)


def quotients(figures: Sequence[WeightedFigure], clusters: Clusters) -> list[Quotients]:
    """Products that give all figures, each of one weighing, or of many that touch most clusters."""
    by_weighing: dict[int, list[int]] = {}
    for place, figure in enumerate(figures):
        by_weighing.setdefault(figure.weighing, []).append(place)
    found: list[Quotients] = []
    wide: list[int] = []
    for places in by_weighing.values():
        touched = np.unique(clusters.index[figures[places[0]].members])
        if len(touched) * FEW < clusters.count:
            found += _products(places, figures, clusters, touched)
        else:
            wide += places
    return found + _products(wide, figures, clusters, None)


def _products(
    places: Sequence[int], figures: Sequence[WeightedFigure], clusters: Clusters, touched: NDArray[np.int64] | None
) -> list[Quotients]:
    found = []
    for start in range(0, len(places), TOGETHER):
        part = places[start : start + TOGETHER]
        rows: dict[int, int] = {}
        above, below = [], []
        for figure in (figures[place] for place in part):
            above.append(clusters.sums(figure.values * figure.weights, figure.members))
            if figure.weighing not in rows:
                rows[figure.weighing] = len(rows)
                below.append(clusters.sums(figure.weights, figure.members))
        kept = slice(None) if touched is None else touched
        found.append(
            Quotients(
                np.array(part, np.int64),
                touched,
                np.stack(above)[:, kept],
                np.stack(below)[:, kept],
                np.array([rows[figures[place].weighing] for place in part], np.int64),
            )
        )
    return found
