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

_VERTEBRA = re.compile(r"vertebrae_([A-Z]\d+)")
_RIB = re.compile(r"rib_(left|right)_(\d+)")
_SIDE = re.compile(r"(?:^|_)(left|right)(?=_|$)")


@cache
def _data(name: str) -> Any:
    return yaml.safe_load((files("monai_spatialqa.items") / "data" / name).read_text(encoding="utf-8"))


def readable_name(name: str) -> str:
    """A structure's name as a radiologist says it: ``kidney_left`` is the "left kidney".

    Exceptions are in ``data/names.yaml``; otherwise underscores become spaces and the side comes first.
    """
    known = _data("names.yaml")
    if name in known:
        return str(known[name])
    vertebra = _VERTEBRA.fullmatch(name)
    if vertebra:
        return f"{vertebra.group(1)} vertebra"
    rib = _RIB.fullmatch(name)
    if rib:
        number = int(rib.group(2))
        return f"{rib.group(1)} {number}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(number, 'th') } rib"
    side = _SIDE.search(name)
    words = _SIDE.sub("", name).strip("_").replace("_", " ")
    return f"{side.group(1)} {words}" if side else words


def listed(names: Sequence[str], last: str = "and") -> str:
    """Readable names as a list: "liver, spleen and left kidney"."""
    words = [readable_name(name) for name in names]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} {last} {words[-1]}"


def decimals(value: float) -> int:
    """Decimals that a value is shown with: three figures, more only where they stand before the point."""
    size = abs(value)
    return 0 if size >= 100 else 2 - math.floor(math.log10(size)) if size else 0


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
