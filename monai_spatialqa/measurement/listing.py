"""Which files are a case: globs or a Decathlon datalist, paired by name and never by chance."""

from __future__ import annotations

import glob
import json
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from monai_spatialqa.errors import FileReadError, PairingError, SettingsError, readable
from monai_spatialqa.measurement.case import CaseFiles
from monai_spatialqa.measurement.settings import MeasureSettings
from monai_spatialqa.readers.scans import scan_kind
from monai_spatialqa.records import Case
from monai_spatialqa.records.files import system_path
from monai_spatialqa.sources import Datalist, build_datalist

DATALIST = "datalist.json"
"""Name of the datalist of a public data set, in the folder for the results."""

_SUFFIXES = (".nii.gz", ".nii", ".hdr.gz", ".hdr", ".seg.nrrd", ".nrrd", ".nhdr", ".mha", ".mhd", ".dcm")


def datalist_of_source(settings: MeasureSettings) -> Datalist | None:
    """The datalist of the public data set that the settings name, to be written beside the results; None without one.

    Raises:
        SpatialQAError: an unknown data set, or a folder that does not look like it.
    """
    if settings.source is None or settings.source_root is None:
        return None
    return build_datalist(settings.source, settings.source_root, settings.output / DATALIST)


def list_cases(settings: MeasureSettings, datalist: Datalist | None = None) -> list[CaseFiles]:
    """The cases of a run, sorted by id.

    Args:
        settings: the settings.
        datalist: what :func:`datalist_of_source` gave; None to make it where the settings name a source.

    Raises:
        PairingError: no files, images and labels that cannot be told apart into pairs, or ids that are not unique.
        FileReadError: an unusable datalist.
    """
    datalist = datalist or datalist_of_source(settings)
    if datalist is not None:
        cases = _from_sections(datalist.content, datalist.path, settings.datalist_key)
        _refuse_other_label_maps(cases, settings)
    elif settings.datalist is not None:
        cases = _from_datalist(Path(system_path(settings.datalist)), settings.datalist_key)
        _refuse_other_label_maps(cases, settings)
    else:
        assert settings.labels is not None
        cases = _from_globs(settings.labels, settings.images)
    if not cases:
        raise PairingError(
            "there is no case to measure",
            code="no_files",
            key="datalist_key",
            found=settings.datalist_key,
            expected="at least one case",
            next_step="name another section of the datalist",
        )
    counts = Counter(files.case_id for files in cases)
    doubled = sorted(case_id for case_id, count in counts.items() if count > 1)
    if doubled:
        raise PairingError(
            "case ids are not unique",
            code="duplicate_case",
            found=", ".join(doubled[:5]),
            expected="one case an id",
            next_step="give every case a case_id in a datalist",
        )
    return sorted(cases, key=lambda files: files.case_id)


def _refuse_other_label_maps(cases: Sequence[CaseFiles], settings: MeasureSettings) -> None:
    for files in cases:
        named = files.case.label_map
        if named is not None and named != settings.label_map:
            raise SettingsError(
                "the datalist names another label map than the settings",
                case=files.case_id,
                file=settings.datalist or settings.source_root,
                key="label_map",
                found=settings.label_map,
                expected=named,
                next_step=f"pass --label_map {named}",
            )


def stem_of(path: str | Path) -> str:
    """A file's name without its format suffix."""
    name = Path(readable(str(path)).replace("\\", "/")).name
    for suffix in _SUFFIXES:
        if name.lower().endswith(suffix):
            return name[: -len(suffix)]
    return name


def _found(patterns: str | Sequence[str], key: str) -> list[str]:
    files: list[str] = []
    for pattern in [patterns] if isinstance(patterns, str) else patterns:
        given = system_path(pattern)
        # What is named without a pattern is a case, there or not; so is a dangling link, such as data not fetched yet.
        literal = os.path.exists(given) or not glob.has_magic(given)
        matches = [given] if literal else sorted(glob.glob(given, recursive=True))
        if not literal:
            matches = [match for match in matches if _is_candidate(Path(match))]
        if not matches:
            raise PairingError(
                f"no file fits {key}",
                code="no_files",
                key=key,
                found=pattern,
                expected="at least one file",
                next_step=f"check the pattern; relative ones start at {Path.cwd().name}/ (the working directory)",
            )
        files += map(readable, matches)
    return list(dict.fromkeys(files))


def _is_candidate(path: Path) -> bool:
    """Whether what a pattern found can be a case: a file that is not hidden, or a folder with a scan in it."""
    if path.name.startswith("._"):
        return False
    try:
        return not path.is_dir() or bool(scan_kind(path))
    except FileReadError:
        return False


def _from_globs(labels: str | Sequence[str], images: str | Sequence[str] | None) -> list[CaseFiles]:
    label_files = _found(labels, "labels")
    image_of = dict.fromkeys(label_files) if images is None else _pair(label_files, _found(images, "images"))
    return [
        CaseFiles(Case(case_id=case_id, label=label, image=image_of[label]), Path.cwd())
        for case_id, label in zip(_ids(label_files), label_files, strict=True)
    ]


def _ids(files: Sequence[str]) -> list[str]:
    """File stems; with the folder in front where stems repeat (``s0001/segmentation.nii.gz``)."""
    stems = [stem_of(file) for file in files]
    if len(set(stems)) == len(stems):
        return stems
    folders = [Path(os.path.abspath(file)).parent.name for file in files]
    return [f"{folder}_{stem}" for folder, stem in zip(folders, stems, strict=True)]


def _pair(labels: Sequence[str], images: Sequence[str]) -> dict[str, str | None]:
    """Label -> image. One of each is a pair; otherwise names, or what differs between them, must agree one to one."""
    if len(labels) == len(images) == 1:
        return {labels[0]: images[0]}
    for keys in (_ids, _differing_parts):
        label_keys, image_keys = keys(labels), keys(images)
        if len(set(label_keys)) == len(labels) and sorted(label_keys) == sorted(image_keys):
            image_of = dict(zip(image_keys, images, strict=True))
            return {label: image_of[key] for key, label in zip(label_keys, labels, strict=True)}
    missing = sorted(set(_ids(labels)) ^ set(_ids(images)))
    raise PairingError(
        "images and labels cannot be paired by their names",
        code="unpaired_files",
        key="images, labels",
        found=f"{len(images)} images and {len(labels)} labels; without a partner of the same name: "
        + ", ".join(missing[:6]),
        expected="the same names, or names that differ in one common beginning or ending",
        next_step="list the pairs in a datalist JSON",
    )


def _differing_parts(files: Sequence[str]) -> list[str]:
    """What is left of file stems without their common beginning and ending."""
    stems = _ids(files)
    head = _common_start(stems)
    rest = [stem[head:] for stem in stems]
    tail = _common_start([stem[::-1] for stem in rest])
    return [stem[: len(stem) - tail] for stem in rest]


def _common_start(texts: Sequence[str]) -> int:
    """Number of characters that all texts begin with."""
    first, last = min(texts), max(texts)
    return next((at for at, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), min(len(first), len(last)))


def _from_datalist(path: Path, sections: str | Sequence[str]) -> list[CaseFiles]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise FileReadError(
            f"the datalist cannot be opened ({error.strerror})", code="missing_file", file=path, key="datalist"
        ) from None
    except ValueError as error:
        raise FileReadError("the datalist is not JSON", file=path, key="datalist", found=error) from None
    return _from_sections(content, path, sections)


def _from_sections(content: Any, path: Path, sections: str | Sequence[str]) -> list[CaseFiles]:
    names = [sections] if isinstance(sections, str) else sections
    return [case for section in names for case in _from_section(content, path, section)]


def _from_section(content: Any, path: Path, section: str) -> list[CaseFiles]:
    if not isinstance(content, Mapping) or not isinstance(content.get(section), list):
        known = (
            sorted(key for key, value in content.items() if isinstance(value, list))
            if isinstance(content, Mapping)
            else []
        )
        raise SettingsError(
            "the datalist has no such section",
            file=path,
            key="datalist_key",
            found=section,
            expected=", ".join(known) or "a JSON object with lists of cases",
        )
    return [_case(entry, number, path) for number, entry in enumerate(content[section])]


def _case(entry: Any, number: int, path: Path) -> CaseFiles:
    """One entry ``{"label": ..., "image": ..., "case_id": ...}``; paths hang on the datalist's folder."""
    try:
        known = {key: entry[key] for key in Case.model_fields if key in entry}
        known.setdefault("case_id", stem_of(known["label"]))
        return CaseFiles(Case(**{**known, "case_id": str(known["case_id"])}), path.resolve().parent)
    except (KeyError, TypeError, ValidationError) as error:
        problem = error.errors()[0]["msg"] if isinstance(error, ValidationError) else f"no {error}"
        raise FileReadError(
            "an entry of the datalist is not a case",
            code="bad_datalist",
            file=path,
            key=f"entry {number}",
            found=problem,
            expected='{"label": path, "image": path (optional), "case_id": text (optional)}',
        ) from None
