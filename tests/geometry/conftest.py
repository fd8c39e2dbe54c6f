"""A brute-force second opinion on what one pass over a label map must yield, and random label maps to try it on.

For what is made of runs: run sets of arrays stored in any memory order, on grids of every kind.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import torch

from monai_spatialqa.geometry.affine import RasGrid
from monai_spatialqa.geometry.marginals import Marginals
from monai_spatialqa.geometry.run_tensors import runs_of
from monai_spatialqa.geometry.runs import RunSet

Facts = dict[int, dict[str, Any]]


def brute_force(label: np.ndarray, ignore: Sequence[int] = (), weights: Any = None) -> Facts:
    """Every fact of every structure, from whole-volume masks; slow, obvious, independent of runs."""
    facts: Facts = {}
    values = label if label.dtype.kind in "iub" else np.rint(label).astype(np.int64)
    for value in np.unique(values).tolist():
        if value == 0 or value in ignore:
            continue
        mask = values == value
        where = np.argwhere(mask)
        padded = np.pad(mask, 1)
        inside, grown = mask.copy(), mask.copy()
        for axis in range(3):
            for step in (1, -1):
                moved = np.roll(padded, step, axis)[1:-1, 1:-1, 1:-1]
                inside &= moved
                grown |= moved
        fact = {
            "count": len(where),
            "index_sum": where.sum(0).tolist(),
            "start": where.min(0).tolist(),
            "stop": (where.max(0) + 1).tolist(),
            "interior": int(inside.sum()),
            "dilated": int(grown.sum()),
        }
        if weights is not None:
            places = where @ np.asarray(weights, np.int64).T
            fact |= {"low": places.min(0).tolist(), "high": places.max(0).tolist()}
        facts[int(value)] = fact
    return facts


def as_facts(marginals: Marginals) -> Facts:
    """The same form from the result under test."""

    def numbers(column: Any) -> list[int]:
        return [int(value) for value in column.tolist()]

    names = ["count", "interior", "dilated"]
    vectors = ["index_sum", "start", "stop", "low", "high"]
    columns: dict[str, list[Any]] = {
        name: numbers(getattr(marginals, name)) for name in names if getattr(marginals, name) is not None
    }
    for name in vectors:
        if getattr(marginals, name) is not None:
            columns[name] = [list(row) for row in zip(*map(numbers, getattr(marginals, name)), strict=True)]
    assert list(marginals.labels) == sorted(set(marginals.labels))
    return {
        label: {name: values[row] for name, values in columns.items()} for row, label in enumerate(marginals.labels)
    }


def random_map(
    shape: Sequence[int], values: Sequence[int], *, seed: int, dtype: Any = np.uint8, noise: float = 0.1
) -> np.ndarray:
    """Overpainted random boxes of random values, then single voxels of random values."""
    rng = np.random.default_rng(seed)
    label = np.zeros(shape, dtype)
    choices = np.array([0, *values], dtype)
    for _ in range(2 * len(choices)):
        low = [int(rng.integers(0, length)) for length in shape]
        high = [int(rng.integers(a, length)) + 1 for a, length in zip(low, shape, strict=True)]
        label[tuple(slice(a, b) for a, b in zip(low, high, strict=True))] = choices[rng.integers(len(choices))]
    spots = rng.random(shape) < noise
    label[spots] = choices[rng.integers(len(choices), size=int(spots.sum()))]
    return label


@pytest.fixture(scope="session")
def oracle() -> Callable[..., Facts]:
    return brute_force


@pytest.fixture(scope="session")
def facts_of() -> Callable[[Marginals], Facts]:
    return as_facts


@pytest.fixture(scope="session")
def make_map() -> Callable[..., np.ndarray]:
    return random_map


TURN = np.array([[np.cos(0.3), -np.sin(0.3), 0], [np.sin(0.3), np.cos(0.3), 0], [0, 0, 1]])


def kinds_of_affines() -> dict[str, np.ndarray]:
    """A matrix of every kind."""
    oblique = np.eye(4)
    oblique[:3, :3] = TURN @ np.diag([-0.9, -1.1, 3])
    oblique[:3, 3] = 5, 6, 7
    return {
        "identity": np.eye(4),
        "flipped": np.array([[-0.7, 0, 0, 30], [0, -0.8, 0, 40], [0, 0, 2.5, -9], [0, 0, 0, 1]]),
        "permuted": np.array([[0, 0, 1.5, 0], [-2.0, 0, 0, 0], [0, 0.5, 0, 0], [0, 0, 0, 1]]),
        "oblique": oblique,
        "sheared": np.array([[1.0, 0.3, 0.2, 1], [0, 1.4, -0.6, 2], [0.1, 0, 2.0, 3], [0, 0, 0, 1]]),
    }


def runs_in_order(array: np.ndarray, affine: np.ndarray | None = None, order: Sequence[int] = (0, 1, 2)) -> RunSet:
    """Runs of an array whose axes lie in memory in the given order, the last one contiguous."""
    stored = torch.from_numpy(np.ascontiguousarray(array.transpose(order)))
    grid = RasGrid.of(array.shape, np.eye(4) if affine is None else affine)
    return runs_of(stored.permute(*np.argsort(order).tolist()), grid)


def on_ras_grid(array: np.ndarray, grid: RasGrid) -> np.ndarray:
    """The array on its RAS grid."""
    turned = array.transpose(grid.source_axes)
    return np.flip(turned, [axis for axis in range(3) if grid.flipped[axis]])


@pytest.fixture(scope="session")
def affines() -> dict[str, np.ndarray]:
    return kinds_of_affines()


@pytest.fixture(scope="session")
def run_set() -> Callable[..., RunSet]:
    return runs_in_order


@pytest.fixture(scope="session")
def in_ras() -> Callable[[np.ndarray, RasGrid], np.ndarray]:
    return on_ras_grid
