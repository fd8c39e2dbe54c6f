"""Runs as evaluate.yaml left them, brought together for one report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from monai_spatialqa.evaluation.outputs import RunSummary, ScoredRun, read_rows, read_starts, read_summary
from monai_spatialqa.evaluation.result import RunResult, Spent
from monai_spatialqa.records import Measurement, read_records
from monai_spatialqa.records.files import system_path
from monai_spatialqa.records.item import Item, Reference
from monai_spatialqa.rendering.windows import Modality
from monai_spatialqa.report.writing import ReportedRun


@dataclass
class StoredRuns:
    """What a report needs, from one or several folders.

    Attributes:
        runs: models and baselines, each with a name of its own. A baseline that is the same in several folders, as it
            is for the same items, stands once.
        items: of all runs, by id.
        references: theirs.
        measurements: of their scans, by case.
        roots: folders of the measurements.
        presets: prompt presets of the models.
        seeds: of baselines and intervals.
        modalities: of scans whose items do not state it, as the runs were told.
    """

    runs: list[ReportedRun] = field(default_factory=list)
    items: dict[str, Item] = field(default_factory=dict)
    references: dict[str, Reference] = field(default_factory=dict)
    measurements: dict[str, Measurement] = field(default_factory=dict)
    roots: list[Path] = field(default_factory=list)
    presets: dict[str, None] = field(default_factory=dict)
    seeds: dict[int, None] = field(default_factory=dict)
    modalities: dict[Modality, None] = field(default_factory=dict)


def load_stored_runs(folders: Sequence[Path]) -> StoredRuns:
    """Read runs and what they are about.

    Raises:
        JournalError: a folder is not of a run, or its items are no longer where they were.
    """
    stored = StoredRuns()
    for folder in folders:
        summary = read_summary(folder)
        for row in read_rows(folder, summary):
            _add(stored, row, folder)
        _read_inputs(stored, folder, summary)
        stored.seeds[summary.settings["seed"]] = None
        if summary.settings["modality"] is not None:
            stored.modalities[summary.settings["modality"]] = None
        if any(result.kind != "baseline" for result in summary.results):
            stored.presets[summary.settings["preset"]] = None
    return stored


def _add(stored: StoredRuns, row: ScoredRun, folder: Path) -> None:
    taken = {run.result.run: run for run in stored.runs}
    result = row.result.model_copy(update={"spent": _spent(row.result, folder)})
    same = taken.get(result.run)
    if same is not None:
        if result.kind == "baseline" and list(same.scores) == list(row.scores):
            return
        result = result.model_copy(update={"run": _free_name(f"{result.run} ({folder.name})", taken)})
    stored.runs.append(ReportedRun(result, row.scores, row.answers))


def _free_name(name: str, taken: dict[str, ReportedRun]) -> str:
    return next(one for one in _numbered(name) if one not in taken)


def _numbered(name: str) -> Iterator[str]:
    yield name
    number = 2
    while True:
        yield f"{name} {number}"
        number += 1


def _spent(result: RunResult, folder: Path) -> Spent:
    """With what only the sidecar knows: times, and calls that the cache answered."""
    if result.kind == "baseline":
        return result.spent
    way = "blind" if result.blind else "images"
    told = [ways[way] for start in read_starts(folder) if (ways := start.get("asked") or {}).get(way)]
    if not told:
        return result.spent
    return result.spent.model_copy(
        update={
            "seconds": round(sum(one["seconds"] for one in told), 3),
            "cached": min(sum(one["cached"] for one in told), result.spent.calls),
        }
    )


def _read_inputs(stored: StoredRuns, folder: Path, summary: RunSummary) -> None:
    paths = {name: None if path is None else folder / system_path(path) for name, path in summary.inputs.items()}
    items, references, measurements = paths["items"], paths["references"], paths["measurements"]
    if items is not None and references is not None:
        stored.items |= {item.item_id: item for item in read_records(items, Item)}
        stored.references |= {one.item_id: one for one in read_records(references, Reference)}
    if measurements is not None:
        stored.measurements |= {one.case_id: one for one in read_records(measurements, Measurement)}
        stored.roots.append(measurements.parent)
