"""Keys stay where they are: whatever leaves the client is searched for them first."""

from __future__ import annotations

import re

SHOWN = "[key]"

LEAST_LENGTH = 8
"""Shorter values, such as ``none`` or ``EMPTY``, are what people give to servers that want no key; no secrets."""

_LOOKS_LIKE_A_KEY = re.compile(
    r"\b(?:sk|pk|rk|gsk|hf|xai)[-_][A-Za-z0-9_\-*.]{6,}|(?<=Bearer )[^\s\"',;]{6,}", re.ASCII
)


class Redactor:
    """Takes a key out of texts.

    Args:
        key: the key in use; None where there is none.
    """

    def __init__(self, key: str | None) -> None:
        self._key = key if key is not None and len(key) >= LEAST_LENGTH else None

    def text(self, text: str) -> str:
        """A text that a model wrote, or that goes into a record: without the key in use, otherwise unchanged."""
        return text.replace(self._key, SHOWN) if self._key else text

    def message(self, text: str) -> str:
        """A text from a server's error: also without what looks like a key, which servers show in part."""
        return _LOOKS_LIKE_A_KEY.sub(SHOWN, self.text(text))

    def __repr__(self) -> str:
        return f"Redactor({'with a key' if self._key else 'without a key'})"
