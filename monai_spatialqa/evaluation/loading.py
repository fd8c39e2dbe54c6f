"""What a run reads: items, their references, and the measurements of their scans."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from pathlib import Path

from monai_spatialqa.errors import FileReadError, JournalError
from monai_spatialqa.evaluation.settings import EvaluateSettings
from monai_spatialqa.records import Measurement, read_records
from monai_spatialqa.records.base import RecordT
from monai_spatialqa.records.item import Item, Reference


def load_items(settings: EvaluateSettings) -> list[Item]:
    """The items to ask, sorted by id: those of the chosen tasks, and of these evenly as many as ``limit`` says.

    Raises:
        JournalError: the file is missing, a line is no item, or two have the same id.
        FileReadError: there is none to ask.
    """
    path = settings.items_file
    items = _unique(path, Item)
    chosen = [item for item in items if settings.tasks is None or item.task in settings.tasks]
    if settings.limit is not None and settings.limit < len(chosen):
        chosen = [chosen[number * len(chosen) // settings.limit] for number in range(settings.limit)]
    if not chosen:
        raise FileReadError(
            "there is no item to ask",
            code="no_records",
            file=path,
            key="items" if not items else "tasks",
            found=f"{len(items)} items",
            expected="items.jsonl of the generate stage" if not items else "items of these tasks",
            next_step="run generate.yaml first" if not items else "choose other tasks",
        )
    return chosen


def load_references(settings: EvaluateSettings, item_ids: Collection[str]) -> list[Reference]:
    """The references of these items, sorted by id.

    Raises:
        JournalError: the file is missing, a line is no reference, or two have the same id.
        FileReadError: an item has none.
    """
    path = settings.references_file
    references = [reference for reference in _unique(path, Reference) if reference.item_id in item_ids]
    lacking = sorted(set(item_ids) - {reference.item_id for reference in references})
    if lacking:
        raise FileReadError(
            "items have no reference",
            code="no_reference",
            file=path,
            key="references",
            found=f"none for {', '.join(lacking[:5])}{' ...' if len(lacking) > 5 else ''}",
            expected="a reference for every item",
            next_step="name the references.jsonl that was written with these items",
        )
    return references


def load_measurements(settings: EvaluateSettings) -> dict[str, Measurement]:
    """The measurements by case; none where the settings name no file.

    Raises:
        JournalError: the file is missing, a line is no measurement, or two have the same id.
    """
    if settings.measurements_file is None:
        return {}
    return {record.case_id: record for record in _unique(settings.measurements_file, Measurement)}


def _unique(path: Path, kind: type[RecordT]) -> Sequence[RecordT]:
    records = list(read_records(path, kind))
    counts = Counter(record.record_id for record in records)
    doubled = sorted(record_id for record_id, count in counts.items() if count > 1)
    if doubled:
        raise JournalError(
            "ids are not unique",
            code="duplicate_id",
            file=path,
            key=kind.__name__.lower(),
            found=", ".join(doubled[:5]),
            expected="every id once",
            next_step="remove one of the rows, or give it an id of its own",
        )
    return sorted(records, key=lambda record: record.record_id)
