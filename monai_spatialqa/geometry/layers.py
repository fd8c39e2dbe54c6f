"""Overlapping structures as few label maps: layers whose structures share no voxel."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from monai_spatialqa.geometry.compiled import compiled
from monai_spatialqa.geometry.runs import Runs


def smallest_id_type(largest: int) -> np.dtype:
    """The smallest unsigned type that holds ids up to ``largest``."""
    return np.min_scalar_type(max(1, largest))


def paint_layers(structures: Iterable[tuple[int, Runs]], shape: tuple[int, int, int], dtype: DTypeLike) -> NDArray[Any]:
    """Paint structures one after the other, each into the first layer where its voxels are free.

    Args:
        structures: id and runs of each structure, on a grid of ``shape``; consumed one by one.
        shape: voxels along the run axes, the contiguous one first.
        dtype: integer type of the layers.

    Returns:
        (L, n2, n1, n0), C order, at least one layer.
    """
    layers = [np.zeros(shape[::-1], dtype)]
    for label, runs in structures:
        for layer in layers:
            if _paint(layer.reshape(-1), runs, shape[0], label):
                break
        else:
            layers.append(np.zeros(shape[::-1], dtype))
            _paint(layers[-1].reshape(-1), runs, shape[0], label)
    if len(layers) == 1:
        return layers[0][None]
    stacked = np.empty((len(layers), *shape[::-1]), dtype)
    for at in range(len(layers)):  # let go of each layer as soon as it is copied
        stacked[at] = layers[at]
        layers[at] = layers[at][:0]
    return stacked


@compiled
def _paint(voxels: Any, runs: Any, row_length: int, label: int) -> bool:  # pragma: no cover - compiled
    """Paint runs if all their voxels are 0; otherwise change nothing and return False."""
    for at in range(runs.shape[0]):
        first = np.int64(runs[at, 0]) * row_length
        for voxel in range(first + runs[at, 1], first + runs[at, 2]):
            if voxels[voxel] != 0:
                return False
    for at in range(runs.shape[0]):
        first = np.int64(runs[at, 0]) * row_length
        voxels[first + runs[at, 1] : first + runs[at, 2]] = label
    return True
