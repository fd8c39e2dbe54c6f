"""Structured replies: the last JSON object of a reply that has a field of the answer. Linear, whatever the text."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

LONGEST = 20_000
"""Characters of an object; longer ones are no answer sheets."""

_TRIED = 8
_STRAY_COMMA = re.compile(r",(?=\s{0,200}[}\]])")
_QUOTES = {ord("“"): '"', ord("”"): '"'}
_SINGLE = re.compile(r"(?<![\w\\])'|(?<!\\)'(?!\w)")
_INNER = ("result", "response", "output", "final")


def answer_fields(text: str, names: Sequence[str]) -> dict[str, Any] | None:
    """The last object in the text that has one of the fields, bare or fenced; numbers are Decimal.

    Stray commas, curly and single quotes are forgiven. An object inside ``result``, ``response``, ``output`` counts.

    Args:
        text: the part of the reply that counts.
        names: fields, in small letters; case, spaces and underscores of the reply's fields do not matter.

    Returns:
        The object with its fields' names in small letters and underscores; None without one.
    """
    if "}" not in text or not any(mark in text for mark in "\"'“"):
        return None
    for part in _objects(text):
        fields = _fields(_parsed(part))
        if fields is None:
            continue
        inner = next((_fields(fields[name]) for name in _INNER if _fields(fields.get(name))), None)
        for candidate in (fields, inner):
            if candidate and any(name in candidate for name in names):
                return candidate
    return None


def _objects(text: str) -> list[str]:
    """The outermost balanced ``{...}``, last first; a few of them. Braces inside strings are not told apart."""
    spans: list[tuple[int, int]] = []
    open_at: list[int] = []
    for found in re.finditer(r"[{}]", text):
        if found.group() == "{":
            open_at.append(found.start())
        elif open_at:
            start = open_at.pop()
            while spans and spans[-1][0] > start:
                spans.pop()
            spans.append((start, found.end()))
    return [text[start:end] for start, end in reversed(spans[-_TRIED:]) if end - start <= LONGEST]


def _parsed(part: str) -> Any:
    whole = part.translate(_QUOTES)
    for attempt in (whole, _STRAY_COMMA.sub("", whole), _STRAY_COMMA.sub("", _SINGLE.sub('"', whole))):
        try:
            return json.loads(attempt, parse_float=Decimal, parse_int=Decimal, parse_constant=Decimal, strict=False)
        except (ValueError, RecursionError, ArithmeticError):
            continue
    return None


def _fields(value: Any) -> dict[str, Any] | None:
    if not isinstance(value, dict):
        return None
    return {re.sub(r"[\s_-]+", "_", str(name).strip().lower()): inner for name, inner in value.items()}
