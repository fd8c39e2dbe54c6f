"""What a run reads: items, their references, and the measurements of their scans."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from monai_spatialqa.errors import FileReadError, JournalError, ScoringError
from monai_spatialqa.evaluation.baselines import baseline_answers
from monai_spatialqa.evaluation.matching import keyed
from monai_spatialqa.evaluation.scans import can_answer
from monai_spatialqa.evaluation.scoring import score_answers
from monai_spatialqa.evaluation.settings import EvaluateSettings
from monai_spatialqa.evaluation.spreading import spread
from monai_spatialqa.records import Measurement, read_records
from monai_spatialqa.records.base import RecordT
from monai_spatialqa.records.item import Item, Reference


@dataclass(frozen=True)
class Inputs:
    """What a run is about. Adapters get none of it but the questions.

    Attributes:
        items: those to ask, sorted by id.
        references: theirs.
        measurements: by case; none where the settings name no file.
        known_ids: ids of all items of the file, chosen or not.
        unanswerable: ids of items with lengths or volumes, where the views tell no scale; they are not asked.
    """

    items: list[Item]
    references: list[Reference]
    measurements: dict[str, Measurement]
    known_ids: frozenset[str]
    unanswerable: list[str]


def load_inputs(settings: EvaluateSettings) -> Inputs:
    """Read items, references and measurements.

    Raises:
        JournalError: a file is missing, a line is not such a record, or two have the same id.
        FileReadError: there is no item to ask, or an item has no reference.
        ScoringError: a reference contradicts its item.
    """
    every = _unique(settings.items_file, Item)
    chosen = choose_items(every, settings)
    blind_only = settings.blind == "only" or not settings.asks
    items = [item for item in chosen if blind_only or can_answer(item, settings.views)]
    unanswerable = sorted({item.item_id for item in chosen} - {item.item_id for item in items})
    if not items:
        raise FileReadError(
            "every item has lengths or volumes in it, and the views tell no scale",
            code="no_records",
            file=settings.items_file,
            key="views::tell::scale",
            found=f"{len(chosen)} items",
            expected="items that the model can answer",
            next_step="tell the scale, or choose other tasks",
        )
    references = load_references(settings, {item.item_id for item in items})
    try:
        keyed(items, references)
    except ScoringError as error:
        raise error.with_context(file=settings.references_file) from None
    return Inputs(
        items,
        references,
        load_measurements(settings),
        frozenset(item.item_id for item in every),
        unanswerable,
    )


def check_scorable(inputs: Inputs) -> None:
    """Score the right answers, so that what cannot be scored is found before anything is asked.

    Raises:
        SpatialQAError: what makes scoring impossible.
    """
    answers = baseline_answers("oracle", inputs.items, inputs.references)
    score_answers(inputs.items, inputs.references, answers, measurements=inputs.measurements.values())


def choose_items(items: Sequence[Item], settings: EvaluateSettings) -> list[Item]:
    """The items to ask: those of the chosen tasks, and of these as many as ``limit`` says, spread over tasks and cases.

    Args:
        items: all of the file, sorted by id.
        settings: of the run.

    Raises:
        FileReadError: there is none to ask.
    """
    path = settings.items_file
    chosen = [item for item in items if settings.tasks is None or item.task in settings.tasks]
    if settings.limit is not None:
        chosen = spread(chosen, settings.limit)
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
