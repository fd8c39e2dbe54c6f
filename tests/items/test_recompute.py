"""Evidence is computed again from the measurement; the answer must be the one that follows from it."""

from __future__ import annotations

import pytest

from monai_spatialqa.items.follows import answer_from_evidence
from monai_spatialqa.items.recompute import recompute
from monai_spatialqa.records.item import LETTERS, Evidence, Item, ItemCase, Provenance, Reference


def test_every_key_holds_and_no_other_option_does(valid_pairs, views):
    tried = 0
    for item, reference in valid_pairs:
        view = views[item.case.case_id]
        assert recompute(item, reference, view).holds, (item, reference)
        assert recompute(item, reference, views.__getitem__).holds
        for at, text in enumerate(item.options):
            if text == reference.answer_text:
                continue
            answer = text if item.format == "yesno" else LETTERS[at]
            other = reference.model_copy(update={"answer": answer, "answer_text": text})
            assert recompute(item, other, view).verdict.follows is False, (item, other)
            tried += 1
    assert tried > 200


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"value": 1.0}, "evidence[0].value"),
        ({"low": 0.0}, "evidence[0].low"),
        ({"unit": "l"}, "evidence[0].value"),
        ({"unit": "mm"}, "evidence[0]"),
        ({"measurement_id": "another"}, "evidence[0].measurement_id"),
        ({"tool": "no_tool"}, "evidence[0]"),
        ({"arguments": {"structure": "heart"}}, "evidence[0]"),
        ({"arguments": {"structure": "no structure"}}, "evidence[0]"),
        ({"arguments": {"organ": "liver"}}, "evidence[0]"),
    ],
    ids=str,
)
def test_changed_evidence_is_named(choose, views, change, field):
    item, reference = choose("numeric", lambda item, reference: reference.evidence[0].tool == "volume")[0]
    evidence = [reference.evidence[0].model_copy(update=change)]
    found = recompute(item, reference.model_copy(update={"evidence": evidence}), views[item.case.case_id])
    assert field in {mismatch.field for mismatch in found.mismatches}
    assert not found.holds


def test_rounding_through_text_and_other_units_is_no_difference(choose, views):
    item, reference = choose("numeric", lambda item, reference: reference.evidence[0].tool == "volume")[0]
    one = reference.evidence[0]
    assert one.low is not None
    assert one.high is not None
    scaled = {name: getattr(one, name) / 1000 for name in ("value", "low", "high")}
    evidence = [one.model_copy(update={**scaled, "unit": "l"})]
    assert recompute(item, reference.model_copy(update={"evidence": evidence}), views[item.case.case_id]).holds


def made(question, options, answer, *evidence, subtask="made", item_format="mca", **more):
    item = Item(
        item_id="i",
        task="COMP",
        subtask=subtask,
        format=item_format,
        question=question,
        options=options,
        structures=[str(value) for value in evidence[0][1].values() if isinstance(value, str)],
        case=ItemCase(case_id="c"),
        provenance=Provenance(seed=0),
    )
    text = answer if item_format == "yesno" else options[LETTERS.index(answer)]
    proof = [Evidence(tool=t, arguments=a, value=v, unit=u, measurement_id="c") for t, a, v, u in evidence]
    return item, Reference(item_id="i", answer=answer, answer_text=text, evidence=proof, **more)


LIVER = ("volume", {"structure": "liver"}, 1500.0, "ml")
SPLEEN = ("volume", {"structure": "spleen"}, 200.0, "ml")
TUMOUR = ("volume", {"structure": "liver_tumour"}, 30.0, "ml")
RIGHT = ("offset", {"first": "spleen", "second": "liver", "axis": 0}, 120.0, "mm")
BELOW = ("offset", {"first": "spleen", "second": "liver", "axis": 2}, -12.0, "mm")

FORMS = [
    (("Which is the largest?", ["liver", "spleen"], "A", LIVER, SPLEEN), True),
    (("Which is the largest?", ["liver", "spleen"], "B", LIVER, SPLEEN), False),
    (("Which is the smallest?", ["liver", "spleen"], "B", LIVER, SPLEEN), True),
    (("Which is it?", ["liver", "spleen"], "A", LIVER, SPLEEN), None),
    (("Order them, smallest first.", ["spleen, liver", "liver, spleen"], "A", LIVER, SPLEEN), True),
    (("Order them, largest first.", ["spleen, liver", "liver, spleen"], "A", LIVER, SPLEEN), False),
    (("Order them from smallest to largest.", ["spleen, liver", "liver, spleen"], "A", LIVER, SPLEEN), True),
    (("How large?", ["about 1.5 l", "900 ml"], "A", LIVER), True),
    (("How large?", ["1.4 l", "900 ml"], "A", LIVER), False),
    (("How large?", ["1500 mm", "900 mm"], "A", LIVER), False),
    (("How large?", ["1 l or less", "more than 1 l"], "B", LIVER), True),
    (("How large?", ["1 l or less", "more than 1 l"], "A", LIVER), False),
    (("How large?", ["1-2 l", "1.2-3 l"], "A", LIVER), False),
    (("How large?", ["1-2 m", "3-4 m"], "A", LIVER), False),
    (("How does the liver lie from the spleen?", ["right", "left"], "A", RIGHT), True),
    (("How does the liver lie from the spleen?", ["right", "left"], "B", RIGHT), False),
    (("In which direction mainly?", ["right", "inferior"], "A", RIGHT, BELOW), True),
    (("In which direction mainly?", ["right", "inferior"], "B", RIGHT, BELOW), False),
    (("How?", ["right and inferior", "left and inferior"], "A", RIGHT, BELOW), True),
    (("Which is more superior?", ["liver", "spleen"], "B", BELOW), True),
    (("Order them from superior to inferior.", ["liver, spleen", "spleen, liver"], "B", BELOW), True),
    (("Order them from inferior to superior.", ["liver, spleen", "spleen, liver"], "A", BELOW), True),
    (("Which colour?", ["pink", "red"], "A", LIVER), None),
]


@pytest.mark.parametrize(("item", "follows"), FORMS, ids=lambda value: str(value)[:60])
def test_forms_of_keys(item, follows):
    assert answer_from_evidence(*made(*item)).follows is follows


YESNO = [
    (("Is the liver larger than the spleen?", "yes", LIVER, SPLEEN), True),
    (("Is the spleen larger than the liver?", "yes", LIVER, SPLEEN), False),
    (("Is the liver tumour larger than the liver?", "no", LIVER, TUMOUR), True),
    (("Does the liver have at least 1.5 l?", "yes", LIVER), True),
    (("Does the liver have more than 1.5 l?", "no", LIVER), True),
    (("Does the liver lie inferior to the spleen?", "yes", BELOW), True),
    (("Does the liver lie superior to the spleen?", "yes", BELOW), False),
    (("Is the liver nice?", "yes", LIVER), None),
    (("Do they touch?", "no", ("contact_area", {"first": "a", "second": "b"}, 0.0, "mm2")), True),
    (
        (
            "Does a quarter or more lie outside the hull?",
            "yes",
            ("share_inside", {"inner": "a", "outer": "b"}, 70.0, "%"),
        ),
        True,
    ),
]


@pytest.mark.parametrize(("item", "follows"), YESNO, ids=lambda value: str(value)[:60])
def test_yes_and_no(item, follows):
    question, answer, *evidence = item
    verdict = answer_from_evidence(*made(question, ["yes", "no"], answer, *evidence, item_format="yesno"))
    assert verdict.follows is follows
