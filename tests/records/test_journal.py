"""The journal survives being killed, knows what is done, and ends byte-identical."""

from __future__ import annotations

import json
import logging
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monai_spatialqa.errors import JournalError
from monai_spatialqa.records.base import Record
from monai_spatialqa.records.journal import Journal, read_records


class Row(Record):
    row_id: str
    value: float | None = None
    text: str = ""
    errors: tuple[str, ...] = ()

    @property
    def record_id(self) -> str:
        return self.row_id


def row(row_id: str, **values: Any) -> Row:
    return Row(row_id=row_id, **values)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "out" / "rows.jsonl"


def ids_in(path: Path) -> list[str]:
    return [json.loads(line)["row_id"] for line in path.read_bytes().splitlines()]


def test_what_is_appended_is_on_the_disk_and_comes_back(path: Path) -> None:
    with Journal(path, Row) as journal:
        journal.append(row("b", value=0.1, text="mm³ 肝\u2028\n"))
        journal.append(row("a", value=float("nan")))
        assert ids_in(path) == ["b", "a"]  # before close
        assert journal.done == {"a", "b"}
        assert "a" in journal
        assert len(journal) == 2
        assert journal.get("b") == row("b", value=0.1, text="mm³ 肝\u2028\n")
        assert journal.get("c") is None
        assert [record.row_id for record in journal.records()] == ["a", "b"]
    with Journal(path, Row) as journal:
        assert journal.done == {"a", "b"}
        assert journal.get("a") == row("a", value=None)


def test_an_empty_file_and_blank_lines_are_fine(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"")
    with Journal(path, Row) as journal:
        assert not journal.done
    path.write_bytes(b"\n" + row("a").to_json_line().encode() + b"\r\n\r\n")
    with Journal(path, Row) as journal:
        journal.append(row("b"))
        assert journal.get("a") == row("a")
        assert journal.get("b") == row("b")


# BR-193: killed while writing.


@pytest.mark.parametrize("cut", [1, 5, -1])
@pytest.mark.parametrize("newline", [b"", b"\n"])
def test_br_193_a_cut_last_line_is_dropped_with_a_warning(
    path: Path, caplog: pytest.LogCaptureFixture, cut: int, newline: bytes
) -> None:
    path.parent.mkdir()
    whole = row("a", text="é").to_json_line().encode() + b"\n"
    path.write_bytes(whole + row("b").to_json_line().encode()[:cut] + newline)
    with caplog.at_level(logging.WARNING), Journal(path, Row) as journal:
        assert path.read_bytes() == whole
        assert journal.done == {"a"}
        journal.append(row("b"))
    assert ids_in(path) == ["a", "b"]
    assert "line (2) is cut" in caplog.text
    assert str(path) in caplog.text


def test_br_193_zero_bytes_after_a_power_failure_are_dropped(path: Path) -> None:
    path.parent.mkdir()
    whole = row("a").to_json_line().encode() + b"\n"
    path.write_bytes(whole + b"\0" * 100)
    Journal(path, Row).close()
    assert path.read_bytes() == whole


def test_br_193_a_cut_only_line_leaves_an_empty_journal(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b'{"row_')
    with Journal(path, Row) as journal:
        assert not journal.done
    assert path.read_bytes() == b""


def test_br_193_only_the_newline_is_missing(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path.parent.mkdir()
    path.write_bytes(row("a").to_json_line().encode())
    with Journal(path, Row) as journal:
        journal.append(row("b"))
    assert ids_in(path) == ["a", "b"]
    assert not caplog.records


@given(st.data())
def test_br_193_any_cut_keeps_all_whole_rows(data: st.DataObject) -> None:
    rows = [row(f"r{number}", text=data.draw(st.text(max_size=8))) for number in range(3)]
    lines = [record.to_json_line().encode() + b"\n" for record in rows]
    content = b"".join(lines)
    cut = data.draw(st.integers(0, len(content)))
    ends = [sum(map(len, lines[: number + 1])) for number in range(3)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "rows.jsonl")
        path.write_bytes(content[:cut])
        with Journal(path, Row) as journal:
            # A row whose newline alone is missing is whole.
            assert len(journal) == sum(end - 1 <= cut for end in ends)
            for record in rows:
                if record.row_id not in journal.done:
                    journal.append(record)
            journal.finalize()
        assert path.read_bytes() == content


@pytest.mark.parametrize(
    ("content", "line", "told"),
    [
        (b'{"row_id": "a"}\n{"row_\n{"row_id": "b"}\n', 2, '{"row_'),
        (b'{"row_id": "a", "size": 3}\n', 1, "size"),  # a whole record of another kind, though it is the last line
        (b'{"row_id": "a"}\nnotes of mine', 2, "notes of mine"),  # no record of ours begins like this
        (b'{"row_id": "\xff"}\n{"row_id": "b"}\n', 1, "row_id"),
    ],
)
def test_an_unparsable_line_is_an_error_and_the_file_stays(path: Path, content: bytes, line: int, told: str) -> None:
    path.parent.mkdir()
    path.write_bytes(content)
    with pytest.raises(JournalError, match=f"line {line} is not a Row") as caught:
        Journal(path, Row)
    assert caught.value.file == str(path)
    assert told in str(caught.value)
    assert path.read_bytes() == content
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]  # the lock is gone


# BR-189: resume by the set of finished ids, not by their number.


def test_br_189_exactly_the_failed_one_is_run_again(path: Path) -> None:
    wanted = [f"item{number}" for number in range(1, 10)]
    with Journal(path, Row) as journal:
        for item in wanted:
            if item != "item2":
                journal.append(row(item))
    with Journal(path, Row) as journal:
        todo = [item for item in wanted if item not in journal.done]
        assert todo == ["item2"]
        journal.append(row("item2"))
        journal.finalize()
    assert ids_in(path) == wanted


def test_br_189_error_records_can_be_replaced(path: Path) -> None:
    with Journal(path, Row) as journal:
        journal.append(row("a", errors=("unreadable_file",)))
        journal.append(row("b"))
    with Journal(path, Row) as journal:
        assert journal.select(lambda record: bool(record.errors)) == {"a"}
        journal.append(row("a", value=2.0), replace=True)
    with Journal(path, Row) as journal:  # the later row counts, before finalize too
        assert journal.get("a") == row("a", value=2.0)
        assert len(journal) == 2
        journal.finalize()
    assert ids_in(path) == ["a", "b"]


def test_one_row_per_id(path: Path) -> None:
    with Journal(path, Row) as journal:
        journal.append(row("a"))
        with pytest.raises(JournalError, match="finished already") as caught:
            journal.append(row("a", value=1.0))
        assert caught.value.case == "a"
        assert journal.get("a") == row("a")


class Other(Record):
    @property
    def record_id(self) -> str:
        return "other"


def test_another_kind_of_record_is_refused(path: Path) -> None:
    with Journal(path, Row) as journal, pytest.raises(JournalError, match="another kind"):
        journal.append(Other())  # type: ignore[arg-type]


def test_the_final_file_does_not_depend_on_the_order_or_on_interruptions(tmp_path: Path) -> None:
    rows = [row(f"case{number:02}", value=number / 3, text="é") for number in range(20)]
    contents = set()
    for seed in range(4):
        shuffled = list(rows)
        random.Random(seed).shuffle(shuffled)
        path = tmp_path / str(seed) / "rows.jsonl"
        for part in (shuffled[:7], shuffled[7:]):
            with Journal(path, Row) as journal:
                for record in part:
                    journal.append(record)
                journal.finalize()
        contents.add(path.read_bytes())
        assert [entry.name for entry in path.parent.iterdir()] == ["rows.jsonl"]
    assert len(contents) == 1


def test_finalize_puts_foreign_rows_in_the_own_form_and_goes_on(path: Path) -> None:
    path.parent.mkdir()
    path.write_text('{ "value": 1,  "row_id": "b" }\n', encoding="utf-8")
    with Journal(path, Row) as journal:
        journal.append(row("a"))
        journal.finalize()
        journal.append(row("c"))
        assert [record.row_id for record in journal.records()] == ["a", "b", "c"]
        journal.finalize()
    expected = [row("a"), row("b", value=1.0), row("c")]
    assert path.read_bytes() == b"".join(record.to_json_line().encode() + b"\n" for record in expected)


def test_a_full_disk_leaves_the_file_as_it_was(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Journal(path, Row) as journal:
        journal.append(row("a"))
        before = path.read_bytes()

        def full(descriptor: int) -> None:
            raise OSError(28, "No space left on device")

        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", full)
            with pytest.raises(JournalError, match="cannot be written") as caught:
                journal.append(row("b"))
            assert caught.value.found == "No space left on device"
            assert path.read_bytes() == before
            with pytest.raises(JournalError):
                journal.finalize()
            assert path.read_bytes() == before
        assert journal.done == {"a"}
        journal.append(row("b"))
    assert ids_in(path) == ["a", "b"]


def test_a_second_writer_is_refused_until_the_first_ends(path: Path) -> None:
    code = (
        "import sys; from monai_spatialqa.records.journal import Journal\n"
        "from monai_spatialqa.records.case import Case\n"
        "from monai_spatialqa.errors import JournalError\n"
        "try: Journal(sys.argv[1], Case)\n"
        "except JournalError as error: sys.exit(str(error))"
    )
    command = [sys.executable, "-c", code, str(path)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}

    def other() -> subprocess.CompletedProcess[str]:
        return subprocess.run(command, env=environment, capture_output=True, encoding="utf-8", check=False)

    with Journal(path, Row) as journal:
        refused = other()
        assert refused.returncode == 1
        assert "another process writes this journal" in refused.stderr
        assert f"locked by process {os.getpid()}" in refused.stderr
        with pytest.raises(JournalError, match="another process"):
            Journal(path, Row)
        journal.append(row("a"))
        journal.finalize()
        with pytest.raises(JournalError, match="another process"):  # still locked: the new file counts too
            Journal(path, Row)
        path.write_bytes(b"")
    assert other().returncode == 0


def test_the_lock_of_a_killed_writer_does_not_stay(path: Path) -> None:
    code = (
        "import os, signal, sys; from monai_spatialqa.records.journal import Journal\n"
        "from monai_spatialqa.records.case import Case\n"
        "journal = Journal(sys.argv[1], Case)\n"
        "journal.append(Case(case_id='a', label='a.nii'))\n"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    subprocess.run([sys.executable, "-c", code, str(path)], env=environment, check=False)
    assert path.read_bytes().endswith(b"\n")
    path.write_bytes(b"")
    with Journal(path, Row) as journal:
        journal.append(row("a"))


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    for path in (tmp_path, tmp_path / "file" / "rows.jsonl"):
        with pytest.raises(JournalError, match="cannot be written here"):
            Journal(path, Row)


def test_a_closed_journal_says_so(path: Path) -> None:
    journal = Journal(path, Row)
    journal.close()
    journal.close()
    with pytest.raises(JournalError, match="closed"):
        journal.append(row("a"))


def test_read_records_changes_nothing(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path.parent.mkdir()
    content = row("b").to_json_line().encode() + b"\n" + row("a").to_json_line().encode() + b'\n{"row'
    path.write_bytes(content)
    assert [record.row_id for record in read_records(path, Row)] == ["b", "a"]
    assert "is cut" in caplog.text
    assert path.read_bytes() == content
    with pytest.raises(JournalError, match="cannot be read"):
        list(read_records(path.with_name("nothing.jsonl"), Row))
