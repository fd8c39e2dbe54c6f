"""How things are said: readable names of structures, numbers with their units, question stems. Text is data."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from random import Random
from typing import Any

import yaml

from monai_spatialqa.errors import SettingsError
from monai_spatialqa.items.quantity import Quantity

_VERTEBRA = re.compile(r"vertebrae_([A-Z]\d+)")
_RIB = re.compile(r"rib_(\d+)")
_SIDE = re.compile(r"(?:^|_)(left|right)(?=_|$)")
_PLURALS = ((re.compile(r"([^aeiou])y$"), r"\1ies"), (re.compile(r"(s|x|ch|sh)$"), r"\1es"), (re.compile(r"$"), "s"))
"""Plural of a word, by its ending; the first rule that fits."""


@cache
def _data(name: str) -> Any:
    return yaml.safe_load((files("monai_spatialqa.items") / "data" / name).read_text(encoding="utf-8"))


@cache
def readable_name(name: str) -> str:
    """A structure's name as a radiologist says it: ``kidney_left`` is the "left kidney".

    Exceptions are in ``data/names.yaml``; otherwise underscores become spaces and the side comes first.
    """
    vertebra = _VERTEBRA.fullmatch(name)
    if vertebra:
        return f"{vertebra.group(1)} vertebra"
    side, words = _parted(name)
    known = _data("names.yaml")["names"]
    if words in known:
        return str(known[words]).format(side=side or "").strip()
    return f"{side} {_spaced(words)}" if side else _spaced(words)


def _parted(name: str) -> tuple[str | None, str]:
    """A name's side, and the name without it."""
    side = _SIDE.search(name)
    return (side.group(1), _SIDE.sub("", name).strip("_")) if side else (None, name)


def _spaced(words: str) -> str:
    rib = _RIB.fullmatch(words)
    if rib is None:
        return words.replace("_", " ")
    number = int(rib.group(1))
    return f"{number}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(number, 'th') } rib"


def together(names: Sequence[str]) -> str:
    """Structures as one whole, with articles: "both kidneys", "the liver and the spleen"."""
    parted = [_parted(name) for name in names]
    if len(parted) == 2 and {side for side, _ in parted} == {"left", "right"} and parted[0][1] == parted[1][1]:
        words = parted[0][1]
        known = _data("names.yaml")["both"]
        if words in known:
            return str(known[words]) if str(known[words]).startswith("both") else f"the {known[words]}"
        named = readable_name(f"{words}_left").removeprefix("left ")
        *before, last = named.split()
        pattern, plural = next(rule for rule in _PLURALS if rule[0].search(last))
        return " ".join(["both", *before, pattern.sub(plural, last, count=1)])
    told = [f"the {readable_name(name)}" for name in names]
    return told[0] if len(told) == 1 else f"{', '.join(told[:-1])} and {told[-1]}"


def pair_under_one_label(name: str, label_map: str | None) -> str | None:
    """What a structure is called that means two organs in a label map: "both kidneys"; None for any other."""
    found = _data("names.yaml")["pairs"].get(label_map or "", {}).get(name)
    return None if found is None else str(found)


def listed(names: Sequence[str], last: str = "and") -> str:
    """Readable names as a list: "liver, spleen and left kidney"."""
    words = [readable_name(name) for name in names]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} {last} {words[-1]}"


def decimals(value: float) -> int:
    """Decimals that a value is shown with: three figures, more only where they stand before the point."""
    size = abs(value)
    return 0 if size >= 100 else 2 - math.floor(math.log10(size)) if size else 0


def places_of(value: float, step: float | None) -> int:
    """Decimals that a length is shown with, measured on voxels of an edge of ``step``: none that say nothing.

    Example:
        >>> places_of(96.0, 3.0), places_of(9.6, 0.3), places_of(9.62, 0.08), places_of(9.6, None)
        (0, 1, 1, 2)
    """
    most = decimals(value)
    return most if not step else min(most, max(0, -math.floor(math.log10(2 * step) + 1e-9)))


def shown(quantity: Quantity) -> str:
    """A figure as it is shown: with the digits that its voxels allow."""
    return shown_value(quantity.value, quantity.unit, places_of(quantity.value, quantity.step))


def shown_value(value: float, unit: str | None, places: int | None = None) -> str:
    """A number with its unit, as in options and keys: ``"864 mm3"``. Reading it back gives the same quantity."""
    number = f"{value:.{decimals(value) if places is None else places}f}"
    return number if not unit else f"{number}%" if unit == "%" else f"{number} {unit}"


def stem(subtask: str, words: Mapping[str, str], random: Random) -> tuple[str, str]:
    """A question and the name of its template.

    Args:
        subtask: whose templates.
        words: what goes into the blanks.
        random: chooses among several wordings.

    Raises:
        SettingsError: no template, or a blank that has no word.
    """
    templates = _data("templates.yaml")
    if subtask not in templates:
        raise SettingsError("no template of this name", key="subtask", found=subtask, expected=", ".join(templates))
    number = random.randrange(len(templates[subtask]))
    try:
        text = templates[subtask][number].format_map(dict(words))
    except KeyError as error:
        raise SettingsError("a template has a blank without a word", key=subtask, found=error) from None
    return text[0].upper() + text[1:], f"{subtask}/{number}"
