"""One reply of a server, as it came over the wire: the stop reason first, then the text.

What servers really send is wider than the protocol: an error object with status 200, no choices at all, content as a
list of parts, reasoning in a field of its own, a tool call nobody offered (OpenRouter, vLLM, inspect_ai PR #3687,
mem0 PR #4909).
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from monai_spatialqa.llm.messages import writable
from monai_spatialqa.records.answer import Outcome, Usage

NORMAL = frozenset({"stop", "eos", "eos_token", "end_turn", "stop_sequence"})
_CUT = frozenset({"length", "max_tokens", "model_length"})
_REFUSED = frozenset({"content_filter", "refusal", "safety"})
_BROKEN = frozenset({"error", "abort"})

BLANKS_THAT_TELL = 20
"""A cut reply that ends in so many blanks ran away in whitespace, as JSON grammars allow (vllm #38696)."""


@dataclass(frozen=True)
class Completion:
    """A server's reply, read as far as it goes.

    Attributes:
        outcome: ``answered`` for a text that came to its end; a structured reply may still turn out malformed.
        text: the text, parts joined; the refusal where there is nothing else; of a broken reply, the body.
        stop_reason: as it came.
        problem: why the outcome is not ``answered``.
        usage: tokens as the server counts them.
        ended_normally: whether the stop reason is one that says so.
        blank_tail: whether the text was cut while it ran on in whitespace.
        model: the name that the server answers under.
        reasoning: the reasoning, where it has a field of its own.
        status: HTTP status that an error object with status 200 gives as its code.
    """

    outcome: Outcome
    text: str | None = None
    stop_reason: str | None = None
    problem: str | None = None
    usage: Usage = field(default_factory=Usage)
    ended_normally: bool = False
    blank_tail: bool = False
    model: str | None = None
    reasoning: str | None = None
    status: int | None = None


def read_completion(body: str, max_tokens: int) -> Completion:
    """Read the body of a reply with status 200.

    Args:
        body: the body as text.
        max_tokens: limit that was asked for, named when the reply is cut.
    """
    try:
        content = json.loads(body)
    except ValueError:
        return Completion("service", body, problem="the server's reply is not JSON; is base_url right?")
    if not isinstance(content, dict):
        return Completion("service", body, problem="the server's reply is no JSON object")
    usage = _usage(content.get("usage"))
    model = writable(content["model"]) if _is_text(content.get("model")) else None
    choices = content.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    if content.get("error") and not choice:
        problem = f"the server reports an error in a reply with status 200: {error_text(content)}"
        return Completion("service", body, problem=problem, usage=usage, status=_status(content["error"]))
    if not isinstance(choice, dict):
        return Completion("service", body, problem="the server's reply holds no choices", usage=usage)
    stop = choice.get("finish_reason")
    stop = stop if isinstance(stop, str) else None
    if choice.get("error") or stop in _BROKEN:
        problem = f"the server broke off: {error_text(choice) if choice.get('error') else stop}"
        return Completion("service", body, stop, problem, usage, status=_status(choice.get("error")))
    message = choice.get("message")
    if not isinstance(message, dict):
        return Completion("service", body, stop, "the server's reply holds no message", usage)
    return _read_message(message, stop, usage, max_tokens, model, body)


def _read_message(
    message: dict[str, Any], stop: str | None, usage: Usage, max_tokens: int, model: str | None, body: str
) -> Completion:
    try:
        text, refused_in_parts = _joined(message.get("content"))
    except TypeError as error:
        return Completion("service", body, stop, f"the server's reply cannot be read: {error}", usage)
    field = message.get("refusal")
    refusal = field if isinstance(field, str) and field.strip() else refused_in_parts
    reasoning = next(
        (writable(message[name]) for name in ("reasoning_content", "reasoning") if _is_text(message.get(name))), None
    )
    outcome: Outcome = "answered"
    problem: str | None = None
    # An empty finish reason counts as none given; the text decides.
    if refusal or stop in _REFUSED:
        outcome, text = "refused", text or refusal
        problem = "the model refused" if refusal else f"the server's filter stopped the reply ({stop})"
    elif stop in _CUT:
        outcome, problem = "truncated", _limit(usage, max_tokens, text, reasoning)
    elif not (text or "").strip():
        outcome = "empty"
        why = " but reasoning" if reasoning else " but a call of a tool" if message.get("tool_calls") else ""
        problem = f"the model said nothing{why}"
    return Completion(
        outcome,
        text,
        stop,
        problem,
        usage,
        ended_normally=stop in NORMAL,
        blank_tail=outcome == "truncated" and len(text or "") - len((text or "").rstrip()) >= BLANKS_THAT_TELL,
        model=model,
        reasoning=reasoning,
    )


def _limit(usage: Usage, max_tokens: int, text: str | None, reasoning: str | None) -> str:
    """Which limit cut the reply."""
    used = usage.completion_tokens
    if used is not None and used < max_tokens:
        limit = (
            f"the reply was cut after {used} tokens, before max_tokens ({max_tokens}): the context window is full; "
            "ask with a shorter prompt or fewer images, or give the server a larger window"
        )
    else:
        limit = f"the reply was cut at the limit of {max_tokens} tokens (max_tokens); raise it"
    blanks = len(text or "") - len((text or "").rstrip())
    if blanks >= BLANKS_THAT_TELL:
        limit += f"; it ends in {blanks} blanks"
    return limit + ("; all of it was reasoning" if reasoning and not (text or "").strip() else "")


def _joined(content: Any) -> tuple[str | None, str | None]:
    """Text and refusal of a message's content: a string, or a list of parts, whose texts are joined."""
    if content is None or isinstance(content, str):
        return None if content is None else writable(content), None
    if not isinstance(content, list):
        raise TypeError(f"content is {type(content).__name__}, neither text nor a list of parts")
    texts: list[str] = []
    refusals: list[str] = []
    for part in content:
        if isinstance(part, str):
            texts.append(part)
        elif isinstance(part, dict) and part.get("type") in ("text", "output_text") and _is_text(part.get("text")):
            texts.append(part["text"])
        elif isinstance(part, dict) and _is_text(part.get("refusal")):
            refusals.append(part["refusal"])
    return writable("".join(texts)), writable("".join(refusals)) or None


def _usage(given: Any) -> Usage:
    """Tokens of a reply; a missing count, and a prompt of no tokens, which cannot be, are unknown."""
    counts = given if isinstance(given, dict) else {}

    def count(name: str, least: int) -> int | None:
        value = counts.get(name)
        return value if isinstance(value, int) and not isinstance(value, bool) and value >= least else None

    return Usage(prompt_tokens=count("prompt_tokens", 1), completion_tokens=count("completion_tokens", 0))


def _status(error: Any) -> int | None:
    code = error.get("code") if isinstance(error, dict) else None
    return code if isinstance(code, int) and 100 <= code <= 599 else None


def error_text(content: Any) -> str:
    """The message of an error object, whatever its form."""
    if isinstance(content, dict):
        for name in ("error", "message", "detail"):
            if content.get(name):
                return error_text(content[name])
    return content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value)
