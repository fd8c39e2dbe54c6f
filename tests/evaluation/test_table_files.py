"""Result tables as CSV, JSON, Markdown and lines for a terminal."""

from __future__ import annotations

import csv
import json
from functools import cache
from pathlib import Path

import pytest

from monai_spatialqa.evaluation.baseline_runs import run_baseline
from monai_spatialqa.evaluation.comparisons import compare_runs
from monai_spatialqa.evaluation.result import Comparison, RunResult
from monai_spatialqa.evaluation.scoring import score_answers
from monai_spatialqa.evaluation.table_files import COLUMNS, write_tables
from monai_spatialqa.evaluation.table_text import markdown, result_lines
from monai_spatialqa.evaluation.tables import About, build_result
from tests.evaluation.phantom_items import made, reply

PAIRS = [made(f"q{number}", "B", task=("VOL", "COMP")[number % 2]) for number in range(8)] + [
    made(f"v{number}", 100.0, structures=["spleen|accessory"]) for number in range(4)
]
ITEMS, REFERENCES = [item for item, _ in PAIRS], [reference for _, reference in PAIRS]


@cache
def runs() -> tuple[list[RunResult], list[Comparison]]:
    """A model, the same one blind, and two baselines, baselines first."""
    said = ["B", "B", "B", "A", "B", "B", "Hm.", "C", "100 ml", "108 ml", "100 L"]
    answers = [reply(item, text) for item, text in zip(ITEMS, said, strict=False)]
    answers.append(reply(made("stranger", "B")[0], "B"))
    unseen = [reply(item, "A. 100 ml", blind=True) for item in ITEMS]
    scores, blind = (score_answers(ITEMS, REFERENCES, given) for given in (answers, unseen))
    oracle, always = (run_baseline(name, ITEMS, REFERENCES, draws=200) for name in ("oracle", "always_a"))
    assert oracle.result is not None
    assert always.result is not None
    results = [
        oracle.result,
        always.result,
        build_result(blind, unseen, ITEMS, draws=200),
        build_result(scores, answers, ITEMS, blind=blind, about=About(run="the model"), draws=200),
    ]
    return results, compare_runs({"the model": scores, "oracle": oracle.scores}, draws=200)


@pytest.fixture
def written(tmp_path: Path) -> Path:
    results, comparisons = runs()
    paths = write_tables(results, tmp_path / "made" / "here", comparisons)
    assert [path.name for path in paths] == ["report.csv", "report.json", "report.md"]
    return tmp_path / "made" / "here"


def test_csv_holds_every_figure_once(written):
    with (written / "report.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert tuple(rows[0]) == COLUMNS
    keys = [tuple(row[name] for name in COLUMNS[:4]) for row in rows]
    assert len(set(keys)) == len(keys)
    results, _ = runs()
    groups = sum(len(group.figures) for result in results for group in (result.overall, *result.groups))
    of_runs = sum(
        getattr(result, name) is not None
        for result in results
        for name in ("paper_average", "macro_average", "blind_gain", "circular_accuracy", "rotation_consistency")
    )
    assert len(rows) == groups + of_runs
    (found,) = [
        row for row in rows if tuple(row[n] for n in COLUMNS[:4]) == ("the model", "task", "VOL", "accuracy_all")
    ]
    assert (float(found["value"]), found["count"]) == (0.75, "4")
    assert all(0 <= float(row["value"]) <= 1 for row in rows if row["figure"] in ("accuracy_all", "mra", "validity"))


def test_br_194_json_is_strict_and_reads_back(written):
    def refused(name: str) -> None:
        raise AssertionError(f"{name} is no JSON")

    tree = json.loads((written / "report.json").read_text(encoding="utf-8"), parse_constant=refused)
    results, comparisons = runs()
    assert [RunResult.model_validate(run) for run in tree["runs"]] == results
    assert [Comparison.model_validate(one) for one in tree["comparisons"]] == comparisons


def test_br_190_writing_again_gives_the_same_bytes(written):
    before = {path.name: path.read_bytes() for path in written.iterdir()}
    results, comparisons = runs()
    write_tables(results, written, comparisons)
    assert {path.name: path.read_bytes() for path in written.iterdir()} == before
    assert len(before) == 3


def test_markdown_is_a_table_with_intervals_denominators_and_comparisons(written):
    text = (written / "report.md").read_text(encoding="utf-8")
    table, *_, comparison = text.strip().split("\n\n")
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]
    head, _, *body = rows
    assert head[:4] == ["run", "kind", "AVG", "MCA"]
    assert all(len(row) == len(head) for row in rows)
    assert [row[0] for row in body] == ["the model", "tester (blind)", "always_a", "oracle", "items"]
    by_run = {row[0]: dict(zip(head, row, strict=True)) for row in body}
    assert by_run["oracle"]["VOLEST"] == "100.0 [100.0, 100.0] (100)"
    assert by_run["the model"]["VOL"].startswith("75.0 [")
    assert by_run["the model"]["VOL"].endswith("] (75)")
    assert by_run["the model"]["VOLEST"].endswith("] (75)")
    assert by_run["always_a"]["VOLEST"] == "-"
    assert (by_run["items"]["VOL"], by_run["items"]["VOLEST"], by_run["items"]["read"]) == ("4", "4", "12")
    assert "Not comparable with published" in text
    assert comparison.splitlines()[0] == "| first | second | task | difference | items | p | p (Holm) |"
    assert len(comparison.splitlines()) == 2 + len(runs()[1])


def test_br_199_br_197_notes_name_what_is_missing_unknown_and_unread():
    text = "\n".join(result_lines(runs()[0]))
    assert "the model: 1 unread (1 no_answer); 1 of 12 items without an answer: v3; 1 unknown ids: stranger" in text


def test_lines_for_a_terminal_show_models_then_blind_then_baselines_with_validity():
    lines = result_lines(runs()[0])
    assert lines[0].split() == ["AVG", "MCA", "DIR", "DIST", "EXT", "VOL", "COMP", "VOLEST"]
    assert [line.split("  ")[0] for line in lines[1:6]] == [
        "the model",
        lines[2],
        "tester (blind)",
        "always_a",
        "oracle",
    ]
    assert set(lines[2]) == {"-"}
    assert "75.0 (75)" in lines[1]  # COMP would be (100): the unread reply is of VOL
    assert lines[5].split()[1:4] == ["50.0", "100.0", "-"]  # three of six columns are full
    assert "the model: gain from the images" in "\n".join(lines)
    assert max(map(len, lines[:6])) <= 120


def test_a_name_cannot_break_the_markdown_table():
    result = runs()[0][3].model_copy(update={"run": "a|b"})
    assert markdown([result]).splitlines()[2].startswith("| a\\|b | unstated |")
