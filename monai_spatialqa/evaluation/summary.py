"""What a run tells at its end, and whether it failed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from monai_spatialqa.evaluation.asking import Asked
from monai_spatialqa.evaluation.outputs import SUMMARY
from monai_spatialqa.evaluation.result import RunResult
from monai_spatialqa.evaluation.settings import EvaluateSettings
from monai_spatialqa.evaluation.table_text import result_lines
from monai_spatialqa.llm import Estimate

NO_REPLY = ("service", "image_ignored")
"""Outcomes that are the fault of the service, not of the model."""


@dataclass(frozen=True)
class EvaluateSummary:
    """How a run ended.

    Attributes:
        items: number of items asked.
        results: the model, the model without images, the baselines; none after a dry run.
        asked: what came of asking; None when nothing was.
        estimate: what a run would take, after a dry run.
        failed: questions without a reply of a model: the service failed, or the scan could not be shown. Replies that
            could not be read are no failure.
    """

    items: int
    results: Sequence[RunResult] = ()
    asked: Asked | None = None
    estimate: Estimate | None = None

    @property
    def failed(self) -> int:
        """Questions without a reply."""
        return sum(
            len(result.counts.missing) + sum(result.counts.failed.get(outcome, 0) for outcome in NO_REPLY)
            for result in self.results
            if result.kind != "baseline"
        )

    @property
    def exit_message(self) -> str:
        """The last line of a run that failed."""
        questions = "1 question has" if self.failed == 1 else f"{self.failed} questions have"
        reasons = [f"case {case}: {told['problem']}" for case, told in (self.asked.failed_cases if self.asked else {}).items()]
        if self.asked is not None and self.asked.stopped is not None:
            reasons.insert(0, f"given up after {self.asked.failures} failed calls in a row, the last one: {self.asked.stopped}")
        more = f" ({'; '.join(reasons[:3])}{' ...' if len(reasons) > 3 else ''})" if reasons else ""
        return f"{questions} no reply{more}. Start again to ask them; all others are kept."


def summary_lines(summary: EvaluateSummary, settings: EvaluateSettings, unanswerable: int) -> list[str]:
    """The table for the terminal, and where everything lies."""
    items = "1 item" if summary.items == 1 else f"{summary.items} items"
    lines = [f"{items}; model {settings.model or settings.adapter}" if settings.asks else items, ""]
    lines += result_lines(summary.results)
    if unanswerable:
        lines.append(
            f"{unanswerable} items ask for a number in mm or ml; they were not asked, for the views tell no scale"
        )
    folder = settings.output
    rows = [("answers", folder / "answers.jsonl")] if settings.asks else []
    rows += [("baselines", folder / "baselines")] if settings.baselines else []
    rows += [("summary", folder / SUMMARY)]
    return [*lines, "", *(f"{name:<10}{_told(path)}" for name, path in rows)]


def _told(path: Path) -> str:
    return path.as_posix()
