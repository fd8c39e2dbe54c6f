"""Map a function over cases, in this process or in worker processes, so that no case can stop the others.

What a case raises becomes a ``Failure``; a worker that dies (``os._exit``, a signal, out of memory) costs at most the
case that kills it. Knows neither what a case nor what a result is, and imports neither torch nor MONAI.

**The entry point guard.** Worker processes are spawned: each starts a fresh interpreter that imports the main module
again. A script that uses ``workers > 0`` must therefore start its work under ``if __name__ == "__main__":``, or every
worker would start the whole script again (Python refuses, and ``map_cases`` reports ``workers_cannot_start``). The
bundle's command line (``python -m monai.bundle run``) and pytest need no guard. For the same reason ``function``,
``initializer``, the cases and the results must pickle: functions of a module, or ``functools.partial`` of them, but no
lambdas, no closures, and nothing defined in a notebook cell.
"""

from __future__ import annotations

import contextlib
import logging
import multiprocessing
import os
import pickle
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from multiprocessing.process import BaseProcess
from typing import Any, Generic, TypeVar

from monai_spatialqa.errors import SettingsError, SpatialQAError

logger = logging.getLogger(__name__)

CaseT = TypeVar("CaseT")
ResultT = TypeVar("ResultT")

THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMBA_NUM_THREADS",
    "ITK_GLOBAL_DEFAULT_NUMBER_OF_THREADS",
)
"""Environment variables that keep each of several workers to one thread; what the user has set already stays."""

_WINDOW_PER_WORKER = 2
_SECONDS_TO_END = 5.0


@dataclass(frozen=True)
class Failure(Generic[CaseT]):
    """A case that has no result, and why."""

    case: CaseT
    error: dict[str, str | None] = field(hash=False)
    """The parts of ``records.ErrorDetail``: code, problem, case, file, key, found, expected, next_step."""
    traceback: str | None = field(default=None, compare=False)
    """Where an unexpected exception came from. For logs: it names paths of this machine."""


def map_cases(
    function: Callable[[CaseT], ResultT],
    cases: Iterable[CaseT],
    *,
    workers: int = 0,
    initializer: Callable[[], object] | None = None,
) -> Generator[tuple[CaseT, ResultT | Failure[CaseT]], None, None]:
    """Call ``function`` for every case and yield each case with its result as soon as it is there.

    Cases are drawn from ``cases`` a few at a time (two per worker), so a long or endless iterable costs no memory. When
    a worker dies, the cases that were under way are done again one at a time in a fresh single worker; the one that
    kills its worker while it is alone becomes a failure with the code ``worker_died``, all others get their results.

    Ctrl-C ends all workers and is raised on. So does closing the generator; a loop that may end early (``break``, an
    exception) closes it with ``contextlib.closing(map_cases(...))``, else the cases under way are finished first.
    A worker does not outlive this process, even when this process is killed.

    Args:
        function: what to do with one case.
        cases: the cases, each with an id of its own where failures are to name it (``case_id``).
        workers: number of worker processes; 0 works in this process, in the order of ``cases``. With more than one,
            each worker is kept to one thread (``THREAD_VARIABLES``). Mind the entry point guard, see above.
        initializer: called once in every process that does work, before its first case.

    Yields:
        (case, result) or (case, Failure), in order of completion.

    Raises:
        SettingsError: when ``workers`` is negative.
        SpatialQAError: when ``function`` or ``initializer`` does not pickle, or no worker can be started at all.

    Example:
        >>> for case, result in map_cases(abs, [-1, 2]):
        ...     print(case, result)
        -1 1
        2 2
    """
    if workers < 0:
        raise SettingsError(
            "the number of workers cannot be negative",
            key="workers",
            found=workers,
            expected="0 (this process) or more",
        )
    if workers == 0:
        return _map_here(function, cases, initializer)
    _require_picklable(function, "function")
    _require_picklable(initializer, "initializer")
    return _map_in_workers(function, cases, workers, initializer)


def failure_from(case: CaseT, error: BaseException) -> Failure[CaseT]:
    """Describe an exception as the failure of a case; the case's id is filled in where the error does not name it."""
    if isinstance(error, SpatialQAError):
        details = error.details()
        return Failure(case, {**details, "case": details["case"] or _case_id(case)})
    problem = f"{type(error).__name__}: {error}".rstrip(": ")
    text = "".join(traceback.format_exception(error))
    return Failure(case, _details("unexpected", problem, case), text)


def _details(code: str, problem: str, case: Any, next_step: str | None = None) -> dict[str, str | None]:
    return SpatialQAError(problem, code=code, case=_case_id(case), next_step=next_step).details()


def _case_id(case: Any) -> str | None:
    value = case.get("case_id") if isinstance(case, Mapping) else getattr(case, "case_id", None)
    return None if value is None else str(value)


def _require_picklable(item: Any, name: str) -> None:
    try:
        pickle.dumps(item)
    except Exception as error:  # pickle raises PicklingError, AttributeError, TypeError or what __reduce__ raises
        raise SpatialQAError(
            f"the {name} cannot be sent to worker processes",
            code="not_picklable",
            key=name,
            found=error,
            expected="a function of a module, or functools.partial of one",
            next_step="define it in a module, or work in this process (workers=0)",
        ) from error


def _attempt(function: Callable[[CaseT], ResultT], case: CaseT) -> ResultT | Failure[CaseT]:
    try:
        return function(case)
    except (Exception, SystemExit) as error:  # whatever one case raises must not reach the others
        return failure_from(case, error)


def _map_here(
    function: Callable[[CaseT], ResultT], cases: Iterable[CaseT], initializer: Callable[[], object] | None
) -> Generator[tuple[CaseT, ResultT | Failure[CaseT]], None, None]:
    if initializer is not None:
        initializer()
    for case in cases:
        yield case, _attempt(function, case)


def _map_in_workers(
    function: Callable[[CaseT], ResultT],
    cases: Iterable[CaseT],
    workers: int,
    initializer: Callable[[], object] | None,
) -> Generator[tuple[CaseT, ResultT | Failure[CaseT]], None, None]:
    waiting = iter(cases)
    one_thread = workers > 1
    exhausted = False
    while not exhausted:
        broken: list[CaseT] = []
        under_way: dict[Future[ResultT | Failure[CaseT]], CaseT] = {}
        with _Pool(workers, initializer, one_thread) as pool:
            while not exhausted or under_way:
                # A broken pool gets no more cases: what was done before it broke is kept, the rest is done again.
                while not exhausted and not broken and len(under_way) < workers * _WINDOW_PER_WORKER:
                    try:
                        case = next(waiting)
                    except StopIteration:
                        exhausted = True
                    else:
                        under_way[pool.submit(_attempt, function, case)] = case
                if not under_way:
                    break
                finished, _ = wait(under_way, return_when=FIRST_COMPLETED)
                for future in [future for future in under_way if future in finished]:  # in the order of submission
                    case = under_way.pop(future)
                    if _is_broken(future):
                        broken.append(case)
                    else:
                        yield case, _outcome(future, case)
        if broken:
            logger.warning("a worker process died; %d cases under way are done again one at a time", len(broken))
            yield from _one_at_a_time(function, broken, initializer, one_thread)


def _one_at_a_time(
    function: Callable[[CaseT], ResultT],
    cases: list[CaseT],
    initializer: Callable[[], object] | None,
    one_thread: bool,
) -> Generator[tuple[CaseT, ResultT | Failure[CaseT]], None, None]:
    """Find the case that kills its worker: only a case that is the first of its worker is blamed."""
    remaining = list(reversed(cases))
    while remaining:
        with _Pool(1, initializer, one_thread) as pool:
            pool.require_alive()
            is_first = True
            while remaining:
                future: Future[ResultT | Failure[CaseT]] = pool.submit(_attempt, function, remaining[-1])
                if _is_broken(future) and not is_first:
                    break
                case = remaining.pop()
                yield case, _outcome(future, case)
                if _is_broken(future):
                    break
                is_first = False


def _is_broken(future: Future[Any]) -> bool:
    return isinstance(future.exception(), BrokenProcessPool)


def _outcome(future: Future[ResultT | Failure[CaseT]], case: CaseT) -> ResultT | Failure[CaseT]:
    error = future.exception()
    if error is None:
        return future.result()
    if _is_broken(future):
        problem = "the worker process died while it had this case, and no other case was under way"
        next_step = "check the memory the case needs and the system's log; run it alone with workers=0 to see more"
        return Failure(case, _details("worker_died", problem, case, next_step))
    if isinstance(error, KeyboardInterrupt):
        raise error
    return failure_from(case, error)  # the case or its result does not pickle


class _Pool:
    """A pool of spawned workers that is surely gone after the ``with`` block, whatever ends it."""

    def __init__(self, workers: int, initializer: Callable[[], object] | None, one_thread: bool) -> None:
        self._one_thread = one_thread
        self._executor = ProcessPoolExecutor(
            workers,
            mp_context=multiprocessing.get_context("spawn"),
            initializer=_start_worker,
            initargs=(initializer, one_thread),
        )
        self._processes: dict[int, BaseProcess] = {}

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Like ``Executor.submit``, but a pool that is broken already gives a broken future instead of raising."""
        # Submitting starts a worker when none is idle. It inherits the environment, so the limits hold before the
        # worker imports anything, even when its main module imports numpy or torch.
        with _thread_limits() if self._one_thread else contextlib.nullcontext():
            try:
                future = self._executor.submit(function, *arguments)
            except BrokenProcessPool as error:
                future = Future()
                future.set_exception(error)
        self._processes.update(getattr(self._executor, "_processes", None) or {})
        return future

    def require_alive(self) -> None:
        """Raise when a worker cannot even start: then the cases are not to blame."""
        future = self.submit(os.getpid)
        if _is_broken(future):
            raise SpatialQAError(
                "worker processes end as soon as they are started",
                code="workers_cannot_start",
                expected="a main module that can be imported without starting the work again, and an initializer "
                "that does not raise",
                next_step='start the work under if __name__ == "__main__":, or use workers=0; '
                "the workers' own message is on stderr",
            ) from future.exception()

    def __enter__(self) -> _Pool:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        # Without an exception nothing is left to do. With one (an interrupt, an error in the caller's loop, a closed
        # iterator) the work under way is of no use any more.
        if kind is not None:
            for process in self._processes.values():
                process.terminate()
        self._executor.shutdown(wait=kind is None, cancel_futures=True)
        for process in self._processes.values():
            process.join(_SECONDS_TO_END)
            if process.is_alive():
                process.kill()
                process.join(_SECONDS_TO_END)


@contextlib.contextmanager
def _thread_limits() -> Iterator[None]:
    added = [name for name in THREAD_VARIABLES if name not in os.environ]
    os.environ.update(dict.fromkeys(added, "1"))
    try:
        yield
    finally:
        for name in added:
            os.environ.pop(name, None)


def _start_worker(initializer: Callable[[], object] | None, one_thread: bool) -> None:
    """Prepare a worker: Ctrl-C is the parent's to handle, and a worker does not outlive its parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, name="end-with-parent", daemon=True).start()
    if one_thread:
        for name in THREAD_VARIABLES:
            os.environ.setdefault(name, "1")
        torch = sys.modules.get("torch")
        if torch is not None and os.environ["OMP_NUM_THREADS"] == "1":
            torch.set_num_threads(1)
    if initializer is not None:
        initializer()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
