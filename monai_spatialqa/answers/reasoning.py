"""The part of a reply that counts: without reasoning blocks and without a next question that the model invents."""

from __future__ import annotations

import re
from dataclasses import dataclass

_NAMES = r"think(?:ing)?|thoughts?|reason(?:ing)?|analysis|scratchpad|reflection|seed:think"
_TAG = re.compile(
    rf"(?P<open><\s?(?:{_NAMES})\s?>|\[(?:think|thinking)\]|◁think▷|<\|(?:begin_of_thought|start_thinking)\|>"
    r"|<unused94>(?:\s?thought)?|<\|channel\|?>\s?(?:analysis|commentary|thought)[^<\n]{0,80}(?:<\|message\|>)?)"
    rf"|(?P<close><\s?/\s?(?:{_NAMES})\s?>|\[/(?:think|thinking)\]|◁/think▷|<\|(?:end_of_thought|end_thinking)\|>"
    r"|<unused95>|<channel\|>|<\|channel\|>\s?final[^<\n]{0,80}(?:<\|message\|>)?)",
    re.IGNORECASE,
)
# Harmony channels whose special tokens a server has removed: "analysisWe need ...assistantfinalB".
_BARE_ANALYSIS = re.compile(r"\s{0,20}analysis(?=[A-Z])")
_BARE_FINAL = "assistantfinal"

_TURN_TOKENS = (
    r"<\|(?:im_end|im_start|eot_id|endoftext|end_of_text|end|return|start_header_id|user|eom_id|end_of_turn|start)\|>"
    r"|<(?:end_of_turn|start_of_turn|eos)>|</s>|\[/?INST\]|<｜end▁of▁sentence｜>"  # noqa: RUF001
)
_LEADING = re.compile(
    rf"(?:\s{{0,20}}(?:{_TURN_TOKENS}|<\|(?:assistant|message|end_header_id|start_response)\|>))+"
    r"(?:\s{0,20}(?:assistant|model)\b)?|\s{0,20}(?:assistant|model)(?:\s{0,3}:|\s?\n)",
    re.IGNORECASE,
)
_NEXT_TURN = re.compile(
    rf"{_TURN_TOKENS}|<\|end_response\|>"
    r"|\n[ \t*#>_]{0,8}(?:(?:next|new|another|follow-?up)[ \t]{1,3}(?:question|problem|example)|(?:question|q|problem|"
    r"exercise|example|frage|pregunta|question suivante|human|user|instruction"
    r"|问题|下一题|题目|问)[ \t]?(?:\d{1,3}|n[o°]\.?"
    r"[ \t]?\d{1,3})?[ \t*_]{0,4}[:：]|q\d{1,3}[.):])",  # noqa: RUF001
    re.IGNORECASE,
)


MOST_CHARACTERS, HEAD, TAIL = 50_000, 8_000, 32_000
"""Of an answer of more characters than the first, so many of its head and its tail are read, in whole sentences."""
_SENTENCE = re.compile(r"[.!?](?=\s)|[\n。！？]")  # noqa: RUF001


@dataclass(frozen=True)
class Final:
    """What is left of a reply.

    Attributes:
        text: the part that counts.
        reason: why nothing counts, ``empty`` or ``unclosed_reasoning``; None otherwise.
        flags: ``reasoning_dropped``, ``shortened``, ``run_on_cut``.
    """

    text: str
    reason: str | None = None
    flags: tuple[str, ...] = ()


def final_part(reply: str | None) -> Final:
    """Drop reasoning and a run-on next question.

    Closed blocks are dropped. A block that is never closed means that there is no answer; what stands before a closing
    tag without an opening one is reasoning. Of what is still very long the head and the tail are left. Then everything
    from the next turn or question on is cut, if anything stands before it.
    """
    if reply is None or not reply.strip():
        return Final("", "empty")
    text, flags = reply, []
    if "<" in text or "[" in text or "◁" in text:
        answer = _without_blocks(text)
        if answer is None:
            return Final("", "unclosed_reasoning")
        flags += ["reasoning_dropped"] if answer != text else []
        text = answer
    bare = _BARE_ANALYSIS.match(text)
    if bare:
        _, found, rest = text.rpartition(_BARE_FINAL)
        if not found:
            return Final("", "unclosed_reasoning")
        flags, text = ["reasoning_dropped"], rest
    if len(text) > MOST_CHARACTERS:
        text = _shortened(text)
        flags.append("shortened")
    leading = _LEADING.match(text)
    text = text[leading.end() :] if leading else text
    text = text.lstrip()
    for turn in _NEXT_TURN.finditer(text):
        if text[: turn.start()].strip():
            text = text[: turn.start()]
            flags.append("run_on_cut")
            break
    return Final(text, None, tuple(flags)) if text.strip() else Final("", "empty", tuple(flags))


def _shortened(text: str) -> str:
    """Head and tail of a text, cut where a sentence ends if one ends near."""
    head, tail = text[:HEAD], text[-TAIL:]
    ends = [found.end() for found in _SENTENCE.finditer(head)]
    begins = _SENTENCE.search(tail)
    head = head[: ends[-1]] if ends else head
    tail = tail[begins.end() :] if begins else tail
    return f"{head}\n{tail}"


def _without_blocks(text: str) -> str | None:
    """The text outside reasoning blocks; None when the last one is not closed."""
    kept: list[str] = []
    at, inside = 0, False
    for tag in _TAG.finditer(text):
        if tag.lastgroup == "open":
            if not inside:
                kept.append(text[at : tag.start()])
            inside = True
        elif inside:
            inside, at = False, tag.end()
        else:
            kept, at = [], tag.end()
    return None if inside else " ".join([*kept, text[at:]]) if kept else text[at:]
