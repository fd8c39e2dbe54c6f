"""Look into a downloaded folder: where its cases begin, which files hold voxels, and what is in the way."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from monai_spatialqa.errors import FileReadError, PairingError, readable
from monai_spatialqa.sources.data_set import DataSet, Listing

_SUFFIXES = (".nii.gz", ".nii")
_ARCHIVES = (".zip", ".tar", ".tar.gz", ".tgz", ".7z")
_FOUND_SHOWN = 6
_DEPTH = 2
"""How many folders an archive, or a clone, may put around the folder that holds the cases."""


def contents(folder: Path) -> tuple[list[Path], list[Path]]:
    """Files and folders in a folder, by name. Links count as what they lead to; dangling ones as files.

    Raises:
        FileReadError: the folder cannot be read.
    """
    files: list[Path] = []
    folders: list[Path] = []
    try:
        with os.scandir(folder) as entries:
            for entry in sorted(entries, key=lambda one: one.name):
                (folders if entry.is_dir() else files).append(folder / entry.name)
    except OSError as error:
        raise FileReadError(
            "the folder cannot be read",
            file=folder,
            found=error.strerror or str(error),
            expected="a readable folder",
            next_step="check the path and the permissions",
        ) from None
    return files, folders


def stem_of(name: str) -> str | None:
    """A NIfTI file's name without its suffix; None for other files."""
    for suffix in _SUFFIXES:
        if name.lower().endswith(suffix):
            return name[: -len(suffix)]
    return None


def leftover(name: str) -> str | None:
    """Why a file that is no data lies among the data; None for any other file."""
    if name.startswith("._"):
        return "macOS resource fork"
    if ".partial" in name or name.endswith((".part", ".crdownload", ".aria2")):
        return "partial download"
    return "hidden file" if name.startswith(".") else None


def volumes(folder: Path, listing: Listing) -> dict[str, Path]:
    """The NIfTI files in a folder, by stem. Leftovers are skipped with their reason, other files passed over.

    Raises:
        PairingError: ``x.nii`` beside ``x.nii.gz``.
        FileReadError: the folder cannot be read.
    """
    found: dict[str, Path] = {}
    for path in contents(folder)[0]:
        stem, reason = stem_of(path.name), leftover(path.name)
        if reason is not None:
            listing.skip(reason, path)
        elif stem is not None:
            other = found.setdefault(stem, path)
            if other is not path:
                raise PairingError(
                    "the same file is there compressed and not compressed",
                    code="duplicate_file",
                    file=folder,
                    found=f"{other.name}, {path.name}",
                    expected="one of the two",
                    next_step="remove one",
                )
    return found


def locate(data: DataSet, root: Path, is_base: Callable[[Path], bool], expected: str) -> Path:
    """The folder that holds the cases: the root itself, or the only such folder up to two levels below.

    Raises:
        FileReadError: the root is not there, or is no folder.
        PairingError: no such folder, or several.
    """
    if not root.is_dir():
        packed = root.is_file() and root.name.lower().endswith(_ARCHIVES)
        raise FileReadError(
            "source_root is an archive" if packed else "source_root is no folder",
            code="bad_layout" if root.exists() else "missing_file",
            file=root,
            key="source_root",
            found="a file" if root.exists() else "nothing",
            expected=f"the unpacked folder of {data.title}",
            next_step="unpack it, and name the folder" if packed else "check the path",
        )
    level = [root]
    for _ in range(_DEPTH + 1):
        found = [folder for folder in level if is_base(folder)]
        if len(found) > 1:
            raise PairingError(
                f"several folders look like {data.title}",
                code="bad_layout",
                file=root,
                key="source_root",
                found=", ".join(folder.name for folder in found[:_FOUND_SHOWN]),
                expected="one data set",
                next_step="name one of them as source_root",
            )
        if found:
            return found[0]
        level = [inner for folder in level for inner in contents(folder)[1] if not inner.name.startswith(".")]
    raise layout_error(data, root, expected)


def layout_error(
    data: DataSet, folder: Path, expected: str, *, found: str | None = None, next_step: str | None = None
) -> PairingError:
    """The refusal of a folder that does not look like the data set, with what lies there instead."""
    if found is None:
        files, folders = contents(folder)
        names = [f"{path.name}/" for path in folders] + [path.name for path in files]
        more = f" and {len(names) - _FOUND_SHOWN} more" if len(names) > _FOUND_SHOWN else ""
        found = readable(", ".join(names[:_FOUND_SHOWN]) + more) or "an empty folder"
    return PairingError(
        f"this does not look like {data.title}",
        code="bad_layout",
        file=folder,
        key="source_root",
        found=found,
        expected=expected,
        next_step=next_step or "name the folder as the download unpacks it; docs/sources.md shows its layout",
    )


def read_dataset_json(path: Path) -> dict[str, Any]:
    """The data set's own description of itself.

    Raises:
        FileReadError: not there, or no JSON object.
    """
    told: dict[str, Any] = {"file": path, "next_step": "take the file from the download again"}
    try:
        content = json.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise FileReadError(
            f"the data set's description cannot be opened ({error.strerror})", code="missing_file", **told
        ) from None
    except ValueError as error:
        raise FileReadError(
            "the data set's description is not JSON", code="bad_dataset_json", found=error, **told
        ) from None
    if not isinstance(content, dict):
        raise FileReadError(
            "the data set's description is not a JSON object",
            code="bad_dataset_json",
            found=type(content).__name__,
            expected="name, labels, training, ...",
            **told,
        )
    return content
