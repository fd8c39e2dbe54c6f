"""The oracle: replies made from the references, in forms that models use. It must score 100 %, or scoring is broken."""

from __future__ import annotations

import json
from decimal import Decimal

from monai_spatialqa.items.assemble import random_of
from monai_spatialqa.quantities import UNITS
from monai_spatialqa.records.item import LETTERS, Item, Reference

_CHOICE = (
    "{letter}",
    "({letter})",
    "**{letter}**",
    "{letter}. {text}",
    "{text}",
    "The answer is {letter}.",
    "Answer: {letter}",
    "Looking at all slices, the correct answer is ({letter}) {text}",
    "```json\n{json}\n```",
)
_YES_NO = ("{text}", "**{text}**", "{text}.", "The answer is {text}.", "Answer: {text}", "{json}")
_NUMBER = (
    "{shown}",
    "{value} {unit}",
    "{grouped} {unit}",
    "{power} {unit}",
    "The answer is {shown}.",
    "**Answer:** {value} {unit}",
    "{other}",
    "{json}",
)
_OTHER_UNIT = {"ml": "l", "cm3": "ml", "mm3": "ml", "l": "ml", "mm": "cm", "cm": "mm", "mm2": "cm2", "cm2": "mm2"}


def oracle_reply(item: Item, reference: Reference, seed: int) -> str:
    """The right answer, in a form that seed and item id choose."""
    random = random_of(seed, "oracle", item.item_id)
    if item.format == "numeric":
        return random.choice(_NUMBER).format_map(_number_words(item, reference))
    text = reference.answer if item.format == "yesno" else item.options[LETTERS.index(reference.answer)]
    words = {"letter": reference.answer, "text": text, "json": json.dumps({"answer": reference.answer})}
    return random.choice(_YES_NO if item.format == "yesno" else _CHOICE).format_map(words)


def _number_words(item: Item, reference: Reference) -> dict[str, str]:
    value, unit = reference.answer_value, item.answer_unit
    assert value is not None
    assert unit is not None
    other = _OTHER_UNIT.get(unit, unit)
    factor = UNITS[unit].size / UNITS[other].size if other != unit else Decimal(1)
    return {
        "shown": reference.answer_text,
        "value": repr(value),
        "grouped": f"{value:,.2f}" if abs(value) >= 1 else repr(value),
        "power": f"{value:.6e}",
        "unit": unit,
        "other": f"{Decimal(repr(value)) * factor:f} {other}",
        "json": json.dumps({"value": value, "unit": unit}),
    }
