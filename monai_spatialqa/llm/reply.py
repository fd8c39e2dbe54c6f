"""What came back: one outcome, the text as it came, and what it took."""

from __future__ import annotations

from dataclasses import dataclass, field

from pydantic import BaseModel

from monai_spatialqa.records.answer import Outcome, Usage


@dataclass(frozen=True)
class Reply:
    """The end of a call, whatever it was.

    Attributes:
        outcome: ``answered`` or how it failed; see :data:`monai_spatialqa.records.answer.Outcome`.
        text: what the model said, whole and unchanged; for ``service`` what the server sent, where it sent anything.
        parsed: the reply as the request's schema; only for ``answered`` calls with a schema.
        stop_reason: as the server gives it.
        problem: what went wrong and what to change; None only for ``answered``.
        usage: tokens of the call, repair turn and tries that ended with a reply included.
        cached: whether it came from the cache.
        tries: requests that were sent for it; 0 from the cache.
        seconds: from the first request to the end, waits included; 0 from the cache.
        prompt_sha256: hash of the request's conversation.
        rejected: earlier texts of the model that did not fit the schema, oldest first; ``text`` is the last one.
        reasoning: the model's reasoning, where the server gives it in a field of its own.
        model: name that the server answered under; None where it told none.
    """

    outcome: Outcome
    text: str | None = None
    parsed: BaseModel | None = None
    stop_reason: str | None = None
    problem: str | None = None
    usage: Usage = field(default_factory=Usage)
    cached: bool = False
    tries: int = 0
    seconds: float = 0.0
    prompt_sha256: str = ""
    rejected: tuple[str, ...] = ()
    reasoning: str | None = None
    model: str | None = None


def added(one: Usage, other: Usage) -> Usage:
    """Tokens of two calls together; unknown only where both are."""

    def plus(first: int | None, second: int | None) -> int | None:
        return second if first is None else first if second is None else first + second

    return Usage(
        prompt_tokens=plus(one.prompt_tokens, other.prompt_tokens),
        completion_tokens=plus(one.completion_tokens, other.completion_tokens),
    )
