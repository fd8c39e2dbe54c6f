"""What a run will take, before anything is asked."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from dataclasses import dataclass

from monai_spatialqa.llm.cache import ReplyCache
from monai_spatialqa.llm.messages import Image, Request
from monai_spatialqa.llm.settings import LLMSettings
from monai_spatialqa.llm.structured import schema_text

CHARACTERS_PER_TOKEN = 4
"""Of text in Latin letters; a letter of any other script counts as a token."""

TEMPLATE_TOKENS = 8
"""What a chat template adds to a message."""

PIXELS_PER_PATCH = 28
"""Side of the square that becomes one token in Qwen2-VL (arXiv:2409.12191, section 2.1); other models differ."""

_LAST_LATIN = "\u024f"


@dataclass(frozen=True)
class Estimate:
    """The size of a run.

    Attributes:
        calls: calls in all.
        cached: those that the cache answers already.
        images: images that go out.
        prompt_tokens: of the calls that go out; an estimate.
        completion_tokens: of their replies, at most.
        largest_prompt_tokens: of the largest call that goes out; an estimate.
        cost: price at most, in ``currency``; None without prices.
        currency: of the cost.
        minutes: time at least, by the limits per minute; None without limits.
    """

    calls: int
    cached: int
    images: int
    prompt_tokens: int
    completion_tokens: int
    largest_prompt_tokens: int
    cost: float | None
    currency: str | None
    minutes: float | None

    @property
    def asked(self) -> int:
        """Calls that go out."""
        return self.calls - self.cached

    def __str__(self) -> str:
        told = [
            f"{self.calls:,} calls, {self.cached:,} of them in the cache",
            f"{self.asked:,} go out with {self.images:,} images",
            f"about {self.prompt_tokens:,} prompt tokens, the largest prompt about {self.largest_prompt_tokens:,}",
            f"at most {self.completion_tokens:,} reply tokens",
        ]
        if self.cost is not None:
            told.append(f"about {self.cost:,.2f} {self.currency} at most")
        if self.minutes is not None:
            told.append(f"at least {self.minutes:,.1f} minutes by the limits per minute")
        return "; ".join(told)


def estimate(requests: Iterable[Request], settings: LLMSettings) -> Estimate:
    """Count calls, images, tokens and cost without asking anything.

    Retries, repair turns and the checks for dropped images are not in it. Tokens are counted by rule of thumb: no
    server is asked for its tokenizer.

    Args:
        requests: what would be asked; taken one at a time.
        settings: how; an existing cache is looked into and left unchanged.
    """
    kept = ReplyCache(settings.cache) if settings.cache is not None and os.path.exists(settings.cache) else None
    calls = cached = images = prompt = completion = largest = 0
    try:
        for request in requests:
            calls += 1
            if kept is not None and kept.get(request, settings) is not None:
                cached += 1
                continue
            tokens = prompt_tokens(request, settings)
            prompt += tokens
            largest = max(largest, tokens)
            completion += request.max_tokens or settings.max_tokens
            images += len(request.images)
    finally:
        if kept is not None:
            kept.close()
    prices = settings.prices
    return Estimate(
        calls,
        cached,
        images,
        prompt,
        completion,
        largest,
        None if prices is None else prices.cost(prompt, completion),
        None if prices is None else prices.currency,
        _minutes(calls - cached, prompt + completion, settings),
    )


def prompt_tokens(request: Request, settings: LLMSettings) -> int:
    """Tokens of a prompt, by rule of thumb."""
    tokens = sum(TEMPLATE_TOKENS + text_tokens(message.text) for message in request.messages)
    if request.schema is not None and settings.structured != "json_schema":
        tokens += text_tokens(schema_text(request.schema))
    return tokens + sum(map(image_tokens, request.images))


def text_tokens(text: str) -> int:
    """Tokens of a text, by rule of thumb."""
    others = sum(character > _LAST_LATIN for character in text)
    return others + math.ceil((len(text) - others) / CHARACTERS_PER_TOKEN)


def image_tokens(image: Image) -> int:
    """Tokens of an image, by the rule of one family of models."""
    width, height = image.size
    return math.ceil(width / PIXELS_PER_PATCH) * math.ceil(height / PIXELS_PER_PATCH)


def _minutes(calls: int, tokens: int, settings: LLMSettings) -> float | None:
    """The first minute's share goes out at once."""
    limits = ((calls, settings.requests_per_minute), (tokens, settings.tokens_per_minute))
    minutes = [max(count / limit - 1, 0.0) for count, limit in limits if limit is not None]
    return max(minutes) if minutes else None
