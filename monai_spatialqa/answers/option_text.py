# ruff: noqa: RUF001 - punctuation that replies are written with
"""Options by their text: which one a reply, or a part of it, repeats."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise

from monai_spatialqa.answers.refusals import silence
from monai_spatialqa.answers.text import Vocabulary, folded, plain, refolded, small

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
"""Letters of options; read_choice takes as many options."""

_YES = ("yes", "ja", "oui", "sí", "si", "да", "是", "是的", "对", "对的", "有", "true")
_NO = ("no", "nein", "non", "нет", "否", "不是", "不", "不对", "没有", "无", "false")
_AFTER = re.compile(
    r"\s{0,2}(?:$|[.,;:!?()\[\]\n。，；！—–]|(?:because|since|as|due|based|which|is)\b|- )", re.IGNORECASE
)
_LABEL = re.compile(r"(?<![A-Za-z0-9])[(\[]?(?:[Oo]ption |[Cc]hoice )?([A-Z])[)\]]?[).:\]-]?[ \n]")
_GAP = re.compile(r"[\s,;|/.•*()\[\]-]{0,12}(?:and |or )?[\s(\[-]{0,4}(?:option |choice )?", re.IGNORECASE)


@dataclass(frozen=True)
class Options:
    """The options of a question, prepared.

    Attributes:
        texts: as shown, in the form of ``plain`` and small letters.
        keys: folded text to letters.
        letters: the letters there are.
        yes_no: they are yes and no.
        undetermined: those of ``texts`` that say that there is no telling.
    """

    texts: tuple[str, ...]
    keys: dict[str, tuple[str, ...]] = field(repr=False)
    letters: str
    yes_no: bool
    undetermined: tuple[str, ...] = ()

    def says_undetermined(self, letter: str) -> bool:
        """Whether to choose a letter is to abstain."""
        return self.texts[self.letters.index(letter)] in self.undetermined

    def letter_of(self, text: str) -> str | None:
        """Letter of the one option that a plain text equals; None for none, and for two."""
        found = self.keys.get(refolded(text), ())
        return found[0] if len(found) == 1 else None

    def letter_at(self, text: str, at: int) -> tuple[str, int] | None:
        """The one option whose text stands at a place of a plain text in small letters, and where it ends."""
        best: list[tuple[int, int]] = []
        for place, option in enumerate(self.texts):
            if option and text.startswith(option, at) and _AFTER.match(text, at + len(option)):
                best.append((len(option), place))
        if not best:
            return None
        longest = max(best)[0]
        places = [place for length, place in best if length == longest]
        return (self.letters[places[0]], at + longest) if len(places) == 1 else None

    def echoes(self, text: str, small: str) -> frozenset[int]:
        """Places of letters that stand in a list of several options with their texts: an echo, no answer."""
        places: list[tuple[int, int, str]] = []
        for found in _LABEL.finditer(text):
            at = self.letters.find(found[1])
            start = found.end() + (4 if small.startswith("the ", found.end()) else 0)
            if at >= 0 and self.texts[at] and small.startswith(self.texts[at], start):
                places.append((found.start(1), start + len(self.texts[at]), found[1]))
        echoed: set[int] = set()
        for (start, end, letter), (after, _, other) in pairwise(places):
            if letter != other and after >= end and _GAP.fullmatch(text, end, after):
                echoed |= {start, after}
        return frozenset(echoed)


@lru_cache(maxsize=4096)
def prepared(options: tuple[str, ...]) -> Options:
    """The options of a question, ready for many replies."""
    letters = LETTERS[: len(options)]
    keys: dict[str, tuple[str, ...]] = {}
    for letter, text in zip(letters, options, strict=True):
        keys[folded(text)] = (*keys.get(folded(text), ()), letter)
    yes_no = set(keys) == {"yes", "no"}
    if yes_no:
        for words in (_YES, _NO):
            keys |= {word: keys[words[0]] for word in words}
    keys.pop("", None)
    texts = tuple(small(plain(text)) for text in options)
    undetermined = tuple(text for text in texts if text and silence(text, Vocabulary(text)) == "abstained")
    return Options(texts, keys, letters, yes_no, undetermined)


def as_options(options: Sequence[str]) -> Options:
    """Check and prepare the options that ``read_choice`` was given."""
    return prepared(tuple(options))
