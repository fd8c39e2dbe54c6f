"""Moving options about: the key follows by its text."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from monai_spatialqa.errors import SettingsError
from monai_spatialqa.records.item import LETTERS, Item, Reference


def with_order(item: Item, reference: Reference, order: Sequence[int]) -> tuple[Item, Reference]:
    """The same question with its options in another order.

    Args:
        item: a choice.
        reference: its reference.
        order: for each new place, the old one.

    Raises:
        SettingsError: not a choice, or not an order of its options.
    """
    if item.format != "mca" or sorted(order) != list(range(len(item.options))):
        raise SettingsError(
            "the options cannot be put in this order",
            case=item.case.case_id,
            key=item.item_id,
            found=list(order),
            expected=f"an order of {len(item.options)} options of a choice",
        )
    options = [item.options[at] for at in order]
    letter = LETTERS[options.index(reference.answer_text)]
    texts = {text: at for at, text in enumerate(options)}
    distractors = sorted(reference.distractors, key=lambda wrong: texts[wrong.text])
    return (
        item.model_copy(update={"options": options}),
        reference.model_copy(update={"answer": letter, "distractors": distractors}),
    )


def reshuffled(item: Item, reference: Reference, random: Random) -> tuple[Item, Reference]:
    """The same question with its options in a random order."""
    order = list(range(len(item.options)))
    random.shuffle(order)
    return with_order(item, reference, order)


def with_key_at(item: Item, reference: Reference, letter: str) -> tuple[Item, Reference]:
    """The same question with the key under another letter; the two options change places."""
    order = list(range(len(item.options)))
    here, there = LETTERS.index(reference.answer), LETTERS.index(letter)
    order[here], order[there] = order[there], order[here]
    return with_order(item, reference, order)
