"""Which of the ten organs and eight tumour kinds of the result tables a structure counts for."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal, get_args

import yaml

from monai_spatialqa.anatomy.label_map import LabelMap
from monai_spatialqa.anatomy.loading import load_label_map, shipped_label_maps
from monai_spatialqa.anatomy.structure import TUMOUR_KINDS, TumourKind

Organ = Literal["pancreas", "liver", "lung", "kidney", "stomach", "spleen", "vessel", "heart", "brain", "prostate"]
ORGANS: tuple[Organ, ...] = get_args(Organ)
"""The organs of the published heat map, in its order."""

_WORD = re.compile(r"[^\W_]+")
_SPELLING = (re.compile(r"tumor"), "tumour"), (re.compile(r"(?<!o)edema"), "oedema")
_WITH_TUMOUR = re.compile(r"_(with|and)_(tumour|mass)$")
_TUMOUR = re.compile(r"_tumours?$")


@dataclass(frozen=True)
class _Table:
    """``organs.yaml``: normalised name -> organ, and the rest as it stands there."""

    organ_of_name: dict[str, Organ]
    organ_of_group: dict[str, Organ]
    organ_of_tumour: dict[TumourKind, Organ]
    kind_of_name: dict[str, TumourKind]
    organ_in_map: dict[str, dict[str, Organ]]


def organs_of(
    structure: str, label_map: LabelMap | str | None = None, members: Iterable[str] = ()
) -> tuple[Organ, ...]:
    """The organs that a structure counts for, in the order of :data:`ORGANS`; most structures count for none.

    Parts, sides and tumours count for their organ, a union for every organ of its members. Names are compared without
    regard to side, case, and British or American spelling, so label maps of users need no list of their own.

    Args:
        structure: name in a measurement.
        label_map: the label map the name comes from, or its name. One that does not come with the package and is given
            by name only is unknown: then the structure's name decides alone.
        members: structures that it is a union of, where the label map does not tell.

    Example:
        >>> organs_of("kidney_left"), organs_of("whole_tumour", "brats2021"), organs_of("gallbladder")
        (('kidney',), ('brain',), ())
    """
    known = _known(label_map)
    found: set[Organ] = set(_own_organs(structure, known))
    if not found:
        parts = list(members)
        if known is not None and structure in known.derived:
            parts = [known.name_of(label) for label in known.derived[structure]]
        for part in parts:
            found.update(_own_organs(part, known))
    return tuple(organ for organ in ORGANS if organ in found)


def tumours_of(structure: str, label_map: LabelMap | str | None = None) -> tuple[TumourKind, ...]:
    """The tumour kind that a structure is, as a tuple of one or none; an organ with its tumour is none.

    Args:
        structure: name in a measurement.
        label_map: the label map the name comes from, or its name; its kinds come before the name.

    Example:
        >>> tumours_of("hepatic_tumour", "msd_task08"), tumours_of("liver_tumor"), tumours_of("liver_with_tumour")
        (('hepatic_vessel',), ('liver',), ())
    """
    known = _known(label_map)
    if known is not None:
        for kind, names in known.tumours.items():
            if structure in names:
                return (kind,)
    kind_by_name = _table().kind_of_name.get(_normalised(structure))
    return () if kind_by_name is None else (kind_by_name,)


def _own_organs(structure: str, label_map: LabelMap | None) -> list[Organ]:
    """By tumour kind, by what the label map means by the name, by name, by group; the first that says something."""
    table = _table()
    kinds = tumours_of(structure, label_map)
    if kinds:
        return [table.organ_of_tumour[kind] for kind in kinds]
    plain = _normalised(structure)
    special = {} if label_map is None else table.organ_in_map.get(label_map.name, {})
    for name in (plain, _WITH_TUMOUR.sub("", plain), _TUMOUR.sub("", plain)):
        organ = special.get(name) or table.organ_of_name.get(name)
        if organ is not None:
            return [organ]
    groups = () if label_map is None else label_map.groups
    return [
        table.organ_of_group[group] for group, names in groups if structure in names and group in table.organ_of_group
    ]


def _normalised(name: str) -> str:
    """Lower case, words joined by "_", no side, British spelling."""
    plain = "_".join(word for word in _WORD.findall(name.casefold()) if word not in ("left", "right"))
    for pattern, spelling in _SPELLING:
        plain = pattern.sub(spelling, plain)
    return plain


@cache
def _shipped() -> frozenset[str]:
    return frozenset(shipped_label_maps())


def _known(label_map: LabelMap | str | None) -> LabelMap | None:
    if isinstance(label_map, str):
        return load_label_map(label_map) if label_map in _shipped() else None
    return label_map


@cache
def _table() -> _Table:
    tree: dict[str, Any] = yaml.safe_load((files("monai_spatialqa.anatomy") / "organs.yaml").read_text("utf-8"))
    return _Table(
        organ_of_name=_turned(tree["organs"]),
        organ_of_group=_turned(tree["groups"]),
        organ_of_tumour={kind: tree["tumours"][kind] for kind in TUMOUR_KINDS},
        kind_of_name=tree["tumour_names"],
        organ_in_map={name: _turned(organs) for name, organs in tree["label_maps"].items()},
    )


def _turned(names_of: dict[Organ, list[str]]) -> dict[str, Organ]:
    return {name: organ for organ in ORGANS for name in names_of.get(organ, ())}
