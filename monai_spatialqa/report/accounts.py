"""What became of the items, what a run cost, and how runs compare: counts and small tables as text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from monai_spatialqa.evaluation.result import Comparison, RunResult, Spent
from monai_spatialqa.report.result_table import Cell, Row, Table
from monai_spatialqa.report.wording import NONE, TASKS, Shown, duration, grouped, in_order, p_value, plain, readable
from monai_spatialqa.report.wording import shown as figure_shown

_SIGNIFICANT = 0.05
_MOST_IDS = 20


@dataclass(frozen=True)
class Outcomes:
    """What became of the items of a run.

    Attributes:
        run: its name.
        counts: items, answers, read, abstained, unread, failed, missing, unknown ids; as text.
        reasons: why replies could not be read or calls failed, the most frequent first: reason, count.
        missing: ids of items without an answer, the first ones.
        unknown: ids of answers to items that are not there, the first ones.
    """

    run: str
    counts: tuple[str, ...]
    reasons: tuple[tuple[str, str], ...]
    missing: str
    unknown: str


OUTCOME_HEADS = ("Items", "Answers", "Read", "Abstained", "Not read", "Failed", "Missing", "Unknown ids")


def outcomes(results: Sequence[RunResult]) -> list[Outcomes]:
    """One entry a run."""
    found = []
    for result in in_order(results):
        counts = result.counts
        numbers = (counts.items, counts.answers, counts.read, counts.abstained, counts.unread)
        numbers += (sum(counts.failed.values()), len(counts.missing), len(counts.unknown))
        reasons = [(f"not read: {readable(name)}", count) for name, count in counts.reasons.items()]
        reasons += [(f"failed: {readable(name)}", count) for name, count in counts.failed.items()]
        reasons.sort(key=lambda pair: (-pair[1], pair[0]))
        found.append(
            Outcomes(
                result.run,
                tuple(map(grouped, numbers)),
                tuple((name, grouped(count)) for name, count in reasons),
                _listed(counts.missing),
                _listed(counts.unknown),
            )
        )
    return found


def _listed(ids: Sequence[str]) -> str:
    rest = len(ids) - _MOST_IDS
    return ", ".join(ids[:_MOST_IDS]) + (f" and {grouped(rest)} more" if rest > 0 else "")


SPENT_HEADS = ("Calls", "From cache", "Tokens in", "Tokens out", "Time", "Time a call", "Cost")


def spent_table(results: Sequence[RunResult]) -> Table:
    """Cost and speed of the runs that asked a model or were timed."""
    rows = [
        (result.run, tuple(Shown(text) for text in _spent(result.spent)))
        for result in in_order(results)
        if result.spent != Spent()
    ]
    return Table("Cost and speed", ("Run", *SPENT_HEADS), tuple(rows))


def _spent(spent: Spent) -> tuple[str, ...]:
    fresh = spent.calls - spent.cached
    return (
        grouped(spent.calls),
        grouped(spent.cached),
        grouped(spent.prompt_tokens),
        grouped(spent.completion_tokens),
        duration(spent.seconds),
        duration(spent.seconds / fresh) if spent.seconds is not None and fresh > 0 else NONE,
        NONE if spent.cost is None else f"{plain(spent.cost)} {spent.currency or ''}".strip(),
    )


def comparison_rows(comparisons: Sequence[Comparison]) -> list[Row]:
    """A row for each pair of runs, a cell for all items together and for each task.

    The difference is in percentage points; ``best`` marks one whose p after Holm's correction is below 0.05.
    """
    pairs: dict[tuple[str, str], dict[str, Comparison]] = {}
    for comparison in comparisons:
        pairs.setdefault((comparison.first, comparison.second), {})[comparison.task] = comparison
    return [
        Row(first, f"minus {second}", tuple(_compared(task, found.get(task)) for task in ("all", *TASKS)))
        for (first, second), found in pairs.items()
    ]


def _compared(task: str, comparison: Comparison | None) -> Cell:
    head = "All" if task == "all" else task
    if comparison is None or comparison.difference.value is None:
        return Cell(head, Shown(NONE))
    words = figure_shown(comparison.difference)
    sign = "+" if comparison.difference.value > 0 and words.value != "0.0" else ""
    surely = comparison.p_holm is not None and comparison.p_holm < _SIGNIFICANT
    return Cell(head, words._replace(value=sign + words.value), f"p {p_value(comparison.p_holm)}", surely)
