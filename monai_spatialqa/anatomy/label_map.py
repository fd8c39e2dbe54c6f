"""A label map: which voxel value is which structure, checked when it is made."""

from __future__ import annotations

import difflib
import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from monai_spatialqa.anatomy.derived import DerivedStructure
from monai_spatialqa.anatomy.structure import StructureInfo, TumourKind, fallback_name
from monai_spatialqa.errors import LabelMapError

TUMOUR_GROUP = "tumours"
"""The group of structures that are tumours of any kind."""


@dataclass(frozen=True, repr=False)
class LabelMap:
    """An immutable list of structures with their voxel values, in the order of those values.

    Make one with :func:`monai_spatialqa.anatomy.load_label_map`, which checks ids, names, sides, groups and rules.

    Attributes:
        name: short name, as it stands in records.
        source: where the list comes from: repository and commit, or a file path as the user gave it.
        licence: licence of the list, None when not known.
        entries: the structures, by ascending label.
        groups: named lists of structures.
        derived_structures: the structures it defines as unions of others, in the order of the file.
        verified: whether ids and names were compared with the list that the owner of the data publishes; None where
            the map does not say.
        notes: what to know before using it, one text each: traps of the source, and what is ours.

    Example:
        >>> from monai_spatialqa.anatomy import load_label_map
        >>> lungs = load_label_map({1: "lung_left", 2: "lung_right"})
        >>> lungs.by_label(1).side, lungs.by_name("lung_left").partner
        ('left', 'lung_right')
    """

    name: str
    source: str
    licence: str | None
    entries: tuple[StructureInfo, ...]
    groups: tuple[tuple[str, tuple[str, ...]], ...] = ()
    derived_structures: tuple[DerivedStructure, ...] = ()
    verified: bool | None = None
    notes: tuple[str, ...] = ()

    @property
    def ids(self) -> tuple[int, ...]:
        """Voxel values, ascending."""
        return tuple(entry.label for entry in self.entries)

    @property
    def names(self) -> tuple[str, ...]:
        """Structure names, in the order of :attr:`ids`."""
        return tuple(entry.name for entry in self.entries)

    @property
    def row_names(self) -> tuple[str, ...]:
        """What is measured, in order: the structures, then those derived from them."""
        return (*self.names, *(entry.name for entry in self.derived_structures))

    @property
    def union_rows(self) -> dict[int, tuple[int, ...]]:
        """Position in :attr:`row_names` of each derived structure -> positions of the structures it unites."""
        row_of = {label: row for row, label in enumerate(self.ids)}
        return {
            len(self.entries) + at: tuple(row_of[label] for label in entry.labels)
            for at, entry in enumerate(self.derived_structures)
        }

    @property
    def tumour_rows(self) -> tuple[int, ...]:
        """Positions in :attr:`row_names` of everything that is a tumour or a part of one.

        By kind, by the group ``tumours``, or as a union of nothing but such structures.
        """
        tumours = {name for names in self.tumours.values() for name in names}
        tumours.update(dict(self.groups).get(TUMOUR_GROUP, ()))
        tumours.update(
            name for name, labels in self.derived.items() if all(self.name_of(label) in tumours for label in labels)
        )
        return tuple(row for row, name in enumerate(self.row_names) if name in tumours)

    @property
    def group_names(self) -> tuple[str, ...]:
        """Names of the groups."""
        return tuple(name for name, _ in self.groups)

    @property
    def derived(self) -> dict[str, tuple[int, ...]]:
        """Voxel values of each derived structure, ascending, by its name.

        Example:
            >>> from monai_spatialqa.anatomy import load_label_map
            >>> load_label_map("brats2021").derived["whole_tumour"]
            (1, 2, 4)
        """
        return {entry.name: entry.labels for entry in self.derived_structures}

    @property
    def tumours(self) -> dict[TumourKind, tuple[str, ...]]:
        """Names of the structures of each tumour kind that the map has, derived ones behind its own."""
        kinds = [(entry.tumour_kind, entry.name) for entry in self.entries]
        kinds += [(entry.tumour_kind, entry.name) for entry in self.derived_structures]
        found: dict[TumourKind, tuple[str, ...]] = {}
        for kind, name in kinds:
            if kind is not None:
                found[kind] = (*found.get(kind, ()), name)
        return found

    @cached_property
    def sha256(self) -> str:
        """Hash of which voxels belong to what: ids, names, sides, partners, groups and derived structures.

        The same whatever file it was read from; codes, colours, tumour kinds and notes do not change it.
        """
        structures = [
            {"label": e.label, "name": e.name, "side": e.side, "partner": e.partner, "group": e.group} for e in self
        ]
        content: dict[str, object] = {"structures": structures, "groups": dict(self.groups)}
        if self.derived_structures:
            content["derived"] = self.derived
        text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
        return hashlib.sha256(text.encode("ascii")).hexdigest()

    def by_name(self, name: str) -> StructureInfo:
        """The structure of that name.

        Raises:
            LabelMapError: when the map has none; the message names the closest ones.
        """
        if name not in self._by_name:
            raise self._unknown(name, self.names, "structure", code="unknown_structure")
        return self._by_name[name]

    def by_label(self, label: int) -> StructureInfo:
        """The structure with that voxel value.

        Raises:
            LabelMapError: when the map has none.
        """
        if label not in self._by_label:
            raise LabelMapError(
                f"the label map has no structure with id {label}",
                code="unknown_structure",
                file=self.source,
                found=label,
                expected=f"one of {len(self.entries)} ids from {self.ids[0]} to {self.ids[-1]}",
                next_step="add the id to the label map, or ask for another structure",
            )
        return self._by_label[label]

    def name_of(self, label: int) -> str:
        """The name of a voxel value; ``label_<id>`` for one that the map does not name."""
        entry = self._by_label.get(label)
        return fallback_name(label) if entry is None else entry.name

    def group(self, name: str) -> list[str]:
        """Names of the structures of a group, in the order of their ids.

        Raises:
            LabelMapError: when the map has no such group; the message names the closest ones.
        """
        groups = dict(self.groups)
        if name not in groups:
            raise self._unknown(name, self.group_names, "group", code="unknown_group")
        return list(groups[name])

    def select(self, names_or_groups: str | Iterable[str]) -> list[str]:
        """Structure names for a mixture of structure and group names, derived ones too: in the order asked, each once.

        Raises:
            LabelMapError: when a name is neither a structure nor a group.
        """
        asked = [names_or_groups] if isinstance(names_or_groups, str) else list(names_or_groups)
        groups = dict(self.groups)
        chosen: dict[str, None] = {}
        for name in asked:
            if name not in self.row_names and name not in groups:
                known = self.row_names + self.group_names
                raise self._unknown(name, known, "structure or group", code="unknown_structure")
            chosen.update(dict.fromkeys(groups.get(name, (name,))))
        return list(chosen)

    def select_own(self, names_or_groups: str | Iterable[str]) -> list[str]:
        """The same with each derived structure replaced by the structures it unites.

        Raises:
            LabelMapError: when a name is neither a structure nor a group.
        """
        chosen: dict[str, None] = {}
        for name in self.select(names_or_groups):
            labels = self.derived.get(name)
            chosen.update(dict.fromkeys([name] if labels is None else map(self.name_of, labels)))
        return list(chosen)

    def to_mapping(self) -> dict[int, str]:
        """A plain dictionary from voxel value to name, without groups, kinds of tumours and the like."""
        return {entry.label: entry.name for entry in self.entries}

    def to_content(self) -> dict[str, Any]:
        """All of it as a mapping in the full form, of which ``load_label_map`` makes an equal label map.

        Example:
            >>> from monai_spatialqa.anatomy import load_label_map
            >>> tumours = load_label_map("brats2021")
            >>> load_label_map(tumours.to_content()) == tumours
            True
        """
        content: dict[str, Any] = {"name": self.name, "source": self.source, "licence": self.licence}
        content |= {"verified": self.verified, "notes": list(self.notes)}
        content["structures"] = {entry.label: _told(entry) for entry in self.entries}
        of_entries = {entry.group for entry in self.entries}
        content["groups"] = {group: list(names) for group, names in self.groups if group not in of_entries}
        content["derived"] = {
            entry.name: {"union": list(entry.labels)}
            | ({} if entry.tumour_kind is None else {"tumour_kind": entry.tumour_kind})
            for entry in self.derived_structures
        }
        return {field: value for field, value in content.items() if value not in (None, [], {})}

    def __len__(self) -> int:
        return len(self.entries)

    def __iter__(self) -> Iterator[StructureInfo]:
        return iter(self.entries)

    def __repr__(self) -> str:
        return f"LabelMap({self.name!r}, {len(self.entries)} structures)"

    @cached_property
    def _by_name(self) -> dict[str, StructureInfo]:
        return {entry.name: entry for entry in self.entries}

    @cached_property
    def _by_label(self) -> dict[int, StructureInfo]:
        return {entry.label: entry for entry in self.entries}

    def _unknown(self, name: object, known: tuple[str, ...], what: str, code: str) -> LabelMapError:
        close = difflib.get_close_matches(str(name), known, n=3)
        listed = ", ".join(known[:10]) + (", ..." if len(known) > 10 else "")
        return LabelMapError(
            f"the label map has no {what} of this name",
            code=code,
            file=self.source if self.source.endswith((".yaml", ".yml", ".json")) else None,
            found=repr(name),
            expected=f"one of {len(known)}: {listed}" if known else f"a label map with a {what}",
            next_step=f"did you mean {' or '.join(close)}?" if close else f"use a {what} name of label map {self.name}",
        )


def _told(entry: StructureInfo) -> dict[str, Any]:
    """The fields of a structure that hold something, without its label."""
    told = {field: value for field, value in asdict(entry).items() if field != "label" and value is not None}
    return told | ({"colour": list(entry.colour)} if entry.colour is not None else {})
