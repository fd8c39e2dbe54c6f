"""Small checks shared by the readers of a label map: known fields, text values, one way of refusing."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from typing import Any

from monai_spatialqa.anatomy.structure import fallback_name
from monai_spatialqa.anatomy.text import OtherScalar, Pairs
from monai_spatialqa.errors import LabelMapError

_RESERVED = re.compile(r"label_[0-9]+")


def refusal(
    problem: str,
    *,
    found: Any,
    expected: str,
    code: str = "malformed_label_map",
    key: str | None = None,
    next_step: str = "correct the entry",
) -> LabelMapError:
    """The error for an unusable label map; the caller who knows the file adds it."""
    return LabelMapError(problem, code=code, key=key, found=found, expected=expected, next_step=next_step)


def read_fields(pairs: Pairs, allowed: tuple[str, ...], where: str) -> dict[str, Any]:
    """The fields of a mapping as a dictionary.

    Raises:
        LabelMapError: for a field that is not allowed, or stands twice.
    """
    for field, count in Counter(str(key) for key, _ in pairs).items():
        if field not in allowed or count > 1:
            raise refusal(
                "a field stands twice" if field in allowed else "unknown field",
                key=where,
                found=field,
                expected="each at most once of " + ", ".join(allowed),
                next_step=closest(field, allowed) if field not in allowed else "delete one of them",
            )
    return dict(pairs)


def read_text(value: Any, field: str) -> str | None:
    """A field that holds text or nothing.

    Raises:
        LabelMapError: for anything else, empty text included.
    """
    if value is None or (isinstance(value, str) and value.strip()):
        return value
    raise refusal("a field is not text", key=field, found=shown(value), expected="text, or leave it out")


def read_texts(value: Any, field: str) -> tuple[str, ...]:
    """A field that holds a list of texts, or nothing.

    Raises:
        LabelMapError: for anything else.
    """
    if value is None:
        return ()
    if not isinstance(value, list) or isinstance(value, Pairs):
        raise refusal("a field is not a list", key=field, found=shown(value), expected="a list of texts")
    for number, item in enumerate(value, start=1):
        if not isinstance(item, str) or not item.strip():
            expected = "text; in YAML in quotes"
            raise refusal("an item is not text", key=f"item {number} of {field}", found=shown(item), expected=expected)
    return tuple(value)


def read_flag(value: Any, field: str) -> bool | None:
    """A field that holds true, false or nothing.

    Raises:
        LabelMapError: for anything else.
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, OtherScalar) and value.text in ("true", "false"):
        return value.text == "true"
    raise refusal("a field is neither true nor false", key=field, found=shown(value), expected="true, or false")


def checked_name(name: Any, where: str, label: int | None = None) -> str:
    """The name of a structure.

    Args:
        name: what was read.
        where: the entry it belongs to.
        label: its id; None for a structure without one.

    Raises:
        LabelMapError: when it is missing, not text, unprintable, or reserved (``label_7`` for another id than 7).
    """
    if name is None or name == "":
        raise refusal("a structure has no name", code="bad_name", key=where, found=shown(name), expected="a name")
    if not isinstance(name, str):
        next_step = "write the name in quotes"
        raise refusal(
            "a name is not text", code="bad_name", key=where, found=name, expected="text", next_step=next_step
        )
    if name != name.strip() or not name.isprintable():
        expected = "printable text without spaces around it"
        raise refusal("a name has unprintable parts", code="bad_name", key=where, found=repr(name), expected=expected)
    if _RESERVED.fullmatch(name) and (label is None or name != fallback_name(label)):
        expected = "a name of another form" if label is None else f"{fallback_name(label)}, or a name of another form"
        raise refusal("a name is reserved for another id", code="bad_name", key=where, found=name, expected=expected)
    return name


def closest(name: str, known: tuple[str, ...] | list[str]) -> str:
    """The next step for a mistyped name."""
    matches = difflib.get_close_matches(name, known, n=1)
    return f"did you mean {matches[0]}?" if matches else "correct the entry"


def shown(value: Any) -> str:
    """A value as an error message shows it: short, and with its kind where that is the fault."""
    if isinstance(value, Pairs):
        return f"a mapping of {len(value)} entries"
    if isinstance(value, list):
        return f"a list of {len(value)} entries"
    text = "nothing" if value is None else str(value) if isinstance(value, OtherScalar) else repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
