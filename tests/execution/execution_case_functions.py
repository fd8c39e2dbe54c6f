"""What workers do in the tests of execution: functions of an importable module, because spawned workers import them."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from monai_spatialqa.errors import GeometryError

initialized: list[int] = []


@dataclass(frozen=True)
class Task:
    case_id: str
    value: Any = None


def square(number: int) -> int:
    return number * number


def by_name(action: str) -> Any:
    """Do what the case says."""
    if action == "refuse":
        raise GeometryError("the affine is singular", code="singular_affine", file="a.nii", found=0)
    if action == "raise":
        raise ValueError("no such thing")
    if action == "quit":
        sys.exit(3)
    if action == "die":
        os._exit(9)
    if action == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if action == "unpicklable":
        return threading.Lock()
    if action == "strange":
        raise UnpicklableError(threading.Lock())
    return action.upper()


class UnpicklableError(Exception):
    """Cannot travel between processes."""


def of_task(task: Task) -> Any:
    return by_name(task.value)


def die_once(folder_and_name: tuple[str, str]) -> str:
    """Kill the worker the first time only."""
    folder, name = folder_and_name
    mark = Path(folder, name)
    if not mark.exists():
        mark.write_bytes(b"")
        os._exit(1)
    return name


def sleep_and_tell(case: tuple[str, float]) -> int:
    """Leave the process id in a file, then work for a while."""
    path, seconds = case
    Path(path).write_text(str(os.getpid()), encoding="utf-8")
    time.sleep(seconds)
    return os.getpid()


def environment(_: int) -> dict[str, str | None]:
    names = ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS", "OPENBLAS_NUM_THREADS")
    return {name: os.environ.get(name) for name in names}


def modules(_: int) -> list[str]:
    return [name for name in ("torch", "monai", "numpy") if name in sys.modules]


def initialize() -> None:
    initialized.append(os.getpid())


def fail_to_initialize() -> None:
    raise RuntimeError("no licence")


def initializations(_: int) -> list[int]:
    return initialized
