"""From a draft to an item and its reference."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from random import Random

from monai_spatialqa.items.draft import Draft, Refusals, Rules
from monai_spatialqa.items.options import complete
from monai_spatialqa.items.wording import stem
from monai_spatialqa.records.item import Distractor, Item, ItemCase, Provenance, Reference


@dataclass(frozen=True)
class ItemContext:
    """What all items of a case share.

    Attributes:
        case: the scan.
        seed: seed of the run.
        settings_sha256: hash of the settings.
        licence: of the scan.
        split: by patient.
        oblique: boxes lie along the axes of the scan and not of the patient; questions then say so.
    """

    case: ItemCase
    seed: int
    settings_sha256: str | None = None
    licence: str | None = None
    split: str | None = None
    oblique: bool = False


_BOX = re.compile(r"\bbounding box(?:es)?\b")


def item_id(case_id: str, draft: Draft) -> str:
    """Id of the item that a draft becomes: the same for the same question on the same case, whatever the run."""
    told = json.dumps([draft.subtask, draft.structures, sorted(draft.words.items())], ensure_ascii=False)
    return f"{case_id}-{draft.subtask}-{hashlib.sha256(told.encode()).hexdigest()[:10]}"


def random_of(seed: int, *names: str) -> Random:
    """A random generator that depends on a seed and some names only, not on what was drawn before."""
    told = "\x1f".join([str(seed), *names])
    return Random(int.from_bytes(hashlib.sha256(told.encode()).digest()[:8], "big"))


def assemble_turned(draft: Draft, context: ItemContext, rules: Rules) -> list[tuple[Item, Reference]]:
    """What a draft may be turned into: the same question with other answers."""
    made = (assemble(each, context, rules, Refusals()) for each in draft.turned)
    return [pair for pair in made if pair is not None]


def assemble(draft: Draft, context: ItemContext, rules: Rules, refusals: Refusals) -> tuple[Item, Reference] | None:
    """Word a draft and give it options; None, with the reason counted, where that cannot be done."""
    number = item_id(context.case.case_id, draft)
    random = random_of(context.seed, number)
    if rules.robust and draft.format != "numeric" and draft.margin is not None and draft.margin <= 1:
        refusals.add("the key changes within half a voxel")
        return None
    question, template = stem(draft.subtask, draft.words, random)
    if context.oblique:
        question = _BOX.sub(r"\g<0> along the scan's axes", question)
    options: list[str] = []
    answer = draft.key.text
    distractors: list[Distractor] = []
    if draft.format != "numeric":
        found = complete(draft, rules, random)
        if isinstance(found, str):
            refusals.add(found)
            return None
        options, answer, distractors = found
    item = Item(
        item_id=number,
        task=draft.task,
        subtask=draft.subtask,
        format=draft.format,
        question=question,
        options=options,
        answer_unit=draft.answer_unit,
        structures=list(draft.structures),
        case=context.case,
        provenance=Provenance(template=template, seed=context.seed, settings_sha256=context.settings_sha256),
        licence=context.licence,
        split=context.split,
    )
    reference = Reference(
        item_id=number,
        answer=answer,
        answer_text=draft.key.text,
        answer_value=draft.key.value,
        answer_unit=draft.key.unit if draft.format != "numeric" else draft.answer_unit,
        evidence=list(draft.evidence),
        distractors=distractors,
        margin=draft.margin,
    )
    return item, reference
