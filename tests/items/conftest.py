"""Measured phantoms, and valid items of every form made from them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random

import pytest

import monai_spatialqa as sqa
from monai_spatialqa.items.assemble import ItemContext, assemble, random_of
from monai_spatialqa.items.draft import Choice, Draft, Refusals, Rules
from monai_spatialqa.items.options import interval_choices, value_choices
from monai_spatialqa.items.subtasks import SUBTASKS
from monai_spatialqa.items.tools import evidence
from monai_spatialqa.items.view import CaseView
from monai_spatialqa.items.wording import readable_name, shown_value
from monai_spatialqa.records import Measurement
from monai_spatialqa.records.item import Item, ItemCase, Reference

Pair = tuple[Item, Reference]
PER_SUBTASK = 12


@pytest.fixture(scope="session")
def measured(tmp_path_factory: pytest.TempPathFactory) -> list[Measurement]:
    """Phantoms of different seeds under the names of a shipped label map."""
    folder = tmp_path_factory.mktemp("linted")
    records = []
    for seed in range(3):
        _, label = sqa.make_phantom(seed).save(folder, f"case{seed}")
        records.append(sqa.measure(label, label_map="totalsegmentator_v2"))
    return records


@pytest.fixture(scope="session")
def valid_pairs(measured: list[Measurement]) -> list[Pair]:
    """Items of all subtasks, and one of each plain form of volume question for every structure."""
    pairs: list[Pair] = []
    for record in measured:
        view = CaseView(record)
        context = ItemContext(ItemCase(case_id=record.case_id), seed=0)
        for name, subtask in SUBTASKS.items():
            made = subtask.make(view, Rules(), random_of(0, record.case_id, name))
            pairs += _assembled(made, context, PER_SUBTASK)
        pairs += _volumes(view, context)
    return list({item.item_id: (item, reference) for item, reference in pairs}.values())


def _assembled(made: Iterator[Draft], context: ItemContext, most: int) -> list[Pair]:
    found: list[Pair] = []
    for draft in made:
        pair = assemble(draft, context, Rules(), Refusals())
        if pair is not None:
            found.append(pair)
        if len(found) == most:
            break
    return found


def _volumes(view: CaseView, context: ItemContext) -> list[Pair]:
    """Value, interval, threshold and open volume questions, whatever subtasks there are."""
    rules, random = Rules(), Random(1)
    pairs: list[Pair] = []
    for name in view.askable("size"):
        key = view.volume(name)
        told, shown = readable_name(name), shown_value(key.value, "ml")
        proof = evidence(view, "volume", "ml", structure=name)
        values = value_choices(key, [], rules, random)
        intervals = interval_choices(key, rules, random)
        for asked, found, margin in (
            (f"What is the volume of the {told}?", values, None),
            (f"In which range is the volume of the {told}?", intervals and intervals[:2], intervals and intervals[2]),
        ):
            if found is None:
                continue
            draft = Draft(
                "VOL",
                "x",
                (name,),
                {"q": asked},
                found[0],
                found[1],
                (proof,),
                margin=margin,
                ordered=margin is not None,
            )
            pairs += _worded(draft, context, asked)
        true = random.random() < 0.5
        bound = f"{(0.5 if true else 2) * key.value:.2g}"
        asked = f"Is the volume of the {told} more than {bound} ml?"
        right, wrong = ("yes", "no") if true else ("no", "yes")
        yes = (Choice(right), (Choice(wrong, f"it is {shown}"),))
        pairs += _worded(Draft("VOL", "y", (name,), {"q": asked}, *yes, (proof,), format="yesno"), context, asked)
        asked = f"What is the volume of the {told} in ml?"
        opened = Draft(
            "VOLEST",
            "z",
            (name,),
            {"q": asked},
            Choice(shown, value=key.value, unit="ml"),
            (),
            (proof,),
            format="numeric",
            answer_unit="ml",
        )
        pairs += _worded(opened, context, asked)
    return pairs


def _worded(draft: Draft, context: ItemContext, question: str) -> list[Pair]:
    """An item whose question is not among the templates."""
    stand_in = next(iter(SUBTASKS))
    words = {blank: "_" for blank in ("a", "b", "list", "axis", "relation", "side", "where", "order", "kind", "unit")}
    plain = Draft(**{**draft.__dict__, "subtask": stand_in, "words": {**words, **draft.words}})
    pair = assemble(plain, context, Rules(), Refusals())
    return [] if pair is None else [(pair[0].model_copy(update={"question": question}), pair[1])]


@pytest.fixture(scope="session")
def views(measured: list[Measurement]) -> dict[str, CaseView]:
    return {record.case_id: CaseView(record) for record in measured}


@pytest.fixture(scope="session")
def choose(valid_pairs: list[Pair]) -> Callable[..., list[Pair]]:
    """Valid items of a form."""

    def chosen(
        form: str = "mca", where: Callable[[Item, Reference], bool] = lambda item, reference: True
    ) -> list[Pair]:
        return [(item, reference) for item, reference in valid_pairs if item.format == form and where(item, reference)]

    return chosen
