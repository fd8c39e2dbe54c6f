"""The speed and memory this package promises, and whether a run kept it.

Goals about scans hold at size M with 117 labels, uint8, for the base install, whose kernels numba compiles.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.benchmarks.others import SERIAL, TWO_PROCESSES
from tests.benchmarks.timing import Timed

MEBIBYTE = 1 << 20


@dataclass(frozen=True)
class Goal:
    """One promise.

    Attributes:
        title: what is compared.
        at_least: whether more is better.
        must: the promise.
        measured: takes the results and gives the figure; raises KeyError where its rows were not run.
        unit: printed behind the figures.
    """

    title: str
    at_least: bool
    must: float
    measured: Callable[[Results], float]
    unit: str = "x"

    def kept(self, figure: float) -> bool:
        """Whether the figure keeps the promise."""
        return figure >= self.must if self.at_least else figure <= self.must


@dataclass
class Results:
    """What a run found: rows by (table, dataset, row), and the rest by name."""

    rows: dict[tuple[str, str, str], Timed]
    other: dict[str, Any]

    def timed(self, table: str, row: str, dataset: str = "M-117-uint8") -> Timed:
        """One row.

        Raises:
            KeyError: it was not run.
        """
        return self.rows[table, dataset, row]


def _over(table: str, row: str, reference: str, dataset: str = "M-117-uint8") -> Callable[[Results], float]:
    """Wall time of a row as a multiple of a reference row's."""

    def ratio(results: Results) -> float:
        timed = results.timed(table, row, dataset)
        return timed.seconds / timed.references[reference]

    return ratio


def _cpu_over(table: str, row: str, reference: str) -> Callable[[Results], float]:
    def ratio(results: Results) -> float:
        timed = results.timed(table, row)
        return timed.cpu_seconds / timed.reference_cpu[reference]

    return ratio


def _extra(table: str, row: str, per: float) -> Callable[[Results], float]:
    def share(results: Results) -> float:
        extra = results.timed(table, row).extra_bytes
        return math.nan if extra is None else extra / per

    return share


def _folder(results: Results) -> float:
    """Extra memory of a folder of masks over that of the label map it could be: the worse of record and layers."""
    extras = [results.timed("folder", row, "S-117-uint8").extra_bytes for row in ("folder", "folder-reader")]
    return math.nan if None in extras else max(extra for extra in extras if extra is not None) / S_BYTES


def _two_processes(results: Results) -> float:
    rates = {rate["way"]: rate["cases_per_second"] for rate in results.other["throughput"]}
    two, one = rates[TWO_PROCESSES], rates[SERIAL]
    return math.nan if two is None or one is None else float(two / one)


def _scoring(results: Results) -> float:
    seconds = {row["answers"]: row["seconds"] for row in results.other["scoring"]}
    return float(seconds.get(10_000, math.nan))


def _intervals(results: Results) -> float:
    seconds = {one["title"]: one["seconds"] for one in results.other["intervals"]}
    return float(seconds["a result table"])


def _distance(row: str) -> Callable[[Results], float]:
    return _over("surface-distance", row, "distance", "R-117-uint8")


def _distances(row: str) -> Callable[[Results], float]:
    return _over("surface-distances", row, "distances", "R-117-uint8")


M_BYTES = 512 * 512 * 400
S_BYTES = 256**3
S = "S-117-uint8"

GOALS = (
    Goal("array: measure, 2 threads / read once", False, 8, _over("array", "ours", "read")),
    Goal("array: SimpleITK perimeter off / ours, 2 threads", True, 2.5, _over("array", "simpleitk-off-2", "ours")),
    Goal("array: the same, CPU time", True, 2.5, _cpu_over("array", "simpleitk-off-2", "ours")),
    Goal("array: SimpleITK as constructed / ours, 2 threads", True, 30, _over("array", "simpleitk-2", "ours")),
    Goal("array: cc3d / ours, 2 threads", True, 35, _over("array", "cc3d", "ours")),
    Goal("array: regionprops_table / ours, 2 threads", True, 50, _over("array", "regionprops", "ours")),
    Goal("array: numpy per label / ours (S)", True, 400, _over("array", "numpy-loop", "ours", S)),
    Goal("array: MONAI box per label / ours (S)", True, 400, _over("array", "monai-loop", "ours", S)),
    Goal("array: extra memory / array", False, 0.1, _extra("array", "ours", M_BYTES)),
    Goal("array: extra memory", False, 16, _extra("array", "ours", MEBIBYTE), "MiB"),
    Goal("array: extra memory, all a record needs", False, 16, _extra("array", "ours-all", MEBIBYTE), "MiB"),
    Goal("file: to record / inflate alone", False, 2.2, _over("file", "measure", "inflate")),
    Goal("file: SimpleITK read + LabelShape / ours", True, 3.5, _over("file", "simpleitk-file", "measure")),
    Goal("file: nibabel + cc3d / ours", True, 10, _over("file", "nibabel-cc3d", "measure")),
    Goal("file: MONAI load + orient + space / ours", True, 75, _over("file", "monai-chain", "measure")),
    Goal("file: extra memory / array", False, 0.25, _extra("file", "measure", M_BYTES)),
    Goal("file: extra memory", False, 16, _extra("file", "measure", MEBIBYTE), "MiB"),
    Goal("folder of 117 masks: extra memory / label map (S)", False, 4, _folder),
    Goal("file to array: nibabel / ours, labels", True, 1.9, _over("read", "nibabel", "reader")),
    Goal("file to array: nibabel / ours, CT", True, 1.5, _over("read", "nibabel", "reader", "M-ct")),
    Goal("cases per second: 2 processes / serial", True, 1.6, _two_processes),
    Goal("surface distance, one pair: cropped edt / ours (R)", True, 8, _distance("distance-edt")),
    Goal("surface distance, one pair: cropped scipy EDT / ours (R)", True, 8, _distance("distance-scipy")),
    Goal("surface distances, 6,786 pairs: KD-trees / ours (R)", True, 14, _distances("distances-tree")),
    Goal("surface distances: extra memory / array", False, 3, _extra("surface-distances", "distances", M_BYTES)),
    Goal("box-centre distances of 117 structures", False, 10, lambda r: r.other["all_pairs_s"] * 1e3, "ms"),
    Goal("10,000 answers read and scored, 10,000 draws", False, 20, _scoring, "s"),
    Goal("intervals: 10,000 answers, 150 groups, 13 figures, 10,000 draws", False, 15, _intervals, "s"),
)


@dataclass(frozen=True)
class Verdict:
    """A goal and what became of it; ``figure`` is None where the run did not measure it."""

    goal: Goal
    figure: float | None

    @property
    def word(self) -> str:
        """For the table."""
        if self.figure is None:
            return "not run"
        return "ok" if self.goal.kept(self.figure) else "MISSED"


def judge(results: Results) -> list[Verdict]:
    """Every goal against the results."""
    verdicts = []
    for goal in GOALS:
        try:
            figure: float | None = goal.measured(results)
        except KeyError:
            figure = None
        verdicts.append(Verdict(goal, None if figure is None or math.isnan(figure) else figure))
    return verdicts
