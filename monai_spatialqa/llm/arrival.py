"""Whether a prompt arrives whole: servers exist that drop images, or the whole text, and answer all the same.

llama-cpp-python's server and ``transformers serve`` answer a prompt with images as if there were none, and a chat
template that does not fit can replace a prompt by a word (both seen). The only witness is the number of prompt tokens:
it must be larger with an image than without, and grow with the text.
"""

from __future__ import annotations

import asyncio
import logging
import struct
import zlib
from collections import defaultdict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from monai_spatialqa.llm.completion import Completion
from monai_spatialqa.llm.messages import Image, Request
from monai_spatialqa.records.answer import Outcome

logger = logging.getLogger(__name__)

LEAST_WORDS = 40
WORDS_PER_TOKEN = 8
"""A prompt of LEAST_WORDS or more with fewer than a token for so many words has lost text: no tokenizer joins words."""

PROBE_PIXELS = 224
PROBE_TOKENS = 16
"""Longest reply to a check; some servers refuse less."""


@dataclass(frozen=True)
class Growth:
    """What the images of one prompt added to it, and how densely its text was counted."""

    tokens: int
    text_tokens_per_character: float


class ArrivalCheck:
    """Compares prompts with and without their images.

    A comparison asks the same prompt without images and costs a short request. It is made once for each number of
    images; whenever a later prompt is shorter than that one lets expect; and for each request that wants it.

    Args:
        ask_short: sends a request for a few tokens and returns what came.
    """

    def __init__(self, ask_short: Callable[[Request], Awaitable[Completion]]) -> None:
        self._ask_short = ask_short
        self._known: dict[int, Growth] = {}
        self._locks: defaultdict[int, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._warned = False

    async def problem(self, request: Request, prompt_tokens: int | None) -> tuple[Outcome, str] | None:
        """What is wrong with a prompt's arrival, as outcome and problem; None when nothing is, or nobody can tell.

        Args:
            request: the request as it was sent.
            prompt_tokens: its tokens, as the server counted them.
        """
        if prompt_tokens is None:
            self._cannot("the server does not tell the number of prompt tokens")
            return None
        if swallowed(request.text, prompt_tokens):
            return "service", (
                f"the server counts {prompt_tokens} tokens in a prompt of {len(request.text.split())} words: its chat "
                "template or its context window drops the prompt"
            )
        count = len(request.images)
        if not count or self._plausible(request, prompt_tokens):
            return None
        async with self._locks[count]:
            if self._plausible(request, prompt_tokens):
                return None
            return await self._compare(request, prompt_tokens)

    async def _compare(self, request: Request, prompt_tokens: int) -> tuple[Outcome, str] | None:
        text_only = request.without_images()
        completion = await self._ask_short(text_only)
        without = completion.usage.prompt_tokens
        if completion.outcome == "service" or without is None:
            self._cannot("the same prompt without images brought no number of prompt tokens")
            return None
        count, grown = len(request.images), prompt_tokens - without
        if grown < count:
            return "image_ignored", (
                f"the server dropped the images: {prompt_tokens} prompt tokens with {count} of them, {without} without"
            )
        self._known[count] = Growth(grown, without / max(len(text_only.text), 1))
        return None

    def _plausible(self, request: Request, prompt_tokens: int) -> bool:
        """Whether a comparison is known, and the prompt is as long as it lets expect, give or take half the images."""
        known = self._known.get(len(request.images))
        if known is None or request.text_only_tokens:
            return False
        text_tokens = known.text_tokens_per_character * len(request.text)
        return prompt_tokens >= text_tokens + known.tokens / 2

    def _cannot(self, why: str) -> None:
        if not self._warned:
            self._warned = True
            logger.warning("whether prompts and images arrive whole cannot be checked: %s", why)


def swallowed(text: str, prompt_tokens: int) -> bool:
    """Whether a prompt of so many tokens cannot hold the text."""
    words = len(text.split())
    return words >= LEAST_WORDS and prompt_tokens * WORDS_PER_TOKEN < words


def probe_image() -> Image:
    """A small grey ramp, to find out whether a server takes images; large enough for several tokens anywhere."""
    row = b"\x00" + bytes(range(PROBE_PIXELS))
    header = struct.pack(">IIBBBBB", PROBE_PIXELS, PROBE_PIXELS, 8, 0, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(row * PROBE_PIXELS)), (b"IEND", b""))
    png = b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    )
    return Image(b"\x89PNG\r\n\x1a\n" + png)
