"""What the tests of adapters share: a small PNG, and an adapter that asks the scripted server."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Sequence
from typing import Any

from PIL import Image

from monai_spatialqa.models import ModelReply, OpenAIAdapter, Question
from tests.servers.openai_server import ScriptedServer


def png(grey: int = 0) -> bytes:
    """A PNG file of its own for every grey value."""
    target = io.BytesIO()
    Image.new("L", (8, 8), grey).save(target, "PNG")
    return target.getvalue()


def adapter_for(server: ScriptedServer, llm: dict[str, Any] | None = None, **options: Any) -> OpenAIAdapter:
    """The adapter, made from plain options as settings make it."""
    told = {"model": "scripted", "base_url": server.base_url, "tries": 1, **(llm or {})}
    return OpenAIAdapter.from_options({"llm": told, **options})


def answers(adapter: OpenAIAdapter, questions: Sequence[Question]) -> list[ModelReply]:
    """Ask in one batch and close the adapter."""

    async def run() -> list[ModelReply]:
        async with adapter:
            return await adapter.answer(questions)

    return asyncio.run(run())
