"""Intervals of a result table: how long 10,000 draws of cases take, and what the time grows with."""

from __future__ import annotations

import statistics
import time
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from tests.benchmarks import report

if TYPE_CHECKING:
    from tests.benchmarks.bench import Bench


@dataclass(frozen=True)
class Load:
    """What is drawn.

    Attributes:
        answers: one in six is a number, the others are choices.
        cases: that the answers are about.
        groups: by task, structure, organ and so on; each has one answer in twenty.
        means: figures per group that are means.
        medians: figures per group that are medians, over the numbers only.
        draws: of cases with replacement.
    """

    answers: int = 10_000
    cases: int = 500
    groups: int = 150
    means: int = 11
    medians: int = 2
    draws: int = 10_000


BASE = Load()

LOADS = {
    "a result table": BASE,
    "one figure": replace(BASE, means=1, medians=0),
    "one median": replace(BASE, means=0, medians=1),
    "2 x draws": replace(BASE, draws=2 * BASE.draws),
    "4 x answers": replace(BASE, answers=4 * BASE.answers),
    "4 x cases": replace(BASE, cases=4 * BASE.cases),
    "2 x groups": replace(BASE, groups=2 * BASE.groups),
}

TINY = Load(answers=200, cases=20, groups=5, draws=100)


@dataclass(frozen=True)
class Seconds:
    """How long a load took: the median of some runs.

    Attributes:
        title: name of the load.
        load: what was drawn.
        seconds: wall time.
        cpu_seconds: of all threads.
    """

    title: str
    load: Load
    seconds: float
    cpu_seconds: float


def measure(bench: Bench) -> None:
    """The table; it needs no volume."""
    if not bench.wanted.row("intervals"):
        return
    loads = {"tiny": TINY} if bench.wanted.quick else LOADS
    repeats = 1 if bench.wanted.quick else min(3, bench.wanted.repeats)
    run(TINY)  # imports
    found = [_timed(title, load, repeats) for title, load in loads.items()]
    bench.results.other["intervals"] = [asdict(one) for one in found]
    header = ["intervals by bootstrap over cases", "answers", "cases", "groups", "figures", "draws", "s", "CPU s"]
    lines = [
        [
            one.title,
            *(f"{number:,}" for number in (one.load.answers, one.load.cases, one.load.groups)),
            f"{one.load.means} + {one.load.medians}",
            f"{one.load.draws:,}",
            f"{one.seconds:.2f}",
            f"{one.cpu_seconds:.2f}",
        ]
        for one in found
    ]
    print("\n" + report.lined_up(header, lines), flush=True)


def _timed(title: str, load: Load, repeats: int) -> Seconds:
    runs = []
    for _ in range(repeats):
        start, start_cpu = time.perf_counter(), time.process_time()
        run(load)
        runs.append((time.perf_counter() - start, time.process_time() - start_cpu))
    seconds, cpu_seconds = (statistics.median(times) for times in zip(*runs, strict=True))
    return Seconds(title, load, seconds, cpu_seconds)


def run(load: Load) -> None:
    """Every figure of every group with its interval."""
    from monai_spatialqa.statistics import Column, bootstrap_columns

    random = np.random.default_rng(0)
    clusters = random.integers(0, load.cases, load.answers)
    number = random.random(load.answers) < 1 / 6
    groups = {str(group): random.random(load.answers) < 1 / 20 for group in range(load.groups)}
    columns = {
        f"mean {at}": Column(random.integers(0, 2, load.answers), number if at % 2 else ~number)
        for at in range(load.means)
    }
    columns |= {
        f"median {at}": Column(random.lognormal(size=load.answers), number, "median") for at in range(load.medians)
    }
    found = bootstrap_columns(columns, clusters, groups, draws=load.draws)
    assert len(found) == load.groups
