"""The smallest distance between voxel centres of structures: of one pair whose boxes are known, and of all pairs.

The pair is the one whose common box is of middling size. Ways that work on voxels are given both boxes and work in the
common one. Every row returns its distances, which are compared with ours.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.benchmarks.data import SPACING_MM
from tests.benchmarks.rows import Prepare, Row, Table

TOLERANCE = 1e-5
"""Relative: distance transforms answer in single precision."""

SAMPLES = 64
"""Surface voxels of each structure that the bound of the KD-trees is taken from."""


@dataclass(frozen=True)
class Distances:
    """Distances in mm, (P,)."""

    mm: NDArray[np.float64]

    def require_near(self, other: Distances, who: str) -> None:
        """Raises AssertionError, naming the row, where they differ by more than rounding."""
        gap = float(np.abs(self.mm / other.mm - 1).max())
        assert gap <= TOLERANCE, f"{who}: distances {gap:g} off"


@dataclass(frozen=True)
class Pair:
    """Two structures and the box around both."""

    first: int
    second: int
    box: tuple[slice, slice, slice]


def middling_pair(array: NDArray) -> Pair:
    """The pair whose common box is the median of all."""
    from scipy import ndimage

    boxes: list[Any] = ndimage.find_objects(array)
    labels = [label for label, box in enumerate(boxes, start=1) if box is not None]
    pairs = []
    for at, first in enumerate(labels):
        for second in labels[at + 1 :]:
            ends = list(zip(boxes[first - 1], boxes[second - 1], strict=True))
            x, y, z = (slice(min(a.start, b.start), max(a.stop, b.stop)) for a, b in ends)
            size = (x.stop - x.start) * (y.stop - y.start) * (z.stop - z.start)
            pairs.append((size, Pair(first, second, (x, y, z))))
    pairs.sort(key=lambda entry: entry[0])
    return pairs[len(pairs) // 2][1]


def _runs(array: NDArray) -> Any:
    import torch

    from monai_spatialqa.geometry.affine import RasGrid
    from monai_spatialqa.geometry.run_tensors import runs_of

    return runs_of(torch.from_numpy(array), RasGrid.of(array.shape, np.diag([*SPACING_MM, 1.0])))


def our_pair(*, from_array: bool) -> Prepare:
    """Ours, from the runs that measuring has kept, or with finding the runs of the whole label map."""

    def prepare(array: NDArray) -> Callable[[], Distances]:
        from monai_spatialqa.geometry.nearest import surface_distances

        pair = middling_pair(array)
        kept = None if from_array else _runs(array)

        def call() -> Distances:
            found = _runs(array) if kept is None else kept
            structures = [found.of(pair.first), found.of(pair.second)]
            return Distances(surface_distances(structures, [(0, 1)], found.grid).distance_mm)

        return call

    return prepare


def our_matrix(*, from_array: bool = False, threads: int = 1) -> Prepare:
    """The same for all pairs."""

    def prepare(array: NDArray) -> Callable[[], Distances]:
        from monai_spatialqa.geometry.nearest import surface_distance_matrix

        kept = None if from_array else _runs(array)

        def call() -> Distances:
            found = _runs(array) if kept is None else kept
            structures = [found.of(label) for label in sorted(found.labels)]
            return Distances(surface_distance_matrix(structures, found.grid, threads=threads).distance_mm)

        return call

    return prepare


def cropped(transform: Callable[[NDArray], NDArray]) -> Prepare:
    """A distance transform of one structure in the common box; its smallest value in the other."""

    def prepare(array: NDArray) -> Callable[[], Distances]:
        pair = middling_pair(array)

        def call() -> Distances:
            crop = array[pair.box]
            away = transform(crop == pair.first)
            return Distances(np.array([away[crop == pair.second].min()], np.float64))

        return call

    return prepare


def edt_transform(mask: NDArray) -> NDArray:
    """``edt.edt``."""
    import edt  # type: ignore[import-not-found, unused-ignore]

    return edt.edt(~mask, anisotropy=SPACING_MM, parallel=1)


def scipy_transform(mask: NDArray) -> NDArray:
    """``scipy.ndimage.distance_transform_edt``."""
    from scipy import ndimage

    return np.asarray(ndimage.distance_transform_edt(~mask, sampling=SPACING_MM))


def maurer_transform(mask: NDArray) -> NDArray:
    """``SimpleITK.SignedMaurerDistanceMap``, one thread."""
    import SimpleITK as sitk

    sitk.ProcessObject.SetGlobalDefaultNumberOfThreads(1)
    image = sitk.GetImageFromArray(mask.T.view(np.uint8))
    image.SetSpacing(SPACING_MM)
    away = sitk.SignedMaurerDistanceMap(image, insideIsPositive=False, squaredDistance=False, useImageSpacing=True)
    return sitk.GetArrayFromImage(away).T


def _surface_mm(mask: NDArray) -> NDArray:
    """Voxels with a face neighbour outside, in mm from the corner."""
    from scipy import ndimage

    inner = ndimage.binary_erosion(mask, border_value=1)
    return np.argwhere(mask & ~inner) * np.array(SPACING_MM)


def tree_pair(array: NDArray) -> Callable[[], Distances]:
    """A KD-tree of the larger structure's surface in the common box, asked for the other's."""
    from scipy.spatial import cKDTree

    pair = middling_pair(array)

    def call() -> Distances:
        crop = array[pair.box]
        small, large = sorted((_surface_mm(crop == label) for label in (pair.first, pair.second)), key=len)
        tree = cKDTree(large)
        bound = tree.query(small[:1])[0].min() * (1 + 1e-9)
        return Distances(np.array([tree.query(small, distance_upper_bound=bound)[0].min()]))

    return call


def tree_matrix(*, boxes: bool) -> Prepare:
    """A KD-tree for each structure's surface, asked for all pairs, bounded by sampled distances.

    With ``boxes`` only the voxels that are as near to the other's box as the bound are asked for.
    """

    def prepare(array: NDArray) -> Callable[[], Distances]:
        from scipy import ndimage
        from scipy.spatial import cKDTree

        def surfaces() -> list[NDArray]:
            found = []
            for label, box in enumerate(ndimage.find_objects(array), start=1):
                if box is not None:
                    start = [max(0, axis.start - 1) for axis in box]
                    wide = tuple(slice(low, axis.stop + 1) for low, axis in zip(start, box, strict=True))
                    found.append(_surface_mm(array[wide] == label) + np.array(start) * SPACING_MM)
            return found

        def call() -> Distances:
            voxels = surfaces()
            trees = [cKDTree(one) for one in voxels]
            samples = np.stack([one[np.linspace(0, len(one) - 1, SAMPLES).astype(int)] for one in voxels])
            low, high = (np.array([getattr(one, end)(axis=0) for one in voxels]) for end in ("min", "max"))
            nearest = []
            for a in range(len(voxels)):
                for b in range(a + 1, len(voxels)):
                    bound = np.sqrt(((samples[a][:, None] - samples[b][None]) ** 2).sum(axis=-1).min()) * (1 + 1e-9)
                    small, large = (a, b) if len(voxels[a]) < len(voxels[b]) else (b, a)
                    asked = voxels[small]
                    if boxes:
                        gap = np.maximum(0, np.maximum(low[large] - asked, asked - high[large]))
                        asked = asked[(gap**2).sum(axis=1) <= bound**2]
                    nearest.append(trees[large].query(asked, distance_upper_bound=bound)[0].min())
            return Distances(np.array(nearest))

        return call

    return prepare


ONE_DISTANCE = Table(
    name="surface-distance",
    title="surface distance of one pair, boxes known",
    rows=(
        Row("distance", "ours, runs kept from measuring", our_pair(from_array=False)),
        Row("distance-array", "ours, with finding all runs in the array", our_pair(from_array=True)),
        Row("distance-tree", "KD-tree of the larger surface, cropped", tree_pair),
        Row("distance-edt", "edt.edt, cropped", cropped(edt_transform), needs=("edt",)),
        Row("distance-scipy", "scipy distance_transform_edt, cropped", cropped(scipy_transform)),
        Row("distance-maurer", "SimpleITK SignedMaurer, cropped", cropped(maurer_transform)),
    ),
    references=("distance",),
    ours="distance",
    oracle="distance",
)

ALL_DISTANCES = Table(
    name="surface-distances",
    title="surface distances of all pairs",
    rows=(
        Row("distances", "ours, runs kept from measuring", our_matrix()),
        Row("distances-2", "ours, 2 threads", our_matrix(threads=2)),
        Row("distances-array", "ours, with finding all runs in the array", our_matrix(from_array=True)),
        Row("distances-tree-box", "KD-trees, bounded, voxels near the other's box", tree_matrix(boxes=True)),
        Row("distances-tree", "KD-trees, bounded", tree_matrix(boxes=False), sizes=frozenset({"Q", "R"})),
    ),
    references=("distances",),
    ours="distances",
    oracle="distances",
)
