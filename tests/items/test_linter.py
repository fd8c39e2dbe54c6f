"""The linter's rules one by one, on anybody's items: published weak spots, reported faults, forms of files, biases."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pytest
from scipy import stats

from monai_spatialqa.errors import FileReadError, SettingsError
from monai_spatialqa.items import lint_file
from monai_spatialqa.items.lint_input import lint_items, read_rows
from monai_spatialqa.items.lint_item import RULES, LintOptions, item_rule
from monai_spatialqa.items.linter import lint_item_file, lint_records, lint_rows
from monai_spatialqa.items.wording import shown_value

WEAK = Path(__file__).parent / "weak_items.json"


def rules_of(options, answer="A", question="What is it?", **fields):
    report = lint_rows([{"question": question, "options": options, "answer": answer, **fields}])
    return set(report.per_rule())


@pytest.mark.parametrize("row", read_rows(WEAK), ids=lambda row: row["id"])
def test_weak_spots_of_published_items_are_flagged(row):
    report = lint_rows([row])
    found = {finding.rule for finding in report.findings if finding.severity == "error"}
    assert set(row["expected"]) <= found
    for finding in report.findings:
        assert finding.message.startswith(f"item {row['id']} (row 1): {finding.rule}: ")
        assert all((finding.field, finding.found, finding.expected))


@pytest.mark.parametrize(
    ("options", "answer"),
    [
        (["105 cm³", "84 cm³", "126 cm³", "160 cm³"], "A"),
        (["less than 50 ml", "50 ml or more, but less than 70 ml", "70 ml or more"], "B"),
        (["0-50 ml", "51-70 ml", "71-90 ml", "more than 90 ml"], "B"),
        (["< 10 %", "10 % or more"], "A"),
        (["liver", "spleen", "left kidney", "right kidney"], "spleen"),
        (["7 pieces", "8 pieces", "9 pieces", "10 pieces"], "B"),
        (["120 × 80 × 60 mm", "80 × 120 × 60 mm", "60 × 80 × 120 mm"], "A"),  # noqa: RUF001
        (["right rib 11", "right rib 12", "left rib 11", "left rib 12"], "A"),
        (["L1 vertebra", "L2 vertebra", "L3 vertebra", "L4 vertebra"], "A"),
        (["superior", "inferior", "left", "right"], "C"),
        (["yes", "no"], "yes"),
        (["Yes", "No"], "A"),
        (["2.31 times", "3.1 times", "4.4 times"], "A"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_sound_options_pass(options, answer):
    assert not rules_of(options, answer)


@pytest.mark.parametrize(
    "options",
    [
        ["less than 0.076 times", "0.095 times or more, but less than 0.3 times", "0.3 times or more"],
        ["0-50 ml", "52-70 ml", "more than 70 ml"],
        ["less than 50 ml", "50 ml or more, but less than 70 ml"],
        ["50 ml or more, but less than 70 ml", "70 ml or more"],
        ["less than 20 %", "20-90 %"],
    ],
    ids=str,
)
def test_intervals_that_leave_values_out(options):
    assert rules_of(options) == {"intervals_not_exhaustive"}


def test_br_167_options_that_look_equal_are_rejected():
    one, other = (shown_value(value, "ml", places=1) for value in (1449.96, 1450.04))
    assert one == other
    assert "equal_options" in rules_of([one, other, "900 ml", "2100 ml"])
    assert "equal_options" in rules_of(["1450 ml", "1450.0  mL", "900 ml", "2100 ml"])
    assert "equal_options" in rules_of(["1.45 l", "1450 ml", "900 ml", "2100 ml"])
    assert "equal_options" in rules_of(["Left kidney", "left  kidney", "spleen"])
    assert "near_options" in rules_of(["1449.96 ml", "1450.04 ml", "900 ml", "2100 ml"])


@pytest.mark.parametrize(
    "text",
    [
        "all of the above",
        "None of the above",
        "both A and B",
        "A and C",
        "Neither A nor B",
        "B or C only",
        "A, B and D",
    ],
)
def test_br_173_options_that_hang_on_the_order_are_rejected(text):
    assert "order_dependent_option" in rules_of(["liver", "spleen", "stomach", text])


def test_br_175_a_key_that_is_not_the_measurement_is_rejected(valid_pairs, measured):
    """A yes for a count or a value, and any other key than the one that is computed."""
    assert "key_missing" in rules_of(["2 lesions", "3 lesions", "5 lesions"], answer="Yes")
    item, reference = next(pair for pair in valid_pairs if pair[0].format == "numeric")
    said_yes = reference.model_copy(update={"answer": "Yes", "answer_text": "Yes"})
    found = lint_records([item], [said_yes], measured).per_rule()
    assert {"key_not_a_quantity", "answer_differs"} <= found.keys()
    for item, reference in valid_pairs[:40]:
        assert lint_records([item], [reference], measured).clean
        for at, text in enumerate(item.options):
            if text != reference.answer_text:
                letter = text if item.format == "yesno" else "ABCD"[at]
                other = reference.model_copy(update={"answer": letter, "answer_text": text, "distractors": []})
                assert "answer_differs" in lint_records([item], [other], measured).per_rule()


def test_br_178_a_malformed_item_is_rejected_with_the_field_named(valid_pairs):
    item, reference = next(pair for pair in valid_pairs if pair[0].format == "mca")
    row, answer = item.model_dump(mode="json"), reference.model_dump(mode="json")
    three = lint_rows([row | {"options": row["options"][:3]}], [answer], options=LintOptions(options=4))
    assert [(f.field, f.found) for f in three.findings if f.rule == "option_count"] == [("options", "3 options")]
    number = lint_rows([row | {"options": [*row["options"][:3], 12]}], [answer])
    assert [f.field for f in number.findings if f.rule == "malformed_item"] == ["options.3"]
    key = lint_rows([row], [answer | {"answer": "E"}])
    assert [(f.field, f.found) for f in key.findings if f.rule == "key_missing"] == [("answer", "E")]
    anybody = lint_rows([{"question": "How long?", "options": ["1 mm", "2 mm", 3], "answer": "E"}])
    assert {(f.rule, f.field) for f in anybody.findings} >= {("malformed_item", "options.C"), ("key_missing", "answer")}


def test_names_of_structures_do_not_give_a_side_away(valid_pairs):
    assert "key_in_question" in rules_of(["left", "right", "both"], "A", "On which side does the left kidney lie?")
    assert "key_in_question" in rules_of(["34 mm", "60 mm"], "A", "Where does it end, after 3.4 cm?")
    assert "key_in_question" not in rules_of(["liver", "spleen"], "A", "Is the liver or the spleen larger?")


def test_answers_are_read_as_letter_or_text():
    options = ["34 mm", "60 mm", "90 mm"]
    for answer in ("B", "b", "(B)", "B.", "60 mm", "60  MM", "B. 60 mm", "B) 60 mm"):
        assert not rules_of(options, answer), answer
    for answer, rule in {"": "key_missing", "D": "key_missing", "70 mm": "key_missing", "A, C": "key_double"}.items():
        assert rules_of(options, answer) == {rule}, answer
    assert rules_of(options, ["A", "B"]) == {"key_double"}
    assert rules_of(options, 1) == {"malformed_item", "key_missing"}
    assert rules_of(["liver", "Liver"], "liver") == {"equal_options", "key_double"}


def test_forms_of_files_are_the_same_items(tmp_path):
    rows = [
        {"id": "a", "question": "How long is it?", "options": ["34 mm", "60 mm"], "answer": "B"},
        {"id": "b", "question": "Größe?", "options": ["less than 5 ml", "5 ml or more"], "answer": "A"},
    ]
    forms = {
        "list.json": json.dumps(rows),
        "wrapped.json": json.dumps({"version": 1, "data": rows}),
        "lines.jsonl": "\n".join(json.dumps(row) for row in rows),
        "letters.json": json.dumps([{**r, "options": dict(zip("AB", r["options"], strict=True))} for r in rows]),
        "marked.json": json.dumps([{**r, "options": [f"A. {r['options'][0]}", f"B. {r['options'][1]}"]} for r in rows]),
        "columns.csv": "ID,Question,A,B,Answer\na,How long is it?,34 mm,60 mm,B\n"
        "b,Größe?,less than 5 ml,5 ml or more,A\n",
        "bars.csv": "id,question,choices,gt\na,How long is it?,34 mm|60 mm,B\nb,Größe?,less than 5 ml|5 ml or more,A\n",
        "tabs.tsv": "id\tquestion\toption_a\toption_b\tkey\n"
        "a\tHow long is it?\t34 mm\t60 mm\tB\nb\tGröße?\tless than 5 ml\t5 ml or more\tA\n",
    }
    seen = set()
    for name, text in forms.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
        items, orphans = lint_items(read_rows(tmp_path / name))
        assert not orphans
        seen.add(tuple((i.item_id, i.question, i.options, i.letters, i.answers, i.key, i.malformed) for i in items))
        assert lint_item_file(tmp_path / name).clean, name
    assert len(seen) == 1


def test_rows_that_are_no_items_are_told_and_files_without_any_are_refused(tmp_path):
    path = tmp_path / "items.jsonl"
    path.write_text('{"question": "How long?", "options": ["1 mm", "2 mm"], "answer": "A"}\n{"question": \n', "utf-8")
    (finding,) = [f for f in lint_item_file(path).findings if f.rule == "malformed_item"]
    assert (finding.row, finding.field) == (2, "row")
    path.write_text("nothing of the kind\n", "utf-8")
    with pytest.raises(FileReadError, match=r"items\.jsonl"):
        lint_item_file(path)
    with pytest.raises(FileReadError, match=r"none\.json"):
        lint_item_file(tmp_path / "none.json")
    with pytest.raises(SettingsError, match="items of this package only"):
        lint_rows([{"question": "?", "answer": "A"}], [{"item_id": "x"}])


def _file(keys, options=("23 mm", "63 mm", "98 mm", "10 mm")):
    return [
        {"question": f"How long is number {at}?", "options": list(options), "answer": key}
        for at, key in enumerate(keys)
    ]


def test_bias_of_the_key_position_is_told_with_its_band():
    fair = _file(Random(1).choices("ABCD", k=400))
    assert lint_rows(fair).clean
    skewed = _file("A" * 125 + "B" * 95 + "C" * 90 + "D" * 90)
    (finding,) = lint_rows(skewed).findings
    assert (finding.rule, finding.severity, finding.item_id) == ("key_position_bias", "warning", None)
    assert "A 125" in finding.message
    (strong,) = lint_rows(_file("B" * 60)).findings
    assert (strong.rule, strong.severity) == ("key_position_strong_bias", "error")
    assert lint_rows(_file("B" * 39)).clean, "too few to say"


def test_bias_of_option_length_in_either_direction():
    options = ["short", "a much longer option", "middle one", "mid"]
    for chosen, rule in {"B": "option_length_strong_bias", "A": "option_length_strong_bias"}.items():
        rows = []
        for at in range(80):
            turned = options[at % 4 :] + options[: at % 4]
            answer = "ABCD"[turned.index(options["ABCD".index(chosen)])]
            rows.append({"question": f"Which is number {at}?", "options": turned, "answer": answer})
        assert set(lint_rows(rows).per_rule()) == {rule}
    random = Random(3)
    fair = [
        {"question": f"Which is number {at}?", "options": random.sample(options, 4), "answer": "ABCD"[at % 4]}
        for at in range(400)
    ]
    assert lint_rows(fair).clean


def test_bands_are_those_of_the_distributions():
    for at in range(7):
        assert lint_file.CHI_SQUARE_95[at] == pytest.approx(stats.chi2.ppf(0.95, at + 1), abs=6e-4)
        assert lint_file.CHI_SQUARE_999[at] == pytest.approx(stats.chi2.ppf(0.999, at + 1), abs=6e-4)
    for count, chance in ((40, 0.25), (400, 0.25), (1000, 0.5), (97, 1 / 3)):
        low, high = stats.binom.interval(0.95, count, chance)
        assert lint_file._band([chance] * count, 0.95) == (low, high)


def test_the_report_is_strict_json_and_a_table():
    report = lint_rows([*read_rows(WEAK), *_file("A" * 60)])
    rows = report.item_rows()
    assert [row["row"] for row in rows] == list(range(1, len(rows) + 1))
    assert json.loads(json.dumps(rows, allow_nan=False)) == rows
    summary = report.as_dict()
    assert summary["items"] == len(rows)
    assert summary["errors"] == report.count("error") == sum(row["errors"] for row in rows) + len(summary["file"])
    table = report.table()
    assert all(rule in table for rule in report.per_rule())
    assert table.splitlines()[0].startswith(f"{len(rows)} items: {report.count('error')} errors")
    assert max(map(len, table.splitlines())) < 250


def test_every_rule_has_a_sentence_and_a_unique_id():
    for rule in RULES.values():
        assert rule.about.endswith(".")
        assert (rule.check is None) != (rule.check_file is None)
    with pytest.raises(SettingsError, match="equal_options"):

        @item_rule("error")
        def equal_options(item, context):
            """Again."""
            yield from ()


def test_references_without_an_item_are_told(valid_pairs):
    items, references = zip(*valid_pairs[:3], strict=True)
    report = lint_records(items[:2], references)
    assert [f.found for f in report.findings if f.rule == "orphan_reference"] == [references[2].item_id]
