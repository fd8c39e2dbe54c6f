# ruff: noqa: RUF001 - the dashes and signs that numbers are written with
"""Numbers with units as question texts show them: exact values, intervals and sizes. Knows the forms that items use.

``105.72 cm3``, ``1,450 cm³``, ``-3.4 cm``, ``2 x 10^3 mm3``, ``50-70 ml``, ``less than 20 mm``, ``85 ml or more, but
less than 150 ml``, ``120 x 80 x 60 mm``. All arithmetic is decimal, so what looks equal is equal.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import lru_cache

from monai_spatialqa.quantities import EXPONENT, UNITS, number_pattern, written_number
from monai_spatialqa.quantities.units import SHOWN_UNITS

_UNIT = "|".join(f"(?P<u{at}>{UNITS[name].spellings})" for at, name in enumerate(SHOWN_UNITS))
_UNIT_UNNAMED = "|".join(f"(?:{UNITS[name].spellings})" for name in SHOWN_UNITS)
_NUMBER = number_pattern(rf"(?=\s*(?:{_UNIT_UNNAMED})(?![\w²³]))")
_QUANTITY = re.compile(
    rf"(?<![\w.,])(?<![A-Za-z]\d[-–])(?P<sign>[-−+](?=[\d.]))?(?P<number>{_NUMBER})"
    rf"(?P<exponent>{EXPONENT})?"
    rf"(?:\s*-?(?:{_UNIT})(?![\w²³])|(?![\w²³]|\.\d))",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class ShownQuantity:
    """A number as it is written.

    Attributes:
        value: exactly what is written, in ``unit``.
        unit: name of the unit, the same for all its spellings; None where none is written.
        step: value of the last digit written, in ``unit``.
        start, end: place in the text.
    """

    value: Decimal
    unit: str | None
    step: Decimal
    start: int = 0
    end: int = 0

    @property
    def dimension(self) -> str | None:
        """What the unit measures; None without a unit."""
        return None if self.unit is None else UNITS[self.unit].dimension

    @property
    def base(self) -> Decimal:
        """The value in the base unit of its dimension: mm, mm2, ml."""
        return self.value * self._size

    @property
    def base_step(self) -> Decimal:
        """The step in the base unit."""
        return self.step * self._size

    @property
    def _size(self) -> Decimal:
        return Decimal(1) if self.unit is None else UNITS[self.unit].size


@dataclass(frozen=True)
class Interval:
    """A range of values, in the base unit of its dimension. None is an open end.

    Attributes:
        low, high: the ends.
        low_closed, high_closed: whether the end belongs to it.
        step: the coarser step of the written ends.
    """

    low: Decimal | None
    high: Decimal | None
    low_closed: bool
    high_closed: bool
    step: Decimal

    def holds(self, value: Decimal) -> bool:
        """Whether a value, in the base unit, lies inside."""
        above = self.low is None or value > self.low or (self.low_closed and value == self.low)
        below = self.high is None or value < self.high or (self.high_closed and value == self.high)
        return above and below


@dataclass(frozen=True)
class Reading:
    """A text taken apart.

    Attributes:
        quantities: the numbers, in the order of the text.
        frame: the words around them, folded, with # for what was read as a number, interval or size. Two texts can be
            compared by their numbers when their frames are the same.
        interval: the one range that is stated; None where there is none.
        whole: whether the text is a number, interval or size and nothing else.
    """

    quantities: tuple[ShownQuantity, ...]
    frame: str
    interval: Interval | None
    whole: bool

    @property
    def dimensions(self) -> tuple[str | None, ...]:
        """Dimension of each quantity."""
        return tuple(one.dimension for one in self.quantities)


def unit_asked(question: str) -> str | None:
    """The unit that a question asks for: ``"... in cm3?"``, ``"... (ml)"``; None where it names none."""
    for found in re.finditer(rf"(?:\bin\s+|\bunits?:?\s+|\()(?:{_UNIT})(?![\w²³])", question, re.IGNORECASE):
        return _unit_of(found)
    return None


def folded(text: str) -> str:
    """Text without case, and with each run of spaces as one; what looks the same is the same."""
    return " ".join(text.casefold().split())


def quantities_in(text: str) -> list[ShownQuantity]:
    """Every number of a text with its unit. Digits inside names (``L1``, ``12th``) are none."""
    found: list[ShownQuantity] = []
    end = 0
    for match in _QUANTITY.finditer(text):
        sign = match.group("sign") or ""
        start = match.start()
        if sign and found and not text[end:start].strip():
            sign, start = "", start + 1  # "50 -70": a dash between two numbers joins them
        written = written_number(match.group("number"), match.group("exponent"))
        if written is None:
            continue
        value, step = written
        value = -value if sign in ("-", "−") else value
        found.append(ShownQuantity(value, _unit_of(match), step, start, match.end()))
        end = match.end()
    return found


def _unit_of(match: re.Match[str]) -> str | None:
    for at, name in enumerate(SHOWN_UNITS):
        if match.group(f"u{at}") is not None:
            return name
    return None


_SYMBOLS = {">=": "G", "=>": "G", "≥": "G", "<=": "L", "=<": "L", "≤": "L", "<": "l", ">": "g", "~": "a", "≈": "a"}
_SYMBOLS |= {
    "-": "t",
    "–": "t",
    "—": "t",
    "−": "t",
    "…": "t",
    "x": "x",
    "×": "x",
    "*": "x",
    ",": "n",
    ";": "n",
    "+": "p",
}
_WORDS = (
    ("G", r"at least|(?:no|not) (?:less|smaller|shorter) than|from"),
    ("l", r"(?:less|smaller|fewer|shorter|lower) than|under|below|up to but not including"),
    ("L", r"at most|up to(?: and including)?|(?:no|not) (?:more|greater|larger|longer) than"),
    ("g", r"(?:more|greater|larger|longer|higher) than|over|above|exceed(?:s|ing)?"),
    ("t", r"to|through|until"),
    ("p", r"(?:or|and) (?:more|above|over|greater|larger|longer|higher|up)"),
    ("m", r"(?:or|and) (?:less|below|under|smaller|shorter|lower)"),
    ("a", r"about|approximately|approx\.?|around|roughly|circa|ca\."),
    ("b", r"between"),
    ("x", r"by"),
    ("n", r"and|but"),
)
"""What stands for one letter of the grammar below: ends that belong to a range (G, L) or not (g, l), and joints."""

_WORD = re.compile("|".join(f"(?P<{letter}>(?:{words})(?!\\w))" for letter, words in _WORDS), re.IGNORECASE)
_OTHER = re.compile(r"\w+|\S")
_LOWER, _UPPER = "(?:[Gg]Q|Qp)", "(?:[lL]Q|Qm)"
_STATED = tuple(
    re.compile(pattern)
    for pattern in (
        "Q(?:xQ)+",
        "bQ[nt]Q",
        "G?Q(?:t[lL]?|L)Q",
        f"{_LOWER}n*t?{_UPPER}",
        f"{_UPPER}n*{_LOWER}",
        "[GgLl]Q|Q[pm]",
        "a?Q",
    )
)
_BETWEEN = re.compile(r"(?<=\d)[x×](?=\d)", re.IGNORECASE)
_TUPLE = re.compile(r"\s*[(\[]\s*[-−+]?[\d.]+\s*(?:[,;]\s*[-−+]?[\d.]+\s*)+[)\]]")
"""A position in brackets, whose commas part its numbers."""

_PLUS = re.compile(rf"(?<=\d)\s?\+\s*({_UNIT_UNNAMED})(?![\w²³])", re.IGNORECASE)


@lru_cache(maxsize=65536)
def read_text(text: str) -> Reading:
    """Take a text apart: an option, or a key."""
    text = _BETWEEN.sub(" x ", _PLUS.sub(r" \1 or more", text))
    if _TUPLE.match(text):
        text = re.sub(r",\s*", ", ", text)
    found = quantities_in(text)
    letters, words = _letters(text, found)
    stated = next((match for pattern in _STATED if (match := _covering(pattern, letters))), None)
    if stated is None or not found:
        quantities = tuple(found)
        frame = " ".join("#" if letter == "Q" else word for letter, word in zip(letters, words, strict=True))
        return Reading(quantities, frame, None, whole=False)
    quantities = _with_unit(found)
    before, after = words[: stated.start()], words[stated.end() :]
    frame = " ".join([*before, "#", *after]).strip(" .")
    return Reading(quantities, frame, _interval(stated.group(), quantities), whole=frame == "#")


def _letters(text: str, found: list[ShownQuantity]) -> tuple[str, list[str]]:
    """One letter of the grammar for each piece of the text, w for other words; and the pieces, folded."""
    letters, words, at = "", [], 0
    starts = {one.start: one for one in found}
    while at < len(text):
        if at in starts:
            letters, at = letters + "Q", starts[at].end
            words.append("#")
        elif text[at].isspace():
            at += 1
        else:
            worded = _WORD.match(text, at)
            symbol = next((sign for sign in (text[at : at + 2], text[at]) if sign in _SYMBOLS), None)
            if worded:
                piece, letter = worded.group(), str(worded.lastgroup)
            elif symbol and not (symbol == "x" and text[at : at + 2].isalnum() and len(text) > at + 1):
                piece, letter = symbol, _SYMBOLS[symbol]
            else:
                other = _OTHER.match(text, at)
                piece, letter = other.group() if other else text[at], "w"
            ends = [start for start in starts if at < start < at + len(piece)]
            piece = text[at : min(ends)] if ends else piece
            letters, at = letters + letter, at + len(piece)
            words.append(piece.casefold())
    return letters, words


def _covering(pattern: re.Pattern[str], letters: str) -> re.Match[str] | None:
    """The match of a pattern that leaves no number outside; None without one."""
    match = pattern.search(letters)
    return match if match and match.group().count("Q") == letters.count("Q") else None


def _with_unit(found: list[ShownQuantity]) -> tuple[ShownQuantity, ...]:
    """Numbers without a unit take that of the next one with: "50-70 ml" are ml both."""
    units = [one.unit for one in found if one.unit]
    filled = []
    for at, one in enumerate(found):
        later = next((other.unit for other in found[at:] if other.unit), units[-1] if units else None)
        filled.append(one if one.unit else replace(one, unit=later))
    return tuple(filled)


def _interval(stated: str, quantities: tuple[ShownQuantity, ...]) -> Interval | None:
    """The range that a match of the grammar states; None for a single number and for a size."""
    if "x" in stated or stated in ("Q", "aQ") or len({one.dimension for one in quantities}) > 1:
        return None
    step = max(one.base_step for one in quantities)
    if len(quantities) == 1:
        value = quantities[0].base
        if stated in ("GQ", "gQ", "Qp"):
            return Interval(value, None, stated != "gQ", high_closed=False, step=step)
        return Interval(None, value, low_closed=False, high_closed=stated != "lQ", step=step)
    first, second = (one.base for one in quantities)
    low, high = sorted((first, second))
    if stated.startswith("b") or re.fullmatch("G?QtQ", stated):
        return Interval(low, high, low_closed=True, high_closed=True, step=step)
    return Interval(low, high, low_closed="g" not in stated, high_closed="l" not in stated, step=step)


def in_base(value: Decimal, unit: str | None) -> ShownQuantity:
    """An exact figure in the form of a written one, to be compared with it."""
    return ShownQuantity(value, unit, Decimal(0))


def bounds_in(text: str) -> list[tuple[str | None, Interval]]:
    """The one-sided ranges that a sentence names, e.g. "more than 200 ml", each with its dimension."""
    found = quantities_in(text)
    letters, _ = _letters(text, found)
    bounds = []
    for match in re.finditer("[GgLl]Q|Q[pm]", letters):
        one = found[letters[: match.start()].count("Q")]
        interval = _interval(match.group(), (one,))
        if interval is not None:
            bounds.append((one.dimension, interval))
    return bounds
