# ruff: noqa: RUF001 - punctuation that replies are written with
"""The answer at the edges of a reply: a letter, or yes or no, at its head; a letter in its last line or sentence."""

from __future__ import annotations

import re
from typing import NamedTuple

from monai_spatialqa.answers.letters import letter_at, whole_letter
from monai_spatialqa.answers.option_text import Options
from monai_spatialqa.answers.text import small

DECORATION = "✅✔✓☑→⇒➡👉▶►●•🔹⭐👍"
_OPENER = re.compile(
    r"(?:(?:(?:sure|okay|ok|well|certainly|of course|alright|all right|great question|good question)(?: thing)?[,.!:] ?"
    r"|(?:that[’']s (?:right|correct)|definitely|most likely|most probably|probably|likely|clearly|certainly"
    r"|almost certainly|possibly|perhaps"
    r"|maybe|therefore|thus|so|hence|overall|in summary|in conclusion)[,:]? "
    r"|(?:based (?:up)?on|from|looking at|according to|given|judging (?:from|by)|considering|after|upon"
    r"|in (?:this|the) (?:image|scan|picture|ct|mri))"
    r" (?!option )[^,.:;\n]{0,100}, "
    r"|(?:根据|基于|从)[^，,。\n]{1,40}[，,] ?)(?:(?:i(?:[’']d| would) (?:say|choose)|i (?:think|believe|choose))[:,]? "
    r"(?:it[’']?s |it is )?|(?:it is|it[’']s|that would be) )?){1,3}",
    re.IGNORECASE,
)
_HEAD = re.compile(
    rf"[{DECORATION} \n:]{{0,6}}[(\[\"]?(?:option |choice )?[(\[\"]?(?P<letter>[A-Za-z])[)\]\"]?"
    r"(?P<mark>(?= because| since|\n|$)|[.):,;、。]| -| –| —| =|(?= ))[)\]\"]?(?:[ ]|\n|$|(?<=[.、:)。])(?P<close>))",
    re.IGNORECASE,
)
_LINE_LABEL = re.compile(r"(?:^|\n)[•–—-]{0,1} ?[(\[]?(?:option )?[(\[]?([A-Za-z])[)\].:](?= )", re.IGNORECASE)
_REASONED = re.compile(r"(?:because|since|due to|based on|weil|car|porque)\b", re.IGNORECASE)
_WRONG = re.compile(
    r"\b(?:incorrect|wrong|not (?:correct|right|true|the)|false|too (?:small|large|low|high)|ruled out)\b",
    re.IGNORECASE,
)
_ARTICLE = re.compile(r"[\s\"'“(\[]{0,4}(?:(?:the|a|an) )?")
_LAST_SENTENCE = re.compile(
    r"(?:^|[.!?\n。！？] ?)[(\[\"]?(?:option )?(?P<letter>[A-Z])[)\]\"]?[.):] ?(?=\S)", re.IGNORECASE
)
_QUESTION = re.compile(r"[^\n.!]{1,80}[?？]")
_SUBJECT = re.compile(
    r"[)\"'”]{0,2},? (?:but|or|was|would|could|may|might|can|cannot|seems|appears|looks|has|does|isn|must|should"
    r"|is(?! (?:the|my|an?|our) (?:[a-z]{1,12} )?(?:volume|distance|location|position|direction|structure|organ|side"
    r"|size|value|estimate|length|diameter|answer)))(?![a-z])"
)
_IN_BRACKETS = re.compile(r"\)(?:$|[.:\n])")
_NAMED_LAST = re.compile(
    r"(?:^|[,.:;\n–—-] ?)(?:(?:so|thus|hence|therefore),? )?(?:option|choice|answer) [(\[]?([A-Z])[)\].!]{0,2}$",
    re.IGNORECASE,
)
_LETTER = re.compile(r"(?<![A-Za-z0-9])[A-Z](?![A-Za-z0-9])")
_ARROW = re.compile(r"(?<![A-Z])(?<![A-Z] ) ?(?:→|⇒|->|=>) ?(?:[Oo]ption )?[(\[]?([A-Z])[)\].!]{0,2}$")
_YES_NO = re.compile(
    r"(?P<word>yes|no|ja|nein|oui|non|sí|si|да|нет)\b(?=[,.;:!\n]| -| –| —|$| because| it| the| there)"
    r"|(?P<sign>是的|不是|没有|不对|对的|是|否|对|有|不|无)(?=[，。,.！!；;\s]|$)",
    re.IGNORECASE,
)


class Edge(NamedTuple):
    """A letter at an edge.

    Attributes:
        place: of the statement.
        letter: capital; None for two letters joined.
        other_text: the text of another option follows.
    """

    place: int
    letter: str | None
    other_text: bool = False


def edges(text: str, lowered: str, options: Options, echoes: frozenset[int], denied: frozenset[int]) -> list[Edge]:
    """A letter at the head of a reply, in its last line, or with its own text in its last sentence.

    Args:
        text: in the form of ``plain``.
        lowered: the same in small letters.
        options: of the question.
        echoes: places of letters that only repeat the options.
        denied: places of letters whose options the reply denies.
    """
    found = []
    head = _head(text, lowered, options, echoes, denied)
    if head is not None:
        found.append(head)
    start = text.rfind("\n") + 1
    last = whole_letter(text[start:].lstrip(DECORATION + " ")) if start else None
    above = whole_letter(text[text.rfind("\n", 0, start - 1) + 1 : start - 1]) if last else None
    if last and above not in (None, last):
        return []  # a list of letters
    if last and (start not in echoes) and last in options.letters:
        found.append(Edge(start, last))
    elif (closing := _closing(text, lowered, options, echoes, denied)) is not None:
        found.append(closing)
    return found


def _head(text: str, lowered: str, options: Options, echoes: frozenset[int], denied: frozenset[int]) -> Edge | None:
    opener = _OPENER.match(text)
    if opener and _LETTER.search(opener.group().replace("I", "")):
        opener = None
    head = _HEAD.match(text, opener.end() if opener else 0)
    if head is None or head.start("letter") in echoes or head.start("letter") in denied or text == "I":
        return None
    letter, at = head["letter"].upper(), head.end()
    if letter not in options.letters:
        return None
    line = text[at : text.find("\n", at) if "\n" in text[at:] else len(text)]
    alone = head.group().endswith("\n") or at == len(text)
    own_end, other = _text_behind(lowered, at, letter, options)
    own = own_end > 0
    bare = head["mark"] == "" and head.group().endswith(" ") and not _REASONED.match(text, at)
    if bare and not (own and (options.letter_of(line) == letter or _IN_BRACKETS.match(text, own_end))):
        return None
    if _QUESTION.match(text, at):
        return None
    if head["close"] is not None and not own and not alone:
        return None
    if own and _SUBJECT.match(lowered, own_end):
        return None
    labels = {found[1].upper() for found in _LINE_LABEL.finditer(text) if found.start(1) not in denied} - {letter}
    if alone:
        lines = {one for one in map(whole_letter, text[at:].split("\n")) if one and one in options.letters}
        return Edge(0, letter) if lines <= {letter} and not (opener and head["letter"].islower()) else None
    prose = (
        head["letter"].isupper()
        and letter != "I"
        and (head["mark"] not in (",", ";", " =") or _REASONED.match(text, at))
        and not text.startswith("A: ")  # a speaker's mark, answering "Q: "
    )
    second = letter_at(text, at, strict=True) if head["mark"] == "," else None
    if labels or second is not None or not (own or prose):
        return None
    if re.match(r"(?:or|and|oder|或)\b", line):
        return Edge(0, None)
    if own or _REASONED.match(text, at) or not (_WRONG.search(line) or options.echoes(text, lowered)):
        return Edge(0, letter, other)
    return None


def _text_behind(lowered: str, at: int, letter: str, options: Options) -> tuple[int, bool]:
    """Where the letter's own text at a place ends, 0 for none, and whether another option's text stands there."""
    article = _ARTICLE.match(lowered, at)
    said = options.letter_at(lowered, article.end() if article else at)
    own = options.texts[options.letters.index(letter)]
    start = article.end() if article else at
    if own and lowered.startswith(own, start) and not lowered[start + len(own) :][:1].isalnum():
        longer = said is not None and said[0] != letter
        return (0 if longer else start + len(own)), longer
    return 0, said is not None and said[0] != letter


def _closing(text: str, lowered: str, options: Options, echoes: frozenset[int], denied: frozenset[int]) -> Edge | None:
    """A letter that closes a reply: with its own text, ``C. left``, behind an arrow, or named as an option."""
    arrow = _ARROW.search(text, max(0, len(text) - 20))
    if arrow and arrow[1] in options.letters:
        return Edge(arrow.start(1), arrow[1])
    named = _NAMED_LAST.search(text, max(0, len(text) - 40))
    if named and named[1].upper() in options.letters and named.start(1) not in denied:
        return Edge(named.start(1), named[1].upper())
    tail = max(0, len(text) - 200)
    found = max(_LAST_SENTENCE.finditer(text, tail), key=lambda one: one.start(), default=None)
    if found is None or found.start("letter") in echoes or found.start("letter") in denied:
        return None
    letter = found["letter"].upper()
    if letter not in options.letters or options.letter_of(text[found.end() :]) != letter or text.endswith("?"):
        return None
    others = {
        label[1].upper()
        for label in _LINE_LABEL.finditer(text)
        if label.start(1) not in denied and not _QUESTION.match(text, label.end())
    }
    return Edge(found.start("letter"), letter) if others <= {letter} or found.start() == 0 else None


def yes_or_no(text: str, options: Options) -> str | None:
    """The letter of the yes or no that a reply begins with, empty where the opposite follows; None for neither."""
    opener = _OPENER.match(text)
    at = opener.end() if opener else 0
    head = _YES_NO.match(text[at:].lstrip(" \"'([-" + DECORATION))
    if head is None:
        return None
    letter = options.keys[head.group().lower()][0]
    opposite = r"no\b(?=[,.;:!?\n]|$| -| –| —| it| i )" if letter == options.keys["yes"][0] else r"yes\b"
    rest = small(text[at:])[head.end() :]
    if re.match(r", [ab]\b(?=[.)]|$)", rest) or re.search(
        rf"(?:^|[.;:!\n—–-] ?|\b(?:wait|actually|rather),? ){opposite}", rest
    ):
        return ""
    return letter
