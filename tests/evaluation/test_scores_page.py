"""The tables of docs/scores.md name what there is, all of it, in order."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from monai_spatialqa.evaluation.baselines import BASELINES
from monai_spatialqa.evaluation.result import DIMENSIONS, FIGURES, Counts
from monai_spatialqa.evaluation.table_files import COLUMNS, CSV, JSON, MARKDOWN

PAGE = (Path(__file__).parents[2] / "docs" / "scores.md").read_text(encoding="utf-8")


def first_column(header: str) -> list[str]:
    """Names in the first column of the table with this header; a cell may hold several."""
    _, _, rest = PAGE.partition(f"\n| {header} |")
    rows = rest.split("\n\n")[0].splitlines()[2:]
    return [name for row in rows for name in re.findall(r"`([^`]+)`", row.split("|")[1])]


@pytest.mark.parametrize(
    ("header", "names"),
    [
        ("figure", FIGURES),
        ("in `counts`", [name for name in Counts.model_fields if name != "reasons"]),
        ("dimension", DIMENSIONS),
        ("baseline", BASELINES),
        ("file", (CSV, JSON, MARKDOWN)),
    ],
)
def test_tables_name_all_there_is(header, names):
    assert first_column(header) == list(names)


def test_the_columns_of_the_csv_are_named():
    assert ", ".join(f"`{name}`" for name in COLUMNS) in PAGE
