"""The client against a real server: llama.cpp with a small model. Its answers mean nothing; its protocol is real."""

from __future__ import annotations

import asyncio
from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field

from monai_spatialqa.llm import Account, ChatClient, LLMSettings, ModelServiceError, Reply, Request, delimited
from tests.llm.calls import QUESTION, picture, request
from tests.servers.llama_server import CONTEXT_TOKENS, TOKENS_PER_IMAGE, LlamaServer

pytestmark = [pytest.mark.extra, pytest.mark.slow]

SAME_EACH_TIME = {"cache_prompt": False}
"""Without it, the server's prompt cache changes the last digits and now and then a token."""


class Choice(BaseModel):
    answer: Literal["A", "B"]


class Amount(BaseModel):
    value: float = Field(ge=0)
    unit: Literal["ml", "cm3"]


def ask(server: LlamaServer, *requests: Request, check: dict[str, Any] | None = None, **more: Any):
    async def run() -> tuple[list[Reply], Account]:
        defaults = {"timeout_seconds": 120.0, "max_tokens": 24, "extra_body": SAME_EACH_TIME, "concurrency": 2}
        settings = LLMSettings(**{"model": server.model, "base_url": server.base_url, **defaults, **more})
        async with ChatClient(settings) as client:
            if check is not None:
                await client.preflight(**check)
            return list(await asyncio.gather(*map(client.ask, requests))), client.account

    return asyncio.run(run())


def test_text_with_usage_and_an_end(llama_server):
    short, long = request("Say yes.", max_tokens=40), request("List all organs.", max_tokens=3)
    (answered, cut), account = ask(llama_server, short, long, check={})
    assert answered.outcome in ("answered", "truncated")
    assert answered.text.strip()
    assert (cut.outcome, cut.stop_reason, cut.usage.completion_tokens) == ("truncated", "length", 3)
    assert account.prompt_tokens > answered.usage.prompt_tokens > 0
    assert account.checks == 2


def test_the_same_seed_gives_the_same_text_and_another_does_not(llama_server):
    def texts(seed: int) -> list[str | None]:
        question = request("Tell me about the spleen.")
        return [ask(llama_server, question, seed=seed, temperature=1.0)[0][0].text for _ in range(2)]

    first, second = texts(1), texts(2)
    assert first[0] == first[1]
    assert second[0] == second[1]
    assert first[0] != second[0]


@pytest.mark.parametrize("mode", ["json_schema", "json_object"])
def test_structured_replies(llama_server, mode):
    question = request("Which is larger? A: liver. B: spleen. Reply as JSON.", schema=Choice)
    (answer,), _ = ask(llama_server, question, structured=mode, max_tokens=60)
    if mode == "json_schema":
        assert (answer.outcome, type(answer.parsed)) == ("answered", Choice)
    else:  # the grammar allows any object: a small model may miss the schema twice, and that is an outcome
        assert answer.outcome in ("answered", "malformed", "truncated")
        assert (answer.parsed is not None) == (answer.outcome == "answered")


def test_a_structured_number_is_finite(llama_server):
    question = request("How large is a normal spleen, in ml?", schema=Amount)
    (answer,), _ = ask(llama_server, question, max_tokens=60)
    assert answer.outcome in ("answered", "truncated", "malformed")
    if answer.parsed is not None:
        assert 0 <= answer.parsed.value < float("inf")


def test_a_prompt_over_the_context_ends_its_call_only(llama_server):
    long = request("liver " * (CONTEXT_TOKENS + 100))
    (failed, answered), _ = ask(llama_server, long, request("Say yes.", max_tokens=2))
    assert failed.outcome == "service"
    assert "larger context window" in failed.problem
    assert answered.outcome in ("answered", "truncated")
    with pytest.raises(ModelServiceError) as caught:
        ask(llama_server, check={"largest": long})
    assert caught.value.code == "context_length"


def test_an_image_for_a_server_without_eyes_ends_the_run(llama_server):
    with pytest.raises(ModelServiceError) as caught:
        ask(llama_server, request(QUESTION, picture()))
    assert (caught.value.code, caught.value.key) == ("images_refused", "model")
    with pytest.raises(ModelServiceError):
        ask(llama_server, check={"images": True})


def test_special_tokens_in_data_are_plain_text(llama_server):
    token, plain = "<|im_end|>" * 30, "a" * 30
    pasted, delimited_, none = ask(
        llama_server, *(request(text, max_tokens=1) for text in (token, delimited(token), plain))
    )[0]
    tokens = [answer.usage.prompt_tokens for answer in (pasted, delimited_, none)]
    assert tokens[0] <= tokens[2] + 30  # the server reads each as one special token: the end of the message
    assert tokens[1] > tokens[0] + 60  # taken apart, each is several ordinary ones


def test_images_are_counted(llama_image_server):
    questions = [request(QUESTION, *[picture(grey, 64) for grey in range(count)]) for count in (0, 1, 3)]
    answers, account = ask(llama_image_server, *questions, check={"images": True}, max_tokens=8)
    assert {answer.outcome for answer in answers} <= {"answered", "truncated"}
    tokens = [answer.usage.prompt_tokens for answer in answers]
    assert TOKENS_PER_IMAGE <= tokens[1] - tokens[0] <= TOKENS_PER_IMAGE + 4
    assert 3 * TOKENS_PER_IMAGE <= tokens[2] - tokens[0] <= 3 * TOKENS_PER_IMAGE + 12
    assert account.checks == 3 + 2  # the preflight's, and one for each number of images


def test_images_and_a_schema_at_once(llama_image_server):
    (answer,), _ = ask(llama_image_server, request(QUESTION, picture(), schema=Choice), max_tokens=60)
    assert (answer.outcome, type(answer.parsed)) == ("answered", Choice)


def test_an_image_that_is_broken_ends_its_call_only(llama_image_server):
    whole = picture(5, 64)
    broken = type(whole)(whole.png[:40] + b"\0" * 40)
    (failed, answered), _ = ask(llama_image_server, request(QUESTION, broken), request(QUESTION, whole, max_tokens=2))
    assert failed.outcome == "service"
    assert "look at the image" in failed.problem
    assert answered.outcome in ("answered", "truncated")
