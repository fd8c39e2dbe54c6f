"""Which pairs of structures are meant: all, those among groups, a list of names, or the two sides of the body."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

from monai_spatialqa.anatomy.label_map import LabelMap
from monai_spatialqa.errors import SettingsError

PairSpec = str | Mapping[str, Any] | Sequence[Sequence[str]] | None


def resolve_pairs(pairs: PairSpec, label_map: LabelMap) -> list[tuple[str, str]]:
    """The pairs of structure names behind a setting, in a fixed order.

    Args:
        pairs: ``"all"``: every unordered pair, in the order of the label map. ``{"among": [names or groups]}``: every
            unordered pair among these. A list of ``(name, name)``: these, as given. None: no pair. Derived structures
            are paired only where they are named.
        label_map: where the names come from.

    Raises:
        SettingsError: another form, a pair that is not two names, or a structure paired with itself.
        LabelMapError: a name or group the label map does not have.
    """
    if pairs is None:
        return []
    if isinstance(pairs, str):
        if pairs != "all":
            raise _unknown_form(pairs)
        return list(combinations(label_map.names, 2))
    if isinstance(pairs, Mapping):
        if set(pairs) != {"among"}:
            raise _unknown_form(dict(pairs))
        among = label_map.select(pairs["among"])
        if len(among) < 2:
            raise SettingsError(
                "a pair needs two structures",
                key="pairs",
                found=f"among {', '.join(among) or 'nothing'}",
                expected="two structures or more",
            )
        return list(combinations(among, 2))
    resolved = []
    if not isinstance(pairs, Sequence):
        raise _unknown_form(pairs)
    for pair in pairs:
        if isinstance(pair, str) or not isinstance(pair, Sequence) or len(pair) != 2:
            raise SettingsError("a pair is two structure names", key="pairs", found=pair, expected="[name, name]")
        first, second = (_structure(name, label_map) for name in pair)
        if first == second:
            raise SettingsError("a structure has no distance to itself", key="pairs", found=list(pair))
        resolved.append((first, second))
    return list(dict.fromkeys(resolved))


def _structure(name: str, label_map: LabelMap) -> str:
    if name in label_map.group_names:
        raise SettingsError(
            "a pair is two structures, this is a group",
            key="pairs",
            found=name,
            expected="names of structures",
            next_step=f'pass {{"among": ["{name}"]}} for all pairs of the group',
        )
    (found,) = label_map.select(name)
    return found


def _unknown_form(found: Any) -> SettingsError:
    return SettingsError(
        "the pairs are not understood",
        key="pairs",
        found=found,
        expected='"all", {"among": [names or groups]}, or a list of [name, name]',
    )


def partner_rows(label_map: LabelMap) -> list[tuple[int, int]]:
    """Positions (left, right) in the label map of the structures it has on both sides."""
    row_of = {name: row for row, name in enumerate(label_map.names)}
    return [
        (row_of[entry.name], row_of[entry.partner])
        for entry in label_map
        if entry.side == "left" and entry.partner in row_of
    ]
