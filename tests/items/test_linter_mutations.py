"""The linter finds every one of 1,000 faults put into valid items, and nothing in the items before."""

from __future__ import annotations

import copy
import json
from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from monai_spatialqa.items.lint_input import lint_items
from monai_spatialqa.items.lint_item import LintOptions
from monai_spatialqa.items.linter import lint, lint_records
from monai_spatialqa.items.quantities_in_text import read_text
from monai_spatialqa.items.view import CaseView
from monai_spatialqa.records import Measurement
from monai_spatialqa.records.item import LETTERS

FAULTS = 1000
OPTIONS = LintOptions(options=4)
Row = dict[str, Any]
Mutation = Callable[[Row, Row, Random], bool | None]
"""Changes an item and its reference in place; False where it does not fit the item."""

MUTATIONS: dict[str, tuple[str, Mutation]] = {}


def mutation(rule: str) -> Callable[[Mutation], Mutation]:
    def register(change: Mutation) -> Mutation:
        MUTATIONS[change.__name__] = (rule, change)
        return change

    return register


def is_choice(item: Row) -> bool:
    return bool(item["format"] == "mca")


def is_value(item: Row) -> bool:
    readings = [read_text(option) for option in item["options"]]
    return is_choice(item) and all(r.whole and not r.interval and len(r.quantities) == 1 for r in readings)


def is_interval(item: Row) -> bool:
    return is_choice(item) and all(read_text(option).interval for option in item["options"])


def key_at(reference: Row) -> int:
    return LETTERS.index(reference["answer"])


def some_wrong(item: Row, reference: Row, random: Random) -> int:
    return random.choice([at for at in range(len(item["options"])) if at != key_at(reference)])


def replace_option(item: Row, reference: Row, at: int, text: str) -> None:
    """Everywhere, so that only the text is wrong."""
    old = item["options"][at]
    item["options"][at] = text
    if reference["answer_text"] == old:
        reference["answer_text"] = text
    for wrong in reference["distractors"]:
        wrong["text"] = text if wrong["text"] == old else wrong["text"]


@mutation("answer_differs")
def another_key(item: Row, reference: Row, random: Random) -> bool | None:
    if not is_choice(item):
        return False
    at, old = some_wrong(item, reference, random), key_at(reference)
    reference["answer"], reference["answer_text"] = LETTERS[at], item["options"][at]
    for wrong in reference["distractors"]:
        wrong["text"] = item["options"][old] if wrong["text"] == item["options"][at] else wrong["text"]
    return None


@mutation("answer_differs")
def the_other_of_yes_and_no(item: Row, reference: Row, random: Random) -> bool | None:
    if item["format"] != "yesno":
        return False
    answers = {"yes": "no", "no": "yes"}
    reference["answer"] = reference["answer_text"] = answers[reference["answer"]]
    reference["distractors"] = []
    return None


@mutation("answer_differs")
def another_number(item: Row, reference: Row, random: Random) -> bool | None:
    if item["format"] != "numeric":
        return False
    reference["answer_value"] *= 1.3
    return None


@mutation("key_not_its_text")
def a_letter_without_its_text(item: Row, reference: Row, random: Random) -> bool | None:
    if not is_choice(item):
        return False
    reference["answer"] = LETTERS[some_wrong(item, reference, random)]
    return None


@mutation("key_missing")
def a_letter_too_far(item: Row, reference: Row, random: Random) -> bool | None:
    if not is_choice(item):
        return False
    reference["answer"] = random.choice(["E", "F", "Z", "1"])
    return None


@mutation("key_missing")
def no_answer(item: Row, reference: Row, random: Random) -> bool | None:
    reference["answer"] = ""
    return bool(item["options"])


@mutation("key_double")
def two_answers(item: Row, reference: Row, random: Random) -> bool | None:
    if not is_choice(item):
        return False
    reference["answer"] = random.choice(["A, B", "B and D", "A or C"])
    return None


@mutation("equal_options")
def the_key_with_other_spaces(item: Row, reference: Row, random: Random) -> bool | None:
    if not is_choice(item):
        return False
    text = item["options"][key_at(reference)]
    doubled = text.replace(" ", "  ") if " " in text else text + " "
    replace_option(item, reference, some_wrong(item, reference, random), doubled)
    return None


@mutation("equal_options")
def the_key_in_another_unit(item: Row, reference: Row, random: Random) -> bool | None:
    if not is_value(item):
        return False
    (one,) = read_text(item["options"][key_at(reference)]).quantities
    if one.unit not in ("mm", "ml"):
        return False
    text = f"{one.value / 10} cm" if one.unit == "mm" else f"{one.value / 1000} l"
    replace_option(item, reference, some_wrong(item, reference, random), text)
    return None


@mutation("near_options")
def nearly_the_key(item: Row, reference: Row, random: Random) -> bool | None:
    if not is_value(item):
        return False
    (one,) = read_text(item["options"][key_at(reference)]).quantities
    value = float(one.value) * random.choice([1.01, 0.97, 1.06])
    if abs(value - float(one.value)) <= float(one.step) / 2:  # the same as shown: that is another fault
        return False
    replace_option(item, reference, some_wrong(item, reference, random), f"{value:.4f} {one.unit or ''}".strip())
    return None


@mutation("filler_option")
def a_filler(item: Row, reference: Row, random: Random) -> bool | None:
    if not is_choice(item):
        return False
    fillers = [
        "cannot compare",
        "about equal",
        "Cannot be determined",
        "roughly the same size",
        "Not enough information",
    ]
    replace_option(item, reference, some_wrong(item, reference, random), random.choice(fillers))
    return None


@mutation("order_dependent_option")
def an_option_about_options(item: Row, reference: Row, random: Random) -> bool | None:
    if not is_choice(item):
        return False
    texts = ["all of the above", "None of the above.", "both A and B", "A and C", "neither B nor C", "options A and D"]
    replace_option(item, reference, some_wrong(item, reference, random), random.choice(texts))
    return None


@mutation("overlapping_intervals")
def an_interval_that_reaches_into_the_next(item: Row, reference: Row, random: Random) -> bool | None:
    if not is_interval(item):
        return False
    (top,) = read_text(item["options"][0]).quantities
    replace_option(item, reference, 0, f"less than {float(top.value) * 1.1:g} {top.unit}")
    return None


@mutation("intervals_not_exhaustive")
def an_interval_that_ends_early(item: Row, reference: Row, random: Random) -> bool | None:
    if not is_interval(item):
        return False
    (top,) = read_text(item["options"][0]).quantities
    value = top.value - max(2 * top.step, top.value / 5)
    if value <= 0:
        return False
    replace_option(item, reference, 0, f"less than {value:f} {top.unit}")
    return None


@mutation("unit_missing")
def numbers_alone(item: Row, reference: Row, random: Random) -> bool | None:
    if not is_value(item):
        return False
    readings = [read_text(option).quantities[0] for option in item["options"]]
    if any(one.unit in (None, "times") for one in readings):
        return False
    for at, one in enumerate(readings):
        replace_option(item, reference, at, str(one.value))
    return None


@mutation("unit_missing")
def one_number_alone(item: Row, reference: Row, random: Random) -> bool | None:
    if not is_value(item):
        return False
    at = some_wrong(item, reference, random)
    (one,) = read_text(item["options"][at]).quantities
    replace_option(item, reference, at, str(one.value))
    return one.unit is not None


@mutation("voxel_units")
def voxels(item: Row, reference: Row, random: Random) -> bool | None:
    if not is_value(item):
        return False
    unit = random.choice(["voxels", "pixels", "slices"])
    for at, option in enumerate(item["options"]):
        replace_option(item, reference, at, f"{read_text(option).quantities[0].value} {unit}")
    return None


@mutation("voxel_units")
def asked_in_voxels(item: Row, reference: Row, random: Random) -> bool | None:
    item["question"] = item["question"].rstrip("?.") + ", in voxels?"
    return None


@mutation("mixed_units")
def one_option_in_another_unit(item: Row, reference: Row, random: Random) -> bool | None:
    if not is_value(item):
        return False
    at = some_wrong(item, reference, random)
    (one,) = read_text(item["options"][at]).quantities
    if one.unit not in ("mm", "ml"):
        return False
    replace_option(item, reference, at, f"{one.value / 10} cm" if one.unit == "mm" else f"{one.value} cm3")
    return None


@mutation("key_in_question")
def the_key_in_the_question(item: Row, reference: Row, random: Random) -> bool | None:
    if not is_choice(item) or item["options"][0].count(",") or is_interval(item):
        return False
    item["question"] = f"Knowing that it is {reference['answer_text']}: {item['question']}"
    return None


@mutation("unknown_structure")
def a_structure_of_another_scan(item: Row, reference: Row, random: Random) -> bool | None:
    item["structures"][0] = "spleen_of_somebody_else"
    return None


@mutation("unknown_case")
def another_case(item: Row, reference: Row, random: Random) -> bool | None:
    item["case"]["case_id"] = "somebody-else"
    return None


@mutation("evidence_differs")
def evidence_of_another_value(item: Row, reference: Row, random: Random) -> bool | None:
    random.choice([each for each in reference["evidence"] if each["value"]])["value"] *= 1.001  # nothing changes a zero
    return None


@mutation("evidence_differs")
def evidence_of_an_unknown_tool(item: Row, reference: Row, random: Random) -> bool | None:
    reference["evidence"][0]["tool"] = "crystal_ball"
    return None


@mutation("reference_missing")
def no_evidence(item: Row, reference: Row, random: Random) -> bool | None:
    reference["evidence"] = []
    return None


@mutation("reference_missing")
def no_reference(item: Row, reference: Row, random: Random) -> bool | None:
    reference["item_id"] = "none"
    return None


@mutation("key_not_robust")
def within_half_a_voxel(item: Row, reference: Row, random: Random) -> bool | None:
    reference["margin"] = random.choice([0.0, 0.4, 1.0])
    return bool(item["format"] != "numeric")


@mutation("option_count")
def an_option_too_few(item: Row, reference: Row, random: Random) -> bool | None:
    if not is_choice(item):
        return False
    text = item["options"].pop()
    reference["distractors"] = [wrong for wrong in reference["distractors"] if wrong["text"] != text]
    return None


@mutation("malformed_item")
def a_number_for_a_text(item: Row, reference: Row, random: Random) -> bool | None:
    if not is_choice(item):
        return False
    item["options"][some_wrong(item, reference, random)] = 12
    return None


@mutation("malformed_item")
def a_field_that_is_missing(item: Row, reference: Row, random: Random) -> bool | None:
    del item[random.choice(["question", "format", "case"])]
    return None


@mutation("unfit_status")
def a_structure_at_the_border(item: Row, reference: Row, random: Random) -> bool | None:
    return True  # the measurement is changed, see truncated


def truncated(view: CaseView, name: str) -> CaseView:
    content = json.loads(view.measurement.to_json_line())
    content["structures"][name]["status"] = ["truncated"]
    return CaseView(Measurement.model_validate(content))


def test_valid_items_pass(valid_pairs, measured):
    report = lint_records(*zip(*valid_pairs, strict=True), measured, OPTIONS)
    assert len(valid_pairs) > 100
    assert not report.count("error"), report.table()
    assert not report.count("note"), report.table()
    assert set(report.per_rule()) <= {"key_position_bias", "option_length_bias"}


def test_every_one_of_a_thousand_faults_is_found(valid_pairs, views):
    random = Random(20)
    found: Counter[str] = Counter()
    missed = []
    names = list(MUTATIONS)
    rows = [(item.model_dump(mode="json"), reference.model_dump(mode="json")) for item, reference in valid_pairs]
    while sum(found.values()) + len(missed) < FAULTS:
        name = names[(sum(found.values()) + len(missed)) % len(names)]
        rule, change = MUTATIONS[name]
        item, reference = copy.deepcopy(random.choice(rows))
        if change(item, reference, random) is False:
            continue
        known = dict(views)
        if rule == "unfit_status":
            case = item["case"]["case_id"]
            known[case] = truncated(views[case], random.choice(item["structures"]))
        items, _ = lint_items([item], [reference])
        report = lint(items, OPTIONS, known)
        if rule in {finding.rule for finding in report.findings if finding.severity == "error" and finding.row == 1}:
            found[name] += 1
        else:
            missed.append((name, item, reference, report.table()))
    assert not missed, f"{len(missed)} missed; the first: {missed[0]}"
    assert len(found) == len(MUTATIONS)
    assert len({rule for rule, _ in MUTATIONS.values()}) >= 18
    assert min(found.values()) >= 20


@pytest.mark.parametrize("rule", ["duplicate_id", "duplicate_question"])
def test_items_that_stand_twice_are_found(valid_pairs, measured, rule):
    pairs = list(valid_pairs)
    for at in range(0, 60, 3):
        item, reference = valid_pairs[at]
        if rule == "duplicate_question":
            other = f"{item.item_id}-again"
            changed = {"item_id": other, "question": item.question.upper()}
            pairs.append((item.model_copy(update=changed), reference.model_copy(update={"item_id": other})))
        else:
            pairs.append((item.model_copy(update={"question": f"In this scan: {item.question}"}), reference))
    report = lint_records(*zip(*pairs, strict=True), measured, OPTIONS)
    assert report.per_rule()[rule] == 20
    rows = {finding.row for finding in report.findings if finding.rule == rule}
    assert rows == set(range(len(valid_pairs) + 1, len(pairs) + 1))
