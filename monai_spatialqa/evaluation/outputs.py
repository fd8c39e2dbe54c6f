"""The folder of a run: what lies where, what its summary holds, and how all of it is read again."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

import monai_spatialqa
from monai_spatialqa.errors import JournalError
from monai_spatialqa.evaluation.asking import Asked
from monai_spatialqa.evaluation.loading import Inputs
from monai_spatialqa.evaluation.result import RunResult
from monai_spatialqa.evaluation.settings import EvaluateSettings
from monai_spatialqa.llm import Account
from monai_spatialqa.records import read_records, write_text_atomic
from monai_spatialqa.records.answer import Answer, Score
from monai_spatialqa.records.files import portable_path

SUMMARY, SIDECAR, ASKED = "summary.json", "run.jsonl", "asked.json"

NOT_TOLD = {"items", "references", "measurements", "images_root", "base_url", "llm", "output_dir"} | {
    "overwrite",
    "progress",
    "dry_run",
    "rescore",
}
"""Settings that are not in a summary: where things lie, and what only concerns one start of the run."""


@dataclass(frozen=True)
class RunFiles:
    """Files of one way to answer: with images, blind, or a baseline."""

    answers: Path
    scores: Path


def run_files(folder: Path, *, blind: bool = False) -> RunFiles:
    """Where the answers of a model and their scores lie."""
    prefix = "blind." if blind else ""
    return RunFiles(folder / f"{prefix}answers.jsonl", folder / f"{prefix}scores.jsonl")


def baseline_files(folder: Path, name: str) -> RunFiles:
    """Where the answers of a baseline and their scores lie."""
    return RunFiles(folder / "baselines" / f"{name}.answers.jsonl", folder / "baselines" / f"{name}.scores.jsonl")


@dataclass(frozen=True)
class ScoredRun:
    """One row of a table, with everything behind it."""

    files: RunFiles
    answers: Sequence[Answer]
    scores: Sequence[Score]
    result: RunResult


class RunAsked(BaseModel):
    """What ``asked.json`` holds, from the first question on. Paths are relative to the run's folder."""

    model_config = ConfigDict(extra="forbid")

    inputs: dict[str, str | None] = Field(description="items, references, measurements and images_root")
    settings: dict[str, Any] = Field(description="everything that shapes answers and scores")


class RunSummary(RunAsked):
    """What ``summary.json`` holds: the same records give the same bytes."""

    unanswerable: list[str] = Field(description="with lengths or volumes, not asked: the views tell no scale")
    failed_cases: dict[str, dict[str, str | None]] = Field(description="case -> why its scan could not be shown")
    stopped: str | None = Field(description="why asking was given up")
    results: list[RunResult] = Field(description="the model, the model without images, the baselines")


def summary_of(
    settings: EvaluateSettings,
    inputs: Inputs,
    rows: Sequence[ScoredRun],
    failed_cases: Mapping[str, dict[str, str | None]],
    stopped: str | None,
) -> RunSummary:
    """The summary of a run."""
    asked = asked_of(settings)
    return RunSummary(
        inputs=asked.inputs,
        settings=asked.settings,
        unanswerable=inputs.unanswerable,
        failed_cases=dict(sorted(failed_cases.items())),
        stopped=stopped,
        results=[row.result for row in rows],
    )


def asked_of(settings: EvaluateSettings) -> RunAsked:
    """What a run asks for, and how it scores."""
    paths = {
        "items": settings.items_file,
        "references": settings.references_file,
        "measurements": settings.measurements_file,
        "images_root": settings.images_root,
    }
    client = settings.client
    shaping = {name: value for name, value in client.shaping().items() if name != "base_url"}
    if client.prices is not None:
        shaping["prices"] = client.prices.model_dump()
    return RunAsked(
        inputs={
            name: None if path is None else portable_path(path, settings.output_dir) for name, path in paths.items()
        },
        settings=settings.model_dump(mode="json", exclude=NOT_TOLD) | ({"llm": shaping} if settings.asks else {}),
    )


def write_run(folder: Path, rows: Sequence[ScoredRun], summary: RunSummary) -> None:
    """Write scores, the answers of baselines, and last the summary; each file whole or not at all."""
    for row in rows:
        if row.result.kind == "baseline":
            write_text_atomic(row.files.answers, "".join(one.to_json_line() + "\n" for one in row.answers))
        write_text_atomic(row.files.scores, "".join(one.to_json_line() + "\n" for one in row.scores))
    text = json.dumps(summary.model_dump(mode="json"), indent=1, ensure_ascii=False, allow_nan=False)
    write_text_atomic(folder / SUMMARY, text + "\n")


def write_asked(settings: EvaluateSettings) -> None:
    """Say beside the answers what they are asked for."""
    text = json.dumps(asked_of(settings).model_dump(mode="json"), indent=1, ensure_ascii=False, allow_nan=False)
    write_text_atomic(settings.output / ASKED, text + "\n")


def append_start(
    settings: EvaluateSettings, started: datetime, seconds: float, asked: Asked, account: Account | None
) -> None:
    """When, where and how fast: what must never be in a record."""
    ways = {"blind" if blind else "images": taken for blind, taken in sorted(asked.taken.items())}
    line = {
        "started": started.isoformat(timespec="seconds"),
        "seconds": round(seconds, 3),
        "asked": {
            way: {"answers": taken.answers, "cached": taken.cached, "seconds": round(taken.seconds, 3)}
            for way, taken in ways.items()
        },
        "account": None if account is None else account.summary(),
        "base_url": settings.client.url if settings.adapter == "openai" else None,
        "version": monai_spatialqa.__version__,
        "python": platform.python_version(),
        "machine": platform.node(),
        "platform": platform.platform(),
    }
    with (settings.output / SIDECAR).open("a", encoding="utf-8", newline="\n") as file:
        file.write(json.dumps(line, ensure_ascii=False) + "\n")


def read_starts(folder: Path) -> list[dict[str, Any]]:
    """What the starts of a run have left in its sidecar; none where there is no sidecar."""
    path = folder / SIDECAR
    if not path.is_file():
        return []
    starts = []
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            starts.append(json.loads(line))
        except ValueError:  # cut by a kill; it tells of times only
            continue
    return starts


def read_summary(folder: Path) -> RunSummary:
    """The summary of a run.

    Raises:
        JournalError: there is none, or it is of another program or version.
    """
    path = folder / SUMMARY
    try:
        return RunSummary.model_validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        found = error.errors(include_url=False)[0]["msg"] if isinstance(error, ValidationError) else error.strerror
        raise JournalError(
            "this is no folder of an evaluation",
            file=path,
            key="runs",
            found=found,
            expected="the summary.json that evaluate.yaml writes",
            next_step="name an output_dir of evaluate.yaml, or run it again",
        ) from None


def read_rows(folder: Path, summary: RunSummary) -> list[ScoredRun]:
    """The rows of a run with their answers and scores, in the order of the table.

    Raises:
        JournalError: a file is missing or is not of such records.
    """
    rows = []
    for result in summary.results:
        if result.kind == "baseline":
            files = baseline_files(folder, result.model)
        else:
            files = run_files(folder, blind=result.blind)
        answers, scores = list(read_records(files.answers, Answer)), list(read_records(files.scores, Score))
        rows.append(ScoredRun(files, answers, scores, result))
    return rows
