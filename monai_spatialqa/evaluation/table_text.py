"""The result table as lines of text for a terminal, and as Markdown for a paper. Percent throughout."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import get_args

from monai_spatialqa.evaluation.ordering import MODEL, in_order, part_of
from monai_spatialqa.evaluation.result import Comparison, Figure, RunResult
from monai_spatialqa.records.item import TaskCode

TASKS: tuple[str, ...] = get_args(TaskCode)
NONE = "-"

_WORDS = {
    "service": "failed at the server",
    "image_ignored": "with ignored images",
    "truncated": "cut off",
    "refused": "refused",
    "empty": "empty",
    "malformed": "malformed",
}


def result_lines(results: Sequence[RunResult]) -> list[str]:
    """The table for a terminal: models first, blind runs and baselines below, and what to know of them.

    A cell is the accuracy of a task, or the mean relative accuracy of a task of numbers, with the validity rate beside
    it: the share of answers from which a letter or a number was read.

    Args:
        results: of runs on the same items.
    """
    ordered = in_order(results)
    rows = [["", "AVG", "MCA", *TASKS]]
    rows += [
        [result.run, _value(result.paper_average), _value(result.macro_average), *_cells(result, _value)]
        for result in ordered
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join(
            cell.ljust(width) if not at else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
    models = sum(part_of(result) == MODEL for result in ordered)
    if 0 < models < len(ordered):
        lines.insert(1 + models, "-" * max(map(len, lines)))
    return [*lines, "", *notes(ordered)]


def notes(results: Sequence[RunResult]) -> list[str]:
    """What to know of a table: what its columns are, what failed, what is missing, where volumes were cut."""
    lines = [
        "Percent; in round brackets the share of answers that could be read.",
        "AVG: mean of the six columns, an empty one as 0, as published. MCA: mean of the columns with choices.",
    ]
    for result in results:
        if result.circular_accuracy is not None:
            lines.append(
                f"{result.run}: right in every rotation {_value(result.circular_accuracy)},"
                f" the same answer in every rotation {_value(result.rotation_consistency)}"
            )
        if result.blind_gain is not None:
            lines.append(f"{result.run}: gain from the images {_signed(result.blind_gain)}")
        if result.served_models:
            served = ", ".join(result.served_models)
            lines.append(f"{result.run}: asked for {result.model}, the server answered as {served}")
        lines += _problems(result)
    cuts = dict.fromkeys(result.volume_cuts_ml for result in results if result.volume_cuts_ml is not None)
    lines += [f"Volumes: small up to {low:.4g} ml, medium up to {high:.4g} ml, large above" for low, high in cuts]
    return lines


def markdown(results: Sequence[RunResult], comparisons: Sequence[Comparison] = ()) -> str:
    """The table in Markdown, with 95 % intervals, validity and denominators; then the comparisons."""
    ordered = in_order(results)
    rows = [["run", "kind", "AVG", "MCA", *TASKS, "read"], ["---"] * 2 + ["---:"] * (len(TASKS) + 3)]
    for result in ordered:
        averages = map(_with_interval, (result.paper_average, result.macro_average))
        read = result.overall.figures.get("validity")
        rows.append([result.run, result.kind, *averages, *_cells(result, _with_interval), _value(read)])
    rows.append(["items", "", "", "", *(_items(ordered, task) for task in TASKS), _total(ordered)])
    parts = [
        _piped(rows),
        "\n".join(notes(ordered)),
        "Intervals: 95 %, bootstrap over cases. Not comparable with published"
        " tables: prompts, views, reading and items differ.",
    ]
    if comparisons:
        told = [["first", "second", "task", "difference", "items", "p", "p (Holm)"], ["---"] * 3 + ["---:"] * 4]
        told += [
            [
                one.first,
                one.second,
                one.task,
                _signed(one.difference),
                str(one.difference.count),
                *map(_p, (one.p_value, one.p_holm)),
            ]
            for one in comparisons
        ]
        parts.append(_piped(told))
    return "\n\n".join(parts) + "\n"


def _cells(result: RunResult, told: Callable[[Figure | None], str]) -> list[str]:
    """The columns of the tasks, each with the share that could be read."""
    cells = []
    for task in TASKS:
        read = _figure(result, task, "validity")
        share = "" if read is None or read.value is None else f" ({100 * read.value:.0f})"
        cells.append(told(result.column(task)) + share)
    return cells


def _figure(result: RunResult, task: str, name: str) -> Figure | None:
    for group in result.groups:
        if (group.dimension, group.name) == ("task", task):
            return group.figures.get(name)
    return None


def _problems(result: RunResult) -> list[str]:
    counts = result.counts
    told = [f"{number} {_WORDS.get(outcome, outcome)}" for outcome, number in counts.failed.items()]
    told += [f"{counts.unread} unread ({', '.join(f'{n} {why}' for why, n in counts.reasons.items())})"] * bool(
        counts.unread
    )
    told += [f"{counts.abstained} abstained"] * bool(counts.abstained)
    told += [f"{len(counts.missing)} of {counts.items} items without an answer: {_some(counts.missing)}"] * bool(
        counts.missing
    )
    told += [f"{len(counts.unknown)} unknown ids: {_some(counts.unknown)}"] * bool(counts.unknown)
    return [f"{result.run}: {'; '.join(told)}"] if told else []


def _some(ids: Sequence[str]) -> str:
    return ", ".join(ids[:3]) + (" ..." if len(ids) > 3 else "")


def _value(figure: Figure | None) -> str:
    return NONE if figure is None or figure.value is None else f"{100 * figure.value:.1f}"


def _signed(figure: Figure) -> str:
    if figure.value is None:
        return NONE
    ends = "" if figure.low is None or figure.high is None else f" [{100 * figure.low:+.1f}, {100 * figure.high:+.1f}]"
    return f"{100 * figure.value:+.1f}{ends}"


def _with_interval(figure: Figure | None) -> str:
    if figure is None or figure.low is None or figure.high is None:
        return _value(figure)
    return f"{_value(figure)} [{100 * figure.low:.1f}, {100 * figure.high:.1f}]"


def _items(results: Sequence[RunResult], task: str) -> str:
    counts = [figure.count for result in results if (figure := result.column(task)) is not None]
    return str(max(counts, default=0))


def _total(results: Sequence[RunResult]) -> str:
    return str(max((result.counts.items for result in results), default=0))


def _p(value: float | None) -> str:
    return NONE if value is None else "<0.001" if value < 0.001 else f"{value:.3f}"


def _piped(rows: Sequence[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in rows)
