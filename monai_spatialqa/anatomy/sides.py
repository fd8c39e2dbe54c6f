"""Give the structures of a label map their sides and partners, as their names and the file say."""

from __future__ import annotations

from dataclasses import replace

from monai_spatialqa.anatomy.fields import closest, refusal
from monai_spatialqa.anatomy.structure import Side, StructureInfo, opposite_name, side_of_name


def with_sides(structures: list[StructureInfo]) -> list[StructureInfo]:
    """The same structures, with what the file leaves out derived from the names.

    A side follows from the word "left" or "right" in a name. The partner is the structure whose name has the other
    word, if there is one. What the file states must agree with that.

    Raises:
        LabelMapError: for a stated side that contradicts the name, or a partner that is unknown, on the same side, or
            another structure's.
    """
    sided = {entry.name: replace(entry, side=_side(entry)) for entry in structures}
    partners = {entry.name: entry.partner for entry in structures if entry.partner is not None}
    for name, partner in list(partners.items()):
        _check_partner(sided[name], partner, sided)
        if partners.setdefault(partner, name) != name:
            raise refusal(
                "a structure is the partner of two others",
                code="bad_partner",
                key=partner,
                found=f"{name} and {partners[partner]}",
                expected="partners that name each other",
            )
    for name, entry in sided.items():
        other = opposite_name(name)
        if other in sided and not {name, other} & partners.keys() and entry.side != sided[other].side:
            partners[name], partners[other] = other, name
    return [replace(entry, partner=partners.get(name)) for name, entry in sided.items()]


def _side(entry: StructureInfo) -> Side | None:
    named = side_of_name(entry.name)
    if entry.side is not None and named is not None and entry.side != named:
        raise refusal(
            "the side contradicts the name",
            code="bad_side",
            key=entry.name,
            found=entry.side,
            expected=named,
            next_step="correct the side, or rename the structure",
        )
    return entry.side or named


def _check_partner(entry: StructureInfo, partner: str, structures: dict[str, StructureInfo]) -> None:
    if partner not in structures:
        raise refusal(
            "a partner is not in the label map",
            code="bad_partner",
            key=entry.name,
            found=partner,
            expected="the name of a structure on the other side",
            next_step=closest(partner, list(structures)),
        )
    sides = {entry.side, structures[partner].side}
    if sides != {"left", "right"}:
        raise refusal(
            "partners are not on opposite sides",
            code="bad_partner",
            key=entry.name,
            found=f"{entry.name}: {entry.side}, {partner}: {structures[partner].side}",
            expected="one left, one right",
        )
