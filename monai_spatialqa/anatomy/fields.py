"""Small checks shared by the readers of a label map: known fields, text values, one way of refusing."""

from __future__ import annotations

import difflib
from collections import Counter
from typing import Any

from monai_spatialqa.anatomy.text import OtherScalar, Pairs
from monai_spatialqa.errors import LabelMapError


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
