"""What every way of measuring must agree on, so that no benchmark row is fast because it is wrong."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

CENTROID_TOLERANCE_VOXELS = 1e-6


@dataclass(frozen=True)
class Facts:
    """Structures of a label map, ascending by label. What a tool does not give is None.

    Attributes:
        labels: ids, (N,).
        count: voxels, (N,).
        start, stop: half-open index box, (N, 3).
        centroid: mean voxel index, (N, 3).
    """

    labels: NDArray
    count: NDArray | None = None
    start: NDArray | None = None
    stop: NDArray | None = None
    centroid: NDArray | None = None

    def sorted(self) -> Facts:
        """The same structures, ascending by label."""
        order = np.argsort(self.labels)

        def pick(column: NDArray | None) -> NDArray | None:
            return None if column is None else np.asarray(column)[order]

        return Facts(
            np.asarray(self.labels)[order],
            pick(self.count),
            pick(self.start),
            pick(self.stop),
            pick(self.centroid),
        )


def require_equal(ours: Facts, theirs: Facts, who: str) -> None:
    """Counts and boxes must be identical, centroids equal to rounding.

    Raises:
        AssertionError: naming the row that disagrees.
    """
    theirs = theirs.sorted()
    assert np.array_equal(ours.labels, theirs.labels), f"{who}: other labels"
    for name in ("count", "start", "stop"):
        mine, other = getattr(ours, name), getattr(theirs, name)
        assert mine is None or other is None or np.array_equal(mine, other), f"{who}: other {name}"
    if ours.centroid is not None and theirs.centroid is not None:
        gap = float(np.abs(ours.centroid - theirs.centroid).max())
        assert gap <= CENTROID_TOLERANCE_VOXELS, f"{who}: centroids {gap:g} voxels away"
