"""Result tables as files: CSV in long form, strict JSON, and Markdown."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from monai_spatialqa.evaluation.result import Comparison, Figure, RunResult
from monai_spatialqa.evaluation.table_text import markdown
from monai_spatialqa.records import write_text_atomic

COLUMNS = ("run", "dimension", "name", "figure", "value", "low", "high", "count")
"""Of ``report.csv``."""

CSV, JSON, MARKDOWN = "report.csv", "report.json", "report.md"

_OF_THE_RUN = ("paper_average", "macro_average", "blind_gain", "circular_accuracy", "rotation_consistency")


def write_tables(
    results: Sequence[RunResult], folder: str | Path, comparisons: Sequence[Comparison] = ()
) -> list[Path]:
    """Write ``report.csv``, ``report.json`` and ``report.md``; the same results give the same bytes.

    Args:
        results: of runs on the same items, in the order of the table.
        folder: made when missing.
        comparisons: of these runs.

    Returns:
        The files.
    """
    texts = {
        CSV: csv_text(results),
        JSON: json_text(results, comparisons),
        MARKDOWN: markdown(results, comparisons),
    }
    for name, text in texts.items():
        write_text_atomic(Path(folder) / name, text)
    return [Path(folder) / name for name in texts]


def csv_text(results: Sequence[RunResult]) -> str:
    """One row a figure. Shares are 0 to 1; a cell is empty where there is no value or no interval."""
    file = io.StringIO(newline="")
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(COLUMNS)
    for result in results:
        writer.writerows(_rows(result))
    return file.getvalue()


def json_text(results: Sequence[RunResult], comparisons: Sequence[Comparison] = ()) -> str:
    """Everything, as strict JSON: what has no value is null."""
    tree = {
        "runs": [result.model_dump(mode="json") for result in results],
        "comparisons": [comparison.model_dump(mode="json") for comparison in comparisons],
    }
    return json.dumps(tree, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _rows(result: RunResult) -> Iterator[list[object]]:
    for name in _OF_THE_RUN:
        figure: Figure | None = getattr(result, name)
        if figure is not None:
            yield _row(result.run, "all", "all", name, figure)
    for group in (result.overall, *result.groups):
        for name, figure in group.figures.items():
            yield _row(result.run, group.dimension, group.name, name, figure)


def _row(run: str, dimension: str, name: str, what: str, figure: Figure) -> list[object]:
    return [run, dimension, name, what, figure.value, figure.low, figure.high, figure.count]
