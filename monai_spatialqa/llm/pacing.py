"""When the next request may go: limits per minute, waits that a server asks for, and waits between tries."""

from __future__ import annotations

import asyncio
import random
import time
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

WINDOW_SECONDS = 60.0
FIRST_WAIT_SECONDS = 1.0
LONGEST_WAIT_SECONDS = 60.0


@dataclass
class Slot:
    """One request within the window: when it went, and its tokens, estimated first and known later."""

    at: float
    tokens: int


class Pace:
    """No more than so many requests, and so many tokens, in any minute.

    A request that is larger than the minute's tokens goes when nothing else is in the window: it would never go
    otherwise. Requests go in the order in which they ask.

    Args:
        requests_per_minute: None: no limit.
        tokens_per_minute: None: no limit.
        clock: source of time in seconds.
        sleep: how to wait.
    """

    def __init__(
        self,
        requests_per_minute: int | None,
        tokens_per_minute: int | None,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._requests = requests_per_minute
        self._tokens = tokens_per_minute
        self._clock = clock
        self._sleep = sleep
        self._slots: deque[Slot] = deque()
        self._held_until = float("-inf")
        self._turn = asyncio.Lock()

    async def start(self, tokens: int) -> Slot:
        """Wait until a request may go, and enter it.

        Args:
            tokens: estimate of what it takes, prompt and reply.
        """
        async with self._turn:
            while (wait := self._wait(tokens)) > 0:
                await self._sleep(wait)
            slot = Slot(self._clock(), tokens)
            if self._requests is not None or self._tokens is not None:
                self._slots.append(slot)
            return slot

    def correct(self, slot: Slot, tokens: int | None) -> None:
        """Replace a request's estimate by what it took, where that is known."""
        if tokens is not None:
            slot.tokens = tokens

    def hold(self, seconds: float) -> None:
        """Let no request go for so long: one call was told to wait, and the limit is everybody's."""
        self._held_until = max(self._held_until, self._clock() + seconds)

    def _wait(self, tokens: int) -> float:
        now = self._clock()
        while self._slots and now - self._slots[0].at >= WINDOW_SECONDS:
            self._slots.popleft()
        wait = self._held_until - now
        if self._requests is not None and len(self._slots) >= self._requests:
            wait = max(wait, self._leaves(len(self._slots) - self._requests, now))
        if self._tokens is not None:
            excess = sum(slot.tokens for slot in self._slots) + tokens - self._tokens
            for place, slot in enumerate(self._slots):
                if excess <= 0:
                    break
                wait = max(wait, self._leaves(place, now))
                excess -= slot.tokens
        return wait

    def _leaves(self, place: int, now: float) -> float:
        """Seconds until the slot at that place leaves the window; never so short that the clock does not move on."""
        return max(self._slots[place].at + WINDOW_SECONDS - now, 1e-3)


def backoff_seconds(tries: int, asked: float | None, jitter_key: str) -> float:
    """Wait before the next try.

    Args:
        tries: tries so far.
        asked: what the server asks for; it is never waited less.
        jitter_key: seed of the spread, so that the calls of a run do not come back all at once and a rerun waits alike.

    Returns:
        Seconds: doubled with each try from 1 to at most 60, spread over the upper half; or what the server asks for and
        up to a tenth more.
    """
    spread = random.Random(f"{jitter_key}:{tries}").random()
    if asked is not None:
        return asked * (1 + 0.1 * spread)
    longest = min(FIRST_WAIT_SECONDS * 2 ** min(tries - 1, 30), LONGEST_WAIT_SECONDS)
    return float(longest * (0.5 + 0.5 * spread))
