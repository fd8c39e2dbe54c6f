"""docs/answers.md names every rule, flag and reason that a reading can have."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from monai_spatialqa.answers import REASONS, ChoiceReading, QuantityReading, read_choice, read_quantity

PAGE = (Path(__file__).parents[2] / "docs" / "answers.md").read_text(encoding="utf-8")
_CODE = re.compile(r"``(\w+)``")


def _section(title: str) -> set[str]:
    part = PAGE.split(f"\n## {title}\n", 1)[1].split("\n## ", 1)[0]
    return set(re.findall(r"^\| `(\w+)` \|", part, re.MULTILINE))


@pytest.mark.parametrize(
    ("record", "title"), [(ChoiceReading, "Rules of a choice"), (QuantityReading, "Rules of a number")]
)
def test_the_rules_of_the_page_are_those_of_the_record(record, title):
    told = record.__doc__.split("rule: ", 1)[1].split("reason: ", 1)[0]
    assert set(_CODE.findall(told)) == _section(title)


def test_the_flags_of_the_page_are_those_of_the_records():
    told = "".join(record.__doc__.split("flags: ", 1)[1] for record in (ChoiceReading, QuantityReading))
    assert set(_CODE.findall(told)) - set(REASONS) == _section("Flags") - set(REASONS)


@pytest.mark.parametrize("row", re.findall(r"^\| `(\w+)` \|.*\| (`.*`) \|$", PAGE, re.MULTILINE), ids=str)
def test_the_examples_of_a_rule_are_read_by_it(row):
    rule, examples = row
    for example in re.findall(r"`([^`]+)`", examples):
        readings = (
            read_choice(example, ["12 ml", "15 ml", "spleen", "the liver"]),
            read_quantity(example, "ml"),
        )
        assert rule in {found.rule for found in readings}, example
