# ruff: noqa: RUF001 - quotation marks and punctuation that replies are written with
"""Letters of options in a text: where one stands for an answer, and where it is a word or part of one."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

_OPEN, _CLOSE = r"[\s\"'“‘(\[<#~|「『【《-]{0,6}", r"[\s\"'”’)\]>.,:;!|~。、,」』】》-]{0,8}"
_WHOLE = re.compile(
    r"[\s\"'“‘(\[<#>.,:;!|~「『【《•\x02–—-]{0,12}(?:\d{1,2}[.)] )?(?:(?:the )?(?:option|choice|letter|answer"
    r"|选项|选择|答案"
    r"|选)[ :.-]{0,3}(?:是|为|选)?)?"
    rf"{_OPEN}(?P<letter>[A-Za-z])(?:{_CLOSE})(?:选项|项)?[\s.!。！)\]>\"'”’,✓✔✅😊-]{{0,8}}",
    re.IGNORECASE,
)
_AT = re.compile(rf"(?P<open>{_OPEN})(?P<letter>[A-Za-z])(?![A-Za-z0-9’'&]|\.[A-Za-z])")
_SEVERAL = re.compile(rf"{_OPEN}[A-Z]{{2,8}}(?![A-Za-z0-9])")
_EITHER = re.compile(
    r"(?:either|both|between|neither|one of|any of) (?:option |choice )?[(\[\"]?[A-Z][)\]\"]?(?![A-Za-z0-9])",
    re.IGNORECASE,
)
_SECOND = re.compile(
    r"[)\]\"'”.]{0,3} ?(?P<joint>,? ?(?:and/or|and|or|und|oder|et|ou|y|o|nor)(?![A-Za-z])|和|或者|或|与|及|、|/|&|\+|,"
    r"|;) ?(?:maybe |possibly |perhaps |even |also |both )?"
    r"(?:option |choice |answer "
    r"|选项)?(?P<open>[(\[\"“]?)(?P<letter>[A-Za-z])(?P<end>(?![A-Za-z0-9’'])[)\]\"”]?)(?P<after>.?)",
    re.IGNORECASE | re.DOTALL,
)
_FREE = re.compile(
    r"[)\]>\"'”’}|」』】》]{0,4}(?:选项|项)?(?P<mark>\.{1,3}|[,:;!?。，；：！？、–—-]?)(?P<rest>[\s\S]?)"
)
_JOIN = re.compile(
    r" (?:(?:because|since|as|due|based|given|with|for|weil|denn|da|car|parce|porque|not|option|choice|which)(?![a-z])"
    r"|\(|-|–|—|,)",
    re.IGNORECASE,
)
_DENIED = re.compile(
    r"[)\]\"'”]{0,2},? ?(?:(?:is|are|was|would be|seems|has|does|do|can|cannot|ist|est|could|might|may|and"
    r"|or)(?![A-Za-z])|isn|doesn|can[’']t|不|错|非)",
    re.IGNORECASE,
)

Kind = Literal["letter", "ambiguous"]


@dataclass(frozen=True)
class Stated:
    """A letter, or two, at a place of a text.

    Attributes:
        kind: ``ambiguous`` for two letters.
        letter: capital; empty for two.
        start, end: place of the letter.
    """

    kind: Kind
    letter: str
    start: int
    end: int


def whole_letter(text: str) -> str | None:
    """The letter that a text consists of, with any common wrapper. A bare capital I may be a pronoun cut off: None."""
    if len(text) > 60 or text == "I":
        return None
    found = _WHOLE.fullmatch(text)
    return found["letter"].upper() if found else None


def letter_at(text: str, at: int, *, strict: bool, own_text: bool = False) -> Stated | None:
    """The letter that stands at a place and means an option.

    Args:
        text: in the form of ``plain``.
        at: right behind a cue.
        strict: the cue is weak: only a capital, in brackets or with the end of a clause behind it.
        own_text: the text of the letter's option follows.
    """
    either = _EITHER.match(text, at)
    if either:
        return Stated("ambiguous", "", at, either.end())
    found = _AT.match(text, at)
    if found is None:
        several = _SEVERAL.match(text, at)
        return Stated("ambiguous", "", at, several.end()) if several else None
    letter, end = found["letter"], found.end()
    bracketed = found["open"].rstrip()[-1:] in tuple("([\"'“‘「『【《<") and text[end : end + 1] in tuple(
        ")]\"'”’」』】》>"
    )
    if not own_text:
        if _two(text, end, letter):
            return Stated("ambiguous", "", found.start("letter"), end)
        if not _free(text, end, letter, bracketed=bracketed, strict=strict):
            return None
    return Stated("letter", letter.upper(), found.start("letter"), end)


def _two(text: str, end: int, first: str) -> bool:
    """Whether another letter is joined to the one that ends here: ``A or C``, ``A, B``, ``A/B``."""
    found = _SECOND.match(text, end)
    if found is None or found["letter"].upper() == first.upper():
        return False
    if found["letter"].islower() and (first.isupper() or found["letter"] == "i"):
        return False
    after = text[found.end("letter") : found.end("letter") + 20]
    clause = not after or after[0] in ".,;:!?)]\n\"'”。，" or ord(after[0]) > 0x2E80 or found["open"] != ""
    if found["joint"].strip(" ") in (",", ";"):
        return (clause and not after.startswith((")", ". ", ": "))) or after[:1] in ("", "\n")
    return clause or after.startswith((" are", " both", " or", " and", " could", " (", " depending"))


def _free(text: str, end: int, letter: str, *, bracketed: bool, strict: bool) -> bool:
    """Whether the letter is one on its own, not an article, a pronoun or an initial."""
    if _DENIED.match(text, end):
        return False
    found = _FREE.match(text, end)
    mark, rest = (found["mark"], found["rest"]) if found else ("", "")
    if mark in ("?", "？"):
        return False
    if bracketed:
        return True
    if strict and letter.islower():
        return False
    if not mark and rest == "":
        return True
    if rest == "\n" or (mark and mark not in "-–—" and rest in ("", " ", "\n", ")", '"', "'")):
        return mark != "-"
    if ord((mark or rest)[0]) > 0x2E80 or text[end : end + 1] in tuple(")]\"'”’"):
        return True
    if _JOIN.match(text, end):
        return not (letter in "ai" and text[end : end + 2] == " (")
    return not strict and letter.isupper() and letter not in "AI" and text[end : end + 1] == " "
