"""Rules about the key: missing, double, contradicted by its text, its evidence, the measurement, or the status."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from monai_spatialqa.items.follows import Verdict, answer_from_evidence, key_text
from monai_spatialqa.items.lint_item import Fault, LintContext, LintItem, item_rule
from monai_spatialqa.items.quantities_in_text import read_text
from monai_spatialqa.items.recompute import recompute, structures_of
from monai_spatialqa.items.tools import PURPOSES
from monai_spatialqa.items.view import CaseView, Purpose


@item_rule("error")
def key_missing(item: LintItem, context: LintContext) -> Iterator[Fault]:
    """There is no answer, or it names no option of the item."""
    if not item.answers:
        yield Fault("answer", "nothing", "an answer")
    elif item.options and not item.keys:
        yield Fault("answer", " and ".join(item.answers), f"one of {', '.join(item.letters)}, or the text of an option")


@item_rule("error")
def key_double(item: LintItem, context: LintContext) -> Iterator[Fault]:
    """There is more than one answer, or the answer is the text of more than one option."""
    if len(item.keys) > 1:
        yield Fault("answer", f"{' and '.join(item.answers)} ({item.option_field(*item.keys)})", "one option")
    elif not item.options and len(item.answers) > 1:
        yield Fault("answer", " and ".join(item.answers), "one answer")


@item_rule("error")
def key_not_its_text(item: LintItem, context: LintContext) -> Iterator[Fault]:
    """The letter and the text of the key, or the wrong options that are explained, do not fit the options."""
    if item.item is None or item.reference is None or item.item.format == "numeric":
        return
    key = key_text(item.item, item.reference)
    if key is None:
        return
    if key != item.reference.answer_text:
        yield Fault("answer_text", item.reference.answer_text, f"{key}, the text of option {item.reference.answer}")
    told = [wrong.text for wrong in item.reference.distractors]
    others = [option for option in item.options if option != key]
    if told and sorted(told) != sorted(others):
        yield Fault("distractors", ", ".join(told), f"the options that are wrong: {', '.join(others)}")


@item_rule("error")
def key_not_a_quantity(item: LintItem, context: LintContext) -> Iterator[Fault]:
    """The answer to an open question is not one number, or is 0, for which no relative accuracy exists."""
    if item.format != "numeric" or len(item.answers) != 1:
        return
    reading = read_text(item.answers[0])
    if len(reading.quantities) != 1 or reading.interval or not reading.whole:
        yield Fault("answer", item.answers[0], "one number with its unit")
    elif reading.quantities[0].value == 0:
        yield Fault("answer", item.answers[0], "a number other than 0")


@item_rule("error")
def reference_missing(item: LintItem, context: LintContext) -> Iterator[Fault]:
    """The item has no reference, or its reference has no evidence."""
    if not item.with_references:
        return
    wrong = [fault.field for fault in item.malformed if fault.field.startswith("reference.")]
    if item.reference is None and not wrong:
        yield Fault("reference", "none", "a reference with the answer and its evidence")
    elif "reference.evidence" in wrong or (item.reference is not None and not item.reference.evidence):
        yield Fault("evidence", "none", "what the answer rests on")


@item_rule("error")
def unknown_case(item: LintItem, context: LintContext) -> Iterator[Fault]:
    """The case of the item is not among the measurements."""
    if context.views is not None and item.case_id is not None and item.case_id not in context.views:
        yield Fault("case", item.case_id, f"a measured case, such as {', '.join(list(context.views)[:3]) or 'none'}")


@item_rule("error")
def unknown_structure(item: LintItem, context: LintContext) -> Iterator[Fault]:
    """A structure of the item, or of its evidence, is not in the measurement of its case."""
    view = _view(item, context)
    if view is None:
        return
    places = {f"structures[{at}]": name for at, name in enumerate(item.structures)}
    if item.reference is not None:
        for at, one in enumerate(item.reference.evidence):
            places |= {f"evidence[{at}]": name for name in structures_of(one) if name not in view.names}
    for place, name in places.items():
        if name not in view.names:
            yield Fault(place, name, f"a structure of {view.case_id}")


@item_rule("error")
def unfit_status(item: LintItem, context: LintContext) -> Iterator[Fault]:
    """The status of a structure forbids the question: absent, truncated, orientation unknown, name conflict ..."""
    view = _view(item, context)
    if view is None:
        return
    default: Purpose = "place" if item.item is not None and item.item.task in ("DIR", "DIST") else "size"
    asked: dict[str, set[Purpose]] = {name: set() for name in item.structures}
    if item.reference is not None:
        for one in item.reference.evidence:
            for name in structures_of(one):
                asked.setdefault(name, set()).add(PURPOSES.get(one.tool, "size"))
    for name, purposes in asked.items():
        if name not in view.names:
            continue
        for purpose in sorted(purposes or {default}):
            if not view.may_ask(name, purpose):
                status = ", ".join(view.structure(name).status)
                yield Fault(f"structures: {name}", status, f"a status that allows questions of {purpose}")
                break


@item_rule("error")
def evidence_differs(item: LintItem, context: LintContext) -> Iterator[Fault]:
    """A piece of evidence is not what its tool computes from the measurement."""
    view = _view(item, context)
    if view is None or item.item is None or item.reference is None:
        return
    for mismatch in recompute(item.item, item.reference, view).mismatches:
        yield Fault(mismatch.field, mismatch.found, mismatch.expected)


@item_rule("error")
def answer_differs(item: LintItem, context: LintContext) -> Iterator[Fault]:
    """The answer is not the one that follows from its evidence."""
    verdict = _verdict(item)
    if verdict is not None and verdict.follows is False and (item.keys or item.format == "numeric"):
        yield Fault("answer", verdict.found, verdict.expected)


@item_rule("note")
def answer_not_checked(item: LintItem, context: LintContext) -> Iterator[Fault]:
    """Whether the answer follows from its evidence was not decided: the form of the key does not say."""
    verdict = _verdict(item)
    if verdict is not None and verdict.follows is None:
        yield Fault("answer", verdict.found, verdict.expected)


@item_rule("error")
def near_comparison(item: LintItem, context: LintContext) -> Iterator[Fault]:
    """Two figures that the key compares differ by less than the comparison gap."""
    verdict = _verdict(item)
    gap = context.options.comparison_gap
    if verdict is not None and verdict.gap is not None and verdict.gap < gap * (1 - 1e-9):
        yield Fault("evidence", f"figures {verdict.gap:.1%} apart", f"{gap:.0%} or more")


@item_rule("error")
def key_not_robust(item: LintItem, context: LintContext) -> Iterator[Fault]:
    """The key of a choice changes when a boundary lies half a voxel elsewhere."""
    margin = None if item.reference is None else item.reference.margin
    if context.options.robust and item.format != "numeric" and margin is not None and margin <= 1:
        yield Fault("margin", f"{margin:.2f}", "more than 1")


@item_rule("error")
def two_right_options(item: LintItem, context: LintContext) -> Iterator[Fault]:
    """Another option is as right as the key: it states the same quantity, or a range that holds the key's value."""
    key = item.key
    if key is None or not item.options:
        return
    reading = read_text(key)
    if not reading.whole or reading.interval or len(reading.quantities) != 1:
        return
    value = reading.quantities[0]
    for one, other in combinations(range(len(item.options)), 2):
        if key not in (item.options[one], item.options[other]):
            continue
        rival = other if item.options[one] == key else one
        found = item.readings[rival]
        if (
            found.interval
            and found.whole
            and found.dimensions[0] == value.dimension
            and found.interval.holds(value.base)
        ):
            yield Fault(item.option_field(rival), item.options[rival], f"an answer that {key!r} does not fit")


def _view(item: LintItem, context: LintContext) -> CaseView | None:
    if context.views is None or item.case_id is None:
        return None
    return context.views.get(item.case_id)


def _verdict(item: LintItem) -> Verdict | None:
    if item.item is None or item.reference is None or not item.reference.evidence:
        return None
    return answer_from_evidence(item.item, item.reference)
