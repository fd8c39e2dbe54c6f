"""The whole report: its files, and what is made on the way."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from monai_spatialqa.errors import SettingsError
from monai_spatialqa.report import ReportedRun, write_report
from monai_spatialqa.report.wording import percent
from tests.report.factory import MadeRun, made_items, made_run
from tests.report.tree import parse

PAIRS = made_items(5)
RECORDS = {"items": [item for item, _ in PAIRS], "references": [reference for _, reference in PAIRS]}


def reported(*runs: MadeRun) -> list[ReportedRun]:
    return [ReportedRun(run.result, run.scores, run.answers) for run in runs]


@pytest.fixture(scope="module")
def runs() -> list[ReportedRun]:
    return reported(
        made_run(PAIRS, "random", skill=0.25, kind="baseline"),
        made_run(PAIRS, "b", skill=0.7, family="F", size_billion=8),
        made_run(PAIRS, "a", skill=0.4, family="F", size_billion=4),
    )


def test_four_files_that_agree(tmp_path: Path, runs: list[ReportedRun]) -> None:
    paths = write_report(runs, tmp_path / "new" / "report", draws=200, **RECORDS)  # type: ignore[arg-type]
    assert [path.name for path in paths] == ["report.html", "report.csv", "report.json", "report.md"]
    assert {path.parent for path in paths} == {tmp_path / "new" / "report"}
    tree = parse(paths[0].read_text(encoding="utf-8"))
    rows = [row for row in tree.by_id("results").one("table", "results").all("tr") if row.all("td")]
    shown = {row.one("th").text.split(" ")[0]: row.all("td")[1].one(class_="v").text for row in rows}
    stored = json.loads(paths[2].read_text(encoding="utf-8"))["runs"]
    assert [each["run"] for each in stored] == ["a", "b", "random"]  # the order of the table
    with paths[1].open(encoding="utf-8", newline="") as file:
        cells = {row["run"]: row["value"] for row in csv.DictReader(file) if row["figure"] == "paper_average"}
    for each in stored:
        value = each["paper_average"]["value"]
        assert shown[each["run"]].split(" ")[0] == percent(value)
        assert float(cells[each["run"]]) == value
    text = paths[3].read_text(encoding="utf-8")
    assert text.index("| a") < text.index("| b") < text.index("random")


def test_two_models_are_compared_and_baselines_are_not(tmp_path: Path, runs: list[ReportedRun]) -> None:
    paths = write_report(runs, tmp_path, draws=200, **RECORDS)  # type: ignore[arg-type]
    compared = json.loads(paths[2].read_text(encoding="utf-8"))["comparisons"]
    assert {(each["first"], each["second"]) for each in compared} == {("a", "b")}
    assert {each["task"] for each in compared} == {"all", *(item.task for item, _ in PAIRS)}
    alone = write_report(runs[:2], tmp_path / "alone", **RECORDS)  # type: ignore[arg-type]
    assert json.loads(alone[2].read_text(encoding="utf-8"))["comparisons"] == []
    told = write_report(runs, tmp_path / "told", comparisons=[], **RECORDS)  # type: ignore[arg-type]
    assert "No two runs were compared." in told[0].read_text(encoding="utf-8")


def test_the_same_records_give_the_same_bytes(tmp_path: Path, runs: list[ReportedRun]) -> None:
    one = write_report(runs, tmp_path / "one", draws=200, **RECORDS)  # type: ignore[arg-type]
    other = write_report(runs[::-1], tmp_path / "other", draws=200, **RECORDS)  # type: ignore[arg-type]
    assert [path.read_bytes() for path in one] == [path.read_bytes() for path in other]


def test_without_pictures_or_cards(tmp_path: Path, runs: list[ReportedRun]) -> None:
    page = write_report(runs, tmp_path, draws=200, pictures=False, most_cards=2, **RECORDS)[0]  # type: ignore[arg-type]
    cards = parse(page.read_text(encoding="utf-8")).all("article", "card")
    assert len(cards) == 2
    assert all("no picture was drawn" in card.text for card in cards)
    page = write_report(runs, tmp_path, draws=200, most_cards=0, **RECORDS)[0]  # type: ignore[arg-type]
    assert "No case was chosen." in page.read_text(encoding="utf-8")
    with pytest.raises(SettingsError, match="0 cases or more"):
        write_report(runs, tmp_path, most_cards=-1)


def test_results_alone_are_enough(tmp_path: Path, runs: list[ReportedRun]) -> None:
    page = write_report([ReportedRun(run.result) for run in runs], tmp_path, title="Only <numbers>")[0]
    tree = parse(page.read_text(encoding="utf-8"))
    assert tree.one("h1").text == "Only <numbers>"
    assert tree.by_id("organs").one("p", "empty").text.endswith("no scores were given.")
    assert tree.by_id("volumes").all("svg")


def test_a_case_without_measurement_says_so_on_its_card(tmp_path: Path, runs: list[ReportedRun]) -> None:
    page = write_report(runs, tmp_path, draws=200, most_cards=1, **RECORDS)[0]  # type: ignore[arg-type]
    (card,) = parse(page.read_text(encoding="utf-8")).all("article", "card")
    assert "no picture: there is no measurement of case case_" in card.text
