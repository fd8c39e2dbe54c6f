"""What one pass over a label map yields: exact integers per structure, from which every simple figure follows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

Columns = tuple[Any, Any, Any]
"""One array per grid axis, each of shape (N,); numpy arrays, or tensors on the device of the input."""


def real(column: Any) -> Any:
    """The column as float64 on its own device (torch would divide integers in float32)."""
    return column.astype("float64") if hasattr(column, "astype") else column.double()


def stacked(columns: Sequence[Any], axis: int = -1) -> Any:
    """Columns side by side along a new axis, on their own device."""
    if hasattr(columns[0], "astype"):
        return np.stack(columns, axis=axis)
    import torch

    return torch.stack(tuple(columns), dim=axis)


MAX_LABELS = 5000
"""More distinct values than this cannot be structure ids."""


@dataclass(frozen=True)
class Marginals:
    """Exact integer facts of N structures on an index grid.

    All arrays are int64 of shape (N,), row ``n`` belonging to ``labels[n]``; labels ascend. The arrays are numpy
    arrays, or torch tensors on the device of the label map. No voxel size enters here.

    Attributes:
        shape: voxels along the grid axes.
        labels: structure ids, as Python integers (any unsigned id up to 64 bits is exact).
        count: voxels.
        index_sum: per axis, the sum of the voxel indices.
        start: per axis, the first occupied index.
        stop: per axis, one past the last occupied index.
        interior: voxels whose six neighbours all belong to the structure (none lies outside the grid); None if not
            asked.
        dilated: voxels of the grid that belong to the structure or share a face with it; None if not asked.
        low, high: per world axis, extremes of the integer projection over the voxel centres; None if not asked.
    """

    shape: tuple[int, int, int]
    labels: tuple[int, ...]
    count: Any
    index_sum: Columns
    start: Columns
    stop: Columns
    interior: Any | None = None
    dilated: Any | None = None
    low: Columns | None = None
    high: Columns | None = None

    def reoriented(
        self,
        source_axes: Sequence[int],
        flipped: Sequence[bool],
        weights: Sequence[Sequence[int]] | None = None,
    ) -> Marginals:
        """The same structures seen on a permuted and flipped grid.

        Args:
            source_axes: for each axis of the new grid, the axis of this one it comes from.
            flipped: for each axis of the new grid, whether its direction is reversed.
            weights: integer projection (3 world axes, 3 axes of the *new* grid), needed when ``low`` and ``high`` exist
                and an axis is flipped, because they are taken from index 0 of the grid.
        """
        shape = (self.shape[source_axes[0]], self.shape[source_axes[1]], self.shape[source_axes[2]])
        start, stop, index_sum = [], [], []
        for axis, flip in zip(source_axes, flipped, strict=True):
            length = self.shape[axis]
            start.append(length - self.stop[axis] if flip else self.start[axis])
            stop.append(length - self.start[axis] if flip else self.stop[axis])
            index_sum.append(self.count * (length - 1) - self.index_sum[axis] if flip else self.index_sum[axis])
        low, high = self.low, self.high
        if low is not None and high is not None and weights is not None:
            shift = [
                sum(row[axis] * (shape[axis] - 1) for axis in range(3) if flipped[axis])  # 0 where nothing is flipped
                for row in weights
            ]
            low = tuple(column + by for column, by in zip(low, shift, strict=True))
            high = tuple(column + by for column, by in zip(high, shift, strict=True))
        return replace(
            self,
            shape=shape,
            index_sum=tuple(index_sum),
            start=tuple(start),
            stop=tuple(stop),
            low=low,
            high=high,
        )
