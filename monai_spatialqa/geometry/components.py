"""Connected components of a structure, from its runs: how many, how large, and where.

Runs of neighbouring rows that touch are united (union-find); the volume is not needed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from monai_spatialqa.errors import SettingsError
from monai_spatialqa.geometry.compiled import compiled
from monai_spatialqa.geometry.runs import RunGrid, Runs

Connectivity = Literal[6, 18, 26]
"""Neighbours of a voxel: those that share a face (6), also an edge (18), also a corner (26)."""

NEIGHBOUR_ROWS = ((-1, 0), (0, -1), (-1, -1), (1, -1))
"""Steps (j, k) to the earlier rows that touch a row; the first two share a face with it, the others an edge."""

REACH = {6: (0, 0, -1, -1), 18: (1, 1, 0, 0), 26: (1, 1, 1, 1)}
"""How far apart along the rows, per step of :data:`NEIGHBOUR_ROWS`, two voxels may be and still touch; -1: never."""


@dataclass(frozen=True)
class Components:
    """Components of one structure, the largest first.

    Components of equal size are ordered by the start of their boxes, then by the stop, along the RAS axes: the order
    does not depend on how the array lay in memory.

    Attributes:
        connectivity: by which they were found.
        voxel_count: int64 (K,).
        start, stop: half-open boxes in the RAS grid, int64 (K, 3).
    """

    connectivity: Connectivity
    voxel_count: NDArray[np.int64]
    start: NDArray[np.int64]
    stop: NDArray[np.int64]

    @property
    def count(self) -> int:
        """How many there are; 0 for a structure without voxels."""
        return len(self.voxel_count)


def components_of(runs: Runs, grid: RunGrid, connectivity: Connectivity = 26) -> Components:
    """Connected components of a structure.

    Args:
        runs: its runs, (R, 3).
        grid: where they lie. Only neighbours in the grid count: its borders do not wrap around.
        connectivity: 6, 18 or 26 neighbours.

    Raises:
        SettingsError: another connectivity.
    """
    if connectivity not in REACH:
        raise SettingsError(
            "components need a neighbourhood",
            key="connectivity",
            found=connectivity,
            expected="6 (faces), 18 (faces and edges) or 26 (faces, edges and corners)",
            next_step="choose one of the three",
        )
    found = _components(
        np.ascontiguousarray(runs),
        grid.shape[1],
        np.array(NEIGHBOUR_ROWS, np.int64),
        np.array(REACH[connectivity], np.int64),
    )
    voxel_count, first, last = found[:, 0], grid.ras_index(found[:, 1:4]), grid.ras_index(found[:, 4:7])
    start, stop = np.minimum(first, last), np.maximum(first, last) + 1
    order = np.lexsort((*stop.T[::-1], *start.T[::-1], -voxel_count))
    return Components(connectivity, voxel_count[order], start[order], stop[order])


@compiled
def _components(runs: Any, rows_per_plane: int, steps: Any, reach: Any) -> Any:  # pragma: no cover - compiled
    """Components in no particular order.

    Returns:
        int64 (K, 7): voxels; first index along the three run axes; last index (inclusive) along them.
    """
    parent = _united(runs, rows_per_plane, steps, reach)
    number = np.empty(parent.size, np.int64)
    count = 0
    for at in range(np.uintp(parent.size)):
        root = _root(parent, at)
        if root == at:  # the first run of its component: earlier ones have their numbers
            number[at] = count
            count += 1
        else:
            number[at] = number[root]
    found = np.empty((count, 7), np.int64)
    found[:, 0] = 0
    found[:, 1:4] = np.iinfo(np.int64).max
    found[:, 4:7] = -1
    for at in range(np.uintp(parent.size)):
        one = found[number[at]]
        start, last = np.int64(runs[at, 1]), np.int64(runs[at, 2]) - 1
        k = np.int64(runs[at, 0]) // rows_per_plane
        j = np.int64(runs[at, 0]) - k * rows_per_plane
        one[0] += last + 1 - start
        one[1], one[2], one[3] = min(one[1], start), min(one[2], j), min(one[3], k)
        one[4], one[5], one[6] = max(one[4], last), max(one[5], j), max(one[6], k)
    return found


@compiled
def _united(runs: Any, rows_per_plane: int, steps: Any, reach: Any) -> Any:  # pragma: no cover - compiled
    """Union-find over the runs: the parent of each, uintp (R,); a root is the earliest run of its component."""
    parent = np.arange(runs.shape[0]).astype(np.uintp)
    # Per step, the first run that may still touch. A cursor only goes forward, and ends at the run itself.
    cursor = np.zeros(len(steps), np.uintp)
    for at in range(np.uintp(runs.shape[0])):
        row, start, stop = runs[at, 0], runs[at, 1], runs[at, 2]
        k = row // rows_per_plane
        j = row - k * rows_per_plane
        for n in range(np.uintp(len(steps))):
            if reach[n] < 0 or not 0 <= j + steps[n, 0] < rows_per_plane or k + steps[n, 1] < 0:
                continue
            target = row + steps[n, 0] + steps[n, 1] * rows_per_plane
            low, high = start - reach[n], stop + reach[n]
            p = cursor[n]
            while runs[p, 0] < target or (runs[p, 0] == target and runs[p, 2] <= low):
                p += np.uintp(1)
            cursor[n] = p
            while runs[p, 0] == target and runs[p, 1] < high:
                _unite(parent, at, p)
                p += np.uintp(1)
    return parent


@compiled
def _root(parent: Any, at: int) -> int:  # pragma: no cover - compiled
    while parent[at] != at:
        parent[at] = parent[parent[at]]
        at = parent[at]
    return at


@compiled
def _unite(parent: Any, first: int, second: int) -> None:  # pragma: no cover - compiled
    one, other = _root(parent, first), _root(parent, second)
    parent[max(one, other)] = min(one, other)
