"""No case stops the others, whatever it does to its process."""

from __future__ import annotations

import contextlib
import importlib
import itertools
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from monai_spatialqa.errors import SettingsError, SpatialQAError
from monai_spatialqa.execution import Failure, failure_from, map_cases
from monai_spatialqa.records import ErrorDetail

HERE = Path(__file__).parent


@pytest.fixture
def functions(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    monkeypatch.syspath_prepend(HERE)
    yield importlib.import_module("execution_case_functions")
    sys.modules.pop("execution_case_functions")


def wait_until(condition: Any, seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "not within the time"
        time.sleep(0.02)


def is_running(process_id: int) -> bool:
    try:
        os.kill(process_id, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{process_id}/stat")
    return not status.exists() or status.read_text(encoding="utf-8").rsplit(")", 1)[1].split()[0] != "Z"


@pytest.mark.parametrize("workers", [0, 1, 2])
def test_results_are_the_same_however_many_workers(functions: ModuleType, workers: int) -> None:
    results = dict(map_cases(functions.square, range(9), workers=workers))
    assert results == {number: number * number for number in range(9)}


@pytest.mark.parametrize("workers", [0, 2])
def test_an_exception_is_a_failure_of_its_case(functions: ModuleType, workers: int) -> None:
    cases = ["a", "refuse", "raise", "quit", "b"]
    results = dict(map_cases(functions.by_name, cases, workers=workers))
    assert (results["a"], results["b"]) == ("A", "B")
    for case in ("refuse", "raise", "quit"):
        failure = results[case]
        assert isinstance(failure, Failure)
        assert failure.case == case
        assert ErrorDetail(**failure.error)
    assert results["refuse"].error["code"] == "singular_affine"
    assert results["refuse"].error["file"] == "a.nii"
    assert results["refuse"].error["found"] == "0"
    assert results["raise"].error["code"] == "unexpected"
    assert results["raise"].error["problem"] == "ValueError: no such thing"
    assert "by_name" in results["raise"].traceback
    assert results["quit"].error["problem"] == "SystemExit: 3"


def test_a_failure_names_the_case(functions: ModuleType) -> None:
    tasks = [functions.Task("case7", "raise"), functions.Task("case8", "refuse")]
    for task, failure in map_cases(functions.of_task, tasks):
        assert failure.error["case"] == task.case_id
    assert failure_from({"case_id": 3}, KeyError("x")).error["case"] == "3"
    assert failure_from("text", ValueError()).error["problem"] == "ValueError"


@pytest.mark.parametrize("deadly", ["die", "kill"])
def test_a_worker_that_dies_costs_only_its_case(functions: ModuleType, deadly: str) -> None:
    cases = ["a", "b", deadly, "c", "refuse", "d", "e", "f", "g"]
    pairs = list(map_cases(functions.by_name, cases, workers=2))
    assert sorted(case for case, _ in pairs) == sorted(cases)
    results = dict(pairs)
    assert results[deadly].error["code"] == "worker_died"
    assert ErrorDetail(**results[deadly].error)
    assert results["refuse"].error["code"] == "singular_affine"
    assert [results[case] for case in "abcdefg"] == list("ABCDEFG")


def test_a_worker_that_dies_once_costs_nothing(functions: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "b").write_bytes(b"")
    cases = [(str(tmp_path), name) for name in "ab"]
    assert dict(map_cases(functions.die_once, cases, workers=1)) == {case: case[1] for case in cases}


def test_what_does_not_pickle_is_a_failure_or_an_early_error(functions: ModuleType) -> None:
    results = dict(map_cases(functions.by_name, ["unpicklable", "strange", "a"], workers=1))
    assert results["a"] == "A"
    assert results["unpicklable"].error["code"] == "unexpected"
    assert "pickle" in results["unpicklable"].error["problem"]
    assert results["strange"].error["problem"].startswith("UnpicklableError")
    with pytest.raises(SpatialQAError, match="cannot be sent") as caught:
        map_cases(lambda case: case, [1], workers=1)
    assert caught.value.code == "not_picklable"


def test_a_negative_number_of_workers_is_refused(functions: ModuleType) -> None:
    with pytest.raises(SettingsError, match="cannot be negative"):
        map_cases(functions.square, [1], workers=-1)


@pytest.mark.parametrize("workers", [0, 1])
def test_cases_are_drawn_as_they_are_needed(functions: ModuleType, workers: int) -> None:
    drawn: list[int] = []

    def endless() -> Iterator[int]:
        for number in itertools.count():
            drawn.append(number)
            yield number

    with contextlib.closing(map_cases(functions.square, endless(), workers=workers)) as results:
        assert [next(results) for _ in range(3)] == [(0, 0), (1, 1), (2, 4)]
    assert len(drawn) <= 3 + 2 * workers


@pytest.mark.parametrize("workers", [0, 1])
def test_the_initializer_runs_once_in_each_process(functions: ModuleType, workers: int) -> None:
    results = [
        ids
        for _, ids in map_cases(functions.initializations, [1, 2], workers=workers, initializer=functions.initialize)
    ]
    assert len(results[0]) == 1
    assert results[0] == results[1]
    assert (results[0][0] == os.getpid()) == (workers == 0)


def test_workers_that_cannot_start_stop_the_run(functions: ModuleType) -> None:
    with pytest.raises(SpatialQAError, match="as soon as they are started") as caught:
        list(map_cases(functions.square, [1, 2], workers=1, initializer=functions.fail_to_initialize))
    assert caught.value.code == "workers_cannot_start"


def test_several_workers_use_one_thread_each(functions: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.delenv("NUMBA_NUM_THREADS", raising=False)
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "3")  # the user's own choice stays
    expected = {"OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "3"}
    assert dict(map_cases(functions.environment, [1], workers=2))[1] == expected
    assert "OMP_NUM_THREADS" not in os.environ
    assert dict(map_cases(functions.environment, [1], workers=1))[1]["OMP_NUM_THREADS"] is None


def test_neither_the_module_nor_a_worker_imports_torch(functions: ModuleType) -> None:
    code = "import sys, monai_spatialqa.execution; sys.exit(str({'torch', 'monai', 'numpy'} & set(sys.modules)))"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, encoding="utf-8", check=False
    )
    assert done.stderr.strip() == "set()"
    assert dict(map_cases(functions.modules, [1], workers=1)) == {1: []}


# Ends that come from outside.


def test_closing_the_iterator_ends_the_workers(functions: ModuleType, tmp_path: Path) -> None:
    marks = [tmp_path / name for name in "ab"]
    cases = [(str(marks[0]), 0.0), (str(marks[1]), 60.0)]
    started = time.monotonic()
    with contextlib.closing(map_cases(functions.sleep_and_tell, cases, workers=2)) as results:
        _, process_id = next(results)
        wait_until(marks[1].exists)
    assert time.monotonic() - started < 30
    assert not is_running(process_id)
    wait_until(lambda: not is_running(int(marks[1].read_text(encoding="utf-8"))))


SCRIPT = """
import sys
from monai_spatialqa.execution import map_cases
import execution_case_functions as functions

{guard}
    folder = sys.argv[1]
    cases = [(f"{{folder}}/a", 60.0), (f"{{folder}}/b", 60.0), (f"{{folder}}/c", 60.0)]
    try:
        for case, result in map_cases(functions.sleep_and_tell, cases, workers=2):
            pass
    except KeyboardInterrupt:
        print("interrupted", flush=True)
        raise
"""


def start_script(folder: Path, guard: str) -> subprocess.Popen[str]:
    script = folder / "script.py"
    script.write_text(textwrap.dedent(SCRIPT.format(guard=guard)), encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE), *filter(None, sys.path)])}
    return subprocess.Popen(
        [sys.executable, str(script), str(folder)],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        start_new_session=True,
    )


@pytest.mark.slow
@pytest.mark.parametrize("end", ["interrupt", "interrupt the group", "kill"])
def test_an_ended_run_leaves_no_workers(tmp_path: Path, end: str) -> None:
    running = start_script(tmp_path, 'if __name__ == "__main__":')
    marks = [tmp_path / "a", tmp_path / "b"]
    wait_until(lambda: all(mark.exists() and mark.read_text(encoding="utf-8") for mark in marks))
    if end == "interrupt":
        os.kill(running.pid, signal.SIGINT)
    elif end == "interrupt the group":
        os.killpg(running.pid, signal.SIGINT)  # as Ctrl-C on a terminal does
    else:
        os.kill(running.pid, signal.SIGKILL)
    out, error = running.communicate(timeout=20)
    if end != "kill":
        assert out == "interrupted\n"
        assert error.strip().splitlines()[-1] == "KeyboardInterrupt"
        assert error.count("Traceback") == 1  # the workers say nothing
    process_ids = [int(mark.read_text(encoding="utf-8")) for mark in marks]
    wait_until(lambda: not any(map(is_running, process_ids)))
    assert not (tmp_path / "c").exists()


@pytest.mark.slow
def test_a_script_without_the_guard_is_told_so(tmp_path: Path) -> None:
    running = start_script(tmp_path, "if True:")
    _, error = running.communicate(timeout=60)
    assert running.returncode == 1
    assert "SpatialQAError: worker processes end as soon as they are started" in error
    assert 'Next step: start the work under if __name__ == "__main__":' in error
