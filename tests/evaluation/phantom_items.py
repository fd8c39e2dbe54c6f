"""Generated items of phantoms, and items and answers written by hand, for the tests of scoring."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import monai_spatialqa as sqa
from monai_spatialqa.items.assemble import ItemContext, assemble, random_of
from monai_spatialqa.items.draft import Refusals, Rules
from monai_spatialqa.items.subtasks import SUBTASKS
from monai_spatialqa.items.view import CaseView
from monai_spatialqa.records import Measurement
from monai_spatialqa.records.answer import Answer, answer_id
from monai_spatialqa.records.item import LETTERS, Distractor, Evidence, Item, ItemCase, Provenance, Reference

CASES, PER_SUBTASK = 4, 3


@cache
def phantom_measurements() -> tuple[Measurement, ...]:
    """Phantoms of different seeds under the names of a shipped label map."""
    records = []
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(CASES):
            _, label = sqa.make_phantom(seed).save(Path(folder), f"case{seed}")
            records.append(sqa.measure(label, label_map="totalsegmentator_v2"))
    return tuple(records)


@cache
def phantom_pairs() -> tuple[tuple[Item, Reference], ...]:
    """A few items of every subtask and phantom, all formats among them."""
    found: dict[str, tuple[Item, Reference]] = {}
    for record in phantom_measurements():
        view = CaseView(record)
        context = ItemContext(ItemCase(case_id=record.case_id, modality="CT"), seed=0)
        for name, subtask in SUBTASKS.items():
            made = subtask.make(view, Rules(), random_of(0, record.case_id, name))
            pairs = (assemble(draft, context, Rules(), Refusals()) for draft in made)
            for _, (item, reference) in zip(range(PER_SUBTASK), filter(None, pairs), strict=False):
                found[item.item_id] = item, reference
    return tuple(found[item_id] for item_id in sorted(found))


def phantom_items() -> list[Item]:
    return [item for item, _ in phantom_pairs()]


def phantom_references() -> list[Reference]:
    return [reference for _, reference in phantom_pairs()]


def made(
    item_id: str, key: str | float, *, options: Sequence[str] = ("12 ml", "15 ml", "20 ml", "30 ml"), **fields: Any
) -> tuple[Item, Reference]:
    """An item by hand: yes or no for those keys, a volume in ml for a number, else a choice with that letter."""
    numeric = isinstance(key, float)
    yesno = key in ("yes", "no")
    shown = [] if numeric else ["yes", "no"] if yesno else list(options)
    case_id = fields.pop("case_id", item_id)
    item = Item(
        item_id=item_id,
        task=fields.pop("task", "VOLEST" if numeric else "VOL"),
        subtask=fields.pop("subtask", "by_hand"),
        format="numeric" if numeric else "yesno" if yesno else "mca",
        question="How large is it?",
        options=shown,
        answer_unit="ml" if numeric else None,
        structures=fields.pop("structures", ["liver"]),
        case=ItemCase(case_id=case_id, **fields),
        provenance=Provenance(seed=0),
    )
    text = f"{key} ml" if numeric else str(key) if yesno else shown[LETTERS.index(str(key))]
    reference = Reference(
        item_id=item_id,
        answer=str(key),
        answer_text=text,
        answer_value=key if numeric else None,
        answer_unit="ml" if numeric else None,
        evidence=[Evidence(tool="volume", arguments={}, value=1.0, unit="ml", measurement_id=case_id)],
        distractors=[Distractor(text=other, why="not measured") for other in shown if other != text],
    )
    return item, reference


def reply(item: Item, text: str | None, **fields: Any) -> Answer:
    """An answer of a model, the item's options as they stand unless told otherwise."""
    values: dict[str, Any] = {
        "answer_id": answer_id(item.item_id, fields.get("rotation", 0), fields.get("repeat", 0)),
        "item_id": item.item_id,
        "model": "tester",
        "preset": "plain",
        "options": item.options,
        "outcome": "answered",
        "reply": text,
    }
    return Answer(**{**values, **fields})
