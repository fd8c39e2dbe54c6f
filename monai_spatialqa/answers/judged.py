# ruff: noqa: RUF001 - signs and punctuation that replies are written with
"""What a reply says of single options by their letters: ``B is correct``, ``A. 12 ml is too small``, ``✅ C``."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from monai_spatialqa.answers.cues import SENTENCE_END, taken_back
from monai_spatialqa.answers.option_text import Options

Verdict = Literal["affirmed", "fits", "denied"]

_LABEL = re.compile(
    r"(?<![A-Za-z0-9'’])(?:(?:[Oo]ption|[Cc]hoice|[Aa]nswer|[Ll]etter|选项) ?)?[(\[\"“]?(?P<letter>[A-Z])"
    r"(?P<close>[)\]\"”]?[.:)、,]?)(?![A-Za-z0-9'’])"
)
_OPEN, _CLOSE = re.compile(r"[ (\[\"“=–—-]{0,4}(?:the |a |an )?"), re.compile(r"[)\]\"”]{0,2},?")
_BEFORE_VERB = re.compile(
    r"[ (\[\"“]{0,3}(?P<text>[^\n;]{1,80}?)[)\]\"”]?,?(?= (?:is|was|isn|would|must|seems|appears|has|can|does|looks)\b)"
)
_ADVERB = (
    r"(?: (?:therefore|thus|clearly|likely|indeed|definitely|probably|hence|most likely|also|then|actually|simply"
    r"|obviously|certainly|really|still|almost certainly|quite|very|much|far|slightly|a bit|somewhat|way|highly"
    r"|completely|anatomically))"
)
_VERB = (
    r" (?:is|was|would be|must be|should be|has to be|seems(?: to be)?|appears(?: to be)?|looks(?: like)?|remains"
    r"|can be|can therefore be|could be|has been|ist|est|es)(?![A-Za-z])"
)
_NOT_SO = (
    r"not (?:correct|right|true|consistent|likely|plausible|probable|possible|supported|accurate|matching|applicable"
    r"|appropriate|compatible|suitable|reasonable|present|visible|seen|it\b|an? (?:good )?(?:match|fit|answer|option)"
    r"|the (?:correct|right|best|answer|case|one|most)[a-z ]{0,16})"
)
_NOT = (
    rf"(?:{_NOT_SO}|incorrect|wrong"
    r"|false|inaccurate|unlikely|improbable|implausible|impossible|unrealistic|unreasonable|inconsistent"
    r"|incompatible|ruled out|eliminated"
    r"|excluded|rejected|dismissed|discarded|invalid|incorrectly|too [a-z]|less (?:likely|plausible|probable"
    r"|accurate|consistent|suitable)|falsch|unwahrscheinlich|faux|incorrecta?)"
)
_JOINT = (
    r"(?: ?(?:--?|[–—:=→.]|->|=>) ?| ?\(|, | )(?:(?:this|it|which)(?: is| seems| appears| would be|[’']s)? "
    r"|(?:slightly|clearly|much|far|way) ){0,2}"
)
_DENIED = re.compile(
    rf"(?:{_VERB}{_ADVERB}{{0,2}} {_NOT}"
    r"| (?:isn|wasn|doesn|wouldn|couldn|hasn)[’']t(?: |$)"
    r"| (?:does|did|would|could|can|should) ?not (?!be (?:ruled|excluded|eliminated|dismissed|discounted))"
    r"| can[’']t (?!be (?:ruled|excluded|eliminated|dismissed|discounted))"
    r"| (?:(?:far )?exceeds|overestimates|underestimates|contradicts)\b"
    r"| ?[✗✘❌✖]"
    rf"|{_JOINT}(?:no(?= ?(?:[.,;!\n]|$))"
    rf"|{_NOT_SO}"
    r"|incorrect|wrong|false|ruled out|eliminated|excluded|unlikely|inaccurate|inconsistent|implausible|unrealistic"
    r"|(?:much |far |way |slightly |clearly )?too [a-z]{1,12})(?= ?(?:[.,;:!)\n–—-]|$|because|since|as |for "
    r"|with|to be))"
    r"|(?:选项|项)?(?:是|为)?(?:不正确|错误|不对|错的|错|不符|不是|可以?排除|被排除|过大|过小|太大|太小|偏大|偏小))",
    re.IGNORECASE,
)
_END = (
    r"(?= ?(?:$|[.,;:!)\n。，；✓✅–—-]|(?:answer|option|choice|one|fit|match|estimate|candidate|letter|than"
    r"|because|since"
    r"|as|given|for|based|here|by|due|with|in this|from|and|but|supported|overall|among|to|of|matches)\b))"
)
_AFFIRMED = re.compile(
    rf"(?:{_VERB}{_ADVERB}{{0,2}}(?: (?:the|my|a|die|la|le))?(?: (?:most|only|single|final|one and only))?"
    rf" (?:(?:best|better|closer|right|true|preferred){_END}"
    r"|(?:(?:best|right|true|better|best possible) )?(?:correct|accurate|appropriate|answer|nearest|richtig"
    r"|richtige|correcte"
    r"|correcta|bonne|closest)\b)"
    rf"|{_VERB}{_ADVERB}{{0,2}} (?:the )?(?:single )?(?:most|more|best)"
    r" (?:likely|plausible|probable|consistent|reasonable|suitable|fitting|compatible|supported|accurate|appropriate"
    r"|match|fit|estimate)\b"
    r"|,? (?:best )?(?:matches|fits|agrees|corresponds) (?:[a-z ]{1,40} )?(?:best|most closely)\b"
    r"|,? best (?:matches|fits|describes|agrees|corresponds)\b"
    r"|(?: is)? ?[✓✔✅]"
    rf"|{_JOINT}(?:the )?(?:correct|best|yes)(?: answer| option| choice| match| fit)?"
    r"(?= ?(?:[.,;:!)\n–—]|$))"
    r"|(?:选项|项)?(?:是|为)?(?:正确|对的|最符合|最合适|最接近|最可能|最佳|最准确|最合理)的?)",
    re.IGNORECASE,
)
_FITS = re.compile(
    rf"(?: (?:matches|fits|agrees|corresponds)\b|{_VERB}{_ADVERB}{{0,2}}"
    r" (?:consistent|plausible|reasonable|possible|compatible|supported|a (?:good )?(?:match|fit))\b"
    rf"|{_JOINT}(?:matches|fits|consistent|plausible|reasonable)\b)",
    re.IGNORECASE,
)
_MARKED_BEFORE = re.compile(r"(?:(?P<yes>[✓✔✅☑])|[✗✘❌✖]) ?\Z")
_TAKEN_BACK = re.compile(
    rf"\b(?:this|that|it|which)(?:[’']s| is| was) (?:{_NOT_SO}|incorrect|wrong|false|ruled out|not\.)", re.IGNORECASE
)
_BUT = re.compile(r"\b(?:but|yet|still|closest|although|though|however)\b", re.IGNORECASE)
_IF = re.compile(r"\b(?:if|were|unless|had)\b", re.IGNORECASE)
_LONGEST, _TWO = 20, 2
_JOINED = re.compile(r"(?<![A-Za-z0-9])[A-Z][)\]]? (?:or|and|oder|und|but also|和|或) ?$")
_ASIDE = re.compile(r",? [^,.;\n]{1,40},(?= )")


MOST_LABELS, _FIRST_LABELS = 2000, 500
"""Of more letters than these only the first and the last ones are looked at."""


class Judgement(NamedTuple):
    """One option judged by its letter.

    Attributes:
        place: of the letter.
        letter: capital.
        verdict: ``fits`` is affirmed in weak words, which count only where another option is denied.
    """

    place: int
    letter: str
    verdict: Verdict


def judgements(text: str, lowered: str, options: Options) -> list[Judgement]:
    """Every option that a text affirms or denies by its letter, in the order of the text.

    Args:
        text: in the form of ``plain``.
        lowered: the same in small letters.
        options: of the question.
    """
    found = []
    labels = list(_LABEL.finditer(text))
    if len(labels) > MOST_LABELS:
        labels = labels[:_FIRST_LABELS] + labels[_FIRST_LABELS - MOST_LABELS :]
    for label in labels:
        letter = label["letter"]
        if letter not in options.letters:
            continue
        verdict = _marked(text, label.start()) or _verdict(text, lowered, label, options)
        if verdict == "fits" and text[max(0, label.start() - 5) : label.start()].lower() == "only ":
            verdict = "affirmed"
        at = label.start()
        if verdict in ("affirmed", "fits") and (taken_back(text, at) or _JOINED.search(text, max(0, at - 14), at)):
            continue
        if verdict is not None:
            found.append(Judgement(label.start("letter"), letter, verdict))
    return found


def affirmed(judged: list[Judgement]) -> list[Judgement]:
    """Those that choose: the affirmed ones, or the one that fits where all others judged are denied."""
    strong = [one for one in judged if one.verdict == "affirmed"]
    if len({one.letter for one in strong}) > _TWO:
        return []
    fitting = {one.letter for one in judged if one.verdict == "fits"}
    denied = {one.letter for one in judged if one.verdict == "denied"} - fitting
    if strong or len(fitting) != 1 or not denied:
        return strong
    return [one for one in judged if one.verdict == "fits"]


def unanswering(judged: list[Judgement]) -> frozenset[int]:
    """Places of letters that give no answer: denied, or one of several that are said to fit."""
    fitting = {one.letter for one in judged if one.verdict == "fits"}
    return frozenset(
        one.place for one in judged if one.verdict == "denied" or (one.verdict == "fits" and len(fitting) > 1)
    )


def withdrawn(text: str, place: int, letter: str, judged: list[Judgement]) -> bool:
    """Whether what is stated at a place is denied soon behind it: by its letter later on, or by ``that is wrong``."""
    if any(one.verdict == "denied" and one.place > place and one.letter == letter for one in judged):
        return True
    found = _TAKEN_BACK.search(text, place + 1, place + 140)
    if found is None:
        return False
    between = {label["letter"] for label in _LABEL.finditer(text, place + 1, found.start())}
    return between <= {letter}


def _marked(text: str, start: int) -> Verdict | None:
    """The verdict of a tick or a cross before the label."""
    mark = _MARKED_BEFORE.search(text, max(0, start - 2), start)
    return None if mark is None else "affirmed" if mark["yes"] else "denied"


def _verdict(text: str, lowered: str, label: re.Match[str], options: Options) -> Verdict | None:
    """What is said right behind a label, or behind it and the option's own text."""
    own = options.texts[options.letters.index(label["letter"])]
    at = label.end()
    said = _OPEN.match(lowered, at)
    if own and said and lowered.startswith(own, said.end()) and not lowered[said.end() + len(own) :][:1].isalnum():
        at = said.end() + len(own)
        closed = _CLOSE.match(text, at)
        at = closed.end() if closed else at
    elif (before := _BEFORE_VERB.match(text, at)) and options.letter_of(before["text"]) == label["letter"]:
        at = before.end()
    elif at > label.end("letter") and text[at - 1] in ".:," and text[at : at + 1] == " ":
        at -= 1  # the mark joins the letter to what is said of it
    verdict = _said(text, lowered, at, options)
    aside = _ASIDE.match(text, label.end() if at < label.end() else at) if verdict is None else None
    return _said(text, lowered, aside.end(), options) if aside else verdict


def _said(text: str, lowered: str, at: int, options: Options) -> Verdict | None:
    verdict: Verdict
    if found := _DENIED.match(text, at):
        verdict = "denied"
    elif found := _AFFIRMED.match(text, at):
        verdict = "affirmed"
    elif found := _FITS.match(text, at):
        verdict = "fits"
    else:
        return None
    if any(options.letter_at(lowered, place) for place in range(at, min(found.end(), at + 4))):
        return None  # an option's text that looks like a verdict
    rest = text[found.end() : found.end() + 100]
    rest = rest[: min((rest.find(mark) for mark in ".!?\n。；？" if mark in rest), default=len(rest)) + 1]
    if rest.endswith(("?", "？")) and len(rest) < _LONGEST:
        return None
    if verdict == "denied" and _BUT.search(rest) and not _other_label(rest):
        return None
    if verdict != "denied" and " would be" in found.group() and (_IF.search(rest) or _IF.search(_sentence(text, at))):
        return None
    return verdict


def _other_label(rest: str) -> bool:
    return _LABEL.search(rest) is not None


def _sentence(text: str, at: int) -> str:
    before = text[max(0, at - 100) : at]
    return before[max(before.rfind(mark) for mark in SENTENCE_END) + 1 :]
