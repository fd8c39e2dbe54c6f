"""The numbers of the page are those of the results, each in its place."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from monai_spatialqa.evaluation.result import FIGURES, Comparison, Figure, RunResult, Spent
from monai_spatialqa.evaluation.table_text import markdown
from monai_spatialqa.report import write_html
from monai_spatialqa.report.wording import FIGURE_NAMES, TASKS, percent, span
from tests.report.factory import example_spent, made_comparison, made_items, made_run
from tests.report.tree import Element, parse

PAIRS = made_items(9)


def page_of(folder: Path, results: Sequence[RunResult], comparisons: Sequence[Comparison] = ()) -> Element:
    path = write_html(folder / "report.html", results, comparisons, [], title="t", about={})
    return parse(path.read_text(encoding="utf-8"))


def interval(figure: Figure) -> str:
    return span(percent(figure.low), percent(figure.high))


def result_rows(tree: Element) -> list[Element]:
    return [row for row in tree.by_id("results").one("table", "results").all("tr") if row.all("td")]


def test_every_cell_of_the_result_table_is_its_figure(tmp_path: Path) -> None:
    runs = [made_run(PAIRS, name, skill=skill, unread=0.2).result for name, skill in (("a", 0.3), ("b", 0.6))]
    for row, result in zip(result_rows(page_of(tmp_path, runs)), runs, strict=True):
        figures = [result.overall.figures["validity"], result.paper_average, result.macro_average]
        figures += [result.column(task) for task in TASKS]
        assert row.one("th").text == result.run
        for cell, figure in zip(row.all("td"), figures, strict=True):
            assert figure is not None
            assert cell.one(class_="v").text.removesuffix(" (best)") == percent(figure.value)
            assert cell.one(class_="i").text == interval(figure)
            assert cell.attributes["title"] == f"over {figure.count} answers"


def test_validity_stands_beside_every_task(tmp_path: Path) -> None:
    result = made_run(PAIRS, "run", unread=0.4).result
    (row,) = result_rows(page_of(tmp_path, [result]))
    groups = {group.name: group for group in result.groups if group.dimension == "task"}
    told = [cell.one(class_="r").text for cell in row.all("td")[3:]]
    assert told == [f"read {percent(groups[task].figures['validity'].value, 0)} %" for task in TASKS]
    assert len(set(told)) > 1


def test_rows_go_by_kind_then_family_and_size_and_baselines_last(tmp_path: Path) -> None:
    given = [
        ("oracle", {"kind": "baseline"}),
        ("native", {"kind": "3d_native"}),
        ("B-8", {"family": "B", "size_billion": 8}),
        ("unsized", {"family": "B"}),
        ("B-32", {"family": "B", "size_billion": 32}),
        ("B-32 (blind)", {"family": "B", "size_billion": 32, "blind": True}),
        ("B-8 (blind)", {"family": "B", "size_billion": 8, "blind": True}),
        ("words", {"kind": "text_only", "blind": True}),
        ("medical", {"kind": "2d_medical"}),
        ("random", {"kind": "baseline"}),
        ("A-70", {"family": "a", "size_billion": 70}),
        ("always_a", {"kind": "baseline"}),
        ("frequency", {"kind": "baseline"}),
    ]
    tree = page_of(tmp_path, [made_run(PAIRS, name, **fields).result for name, fields in given])
    rows = [row.one("th") for row in tree.by_id("results").one("table", "results").one("table").all("tr")[1:]]
    told = [row.text.split(" ")[0] if row.attributes["scope"] == "row" else f"# {row.text}" for row in rows]
    assert told == [
        *("# 2D general", "A-70", "B-8", "B-32", "unsized", "# 2D medical", "medical", "# Native 3D", "native"),
        *("# Text only", "words", "# Without the image", "B-8", "B-32"),
        *("# Baselines", "random", "always_a", "frequency", "oracle"),
    ]


def test_the_best_model_of_a_column_is_marked_and_no_baseline(tmp_path: Path) -> None:
    def with_average(name: str, value: float, **fields: object) -> RunResult:
        return made_run(PAIRS, name, **fields).result.model_copy(  # type: ignore[arg-type]
            update={"paper_average": Figure(value=value, count=9)}
        )

    runs = [with_average("a", 0.4001), with_average("b", 0.4004), with_average("c", 0.3)]
    tree = page_of(tmp_path, [*runs, with_average("oracle", 1.0, kind="baseline")])
    marked = {row.one("th").text: "best" in row.all("td")[1].classes for row in result_rows(tree)}
    assert marked == {"a": True, "b": True, "c": False, "oracle": False}  # equal as shown is equally good


def test_one_model_alone_is_not_called_the_best(tmp_path: Path) -> None:
    tree = page_of(tmp_path, [made_run(PAIRS, "only").result, made_run(PAIRS, "random", kind="baseline").result])
    assert not tree.all("td", "best")


def test_the_details_hold_every_figure_of_every_group(tmp_path: Path) -> None:
    runs = [made_run(PAIRS, "a").result, made_run(PAIRS, "b", skill=0.9).result]
    every = {name: Figure(value=0.1234, low=0.1, high=0.2, count=54) for name in FIGURES}
    runs[0] = runs[0].model_copy(update={"overall": runs[0].overall.model_copy(update={"figures": every})})
    tables = page_of(tmp_path, runs).by_id("details").all("table")
    overall = {row.one("th").text: [td.text for td in row.all("td")] for row in tables[0].one("tbody").all("tr")}
    for name in FIGURES:
        shown = "0.12 0.10\N{EN DASH}0.20 n 54" if name == "median_log10_ratio" else "12.3 10.0\N{EN DASH}20.0 n 54"
        assert overall[FIGURE_NAMES[name]][0] == shown
    organs = next(table for table in tables if table.one("caption").text == "By organ")
    rows = {row.one("th").text: row.all("td") for row in organs.one("tbody").all("tr")}
    for place, result in enumerate(runs):
        for group in result.groups:
            if group.dimension == "organ":
                figure = group.figures["accuracy_all"]
                cell = rows[f"{group.name}, accuracy"][place].text
                assert cell == f"{percent(figure.value)} {interval(figure)} n {figure.count}"


def test_blind_gain_and_rotations_are_told_where_there_are_any(tmp_path: Path) -> None:
    result = made_run(PAIRS, "a").result
    none = page_of(tmp_path, [result]).by_id("details").all("table")[0].text
    gain = Figure(value=-0.05, low=-0.1, high=0.0, count=45)
    told = page_of(tmp_path, [result.model_copy(update={"blind_gain": gain, "circular_accuracy": gain})])
    assert "Blind gain" not in none
    assert (
        "Blind gain: accuracy minus that without the image \N{MINUS SIGN}5.0 \N{MINUS SIGN}10.0 to 0.0 n 45"
        in told.by_id("details").text
    )
    assert "CircularEval: right in every rotation" in told.by_id("details").text


def test_models_stand_with_and_without_the_image_beside_each_other(tmp_path: Path) -> None:
    gain = Figure(value=0.2, low=0.1, high=0.3, count=45)
    seeing = made_run(PAIRS, "m", skill=0.9, blind_gain=gain).result
    blind = made_run(PAIRS, "m (blind)", skill=0.2, blind=True, model="m").result
    section = page_of(tmp_path, [blind, seeing]).by_id("results")
    table = next(each for each in section.all("table") if each.one("caption").text == "With and without the image")
    (row,) = table.one("tbody").all("tr")
    values = [percent(run.overall.figures["accuracy_all"].value) for run in (seeing, blind)]
    assert [cell.text.split()[0] for cell in row.all("td")] == [*values, "+20.0"]
    assert "With and without the image" not in page_of(tmp_path, [made_run(PAIRS, "m").result]).text


def test_circular_accuracy_stands_beside_that_of_the_first_rotation(tmp_path: Path) -> None:
    figures = {
        "circular_accuracy": Figure(value=0.25, count=45),
        "rotation_consistency": Figure(value=0.5, count=45),
    }
    result = made_run(PAIRS, "m").result.model_copy(update=figures)
    section = page_of(tmp_path, [result, made_run(PAIRS, "n").result]).by_id("results")
    table = next(each for each in section.all("table") if "CircularEval" in each.one("caption").text)
    (row,) = table.one("tbody").all("tr")
    first = percent(result.overall.figures["accuracy_all"].value)
    assert [cell.text.split()[0] for cell in row.all("td")] == [first, "25.0", "50.0"]


def test_a_silent_baseline_has_not_failed(tmp_path: Path) -> None:
    result = made_run(PAIRS, "frequency", kind="baseline").result
    counts = result.counts.model_copy(update={"failed": {"empty": 1}, "reasons": {}})
    section = page_of(tmp_path, [result.model_copy(update={"counts": counts})]).by_id("outcomes")
    assert "no answer: the other questions tell a baseline nothing 1" in section.text
    assert "no usable reply: empty" not in section.text


def test_the_page_and_the_table_for_a_paper_have_one_order(tmp_path: Path) -> None:
    given: list[tuple[str, dict[str, Any]]] = [
        ("oracle", {"kind": "baseline"}),
        ("A-30 (blind)", {"size_billion": 30, "family": "A", "blind": True}),
        ("A-4 (blind)", {"size_billion": 4, "family": "A", "blind": True}),
        ("random", {"kind": "baseline"}),
        ("words", {"kind": "text_only", "blind": True}),
        ("A-30", {"size_billion": 30, "family": "A"}),
        ("A-4", {"size_billion": 4, "family": "A"}),
    ]
    runs = [made_run(PAIRS, name, **fields).result for name, fields in given]
    rows = [row.one("th").one(class_="run").text for row in result_rows(page_of(tmp_path, runs))]
    assert rows == ["A-4", "A-30", "words", "A-4 (blind)", "A-30 (blind)", "random", "oracle"]
    lines = markdown(runs).splitlines()[2:9]
    assert [line.split(" | ")[0].removeprefix("| ") for line in lines] == rows


def test_comparisons_stand_by_task_with_their_corrected_p(tmp_path: Path) -> None:
    runs = [made_run(PAIRS, name).result for name in ("a", "b")]
    made = [made_comparison("a", "b", "all", 0.1, 0.0004), made_comparison("a", "b", "EXT", -0.02, 0.8)]
    (row,) = (r for r in page_of(tmp_path, runs, made).by_id("comparisons").all("tr") if r.all("td"))
    assert row.one("th").text == "a minus b"
    cells = row.all("td")
    assert [cell.one(class_="head").text for cell in cells] == ["All", *TASKS]
    assert cells[0].text == "All +10.0 (p below 0.05) 4.0\N{EN DASH}16.0 p < 0.001"
    assert "best" in cells[0].classes
    assert cells[3].text == "EXT \N{MINUS SIGN}2.0 \N{MINUS SIGN}8.0 to 4.0 p 0.80"
    assert "best" not in cells[3].classes
    assert {cell.one(class_="v").text for place, cell in enumerate(cells) if place not in (0, 3)} == {"\N{EN DASH}"}


def test_cost_and_speed_are_those_of_the_run(tmp_path: Path) -> None:
    runs = [
        made_run(PAIRS, "asked", spent=example_spent(252.0)).result,
        made_run(PAIRS, "cached", spent=Spent(calls=5, cached=5)).result,
        made_run(PAIRS, "random", kind="baseline").result,
    ]
    rows = page_of(tmp_path, runs).by_id("cost").one("tbody").all("tr")
    told = {row.one("th").text: [td.text for td in row.all("td")] for row in rows}
    assert told == {
        "asked": ["96", "12", "1 204 332", "8 120", "4 min 12 s", "3.0 s", "0.42 USD"],
        "cached": ["5", "5", "\N{EN DASH}", "\N{EN DASH}", "\N{EN DASH}", "\N{EN DASH}", "\N{EN DASH}"],
    }


@pytest.mark.parametrize(
    ("fields", "fact", "text"),
    [
        (
            {"views": "32 axial slices, window level 40, width 400 HU"},
            "Views",
            "32 axial slices, window level 40, width 400 HU",
        ),
        ({"preset": "json"}, "Prompt preset", "json"),
        ({"parser_version": "7"}, "Parser", "7"),
    ],
)
def test_br_200_what_shapes_a_run_stands_above_its_numbers(
    tmp_path: Path, fields: dict[str, str], fact: str, text: str
) -> None:
    facts = page_of(tmp_path, [made_run(PAIRS, "a", **fields).result]).one("dl")
    assert {div.one("dt").text: div.one("dd").text for div in facts.all("div")}[fact] == text
