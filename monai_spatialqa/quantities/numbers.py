# ruff: noqa: RUF001 - the signs that numbers are written with
"""Written numbers: which strings of characters are one, and its exact value.

Conventions: with both separators, the later one is the decimal one. A lone comma with three digits behind it groups,
any other one is a decimal comma; a lone dot is always decimal; several dots, several commas and apostrophes group.
"""

from __future__ import annotations

import re
from decimal import Decimal

SPACE = "[ \u00a0\u2009\u202f]"
"""Spaces that group digits."""

EXPONENT = r"[eE][-−+]?\d+|\s*[x×·*]\s*10(?:(?:\^|\*\*)\s*[-−+]?\d+|[⁻⁺]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+)"
"""Pattern of an exponent, ``e3`` or ``x 10^3``."""

LARGEST_POWER = 100_000
"""Exponents beyond it, of either sign, are no numbers."""

_SPACES = re.compile(f"{SPACE}|['’]")
_GROUPED = re.compile(r"[1-9]\d{0,2}(?:,\d{3})+")
_BASE = re.compile(r"^(?:e|\s*[x×·*]\s*10(?:\^|\*\*)?)\s*", re.IGNORECASE)
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺−", "0123456789-+-")


def number_pattern(behind_spaces: str) -> str:
    """Pattern of an unsigned number without exponent.

    Args:
        behind_spaces: pattern of what must follow digits that are grouped by spaces, which could be two numbers.
    """
    return (
        rf"\d{{1,3}}(?:{SPACE}\d{{3}})+(?:[.,]\d+)?{behind_spaces}"
        r"|\d{1,3}(?:['’]\d{3})+(?:[.,]\d+)?|\d{1,2}(?:,\d{2})+,\d{3}(?:\.\d+)?(?![\d,])"
        r"|\d{1,3}(?:,\d{3})+(?:\.\d+)?(?![\d,])|\d{1,3}(?:\.\d{3})+,\d+|\d{1,3}(?:\.\d{3}){2,}|\d+(?:[.,]\d+)?|\.\d+"
    )


def written_number(written: str, exponent: str | None = None) -> tuple[Decimal, Decimal] | None:
    """The exact value of a number, and the value of its last digit.

    Args:
        written: what ``number_pattern`` matches.
        exponent: what ``EXPONENT`` matches behind it.

    Returns:
        None when the exponent is beyond ``LARGEST_POWER``.
    """
    digits = _SPACES.sub("", written)
    if "," in digits and "." in digits:
        group, point = (",", ".") if digits.rindex(".") > digits.rindex(",") else (".", ",")
        digits = digits.replace(group, "").replace(point, ".")
    elif digits.count(".") > 1:
        digits = digits.replace(".", "")
    elif "," in digits:
        groups = digits.count(",") > 1 or _GROUPED.fullmatch(digits)
        digits = digits.replace(",", "" if groups else ".")
    power = 0
    if exponent:
        told = _BASE.sub("", exponent.translate(_SUPERSCRIPTS))
        if len(told) > len(str(LARGEST_POWER)) + 1 or abs(int(told)) > LARGEST_POWER:
            return None
        power = int(told)
    places = len(digits.partition(".")[2])
    return Decimal(digits).scaleb(power), Decimal(1).scaleb(power - places)
