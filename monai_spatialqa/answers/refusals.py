# ruff: noqa: RUF001, SIM905 - quotation marks as replies have them
"""Phrases of replies that give no answer: the model cannot tell, or will not."""

from __future__ import annotations

import re

from monai_spatialqa.answers.text import Vocabulary

_CANNOT = (
    r"(?:can ?not|can[’']?t|could not|couldn[’']?t|(?:am|is|are|was) (?:not able|unable) to|unable to"
    r"|not possible to|impossible to)"
)
_TELL = (
    r"(?:be )?(?:accurately |reliably |exactly |precisely |definitively |confidently |directly )?(?:determin"
    r"|measur|tell|told|estimat|answer|say|said|conclu|know|asses|comput|calculat|judg|identif|infer|quantif|see"
    r"|find|decid)"
)
_ABSTAINED = re.compile(
    rf"\b{_CANNOT} {_TELL}"
    r"|\b(?:i|we) (?:really |simply |honestly )?(?:do not|don[’']?t) (?:know|have (?:enough|sufficient|access))"
    r"|\bnot (?:determinable|measurable|answerable|possible|sure\b|enough information|enough data|visible)"
    r"|\b(?:insufficient|inadequate|no) (?:information|data|image|evidence(?! of\b))|\bindeterminate\b|\bundetermined\b"
    r"|\bunknown\b"
    r"|\bnot (?:given|provided|specified|stated|available)\b|\bn/a\b|\bno idea\b"
    r"|\b(?:kann|können) (?:nicht|nichts) |\bnicht bestimmbar|\bweiß nicht|\bunbekannt\b|\bne peut pas être"
    r"|\bje ne sais pas"
    r"|\bimpossible à|\bno se puede|\bno lo sé|\bno sé\b|无法|不能确定|不确定|不知道|不能判断|难以确定",
    re.IGNORECASE,
)
_UNABLE = (
    rf"\b{_CANNOT} (?:help|assist|provide|comply|view|analy[sz]e|interpret|give|offer|process|access"
    rf"|diagnos|do\b|fulfil)"
)
_DECLINED = re.compile(_UNABLE, re.IGNORECASE)
_REFUSED = re.compile(
    rf"\b(?:i[’']?m |i am )?sorry\b|\bas an (?:ai|artificial|language)\b|\bi (?:must|have to) decline"
    rf"|\bi (?:will|would) not\b|{_UNABLE}"
    r"|\bi (?:won[’']?t|refuse)\b|\bconsult (?:a|your|with)\b|\bnot (?:able|qualified|allowed) to\b"
    r"|对不起|抱歉|作为(?:一个)?(?:AI|人工智能)|es tut mir leid|désolé|lo siento",
    re.IGNORECASE,
)
_START = re.compile(r"[\s\"'“(\[]*(?:that )?(?:it |this |the [a-z]+ |i |we )?$", re.IGNORECASE)


SILENT_WORDS = frozenset(
    "cannot can couldn could unable impossible not don insufficient inadequate no indeterminate undetermined"
    " unknown n kann können nicht unbekannt ne je se sorry as decline won refuse consult tut désolé siento"
    " possible weiß".split()
)
"""Words one of which every phrase has."""


def silence(text: str, vocabulary: Vocabulary) -> str | None:
    """``abstained`` or ``refusal`` when a text, whose words these are, says so anywhere; abstaining comes first."""
    if not vocabulary.any_of(SILENT_WORDS):
        return None
    if _ABSTAINED.search(text):
        return "abstained"
    return "refusal" if _REFUSED.search(text) else None


def abstains_at(text: str, at: int) -> bool:
    """Whether the words from a place on say that there is no telling: behind ``the answer is``."""
    found = _ABSTAINED.search(text, at, at + 80)
    return found is not None and _START.fullmatch(text, at, found.start()) is not None


def declines(text: str) -> int | None:
    """Where a text says that it cannot tell, or will not; None where it does not."""
    found = _ABSTAINED.search(text) or _DECLINED.search(text)
    return found.start() if found else None
