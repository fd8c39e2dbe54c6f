"""Exact medians of many draws without sorting any of them.

A draw holds every value as often as its cluster was drawn. The values are sorted once. Walking along them, counts are
added up for all draws at once, block by block; inside a block, value by value, but only where the middle of some draw
may lie.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from monai_spatialqa.statistics.resampling import BLOCK, Clusters


@dataclass(frozen=True)
class SortedValues:
    """Values in ascending order.

    Attributes:
        values: (n,).
        cluster: number of the cluster of each value, (n,).
    """

    values: NDArray[np.float64]
    cluster: NDArray[np.int64]

    @classmethod
    def of(cls, values: NDArray[np.float64], clusters: Clusters, members: NDArray[np.int64]) -> SortedValues:
        """The members' values; at least one."""
        order = members[np.argsort(values[members], kind="stable")]
        return cls(values[order], clusters.index[order])

    def medians(self, counts: NDArray[np.float64]) -> NDArray[np.float64]:
        """Median of each draw: its middle value, or the mean of its two middle values.

        Args:
            counts: how often each cluster is in each draw, (clusters, draws).

        Returns:
            (draws,), NaN for a draw without any of the values.
        """
        clusters, times = np.unique(self.cluster, return_counts=True)
        total = times @ counts[clusters]
        low, high = (total - 1) // 2, total // 2  # places in the draw, counted from 0
        low_at, high_at = np.zeros((2, counts.shape[1]), np.int64)
        seen = np.zeros(counts.shape[1])
        for start in range(0, len(self.cluster), BLOCK):
            block = counts[self.cluster[start : start + BLOCK]]
            after = seen + block.sum(axis=0)
            if (after <= low).all():
                low_at += len(block)
                high_at += len(block)
            else:
                for row in block:
                    seen += row
                    low_at += seen <= low
                    high_at += seen <= high
                if (after > high).all():
                    break
            seen = after
        there = total > 0
        result = np.full(counts.shape[1], np.nan)
        below, above = self.values[low_at[there]], self.values[high_at[there]]
        result[there] = below + (above - below) / 2
        return result
