"""What a row of a table is: one way of doing the job, prepared outside the clock."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.benchmarks.data import Dataset

Prepare = Callable[[Any], Callable[[], Any]]
"""Takes the input (an array, or the path of a file), does what is not timed, returns what is timed."""


@dataclass(frozen=True)
class Row:
    """One line of a table.

    Attributes:
        name: for ``--only`` and JSON.
        title: for people.
        prepare: imports and conversions; returns the call that is timed. The call returns :class:`~.facts.Facts` where
            it measures, which are then compared with ours.
        needs: modules beyond the base install, by import name.
        sizes: sizes it is run at; None for all.
        most_labels: left out above this number of labels.
        types: voxel types the tool takes, by name; None for all.
        repeats: at most so many runs.
    """

    name: str
    title: str
    prepare: Prepare
    needs: tuple[str, ...] = ()
    sizes: frozenset[str] | None = None
    most_labels: int | None = None
    types: frozenset[str] | None = None
    repeats: int | None = None

    def why_not(self, dataset: Dataset) -> str | None:
        """Why the row is left out, None when it is run."""
        if self.sizes is not None and dataset.size not in self.sizes:
            return f"too slow at this size; run at {', '.join(sorted(self.sizes))}"
        if self.most_labels is not None and dataset.label_count > self.most_labels:
            return f"too slow; run up to {self.most_labels} labels"
        if self.types is not None and dataset.kind.name not in self.types:
            return f"takes {' and '.join(sorted(self.types))} only"
        missing = [name for name in self.needs if importlib.util.find_spec(name) is None]
        return f"not installed: {', '.join(missing)}" if missing else None


@dataclass(frozen=True)
class Table:
    """Rows that do the same job on the same input.

    Attributes:
        name: for JSON.
        title: for people.
        rows: in the order they are printed.
        references: names of the rows that every other one is compared with, in the same process.
        ours: the reference that is ours.
        oracle: row whose facts the others must have; None where there is nothing to compare.
    """

    name: str
    title: str
    rows: tuple[Row, ...]
    references: tuple[str, ...]
    ours: str
    oracle: str | None = None

    def row(self, name: str) -> Row:
        """The row of that name."""
        return next(row for row in self.rows if row.name == name)
