# ruff: noqa: RUF001, SIM905 - signs and punctuation that replies are written with
"""Words that state an answer, by language. Each pattern ends where the answer itself must begin.

English, Chinese, German, French and Spanish, and a few words of Italian and Portuguese. Every quantifier over blanks or
words is bounded, so that any text is searched in linear time.
"""

from __future__ import annotations

import re

from monai_spatialqa.answers.text import CUE

_NOUN = (
    r"(?:answer|choice|selection|response|conclusion|pick|antwort|lösung|auswahl|réponse|respuesta|risposta|resposta)s?"
    r"|(?:correct|right|best|final|chosen|selected|my|appropriate|accurate|true|closest)"
    r" (?:option|letter|one|result|estimate|match|fit|guess)"
    r"|(?:richtige|korrekte) (?:option|variante)|(?:bonne|meilleure) option|opción (?:correcta)?|ergebnis|result|option"
)
_VERB = (
    r"is|are|was|would be|should be|must be|will be|has to be|might be|may be|could be|seems to be|appears to be"
    r"|(?:would|should|must|could|might|may|will) (?:most likely|probably|therefore|thus|likely|then) be|becomes"
    r"|ist|lautet|wäre|est|serait|es|sería|è|é"
)
_FILL = (
    r"therefore|thus|hence|clearly|most likely|likely|probably|definitely|indeed|simply|then|actually|given by|to be"
    r"|as follows|also|now|daher|also|wahrscheinlich|donc|probablement|la|le|die|der|das|el|correctly|as"
)
_WORD = (
    r"(?:(?:the |die |la )?(?:correct |right |best )?(?:option|choice|letter|answer|number|value|antwort|réponse"
    r"|opción)"
    rf"\b(?! ?(?:(?:{_VERB})\b|[:=])):? ?)"
)
_OF = r"(?: (?:to|for|of|in|auf|à|a) (?:\w{1,20} ){0,6}?(?:question|problem|frage|pregunta|this|it|case|task))"
_ZH = (
    r"(?:(?:正确|最终|最后|最佳|我)的?)?(?:答案|选项|选择|回答|结果)(?:应该|应当|应)?(?:是|为|选择|选|:|：|=){1,2}:?"
    r"|(?<![不没])(?:正确|故|应该|应当|应|所以|因此|我|综上|我会|就|则)(?:选择|选)(?:项|答案)?(?:是|为|:)?"
    r"|(?<![不没应挑筛])(?:选择|选)(?![项择])(?:是|为|:)?"
)

STATED = re.compile(
    rf"(?P<strong>{CUE}"
    rf"|(?<![^\W_])(?:{_NOUN})(?:es|\(s\))?(?: ?\([^()\n]{{1,40}}\))?(?: (?:choice|option|letter|here|correcta"
    rf"|correcte|juste|finale?)\b)?{_OF}?"
    rf"(?:,? (?:{_VERB})\b(?:,? (?:{_FILL})\b){{0,3}},? ?(?:[:=]|->|→|\n)? ?| ?(?:->|=>|[:=→≈]) ?| ?\n| [-–—] )"
    r"|(?<![^\W_])(?:ans\.?|final|solution|verdict|prediction|predicted|output|decision|guess|correct) ?(?:->|=>|[:=→])"
    r" ?|(?<![^\W_])ans\. ?"
    rf"|(?<![^\W_])final answer (?!(?:{_VERB})\b)|{_ZH})(?:\n)?{_WORD}?"
    r"|(?P<chosen>(?<![^\W_])(?:(?:i|we)(?:[’']d|[’']ll|[’']m|[’']ve)?(?: (?:would|will|am|have|must|should|can"
    r"|therefore|choose to))"
    r"{0,2} ?(?:choose|chose|chosen|select|selected|pick|picked|go(?:ing)? (?:with|for)|went with|answer"
    r"|settle on|settled on"
    r"|lean(?:ing)? (?:towards?|to)"
    r"|opt(?:ed)? for|vote for|say|"
    r"conclude|think|believe|guess)(?: that| it[’']?s| it is| is)?"
    r"|if (?:i|we) (?:had|have) to (?:guess|choose|pick|answer)"
    r"(?:,? i(?:[’']d| would) (?:say|choose|pick|go with))?"
    r"|let[’']?s (?:go with|choose|pick|say)"
    r"|ich (?:wähle|nehme)|je choisis|elijo|elegiría)[:,]? )(?:(?:the )?(?:correct )?(?:answer is )?)"
    rf"{_WORD}?"
    r"|(?P<weak>(?<![^\W_])(?:it[’']?s|it is|it must be|it has to be|it would be|that[’']?s|that is|this is"
    r"|which is|so|therefore"
    r"|thus|hence|actually|rather|instead|i mean|i meant|correction|scratch that|make that|no|wait|sorry|but"
    r"|(?:volume|distance|position|direction|location|structure|organ|lesion|size|length|value|measurement|estimate"
    r"|diameter|side) (?:is|would be|must be)"
    r"|(?:on|upon) (?:second thoughts?|reflection|closer (?:look|inspection)|further [a-z]{4,14})"
    r"|(?:closest|nearest) to|(?:fits|matches)(?: best| the [a-z]{1,12})? is|leaves|leaving"
    r"|also|donc|daher|corresponds to|corresponding to|matches)"
    r"[,:]? (?:most likely |probably |likely |clearly |definitely )?"
    r"(?:it[’']?s |it is |to |go with |choose |pick |must be )?)"
    rf"{_WORD}?",
    re.IGNORECASE,
)
"""``strong``: what follows is the answer. ``chosen`` and ``weak``: only a letter that stands alone is one."""

FIRST_WORDS = frozenset(
    "answer answers choice choices selection selections response responses conclusion conclusions pick picks"
    " antwort lösung auswahl réponse respuesta risposta resposta antworts lösungs auswahls réponses respuestas"
    " rispostas respostas correct right best final chosen selected my appropriate accurate true richtige"
    " korrekte bonne meilleure opción ergebnis result option i we ich je elijo elegiría it that this which so"
    " therefore thus hence actually rather instead correction scratch make no wait sorry but also donc daher"
    " corresponds corresponding matches closest if ans final solution verdict prediction predicted output"
    " decision guess volume distance"
    " on upon let lets nearest fits leaves leaving position direction location structure organ lesion size"
    " length value measurement estimate diameter side".split()
)
"""Words that ``STATED`` begins with."""

_WORD_OR_BOX = re.compile(rf"[^\W_]+|{CUE}")
_CHINESE_STARTS = frozenset("正最我答选回结故应所因综就则")
MOST_CUES = 500
"""A reply that states its answer more often is read from the last ones only."""


def stated_in(text: str, lowered: str) -> list[re.Match[str]]:
    """Where ``STATED`` matches, found by the words it begins with; the last ``MOST_CUES`` of them."""
    found: list[re.Match[str]] = []
    end = 0
    for word in _WORD_OR_BOX.finditer(lowered):
        token = word.group()
        if token in FIRST_WORDS or token == CUE:
            starts: tuple[int, ...] = (word.start(),)
        elif token.isascii():
            continue
        else:
            starts = tuple(word.start() + at for at, sign in enumerate(token) if sign in _CHINESE_STARTS)
        for start in starts:
            match = STATED.match(text, start) if start >= end else None
            if match:
                found.append(match)
                end = max(match.end(), start + 1)
    return found[-MOST_CUES:]


NEGATED = re.compile(
    r"(?:\b(?:if|unless|whether|suppose|assuming|assume|doubt|doubtful|neither|nor(?: is| was)?|anything|wonder"
    r"|imagine|say|not|never"
    r"|than|of)"
    r"|n[’']t(?: (?:think|believe|say|agree|mean|true|the case))?|\b(?:not|never) (?:think|believe|say|sure|true"
    r"|the case|certain|"
    r"agree|mean|saying)|\b(?:incorrect|wrong|false|untrue) (?:that|to say)|如果|不|非|不认为|是否|并不|nicht"
    r"|glaube nicht)"
    r"(?: (?:that|if|to say|about|wenn|dass))?(?: (?:the|my|this|your|our|die))?(?: (?:correct|final|right|best"
    r"|true))?[ ,]*$",
    re.IGNORECASE,
)
"""Words right before a statement that take it back or make it a condition."""

NOT_BUT = re.compile(
    r"(?:not|nicht|不是)[ :]*(?:option |choice )?[(\[\"]?[A-Z][)\]\"]?[,;.]?(?: ?(?:but|rather|it[’']?s|it is"
    r"|instead|sondern|而是)[, ]*){1,3}"
    r"(?:rather |instead )?(?:option |choice )?",
    re.IGNORECASE,
)
"""``not B but ...`` behind a cue."""

_OTHER = re.compile(
    r"\b(?:wrong|incorrect|false|least [a-z]{3,12}|less [a-z]{3,12}|second|third|other|alternative|another|previous"
    r"|earlier|initial|worst|excluded|eliminated|falsche|mauvaise)(?: (?:best|most [a-z]{3,12}|possible))? *$",
    re.IGNORECASE,
)
"""Words right before a statement that make it one about another than the answer: ``the wrong answer is``."""

_FIRST_WAS = re.compile(r"(?:answer|choice|guess|pick) was\b", re.IGNORECASE)
_SUPPOSED = re.compile(r"\b(?:if|unless|were) (?!(?:i|we|one) |forced|pressed|asked|anything|so\b)", re.IGNORECASE)

SENTENCE_END = ".!?\n;。！？；"
LOOK_BACK = 60
"""Characters before a statement that can take it back, within its sentence."""


_IMAGINED = re.compile(
    r"(?:\b(?:you|one|some|many|people|someone|somebody|others?) (?:might|may|could|would) (?:\w+ )?(?:think|expect|say"
    r"|guess|assume|believe|argue|conclude)\b|\bif\b[^,]{1,80}\bwere\b)(?!.*\b(?:but|however|yet|though|although)\b)",
    re.IGNORECASE,
)
"""What others might think, or what would hold if something were otherwise."""


def taken_back(text: str, at: int) -> bool:
    """Whether the words before a place negate what is stated there, or make it a condition."""
    before = text[max(0, at - LOOK_BACK) : at]
    cut = max(before.rfind(mark) for mark in SENTENCE_END)
    before = before[cut + 1 :]
    if NEGATED.search(before) or _OTHER.search(before):
        return True
    return before.lower().endswith("first ") and _FIRST_WAS.match(text, at) is not None


def supposed(text: str, cue: re.Match[str]) -> bool:
    """Whether a statement is somebody else's, or behind a condition: ``if it were flipped, the answer would be D``."""
    before = text[max(0, cue.start() - 2 * LOOK_BACK) : cue.start()]
    before = before[max(before.rfind(mark) for mark in SENTENCE_END) + 1 :]
    if _IMAGINED.search(before + cue.group()):
        return True
    return " would be" in cue.group().lower() and _SUPPOSED.search(before) is not None
