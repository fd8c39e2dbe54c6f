"""The journal: one JSON line per finished record, safe against being killed at any moment.

A stage appends each record as soon as it is finished, asks ``done`` what a later run need not do again, and calls
``finalize()`` at the end, after which the file does not depend on the order of completion. Knows records and files;
knows nothing of what the records mean.
"""

from __future__ import annotations

import json
import logging
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Set
from io import FileIO
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Generic, NamedTuple

from pydantic import ValidationError

from monai_spatialqa.errors import JournalError
from monai_spatialqa.records.base import RecordT
from monai_spatialqa.records.files import AnyPath, WriterLock, atomic_writer, sync_folder

logger = logging.getLogger(__name__)


class _Line(NamedTuple):
    """Where a record's bytes lie in the file; the newline is not counted."""

    start: int
    length: int


def read_records(path: AnyPath, record_type: type[RecordT]) -> Iterator[RecordT]:
    """Read a file of records that somebody else writes or wrote; nothing is changed and no lock is needed.

    Args:
        path: a JSONL file.
        record_type: what each line must be.

    Yields:
        the records in the order of the file. A cut last line is left out with a warning.

    Raises:
        JournalError: when the file is missing, or a line is not such a record; names file and line.
    """
    try:
        file = open(path, "rb")  # noqa: SIM115 - closed by the with statement below; opening may fail on its own
    except OSError as error:
        raise JournalError(
            "the file of records cannot be read",
            file=path,
            found=error.strerror or str(error),
            expected=f"a JSONL file of {record_type.__name__} records",
            next_step="check the path, or run the stage that writes it first",
        ) from error
    with file:
        for record, _ in _parsed_lines(file, Path(path), record_type):
            yield record


class Journal(Generic[RecordT]):
    """An append-only JSONL file with one record per id.

    Opening an existing file reads it: a cut last line, as a killed run leaves it, is dropped with a warning and its
    case counts as not done. While open, the journal is locked against other writers (advisory, POSIX; on systems or
    file systems without locks it is not). Methods may be called from several threads.

    Args:
        path: the file; it and its folder are made when missing.
        record_type: the class of its records.

    Raises:
        JournalError: when another process writes this journal, the path is unusable, or a line other than a cut last
            one is not such a record.

    Example:
        >>> with Journal("out/cases.jsonl", Case) as journal:  # doctest: +SKIP
        ...     for case in cases:
        ...         if case.case_id not in journal.done:
        ...             journal.append(case)
        ...     journal.finalize()
    """

    def __init__(self, path: AnyPath, record_type: type[RecordT]) -> None:
        self.path = Path(path)
        self.record_type = record_type
        self._lines: dict[str, _Line] = {}
        self._mutex = threading.RLock()
        self._file: FileIO | None = None
        self._end = 0
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._lock = WriterLock(self.path)
        except OSError as error:
            raise self._unusable(error) from error
        try:
            self._file = self._open()
            self._read_existing(self._file)
        except BaseException:
            self.close()
            raise

    @property
    def done(self) -> Set[str]:
        """Ids of the finished records: a live, read-only set."""
        return self._lines.keys()

    def select(self, predicate: Callable[[RecordT], bool]) -> set[str]:
        """Ids of the records for which ``predicate`` holds, e.g. those to be tried again because they hold errors."""
        return {record.record_id for record in self.records() if predicate(record)}

    def get(self, record_id: str) -> RecordT | None:
        """The latest record of an id, or None when it is not finished."""
        with self._mutex:
            line = self._lines.get(record_id)
            return None if line is None else self.record_type.from_json_line(self._bytes_of(line))

    def records(self) -> Iterator[RecordT]:
        """The latest record of every id, sorted by id; read from the file one by one."""
        for record_id in sorted(self._lines):
            record = self.get(record_id)
            if record is not None:
                yield record

    def append(self, record: RecordT, *, replace: bool = False) -> None:
        """Write one finished record; when this returns, it is on the disk.

        Args:
            record: the record.
            replace: allow an id that is finished already; the later record counts, and ``finalize`` drops the other.

        Raises:
            JournalError: when the id is finished and ``replace`` is not set, the record is of another class, or the
                disk does not take it (the file is then as before).
        """
        if not isinstance(record, self.record_type):
            raise JournalError(
                "a record of another kind does not belong in this journal",
                file=self.path,
                found=type(record).__name__,
                expected=self.record_type.__name__,
            )
        line = record.to_json_line().encode("utf-8")
        with self._mutex:
            if record.record_id in self._lines and not replace:
                raise JournalError(
                    "this id is finished already",
                    code="duplicate_id",
                    case=record.record_id,
                    file=self.path,
                    next_step="give every case an id of its own, skip the ids in done, or replace on purpose",
                )
            self._lines[record.record_id] = self._write_line(line)

    def discard(self, record_ids: Iterable[str]) -> None:
        """Drop records for good; the file is rewritten without them. Ids that are not there are passed over."""
        with self._mutex:
            for record_id in record_ids:
                self._lines.pop(record_id, None)
            self.finalize()

    def finalize(self) -> None:
        """Rewrite the file with one row per id, sorted by id, whole or not at all.

        The result is byte-identical whatever the order of completion, the number of workers, or how often the run was
        interrupted: every row is written anew in the record's own form. The journal stays open and may be appended to.
        """
        with self._mutex:
            lines: dict[str, _Line] = {}
            end = 0
            opened = self._opened()
            try:
                with atomic_writer(self.path) as file:
                    for record in self.records():
                        data = record.to_json_line().encode("utf-8")
                        file.write(data + b"\n")
                        lines[record.record_id] = _Line(end, len(data))
                        end += len(data) + 1
                    opened.close()  # Windows does not replace an open file
                self._lines, self._end = lines, end
            except OSError as error:
                raise self._unusable(error) from error
            finally:
                if opened.closed:
                    self._file = self._open()

    def close(self) -> None:
        """Close the file and let other processes write it. May be called twice."""
        with self._mutex:
            if self._file is not None:
                self._file.close()
                self._file = None
            self._lock.release()

    def __len__(self) -> int:
        return len(self._lines)

    def __contains__(self, record_id: object) -> bool:
        return record_id in self._lines

    def __enter__(self) -> Journal[RecordT]:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self.path)!r}, {self.record_type.__name__}, {len(self)} done)"

    def _open(self) -> FileIO:
        existed = self.path.exists()
        try:
            file = open(self.path, "a+b", buffering=0)  # noqa: SIM115 - lives as long as the journal
        except OSError as error:
            raise self._unusable(error) from error
        if not existed:
            sync_folder(self.path.parent)
        return file

    def _opened(self) -> FileIO:
        if self._file is None:
            raise JournalError("the journal is closed", file=self.path)
        return self._file

    def _unusable(self, error: OSError) -> JournalError:
        return JournalError(
            "the journal cannot be written here",
            file=self.path,
            found=error.strerror or str(error),
            expected="a file in a folder that can be written",
            next_step="choose another output folder",
        )

    def _read_existing(self, file: FileIO) -> None:
        """Index the records that are there; remove a cut last line; give a whole last line its missing newline."""
        end = 0
        with open(self.path, "rb") as reader:
            for record, line in _parsed_lines(reader, self.path, self.record_type):
                self._lines[record.record_id] = line
                end = line.start + line.length
            reader.seek(end)
            rest = reader.read()
        newline = len(rest) - len(rest.removeprefix(b"\r").removeprefix(b"\n"))
        if rest.strip():
            file.truncate(end + newline)
        if end and not newline:
            file.write(b"\n")
        if rest.strip() or not newline:
            os.fsync(file.fileno())
        self._end = os.fstat(file.fileno()).st_size

    def _bytes_of(self, line: _Line) -> bytes:
        file = self._opened()
        file.seek(line.start)
        return file.read(line.length)

    def _write_line(self, line: bytes) -> _Line:
        file = self._opened()
        data = line + b"\n"
        try:
            written = file.write(data)
            if written != len(data):
                raise OSError(f"{written} of {len(data)} bytes were taken")
            os.fsync(file.fileno())
        except OSError as error:
            try:
                file.truncate(self._end)
            except OSError:  # half a line stays: nothing may come after it, and the next run drops it
                self.close()
            raise self._unusable(error) from error
        start, self._end = self._end, self._end + len(data)
        return _Line(start, len(line))


def _parsed_lines(file: BinaryIO, path: Path, record_type: type[RecordT]) -> Iterator[tuple[RecordT, _Line]]:
    """Parse line by line; a cut last line ends the iteration with a warning, blank lines are passed over.

    Only what can be the beginning of a record counts as cut (or zero bytes, as some file systems leave after a power
    failure): a whole record of another kind, or a text file given by mistake, is an error and is never cut away.
    """
    start = 0
    for number, data in enumerate(file, start=1):
        line = data.rstrip(b"\r\n")
        if line.strip():
            try:
                record = record_type.from_json_line(line)
            except ValidationError as error:
                is_last = not file.read(1)
                if is_last and line.startswith((b"{", b"\0")) and not _is_json(line):
                    logger.warning(
                        "%s: the last line (%d) is cut and is dropped; its record is done again", path, number
                    )
                    return
                raise _bad_line(path, number, line, record_type, error) from None
            yield record, _Line(start, len(line))
        start += len(data)


def _is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except ValueError:
        return False
    return True


def _bad_line(path: Path, number: int, line: bytes, record_type: type, error: ValidationError) -> JournalError:
    first = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(str(part) for part in first["loc"])
    return JournalError(
        f"line {number} is not a {record_type.__name__} record: {place + ': ' if place else ''}{first['msg']}",
        file=path,
        key=f"line {number}",
        found=line[:80].decode("utf-8", errors="replace"),
        expected=f"one {record_type.__name__} record in JSON per line",
        next_step="repair or remove the line, or choose another output folder",
    )
