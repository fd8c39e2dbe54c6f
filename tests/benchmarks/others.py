"""What is no row of a table: cases per second, first calls, all-pairs distances, installed size."""

from __future__ import annotations

import contextlib
import importlib.metadata
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from tests.benchmarks.file_rows import inflate
from tests.benchmarks.worker import ROOT

FIRST_CALL = """
import time
import numpy as np
from monai_spatialqa.geometry.encoder import MarginalEncoder
start = time.perf_counter()
encoder = MarginalEncoder((8, 8, 8), np.uint8)
encoder.feed(np.ones(512, np.uint8))
encoder.result()
print(time.perf_counter() - start)
"""

SERIAL, TWO_PROCESSES = "in process, 1 thread", "2 worker processes"
"""The two ways that a goal compares."""


@dataclass(frozen=True)
class Throughput:
    """Cases per second.

    Attributes:
        way: how the cases were spread.
        cases_per_second: once every process has finished its first case; None where all were done by then.
        start_seconds: until every process has finished its first case.
        cases: how many were timed.
    """

    way: str
    cases_per_second: float | None
    start_seconds: float
    cases: int


def measure_file(path: str, *, ahead: bool) -> int:
    """Measure one file; tells in which process."""
    from monai_spatialqa.measurement.case import CaseFiles, measure_case
    from monai_spatialqa.measurement.options import MeasureOptions
    from monai_spatialqa.records import Case

    where = Path(path)
    files = CaseFiles(Case(case_id=where.name, label=where.name, image=None), where.parent)
    measure_case(files, MeasureOptions(), ahead=ahead)
    return os.getpid()


def inflate_file(path: str) -> int:
    """Inflate one file and do nothing with it: what the machine's cores have to give side by side."""
    inflate(Path(path))()
    return os.getpid()


def throughput(files: list[Path], rounds: int = 3) -> list[Throughput]:
    """Cases per second in this process, and in one and two worker processes.

    The ways take turns for some rounds, so that other work on the machine meets all of them; medians of the rounds.
    """
    cases = [str(path) for path in files]
    alone, ahead = partial(measure_file, ahead=False), partial(measure_file, ahead=True)
    ways: dict[str, Callable[[], Throughput]] = {
        SERIAL: partial(_rate, alone, cases, workers=0),
        "in process, read-ahead thread": partial(_rate, ahead, cases, workers=0),
        "1 worker process, read-ahead thread": partial(_rate, ahead, cases, workers=1),
        TWO_PROCESSES: partial(_rate, alone, cases * 2, workers=2),
        "inflate alone, in process": partial(_rate, inflate_file, cases * 2, workers=0),
        "inflate alone, 2 worker processes": partial(_rate, inflate_file, cases * 4, workers=2),
    }
    found: dict[str, list[Throughput]] = {way: [] for way in ways}
    for _ in range(rounds):
        for way, rate in ways.items():
            found[way].append(rate())
    return [_median_of(way, rates) for way, rates in found.items()]


def _median_of(way: str, rates: list[Throughput]) -> Throughput:
    known = [rate.cases_per_second for rate in rates if rate.cases_per_second is not None]
    return Throughput(
        way,
        statistics.median(known) if known else None,
        statistics.median(rate.start_seconds for rate in rates),
        sum(rate.cases for rate in rates),
    )


def _rate(function: Callable[[str], int], cases: list[str], *, workers: int) -> Throughput:
    from monai_spatialqa.execution import Failure, map_cases

    started = time.perf_counter()
    awake: set[int] = set()
    clock: float | None = None
    timed = 0
    with contextlib.closing(map_cases(function, cases, workers=workers)) as results:
        for _, result in results:
            assert not isinstance(result, Failure), result
            timed += clock is not None
            awake.add(result)
            if clock is None and len(awake) == max(1, workers):
                clock = time.perf_counter()
            finished = time.perf_counter()
    if clock is None or not timed:  # one worker was done before another was awake
        return Throughput("", None, finished - started, 0)
    return Throughput("", timed / (finished - clock), clock - started, timed)


def first_calls() -> dict[str, float]:
    """Seconds of the first measurement of a process, its imports left out: compiled anew, and loaded from the cache."""
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "NUMBA_CACHE_DIR": cache}

        def seconds() -> float:
            command = [sys.executable, "-c", FIRST_CALL]
            return float(subprocess.check_output(command, cwd=ROOT, env=environment, text=True))

        cold = seconds()
        return {"empty cache": cold, "warm cache": statistics.median(seconds() for _ in range(3))}


def installed_megabytes(*packages: str) -> dict[str, float]:
    """Size on disk of installed distributions."""
    sizes = {}
    for package in packages:
        paths = [Path(str(file.locate())) for file in importlib.metadata.files(package) or []]
        sizes[package] = sum(path.stat().st_size for path in paths if path.is_file()) / 1e6
    return sizes


def all_pairs_seconds(count: int = 117, repeats: int = 20) -> float:
    """Box-centre distances between all pairs of ``count`` structures, from their boxes."""
    from monai_spatialqa.geometry.distances import all_pairs, lengths_mm, offsets_ras_mm

    rng = np.random.default_rng(0)
    centers: Any = tuple(rng.uniform(-200, 200, count) for _ in range(3))
    runs = []
    for _ in range(repeats):
        start = time.perf_counter()
        lengths_mm(offsets_ras_mm(centers, *all_pairs(count)))
        runs.append(time.perf_counter() - start)
    return statistics.median(runs)


def pair_records_seconds(path: Path, repeats: int = 3) -> float:
    """What ``distances="all"`` adds to ``sqa.measure``: the same distances as validated records."""
    import monai_spatialqa as sqa

    def seconds(distances: Any) -> float:
        runs = []
        for _ in range(repeats):
            start = time.perf_counter()
            sqa.measure(path, distances=distances)
            runs.append(time.perf_counter() - start)
        return statistics.median(runs)

    seconds(None)
    return seconds("all") - seconds(None)
