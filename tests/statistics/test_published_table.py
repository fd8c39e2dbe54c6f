"""The averages of the published result table: twelve of fourteen follow from its columns, and two do not."""

from __future__ import annotations

import pytest

from monai_spatialqa.statistics import macro_average, paper_average
from tests.statistics.published_table import Row, main, published_rows

ROWS = published_rows()
MODELS = [row for row in ROWS if row.model != "random"]
NOT_FOLLOWING = {"GLM-4.1V 9B", "M3D 7B"}


def row_of(model: str) -> Row:
    (row,) = (row for row in ROWS if row.model == model)
    return row


def test_twelve_of_fourteen_averages_follow():
    assert len(MODELS) == 14
    assert {row.model for row in MODELS if not row.consistent} == NOT_FOLLOWING


@pytest.mark.parametrize("row", [row for row in MODELS if row.model not in NOT_FOLLOWING], ids=lambda row: row.model)
def test_the_average_is_that_of_six_columns(row):
    there = [value for value in row.columns.values() if value is not None]
    assert row.average == pytest.approx(sum(there) / 6, abs=1e-12)
    assert row.average == pytest.approx(float(row.printed), abs=0.01)


def test_an_empty_column_counts_as_zero_only_for_the_paper():
    """HuatuoGPT-Vision was read no volume: 8.04 over six is the 1.34 printed, over five it would be 1.61."""
    row = row_of("HuatuoGPT-Vision 7B")
    assert row.columns["VOLEST"] is None
    assert paper_average(row.columns) == pytest.approx(1.34)
    assert macro_average(row.columns) == pytest.approx(1.608)


def test_two_rows_average_only_the_choices():
    assert {row.model for row in ROWS if row.averages_choices} == {"random", "M3D 7B"}
    assert not row_of("M3D 7B").consistent


def test_one_average_follows_from_nothing():
    row = row_of("GLM-4.1V 9B")
    assert row.average == pytest.approx(26.6317, abs=1e-4)
    assert float(row.printed) == 26.18
    assert not row.averages_choices


def test_the_check_prints_every_row(capsys):
    main()
    lines = capsys.readouterr().out.splitlines()
    assert [line.rsplit("  ", 1)[1] for line in lines].count("ok") == 12
    assert [line.split("  ")[0] for line in lines if line.endswith("DOES NOT FOLLOW")] == ["GLM-4.1V 9B"]
