"""What is asked: messages of texts and images, and the form in which they go over the wire."""

from __future__ import annotations

import base64
import hashlib
import json
import struct
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from pydantic import BaseModel

from monai_spatialqa.errors import SpatialQAError

Role = Literal["system", "user", "assistant"]

_PNG = b"\x89PNG\r\n\x1a\n"


@dataclass(frozen=True)
class Text:
    """A piece of text of a message."""

    text: str


@dataclass(frozen=True)
class Image:
    """A picture of a message.

    Args:
        png: the bytes of a PNG file.
        detail: how closely OpenAI's models look: low, high or auto; other servers ignore it. None: not sent.

    Raises:
        SpatialQAError: the bytes are no PNG.
    """

    png: bytes
    detail: Literal["low", "high", "auto"] | None = None

    def __post_init__(self) -> None:
        if not self.png.startswith(_PNG) or len(self.png) < 24 or self.png[12:16] != b"IHDR":
            raise SpatialQAError(
                "an image for a model is not a PNG file",
                code="bad_image",
                found=f"{len(self.png)} bytes that begin with {self.png[:8]!r}",
                expected="the bytes of a PNG file",
                next_step="encode the picture as PNG",
            )

    @property
    def size(self) -> tuple[int, int]:
        """Width and height in pixels, from the PNG's header."""
        width, height = struct.unpack(">II", self.png[16:24])
        return width, height

    @property
    def sha256(self) -> str:
        """Hash of the bytes."""
        return hashlib.sha256(self.png).hexdigest()


Part: TypeAlias = Text | Image


@dataclass(frozen=True)
class Message:
    """One message of a conversation; a string or a single part is taken as its only part."""

    role: Role
    parts: tuple[Part, ...]

    def __init__(self, role: Role, parts: str | Part | Iterable[Part]) -> None:
        given: Iterable[Part] = (
            (Text(parts),) if isinstance(parts, str) else ((parts,) if isinstance(parts, (Text, Image)) else parts)
        )
        object.__setattr__(self, "role", role)
        object.__setattr__(self, "parts", tuple(given))

    @property
    def images(self) -> tuple[Image, ...]:
        """The images of the message."""
        return tuple(part for part in self.parts if isinstance(part, Image))

    @property
    def text(self) -> str:
        """The texts of the message, one under the other."""
        return "\n".join(part.text for part in self.parts if isinstance(part, Text))

    def without_images(self) -> Message:
        """The same message, its images left out; a full stop where nothing is left, for servers refuse nothing."""
        return Message(self.role, tuple(part for part in self.parts if isinstance(part, Text)) or ".")

    def wire(self) -> dict[str, Any]:
        """The message as the protocol has it: plain text where there is nothing else, a list of parts otherwise."""
        if len(self.parts) == 1 and isinstance(self.parts[0], Text):
            return {"role": self.role, "content": writable(self.parts[0].text)}
        return {"role": self.role, "content": [_wire_part(part) for part in self.parts]}

    def outline(self) -> dict[str, Any]:
        """The message with hashes in place of images; for keys and hashes."""
        parts = [
            {"text": part.text} if isinstance(part, Text) else {"image": part.sha256, "detail": part.detail}
            for part in self.parts
        ]
        return {"role": self.role, "parts": parts}


def _wire_part(part: Part) -> dict[str, Any]:
    if isinstance(part, Text):
        return {"type": "text", "text": writable(part.text)}
    url = {"url": f"data:image/png;base64,{base64.b64encode(part.png).decode()}"}
    return {"type": "image_url", "image_url": url | ({"detail": part.detail} if part.detail else {})}


@dataclass(frozen=True)
class Request:
    """One call: the conversation, and what the reply must look like.

    Args:
        messages: the conversation, oldest first.
        schema: pydantic model that the reply must fit; None: free text.
        max_tokens: longest reply in tokens; None: as in the settings.
        tag: names the call in logs and errors, e.g. the id of an item. It shapes nothing.
        sample: number of a repeat. Equal requests with unequal samples are asked separately, whatever the cache holds,
            each with a seed of its own: that of the settings and this number more.
        text_only_tokens: ask a second time without the images, for one token, and compare the prompt's length, to
            prove for this call that the server took its images. Otherwise that is done once per number of images.
    """

    messages: tuple[Message, ...]
    schema: type[BaseModel] | None = None
    max_tokens: int | None = None
    tag: str = ""
    sample: int = 0
    text_only_tokens: bool = False

    @property
    def images(self) -> tuple[Image, ...]:
        """All images, in order."""
        return tuple(image for message in self.messages for image in message.images)

    @property
    def text(self) -> str:
        """All texts, one under the other."""
        return "\n".join(message.text for message in self.messages)

    @property
    def prompt_sha256(self) -> str:
        """Hash of the whole conversation, images included."""
        return hashlib.sha256(_canonical([message.outline() for message in self.messages])).hexdigest()

    def without_images(self) -> Request:
        """The same conversation, its images left out."""
        return replace(self, messages=tuple(message.without_images() for message in self.messages))

    def followed_by(self, *messages: Message) -> Request:
        """The conversation with more messages at its end."""
        return replace(self, messages=(*self.messages, *messages))


def with_text_at_end(request: Request, text: str) -> Request:
    """The request with a text added to its last user message."""
    places = [place for place, message in enumerate(request.messages) if message.role == "user"]
    messages = list(request.messages)
    if not places:
        return request.followed_by(Message("user", text))
    last = messages[places[-1]]
    messages[places[-1]] = Message(last.role, (*last.parts, Text(text)))
    return replace(request, messages=tuple(messages))


def writable(text: str) -> str:
    """The text without halves of characters, which escapes can spell and neither the wire nor a file can hold."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _canonical(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, ensure_ascii=True, separators=(",", ":")).encode()
