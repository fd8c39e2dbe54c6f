"""What a case tells of its lesions: which structures are lesions, the organ of each, and the vessels beside them.

A lesion is what the label map calls a tumour, or a part of one: by its kind, or by the group ``tumours``. Its organ
follows from the kind (``data/lesion_organs.yaml``) and from the structures that the label map has. Where a map labels
an organ's rest and its tumour apart, the organ as an anatomist means it is both together: the map's own union, if it
has one, or else the sum of the parts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from random import Random
from typing import Any

import yaml

from monai_spatialqa.errors import SettingsError
from monai_spatialqa.items.quantity import Quantity
from monai_spatialqa.items.tools import run_tool
from monai_spatialqa.items.view import CaseView, Purpose
from monai_spatialqa.items.wording import pair_under_one_label, readable_name
from monai_spatialqa.records.item import Argument

NOT_MEASURED = "not measured (detail: full)"
"""Why a question is not made of a record without the finer measures."""

_VESSELS = "vessels"


@cache
def _known() -> Any:
    path = files("monai_spatialqa.items") / "data" / "lesion_organs.yaml"
    return yaml.safe_load(path.read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Share:
    """A lesion and the whole that it is a part of.

    Attributes:
        part: the lesion.
        whole: structures whose volumes add up to the whole; one union, or several that share no voxels.
        members: what the whole consists of, for people.
    """

    part: str
    whole: tuple[str, ...]
    members: tuple[str, ...]

    @property
    def structures(self) -> tuple[str, ...]:
        """The lesion and the structures of the whole, each once."""
        return tuple(dict.fromkeys((self.part, *self.whole)))


def lesions(view: CaseView, purpose: Purpose, random: Random) -> list[str]:
    """Lesions that may be asked about, unions included, in random order."""
    names = [name for name in view.tumours if view.may_ask(name, purpose)]
    random.shuffle(names)
    return names


def leaves(view: CaseView, name: str) -> tuple[str, ...]:
    """The structures that a union unites; of any other structure, itself."""
    return tuple(view.structure(name).union_of or (name,))


def shared_voxels(view: CaseView, first: str, second: str) -> int:
    """Voxels that belong to two structures, unions taken apart."""
    pairs = {frozenset((one, other)) for one in leaves(view, first) for other in leaves(view, second) if one != other}
    return sum(overlap.voxels for overlap in view.measurement.overlaps if frozenset((overlap.a, overlap.b)) in pairs)


def unrelated(view: CaseView, first: str, second: str) -> bool:
    """Whether two structures have no voxel in common and are no union of each other's parts."""
    apart = not set(leaves(view, first)) & set(leaves(view, second))
    return apart and not shared_voxels(view, first, second)


def vessels(view: CaseView) -> list[str]:
    """Vessels of the case: those of the label map's group, or else by their names; where questions may be asked."""
    groups = {} if view.label_map is None else dict(view.label_map.groups)
    known = groups.get(_VESSELS, tuple(_known()["vessels"]))
    tumours = set(view.tumours)
    return [name for name in view.names if name in known and name not in tumours and view.may_ask(name, "place")]


def organ_names(view: CaseView, lesion: str) -> list[str]:
    """Structures of the case that are the organ of a lesion, or may be: both kidneys where each has its own label."""
    if view.label_map is None:
        return []
    kinds = [kind for kind, names in view.label_map.tumours.items() if lesion in names]
    if not kinds:
        return []
    known = _known()["organs"].get(kinds[0], [])
    return [name for name in view.names if name in known and "absent" not in view.structure(name).status]


def organ_of(view: CaseView, lesion: str) -> str | None:
    """The organ that a lesion lies in; None, with the reason counted, where it is not known.

    Of several, it is the only one that the lesion touches or shares voxels with.
    """
    names = organ_names(view, lesion)
    if not names:
        view.refuse("the label map has no organ of this tumour", lesion)
    if len(names) < 2:
        return names[0] if names else None
    if any("not_segmented" in view.structure(name).status for name in names):
        view.refuse("of several organs that a lesion may lie in, one was not segmented", lesion)
        return None
    touched = []
    for name in names:
        area = figure(view, "contact_area", lesion, name, first=lesion, second=name)
        if area is None:
            return None
        if area.value > 0 or shared_voxels(view, lesion, name):
            touched.append(name)
    if len(touched) != 1:
        view.refuse("the organ of the lesion is not told by contact", lesion)
        return None
    return touched[0]


def with_article(view: CaseView, names: Sequence[str]) -> str:
    """Structures in the words of a sentence: "the liver", "both kidneys", "the oedema and the necrotic core"."""
    told = [pair_under_one_label(name, view.measurement.label_map) or f"the {readable_name(name)}" for name in names]
    return told[0] if len(told) == 1 else f"{', '.join(told[:-1])} and {told[-1]}"


def share_words(view: CaseView, share: Share) -> dict[str, str]:
    """What the whole consists of is said part by part: an organ's label may leave its tumour out."""
    members = [name for name in share.members if view.structure(name).voxel_count]
    own = set(organ_names(view, share.part))
    organs = [name for name in members if name in own]
    tumours = [name for name in members if name not in own]
    if not organs:
        whole = f"{with_article(view, tumours)}{' together' if len(tumours) > 1 else ''}"
    else:
        whole = with_article(view, organs) + (f", including {with_article(view, tumours)}," if tumours else "")
    return {"a": readable_name(share.part), "whole": whole}


def figure(view: CaseView, tool: str, *names: str, **arguments: Argument) -> Quantity | None:
    """The figure of a tool; None, counted as not measured, where the record does not have it.

    Args:
        view: the case.
        tool: name of the tool.
        names: structures that the refusal is counted for.
        arguments: of the tool.
    """
    try:
        return run_tool(view, tool, arguments)
    except SettingsError:
        view.refuse(NOT_MEASURED, *names)
        return None


def shares(view: CaseView, random: Random) -> Iterator[Share]:
    """Lesions with their organ, and parts of a tumour with the whole tumour, in random order; sizes may be asked."""
    # A union within another one, such as the core of a tumour, is a part and not the whole.
    unions = {name: {*leaves(view, name)} for name in view.tumours if view.structure(name).union_of is not None}
    tumours = [name for name, parts in unions.items() if not any(parts < others for others in unions.values())]
    found = [(part, whole) for whole in tumours for part in leaves(view, whole) if part in view.names]
    parts = [(lesion, None) for lesion in view.tumours]
    pairs: list[tuple[str, str | None]] = [*found, *parts]
    random.shuffle(pairs)
    for part, whole in pairs:
        if not view.may_ask(part, "size"):
            continue
        share = _of_organ(view, part) if whole is None else Share(part, (whole,), leaves(view, whole))
        if share is not None and all(view.may_ask(name, "size") for name in share.whole):
            yield share


def _of_organ(view: CaseView, lesion: str) -> Share | None:
    organ = organ_of(view, lesion)
    if organ is None:
        return None
    united = [
        name
        for name, structure in view.measurement.structures.items()
        if {*leaves(view, lesion), *leaves(view, organ)} <= set(structure.union_of or ())
    ]
    if united:
        whole = max(united, key=lambda name: len(leaves(view, name)))
        return Share(lesion, (whole,), leaves(view, whole))
    kin = _kin(view, lesion, organ)
    shared = [shared_voxels(view, one, organ) for one in kin]
    disjoint = all(unrelated(view, one, other) for at, one in enumerate(kin) for other in kin[:at])
    if disjoint and not any(shared):
        return Share(lesion, (organ, *kin), (organ, *kin))
    if all(voxels == view.structure(one).voxel_count for one, voxels in zip(kin, shared, strict=True)):
        return Share(lesion, (organ,), (organ,))
    view.refuse("the lesion and its organ overlap in part", lesion)
    return None


def _kin(view: CaseView, lesion: str, organ: str) -> list[str]:
    """The lesion and others with voxels that may lie in the same organ, unions taken apart."""
    own = leaves(view, lesion)
    others = [
        name
        for name in view.tumours
        if view.structure(name).union_of is None
        and view.structure(name).voxel_count
        and organ in organ_names(view, name)
        and name not in own
    ]
    return [*own, *(name for name in others if organ_of(view, name) == organ)]
