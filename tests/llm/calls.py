"""What the tests of the client share: requests, settings for a scripted server, a time that does not pass."""

from __future__ import annotations

import asyncio
import struct
import zlib
from typing import Any

from monai_spatialqa.llm import Account, ChatClient, Image, LLMSettings, Message, Reply, Request, Text
from tests.servers.openai_server import ScriptedServer

QUESTION = "Which organ is larger, the liver or the spleen?"


class Time:
    """A clock that only sleeping moves; it remembers every wait."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.waits: list[float] = []

    def clock(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.now += seconds
        await asyncio.sleep(0)


def picture(grey: int = 0, side: int = 8) -> Image:
    """A PNG of one grey."""
    rows = (b"\x00" + bytes([grey]) * side) * side
    header = struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    return Image(
        b"\x89PNG\r\n\x1a\n"
        + b"".join(
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
            for kind, data in chunks
        )
    )


def request(text: str = QUESTION, *images: Image, **more: Any) -> Request:
    """One user message: images, then text."""
    return Request((Message("user", (*images, Text(text))),), **more)


def settings(server: ScriptedServer, **more: Any) -> LLMSettings:
    """Settings for a server; a hanging test ends after seconds."""
    return LLMSettings(**{"model": "scripted", "base_url": server.base_url, "timeout_seconds": 10.0, **more})


def ask(
    server: ScriptedServer, *requests: Request, time: Time | None = None, **more: Any
) -> tuple[list[Reply], Account]:
    """Ask one after the other, with a client of their own."""

    async def run() -> tuple[list[Reply], Account]:
        passing = time or Time()
        async with ChatClient(settings(server, **more), clock=passing.clock, sleep=passing.sleep) as client:
            return [await client.ask(one) for one in requests], client.account

    return asyncio.run(run())


def ask_one(server: ScriptedServer, one: Request | None = None, **more: Any) -> Reply:
    """Ask once."""
    replies, _ = ask(server, one or request(), **more)
    return replies[0]
