"""Servers that drop images or the prompt in silence are found out by the tokens they count."""

from __future__ import annotations

import asyncio
import io
import logging
import struct

import pytest

from monai_spatialqa.errors import SpatialQAError
from monai_spatialqa.llm import ChatClient, Image
from monai_spatialqa.llm.arrival import PROBE_PIXELS, probe_image
from tests.llm.calls import QUESTION, ask, ask_one, picture, request, settings
from tests.servers.openai_server import Asked, Response, ScriptedServer, reply

LONG = "The liver lies under the right half of the diaphragm. " * 10


def test_dropped_images_are_an_outcome_of_their_own():
    with ScriptedServer(lambda _: reply("B"), tokens_per_image=0) as server:
        (answer,), account = ask(server, request(QUESTION, picture(), picture(9)))
    assert (answer.outcome, answer.text) == ("image_ignored", "B")
    tokens = server.prompt_tokens(server.chats[0])
    assert answer.problem == (f"the server dropped the images: {tokens} prompt tokens with 2 of them, {tokens} without")
    assert account.failures == {"image_ignored": 1}


def test_a_reply_without_its_images_is_not_kept(tmp_path):
    cache = str(tmp_path / "cache.sqlite")
    with ScriptedServer(lambda _: reply("B"), tokens_per_image=0) as server:
        for _ in range(2):
            assert ask_one(server, request(QUESTION, picture()), cache=cache).outcome == "image_ignored"
    assert len(server.chats) == 4


def test_images_that_arrive_are_compared_once_for_each_number():
    calls = [request(f"{QUESTION} ({number})", *[picture(number)] * count) for number, count in enumerate([1, 1, 3, 3])]
    with ScriptedServer(lambda _: reply("B")) as server:
        answers, account = ask(server, *calls)
    assert {answer.outcome for answer in answers} == {"answered"}
    assert account.checks == 2
    checks = [chat for chat in server.chats if not chat.images]
    assert [chat.text for chat in checks] == [f"{QUESTION} (0)", f"{QUESTION} (2)"]
    assert all(chat.body["max_tokens"] == 16 for chat in checks)
    assert answers[0].tries == 1  # the comparison is on the account, not on the call
    assert account.requests == 6


def test_calls_at_the_same_time_share_one_comparison():
    async def run(server: ScriptedServer) -> tuple[list[str], int]:
        async with ChatClient(settings(server, concurrency=8)) as client:
            replies = await asyncio.gather(*(client.ask(request(QUESTION, picture(number))) for number in range(8)))
            return [one.outcome for one in replies], client.account.checks

    with ScriptedServer(lambda _: reply("B", delay_seconds=0.02)) as server:
        assert asyncio.run(run(server)) == (["answered"] * 8, 1)


def test_images_that_a_server_drops_later_are_found():
    """The first call and its comparison see images of 64 tokens; from the third request on they are dropped."""

    def script(asked: Asked) -> Response:
        kept = 0 if asked.number >= 3 else 64 * len(asked.images)
        return reply("B", prompt_tokens=20 + kept)

    calls = [request(f"{QUESTION} {number}", picture(number)) for number in range(3)]
    with ScriptedServer(script) as server:
        answers, account = ask(server, *calls)
    assert [answer.outcome for answer in answers] == ["answered", "answered", "image_ignored"]
    assert account.checks == 2


def test_a_call_can_ask_for_its_own_proof():
    calls = [request(QUESTION, picture(number), text_only_tokens=True) for number in range(3)]
    with ScriptedServer(lambda _: reply("B")) as server:
        _, account = ask(server, *calls)
    assert account.checks == 3


def test_a_server_without_counts_is_warned_about_once(caplog):
    with caplog.at_level(logging.WARNING), ScriptedServer(lambda _: reply("B", usage=False)) as server:
        answers, account = ask(server, request("a", picture()), request("b", picture()))
    assert [answer.outcome for answer in answers] == ["answered"] * 2
    (told,) = [record.getMessage() for record in caplog.records]
    assert told.endswith("cannot be checked: the server does not tell the number of prompt tokens")
    assert account.replies_without_usage == 2


def test_a_template_that_swallows_the_prompt_is_a_failure():
    with ScriptedServer(lambda _: reply("B"), swallows_prompt=True) as server:
        lost, short = ask(server, request(LONG), request("Short."))[0]
    assert lost.outcome == "service"
    assert "3 tokens in a prompt of 100 words" in lost.problem
    assert short.outcome == "answered"  # nobody can tell from so few words


def test_images_go_out_as_they_are_and_in_order():
    first, second = picture(1), picture(200)
    with ScriptedServer(lambda _: reply("B")) as server:
        ask(server, request(QUESTION, first, second))
    asked = server.chats[0]
    assert asked.images == [first.png, second.png]
    assert [part["type"] for part in asked.messages[0]["content"]] == ["image_url", "image_url", "text"]
    assert "detail" not in asked.messages[0]["content"][0]["image_url"]
    assert request(QUESTION, Image(first.png, "low")).messages[0].wire()["content"][0]["image_url"]["detail"] == "low"


@pytest.mark.parametrize("content", [b"", b"\xff\xd8\xff\xe0JFIF", picture().png[:20], b"GIF89a" + b"\0" * 40])
def test_what_is_no_png_is_refused(content):
    with pytest.raises(SpatialQAError) as caught:
        Image(content)
    assert caught.value.code == "bad_image"


def test_the_probe_is_a_picture():
    pil = pytest.importorskip("PIL.Image")
    probe = probe_image()
    assert probe.size == (PROBE_PIXELS, PROBE_PIXELS) == struct.unpack(">II", probe.png[16:24])
    with pil.open(io.BytesIO(probe.png)) as opened:
        opened.load()
        assert opened.getextrema() == (0, PROBE_PIXELS - 1)
