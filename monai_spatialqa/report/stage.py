"""The report as a job of its own: from the folders of one or several runs to the page and its tables."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from monai_spatialqa.evaluation import rescore
from monai_spatialqa.progress import show
from monai_spatialqa.records import Measurement
from monai_spatialqa.records.files import system_path
from monai_spatialqa.report.settings import ReportSettings
from monai_spatialqa.report.stored_runs import StoredRuns, load_stored_runs
from monai_spatialqa.report.writing import write_report


def run_report(settings: ReportSettings) -> list[Path]:
    """Write ``report.html``, ``report.csv``, ``report.json`` and ``report.md``, and say where they are.

    Args:
        settings: validated settings.

    Returns:
        The files.

    Raises:
        SpatialQAError: a folder is not of a run, or its items are no longer where they were.
    """
    folders = [Path(system_path(folder)) for folder in settings.runs]
    if settings.rescore:
        for folder in folders:
            rescore(folder)
    stored = load_stored_runs(folders)
    written = write_report(
        stored.runs,
        settings.output_dir,
        items=stored.items.values(),
        references=stored.references.values(),
        measurements=stored.measurements.values(),
        scans_root=_scans_root(settings, stored),
        modality=next(iter(stored.modalities)) if len(stored.modalities) == 1 else None,
        title=settings.title,
        about=_about(stored),
        most_cards=settings.cards,
        pictures=settings.pictures,
        draws=settings.draws,
        seed=settings.seed,
    )
    page, *tables = written
    told = [("report", page), *(("table", path) for path in tables)]
    show([f"{name:<10}{path.as_posix()}" for name, path in told])
    return written


def _scans_root(settings: ReportSettings, stored: StoredRuns) -> Path | None:
    """Where the label files lie: under the working directory, or under the folder of the measurements."""
    if settings.scans_root is not None:
        return Path(system_path(settings.scans_root))
    records = list(stored.measurements.values())
    return next((root for root in (Path(), *stored.roots) if _holds(root, records)), None)


def _holds(root: Path, records: Sequence[Measurement]) -> bool:
    paths = [record.source.path for record in records if record.source.path is not None]
    return bool(paths) and (root / system_path(paths[0])).exists()


def _about(stored: StoredRuns) -> dict[str, str]:
    told = {"Seed": ", ".join(map(str, stored.seeds))}
    if stored.presets:
        told["Prompt preset"] = ", ".join(stored.presets)
    served = [
        f"{run.result.run} as {', '.join(run.result.served_models)}" for run in stored.runs if run.result.served_models
    ]
    if served:
        told["Answered under another name"] = "; ".join(served)
    return told
