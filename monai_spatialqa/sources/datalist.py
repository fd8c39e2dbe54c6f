"""A data set's cases as a Decathlon datalist: what MONAI reads, and what the measure stage takes."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from monai_spatialqa.anatomy import load_label_map
from monai_spatialqa.errors import SettingsError, readable
from monai_spatialqa.records import Case
from monai_spatialqa.records.files import portable_path, system_path, write_text_atomic
from monai_spatialqa.sources.data_set import DataSet, Listing
from monai_spatialqa.sources.layout import layout_error
from monai_spatialqa.sources.registry import data_set, source_names

_SHOWN = 3
_PATHS = ("image", "label")


@dataclass(frozen=True)
class DatalistSummary:
    """What became of the files in a data set's folder.

    Attributes:
        source: name of the data set.
        base: the folder that holds the cases, which may lie below the one that was given.
        licence: of the data, as every entry says it.
        sections: section of the datalist -> number of cases.
        notes: remark -> ids of the listed cases it holds for.
        skipped: reason -> files or folders that are in no case, relative to ``base``.
    """

    source: str
    base: Path
    licence: str
    sections: dict[str, int]
    notes: dict[str, list[str]] = field(default_factory=dict)
    skipped: dict[str, list[str]] = field(default_factory=dict)

    @property
    def cases(self) -> int:
        """Number of listed cases."""
        return sum(self.sections.values())

    def lines(self) -> list[str]:
        """For the terminal: counts, and the first names of each."""
        counts = ", ".join(f"{section} {count}" for section, count in self.sections.items())
        lines = [f"{self.source}: {_counted(self.cases, 'case')} ({counts})", f"licence: {self.licence}"]
        lines += [f"note, {remark}: {_named(ids)}" for remark, ids in self.notes.items()]
        return lines + [f"skipped, {reason}: {_named(paths)}" for reason, paths in self.skipped.items()]


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _named(names: list[str]) -> str:
    more = ", ..." if len(names) > _SHOWN else ""
    return f"{len(names)} ({', '.join(names[:_SHOWN])}{more})"


@dataclass(frozen=True)
class Datalist:
    """A datalist that is not written yet.

    Attributes:
        path: the file it is made for; its paths hang on that file's folder.
        content: what goes into the file.
        summary: what was found.
    """

    path: Path
    content: Mapping[str, Any]
    summary: DatalistSummary

    def write(self) -> None:
        """Write the file, whole or not at all. Equal folders give equal bytes.

        Raises:
            SettingsError: a file is there that is no datalist made by this package, such as a data set's own
                ``dataset.json``.
        """
        _refuse_foreign_file(self.path)
        # ASCII with escapes: MONAI opens the file in whatever encoding the system has.
        write_text_atomic(self.path, json.dumps(self.content, indent=1) + "\n")


def make_datalist(source: str, root: str | os.PathLike[str], output: str | os.PathLike[str]) -> DatalistSummary:
    """List the cases of a downloaded public data set in a Decathlon datalist (JSON).

    No voxel is read, and nothing in ``root`` is changed. Each entry has ``case_id``, ``label`` (for TotalSegmentator a
    list of mask files, each called after its structure), ``image`` (for BraTS a list, one file a channel),
    ``modality``, ``licence`` and ``label_map``, and ``patient_id`` where file names tell it. Entries without ``image``
    are cases whose image is not there. The keys before the sections are those of the Decathlon, and ``source``,
    ``label_map``, ``notes`` and ``skipped``.

    Paths are relative to the datalist's folder; absolute on another drive, or where that folder is reached through a
    link.

    Args:
        source: name of the data set, see :func:`source_names`.
        root: its folder, as unpacked; the cases may begin up to two folders below.
        output: the file to write; an earlier datalist is replaced.

    Returns:
        How many cases there are, what was skipped, and why.

    Raises:
        SettingsError: an unknown source, or an output that is another file, or that MONAI could not read back.
        PairingError: the folder does not look like the data set (``bad_layout``), or two cases have one id.
        FileReadError: the folder, ``dataset.json`` or ``meta.csv`` cannot be read.
        LabelMapError: ``dataset.json`` names other labels than the label map.
    """
    datalist = build_datalist(source, root, output)
    datalist.write()
    return datalist.summary


def build_datalist(source: str, root: str | os.PathLike[str], output: str | os.PathLike[str]) -> Datalist:
    """What :func:`make_datalist` writes, before it is written. Arguments and errors are the same."""
    data = data_set(source)
    listing = data.scan(data, Path(os.path.abspath(system_path(root))))
    if not any(listing.cases.values()):
        told = "; ".join(f"{reason}: {len(paths)}" for reason, paths in listing.skipped.items())
        raise layout_error(data, listing.base, "at least one case with a label", found=told or None)
    listing.refuse_double_ids()
    path = Path(os.path.abspath(system_path(output)))
    sections: dict[str, list[dict[str, Any]]] = {section: [] for section in data.sections}
    for section, case in listing.all_cases():
        sections[section].append(_entry(case, path.parent))
    _refuse_ambiguous(path, (entry for entries in sections.values() for entry in entries))
    return Datalist(path, _content(data, listing, sections), _summary(data, listing, sections))


def _entry(case: Case, folder: Path) -> dict[str, Any]:
    entry = case.model_dump(exclude={"schema_version"}, exclude_none=True)
    for key in _PATHS:
        if key in entry:
            paths = entry[key]
            entry[key] = (
                [_seen_from(folder, one) for one in paths] if isinstance(paths, list) else _seen_from(folder, paths)
            )
    return entry


def _seen_from(folder: Path, path: str) -> str:
    told = portable_path(path, folder)
    # From behind a link, ".." means one folder to the system and another one to MONAI, which goes by the name.
    through_link = told.startswith("../") and os.path.realpath(folder) != str(folder)
    return path.replace(os.sep, "/") if through_link else told


def _summary(data: DataSet, listing: Listing, sections: Mapping[str, list[Any]]) -> DatalistSummary:
    return DatalistSummary(
        source=data.name,
        base=listing.base,
        licence=listing.licence or data.licence,
        sections={section: len(entries) for section, entries in sections.items()},
        notes=listing.notes,
        skipped=listing.skipped,
    )


def _content(data: DataSet, listing: Listing, sections: Mapping[str, list[Any]]) -> dict[str, Any]:
    label_map = load_label_map(data.name)
    return {
        "name": data.title,
        "description": f"Cases of {data.title} as found on disk, by monai_spatialqa",
        "reference": data.reference,
        "licence": listing.licence or data.licence,
        "source": data.name,
        "label_map": data.name,
        "modality": {str(number): channel for number, channel in enumerate(data.channels)},
        "labels": {"0": "background", **{str(entry.label): entry.name for entry in label_map}},
        **{f"num{section.capitalize()}": len(entries) for section, entries in sections.items()},
        "notes": listing.notes,
        "skipped": listing.skipped,
        **sections,
    }


def _refuse_ambiguous(path: Path, entries: Iterable[Mapping[str, Any]]) -> None:
    """MONAI takes any text of an entry for a path if there is such a file or folder beside the datalist."""
    texts = {(key, value) for entry in entries for key, value in entry.items() if key not in _PATHS}
    for key, value in sorted(texts):
        if (path.parent / system_path(value)).exists():
            raise SettingsError(
                "beside this datalist lies something that MONAI would take for the text of an entry",
                code="ambiguous_datalist",
                file=path,
                key=key,
                found=value,
                expected=f"nothing called {value} in the datalist's folder",
                next_step="write the datalist to another folder than the data set's",
            )


def _refuse_foreign_file(path: Path) -> None:
    if not path.exists():
        return
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        ours = content["source"] in source_names()
    except (OSError, ValueError, KeyError, TypeError):
        ours = False
    if not ours:
        raise SettingsError(
            "this file is no datalist of a public data set and is not written over",
            code="file_exists",
            file=readable(str(path)),
            expected="a new file, or an earlier datalist",
            next_step="choose another file, or remove it",
        )
