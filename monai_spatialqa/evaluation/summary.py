"""What a run tells at its end, and whether it failed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from monai_spatialqa.evaluation.asking import STOP_AFTER, Asked
from monai_spatialqa.evaluation.outputs import SUMMARY, run_files
from monai_spatialqa.evaluation.result import RunResult
from monai_spatialqa.evaluation.settings import EvaluateSettings
from monai_spatialqa.evaluation.table_text import result_lines
from monai_spatialqa.llm import Estimate


@dataclass(frozen=True)
class EvaluateSummary:
    """How a run ended.

    Attributes:
        items: number of items asked.
        failed: questions without a reply of a model: the service failed, or the scan could not be shown. A reply that
            could not be read is no failure.
        results: the model, the model without images, the baselines; none after a dry run.
        asked: what came of asking; None when nothing was.
        estimate: what a run would take, after a dry run.
    """

    items: int
    failed: int = 0
    results: Sequence[RunResult] = ()
    asked: Asked | None = None
    estimate: Estimate | None = None

    @property
    def exit_message(self) -> str:
        """The last line of a run that failed."""
        questions = "1 question has" if self.failed == 1 else f"{self.failed} questions have"
        reasons = []
        if self.asked is not None and self.asked.stopped is not None:
            reasons.append(f"given up after {STOP_AFTER} failed calls in a row: {self.asked.stopped}")
        for case, told in self.asked.failed_cases.items() if self.asked is not None else ():
            reasons.append(f"case {case}: {told['problem']}")
        more = f" ({'; '.join(reasons[:3])}{' ...' if len(reasons) > 3 else ''})" if reasons else ""
        return f"{questions} no reply{more}. Start again to ask them; all others are kept."


def summary_lines(summary: EvaluateSummary, settings: EvaluateSettings, unanswerable: int) -> list[str]:
    """The table for the terminal, and where everything lies."""
    items = "1 item" if summary.items == 1 else f"{summary.items} items"
    lines = [f"{items}; model {settings.model or settings.adapter}" if settings.asks else items, ""]
    lines += result_lines(summary.results)
    if unanswerable:
        lines.append(
            f"{unanswerable} items have lengths or volumes in them; they were not asked, for the views tell no scale"
        )
    folder = settings.output
    blind_only = settings.blind == "only"
    rows = [("answers", run_files(folder, blind=blind_only).answers)] if settings.asks else []
    rows += [("baselines", folder / "baselines")] if settings.baselines else []
    rows += [("summary", folder / SUMMARY)]
    return [*lines, "", *(f"{name:<10}{_told(path)}" for name, path in rows)]


def _told(path: Path) -> str:
    return path.as_posix()
