# ruff: noqa: RUF001 - the signs that units are written with
"""Units: what each measures, how large it is, and how it is spelled."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache


@dataclass(frozen=True)
class Unit:
    """One unit.

    Attributes:
        name: the same for all spellings.
        dimension: what it measures.
        size: exact size in the base unit of the dimension: mm, mm2, ml, percent.
        spellings: regular expression of the spellings that items use, case ignored; empty for a unit that none shows.
        more: the spellings beyond those that replies use, in other languages too; may be empty.
    """

    name: str
    dimension: str
    size: Decimal
    spellings: str
    more: str = ""

    @property
    def all_spellings(self) -> str:
        """Both sets of spellings as one alternation, the longer words of other languages first."""
        return "|".join(part for part in (self.more, self.spellings) if part)


def _cubic(symbol: str, stems: str) -> str:
    """Spellings of a volume: ``cm³`` in LaTeX, and in words as German, French, Spanish and Italian put them."""
    return rf"{symbol} ?(?:\^|\*\*) ?3|{symbol} 3(?=$|[^\w.,])|kubik{stems}|{stems}s? ?c[uú]b(?:e|ico|ici|o)s?"


_MILLI, _CENTI = r"mill?[ií]m[èeé]t(?:er|re|ro|ri)n?", r"[cz]ent[ií]m[èeé]t(?:er|re|ro|ri)n?"

_TABLE = (
    Unit("um", "length", Decimal("0.001"), r"[uµμ]m|microm(?:et(?:er|re)s?|s)", r"微米|mikrometern?"),
    Unit("mm", "length", Decimal(1), r"mms?|millimet(?:er|re)s?", rf"毫米|公厘|{_MILLI}s?|мм|миллиметр(?:а|ов)?"),
    Unit("cm", "length", Decimal(10), r"cms?|centimet(?:er|re)s?", rf"厘米|公分|{_CENTI}s?|см|сантиметр(?:а|ов)?"),
    Unit("m", "length", Decimal(1000), r"m|met(?:er|re)s?", r"公尺|米|metern|m[èe]tres?|metros?|м|метр(?:а|ов)?"),
    Unit("inch", "length", Decimal("25.4"), "", r"inch(?:es)?|in(?=\.?$)"),
    Unit(
        "mm2",
        "area",
        Decimal(1),
        r"mm(?:\^|\*\*)?[2²]|(?:square|sq\.?) ?(?:mm|millimet(?:er|re)s?)",
        rf"平方毫米|mm ?(?:\^|\*\*) ?2|quadrat{_MILLI}|мм ?\^? ?[2²]|кв\. ?мм",
    ),
    Unit(
        "cm2",
        "area",
        Decimal(100),
        r"cm(?:\^|\*\*)?[2²]|(?:square|sq\.?) ?(?:cm|centimet(?:er|re)s?)",
        rf"平方厘米|cm ?(?:\^|\*\*) ?2|quadrat{_CENTI}|см ?\^? ?[2²]|кв\. ?см",
    ),
    Unit(
        "mm3",
        "volume",
        Decimal("0.001"),
        r"mm(?:\^|\*\*)?[3³]|(?:cubic|cu\.?) ?(?:mm|millimet(?:er|re)s?)",
        rf"立方毫米|{_cubic('mm', _MILLI)}|cubic[ -]millimet(?:er|re)s?|мм ?\^? ?[3³]|куб\. ?мм",
    ),
    Unit(
        "cm3",
        "volume",
        Decimal(1),
        r"cm(?:\^|\*\*)?[3³]|ccm|cc|(?:cubic|cu\.?) ?(?:cm|centimet(?:er|re)s?)",
        rf"立方厘米|立方公分|{_cubic('cm', _CENTI)}|cubic[ -]centimet(?:er|re)s?|ccs|c\.c\.|см ?\^? ?[3³]|куб\. ?см",
    ),
    Unit("ul", "volume", Decimal("0.001"), "", r"微升|[uµμ]ls?|microlit(?:er|re)s?"),
    Unit(
        "ml",
        "volume",
        Decimal(1),
        r"mls?|millilit(?:er|re)s?",
        r"毫升|公撮|millilitern|mililitros?|millilitri|mililit(?:er|re)s?|мл|миллилитр(?:а|ов)?",
    ),
    Unit("cl", "volume", Decimal(10), "", r"cl|centilit(?:er|re)s?"),
    Unit("dl", "volume", Decimal(100), r"dl|decilit(?:er|re)s?", r"分升"),
    Unit(
        "l",
        "volume",
        Decimal(1000),
        r"l|lit(?:er|re)s?",
        r"公升|升|litros?|litri|dm ?\^? ?3|cubic decimet(?:er|re)s?|литр(?:а|ов)?|л",
    ),
    Unit("m3", "volume", Decimal(1_000_000), "", r"立方米|m ?\^ ?3|m3|cubic met(?:er|re)s?"),
    Unit("%", "share", Decimal(1), r"%|percent|per cent", r"percentage|prozent|pour ?cent|por ciento"),
    Unit(
        "times",
        "ratio",
        Decimal(1),
        r"times|-?fold|[x×](?! ?[\d.])(?! ?\w)",
        r"倍|-?fach|fois|veces|mal(?! ?\d)|[x×](?! ?[\d.])|: ?1(?![\d.,])",
    ),
    Unit("degree", "angle", Decimal(1), r"°(?! ?[cf]\b)|deg(?:rees?)?"),
    Unit("HU", "attenuation", Decimal(1), r"hu|hounsfield(?: units?)?"),
    Unit("voxel", "voxels", Decimal(1), r"voxels?|vox", r"体素"),
    Unit("pixel", "pixels", Decimal(1), r"pixels?|px", r"像素"),
    Unit("slice", "slices", Decimal(1), r"slices?", r"层|张切片"),
)

UNITS: dict[str, Unit] = {unit.name: unit for unit in _TABLE}
"""The units by name."""

ARRAY_UNITS = frozenset({"voxel", "pixel", "slice"})
"""Units of an array, which mean nothing without its spacing."""

# Longer names first: "mm3" must not be read as "mm".
SHOWN_UNITS = tuple(sorted((name for name in UNITS if UNITS[name].spellings), key=lambda name: -len(name)))
"""Names of the units that items show, in the order in which their spellings must be tried."""

READ_UNITS = tuple(sorted(UNITS, key=lambda name: -len(name)))
"""Names of all units, in the order in which their spellings must be tried."""

ANY_SPELLING = "|".join(f"(?P<u{at}>{UNITS[name].all_spellings})" for at, name in enumerate(READ_UNITS))
"""Pattern of any spelling of any unit; the group that matched is named by its place in ``READ_UNITS``."""

_ALONE = re.compile(
    "|".join(f"(?P<u{at}>{UNITS[name].spellings})" for at, name in enumerate(SHOWN_UNITS)), re.IGNORECASE
)
_SPELLED = re.compile(ANY_SPELLING, re.IGNORECASE)


def unit_named(text: str | None) -> str | None:
    """The unit that a text is a spelling of, e.g. ``"mL"`` and ``"millilitres"``; None for none that is known."""
    found = _ALONE.fullmatch((text or "").strip())
    return None if found is None or found.lastgroup is None else SHOWN_UNITS[int(found.lastgroup[1:])]


@lru_cache(maxsize=256)
def unit_spelled(text: str) -> str | None:
    """The same with the spellings of replies, too: ``"cm³"`` as LaTeX writes it, ``"毫升"``, ``"Kubikzentimeter"``."""
    found = _SPELLED.fullmatch(text.strip().rstrip("."))
    return None if found is None or found.lastgroup is None else READ_UNITS[int(found.lastgroup[1:])]
