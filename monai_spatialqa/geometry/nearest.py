"""Surface distances: the smallest distance between voxel centres of two structures, exact, with the two voxels.

Voxel faces that touch are one spacing apart, not 0; 0 means that the structures share voxels. Structures come as runs,
so neither the volume nor its file is needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from monai_spatialqa.errors import SettingsError
from monai_spatialqa.geometry.distances import all_pairs
from monai_spatialqa.geometry.metric import GridMetric
from monai_spatialqa.geometry.nearest_kernels import nearest_voxels, overlap
from monai_spatialqa.geometry.runs import RunGrid, Runs
from monai_spatialqa.geometry.surface import ras_box, ras_directions
from monai_spatialqa.geometry.surface_tree import SurfaceTree, in_threads

_PAIRS_AT_ONCE = 64
"""Pairs that a thread takes at a time."""


@dataclass(frozen=True)
class SurfaceDistances:
    """Surface distances of pairs of structures.

    Attributes:
        distance_mm: float64 (P,); NaN where a structure is empty, 0 where they overlap.
        first_index: RAS-grid voxel of the first structure that is nearest to the second, int64 (P, 3); -1 where a
            structure is empty; where they overlap, a voxel they share.
        second_index: the same of the second structure; the same voxel where they overlap.
        overlap_voxels: how many voxels they share, int64 (P,).

    Of several pairs of voxels at the smallest distance it is the one whose first voxel, and then whose second, comes
    first in the RAS grid: by its R index, then A, then S. The voxel of an overlap is chosen likewise.
    """

    distance_mm: NDArray[np.float64]
    first_index: NDArray[np.int64]
    second_index: NDArray[np.int64]
    overlap_voxels: NDArray[np.int64]


def surface_distances(
    structures: Sequence[Runs], pairs: Sequence[tuple[int, int]], grid: RunGrid, *, threads: int = 1
) -> SurfaceDistances:
    """Surface distances of chosen pairs of structures.

    On perpendicular grid axes, whichever way they point, the distance is that along the axes; on sheared ones it is the
    exact world distance. The result does not depend on how the volume was stored nor on ``threads``.

    Args:
        structures: runs of each; they may overlap, and may be empty.
        pairs: positions in ``structures``.
        grid: where the runs lie.
        threads: how many to use.

    Raises:
        SettingsError: a pair names a structure that is not there.
    """
    wanted = np.array(pairs, np.int64).reshape(-1, 2)
    if len(wanted) and not (wanted.min() >= 0 and wanted.max() < len(structures)):
        raise SettingsError(
            "a pair names a structure that is not there",
            key="pairs",
            found=[int(wanted.min()), int(wanted.max())],
            expected=f"positions from 0 to {len(structures) - 1}",
        )
    used, places = np.unique(wanted, return_inverse=True)
    places = places.reshape(-1, 2)
    runs = [np.ascontiguousarray(structures[at], np.int64) for at in used]
    found = SurfaceDistances(
        distance_mm=np.full(len(wanted), np.nan),
        first_index=np.full((len(wanted), 3), -1, np.int64),
        second_index=np.full((len(wanted), 3), -1, np.int64),
        overlap_voxels=np.zeros(len(wanted), np.int64),
    )
    present = np.array([len(one) > 0 for one in runs], bool)[places].all(axis=1)
    _find_overlaps(runs, places, np.flatnonzero(present), grid, found, threads)
    apart = np.flatnonzero(present & (found.overlap_voxels == 0))
    if len(apart):
        _find_nearest(runs, places, apart, grid, found, threads)
    return found


def surface_distance_matrix(structures: Sequence[Runs], grid: RunGrid, *, threads: int = 1) -> SurfaceDistances:
    """Surface distances of every pair of structures, in the order of :func:`~.distances.all_pairs`.

    See :func:`surface_distances`.
    """
    pairs = list(zip(*all_pairs(len(structures)), strict=True))
    return surface_distances(structures, pairs, grid, threads=threads)


def _find_overlaps(
    runs: Sequence[Runs],
    places: NDArray[np.int64],
    rows: NDArray[np.int64],
    grid: RunGrid,
    found: SurfaceDistances,
    threads: int,
) -> None:
    """Fill in the pairs among ``rows`` that share voxels: only those whose boxes meet can."""
    low, high = np.zeros((2, len(runs), 3), np.int64)
    for at, one in enumerate(runs):
        if len(one):
            low[at], high[at] = ras_box(one, grid)
    first, second = places[rows].T
    meeting = rows[((low[first] <= high[second]) & (low[second] <= high[first])).all(axis=1)]
    directions = ras_directions(grid)

    def fill(row: int) -> None:
        voxel = np.empty((1, 3), np.int64)
        one, other = places[row]
        count = overlap(runs[one], runs[other], grid.shape[1], *directions, voxel)
        if count:
            found.overlap_voxels[row] = count
            found.distance_mm[row] = 0.0
            found.first_index[row] = found.second_index[row] = voxel[0]

    list(in_threads(fill, meeting.tolist(), threads))


def _find_nearest(
    runs: Sequence[Runs],
    places: NDArray[np.int64],
    rows: NDArray[np.int64],
    grid: RunGrid,
    found: SurfaceDistances,
    threads: int,
) -> None:
    """Fill in the pairs ``rows``, whose structures are there and share no voxel."""
    metric = GridMetric.of(grid.ras)
    tree = SurfaceTree.of(runs, grid, metric, threads=threads)
    parts = (tree.voxels, tree.boxes, tree.first, tree.stop, tree.leaves)
    roots = tree.roots[places[rows]]
    squared = np.empty(len(rows))
    nearest = np.empty((len(rows), 2), np.int64)

    def fill(start: int) -> None:
        part = slice(start, start + _PAIRS_AT_ONCE)
        nearest_voxels(
            metric.squares,
            metric.cross,
            metric.frame,
            metric.shortest,
            parts,
            roots[part],
            squared[part],
            nearest[part],
        )

    list(in_threads(fill, range(0, len(rows), _PAIRS_AT_ONCE), threads))
    found.distance_mm[rows] = np.sqrt(squared)
    found.first_index[rows] = tree.voxels[nearest[:, 0]]
    found.second_index[rows] = tree.voxels[nearest[:, 1]]
