"""The table of replies: each row, from a real model or constructed as it tells, is read as it says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from monai_spatialqa.answers import REASONS, read_choice, read_quantity

ROWS: list[dict[str, Any]] = json.loads((Path(__file__).parent / "replies.json").read_text(encoding="utf-8"))
RULES = {"json", "letter", "statement", "option_text", "number", "last_with_unit", "bare_number"}


def _name(row: dict[str, Any]) -> str:
    return f"{row['kind']}-{str(row['reply'])[:30]}"


@pytest.mark.parametrize("row", [row for row in ROWS if row["kind"] == "choice"], ids=_name)
def test_a_choice_is_read_as_the_table_says(row):
    found = read_choice(row["reply"], row["options"])
    assert (found.letter, found.reason) == (row.get("letter"), row.get("reason"))
    assert (found.rule in RULES) == (found.letter is not None)


@pytest.mark.parametrize("row", [row for row in ROWS if row["kind"] == "quantity"], ids=_name)
def test_a_quantity_is_read_as_the_table_says(row):
    found = read_quantity(row["reply"], row["unit"])
    assert (found.value, found.reason) == (row.get("value"), row.get("reason"))
    assert (found.rule in RULES) == (found.value is not None)


def test_the_table_is_large_and_says_where_its_rows_come_from():
    assert len(ROWS) >= 300
    observed = [row for row in ROWS if row["provenance"].startswith("observed: ")]
    assert len(observed) >= 60
    assert all(row["provenance"] == "constructed" for row in ROWS if row not in observed)
    assert all(("temperature" in row["provenance"] and "seed" in row["provenance"]) for row in observed)


def test_the_table_has_every_reason_that_a_reply_alone_can_give():
    told = {row["reason"] for row in ROWS if "reason" in row}
    assert told == set(REASONS) - {"range"}  # which only strict reading gives
