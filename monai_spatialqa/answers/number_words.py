# ruff: noqa: RUF001 - the signs that numbers are written with
"""Numbers in words, English and Chinese, and fractions, put into digits where a unit follows or nothing else stands.

Elsewhere a word is left alone: ``one of the kidneys``, ``the one on the left``.
"""

from __future__ import annotations

import re
from decimal import Decimal

from monai_spatialqa.answers.text import Vocabulary
from monai_spatialqa.quantities.units import READ_UNITS, UNITS

_SMALL = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
    *("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
_VALUES = {word: at for at, word in enumerate(_SMALL)} | {
    word: 10 * at
    for at, word in enumerate(("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"), 2)
}
_SCALES = {"hundred": 100, "thousand": 1000, "million": 1_000_000, "billion": 1_000_000_000}
_PARTS = {"half": Decimal("0.5"), "quarter": Decimal("0.25"), "third": Decimal(1) / 3}

_VALUE = "|".join(sorted((*_VALUES, *_SCALES), key=len, reverse=True))
_SCALE = "|".join(_SCALES)
_JOINED = "|".join(f"(?<={word})" for word in _SCALES)
# "and" joins only what follows a hundred or more: in "between ten and twenty" there are two numbers.
_AND = rf"(?:{_JOINED})[ -]and[ -](?!(?:{_VALUE})(?:[ -](?:{_VALUE}))?[ -](?:{_SCALE})\b)"
_RUN = rf"(?:an? (?=hundred|thousand|million))?(?:{_VALUE})(?:(?:{_AND}|[ -])(?:{_VALUE})\b){{0,12}}+"
_POINT = rf"(?: point(?: (?:{'|'.join(_SMALL[:10])})\b){{1,9}})"
_UNIT = "|".join(UNITS[name].all_spellings for name in READ_UNITS)
_BEHIND = rf"(?=(?: (?:and|to|or|through) (?:{_RUN})\b)?[ -]?(?:{_UNIT})(?![A-Za-z0-9_]))"
_ENDS = r"(?=[ .!,;:)\"']{0,4}(?:\n|$))"
_ENGLISH = re.compile(
    rf"(?<![\w-])(?<!\d )(?:(?P<minus>minus|negative) )?(?:(?P<run>{_RUN})\b(?P<point>{_POINT})?"
    r"(?: and (?:an? |one[- ])(?P<part>half|quarter|third)\b)?|(?P<alone>(?:(?:an? |one[ -])?(?:half|quarter|third))"
    rf"\b(?: (?:of )?an?\b)?))(?:{_BEHIND}|{_ENDS})",
    re.IGNORECASE,
)
WORDS = frozenset((*_VALUES, *_SCALES, *_PARTS))
"""English words that a number in words has."""
_AND_HALF = re.compile(r"(?<![\w.,])(\d{1,6}) and an? half(?= )", re.IGNORECASE)

_DIGITS = {sign: at for at, sign in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2, "壹": 1, "贰": 2, "叁": 3}
_PLACES = {"十": 10, "百": 100, "千": 1000}
_LARGE = {"万": 10_000, "亿": 100_000_000}
_CHINESE = re.compile(
    rf"(?<![\d.{''.join(_DIGITS)}十百千万亿])(?P<run>[{''.join(_DIGITS)}十百千万亿]{{1,20}}+)(?:点(?P<point>[{''.join(_DIGITS)}]{{1,10}}))?"
    rf"(?: ?(?:{_UNIT})(?![A-Za-z0-9_])|(?=[。.!]?$))"
)
_CHINESE_HALF = re.compile(r"半(?=升|厘米|公分|毫升|立方厘米|米)")
_PERCENT = re.compile(r"百分之([零一二三四五六七八九十百点\d.]{1,12})")

_FRACTION = re.compile(
    rf"(?<![\w./^])(?:(?P<whole>\d{{1,4}})[ -])?(?P<top>\d{{1,3}})/(?P<bottom>[1-9]\d{{0,2}})"
    rf"(?=(?: of an?)?[ -]?(?:{_UNIT})(?![A-Za-z0-9_/])|[ .]?$)",
    re.IGNORECASE,
)


def with_digits(text: str, vocabulary: Vocabulary) -> str:
    """The text, whose words these are, with its number words and fractions as digits."""
    if vocabulary.any_of(WORDS):
        text = _AND_HALF.sub(r"\1.5", text)
        text = _ENGLISH.sub(_english, text)
    if "/" in text:
        text = _FRACTION.sub(_fraction, text)
    if vocabulary.unspaced:
        text = _PERCENT.sub(lambda found: _shown(_chinese_value(found[1])) + "%", text)
        text = _CHINESE.sub(_chinese, _CHINESE_HALF.sub("0.5", text))
    return text


def _shown(value: Decimal) -> str:
    return f"{value:f}"


def _english(found: re.Match[str]) -> str:
    if found["alone"] is not None:
        words = found["alone"].lower()
        value = next(size for word, size in _PARTS.items() if word in words)
        if not words.endswith((" a", " an")) and found.end() == len(found.string) and found.start() > 0:
            return found.group()  # "... the upper half": no number
    else:
        value = _english_value(found["run"].lower())
        if found["point"]:
            digits = "".join(str(_VALUES[word]) for word in found["point"].lower().split()[1:])
            value += Decimal(f"0.{digits}")
        if found["part"]:
            value += _PARTS[found["part"].lower()]
    return ("-" if found["minus"] else "") + _shown(value)


def _english_value(words: str) -> Decimal:
    """``one hundred and fifty`` is 150, ``two thousand five hundred`` 2500."""
    total = part = 0
    for word in re.split(r"[ -]", words):
        if word in _VALUES:
            part += _VALUES[word]
        elif word == "hundred":
            part = max(part, 1) * 100
        elif word in _SCALES:
            total, part = total + max(part, 1) * _SCALES[word], 0
    return Decimal(total + part)


def _chinese(found: re.Match[str]) -> str:
    behind = found.group()[len(found["run"]) + (len(found["point"]) + 1 if found["point"] else 0) :]
    value = _chinese_value(found["run"] + ("点" + found["point"] if found["point"] else ""))
    return _shown(value) + behind


def _chinese_value(written: str) -> Decimal:
    """``一千四百五十`` is 1450, ``十二`` 12, ``一四五零`` 1450, ``一点五`` 1.5."""
    whole, _, point = written.partition("点")
    if re.fullmatch(r"\d+(?:\.\d+)?", whole):
        return Decimal(whole)
    if not any(sign in _PLACES or sign in _LARGE for sign in whole):
        digits = "".join(str(_DIGITS.get(sign, sign)) for sign in whole)
        value = Decimal(re.sub(r"\D", "", digits) or 0)
    else:
        total = part = digit = 0
        for sign in whole:
            if sign in _DIGITS:
                digit = _DIGITS[sign]
            elif sign in _PLACES:
                part, digit = part + max(digit, 1) * _PLACES[sign], 0
            elif sign in _LARGE:
                total, part, digit = (total + max(part + digit, 1)) * _LARGE[sign], 0, 0
        value = Decimal(total + part + digit)
    return value + Decimal("0." + "".join(str(_DIGITS.get(sign, 0)) for sign in point)) if point else value


def _fraction(found: re.Match[str]) -> str:
    value = Decimal(found["top"]) / Decimal(found["bottom"]) + Decimal(found["whole"] or 0)
    return _shown(value)
