# ruff: noqa: RUF001, SIM905 - the dashes and signs that numbers are written with
"""The numbers that stand in a reply: value, unit, place, and the words that make one an id, a count or a bound."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

from monai_spatialqa.answers.text import Vocabulary
from monai_spatialqa.quantities import EXPONENT, number_pattern, written_number
from monai_spatialqa.quantities.units import ANY_SPELLING, READ_UNITS, UNITS

FOREIGN = "?"
"""Stands for a unit that measures something no item asks for: ``kg``, ``years``, ``ml/min``."""

_END = r"(?:(?<=[\u4e00-\u9fff])|(?![A-Za-z0-9_À-ɏЀ-ӿ²³]))"
_PER = r"(?! ?/ ?[A-Za-z]| per [a-z])"
_OTHER = (
    r"kgs?|mg|g|grams?|kilograms?|kilos?|°c|years?|yrs?|months?|weeks?"
    r"|days?|hours?|hrs?|"
    r"min(?:ute)?s?|s|secs?|seconds?|mmhg|bpm|k?hz|kms?|kilomet(?:er|re)s?|fl\.? ?oz|ounces?|oz|pints?|quarts?"
    r"|gallons?|cups?|feet|"
    r"foot|ft|yards?|dm|nm|mmol|mol|kv|mas|千克|公斤|克|岁|年|天|小时|分钟|秒|度|英寸"
)
_ALONE = r"(?=\s*(?:[.,;:!?)\]]*(?:\s|$)|$))"
_LOOSE_UNIT = "|".join(UNITS[name].all_spellings for name in READ_UNITS)
_NUMBER = number_pattern(rf"(?=[ -]?(?:(?:{_LOOSE_UNIT}){_END}|[.,;:!?)\]]*(?:\n|$)))")
_QUANTITY = re.compile(
    rf"(?<![A-Za-z0-9_À-ɏ.,^])(?<![A-Za-z0-9]['’])(?P<sign>[-−–+](?=[\d.])|(?:minus"
    rf"|negative) )?(?P<number>10\^ ?[-−+]?\d{{1,3}}|{_NUMBER})"
    rf"(?P<exponent>{EXPONENT})?(?P<scale> ?(?:thousand|million|billion|百万|万|千|亿)(?![A-Za-z])|k(?![A-Za-z]))?"
    rf"(?:(?: |-|‐| ?[(\[])?(?:(?P<foreign>(?:{_OTHER}){_END}|(?:{_LOOSE_UNIT})(?: ?/ ?[A-Za-z]| per [a-z]))"
    rf"|(?:{ANY_SPELLING}){_END}(?![\^/]\d))|(?![A-Za-z0-9_À-ɏЀ-ӿ^]|[.,'’:]\d))",
    re.IGNORECASE,
)
_DIGITS = re.compile(r"\d+")
_SPOKEN_SIGN = re.compile(r"(?:minus|negative) $", re.IGNORECASE)
MOST_NUMBERS = 2000
"""Of a text with more numbers only the last ones are read."""

_SCALES = {"thousand": 3, "k": 3, "千": 3, "万": 4, "million": 6, "百万": 6, "亿": 8, "billion": 9}

_ABOUT = (
    r"(?:(?:about|approximately|approx\.?|around|roughly|circa|ca\.?|nearly|almost|some|an estimated"
    r"|estimated(?: at| to be)?|close to|"
    r"exactly|precisely|just|only|ungefähr|etwa|rund|environ|aproximadamente|unos|约|大约|大概|近|左右|~|≈|≃|∼|=)"
    r" ?){0,3}"
)
_BOUND = re.compile(
    r"(?:\b(?:less|smaller|fewer|lower|shorter|greater|more|larger|bigger|longer|higher"
    r"|wider) than(?: or equal to)?|\b(?:under|below|"
    r"over|above|beyond|exceed(?:s|ing)?|at (?:least|most)|up to|(?:maximum|minimum|max|min|upper limit"
    r"|lower limit) (?:of|is)|"
    r"weniger als|mehr als|unter|über|mindestens|höchstens|bis zu|moins de|plus de|au moins|au plus|menos de"
    r"|más de|al menos)"
    rf"|(?<![-=<])[<>]=?|[≤≥⩽⩾]|小于|大于|不到|超过|至少|至多|最多|少于|多于|低于|高于|不足) ?{_ABOUT}$",
    re.IGNORECASE,
)
_BOUND_BEHIND = re.compile(
    r" ?(?:(?:or|and) (?:more|less|above|below|over|under|larger|smaller|greater|fewer|longer|shorter|higher"
    r"|lower|up)\b|\+(?! ?[\d/(-])"
    r"|oder (?:mehr|weniger)|ou (?:plus|moins)|o (?:más|menos)|以上|以下|以内)",
    re.IGNORECASE,
)
_ID = re.compile(
    r"(?:(?<![A-Za-z])(?:labels?|slices?|steps?|levels?|fig(?:ure)?s?\.?|images?|cases?|questions?|options?|ids?"
    r"|no\.|nos\.|pages?|"
    r"segments?|structures?|series|frames?|items?|grades?|stages?|types?|phases?|patients?|tables?|rows?"
    r"|columns?|class(?:es)?|"
    r"index|channels?|sections?|chapters?|parts?|methods?|equations?|windows?|versions?|examples?|q|schicht"
    r"|schritt|coupe|étape)"
    r"|#|第|切片|步骤|标签|层) ?(?:#|no\.?|numbers?|numbered|id|ids|[\"'“”]?:|=|from|between)? ?$",
    re.IGNORECASE,
)
_NEGATED = re.compile(rf"(?:\b(?:not|nicht|pas|never|isn[’']t|wasn[’']t)|不是|并非) {{0,1}}{_ABOUT}$", re.IGNORECASE)
_MARKER = re.compile(r"(?:^|\n)[(\[]?$")
_MARKED = re.compile(r"[.)\]]+ ?(?=\S)")
_WORD = re.compile(r" ([A-Za-zÀ-ɏЀ-ӿ][A-Za-zÀ-ɏЀ-ӿ’'-]*)")
_COUNTED = "个名例处块张次页条种位侧"
_FOLLOWERS = frozenset(
    "in is as and or to for because based which but altogether overall total approximately approx about from on"
    " at if since due given that would was are with when so than units unit ist und oder für weil et est pour y"
    " es para i it this the by x between bis mal however not therefore thus hence a an o ou plus minus equals"
    " though although while per".split()
)
_UNIT_BEFORE = re.compile(
    rf"(?:[(\[]|\bin |\bunits?:? ?|单位:?)(?:{ANY_SPELLING})[)\]]?(?: ?(?:[:=≈]|is|are|was|ist|est|为|是))? ?{_ABOUT}$",
    re.IGNORECASE,
)
_ASIDE = re.compile(
    r"\b(?:normal(?:ly)?|typical(?:ly)?|usual(?:ly)?|reference|average|healthy|literature|spacing"
    r"|slice thickness|thickness of (?:the|each) slice"
    r"|voxel|pixel|resolution|field of view|compared|for example|e\.g\.|normalerweise|üblicherweise|normalement)"
    r"|正常|通常|一般|层厚|间距",
    re.IGNORECASE,
)
_BOUND_WORDS = frozenset(
    "than under below over above beyond exceed exceeds exceeding least most up maximum minimum max min upper"
    " lower more less larger smaller greater fewer longer shorter higher als unter über mindestens höchstens bis"
    " mehr weniger plus moins más menos".split()
)
_ID_WORDS = frozenset(
    "label labels slice slices step steps level levels fig figs figure figures image images case cases question"
    " questions option options id ids no nos page pages segment segments structure structures series frame"
    " frames item items grade grades stage stages type types phase phases patient patients table tables row rows"
    " column columns class classes index channel channels section sections chapter chapters part parts method"
    " methods equation equations window windows version versions example examples q schicht schritt coupe étape".split()
)
_NEGATIONS = frozenset(("not", "nicht", "pas", "never", "isn", "wasn"))
_ASIDES = frozenset(
    "normal normally typical typically usual usually reference average healthy literature spacing slice voxel"
    " pixel resolution field compared for e normalerweise üblicherweise normalement".split()
)
_CLAUSE_END = ".;!?\n,(。；，"


@dataclass(frozen=True)
class Written:
    """A number of a text.

    Attributes:
        value: exactly as written, in ``unit``; None for one beyond any float.
        unit: name of the unit; None for a bare number; ``FOREIGN`` for one that measures something else.
        start, end: place in the text.
        bound: it is only the end of a range.
        negated: ``not 12 ml``.
        named: an id, a list marker, or a count of something.
        aside: a normal value, a spacing; it is an answer only where no other number is.
    """

    value: Decimal | None
    unit: str | None
    start: int
    end: int
    bound: bool = False
    negated: bool = False
    named: bool = False
    aside: bool = False


def numbers_in(text: str, vocabulary: Vocabulary) -> list[Written]:
    """Every number of a text in the form of ``plain``, in the order of the text; the last ``MOST_NUMBERS`` of them.

    Args:
        text: in the form of ``plain``.
        vocabulary: its words.
    """
    return list(_numbers(text, vocabulary))


def _matches(text: str) -> Iterator[re.Match[str]]:
    """Where ``_QUANTITY`` matches, found by the digits."""
    at = 0
    while digits := _DIGITS.search(text, at):
        start = digits.start()
        if start and text[start - 1] == ".":
            start -= 1
        if start and text[start - 1] in "-−–+":
            start -= 1
        elif start > 5 and (spoken := _SPOKEN_SIGN.search(text, max(0, start - 9), start)):
            start = spoken.start()
        found = _QUANTITY.match(text, max(start, at)) or _QUANTITY.match(text, digits.start())
        if found:
            yield found
        at = found.end() if found else digits.end()


def _numbers(text: str, vocabulary: Vocabulary) -> Iterator[Written]:
    bounds = vocabulary.any_of(_BOUND_WORDS) or any(sign in text for sign in "<>≤≥⩽⩾+")
    ids = vocabulary.any_of(_ID_WORDS) or "#" in text
    denials, asides = vocabulary.any_of(_NEGATIONS), vocabulary.any_of(_ASIDES)
    end = -1
    for found in deque(_matches(text), maxlen=MOST_NUMBERS):
        sign, start = found["sign"] or "", found.start()
        if not sign and start > 1 and text[start - 1] in "-–‐" and text[start - 2].isalnum() and end != start - 1:
            continue  # part of a name: L1-5, COVID-19
        if sign and end >= 0 and not text[end:start].strip():
            sign, start = "", start + 1
        unit = FOREIGN if found["foreign"] else _unit_of(found)
        before = text[max(0, start - 60) : start]
        if unit is None:
            told = _UNIT_BEFORE.search(before[-40:])
            unit = _unit_of(told) if told else None
        value = _value(found["number"], found["exponent"], found["scale"])
        if value is not None and sign not in ("", "+"):
            value = -value
        end = found.end()
        yield Written(
            value,
            unit,
            start,
            end,
            bound=bounds and bool(_BOUND.search(before[-45:]) or _BOUND_BEHIND.match(text, end)),
            negated=denials and _NEGATED.search(before[-40:]) is not None,
            named=unit is None
            and ((ids and _ID.search(before[-30:]) is not None) or _is_named(text, start, end, before)),
            aside=asides and _ASIDE.search(_clause(before)) is not None,
        )


def _clause(before: str) -> str:
    return before[max(before.rfind(mark) for mark in _CLAUSE_END) + 1 :]


def _unit_of(found: re.Match[str]) -> str | None:
    group = found.lastgroup
    return READ_UNITS[int(group[1:])] if group and group[0] == "u" and group[1:].isdigit() else None


def _value(number: str, exponent: str | None, scale: str | None) -> Decimal | None:
    if number.startswith("10^"):
        number, exponent = "1", f"e{number[3:].strip()}" if exponent is None else "e99999999"
    written = written_number(number, exponent)
    if written is None:
        return None
    return written[0].scaleb(_SCALES[scale.strip().lower()]) if scale else written[0]


def _is_named(text: str, start: int, end: int, before: str) -> bool:
    """Whether a bare number is the marker of a list, or counts something."""
    if _MARKER.search(before[-3:]) and end - start <= 3 and _MARKED.match(text, end):
        return True
    behind = text[end : end + 1]
    if behind and behind in _COUNTED:
        return True
    word = _WORD.match(text, end)
    return word is not None and word[1].lower() not in _FOLLOWERS
