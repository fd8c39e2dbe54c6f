# ruff: noqa: RUF001 - characters that replies are written with
"""One form for everything that looks the same: full-width and styled letters, spaces, LaTeX, Markdown, HTML."""

from __future__ import annotations

import re
import unicodedata

CUE = "\x02"
"""Stands where a wrapper that states an answer begins: a box, an answer tag."""

_INVISIBLE = dict.fromkeys(map(ord, "\u200b\u200c\u200d\u200e\u200f\u2060\ufeff\u00ad\x00\x01\x02\x03\x04\ufe0f"))
_SQUARED = {0x1F170 + at: 65 + at for at in range(26)} | {0x1F150 + at: 65 + at for at in range(26)}
_SUPERSCRIPT = re.compile(r"(?<=[0-9])([⁻⁺−]?)([⁰¹²³⁴⁵⁶⁷⁸⁹]{1,20})")
_RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺−", "0123456789-+-")
_HALVES = {"½": "0.5", "¼": "0.25", "¾": "0.75", "⅛": "0.125", "⅕": "0.2"}
_MIXED = re.compile(r"(\d{1,20})?[ ]?([½¼¾⅛⅕])")
_STATING = re.compile(
    r"\\(?:boxed|fbox)\s?\{?|<\s?(?:final_)?answer\s?>|<\|begin_of_box\|>|(?<!#)####(?!#)", re.IGNORECASE
)
_COMMAND = re.compile(
    r"\\(?:text(?:bf|it|rm|sf|tt)?|math(?:bf|rm|sf|it|tt|bb)|bf|rm|displaystyle|left|right|begin|end)(?![a-zA-Z])"
    r"|</?(?:b|i|u|em|strong|p|span|code|sup|sub|response|output)\s?>"
)
_BREAK = re.compile(r"<\|end_of_box\|>|<\s?/?\s?(?:br|(?:final_)?answer)\s?/?\s?>|\r\n?", re.IGNORECASE)
_LATEX = (
    ("\\times", "×"), ("\\cdot", "·"), ("\\approx", "≈"), ("\\sim", "~"), ("\\pm", "±"), ("\\leq", "≤"), ("\\geq", "≥"),
    ("\\le", "≤"), ("\\ge", "≥"), ("\\%", "%"), ("\\mu", "µ"), ("\\,", " "), ("\\;", " "), ("\\!", ""), ("\\ ", " "),
    ("\\(", " "), ("\\)", " "), ("\\[", " "), ("\\]", " "), ("\\infty", "∞"), ("\\quad", " "),
)  # fmt: skip
_FRACTION = re.compile(r"\\[dt]?frac ?\{?(\d{1,3})\}? ?\{?([1-9]\d{0,2})\}?")
_BLANKS = re.compile(r"[^\S\n]+")
_LINES = re.compile(r" ?\n[ \n]*")
_POWER = re.compile(r"(?<=\d) ?\*\* ?(?=-?\d)")
_TIMES = re.compile(r"(?<=\d) ?\* ?(?=\d)")
_MARKS = re.compile(r"[*`]+|(?<![^\W_])_+|_+(?![^\W_])|[{}$]")


def plain(text: str) -> str:
    """Reply text in one form; what it says is unchanged.

    Compatibility forms are replaced (full-width, styled, circled), superscript digits behind a digit become ``^``
    exponents, and behind a letter belong to the unit. Boxes and answer tags become ``CUE``; LaTeX and Markdown marks
    go; runs of blanks become one.
    """
    text = text.translate(_INVISIBLE)
    if not text.isascii():
        text = text.translate(_SQUARED)
        text = _SUPERSCRIPT.sub(lambda found: "^" + (found[1] + found[2]).translate(_RAISED), text)
        text = _MIXED.sub(_mixed, text)
        text = unicodedata.normalize("NFKC", text)
    if "\\" in text or "<" in text or "####" in text:
        text = _STATING.sub(CUE, text)
        text = _BREAK.sub("\n", text)
        text = _COMMAND.sub("", text)
        text = _FRACTION.sub(r" \1/\2", text)
        for command, sign in _LATEX if "\\" in text else ():
            text = text.replace(command, sign)
    if "*" in text:
        text = _TIMES.sub("×", _POWER.sub("^", text))
    text = _MARKS.sub("", text)
    return _LINES.sub("\n", _BLANKS.sub(" ", text)).strip()


def _mixed(found: re.Match[str]) -> str:
    """``1½`` and ``½`` as decimals."""
    part = _HALVES[found[2]]
    return f"{found[1]}{part[1:]}" if found[1] else f" {part}"


_WORDS = re.compile(r"[^\W\d_]+")
_UNSPACED = re.compile("[\u2e80-\uffff]")


class Vocabulary:
    """The words of a text, small: whether a search for certain words can find anything at all."""

    def __init__(self, lowered: str) -> None:
        """Take the words of a text in small letters."""
        self._words = frozenset(_WORDS.findall(lowered))
        self.unspaced = _UNSPACED.search(lowered) is not None

    def any_of(self, words: frozenset[str]) -> bool:
        """Whether any of the words is there; yes for text in a script that puts no blanks between words."""
        return self.unspaced or not self._words.isdisjoint(words)


_LEFT = " \t\n,;:!?\"'“”‘’«»()[]#·。、，！？「」『』【】《》" + CUE
_RIGHT = _LEFT + ".-–—"
_BULLET = re.compile(r"^[-–—•] ")
_ARTICLE = re.compile(r"^(?:the|a|an|der|die|das|le|la|les|el|los|las) ")
_JOINTS = re.compile(r"\s+|(?<=\d),(?=\d{3}(?!\d))")


def folded(text: str) -> str:
    """What two texts must share to be the same option: no case, article, blanks, grouping commas or marks around.

    Signs that change a value stay: ``-5 mm``, ``.5 ml``, ``< 20 mm``.
    """
    return refolded(plain(text))


def refolded(text: str) -> str:
    """The same for text that is in the form of ``plain``."""
    text = _BULLET.sub("", text.casefold().strip(), count=1).lstrip(_LEFT).rstrip(_RIGHT)
    return _JOINTS.sub("", _ARTICLE.sub("", text, count=1))


def small(text: str) -> str:
    """Small letters, character by character: every place in the text stays where it is."""
    lowered = text.lower()
    return lowered if len(lowered) == len(text) else "".join(c if len(c.lower()) > 1 else c.lower() for c in text)
