"""The evaluate stage: asks what is not answered yet, reads and scores all answers, and writes everything down."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from monai_spatialqa.errors import SettingsError
from monai_spatialqa.evaluation.answer_files import read_answers
from monai_spatialqa.evaluation.asked_for import as_asked, refuse_models_folder, refuse_others, settings_of, stored_run
from monai_spatialqa.evaluation.asking import Asked, ask, waiting
from monai_spatialqa.evaluation.dry_run import estimate_run
from monai_spatialqa.evaluation.loading import Inputs, check_scorable, load_inputs
from monai_spatialqa.evaluation.outputs import (
    RunSummary,
    append_start,
    read_summary,
    run_files,
    summary_of,
    write_asked,
    write_run,
)
from monai_spatialqa.evaluation.rotation import Unit, units_of
from monai_spatialqa.evaluation.rows import score_rows, stored_answers
from monai_spatialqa.evaluation.scans import ShownScans
from monai_spatialqa.evaluation.settings import EvaluateSettings
from monai_spatialqa.evaluation.summary import EvaluateSummary, summary_lines
from monai_spatialqa.models import OpenAIAdapter, build_adapter
from monai_spatialqa.progress import Progress, show
from monai_spatialqa.records import Journal
from monai_spatialqa.records.answer import Answer
from monai_spatialqa.records.files import usable_folder

logger = logging.getLogger(__name__)

NO_REPLY = ("service", "image_ignored")
"""Outcomes that are the fault of the service, not of the model."""


def run_evaluation(settings: EvaluateSettings) -> EvaluateSummary:
    """Ask, score and summarise; go on where an earlier run stopped.

    Writes into ``settings.output_dir``: ``answers.jsonl`` and ``blind.answers.jsonl`` (a reply a line, as it came, on
    the disk before the next question), ``scores.jsonl`` and ``blind.scores.jsonl``, the same of every baseline under
    ``baselines/``, ``summary.json`` with all figures, ``asked.json`` (what is asked) and ``run.jsonl`` (when, where and
    how long). Prints the table. The same replies give the same bytes, however often a run was interrupted.

    Args:
        settings: validated settings.

    Returns:
        The summary; ``failed`` is the number of questions without a reply.

    Raises:
        SpatialQAError: the settings or the files are unusable, the folder holds answers of other settings, or the model
            cannot be asked at all.
    """
    usable_folder(settings.output)
    if settings.rescore:
        settings = as_asked(settings)
    elif not settings.asks:
        refuse_models_folder(settings)
    inputs = load_inputs(settings)
    units = _units(settings, inputs)
    if units and not settings.rescore:
        _check_modality(settings, inputs)
        check_scorable(inputs)
    if settings.dry_run:
        estimate = estimate_run(units, settings, inputs)
        show([f"{len(inputs.items)} items: {estimate}"])
        return EvaluateSummary(len(inputs.items), estimate=estimate)
    asked = None
    if settings.asks and not settings.rescore:
        asked = _ask(units, settings, inputs)
    answers = stored_answers(settings.output, settings, inputs) if settings.asks else {}
    if settings.rescore and settings.asks and not answers:
        raise SettingsError(
            "there is nothing to score again",
            key="rescore",
            found=f"no answers in {settings.output_dir}",
            expected="answers.jsonl of an earlier run",
            next_step="name its output_dir, or leave rescore out",
        )
    rows = score_rows(settings, inputs, answers)
    told = summary_of(settings, inputs, rows, *_failures(settings, asked))
    write_run(settings.output, rows, told)
    summary = EvaluateSummary(len(inputs.items), _without_reply(units, answers), told.results, asked)
    show(summary_lines(summary, settings, len(inputs.unanswerable)))
    return summary


def rescore(folder: str | Path, **changes: Any) -> EvaluateSummary:
    """Read the replies of a run again, with the readers of today; nothing is asked.

    Args:
        folder: output_dir of the run.
        changes: settings of scoring that are to be other than in that run, such as ``strict``.

    Raises:
        SpatialQAError: the folder is not of a run, its items are no longer where they were, or a change says that
            something else was asked.
    """
    folder = Path(folder)
    stored = stored_run(folder)
    refuse_others(changes, stored)
    return run_evaluation(settings_of(stored, folder, changes))


def _without_reply(units: Sequence[Unit], answers: Mapping[bool, Sequence[Answer]]) -> int:
    replied = {
        (blind, answer.answer_id)
        for blind, found in answers.items()
        for answer in found
        if answer.outcome not in NO_REPLY
    }
    return sum((unit.blind, unit.answer_id) not in replied for unit in units)


def _check_modality(settings: EvaluateSettings, inputs: Inputs) -> None:
    """The modality decides how intensities are shown, and nobody can guess it."""
    without = [item for item in inputs.items if item.case.modality is None]
    if without and settings.modality is None and False in settings.sights:
        raise SettingsError(
            "the modality of scans is not known, and it decides how intensities are shown",
            key="modality",
            found=f"{len(without)} items that do not state it, the first {without[0].item_id}",
            expected="CT or MR",
            next_step="pass --modality CT, or give the generate stage a datalist that says it",
        )


def _units(settings: EvaluateSettings, inputs: Inputs) -> list[Unit]:
    if not settings.asks:
        return []
    return list(units_of(inputs.items, circular=settings.circular, repeats=settings.repeats, sights=settings.sights))


def _ask(units: Sequence[Unit], settings: EvaluateSettings, inputs: Inputs) -> Asked:
    """Ask what is left; whatever ends the run, what was answered is kept and sorted by id."""
    adapter = build_adapter(settings.adapter, settings.options)
    account = adapter.client.account if isinstance(adapter, OpenAIAdapter) else None
    hashes = {blind: settings.sha256(adapter.describe(), blind=blind) for blind in settings.sights}
    _warn_of_equal_repeats(settings)
    asked, scans = Asked(), ShownScans(settings, inputs.measurements)
    started = datetime.now(UTC)
    for blind in settings.sights:
        read_answers(run_files(settings.output, blind=blind).answers)  # an edited file is refused, not rewritten
    with contextlib.ExitStack() as stack:
        journals = {
            blind: stack.enter_context(Journal(run_files(settings.output, blind=blind).answers, Answer))
            for blind in settings.sights
        }
        left = waiting(units, journals, hashes, settings)
        write_asked(settings)
        with Progress(
            len(units),
            already_done=len(units) - len(left),
            description="ask",
            unit="question",
            silent=not settings.progress,
            note=None if account is None else account.note,
        ) as progress:
            try:
                ask(left, adapter, scans, journals, hashes, settings, progress, asked)
            except KeyboardInterrupt:
                logger.warning("stopped after %d of %d questions; their answers are kept", progress.done, len(units))
                raise
            finally:
                for journal in journals.values():
                    journal.finalize()
                if left:
                    append_start(settings, started, progress.seconds, asked, account)
    return asked


def _warn_of_equal_repeats(settings: EvaluateSettings) -> None:
    if settings.adapter == "openai" and settings.repeats > 1 and settings.client.temperature == 0:
        logger.warning(
            "%d repeats at temperature 0 tell little: a model then says the same every time; set llm::temperature",
            settings.repeats,
        )


def _failures(
    settings: EvaluateSettings, asked: Asked | None
) -> tuple[Mapping[str, dict[str, str | None]], str | None]:
    """Why questions were not asked; after scoring again, what the run before it said."""
    if asked is not None:
        return asked.failed_cases, asked.stopped
    stored: RunSummary | None = None
    if settings.rescore and (settings.output / "summary.json").is_file():
        stored = read_summary(settings.output)
    return ({}, None) if stored is None else (stored.failed_cases, stored.stopped)
