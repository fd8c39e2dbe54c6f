"""What encoders found in their parts of a volume, put together into the marginals of the whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from monai_spatialqa.geometry.ids import refuse_bad_labels
from monai_spatialqa.geometry.marginals import Columns, Marginals

NEVER = np.iinfo(np.int64).max
"""Smallest of nothing; its negative is the largest of nothing."""


@dataclass(frozen=True)
class Totals:
    """Exact integer facts of the values in some planes of a volume, before any value is refused.

    Row ``n`` of every array belongs to ``values[n]``, in the order the values were met. A value that was met in a
    neighbouring plane only has no voxels here, though dilating it may reach a plane of these.

    Attributes:
        values: distinct values, (N,) of the voxels' type.
        runs: runs of all values together.
        count: voxels, (N,).
        index_sum: sums of the voxel indices of the whole volume, (N, 3 grid axes).
        start: first occupied indices, (N, 3); NEVER where there is no voxel.
        stop: one past the last occupied indices, (N, 3); 0 where there is no voxel.
        interior, dilated: see :class:`Marginals`, (N,); None if not asked.
        low, high: extremes of the projection, (N, 3 world axes); None if not asked.
    """

    values: NDArray
    runs: int
    count: NDArray[np.int64]
    index_sum: NDArray[np.int64]
    start: NDArray[np.int64]
    stop: NDArray[np.int64]
    interior: NDArray[np.int64] | None
    dilated: NDArray[np.int64] | None
    low: NDArray[np.int64] | None
    high: NDArray[np.int64] | None


def together(parts: Sequence[Totals], shape: tuple[int, int, int]) -> Marginals:
    """Marginals of a volume from the totals of parts that cover it without overlap.

    Raises:
        LabelValueError: values that are negative or look like intensities, see
            :func:`~monai_spatialqa.geometry.ids.refuse_bad_labels`.
    """
    values = np.unique(np.concatenate([part.values for part in parts]))
    labels = tuple(int(value) for value in values)
    refuse_bad_labels(labels, sum(int(part.count.sum()) for part in parts), sum(part.runs for part in parts))
    rows = [np.searchsorted(values, part.values) for part in parts]

    def joined(name: str, join: np.ufunc, nothing: int) -> NDArray[np.int64] | None:
        columns = [getattr(part, name) for part in parts]
        if columns[0] is None:
            return None
        whole = np.full((len(labels), *columns[0].shape[1:]), nothing, np.int64)
        for row, column in zip(rows, columns, strict=True):
            whole[row] = join(whole[row], column)
        return whole

    def axes(name: str, join: np.ufunc, nothing: int) -> Columns | None:
        whole = joined(name, join, nothing)
        return None if whole is None else (whole[:, 0], whole[:, 1], whole[:, 2])

    return Marginals(
        shape=shape,
        labels=labels,
        count=joined("count", np.add, 0),
        index_sum=axes("index_sum", np.add, 0),  # type: ignore[arg-type]
        start=axes("start", np.minimum, NEVER),  # type: ignore[arg-type]
        stop=axes("stop", np.maximum, 0),  # type: ignore[arg-type]
        interior=joined("interior", np.add, 0),
        dilated=joined("dilated", np.add, 0),
        low=axes("low", np.minimum, NEVER),
        high=axes("high", np.maximum, -NEVER),
    )
