"""One request over the wire, through the openai package: a completion, or a failure that says what it means.

The package's own retries are off, and nothing it would take from the environment is left to chance: address and key are
always given, and OpenAI's organisation and project go to OpenAI only.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import time
from dataclasses import replace
from typing import Any

import openai

from monai_spatialqa.llm.completion import Completion, error_text, read_completion
from monai_spatialqa.llm.failures import Failure, ModelServiceError, http_failure
from monai_spatialqa.llm.messages import Request
from monai_spatialqa.llm.secrets import Redactor
from monai_spatialqa.llm.settings import LLMSettings

NO_KEY = "no-key"
"""What is sent where no key is wanted: the openai package insists on one."""

_CHATTY = ("openai", "httpx", "httpx2", "httpcore", "httpcore2")
_LONGEST_MESSAGE = 1000


class Connection:
    """Sends requests to one server.

    Args:
        settings: how the server is reached.

    Raises:
        ModelServiceError: the environment variable that should hold the key is empty or missing.
    """

    def __init__(self, settings: LLMSettings) -> None:
        self._settings = settings
        key = _key(settings)
        self.redactor = Redactor(key)
        self._client = openai.AsyncOpenAI(
            api_key=key or NO_KEY,
            base_url=settings.url,
            max_retries=0,
            timeout=settings.timeout_seconds,
        )
        if settings.base_url is not None:
            self._client.organization = self._client.project = None
        for name in _CHATTY:  # they log every request, and at DEBUG its content and headers
            if logging.getLogger(name).level < logging.WARNING:
                logging.getLogger(name).setLevel(logging.WARNING)

    async def send(self, request: Request, max_tokens: int, timeout_seconds: float) -> Completion | Failure:
        """Send one request and read what comes; never raises for what the server does."""
        arguments = self._arguments(request, max_tokens, timeout_seconds)
        chat = self._client.chat.completions.with_raw_response
        try:
            async with asyncio.timeout(timeout_seconds):
                if request.schema is not None and self._settings.structured == "json_schema":
                    answer = await chat.parse(response_format=request.schema, **arguments)
                else:
                    answer = await chat.create(**arguments)
                body = self.redactor.text(answer.http_response.text)
        except openai.APIStatusError as error:
            return self._refusal(error)
        except (openai.APITimeoutError, TimeoutError):
            limit = (
                "timeout_seconds" if timeout_seconds >= self._settings.timeout_seconds else "what total_seconds leaves"
            )
            return Failure(
                "retry",
                f"no reply within {timeout_seconds:.3g} s ({limit})",
                code="timeout",
                setting="timeout_seconds",
                next_step="raise timeout_seconds and total_seconds, or lower concurrency",
            )
        except openai.APIConnectionError as error:
            cause = error.__cause__ or error
            told = f"{type(cause).__name__}: {cause}" if str(cause) else type(cause).__name__
            return Failure(
                "retry",
                f"the connection failed ({self.redactor.message(told)})",
                code="no_connection",
                setting="base_url",
                next_step="start the server, or look at base_url",
            )
        return self._without_keys(read_completion(body, max_tokens))

    async def models(self) -> list[str] | None:
        """Names of the models that the server lists; None when it lists none."""
        try:
            async with asyncio.timeout(self._settings.timeout_seconds):
                answer = await self._client.models.with_raw_response.list()
            listed = json.loads(answer.http_response.text)["data"]
            return [str(model["id"]) for model in listed]
        except (openai.APIError, TimeoutError, ValueError, KeyError, TypeError):
            return None  # not every server has a list

    async def close(self) -> None:
        """Close all connections."""
        await self._client.close()

    def _arguments(self, request: Request, max_tokens: int, timeout_seconds: float) -> dict[str, Any]:
        settings = self._settings
        arguments: dict[str, Any] = {
            "model": settings.model,
            "messages": [message.wire() for message in request.messages],
            settings.max_tokens_parameter: max_tokens,
            "temperature": settings.temperature,
            "top_p": settings.top_p,
            "seed": None if settings.seed is None else settings.seed + request.sample,
            "extra_body": settings.extra_body or None,
            "timeout": timeout_seconds,
        }
        if request.schema is not None and settings.structured == "json_object":
            arguments["response_format"] = {"type": "json_object"}
        return {name: value for name, value in arguments.items() if value is not None}

    def _without_keys(self, completion: Completion) -> Completion:
        """What a model wrote without the key in use; what a server reports also without what looks like one."""
        clean = self.redactor.message if completion.outcome == "service" else self.redactor.text
        problem = completion.problem
        return replace(
            completion,
            text=None if completion.text is None else clean(completion.text),
            reasoning=None if completion.reasoning is None else clean(completion.reasoning),
            problem=None if problem is None else self.redactor.message(problem)[:_LONGEST_MESSAGE],
        )

    def _refusal(self, error: openai.APIStatusError) -> Failure:
        body = self.redactor.message(error.response.text)
        try:
            content = json.loads(body)
        except ValueError:
            content = None
        found = content.get("error", content) if isinstance(content, dict) else None
        message = error_text(content) if content is not None else body.strip() or error.response.reason_phrase
        return http_failure(
            error.status_code,
            body,
            message[:_LONGEST_MESSAGE],
            found if isinstance(found, dict) else {},
            error.response.headers,
            now=time.time(),
            key_variable=self._settings.key_variable,
        )


def _key(settings: LLMSettings) -> str | None:
    variable = settings.key_variable
    if variable is None:
        return None
    key = os.environ.get(variable, "").strip()
    if not key:
        raise ModelServiceError(
            f"the environment variable {variable} should hold the key of the model server and is empty or missing",
            code="missing_key",
            file=settings.url,
            key="api_key_env",
            next_step=f"export {variable}, or name another variable in api_key_env; a local server needs none: give "
            "its base_url",
        )
    return key
