"""Any model behind an OpenAI-compatible server: questions become chat messages with images as PNG data URLs."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from monai_spatialqa.errors import SettingsError
from monai_spatialqa.llm import ChatClient, Image, LLMSettings, Message, Reply, Request, Text
from monai_spatialqa.models.adapter import Adapter
from monai_spatialqa.models.question import ModelReply, Question
from monai_spatialqa.records.answer import ModelKind


class OpenAIOptions(BaseModel):
    """How a model is reached, and how text and images stand in a message."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    llm: LLMSettings = Field(description="model, server, sampling, limits, cache")
    name: str | None = Field(default=None, description="name in tables; null: the model's")
    kind: ModelKind = Field(default="unstated", description="group in tables")
    images_first: bool = Field(default=True, description="images before the text of the question, or behind it")
    captions: bool = Field(
        default=True,
        description="a line of text before each image says which one it is and, where the views tell it, where it lies",
    )
    detail: Literal["low", "high", "auto"] | None = Field(
        default=None, description="how closely OpenAI's own models look at images; null: not sent"
    )


class OpenAIAdapter(Adapter):
    """Asks over the chat-completions protocol.

    Images go as lossless PNG. Whether a server took them is proved by the client, from the tokens it counts.

    Args:
        options: see :class:`OpenAIOptions`.
        client: a client of one's own, made with ``options.llm``; it is then opened and closed here all the same.
    """

    def __init__(self, options: OpenAIOptions, client: ChatClient | None = None) -> None:
        self.options = options
        self.client = client or ChatClient(options.llm)

    @classmethod
    def from_options(cls, options: Mapping[str, Any]) -> OpenAIAdapter:
        """Make it from plain data.

        Raises:
            SettingsError: unknown or unfit options.
        """
        return cls(cls.read_options(options))

    @staticmethod
    def read_options(options: Mapping[str, Any]) -> OpenAIOptions:
        """Check options.

        Raises:
            SettingsError: unknown or unfit ones.
        """
        try:
            return OpenAIOptions.model_validate(dict(options))
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            raise SettingsError(
                "an option of the adapter 'openai' does not fit",
                key="::".join(map(str, first["loc"])) or None,
                expected=first["msg"].removeprefix("Value error, "),
                next_step=f"options are {', '.join(OpenAIOptions.model_fields)}",
            ) from None

    @property
    def name(self) -> str:
        """Name of the model in tables."""
        return self.options.name or self.options.llm.model

    @property
    def kind(self) -> ModelKind:
        """Group of the model in tables."""
        return self.options.kind

    def request_of(self, question: Question) -> Request:
        """The call that a question becomes."""
        return request_of(question, self.options)

    async def preflight(self, largest: Question | None = None) -> None:
        """A few short calls: address, key, model; that prompts and, if there will be any, images arrive.

        Args:
            largest: the largest question of the run, which is sent once for a short reply.

        Raises:
            SpatialQAError: the model cannot be asked; says what to change.
        """
        request = None if largest is None else self.request_of(largest)
        await self.client.preflight(images=bool(request and request.images), largest=request)

    async def answer(self, batch: Sequence[Question]) -> list[ModelReply]:
        """Ask questions at once, as many at a time as ``llm.concurrency`` allows.

        Raises:
            SpatialQAError: the server refuses every such call (the parameter is named). Calls under way are cancelled;
                what was answered is in the cache, if there is one.
        """
        try:
            async with asyncio.TaskGroup() as calls:
                asked = [calls.create_task(self.client.ask(self.request_of(question))) for question in batch]
        except BaseExceptionGroup as group:
            raise group.exceptions[0] from None
        return [_model_reply(call.result(), self.options.llm.model) for call in asked]

    def describe(self) -> dict[str, Any]:
        """The settings that shape replies."""
        placement = self.options.model_dump(mode="json", include={"images_first", "captions", "detail"})
        return {"adapter": "openai", **self.options.llm.shaping(), **placement}

    async def close(self) -> None:
        """Close connections and the cache."""
        await self.client.close()

    async def __aenter__(self) -> Self:
        """Open the client."""
        await self.client.__aenter__()
        return self


def request_of(question: Question, options: OpenAIOptions) -> Request:
    """The call that a question becomes; needs no client, so an estimate of a run needs no key."""
    system = [Message("system", question.system)] if question.system else []
    pictures: list[Text | Image] = []
    for number, png in enumerate(question.images):
        if options.captions and question.captions:
            pictures.append(Text(question.captions[number]))
        pictures.append(Image(png, options.detail))
    prompt = Text(question.prompt)
    parts = (*pictures, prompt) if options.images_first else (prompt, *pictures)
    return Request(
        messages=(*system, Message("user", parts)),
        schema=question.schema,
        max_tokens=question.max_tokens,
        tag=question.key,
        sample=question.sample,
    )


def _model_reply(reply: Reply, model: str) -> ModelReply:
    return ModelReply(
        outcome=reply.outcome,
        text=reply.text,
        stop_reason=reply.stop_reason,
        problem=reply.problem,
        rejected=reply.rejected,
        reasoning=reply.reasoning,
        served_model=None if reply.model == model else reply.model,
        usage=reply.usage,
        seconds=reply.seconds,
        cached=reply.cached,
    )
