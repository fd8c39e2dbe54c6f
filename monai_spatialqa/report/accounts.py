"""What became of the items, what a run cost, and how runs compare: counts and small tables as text."""

from __future__ import annotations

from collections.abc import Sequence

from monai_spatialqa.evaluation.ordering import in_order
from monai_spatialqa.evaluation.result import Comparison, RunResult, Spent
from monai_spatialqa.report.result_table import Cell, Row, Table
from monai_spatialqa.report.wording import (
    NONE,
    TASKS,
    Shown,
    duration,
    grouped,
    outcome_words,
    p_value,
    plain,
    readable,
    signed,
)

_SIGNIFICANT = 0.05
_MOST_IDS = 20


OUTCOME_HEADS = ("Items", "Answers", "Read", "Abstained", "Not read", "No usable reply", "Missing", "Unknown ids")


def outcome_table(results: Sequence[RunResult]) -> Table:
    """What became of the items of every run."""
    rows = []
    for result in in_order(results):
        counts = result.counts
        read = (counts.read, counts.abstained, counts.unread, sum(counts.failed.values()))
        numbers = (counts.items, counts.answers, *read, len(counts.missing), len(counts.unknown))
        rows.append((result.run, tuple(Shown(grouped(number)) for number in numbers)))
    return Table("Outcomes of every run", ("Run", *OUTCOME_HEADS), tuple(rows))


def reason_table(results: Sequence[RunResult]) -> Table:
    """Why replies could not be read and how calls failed, the most frequent first; runs side by side."""
    ordered = in_order(results)
    found = [
        {f"not read: {readable(name)}": count for name, count in result.counts.reasons.items()}
        | {_failure(result, name): count for name, count in result.counts.failed.items()}
        for result in ordered
    ]
    sums = {name: sum(each.get(name, 0) for each in found) for name in {name for each in found for name in each}}
    kept = [place for place, each in enumerate(found) if each]
    rows = [
        (name, tuple(Shown(grouped(found[place].get(name, 0))) for place in kept))
        for name in sorted(sums, key=lambda name: (-sums[name], name))
    ]
    return Table("Why nothing was read", ("Reason", *(ordered[place].run for place in kept)), tuple(rows))


def _failure(result: RunResult, outcome: str) -> str:
    """How calls ended; a baseline makes none, and is silent where the other questions tell it nothing."""
    if result.kind == "baseline" and outcome == "empty":
        return "no answer: the other questions tell a baseline nothing"
    return f"no usable reply: {outcome_words(outcome)}"


def ids_told(results: Sequence[RunResult]) -> list[str]:
    """Sentences that name the items without an answer, and the answers to items that are not there."""
    told = []
    for result in in_order(results):
        if result.counts.missing:
            told.append(f"{result.run}: no answer to {_listed(result.counts.missing)}.")
        if result.counts.unknown:
            told.append(f"{result.run}: answers to items that are not there: {_listed(result.counts.unknown)}.")
    return told


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
        NONE if spent.cost is None else f"{_money(spent.cost)} {spent.currency or ''}".strip(),
    )


def _money(cost: float) -> str:
    return f"{cost:.2f}" if cost >= 0.1 or not cost else plain(cost, 2)


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
    surely = comparison.p_holm is not None and comparison.p_holm < _SIGNIFICANT
    told = "" if comparison.p_holm is None else f"p {p_value(comparison.p_holm)}"
    return Cell(head, signed(comparison.difference), told, surely)
