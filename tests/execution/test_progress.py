"""Progress counts, estimates, and tells in the right place."""

from __future__ import annotations

import io
import logging

import pytest

from monai_spatialqa.progress import Progress


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_it_counts_and_estimates() -> None:
    clock = Clock()
    progress = Progress(10, already_done=4, silent=True, clock=clock)
    assert (progress.done, progress.rate, progress.eta_seconds) == (4, None, None)
    clock.now += 4
    progress.update()
    progress.update(failed=True)
    assert (progress.done, progress.failed) == (6, 1)
    assert progress.rate == 0.5  # the four of an earlier run do not count
    assert progress.eta_seconds == 8.0
    progress.close()
    clock.now += 100
    assert progress.seconds == 4


def test_an_unknown_total_has_no_end() -> None:
    clock = Clock()
    progress = Progress(None, silent=True, clock=clock)
    clock.now += 2
    progress.update()
    assert progress.eta_seconds is None
    assert str(progress) == "1 cases, 0.5 cases/s"


def test_without_a_terminal_it_logs_now_and_then(caplog: pytest.LogCaptureFixture) -> None:
    clock, stream = Clock(), io.StringIO()
    with caplog.at_level(logging.INFO), Progress(40, description="measure", stream=stream, clock=clock) as progress:
        for number in range(40):
            clock.now += 1
            progress.update(failed=number == 0)
    assert [record.getMessage() for record in caplog.records] == [
        "measure: 10 of 40 cases, 1 failed, 1 cases/s, 0:30 left",
        "measure: 20 of 40 cases, 1 failed, 1 cases/s, 0:20 left",
        "measure: 30 of 40 cases, 1 failed, 1 cases/s, 0:10 left",
        "measure: 40 of 40 cases, 1 failed, 1 cases/s, took 0:40",
    ]
    assert stream.getvalue() == ""


def test_on_a_terminal_it_is_a_bar(caplog: pytest.LogCaptureFixture) -> None:
    stream = Terminal()
    with caplog.at_level(logging.INFO), Progress(2, description="measure", stream=stream) as progress:
        progress.update()
        progress.update(failed=True)
    assert "measure: 100%" in stream.getvalue()
    assert "failed=1" in stream.getvalue()
    assert not caplog.records


def test_silent_is_silent(caplog: pytest.LogCaptureFixture) -> None:
    stream = Terminal()
    with caplog.at_level(logging.INFO), Progress(1, silent=True, stream=stream, every_seconds=0) as progress:
        progress.update()
    progress.close()
    assert stream.getvalue() == ""
    assert not caplog.records


def test_long_times_have_hours() -> None:
    clock = Clock()
    progress = Progress(7201, silent=True, clock=clock)
    clock.now += 1
    progress.update()
    assert str(progress).endswith("2:00:00 left")


def test_a_note_is_told_behind_the_counts() -> None:
    told: list[str] = []
    with Progress(2, description="ask", unit="question", silent=True, note=lambda: ", ".join(told)) as progress:
        progress.update()
        assert str(progress).count("retries") == 0
        told.append("3 retries")
        assert str(progress).startswith("ask: 1 of 2 questions, 3 retries, ")
