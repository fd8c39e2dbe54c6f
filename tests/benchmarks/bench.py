"""A whole run: which volumes, which tables, in which order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from tests.benchmarks import others, report
from tests.benchmarks.array_rows import ARRAY
from tests.benchmarks.data import SIZES, Dataset, Store, tiny
from tests.benchmarks.distance_rows import ALL_DISTANCES, ONE_DISTANCE
from tests.benchmarks.file_rows import FILE, READ
from tests.benchmarks.goals import Results
from tests.benchmarks.rows import Table
from tests.benchmarks.timing import Timed
from tests.benchmarks.worker import Job, run_apart, run_here

FILE_LABELS = 117
READ_SIZES = ("Q", "M")
OTHER_ROWS = ("throughput", "first-call", "pairs", "scoring", "intervals")


@dataclass(frozen=True)
class Wanted:
    """What to run.

    Attributes:
        sizes: names of volumes.
        labels: numbers of structures.
        repeats: runs per row.
        only: names of rows; empty for all.
        quick: few labels, one round.
    """

    sizes: Sequence[str]
    labels: Sequence[int]
    repeats: int
    only: frozenset[str]
    quick: bool

    def row(self, name: str) -> bool:
        """Whether a row is wanted."""
        return not self.only or name in self.only

    def table(self, table: Table) -> bool:
        """Whether any row of a table is wanted."""
        return any(self.row(row.name) for row in table.rows)


class Bench:
    """Runs the tables, prints each as soon as it is complete, and collects the results."""

    def __init__(self, wanted: Wanted, store: Store, results: Results, *, in_process: bool) -> None:
        self.wanted = wanted
        self.store = store
        self.results = results
        self.run: Callable[[Job], Timed] = run_here if in_process else run_apart

    def arrays(self) -> None:
        """Arrays in memory, for every size and number of labels; one of them in a wider type, too."""
        if not self.wanted.table(ARRAY):
            return
        datasets = [Dataset(size, labels) for size in self.wanted.sizes for labels in self.wanted.labels]
        if Dataset("M", FILE_LABELS) in datasets:
            datasets.append(Dataset("M", FILE_LABELS, "int32"))
        for dataset in datasets:
            warm_up = self.store.folder / f"tiny-{dataset.kind.name}.npy"
            np.save(warm_up, tiny(dataset))
            self._table(ARRAY, dataset, dataset.title, self.store.array(dataset), warm_up, dataset.nbytes)
            self.store.forget(dataset)

    def files(self) -> None:
        """From a file to a record, and from a file to an array."""
        if self.wanted.table(FILE):
            for dataset in map(self._file_dataset, self.wanted.sizes):
                path, warm_up = self.store.label_file(dataset), self.store.tiny_file(dataset)
                self._table(FILE, dataset, dataset.title, path, warm_up, dataset.nbytes)
        if self.wanted.table(READ):
            for size in [size for size in self.wanted.sizes if size in READ_SIZES]:
                dataset = self._file_dataset(size)
                path, warm_up = self.store.label_file(dataset), self.store.tiny_file(dataset)
                self._table(READ, dataset, dataset.title, path, warm_up, dataset.nbytes)
                title = f"{size} = {'x'.join(map(str, SIZES[size]))} int16, CT with noise"
                ct_bytes = 2 * int(np.prod(SIZES[size]))
                self._table(READ, dataset, title, self.store.ct_file(size), warm_up, ct_bytes, name=f"{size}-ct")

    def distances(self) -> None:
        """Surface distances of an array's structures: of one pair, and of all."""
        sizes = ["Q"] if self.wanted.quick else ["R", *(size for size in self.wanted.sizes if size == "M")]
        for table in (ONE_DISTANCE, ALL_DISTANCES):
            for dataset in map(self._file_dataset, sizes if self.wanted.table(table) else ()):
                warm_up = self.store.folder / f"tiny-{dataset.kind.name}.npy"
                np.save(warm_up, tiny(dataset))
                self._table(table, dataset, dataset.title, self.store.array(dataset), warm_up, dataset.nbytes)
                self.store.forget(dataset)

    def others(self) -> None:
        """Cases per second, first calls, all-pairs distances."""
        dataset = self._file_dataset("M" if "M" in self.wanted.sizes else self.wanted.sizes[0])
        if self.wanted.row("throughput"):
            self._throughput(dataset)
        if self.wanted.row("first-call"):
            self._first_calls()
        if self.wanted.row("pairs"):
            self._pairs(dataset)

    def _throughput(self, dataset: Dataset) -> None:
        different = [self.store.label_file(dataset, seed) for seed in range(3)]
        rates = others.throughput(different * 4, rounds=1 if self.wanted.quick else 3)
        self.results.other["throughput"] = [asdict(rate) for rate in rates]
        print("\n" + report.lined_up(*report.throughput_lines(dataset.title, rates)), flush=True)

    def _first_calls(self) -> None:
        seconds = others.first_calls()
        sizes = others.installed_megabytes("numba", "llvmlite")
        self.results.other |= {"first_call_s": seconds, "installed_mb": sizes}
        lines = [[name, f"{value:.2f} s"] for name, value in seconds.items()]
        lines += [[f"installed size of {name}", f"{value:.0f} MB"] for name, value in sizes.items()]
        print("\n" + report.lined_up(["first measurement of a process, compiled kernels", ""], lines), flush=True)

    def _pairs(self, dataset: Dataset) -> None:
        distances = others.all_pairs_seconds()
        records = others.pair_records_seconds(self.store.label_file(dataset))
        self.results.other |= {"all_pairs_s": distances, "pair_records_s": records}
        pairs = dataset.label_count * (dataset.label_count - 1) // 2
        lines = [
            ["distances of all 6,786 pairs of 117 structures", f"{distances * 1e3:.2f} ms"],
            [f"what {pairs:,} pairs add to sqa.measure, each a checked record", f"{records * 1e3:.0f} ms"],
        ]
        print("\n" + report.lined_up(["box-centre distances", ""], lines), flush=True)

    def _file_dataset(self, size: str) -> Dataset:
        return Dataset(size, min(self.wanted.labels) if self.wanted.quick else FILE_LABELS)

    def _table(
        self,
        table: Table,
        dataset: Dataset,
        title: str,
        source: Path,
        warm_up: Path,
        input_bytes: int,
        *,
        name: str | None = None,
    ) -> None:
        print(f"\n{title}", flush=True)
        lines = []
        for row in table.rows:
            if not self.wanted.row(row.name):
                continue
            why = row.why_not(dataset)
            if why is not None:
                lines.append(report.left_out_line(table, row.title, why))
                continue
            timed = self.run(Job(table.name, row.name, str(source), str(warm_up), self.wanted.repeats))
            self.results.rows[table.name, name or dataset.name, row.name] = timed
            lines.append(report.row_line(table, row.title, timed, input_bytes))
        print(report.lined_up(report.row_header(table), lines), flush=True)
