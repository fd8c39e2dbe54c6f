"""The measure stage: lists the cases, measures what is not measured yet, and writes everything down."""

from __future__ import annotations

import contextlib
import json
import platform
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import monai_spatialqa
from monai_spatialqa.errors import JournalError, SettingsError
from monai_spatialqa.execution import Failure, map_cases
from monai_spatialqa.measurement.cards import draw_cards, with_card_names
from monai_spatialqa.measurement.case import CaseFiles, check_files, measure_case
from monai_spatialqa.measurement.listing import datalist_of_source, list_cases
from monai_spatialqa.measurement.options import MeasureOptions
from monai_spatialqa.measurement.records import error_measurement
from monai_spatialqa.measurement.settings import MeasureSettings
from monai_spatialqa.measurement.summary import MeasureSummary, summary_lines
from monai_spatialqa.measurement.tables import write_distance_table, write_structure_table
from monai_spatialqa.progress import Progress, show
from monai_spatialqa.records import Journal, Measurement, write_text_atomic
from monai_spatialqa.records.files import usable_folder

Chain = Callable[..., Iterable[Any]]
"""Resolves the config's loader over the cases it is given; yields batches of ``{"case_id", "record"}``."""

JOURNAL, STRUCTURES, DISTANCES = "measurements.jsonl", "measurements.csv", "distances.csv"
SUMMARY, SIDECAR, CARDS = "summary.json", "run.jsonl", "cards"


def run_measurement(settings: MeasureSettings, loader: Chain | None = None) -> MeasureSummary:
    """Measure every case of the settings; go on where an earlier run stopped.

    Writes into ``settings.output_dir``: ``measurements.jsonl`` (one record a case, sorted by id), ``measurements.csv``
    (one row a structure), ``distances.csv`` and ``cards/`` (when asked for), ``summary.json``, and ``run.jsonl`` (when
    and where, how long); for a public data set also ``datalist.json``. Prints the summary.

    A case that was measured before with the same settings from the same file is kept; a case that failed is tried
    again.

    Args:
        settings: validated settings.
        loader: the MONAI chain, for the path of transforms.

    Returns:
        The summary; ``failed`` is the number of cases without a measurement.

    Raises:
        SpatialQAError: the settings or the case list are unusable, or the folder holds another run's results.
    """
    output = usable_folder(settings.output)
    options = settings.options()
    settings = with_card_names(settings, options)
    datalist = datalist_of_source(settings)
    cases = list_cases(settings, datalist)
    started = datetime.now(UTC)
    with Journal(output / JOURNAL, Measurement) as journal:
        _refuse_foreign(journal, cases, options, overwrite=settings.overwrite)
        if datalist is not None:
            datalist.write()
            show([*datalist.summary.lines(), ""])
        todo = [files for files in cases if not _measured_already(journal, files, options)]
        with Progress(
            len(cases), already_done=len(cases) - len(todo), description="measure", silent=not settings.progress
        ) as progress:
            for record in _records(settings, options, todo, loader):
                journal.append(record, replace=True)
                progress.update(failed=bool(record.errors))
            seconds = progress.seconds
        journal.finalize()
        records = list(journal.records())
    summary = MeasureSummary.of(records)
    write_structure_table(output / STRUCTURES, records)
    if options.distances is not None:
        write_distance_table(output / DISTANCES, records)
    cards = draw_cards(settings, cases, records, output / CARDS)
    write_text_atomic(output / SUMMARY, json.dumps(summary.as_dict(), indent=2, ensure_ascii=False) + "\n")
    _append_run(output / SIDECAR, started, seconds, len(todo), settings)
    show(summary_lines(summary, output, cards))
    return summary


def _records(
    settings: MeasureSettings, options: MeasureOptions, todo: list[CaseFiles], loader: Chain | None
) -> Iterator[Measurement]:
    """Records of the cases in order of completion, an error record for each that fails."""
    if not todo:
        return
    if settings.takes_transforms:
        yield from _from_chain(options, todo, _usable(loader, settings))
        return
    function = partial(measure_case, options=options, ahead=settings.workers < 2)
    with contextlib.closing(map_cases(function, todo, workers=settings.workers)) as results:
        for files, result in results:
            yield _failed(files, result, options) if isinstance(result, Failure) else result


def _failed(files: CaseFiles, failure: Failure[CaseFiles], options: MeasureOptions) -> Measurement:
    return error_measurement(files.case_id, files.source(), failure.error, options.sha256, files.root)


def _from_chain(options: MeasureOptions, todo: list[CaseFiles], loader: Chain) -> Iterator[Measurement]:
    """Records from the MONAI chain; cases whose files do not fit together never reach it."""
    fit: list[dict[str, Any]] = []
    for files, result in map_cases(partial(_chain_item, options=options), todo):
        if isinstance(result, Failure):
            yield _failed(files, result, options)
        else:
            fit.append(result)
    if not fit:
        return
    # A tuple is one value to MONAI's config parser: text in it, such as a path that starts with "$", stays text.
    for batch in loader(cases=tuple(fit)):
        for item in batch:
            yield item["record"]


def _usable(loader: Chain | None, settings: MeasureSettings) -> Chain:
    """The loader; without one, or without the device, no case could be measured as asked."""
    if loader is None:
        raise SettingsError(
            "these settings need the MONAI chain, and this config has none",
            key="path, device, spacing_mm",
            found=f"{settings.path}, {settings.device}, {settings.spacing_mm}",
            expected="auto or stream, cpu, null",
            next_step="run measure.yaml, which holds the chain",
        )
    import torch

    try:
        torch.empty(0, device=settings.device)
    except (RuntimeError, AssertionError) as error:
        raise SettingsError(
            "the device cannot be used",
            key="device",
            found=f"{settings.device} ({str(error).splitlines()[0]})",
            expected="cpu, or a device this PyTorch build can reach",
            next_step="pass --device cpu",
        ) from None
    return loader


def _chain_item(files: CaseFiles, options: MeasureOptions) -> dict[str, Any]:
    check_files(files, options)
    label = files.label
    return {
        "case_id": files.case_id,
        "label": str(label) if isinstance(label, Path) else [str(file) for file in label],
        "image_path": None if files.image is None else str(files.image),
        "source": files.source(),
        "root": files.root,
    }


def _measured_already(journal: Journal[Measurement], files: CaseFiles, options: MeasureOptions) -> bool:
    if files.case_id not in journal.done:
        return False
    record = journal.get(files.case_id)
    return (
        record is not None
        and not record.errors
        and record.settings_sha256 == options.sha256
        and record.source == files.source()
    )


def _refuse_foreign(
    journal: Journal[Measurement], cases: list[CaseFiles], options: MeasureOptions, *, overwrite: bool
) -> None:
    """Records of other settings or of cases that are not in this run would be mixed up with this run's."""
    ids = {files.case_id for files in cases}
    if overwrite:
        journal.discard(journal.select(lambda one: one.settings_sha256 != options.sha256 or one.case_id not in ids))
        return
    other = sorted(journal.select(lambda record: record.settings_sha256 != options.sha256))
    gone = sorted(set(journal.done) - ids)
    if other or gone:
        raise JournalError(
            "the output folder holds measurements of other settings"
            if other
            else "the output folder holds cases that are not in this run",
            code="foreign_records",
            file=journal.path,
            found=", ".join((other or gone)[:5]),
            expected="measurements of this run",
            next_step="choose another output_dir, or pass --overwrite true",
        )


def _append_run(path: Path, started: datetime, seconds: float, measured: int, settings: MeasureSettings) -> None:
    """When, where and how fast: what must never be in a record."""
    line = {
        "started": started.isoformat(timespec="seconds"),
        "seconds": round(seconds, 3),
        "cases_tried": measured,
        "workers": settings.workers,
        "path": "transforms" if settings.takes_transforms else "stream",
        "device": settings.device,
        "version": monai_spatialqa.__version__,
        "python": platform.python_version(),
        "machine": platform.node(),
        "platform": platform.platform(),
    }
    with path.open("a", encoding="utf-8", newline="\n") as file:
        file.write(json.dumps(line, ensure_ascii=False) + "\n")
