"""Files as every stage writes and names them: whole or not at all, in UTF-8, under portable paths, with their hash."""

from __future__ import annotations

import contextlib
import hashlib
import logging
import ntpath
import os
import posixpath
import secrets
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from monai_spatialqa.errors import FileReadError, JournalError, SettingsError, readable

try:
    import fcntl
except ImportError:  # Windows: no advisory locks
    fcntl = None  # type: ignore[assignment]

logger = logging.getLogger(__name__)

AnyPath = str | os.PathLike[str]


@contextlib.contextmanager
def atomic_writer(path: AnyPath) -> Iterator[BinaryIO]:
    """Open a temporary file beside ``path`` that takes its place when the block ends without an exception.

    The bytes are on the disk (fsync) before the name changes, so a reader, or a run that is killed at any moment, meets
    either the old file or the new one. After an exception the old file is as it was and the temporary one is gone.
    Missing parent folders are made; a symbolic link is followed, not replaced.

    Args:
        path: the file to write.

    Yields:
        a binary file object.
    """
    target = Path(os.path.realpath(path))
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
    try:
        with open(temporary, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(target.parent)


def write_bytes_atomic(path: AnyPath, data: bytes) -> None:
    """Write ``data`` to ``path``, whole or not at all. See :func:`atomic_writer`."""
    with atomic_writer(path) as file:
        file.write(data)


def write_text_atomic(path: AnyPath, text: str) -> None:
    """Write ``text`` to ``path`` as UTF-8 with the newlines it has, whole or not at all. See :func:`atomic_writer`."""
    write_bytes_atomic(path, text.encode("utf-8"))


def usable_folder(folder: AnyPath, key: str = "output_dir") -> Path:
    """A folder for results, which may not exist yet; known to be one before any work is done.

    Args:
        folder: as the user gave it.
        key: the setting that names it.

    Raises:
        SettingsError: where a file has that name, or that of a folder above it.
    """
    path = Path(system_path(folder))
    taken = next((each for each in (path, *path.parents) if each.exists() and not each.is_dir()), None)
    if taken is not None:
        raise SettingsError(
            "results cannot be written into a file",
            key=key,
            found=f"{taken}, a file",
            expected="a folder, or a name that is free",
            next_step=f"choose another {key}, or move the file away",
        )
    return path


def sync_folder(folder: AnyPath) -> None:
    """Put a folder's new or changed names on the disk, where the system can do that (POSIX)."""
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        # Some network and user-space file systems refuse to sync a folder: the files themselves are synced anyway.
        with contextlib.suppress(OSError):
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def system_path(text: AnyPath) -> str:
    """A path in the form that this system's file functions take, the inverse of ``errors.readable``.

    The same text wherever the file system's encoding is UTF-8.
    """
    name = os.fspath(text)
    if name.isascii() or sys.getfilesystemencoding().lower() in ("utf-8", "utf8"):
        return name
    return os.fsdecode(name.encode("utf-8", "surrogateescape"))


def file_or_in_folder(text: AnyPath, name: str) -> Path:
    """The file that a setting names: itself, or the one of this name where the setting names a folder."""
    path = Path(system_path(text))
    return path / name if path.is_dir() else path


def portable_path(path: AnyPath, root: AnyPath) -> str:
    r"""Say where ``path`` lies, seen from ``root``, in a form that reads the same on every system.

    Args:
        path: a file or folder; relative ones hang on the working directory. Windows separators are understood
            everywhere, unless a file with backslashes in its name exists.
        root: the folder to start from, usually the run's output folder.

    Returns:
        the relative path with forward slashes, with ``../`` where needed and ``.`` for ``root`` itself. A path on
        another Windows drive than ``root`` has no relative form: it comes back absolute, with forward slashes.

    Example:
        >>> portable_path("/data/run/cases/a b.nii.gz", "/data/run")
        'cases/a b.nii.gz'
        >>> portable_path("C:\\data\\scan.nii", "C:\\data\\run")
        '../scan.nii'
    """
    path_text, root_text = readable(os.fspath(path)), readable(os.fspath(root))
    if ntpath.splitdrive(path_text)[0] and ntpath.splitdrive(root_text)[0]:
        if ntpath.splitdrive(path_text)[0].lower() != ntpath.splitdrive(root_text)[0].lower():
            return ntpath.normpath(path_text).replace("\\", "/")
        return ntpath.relpath(path_text, root_text).replace("\\", "/")
    path_text, root_text = _slashed(path_text), _slashed(root_text)
    try:
        return os.path.relpath(path_text, root_text).replace(os.sep, "/")
    except ValueError:  # Windows: the working directory is on another drive
        return os.path.abspath(path_text).replace(os.sep, "/")


def _slashed(path: str) -> str:
    """Turn backslashes into this system's separator, unless they are part of an existing file's name."""
    return path if "\\" not in path or os.path.lexists(system_path(path)) else path.replace("\\", posixpath.sep)


def sha256_of_file(path: AnyPath) -> str:
    """Hash a file's bytes, in pieces.

    Returns:
        64 lower-case hexadecimal digits.

    Raises:
        FileReadError: when the file cannot be read.
    """
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise FileReadError(
            "the file cannot be read",
            file=path,
            found=error.strerror or str(error),
            expected="a readable file",
            next_step="check the path and the permissions",
        ) from error


class WriterLock:
    """The right to write a file, held by one process until ``release``; advisory, by locking ``<path>.lock``.

    The lock ends with the process, however that ends. Where the system or the file system has no such locks, nothing
    is locked.

    Args:
        path: the file to be written; its folder must exist.

    Raises:
        JournalError: when another process holds the lock; the message names the process.
    """

    def __init__(self, path: Path) -> None:
        self._path = path.with_name(path.name + ".lock")
        self._descriptor: int | None = None
        while fcntl is not None:
            descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o666)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                owner = os.read(descriptor, 32).decode("ascii", errors="replace").strip()
                os.close(descriptor)
                raise JournalError(
                    "another process writes this journal",
                    code="journal_in_use",
                    file=path,
                    found=f"locked by process {owner or 'unknown'}",
                    expected="one writer at a time",
                    next_step="wait for the other run to end, or choose another output folder",
                ) from None
            except OSError as error:
                os.close(descriptor)
                self._path.unlink(missing_ok=True)
                logger.warning("%s: no lock on this file system (%s); start only one run at a time", path, error)
                return
            if self._is_current(descriptor):
                os.ftruncate(descriptor, 0)
                os.write(descriptor, str(os.getpid()).encode("ascii"))
                self._descriptor = descriptor
                return
            os.close(descriptor)  # the former owner removed the file between our opening and locking it

    def _is_current(self, descriptor: int) -> bool:
        try:
            return os.path.samestat(os.stat(self._path), os.fstat(descriptor))
        except FileNotFoundError:
            return False

    def release(self) -> None:
        """Give the right back; may be called twice."""
        if self._descriptor is not None:
            self._path.unlink(missing_ok=True)
            os.close(self._descriptor)
            self._descriptor = None
