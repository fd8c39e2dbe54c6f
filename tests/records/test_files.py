"""Files are written whole or not at all, and named alike on every system."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from monai_spatialqa.errors import FileReadError
from monai_spatialqa.records.files import (
    atomic_writer,
    portable_path,
    sha256_of_file,
    write_bytes_atomic,
    write_text_atomic,
)


def test_text_is_utf8_with_its_own_newlines(tmp_path: Path) -> None:
    path = tmp_path / "new folder" / "größe.txt"
    write_text_atomic(path, "cm³\r\n肝\n")
    assert path.read_bytes() == "cm³\r\n肝\n".encode()
    write_bytes_atomic(path, b"\0\xff")
    assert path.read_bytes() == b"\0\xff"
    assert os.listdir(path.parent) == [path.name]


def test_an_exception_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def fail() -> None:
        with atomic_writer(path) as file:
            file.write(b"half of the n")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.skipif(os.name != "posix", reason="POSIX permissions")
def test_permissions_are_those_of_a_plain_file_and_links_are_followed(tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.write_bytes(b"")
    target = tmp_path / "target"
    target.write_bytes(b"old")
    link = tmp_path / "link"
    link.symlink_to(target)
    write_bytes_atomic(link, b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"
    assert target.stat().st_mode == plain.stat().st_mode


@pytest.mark.parametrize(
    ("path", "root", "expected"),
    [
        ("/data/run/cases/a b.nii.gz", "/data/run", "cases/a b.nii.gz"),
        ("/data/肝.nii", "/data/run/out", "../../肝.nii"),
        ("/data/run", "/data/run/", "."),
        ("cases/./x/../a.nii", ".", "cases/a.nii"),
        ("cases\\case1\\label.nii", ".", "cases/case1/label.nii"),
        ("C:\\data\\run\\a.nii", "c:\\data\\run", "a.nii"),
        ("C:\\data\\a.nii", "C:/data/run", "../a.nii"),
        ("D:\\scans\\a.nii", "C:\\data", "D:/scans/a.nii"),
        ("\\\\server\\share\\x\\a.nii", "\\\\server\\share\\y", "../x/a.nii"),
    ],
)
@pytest.mark.skipif(os.name != "posix", reason="the POSIX rows need POSIX")
def test_portable_path(path: str, root: str, expected: str) -> None:
    assert portable_path(path, root) == expected


@pytest.mark.skipif(os.name != "posix", reason="backslashes in names need POSIX")
def test_a_backslash_in_an_existing_name_stays(tmp_path: Path) -> None:
    path = tmp_path / "a\\b.nii"
    path.write_bytes(b"")
    assert portable_path(path, tmp_path) == "a\\b.nii"
    assert portable_path(tmp_path / "c", tmp_path) == "c"


def test_sha256(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"x" * 3_000_000)
    assert sha256_of_file(path) == hashlib.sha256(b"x" * 3_000_000).hexdigest()
    with pytest.raises(FileReadError, match="cannot be read") as caught:
        sha256_of_file(tmp_path / "nothing")
    assert caught.value.file == str(tmp_path / "nothing")
