"""Read how a structure is coded, shown and classed: a code of a terminology, a colour, the kind of a tumour."""

from __future__ import annotations

from typing import Any

from monai_spatialqa.anatomy.fields import closest, read_fields, refusal, shown
from monai_spatialqa.anatomy.structure import TUMOUR_KINDS, Coding, Colour, TumourKind
from monai_spatialqa.anatomy.text import Pairs

_CODING_FIELDS = ("scheme", "code", "meaning")


def read_coding(tree: Any, where: str) -> Coding | None:
    """Read ``{scheme, code, meaning}``, or nothing.

    Raises:
        LabelMapError: for another form, a field that is missing, or a code that is not text.
    """
    if tree is None:
        return None
    key = f"coding of {where}"
    if not isinstance(tree, Pairs):
        raise refusal("a coding is not a mapping", code="bad_coding", key=key, found=shown(tree), expected=_expected())
    fields = read_fields(tree, _CODING_FIELDS, where=key)
    for field in _CODING_FIELDS:
        value = fields.get(field)
        if not isinstance(value, str) or not value.strip():
            raise refusal(
                "a coding has a field that is missing or not text",
                code="bad_coding",
                key=f"{field} in {key}",
                found=shown(value),
                expected=_expected(),
                next_step="add the field" if value is None else "write it in quotes",
            )
    return Coding(**fields)


def read_colour(tree: Any, where: str) -> Colour | None:
    """Read ``[red, green, blue]``, whole numbers from 0 to 255, or nothing.

    Raises:
        LabelMapError: for anything else.
    """
    if tree is None:
        return None
    if isinstance(tree, list) and len(tree) == 3 and all(type(part) is int and 0 <= part <= 255 for part in tree):
        red, green, blue = tree
        return red, green, blue
    found = f"[{', '.join(map(str, tree))}]" if isinstance(tree, list) and not isinstance(tree, Pairs) else shown(tree)
    expected = "[red, green, blue], whole numbers from 0 to 255"
    raise refusal("not a colour", code="bad_colour", key=f"colour of {where}", found=found, expected=expected)


def read_tumour_kind(value: Any, where: str) -> TumourKind | None:
    """Read one of :data:`monai_spatialqa.anatomy.TUMOUR_KINDS`, or nothing.

    Raises:
        LabelMapError: for anything else.
    """
    if value is None:
        return None
    for kind in TUMOUR_KINDS:
        if value == kind:
            return kind
    raise refusal(
        "unknown tumour kind",
        code="bad_tumour_kind",
        key=f"tumour_kind of {where}",
        found=shown(value),
        expected="one of " + ", ".join(TUMOUR_KINDS),
        next_step=closest(str(value), TUMOUR_KINDS) + "; a tumour of another kind can stand in a group",
    )


def _expected() -> str:
    return 'scheme, code and meaning as text, such as {scheme: SCT, code: "10200004", meaning: Liver}'
