"""Read the structures of a label map: ids, names, and everything that makes them ambiguous."""

from __future__ import annotations

import operator
import re
import unicodedata
from collections import Counter
from collections.abc import Collection
from typing import Any

from monai_spatialqa.anatomy.coding import read_coding, read_colour, read_tumour_kind
from monai_spatialqa.anatomy.fields import checked_name, read_fields, read_text, refusal, shown
from monai_spatialqa.anatomy.structure import StructureInfo
from monai_spatialqa.anatomy.text import Pairs

LARGEST_LABEL = 2**64 - 1

_FIELDS = ("label", "name", "side", "partner", "group", "coding", "colour", "tumour_kind", "source_name")
_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,39}")


def read_structures(tree: Any, ignore_labels: Collection[int]) -> tuple[list[StructureInfo], set[str]]:
    """Read ``id: name``, ``id: {name, ...}`` or ``[{label, name, ...}]``.

    Args:
        tree: what was read, as ``Pairs`` or a list of them.
        ignore_labels: ids whose entries are left out, such as 0 where a file lists the background.

    Returns:
        The structures by ascending id, and the names of the entries left out.

    Raises:
        LabelMapError: for an id or name that is missing, double, reserved or impossible.
    """
    if isinstance(tree, Pairs):
        raw = [_entry_of_pair(key, value, tree) for key, value in tree]
    elif isinstance(tree, list):
        raw = [_entry_of_item(item, position) for position, item in enumerate(tree, start=1)]
    else:
        raise refusal("'structures' is not a list", key="structures", found=shown(tree), expected="entries")
    kept = [(label, fields) for label, fields in raw if label not in ignore_labels]
    if not kept:
        raise refusal("the label map names no structure", found="0 entries", expected="at least one 'id: name'")
    _refuse_double_ids(kept)
    structures = sorted((_structure(label, fields) for label, fields in kept), key=lambda entry: entry.label)
    _refuse_double_names(structures)
    return structures, {str(fields.get("name")) for label, fields in raw if label in ignore_labels}


def _entry_of_pair(key: Any, value: Any, siblings: Pairs) -> tuple[int, dict[str, Any]]:
    label = read_label(key, siblings)
    if isinstance(value, Pairs):
        return label, read_fields(value, _FIELDS[1:], where=f"id {label}")
    return label, {"name": value}


def _entry_of_item(item: Any, position: int) -> tuple[int, dict[str, Any]]:
    where = f"entry {position} of structures"
    if not isinstance(item, Pairs):
        raise refusal("an entry is not a mapping", key=where, found=shown(item), expected="label and name")
    fields = read_fields(item, _FIELDS, where=where)
    if "label" not in fields:
        raise refusal("an entry has no label", key=where, found=fields.get("name"), expected="label and name")
    return read_label(fields.pop("label")), fields


def read_label(value: Any, siblings: Pairs | None = None) -> int:
    """A voxel value from text as written, or from a Python integer of any kind.

    Args:
        value: the id.
        siblings: the mapping it is a key of, to recognise one that is the wrong way round.

    Raises:
        LabelMapError: when it is not a plain decimal whole number (``1.5``, ``true``, ``1a``, ``010``).
    """
    if isinstance(value, str) and _INTEGER.fullmatch(value):
        return int(value)
    if not isinstance(value, (str, bool)):
        try:
            return operator.index(value)
        except TypeError:
            pass
    next_step = "write the id as a plain decimal number"
    if siblings and all(isinstance(name, int) for _, name in siblings):
        next_step = "turn the entries round, from 'name: id' to 'id: name'"
    elif value in ("name", "source", "licence", "verified", "notes", "groups", "derived"):
        next_step = "in the full form, put the entries under 'structures'"
    raise refusal(
        "an id is not a whole number",
        code="bad_id",
        key=shown(value),
        found=shown(value),
        expected=f"a whole number from 1 to {LARGEST_LABEL}",
        next_step=next_step,
    )


def _structure(label: int, fields: dict[str, Any]) -> StructureInfo:
    where = f"id {label}"
    name = checked_name(fields.get("name"), where, label=label)
    _refuse_impossible(label, name)
    side = fields.get("side")
    if side not in (None, "left", "right"):
        raise refusal("unknown side", code="bad_side", key=where, found=shown(side), expected="left, right or nothing")
    return StructureInfo(
        label=label,
        name=name,
        side=side,
        partner=read_text(fields.get("partner"), f"partner of {where}"),
        group=read_text(fields.get("group"), f"group of {where}"),
        coding=read_coding(fields.get("coding"), where),
        colour=read_colour(fields.get("colour"), where),
        tumour_kind=read_tumour_kind(fields.get("tumour_kind"), where),
        source_name=read_text(fields.get("source_name"), f"source_name of {where}"),
    )


def _refuse_impossible(label: int, name: str) -> None:
    if 0 < label <= LARGEST_LABEL:
        return
    if label == 0:
        problem, next_step = "id 0 is the background, not a structure", "delete the entry, or ignore id 0"
    elif label < 0:
        problem, next_step = "an id is negative", "correct the entry, or ignore the id"
    else:
        problem, next_step = "an id does not fit into 64 bits", "correct the entry"
    expected = f"a whole number from 1 to {LARGEST_LABEL}"
    raise refusal(problem, code="bad_id", key=f"id {label}", found=name, expected=expected, next_step=next_step)


def _refuse_double_ids(entries: list[tuple[int, dict[str, Any]]]) -> None:
    for label, count in Counter(label for label, _ in entries).items():
        if count > 1:
            raise refusal(
                "several names share an id",
                code="duplicate_id",
                key=f"id {label}",
                found=" and ".join(str(fields.get("name")) for other, fields in entries if other == label),
                expected="one name for each id",
                next_step="give each structure an id of its own",
            )


def _refuse_double_names(structures: list[StructureInfo]) -> None:
    """Names that differ in letter case or in Unicode composition only count as the same."""
    folded = [unicodedata.normalize("NFC", entry.name).casefold() for entry in structures]
    for name, count in Counter(folded).items():
        if count > 1:
            twins = [entry for entry, other in zip(structures, folded, strict=True) if other == name]
            raise refusal(
                "several ids share a name",
                code="duplicate_name",
                key=twins[0].name,
                found="ids " + " and ".join(str(entry.label) for entry in twins),
                expected="one id for each name, letter case aside",
                next_step="give each structure a name of its own",
            )
