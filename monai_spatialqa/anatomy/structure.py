"""One structure of a label map, and what its name says about its side."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, get_args

Side = Literal["left", "right"]
Colour = tuple[int, int, int]
TumourKind = Literal[
    "kidney", "pancreas", "liver", "prostate", "hepatic_vessel", "brats_whole", "brats_enhancing", "brats_oedema"
]
TUMOUR_KINDS: tuple[TumourKind, ...] = get_args(TumourKind)

_OPPOSITE: dict[str, Side] = {"left": "right", "right": "left"}
# "left" or "right" as a word of its own: kidney_left, left kidney, rib_left_1; not "cleft_palate".
_SIDE_WORD = re.compile(r"(?<![^\W_])(left|right)(?![^\W_])", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Coding:
    """A code of a terminology, written as DICOM writes it. The side is not part of it: a structure has its own.

    Attributes:
        scheme: coding scheme designator, ``SCT`` for SNOMED CT.
        code: the code, as text.
        meaning: what it stands for, in words.
    """

    scheme: str
    code: str
    meaning: str


@dataclass(frozen=True, slots=True)
class StructureInfo:
    """A structure that a label map names.

    Attributes:
        label: voxel value of the structure in a label file, 1 to 2**64 - 1.
        name: unique name within the label map.
        side: side of the patient's body, None for a structure that has none.
        partner: name of the same structure on the other side, None where the label map has none.
        group: the group that the source of the label map puts it in, None where it names none.
        coding: its code in a terminology, None where the source publishes none.
        colour: red, green and blue from 0 to 255, None where the source publishes none.
        tumour_kind: which of :data:`TUMOUR_KINDS` it is, None when it is none of them.
        source_name: what the source calls it, letter for letter, None where that is ``name`` or not known.
    """

    label: int
    name: str
    side: Side | None = None
    partner: str | None = None
    group: str | None = None
    coding: Coding | None = None
    colour: Colour | None = None
    tumour_kind: TumourKind | None = None
    source_name: str | None = None


def side_of_name(name: str) -> Side | None:
    """The side that a name states by the word "left" or "right"; None when it states none, or both.

    Example:
        >>> side_of_name("kidney_left"), side_of_name("rib_right_1"), side_of_name("liver")
        ('left', 'right', None)
    """
    found = {match.lower() for match in _SIDE_WORD.findall(name)}
    if len(found) != 1:
        return None
    return "left" if "left" in found else "right"


def opposite_name(name: str) -> str | None:
    """The same name with "left" and "right" exchanged, in the same letter case; None when it states no side.

    Example:
        >>> opposite_name("Left kidney")
        'Right kidney'
    """
    if side_of_name(name) is None:
        return None
    return _SIDE_WORD.sub(_exchange, name)


def _exchange(match: re.Match[str]) -> str:
    word = match.group()
    other: str = _OPPOSITE[word.lower()]
    if word.isupper():
        return other.upper()
    return other.capitalize() if word[0].isupper() else other


def fallback_name(label: int) -> str:
    """What a structure is called that no label map names: ``label_<id>``."""
    return f"label_{label}"
