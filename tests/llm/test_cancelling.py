"""Ctrl-C, cancelled tasks and errors in other calls lose no reply that has come."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time

import pytest

from monai_spatialqa.llm import ChatClient, LLMSettings, ModelServiceError, Reply
from monai_spatialqa.llm.cache import ReplyCache
from tests.llm.calls import ask, request, settings
from tests.servers.openai_server import HANG, Asked, Response, ScriptedServer, problem, reply


def slow_ones_hang(asked: Asked) -> Response:
    return HANG if "slow" in asked.text else reply(f"reply to {asked.text}")


def test_a_cancelled_call_leaves_finished_ones_and_frees_its_place(tmp_path):
    path = str(tmp_path / "cache.sqlite")

    async def run(server: ScriptedServer) -> Reply:
        async with ChatClient(settings(server, cache=path, concurrency=2)) as client:
            slow = [asyncio.create_task(client.ask(request(f"slow {number}"))) for number in range(3)]
            await asyncio.sleep(0.2)
            slow[0].cancel()
            slow[2].cancel()
            quick = await client.ask(request("quick"))
            slow[1].cancel()
            ended = await asyncio.gather(*slow, return_exceptions=True)
            assert all(isinstance(one, asyncio.CancelledError) for one in ended)
            assert client.account.calls == 1
            return quick

    with ScriptedServer(slow_ones_hang) as server:
        quick = asyncio.run(run(server))
        (again,), _ = ask(server, request("quick"), cache=path)
    assert quick.text == again.text == "reply to quick"
    assert again.cached


def test_an_error_that_ends_the_run_leaves_what_was_answered(tmp_path):
    path = str(tmp_path / "cache.sqlite")
    with ScriptedServer([reply("B"), problem(401)]) as server:
        with pytest.raises(ModelServiceError):
            ask(server, request("a"), request("b"), cache=path)
        (kept,), _ = ask(server, request("a"), cache=path)
    assert kept.cached


PROGRAM = """
import asyncio, sys
from monai_spatialqa.llm import ChatClient, LLMSettings, Message, Request

async def main():
    settings = LLMSettings(model="scripted", base_url=sys.argv[1], cache=sys.argv[2], concurrency=2)
    async with ChatClient(settings) as client:
        async def one(text):
            await client.ask(Request((Message("user", text),)))
            print(text, flush=True)
        await asyncio.gather(*(one(text) for text in ("a", "b", "slow", "c")))

asyncio.run(main())
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL], ids=["ctrl-c", "kill -9"])
@pytest.mark.skipif(os.name != "posix", reason="POSIX signals")
def test_a_killed_program_has_kept_every_reply(tmp_path, number):
    path = tmp_path / "cache.sqlite"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with ScriptedServer(slow_ones_hang) as server:
        process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, server.base_url, str(path)],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            encoding="utf-8",
        )
        assert process.stdout is not None
        told = {process.stdout.readline().strip() for _ in range(3)}
        began = time.monotonic()
        process.send_signal(number)
        assert process.wait(20) != 0
        assert time.monotonic() - began < 10
        process.stdout.close()
        configured = LLMSettings(model="scripted", base_url=server.base_url)
    kept = ReplyCache(path)
    assert told == {"a", "b", "c"}
    assert {text for text in ("a", "b", "c", "slow") if kept.get(request(text), configured)} == told
    kept.close()
