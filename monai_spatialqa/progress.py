"""How far a stage is: a bar on a terminal, a log line now and then everywhere else, nothing when silent.

A stage owns its progress and what it prints; library functions show none.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, TextIO

from tqdm import tqdm

from monai_spatialqa.errors import readable

logger = logging.getLogger(__name__)


class Progress:
    """Counts finished and failed cases and tells about it.

    On a terminal it is a tqdm bar on stderr. Otherwise it is one log line (level INFO) at most every
    ``every_seconds``, and one at the end.

    Args:
        total: number of cases of the run, or None when unknown.
        already_done: cases that an earlier run has finished; they count as done but not for the rate.
        description: what is being done, e.g. ``"measure"``.
        unit: what is counted, in the singular.
        silent: show nothing; only count.
        every_seconds: the shortest time between two log lines.
        stream: where a terminal would be; stderr when None.
        clock: the source of time in seconds, for tests.
        note: gives what is told behind the counts, e.g. retries of calls; empty for nothing.

    Example:
        >>> with Progress(2, description="measure", silent=True) as progress:
        ...     progress.update()
        ...     progress.update(failed=True)
        >>> progress.done, progress.failed
        (2, 1)
    """

    def __init__(
        self,
        total: int | None,
        *,
        already_done: int = 0,
        description: str = "",
        unit: str = "case",
        silent: bool = False,
        every_seconds: float = 10.0,
        stream: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
        note: Callable[[], str] | None = None,
    ) -> None:
        self.total = total
        self.done = already_done
        self.failed = 0
        self.description = description
        self.unit = unit
        self._already_done = already_done
        self._every_seconds = every_seconds
        self._clock = clock
        self._note = note or str
        self._started = self._last_told = clock()
        self._ended: float | None = None
        self._silent = silent
        self._bar: Any = None
        stream = stream or sys.stderr
        if not silent and stream is not None and stream.isatty():
            self._bar = tqdm(total=total, initial=already_done, desc=description or None, unit=unit, file=stream)

    @property
    def seconds(self) -> float:
        """Time since the start, until ``close``."""
        return (self._clock() if self._ended is None else self._ended) - self._started

    @property
    def rate(self) -> float | None:
        """Cases per second of this run, failed ones included; None before the first."""
        done_here = self.done - self._already_done
        return done_here / self.seconds if done_here and self.seconds > 0 else None

    @property
    def eta_seconds(self) -> float | None:
        """Time until the end at the present rate; None when total or rate is unknown."""
        rate = self.rate
        return None if self.total is None or rate is None else max(self.total - self.done, 0) / rate

    def update(self, *, failed: bool = False) -> None:
        """Count one finished case.

        Args:
            failed: whether it ended in an error record; failed cases count as done.
        """
        self.done += 1
        self.failed += failed
        if self._bar is not None:
            told = [f"failed={self.failed}" if self.failed else "", self._note()]
            if any(told):
                self._bar.set_postfix_str(", ".join(filter(None, told)), refresh=False)
            self._bar.update()
        elif self._clock() - self._last_told >= self._every_seconds and self.done != self.total:  # close tells the end
            self._tell()

    def close(self) -> None:
        """Show the final state. May be called twice."""
        if self._ended is not None:
            return
        self._ended = self._clock()
        if self._bar is not None:
            self._bar.close()
        else:
            self._tell()

    def _tell(self) -> None:
        if self._silent:
            return
        self._last_told = self._clock()
        logger.info("%s", str(self))  # now: a handler may format later, when the counts have moved on

    def __str__(self) -> str:
        told = [f"{self.done} of {self.total} {self.unit}s" if self.total is not None else f"{self.done} {self.unit}s"]
        if self.failed:
            told.append(f"{self.failed} failed")
        if note := self._note():
            told.append(note)
        if self.rate is not None:
            told.append(f"{self.rate:.3g} {self.unit}s/s")
        if self._ended is not None:
            told.append(f"took {_clock_text(self.seconds)}")
        elif self.eta_seconds is not None:
            told.append(f"{_clock_text(self.eta_seconds)} left")
        return (f"{self.description}: " if self.description else "") + ", ".join(told)

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def show(lines: Sequence[str]) -> None:
    """Print lines; characters that the terminal cannot show are spelled out instead of ending the run."""
    encoding = sys.stdout.encoding or "utf-8"
    print(readable("\n".join(lines)).encode(encoding, "backslashreplace").decode(encoding), flush=True)


def _clock_text(seconds: float) -> str:
    """Hours, minutes and seconds, as ``1:02:03`` or ``2:03``."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
