"""What options and questions may look like and still mean the same, and figures of another kind than is asked for."""

from __future__ import annotations

import pytest

from monai_spatialqa.items.linter import lint_records, lint_rows


def rules_of(options, answer="A", question="What is it?", **fields):
    return set(lint_rows([{"question": question, "options": options, "answer": answer, **fields}]).per_rule())


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("liver.", "liver"),
        ("the liver", "liver"),
        ("The Liver", "liver."),
        ("an adrenal gland", "adrenal gland"),
        ("kidney_left", "left kidney"),
        ("kidney left", "left kidney"),
        ("2x", "2 times"),
        ("2.0x", "2x"),
        ("2x", "2.05x"),
        ("35 HU", "35 hounsfield units"),
        ("30°", "30 degrees"),
        ("(10, 20, 30)", "(10,20,30)"),
    ],
)
def test_options_that_mean_the_same(one, other):
    assert "equal_options" in rules_of([one, other, "spleen"])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("2.0x", "2.2x"),
        ("30°", "31°"),
        ("30 degrees", "32 degrees"),
        ("40 HU", "42 HU"),
        ("-40 HU", "-42 HU"),
        ("(10, 20, 30)", "(10, 20, 31)"),
        ("(-10.5, 20.0, 30.0) mm", "(-10.5, 20.0, 30.5) mm"),
        ("[10,20,30]", "[11,20,30]"),
        ("120x80x60 mm", "121x80x60 mm"),
    ],
)
def test_options_that_are_near(one, other):
    assert "near_options" in rules_of([one, other])


@pytest.mark.parametrize(
    "options",
    [
        ["2x", "3x", "5x"],
        ["30°", "60°", "90°"],
        ["40 HU", "-40 HU", "90 HU"],
        ["(10, 20, 30)", "(10, 20, -30)", "(60, 20, 30)"],
        ["left kidney", "right kidney", "kidney"],
        ["left kidney, right kidney", "right kidney, left kidney"],
        ["left and superior", "left and inferior"],
        ["A vertebra", "B vertebra"],
    ],
    ids=str,
)
def test_options_that_differ(options):
    assert not rules_of(options)


@pytest.mark.parametrize("text", ["unsure", "not certain", "undecided", "I don't know", "Not visible.", "skip", "?"])
def test_fillers(text):
    assert "filler_option" in rules_of(["liver", "spleen", text])


@pytest.mark.parametrize(
    "text", ["either of the first two", "option B", "the answer A", "same as A", "same as option B", "equal to (b)"]
)
def test_options_about_options(text):
    assert "order_dependent_option" in rules_of(["liver", "spleen", text])


def test_structures_may_be_called_by_letters():
    assert not rules_of(["A, B and C", "B, A and C", "C, B and A"], structures=["A", "B", "C"])
    assert "order_dependent_option" in rules_of(["A and B", "liver", "spleen"])


@pytest.mark.parametrize(
    "question",
    [
        "Over how many slices does the liver extend?",
        "How many axial CT slices contain the spleen?",
        "What is the number of slices with the tumour?",
        "How far apart, in slices, are the kidneys?",
        "How far apart (in slices) are the kidneys?",
        "What is the slice number of the aorta's bifurcation?",
        "Which axial slice shows the largest lesion?",
    ],
)
def test_questions_about_slices(question):
    assert "voxel_units" in rules_of(["10", "20", "40"], question=question)


@pytest.mark.parametrize(
    "question",
    [
        "What is the longest diameter of the lesion within a single axial slice?",
        "Over all axial slices, what is the longest diameter of the lesion within one slice?",
        "Which slice thickness does the scan have?",
    ],
)
def test_slices_may_say_where(question):
    assert not rules_of(["10 mm", "20 mm", "40 mm"], question=question)


@pytest.mark.parametrize(
    ("question", "options"),
    [
        ("What is the volume of the liver?", ["10 mm", "20 mm", "40 mm"]),
        ("In which range is the volume of the liver?", ["less than 10 mm", "10 mm or more"]),
        ("How long is the spleen?", ["10 ml", "20 ml", "40 ml"]),
        ("How far apart are the kidneys?", ["10 cm2", "20 cm2", "40 cm2"]),
        ("What percentage of the liver is tumour?", ["10 mm", "20 mm"]),
        ("What is the angle between the two?", ["10 mm", "20 mm"]),
    ],
)
def test_answers_of_another_dimension(question, options):
    assert "wrong_dimension" in rules_of(options, question=question)


@pytest.mark.parametrize(
    ("question", "options"),
    [
        ("By volume, what percentage of the liver does the lesion make up?", ["10%", "20%", "40%"]),
        ("How large is the box of the lesion?", ["10 mm", "20 mm"]),
        ("How long is the vessel with the volume of 12 ml?", ["10 mm", "20 mm"]),
        ("Which has the largest volume?", ["liver", "spleen"]),
        ("How many times the volume of the spleen is that of the liver?", ["2 times", "5 times"]),
    ],
)
def test_answers_of_the_dimension_that_is_asked_for(question, options):
    assert not rules_of(options, question=question)


@pytest.mark.parametrize(
    ("question", "answer", "found"),
    [
        ("What is the volume of the liver?", "120 mm", True),
        ("What is the volume of the liver?", "120 ml", False),
        ("How long is the liver?", "120 cm3", True),
    ],
)
def test_open_answers_of_another_dimension(question, answer, found):
    report = lint_rows([{"question": question, "answer": answer}])
    assert ("wrong_dimension" in report.per_rule()) == found


def test_a_tie_is_called_a_tie(valid_pairs):
    item, reference = next(pair for pair in valid_pairs if pair[0].subtask == "largest_of")
    first = reference.evidence[0].value
    evidence = [one.model_copy(update={"value": first}) for one in reference.evidence]
    found = lint_records([item], [reference.model_copy(update={"evidence": evidence})]).findings
    (told,) = [finding for finding in found if finding.rule == "answer_differs"]
    assert told.expected.startswith("one alone; ")
    assert told.expected.endswith("are equal, a tie")
    item, reference = next(pair for pair in valid_pairs if pair[0].subtask == "volume_order")
    evidence = [one.model_copy(update={"value": first}) for one in reference.evidence]
    found = lint_records([item], [reference.model_copy(update={"evidence": evidence})]).findings
    assert any("figures that differ" in finding.expected and "a tie" in finding.expected for finding in found)


def test_keys_that_the_options_give_away_are_warned_of():
    """The key is the order that the others are made from, or the value of which they are multiples."""
    orders = ["liver, spleen, colon", "spleen, liver, colon", "liver, colon, spleen", "colon, spleen, liver"]
    rows = []
    for at in range(24):
        turned = orders[at % 4 :] + orders[: at % 4]
        key = "ABCD"[turned.index(orders[0])]
        rows.append({"question": f"Order {at}?", "options": turned, "answer": key, "task": "order"})
    (finding, *_) = [one for one in lint_rows(rows).findings if one.rule == "structure_of_options"]
    assert (finding.severity, finding.item_id) == ("warning", None)
    assert "24 items of order" in finding.message
    assert "most_alike" in finding.message
    assert "right 100%, by chance 25%" in finding.message
    fair = [row | {"answer": "ABCD"[at * 7 // 4 % 4]} for at, row in enumerate(rows)]
    assert "structure_of_options" not in lint_rows(fair).per_rule()
