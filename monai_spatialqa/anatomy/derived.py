"""Structures that a label map defines as unions of others, such as a whole tumour or an organ with its tumour.

Only the rule is read here: what belongs together. Nothing is measured.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from monai_spatialqa.anatomy.coding import read_tumour_kind
from monai_spatialqa.anatomy.fields import checked_name, closest, read_fields, refusal, shown
from monai_spatialqa.anatomy.structure import StructureInfo, TumourKind
from monai_spatialqa.anatomy.text import Pairs
from monai_spatialqa.errors import LabelMapError

_FIELDS = ("union", "tumour_kind")


@dataclass(frozen=True, slots=True)
class DerivedStructure:
    """The union of several structures of a label map.

    Attributes:
        name: unique name, which no structure and no group has.
        labels: voxel values of its structures, ascending, at least two.
        tumour_kind: which kind of tumour it is, None when it is none of them.
    """

    name: str
    labels: tuple[int, ...]
    tumour_kind: TumourKind | None = None


@dataclass(frozen=True, slots=True)
class _Rule:
    members: tuple[int | str, ...]
    tumour_kind: TumourKind | None


def read_derived(
    tree: Any,
    structures: Sequence[StructureInfo],
    groups: Iterable[str],
    ignored: Collection[int | str] = (),
) -> tuple[DerivedStructure, ...]:
    """Read ``name: {union: [ids or names], tumour_kind: ...}``, in the order of the file.

    A member is an id, a structure's name, or the name of another derived structure.

    Args:
        tree: what was read, or None.
        structures: the structures of the map.
        groups: names of its groups.
        ignored: ids and names of entries that were left out. A union with one of them is left out too: a part of a
            whole tumour is not the whole tumour.

    Raises:
        LabelMapError: for a name that is impossible or taken, a member that is unknown, double or a group, a union of
            fewer than two structures, or rules that go round in circles.
    """
    if tree is None:
        return ()
    if not isinstance(tree, Pairs):
        raise refusal(
            "'derived' is not a mapping", code="bad_derived", key="derived", found=shown(tree), expected=_expected()
        )
    group_names = tuple(groups)
    _refuse_taken_names([name for name, _ in tree], [entry.name for entry in structures], group_names)
    rules = {name: _read_rule(name, rule) for name, rule in tree}
    labels_of = {entry.name: entry.label for entry in structures}
    resolver = _Resolver(rules, labels_of, frozenset(ignored), group_names, {})
    derived = []
    for name, rule in rules.items():
        labels = resolver.labels(name, ())
        if labels is None:
            continue
        if len(labels) < 2:
            raise _bad(name, "a union of one structure", found=f"id {min(labels)}", expected="at least two structures")
        derived.append(DerivedStructure(name, tuple(sorted(labels)), rule.tumour_kind))
    return tuple(derived)


def _refuse_taken_names(derived: list[Any], structures: list[str], groups: tuple[str, ...]) -> None:
    taken = {_folded(name): f"structure {name}" for name in structures}
    taken.update({_folded(name): f"group {name}" for name in groups})
    for name in derived:
        checked_name(name, f"derived {name}")
        if _folded(name) in taken:
            raise refusal(
                "the name of a derived structure is taken",
                code="duplicate_name",
                key=f"derived {name}",
                found=f"also {taken[_folded(name)]}",
                expected="a name of its own, letter case aside",
                next_step="rename the derived structure",
            )
        taken[_folded(name)] = f"derived {name}"


def _folded(name: Any) -> str:
    return unicodedata.normalize("NFC", str(name)).casefold()


def _read_rule(name: str, tree: Any) -> _Rule:
    if not isinstance(tree, Pairs):
        raise _bad(name, "a derived structure is not a mapping", found=shown(tree), expected=_expected())
    fields = read_fields(tree, _FIELDS, where=f"derived {name}")
    members = fields.get("union")
    if not isinstance(members, list) or isinstance(members, Pairs) or not members:
        raise _bad(name, "a union is not a list", found=shown(members), expected=_expected())
    for member in members:
        if type(member) is not int and not isinstance(member, str):
            raise _bad(name, "a member is neither an id nor a name", found=shown(member), expected=_expected())
    for member, count in Counter(members).items():
        if count > 1:
            raise _bad(name, "a union lists a member twice", found=shown(member), expected="each member once")
    return _Rule(tuple(members), read_tumour_kind(fields.get("tumour_kind"), f"derived {name}"))


@dataclass(frozen=True, slots=True)
class _Resolver:
    rules: dict[str, _Rule]
    labels_of: dict[str, int]
    ignored: frozenset[int | str]
    groups: tuple[str, ...]
    known: dict[str, set[int] | None]

    def labels(self, name: str, path: tuple[str, ...]) -> set[int] | None:
        """Ids of a derived structure, None when one of its members was left out."""
        if name in self.known:
            return self.known[name]
        if name in path:
            circle = " -> ".join((*path[path.index(name) :], name))
            raise _bad(name, "derived structures go round in circles", found=circle, expected="a union of structures")
        parts = [self._member(member, name, (*path, name)) for member in self.rules[name].members]
        found = [part for part in parts if part is not None]
        self.known[name] = set().union(*found) if len(found) == len(parts) else None
        return self.known[name]

    def _member(self, member: int | str, name: str, path: tuple[str, ...]) -> set[int] | None:
        if isinstance(member, str) and member in self.rules:
            return self.labels(member, path)
        if isinstance(member, str) and member in self.labels_of:
            return {self.labels_of[member]}
        if isinstance(member, int) and member in self.labels_of.values():
            return {member}
        if member in self.ignored:
            return None
        if member in self.groups:
            expected = "ids and names of structures"
            raise _bad(
                name, "a member is a group", found=str(member), expected=expected, next_step="list its structures"
            )
        known = [*self.labels_of, *self.rules]
        raise _bad(
            name,
            "a member is not in the label map",
            found=shown(member),
            expected="ids and names of structures, or names of derived structures",
            next_step=closest(member, known) if isinstance(member, str) else "correct the id",
        )


def _bad(name: str, problem: str, *, found: str, expected: str, next_step: str = "correct the rule") -> LabelMapError:
    return refusal(
        problem, code="bad_derived", key=f"derived {name}", found=found, expected=expected, next_step=next_step
    )


def _expected() -> str:
    return "a rule such as whole_tumour: {union: [1, 2, 4]}"
