"""What a failed request means: worth another try, the end of this call, or the end of the run; and what to change.

A fault of the request itself ends this call. A fault of the key, the address, the model or a setting would end every
call alike: it is an error, so that a run stops at the first instead of writing thousands of failures.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any, Literal

from monai_spatialqa.errors import SpatialQAError

RETRIED = frozenset({408, 409, 429})
"""Statuses below 500 that are worth another try."""


class ModelServiceError(SpatialQAError):
    """No call of the run can succeed: key, address, model or a setting is wrong."""

    default_code = "model_service"


@dataclass(frozen=True)
class Failure:
    """A failed request.

    Attributes:
        verdict: ``retry``; ``call``: this call has failed; ``run``: every call would; ``refused``: the server's filter
            rejected the prompt.
        problem: what happened, in a sentence.
        status: HTTP status; None when there was no response.
        code: reason code of an error about it.
        setting: the setting to change.
        next_step: what to do.
        wait_seconds: how long the server asks to wait.
        body: what the server sent.
    """

    verdict: Literal["retry", "call", "run", "refused"]
    problem: str
    status: int | None = None
    code: str = "model_service"
    setting: str | None = None
    next_step: str | None = None
    wait_seconds: float | None = None
    body: str | None = None

    @property
    def told(self) -> str:
        """Problem and next step in one text, for a record."""
        return self.problem + (f". Next step: {self.next_step}" if self.next_step else "")

    def error(self, url: str) -> ModelServiceError:
        """The error that stops a run."""
        return ModelServiceError(self.problem, code=self.code, file=url, key=self.setting, next_step=self.next_step)


@dataclass(frozen=True)
class _Rule:
    """A fault of a request that a server words in its own way."""

    pattern: str
    verdict: Literal["call", "run"]
    setting: str
    next_step: str
    code: str


# In order: the first that fits decides. Wordings of OpenAI, vLLM, llama.cpp, Ollama and SGLang.
_WORDED = (
    _Rule(
        r"context[_ ](length|size|window)|maximum context|too many tokens|prompt is too long|exceeds? the available",
        "call",
        "max_tokens",
        "lower max_tokens, ask with a shorter prompt or with fewer or smaller images, or give the server a larger "
        "context window",
        "context_length",
    ),
    _Rule(
        r"failed to (load|decode) image|invalid image|(unsupported|unidentified) image|cannot identify image",
        "call",
        "images",
        "look at the image that this call sends",
        "bad_image",
    ),
    _Rule(
        r"image input|image_url|multi-?modal|\bvision\b|does not support images?|at most \d+ image",
        "run",
        "model",
        "take a model, and a server started with its projector or image limit, that accepts so many images",
        "images_refused",
    ),
    _Rule(
        r"max_completion_tokens' instead|'?max_tokens'? is not supported",
        "run",
        "max_tokens_parameter",
        "set max_tokens_parameter to max_completion_tokens",
        "parameter_refused",
    ),
    _Rule(
        r"\bmax_completion_tokens\b",
        "run",
        "max_tokens_parameter",
        "set max_tokens_parameter to max_tokens, or lower max_tokens",
        "parameter_refused",
    ),
    _Rule(
        r"\bmax_tokens\b",
        "run",
        "max_tokens",
        "lower max_tokens, or set max_tokens_parameter to max_completion_tokens",
        "parameter_refused",
    ),
    _Rule(
        r"\btemperature\b",
        "run",
        "temperature",
        "set temperature to null, or to a value the model takes",
        "parameter_refused",
    ),
    _Rule(r"\btop_p\b", "run", "top_p", "set top_p to null", "parameter_refused"),
    _Rule(r"\bseed\b", "run", "seed", "set seed to null", "parameter_refused"),
    _Rule(
        r"response_format|json_?schema|json_?object|structured output|grammar",
        "run",
        "structured",
        "set structured to json_object or prompt",
        "parameter_refused",
    ),
)

_SAID_WITH_500 = re.compile(
    r"image input is not supported|failed to (load|decode) image|exceeds? the available context"
)
"""Faults of a request that llama.cpp reports as its own."""

_MODERATED = re.compile(r"\bflagged\b|\bmoderation\b")
"""How OpenRouter says that a filter rejected the prompt."""


def http_failure(
    status: int, body: str, message: str, error: dict[str, Any], headers: Any, *, now: float, key_variable: str | None
) -> Failure:
    """Judge a response with an error status.

    Args:
        status: HTTP status.
        body: its body; without keys.
        message: the server's message; without keys.
        error: the error object of the body; empty when there is none.
        headers: the response's headers, for Retry-After.
        now: seconds since the epoch, for a Retry-After that is a date.
        key_variable: name of the key's environment variable.
    """
    said = f"the server answered {status}: {message}"
    code = str(error.get("code") or error.get("type") or "").lower()
    words = f"{code} {error.get('param') or ''} {message}".lower()
    if "content_filter" in code or "content_policy" in code or (status == 403 and _MODERATED.search(words)):
        return Failure("refused", f"the server's filter rejected the prompt ({said})", status, body=body)
    if status == 401:
        return Failure("run", said, status, "bad_key", "api_key_env", _key_step(key_variable), body=body)
    if code == "insufficient_quota" or status == 402:
        return Failure("run", said, status, "no_credit", None, "look at the account behind the key", body=body)
    parameter = error.get("param") if isinstance(error.get("param"), str) else ""
    rule = _rule(words) if status in (400, 413, 422) or (status >= 500 and _SAID_WITH_500.search(words)) else None
    if rule is not None:
        return Failure(rule.verdict, said, status, rule.code, rule.setting, rule.next_step, body=body)
    if status in RETRIED or status >= 500:
        return Failure("retry", said, status, wait_seconds=retry_after(headers, now), body=body)
    if status == 403:
        step = "see what the key may use; look at model and base_url"
        return Failure("run", said, status, "forbidden", "api_key_env", step, body=body)
    if status in (404, 405, 410):
        about = "model" if re.search(r"model", message, re.IGNORECASE) else "base_url"
        step = "name a model that the server has" if about == "model" else "look at base_url; it usually ends in /v1"
        return Failure("run", said, status, "not_found", about, step, body=body)
    if parameter:
        step = f"the server refuses the parameter '{parameter}': change or remove it, in extra_body if it is there"
        return Failure("run", said, status, "parameter_refused", parameter, step, body=body)
    if status == 413:
        return Failure("call", said, status, "too_large", "images", "send fewer or smaller images", body=body)
    return Failure("call", said, status, "bad_request", None, "read what the server says about the request", body=body)


def _rule(words: str) -> _Rule | None:
    return next((rule for rule in _WORDED if re.search(rule.pattern, words)), None)


def _key_step(variable: str | None) -> str:
    if variable is None:
        return "name the environment variable of the key in api_key_env"
    return f"look at the key in the environment variable {variable}"


def retry_after(headers: Any, now: float) -> float | None:
    """Seconds that the server asks to wait: Retry-After as seconds or as a date; None without a usable one."""
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    given = headers.get("retry-after")
    seconds = _number(given)
    if seconds is not None or not given:
        return seconds
    try:
        return max(parsedate_to_datetime(given).timestamp() - now, 0.0)
    except (ValueError, OverflowError):
        return None


def _number(given: str | None) -> float | None:
    if given is None or not re.fullmatch(r"\s*\d{1,9}(\.\d+)?\s*", given, re.ASCII):
        return None
    return float(given)
