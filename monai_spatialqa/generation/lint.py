"""The lint stage: reads a file of items, applies every rule of the linter, and writes down what it found."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from typing import Any

from monai_spatialqa.errors import SettingsError, readable
from monai_spatialqa.generation.lint_settings import LintSettings
from monai_spatialqa.items.linter import LintReport, lint_item_file
from monai_spatialqa.records import Measurement, read_records, write_text_atomic
from monai_spatialqa.records.files import usable_folder

FINDINGS, SUMMARY = "lint.jsonl", "lint_summary.json"


@dataclass(frozen=True)
class LintSummary:
    """What a run found.

    Attributes:
        report: everything.
        failed: ids of what makes the exit code 1: faulty items, or "the file"; empty where all is well, or ``fail_on``
            is never.
    """

    report: LintReport
    failed: tuple[str, ...]

    @property
    def exit_message(self) -> str:
        """The last line of a run that found faults."""
        errors, warnings = self.report.count("error"), self.report.count("warning")
        return f"the linter found {errors} errors and {warnings} warnings; see {FINDINGS}"


def run_lint(settings: LintSettings) -> LintSummary:
    """Look for faults in a file of items.

    Writes into ``settings.output_dir``: ``lint.jsonl`` (one row an item, in the order of the file, with its findings)
    and ``lint_summary.json`` (counts, and the findings about the file). Prints the table.

    Raises:
        SpatialQAError: a file cannot be read, or a result would be written over an input.
    """
    output = usable_folder(settings.output)
    _refuse_overwriting(settings)
    measured = None
    if settings.measurements_file is not None:
        measured = list(read_records(settings.measurements_file, Measurement))
    report = lint_item_file(settings.items_file, settings.references_file, measured, settings.rules)
    rows = [_strict(row) for row in report.item_rows()]
    write_text_atomic(output / FINDINGS, "".join(row + "\n" for row in rows))
    write_text_atomic(output / SUMMARY, _strict(report.as_dict(), indent=2) + "\n")
    told = [report.table()]
    if measured is None:
        told += ["", "no measurements: no structure was looked up, and no evidence computed again"]
    told += ["", f"findings  {output / FINDINGS}", f"summary   {output / SUMMARY}"]
    _show("\n".join(told))
    return LintSummary(report, _failed(report, settings.fail_on))


def _refuse_overwriting(settings: LintSettings) -> None:
    inputs = {path.resolve() for path in (settings.items_file, settings.references_file) if path is not None}
    for name in (FINDINGS, SUMMARY):
        if (settings.output / name).resolve() in inputs:
            raise SettingsError(
                "a result would be written over an input",
                key="output_dir",
                found=settings.output / name,
                next_step="choose another output_dir",
            )


def _failed(report: LintReport, fail_on: str) -> tuple[str, ...]:
    counting = {"error": ("error",), "warning": ("error", "warning"), "never": ()}[fail_on]
    found = [finding for finding in report.findings if finding.severity in counting]
    # By row: ids may be double, which is one of the faults.
    return tuple(dict.fromkeys("the file" if one.row is None else f"{one.item_id} (row {one.row})" for one in found))


def _strict(value: Any, indent: int | None = None) -> str:
    return readable(json.dumps(value, ensure_ascii=False, allow_nan=False, indent=indent))


def _show(text: str) -> None:
    """Print; characters that the terminal cannot show are spelled out instead of ending the run."""
    encoding = sys.stdout.encoding or "utf-8"
    print(readable(text).encode(encoding, "backslashreplace").decode(encoding), flush=True)
