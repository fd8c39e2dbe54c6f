"""How a model is reached and asked: settings that other stages nest in their own."""

from __future__ import annotations

import hashlib
import json
from typing import Any, Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, field_validator

from monai_spatialqa.errors import SettingsError

OPENAI_URL = "https://api.openai.com/v1"
OPENAI_KEY = "OPENAI_API_KEY"

StructuredMode = Literal["json_schema", "json_object", "prompt"]

SHAPING = (
    "model",
    "base_url",
    "temperature",
    "top_p",
    "seed",
    "max_tokens",
    "max_tokens_parameter",
    "structured",
    "extra_body",
)
"""Settings that shape an answer; the others say how fast, how long, at what price and where it is kept."""


class Prices(BaseModel):
    """What a million tokens cost."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    prompt_per_million: float = Field(ge=0, allow_inf_nan=False, description="price of a million prompt tokens")
    completion_per_million: float = Field(ge=0, allow_inf_nan=False, description="price of a million reply tokens")
    currency: str = Field("USD", min_length=1, description="currency of both prices")

    def cost(self, prompt_tokens: int, completion_tokens: int) -> float:
        """Price of so many tokens, in ``currency``."""
        return (prompt_tokens * self.prompt_per_million + completion_tokens * self.completion_per_million) / 1e6


class LLMSettings(BaseModel):
    """Everything about a model and its server. Paths are relative to the working directory.

    Example:
        >>> LLMSettings(model="qwen2.5-vl-7b", base_url="http://127.0.0.1:8000/v1").temperature
        0.0
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    model: str = Field(min_length=1, description="name of the model, as the server knows it")
    base_url: str | None = Field(
        None, description="address of an OpenAI-compatible server, usually ending in /v1; null: OpenAI's own"
    )
    api_key_env: str | None = Field(
        None,
        description="name of the environment variable that holds the key; null: OPENAI_API_KEY for OpenAI's own "
        "address, no key for any other",
    )
    temperature: float | None = Field(
        0.0, ge=0, allow_inf_nan=False, description="of the sampling; null: not sent, for models that refuse it"
    )
    top_p: float | None = Field(None, gt=0, le=1, description="of the sampling; null: not sent")
    seed: int | None = Field(0, description="seed of the model's sampling, one more for each repeat; null: not sent")
    max_tokens: int = Field(1024, ge=1, description="longest reply in tokens, reasoning included")
    max_tokens_parameter: Literal["max_tokens", "max_completion_tokens"] = Field(
        "max_tokens", description="the name under which the server takes max_tokens"
    )
    structured: StructuredMode = Field(
        "json_schema", description="how JSON is asked for: by schema, as any JSON object, or in the prompt only"
    )
    extra_body: dict[str, Any] = Field(
        default_factory=dict, description="more fields of the request, e.g. {cache_prompt: false} for llama.cpp"
    )
    timeout_seconds: float = Field(120.0, gt=0, allow_inf_nan=False, description="longest wait for one try")
    tries: int = Field(5, ge=1, description="most tries of a call")
    total_seconds: float = Field(
        600.0, gt=0, allow_inf_nan=False, description="longest time for a call, all tries and the waits between them"
    )
    concurrency: int = Field(4, ge=1, description="most calls at the same time")
    requests_per_minute: int | None = Field(None, ge=1, description="most requests in a minute; null: no limit")
    tokens_per_minute: int | None = Field(
        None, ge=1, description="most tokens, of prompts and replies, in a minute; null: no limit"
    )
    cache: str | None = Field(None, description="SQLite file that keeps answered calls; null: none is kept")
    prices: Prices | None = Field(None, description="prices, for the cost account; null: cost unknown")

    @field_validator("base_url")
    @classmethod
    def _address(cls, value: str | None) -> str | None:
        if value is None:
            return None
        parts = urlsplit(value)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("an address that starts with http:// or https://, e.g. http://127.0.0.1:8000/v1")
        if parts.username or parts.password or parts.query or parts.fragment:
            raise SettingsError(  # without the value, which holds a password
                "the setting 'base_url' holds a user, a password or a query",
                key="base_url",
                expected="an address alone, e.g. http://127.0.0.1:8000/v1",
                next_step="put the key into an environment variable and name that in api_key_env",
            )
        return value.rstrip("/")

    @field_validator("api_key_env")
    @classmethod
    def _name_of_variable(cls, value: str | None) -> str | None:
        if value is not None and not (value.isascii() and value.isidentifier()):
            raise SettingsError(  # without the value, which may be a key
                "the setting 'api_key_env' is no name of an environment variable",
                key="api_key_env",
                expected="a name such as OPENAI_API_KEY, never a key itself",
                next_step="export the key under that name and give the name here",
            )
        return value

    @property
    def url(self) -> str:
        """The server's address."""
        return self.base_url or OPENAI_URL

    @property
    def key_variable(self) -> str | None:
        """Name of the environment variable of the key; None where no key is sent."""
        return self.api_key_env or (OPENAI_KEY if self.base_url is None else None)

    def shaping(self) -> dict[str, Any]:
        """The settings that shape an answer."""
        return self.model_dump(mode="json", include=set(SHAPING)) | {"base_url": self.url}

    @property
    def sha256(self) -> str:
        """Hash of the settings that shape an answer."""
        return hashlib.sha256(json.dumps(self.shaping(), sort_keys=True).encode()).hexdigest()
