"""A brute-force second opinion on what one pass over a label map must yield, and random label maps to try it on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from monai_spatialqa.geometry.marginals import Marginals

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
