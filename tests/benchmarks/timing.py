"""Seconds and bytes of one row, measured so that other work on the machine and other rows disturb it little.

Time: the row, the reference rows (a plain read, ours) and the row again take turns in one process; ratios are taken
between medians of that process. A machine that is busy for a while is then busy for all of them.

Memory: the highest resident size of the process (``VmHWM``) while the row runs for the first time at full size, less
the resident size just before. The row has run once on a tiny volume by then, so imports, compiled code and thread pools
are paid already; free memory is handed back to the system and the high-water mark is reset in between.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import statistics
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SLOW_SECONDS, VERY_SLOW_SECONDS = 2.0, 6.0
"""A row slower than this is timed three times, or once."""


@dataclass
class Timed:
    """Seconds of one row.

    Attributes:
        seconds: median wall time.
        cpu_seconds: median time of all cores.
        runs: of how many runs.
        references: median wall time of the reference rows in the same process.
        reference_cpu: their time of all cores.
        extra_bytes: memory beyond the input; None where it cannot be told.
    """

    seconds: float
    cpu_seconds: float
    runs: int
    references: dict[str, float] = field(default_factory=dict)
    reference_cpu: dict[str, float] = field(default_factory=dict)
    extra_bytes: int | None = None


def clocked(call: Callable[[], Any]) -> tuple[float, float, Any]:
    """Wall seconds, CPU seconds of all threads, and the answer."""
    gc.collect()
    cpu, wall = time.process_time(), time.perf_counter()
    answer = call()
    return time.perf_counter() - wall, time.process_time() - cpu, answer


def watched(call: Callable[[], Any]) -> tuple[float, float, Any, int | None]:
    """Like :func:`clocked`, and the memory the call needed at its peak."""
    before = _begin_watching()
    wall, cpu, answer = clocked(call)
    peak = _status_bytes("VmHWM") if before is not None else None
    return wall, cpu, answer, None if before is None or peak is None else max(0, peak - before)


def repeated(
    call: Callable[[], Any], first: tuple[float, float], references: Mapping[str, Callable[[], Any]], repeats: int
) -> Timed:
    """Time a row and its references in turns.

    Args:
        call: the row.
        first: wall and CPU seconds of the run that came before; it counts only where it stays the only one.
        references: rows to compare with; they have run before.
        repeats: runs wanted; a slow row gets fewer.
    """
    if first[0] > VERY_SLOW_SECONDS:
        repeats = 1
    elif first[0] > SLOW_SECONDS:
        repeats = min(repeats, 3)
    rows: list[tuple[float, float]] = [first] if repeats == 1 else []
    others: dict[str, list[tuple[float, float]]] = {name: [] for name in references}
    for _ in range(max(repeats, 3) if references else 0):  # a reference is quick: never a single run of it
        for name, reference in references.items():
            others[name].append(clocked(reference)[:2])
        if len(rows) < repeats:
            rows.append(clocked(call)[:2])
    while len(rows) < repeats:
        rows.append(clocked(call)[:2])
    return Timed(
        seconds=_median(wall for wall, _ in rows),
        cpu_seconds=_median(cpu for _, cpu in rows),
        runs=len(rows),
        references={name: _median(wall for wall, _ in runs) for name, runs in others.items()},
        reference_cpu={name: _median(cpu for _, cpu in runs) for name, runs in others.items()},
    )


def _median(values: Iterable[float]) -> float:
    return statistics.median(values)


def _begin_watching() -> int | None:
    """Hand free memory back, forget the high-water mark, and tell the resident bytes; None where that is impossible."""
    gc.collect()
    gc.freeze()  # what imports left behind is not looked through again before every run
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return None
    return _status_bytes("VmRSS")


def _status_bytes(name: str) -> int | None:
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{name}:")), None)
