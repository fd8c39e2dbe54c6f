# ruff: noqa: RUF001, SIM905 - signs and punctuation that replies are written with
"""Words around the number of a reply: what states it, what only decorates it, and the fields of structured replies."""

from __future__ import annotations

import re

from monai_spatialqa.answers.cues import MOST_CUES, stated_in, taken_back
from monai_spatialqa.answers.refusals import SILENT_WORDS, declines
from monai_spatialqa.answers.text import Vocabulary
from monai_spatialqa.quantities.units import UNITS

_NAMES = (
    *(
        "final_answer",
        "answer",
        "value",
        "result",
        "estimate",
        "quantity",
        "number",
        "volume",
        "distance",
        "length",
        "size",
    ),
    *(
        "extent",
        "diameter",
        "height",
        "width",
        "depth",
        "area",
        "ratio",
        "measurement",
        "prediction",
        "答案",
        "数值",
        "体积",
        "距离",
    ),
)
QUANTITY_FIELDS: dict[str, str | None] = {name: None for name in _NAMES} | {
    f"{name}_{unit}": unit for name in _NAMES for unit in UNITS if unit.isalnum()
}
"""Fields that hold the number, in the order of preference, and the unit that a name like ``volume_ml`` tells."""

UNIT_FIELDS = ("unit", "units", "answer_unit", "uom", "单位")

NO_UNIT = frozenset(("", "-", "none", "null", "n/a", "number", "ratio", "unitless", "dimensionless"))
"""What the field of the unit holds where there is none."""

NOT_FINITE = re.compile(
    r"[\s\"'(\[=:+-]{0,4}(?:nan|inf(?:init[ey]|inity)?|∞|not a number)\b[\s.\"')\]]{0,4}|[+-]?∞", re.IGNORECASE
)

PADDING = re.compile(
    r"(?:[\s\"'“”‘’(\[\])|>:,;.!?=~≈≃∼。，、：；！？（）*#•\x02-]|\b(?:about|approximately|approx|around|roughly|circa|ca"
    r"|nearly|almost|"
    r"an estimated|estimated(?: at| to be)?|close to|exactly|precisely|just|only|or so|or thereabouts|ungefähr"
    r"|etwa|rund|environ|"
    r"aproximadamente|unos|in total|overall|altogether|total|the|a|in|is|it is|between|from|minus|of)\b"
    r"|(?:it|that)[’']s\b|约为|大约|大概|约|左右|共|为|是|介于|在|之间){0,30}",
    re.IGNORECASE,
)
"""Marks and words that may stand around a number without changing what it says."""

EQUATED = re.compile(
    r"(?:[=:≈→]|->|\b(?:is|was|are|be|equals?|equal to|measures|measured|gives?|yields?|comes to|amounts to"
    r"|totals|reads|ist|beträgt|est|"
    r"es|mide|mesure)|是|为|等于|约)[ \x02(\"']{0,3}"
    r"(?:(?:about|approximately|approx\.?|around|roughly|estimated(?: at| to be)?|etwa|environ|约|大约|~|≈"
    r"|therefore|thus|exactly) ?){0,3}$",
    re.IGNORECASE,
)
"""What stands before a bare number that is a result."""

_SAID = re.compile(
    r"(?<![^\W_])(?:my (?:best |final |own |rough )?(?:estimate|estimation|measurement|guess)(?: (?:is|would be"
    r"|of)| ?:)"
    r"|(?:best|final|overall) (?:estimate|estimation|measurement|guess)(?: (?:is|would be|of)| ?:)"
    r"|(?:i|we)(?:[’']d| would| will)? (?:estimate|say|guess|conclude)(?: that)?(?: (?:it|this|the [a-z]{3,12}))?"
    r"(?: (?:is|to be|as|at|would be))?)(?![^\W_]) ?",
    re.IGNORECASE,
)
_CORRECTED = re.compile(
    r"(?<![^\W_])(?:actually|wait|correction|scratch that|make that|i meant?|rather|sorry|no|hmm|oops|instead"
    r"|genauer|pardon|更正|不对|应该是|应为)"
    r"(?:[,:.!; —–-]|\.\.\.|…){0,4} ?(?:(?:no|wait|actually|sorry|but|rather|it[’']?s|it is|it should be|that is"
    r"|that should be|should be|must be|make that|i think|to|be)"
    r"[,: ]{1,2}){0,3}",
    re.IGNORECASE,
)


_BUT = re.compile(r"\b(?:but|however|although|though|yet|estimate|approximately|aber|mais|pero)\b|但", re.IGNORECASE)
_SENTENCE = re.compile(r"[.!?;](?=\s)|[\n。；]")
_SAID_WORDS = frozenset(("my", "best", "final", "overall", "i", "we"))
_CORRECTED_WORDS = frozenset(
    "actually wait correction scratch make i rather sorry no hmm oops instead genauer pardon".split()
)


def statements(text: str, lowered: str, vocabulary: Vocabulary) -> list[tuple[int, bool]]:
    """Where a statement of the answer begins, the last one first, and whether the number must follow at once."""
    found = [(cue.start(), cue.end(), False) for cue in stated_in(text, lowered) if cue.lastgroup == "strong"]
    if vocabulary.any_of(_SAID_WORDS):
        found += [(cue.start(), cue.end(), False) for cue in _SAID.finditer(text)]
    if vocabulary.any_of(_CORRECTED_WORDS):
        found += [(cue.start(), cue.end(), True) for cue in _CORRECTED.finditer(text)]
    latest = sorted(found, reverse=True)[:MOST_CUES]
    return [(end, direct) for start, end, direct in latest if not taken_back(text, start)]


def declined_spans(text: str, vocabulary: Vocabulary) -> list[tuple[int, int]]:
    """Sentences that say that the number cannot be told: numbers in them are none, up to a ``but``."""
    if not vocabulary.any_of(SILENT_WORDS) or declines(text) is None:
        return []
    spans, start = [], 0
    for end in (*(found.end() for found in _SENTENCE.finditer(text)), len(text)):
        at = declines(text[start:end])
        if at is not None:
            but = _BUT.search(text, start + at, end)
            spans.append((start, but.end() if but else end))
        start = end
    return spans
