"""Load a label map: a shipped one by name, a user's file, or a dictionary from code."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Any

from monai_spatialqa.anatomy.derived import read_derived
from monai_spatialqa.anatomy.entries import read_structures
from monai_spatialqa.anatomy.fields import read_fields, read_flag, read_text, read_texts, refusal, shown
from monai_spatialqa.anatomy.grouping import read_groups
from monai_spatialqa.anatomy.label_map import LabelMap
from monai_spatialqa.anatomy.sides import with_sides
from monai_spatialqa.anatomy.text import Pairs, from_python, parse_json, parse_yaml
from monai_spatialqa.errors import LabelMapError

_FIELDS = ("name", "source", "licence", "verified", "notes", "structures", "groups", "derived")
_SUFFIXES = (".yaml", ".yml", ".json")


def shipped_label_maps() -> list[str]:
    """Names of the label maps that come with the package."""
    files = (resources.files("monai_spatialqa.anatomy") / "data").iterdir()
    return sorted(file.name.removesuffix(".yaml") for file in files if file.name.endswith(".yaml"))


def load_label_map(
    source: str | Path | Mapping[Any, Any] | LabelMap, *, ignore_labels: Collection[int] = ()
) -> LabelMap:
    """Make a label map and check it.

    A file holds ``id: name`` entries, or the full form::

        name: my_labels            # optional, as are source, licence, verified, notes, groups and derived
        structures:                # or a list of {label: 1, name: ..., side: ..., partner: ..., group: ...}
          1: kidney_left           # side and partner follow from "left" and "right" in the names
          2:
            name: tumour           # optional: side, partner, group, coding, colour, tumour_kind, source_name
            side: left
            coding: {scheme: SCT, code: "108369006", meaning: Neoplasm}
            colour: [255, 0, 200]
            tumour_kind: kidney
        groups:
          urinary: [kidney_left]
        derived:
          kidney_left_with_tumour: {union: [kidney_left, tumour]}

    Args:
        source: name of a shipped label map (which wins over a file of that name), path of a YAML or JSON file relative
            to the working directory, mapping of the same form as a file, or a label map.
        ignore_labels: ids to leave out, for instance ``[0]`` where a file lists the background. A derived structure
            with one of them is left out too.

    Returns:
        The label map; its name is the shipped name, the file's ``name`` or else its stem, or ``custom``.

    Raises:
        LabelMapError: for an unknown name, an unreadable file, ids that are double, 0, negative, not whole numbers or
            above 2**64 - 1, names that are double, empty or reserved (``label_7`` for another id than 7), sides,
            partners, groups or derived structures that contradict the entries, and codings, colours or tumour kinds
            that are none.

    Example:
        >>> load_label_map("totalsegmentator_v2").by_name("liver").label
        5
    """
    ignored = frozenset(ignore_labels)
    if isinstance(source, LabelMap):
        return _without(source, ignored)
    if isinstance(source, Mapping):
        return _build(from_python(source), "custom", "given in code", ignored)
    if not isinstance(source, (str, Path)):
        raise refusal("not a label map", found=type(source).__name__, expected="name, file path, mapping or LabelMap")
    if isinstance(source, str) and source in shipped_label_maps():
        return _without(_shipped(source), ignored)
    return _load_file(source, ignored)


@lru_cache(maxsize=32)
def _shipped(name: str) -> LabelMap:
    text = (resources.files("monai_spatialqa.anatomy") / "data" / f"{name}.yaml").read_text(encoding="utf-8")
    return _build(parse_yaml(text), name, name, frozenset())


def _load_file(source: str | Path, ignored: frozenset[int]) -> LabelMap:
    path = Path(source)
    if not path.is_file():
        raise _not_found(source)
    try:
        suffix = path.suffix.lower()
        if suffix not in _SUFFIXES:
            expected = "a file ending in " + ", ".join(_SUFFIXES)
            raise refusal("not a label map file", found=path.suffix or "no suffix", expected=expected)
        text = _read_text_file(path)
        tree = parse_json(text) if suffix == ".json" else parse_yaml(text)
        return _build(tree, path.stem, str(source), ignored)
    except LabelMapError as error:
        raise error.with_context(file=source) from error.__cause__


def _read_text_file(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        next_step = "check the file's permissions, and save it as UTF-8"
        raise refusal("unreadable file", found=error, expected="UTF-8 text", next_step=next_step) from error


def _not_found(source: str | Path) -> LabelMapError:
    shipped = shipped_label_maps()
    close = difflib.get_close_matches(str(source), shipped, n=1)
    return refusal(
        "no label map of this name comes with the package, and no such file exists",
        code="unknown_label_map",
        found=str(source),
        expected=f"one of {', '.join(shipped)}, or a file ending in {', '.join(_SUFFIXES)}",
        next_step=f"did you mean {close[0]}?"
        if close
        else "check the spelling, and the path from the working directory",
    )


def _build(tree: Any, name: str, source: str, ignored: frozenset[int]) -> LabelMap:
    if not isinstance(tree, Pairs):
        raise refusal("the label map is not a mapping", found=shown(tree), expected="'id: name' entries")
    full = any(key == "structures" for key, _ in tree)
    fields = read_fields(tree, _FIELDS, where="the label map") if full else {"structures": tree}
    structures, ignored_names = read_structures(fields["structures"], ignored)
    structures = with_sides(structures)
    groups = read_groups(fields.get("groups"), structures, ignored_names)
    return LabelMap(
        name=read_text(fields.get("name"), "name") or name,
        source=read_text(fields.get("source"), "source") or source,
        licence=read_text(fields.get("licence"), "licence"),
        entries=tuple(structures),
        groups=groups,
        derived_structures=read_derived(
            fields.get("derived"), structures, [group for group, _ in groups], ignored | ignored_names
        ),
        verified=read_flag(fields.get("verified"), "verified"),
        notes=read_texts(fields.get("notes"), "notes"),
    )


def _without(label_map: LabelMap, ignored: frozenset[int]) -> LabelMap:
    """The same map without some ids; nothing changes when it has none of them."""
    if not ignored.intersection(label_map.ids):
        return label_map
    gone = {label_map.name_of(label) for label in ignored}
    entries = [
        replace(entry, partner=None) if entry.partner in gone else entry
        for entry in label_map
        if entry.label not in ignored
    ]
    groups = [(group, tuple(name for name in names if name not in gone)) for group, names in label_map.groups]
    kept = tuple((group, names) for group, names in groups if names)
    derived = tuple(entry for entry in label_map.derived_structures if ignored.isdisjoint(entry.labels))
    return replace(label_map, entries=tuple(entries), groups=kept, derived_structures=derived)
