"""Read the groups of a label map."""

from __future__ import annotations

from collections import Counter
from typing import Any

from monai_spatialqa.anatomy.fields import closest, refusal, shown
from monai_spatialqa.anatomy.structure import StructureInfo
from monai_spatialqa.anatomy.text import Pairs

Groups = tuple[tuple[str, tuple[str, ...]], ...]


def read_groups(tree: Any, structures: list[StructureInfo], ignored_names: set[str]) -> Groups:
    """The groups that the structures themselves name, then those listed under ``groups``, members in order of id.

    Args:
        tree: ``group: [names]`` as read, or None.
        structures: the structures of the map, by ascending id.
        ignored_names: names of entries that were left out, which a group may still list.

    Raises:
        LabelMapError: for a group without a name of its own, or with a structure that is unknown or listed twice.
    """
    groups: dict[str, list[str]] = {}
    for entry in structures:
        if entry.group is not None:
            groups.setdefault(entry.group, []).append(entry.name)
    if tree is not None and not isinstance(tree, Pairs):
        raise refusal("'groups' is not a mapping", key="groups", found=shown(tree), expected="group: [names]")
    names = [entry.name for entry in structures]
    for group in groups:
        _check_group_name(group, set(names))
    for group, members in tree or ():
        _check_group_name(group, {*names, *groups})
        listed = _members(group, members, {*names, *ignored_names})
        groups[group] = [name for name in names if name in listed]
    return tuple((group, tuple(members)) for group, members in groups.items() if members)


def _check_group_name(group: Any, taken: set[str]) -> None:
    if not isinstance(group, str) or not group.strip() or group in taken:
        raise refusal(
            "a group's name is empty, or that of a structure or of another group",
            code="bad_group",
            key="groups",
            found=shown(group),
            expected="a name of its own",
            next_step="rename the group",
        )


def _members(group: str, members: Any, known: set[str]) -> set[str]:
    where = f"group {group}"
    if not isinstance(members, list) or isinstance(members, Pairs):
        raise refusal("a group is not a list", code="bad_group", key=where, found=shown(members), expected="names")
    for name, count in Counter(name if isinstance(name, str) else shown(name) for name in members).items():
        if name not in known or count > 1:
            raise refusal(
                "a group lists a structure twice" if name in known else "a group lists an unknown structure",
                code="bad_group",
                key=where,
                found=name,
                expected="each structure of the map at most once",
                next_step="delete one of them" if name in known else closest(name, sorted(known)),
            )
    return set(members)
