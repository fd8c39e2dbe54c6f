"""What a run needs, tried out before its first item: address, key, model, settings, and that prompts arrive whole."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable

from monai_spatialqa.llm.arrival import PROBE_TOKENS, probe_image
from monai_spatialqa.llm.completion import Completion
from monai_spatialqa.llm.failures import ModelServiceError
from monai_spatialqa.llm.messages import Message, Part, Request, Text
from monai_spatialqa.llm.prompt_files import load_prompt
from monai_spatialqa.llm.settings import LLMSettings

logger = logging.getLogger(__name__)

_MOST_NAMES = 20


async def run_preflight(
    send: Callable[[Request], Awaitable[Completion]],
    models: Callable[[], Awaitable[list[str] | None]],
    settings: LLMSettings,
    *,
    images: bool,
    largest: Request | None,
) -> None:
    """Make the checks.

    Args:
        send: sends a request; raises when it fails.
        models: lists the server's models.
        settings: of the client.
        images: whether images will be sent.
        largest: the largest request of the run.

    Raises:
        ModelServiceError: what is wrong.
    """
    question, filler = load_prompt("probe").text, load_prompt("probe_long").text
    short = _asking(Text(question))
    try:
        without = (await send(short)).usage.prompt_tokens
    except ModelServiceError as error:
        if error.key == "model" and error.code == "not_found":
            error.expected = _names(await models())
        raise
    listed = await models()
    if listed is not None and settings.model not in listed:
        logger.warning(
            "the server answers as '%s' but lists other models: %s", settings.model, _names(listed) or "none"
        )
    if without is None:
        logger.warning(
            "the server does not tell the number of prompt tokens: whether prompts and images arrive whole cannot be "
            "checked"
        )
    else:
        await _text_arrives(send, without, question, filler, settings)
    if images or (largest is not None and largest.images):
        await _images_arrive(send, without, question, settings)
    if largest is not None:
        await send(largest)


async def _text_arrives(
    send: Callable[[Request], Awaitable[Completion]], without: int, question: str, filler: str, settings: LLMSettings
) -> None:
    longer = (await send(_asking(Text(f"{filler}\n{question}")))).usage.prompt_tokens
    least = len(filler.split()) // 2
    if longer is not None and longer - without < least:
        raise ModelServiceError(
            "the server loses text of the prompt: a prompt that is longer by "
            f"{len(filler.split())} words has only {longer - without} more tokens",
            code="prompt_lost",
            file=settings.url,
            key="model",
            found=f"{without} and {longer} prompt tokens",
            expected=f"at least {least} more",
            next_step="look at the server's chat template and context window",
        )


async def _images_arrive(
    send: Callable[[Request], Awaitable[Completion]], without: int | None, question: str, settings: LLMSettings
) -> None:
    with_image = (await send(_asking(probe_image(), Text(question)))).usage.prompt_tokens
    if without is not None and with_image is not None and with_image <= without:
        raise ModelServiceError(
            "the server drops images and answers all the same",
            code="image_ignored",
            file=settings.url,
            key="model",
            found=f"{with_image} prompt tokens with an image, {without} without",
            expected="more tokens with an image than without",
            next_step="serve a model that takes images (llama.cpp: with its projector, --mmproj), or send none",
        )


def _asking(*parts: Part) -> Request:
    return Request((Message("user", parts),), max_tokens=PROBE_TOKENS, tag="preflight")


def _names(listed: list[str] | None) -> str | None:
    if not listed:
        return None
    more = f" and {len(listed) - _MOST_NAMES} more" if len(listed) > _MOST_NAMES else ""
    return ", ".join(listed[:_MOST_NAMES]) + more
