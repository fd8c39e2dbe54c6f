"""Exact medians of many draws without sorting any of them.

A draw holds every value as often as its cluster was drawn. The values are sorted once. In every draw, counts are added
up along them, first by block of values, for all draws at once by a matrix product, then inside the one block in which
the middle of the draw lies.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from monai_spatialqa.statistics.resampling import Clusters

BLOCK = 128
"""Values per block: a compromise between the products by block and the search inside one."""


@dataclass(frozen=True)
class SortedValues:
    """Values in ascending order, in blocks.

    Attributes:
        values: (blocks x BLOCK,); the last block is filled up with the largest value.
        cluster: number of the cluster of each value; of the filling, one cluster more than there are.
        in_block: values by cluster and block, (clusters, blocks).
    """

    values: NDArray[np.float64]
    cluster: NDArray[np.int64]
    in_block: NDArray[np.float64]

    @classmethod
    def of(cls, values: NDArray[np.float64], clusters: Clusters, members: NDArray[np.int64]) -> SortedValues:
        """The members' values; at least one."""
        order = members[np.argsort(values[members], kind="stable")]
        blocks = -(-len(order) // BLOCK)
        filling = (0, blocks * BLOCK - len(order))
        cluster = np.pad(clusters.index[order], filling, constant_values=clusters.count)
        cell = cluster * blocks + np.arange(len(cluster)) // BLOCK
        counted = np.bincount(cell, minlength=(clusters.count + 1) * blocks).reshape(-1, blocks)
        return cls(np.pad(values[order], filling, mode="edge"), cluster, counted[:-1].astype(np.float64))

    def medians(self, counts: NDArray[np.float64]) -> NDArray[np.float64]:
        """Median of each draw: its middle value, or the mean of its two middle values.

        Args:
            counts: how often each cluster is in each draw, (draws, clusters).

        Returns:
            (draws,), NaN for a draw without any of the values.
        """
        up_to_block = np.cumsum(counts @ self.in_block, axis=1)
        total = up_to_block[:, -1]
        padded = np.pad(counts, ((0, 0), (0, 1)))  # the filling is never drawn
        low, high = (self._at(rank, up_to_block, padded) for rank in ((total - 1) // 2, total // 2))
        return np.where(total > 0, low + (high - low) / 2, np.nan)

    def _at(
        self, rank: NDArray[np.float64], up_to_block: NDArray[np.float64], counts: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Value at a place of each draw, counted from 0."""
        draw = np.arange(len(rank))
        block = np.argmax(up_to_block > rank[:, None], axis=1)
        before = np.where(block > 0, up_to_block[draw, block - 1], 0)
        inside = block[:, None] * BLOCK + np.arange(BLOCK)
        running = np.cumsum(counts[draw[:, None], self.cluster[inside]], axis=1)
        place = np.argmax(running > (rank - before)[:, None], axis=1)
        return self.values[inside[draw, place]]
