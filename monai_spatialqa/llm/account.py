"""What a run of calls took: requests, tokens, money, and how the calls ended."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from monai_spatialqa.llm.settings import Prices
from monai_spatialqa.records.answer import Outcome, Usage


@dataclass
class Account:
    """Counts of a client since it was opened; read it at any time.

    Attributes:
        prices: prices of the tokens.
        requests: requests sent, every try, repair turn and check included.
        calls: calls that ended, those from the cache included.
        cache_hits: calls that the cache answered.
        retries: requests sent again after a failure.
        repairs: second turns after a reply that did not fit its schema.
        checks: requests sent only to find out whether images and prompts arrive.
        waited_seconds: time between tries, over all calls.
        prompt_tokens: paid for in this run.
        completion_tokens: paid for in this run.
        cached_prompt_tokens: what the answers from the cache once took.
        cached_completion_tokens: what the answers from the cache once took.
        replies_without_usage: replies whose tokens the server did not tell; they are missing in tokens and cost.
        outcomes: calls by outcome.
    """

    prices: Prices | None = None
    requests: int = 0
    calls: int = 0
    cache_hits: int = 0
    retries: int = 0
    repairs: int = 0
    checks: int = 0
    waited_seconds: float = 0.0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_prompt_tokens: int = 0
    cached_completion_tokens: int = 0
    replies_without_usage: int = 0
    outcomes: Counter[Outcome] = field(default_factory=Counter)

    @property
    def failures(self) -> dict[str, int]:
        """Calls by outcome, those that were answered left out."""
        return {name: count for name, count in sorted(self.outcomes.items()) if name != "answered" and count}

    @property
    def cost(self) -> float | None:
        """Price of this run's tokens, in the prices' currency; None where no prices are set."""
        return None if self.prices is None else self.prices.cost(self.prompt_tokens, self.completion_tokens)

    def pay(self, usage: Usage) -> None:
        """Enter the tokens of a reply."""
        if usage.prompt_tokens is None or usage.completion_tokens is None:
            self.replies_without_usage += 1
        self.prompt_tokens += usage.prompt_tokens or 0
        self.completion_tokens += usage.completion_tokens or 0

    def hit(self, usage: Usage) -> None:
        """Enter an answer from the cache."""
        self.cache_hits += 1
        self.cached_prompt_tokens += usage.prompt_tokens or 0
        self.cached_completion_tokens += usage.completion_tokens or 0

    def end(self, outcome: Outcome) -> None:
        """Enter the end of a call."""
        self.calls += 1
        self.outcomes[outcome] += 1

    def note(self) -> str:
        """What a progress line adds behind its counts: retries, cache hits and failures, where there are any."""
        counts = {"cached": self.cache_hits, "retries": self.retries, **self.failures}
        return ", ".join(f"{count} {name}" for name, count in counts.items() if count)

    def summary(self) -> dict[str, Any]:
        """All of it, for a run's summary."""
        return {
            "calls": self.calls,
            "outcomes": dict(sorted(self.outcomes.items())),
            "requests": self.requests,
            "cache_hits": self.cache_hits,
            "retries": self.retries,
            "repairs": self.repairs,
            "checks": self.checks,
            "waited_seconds": round(self.waited_seconds, 3),
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": self.completion_tokens,
            "cached_prompt_tokens": self.cached_prompt_tokens,
            "cached_completion_tokens": self.cached_completion_tokens,
            "replies_without_usage": self.replies_without_usage,
            "cost": self.cost,
            "currency": None if self.prices is None else self.prices.currency,
        }
