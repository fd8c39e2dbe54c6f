"""Results as text tables."""

from __future__ import annotations

from collections.abc import Sequence

from tests.benchmarks.goals import Verdict
from tests.benchmarks.others import Throughput
from tests.benchmarks.rows import Table
from tests.benchmarks.timing import Timed


def lined_up(header: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """Columns of equal width; the first to the left, the others to the right."""
    widths = [max(len(line[column]) for line in (header, *lines)) for column in range(len(header))]

    def one(cells: Sequence[str]) -> str:
        first = cells[0].ljust(widths[0])
        others = [cell.rjust(width) for cell, width in zip(cells[1:], widths[1:], strict=True)]
        return "  ".join([first, *others]).rstrip()

    return "\n".join([one(header), "  ".join("-" * width for width in widths), *map(one, lines)])


def row_header(table: Table) -> list[str]:
    """Column names of a table of rows."""
    return [
        table.title,
        "ms",
        "CPU ms",
        *(f"/ {table.row(name).name}" for name in table.references),
        "extra memory",
        "MiB",
        "runs",
    ]


def row_line(table: Table, title: str, timed: Timed, input_bytes: int) -> list[str]:
    """One row, with its ratios to the reference rows of its own process."""
    ratios = [_ratio(timed.seconds / timed.references[name]) for name in table.references]
    extra = timed.extra_bytes
    return [
        title,
        f"{timed.seconds * 1e3:,.1f}",
        f"{timed.cpu_seconds * 1e3:,.1f}",
        *ratios,
        "?" if extra is None else f"{extra / input_bytes:.2f} x",
        "?" if extra is None else f"{extra / 2**20:,.1f}",
        str(timed.runs),
    ]


def left_out_line(table: Table, title: str, why: str) -> list[str]:
    """A row that was not run, with the reason."""
    return [f"{title}: {why}", *[""] * (len(row_header(table)) - 1)]


def throughput_lines(title: str, rates: Sequence[Throughput]) -> tuple[list[str], list[list[str]]]:
    """Header and lines of the table of many cases."""
    header = [f"many cases from file, {title}", "cases per s", "start-up s", "cases timed"]
    lines = [
        [
            rate.way,
            "-" if rate.cases_per_second is None else f"{rate.cases_per_second:.1f}",
            f"{rate.start_seconds:.1f}",
            str(rate.cases),
        ]
        for rate in rates
    ]
    return header, lines


def goal_lines(verdicts: Sequence[Verdict]) -> tuple[list[str], list[list[str]]]:
    """Header and lines of the goals."""
    header = ["GOALS (M = 512x512x400 uint8, 117 labels)", "measured", "must", ""]
    lines = []
    for verdict in verdicts:
        goal = verdict.goal
        sign = ">=" if goal.at_least else "<="
        lines.append(
            [
                goal.title,
                "-" if verdict.figure is None else f"{_ratio(verdict.figure)} {goal.unit}",
                f"{sign} {goal.must:g} {goal.unit}",
                verdict.word,
            ]
        )
    return header, lines


def _ratio(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"
