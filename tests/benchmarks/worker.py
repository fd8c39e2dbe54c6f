"""One row on one volume, in a process of its own: ``python -m tests.benchmarks.worker JOB`` prints JSON."""

from __future__ import annotations

import json
import subprocess
import sys
import warnings
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tests.benchmarks import timing
from tests.benchmarks.array_rows import ARRAY
from tests.benchmarks.distance_rows import ALL_DISTANCES, ONE_DISTANCE, Distances
from tests.benchmarks.facts import Facts, require_equal
from tests.benchmarks.file_rows import FILE, READ
from tests.benchmarks.folder_rows import FOLDER
from tests.benchmarks.part_rows import PARTS
from tests.benchmarks.rows import Table

TABLES: dict[str, Table] = {
    table.name: table for table in (ARRAY, FILE, READ, ONE_DISTANCE, ALL_DISTANCES, *PARTS, FOLDER)
}
ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Job:
    """A row to run.

    Attributes:
        table, row: names.
        source: ``.npy`` of the array, or the file.
        warm_up: the same on a tiny volume.
        repeats: runs wanted.
    """

    table: str
    row: str
    source: str
    warm_up: str
    repeats: int


def run_here(job: Job) -> timing.Timed:
    """Run a row in this process.

    Raises:
        AssertionError: the row's counts, boxes, centroids or distances are not ours.
    """
    table = TABLES[job.table]
    row = table.row(job.row)
    row.prepare(_input(job.warm_up))()
    source = _input(job.source)
    call = row.prepare(source)
    wall, cpu, answer, extra = timing.watched(call)
    _compare(table, row.title, answer, source)
    references = {}
    for name in table.references:
        if name != row.name:
            table.row(name).prepare(_input(job.warm_up))()
            references[name] = table.row(name).prepare(source)
            references[name]()
    repeats = job.repeats if row.repeats is None else min(row.repeats, job.repeats)
    timed = timing.repeated(call, (wall, cpu), references, repeats)
    if row.name in table.references:
        timed.references[row.name], timed.reference_cpu[row.name] = timed.seconds, timed.cpu_seconds
    timed.extra_bytes = extra
    return timed


def _input(path: str) -> Any:
    return np.load(path) if path.endswith(".npy") else Path(path)


def _compare(table: Table, who: str, answer: Any, source: Any) -> None:
    if table.oracle is None or not isinstance(answer, Facts | Distances):  # a row that measures nothing
        return
    oracle = table.row(table.oracle).prepare(source)()
    if isinstance(answer, Distances):
        answer.require_near(oracle, who)
    else:
        require_equal(oracle.sorted(), answer, who)


def run_apart(job: Job) -> timing.Timed:
    """Run a row in a fresh process.

    Raises:
        RuntimeError: the process failed; its message is on stderr.
    """
    done = subprocess.run(
        [sys.executable, "-m", "tests.benchmarks.worker", json.dumps(asdict(job))],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        encoding="utf-8",
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"row {job.row} of table {job.table} failed with exit code {done.returncode}")
    return timing.Timed(**json.loads(done.stdout.splitlines()[-1]))


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    print(json.dumps(asdict(run_here(Job(**json.loads(sys.argv[1]))))))
