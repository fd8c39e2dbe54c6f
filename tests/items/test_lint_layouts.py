"""Every common layout of items is understood, and one that is not is said to be so: nothing passes unread."""

from __future__ import annotations

import json

import pytest

from monai_spatialqa.errors import FileReadError
from monai_spatialqa.items.lint_input import lint_items, read_rows
from monai_spatialqa.items.linter import lint_item_file, lint_rows

OPTIONS = ("34 mm", "60 mm", "90 mm", "15 mm")


def the_item(path):
    (item,), _ = lint_items(read_rows(path))
    return item


@pytest.mark.parametrize(
    "columns",
    [
        ("A", "B", "C", "D"),
        ("a", "b", "c", "d"),
        ("option1", "option2", "option3", "option4"),
        ("option0", "option1", "option2", "option3"),
        ("Option 1", "Option 2", "Option 3", "Option 4"),
        ("option_a", "option_b", "option_c", "option_d"),
        ("OptionA", "OptionB", "OptionC", "OptionD"),
        ("opt_1", "opt_2", "opt_3", "opt_4"),
        ("choice1", "choice2", "choice3", "choice4"),
        ("choice (a)", "choice (b)", "choice (c)", "choice (d)"),
        ("1", "2", "3", "4"),
    ],
    ids=lambda columns: columns[0],
)
@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_options_in_columns(tmp_path, columns, delimiter):
    path = tmp_path / "items.csv"
    rows = (("question", *columns, "answer", "reviewer"), ("How long?", *OPTIONS, "60 mm", "me"))
    path.write_text("\n".join(delimiter.join(row) for row in rows), "utf-8")
    item = the_item(path)
    assert item.options == OPTIONS
    assert item.keys == (1,)
    assert not item.malformed


@pytest.mark.parametrize(
    ("columns", "answer", "key"),
    [
        (("option1", "option2", "option3"), "B", 1),
        (("option1", "option2", "option3"), "2", 1),
        (("option1", "option2", "option3"), "option2", 1),
        (("option0", "option1", "option2"), "0", 0),
        (("option_a", "option_b", "option_c"), "option_c", 2),
        (("option_a", "option_b", "option_c"), "Option C", 2),
        (("A", "B", "C"), "the option (b)", 1),
    ],
)
def test_an_answer_names_its_column(columns, answer, key):
    row = {"question": "How long?", **dict(zip(columns, OPTIONS, strict=False)), "answer": answer}
    (item,), _ = lint_items([row])
    assert item.keys == (key,)


@pytest.mark.parametrize(
    "text",
    [
        '["34 mm", "60 mm", "90 mm", "15 mm"]',
        "['34 mm', '60 mm', '90 mm', '15 mm']",
        "('34 mm', '60 mm', '90 mm', '15 mm')",
        "{'A': '34 mm', 'B': '60 mm', 'C': '90 mm', 'D': '15 mm'}",
        "34 mm | 60 mm | 90 mm | 15 mm",
        "34 mm; 60 mm; 90 mm; 15 mm",
        "A. 34 mm, B. 60 mm, C. 90 mm, D. 15 mm",
        "A) 34 mm B) 60 mm C) 90 mm D) 15 mm",
        "(A) 34 mm\n(B) 60 mm\n(C) 90 mm\n(D) 15 mm",
    ],
)
def test_options_in_one_text(text):
    (item,), _ = lint_items([{"question": "How long?", "options": text, "answer": "B"}])
    assert (item.options, item.key, item.malformed) == (OPTIONS, "60 mm", ())


def test_columns_that_may_be_options_are_named():
    row = {"question": "How long?", "distractor1": "3 mm", "distractor2": "9 mm", "correct_answer": "5 mm"}
    (finding,) = lint_rows([row]).findings
    assert (finding.rule, finding.field) == ("malformed_item", "options")
    assert "distractor1, distractor2" in finding.found
    assert lint_rows([{"question": "How long?", "remark": "3 mm", "answer": "5 mm"}]).clean


def test_cells_without_a_column_are_told(tmp_path):
    path = tmp_path / "items.csv"
    path.write_text("question,A,B,answer\nHow long, roughly?,1 mm,2 mm,B\n", "utf-8")
    assert any("cells beyond the last column: B" in finding.message for finding in lint_item_file(path).findings)


@pytest.mark.parametrize("nested", [False, True])
def test_items_by_id(tmp_path, nested):
    items = {f"q{at}": {"question": f"How long is {at}?", "options": OPTIONS, "answer": "A"} for at in range(2)}
    path = tmp_path / "items.json"
    path.write_text(json.dumps({"items": items} if nested else items), "utf-8")
    found, _ = lint_items(read_rows(path))
    assert [(item.item_id, item.key) for item in found] == [("q0", "34 mm"), ("q1", "34 mm")]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", ""),
        ("a.csv", "question,A,B,answer\n"),
        ("a.tsv", "\n\n"),
        ("a.json", ""),
        ("a.json", "[]"),
        ("a.json", '{"items": []}'),
        ("a.jsonl", "\n\n"),
        ("a.json", "[1, 2]"),
    ],
)
def test_a_file_without_items_is_an_error(tmp_path, name, content):
    path = tmp_path / name
    path.write_text(content, "utf-8")
    with pytest.raises(FileReadError, match="holds no items"):
        lint_item_file(path)
