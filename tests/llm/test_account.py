"""What a run took, and what it would take."""

from __future__ import annotations

import asyncio
import logging

import pytest
from pydantic import BaseModel

from monai_spatialqa.llm import ChatClient, LLMSettings, Prices, estimate
from monai_spatialqa.llm.estimate import image_tokens, text_tokens
from monai_spatialqa.progress import Progress
from tests.llm.calls import Time, ask, picture, request, settings
from tests.servers.openai_server import ScriptedServer, problem, reply

PRICES = Prices(prompt_per_million=2.0, completion_per_million=8.0, currency="EUR")
SETTINGS = LLMSettings(model="m", base_url="http://127.0.0.1:9/v1", max_tokens=100)


class Choice(BaseModel):
    answer: str


def test_every_token_that_was_paid_for_is_on_the_account(tmp_path):
    script = [
        reply("B", prompt_tokens=100, completion_tokens=10),
        problem(503),
        reply("cut", stop="length", prompt_tokens=200, completion_tokens=20),
        reply("no JSON", prompt_tokens=300, completion_tokens=30),
        reply({"answer": "B"}, prompt_tokens=400, completion_tokens=40),
    ]
    calls = [request("a"), request("b"), request("c", schema=Choice), request("a")]
    with ScriptedServer(script) as server:
        replies, account = ask(server, *calls, prices=PRICES, cache=str(tmp_path / "cache.sqlite"))
    assert [one.outcome for one in replies] == ["answered", "truncated", "answered", "answered"]
    assert (replies[2].usage.prompt_tokens, replies[2].usage.completion_tokens) == (700, 70)
    summary = account.summary()
    assert summary.pop("waited_seconds") > 0
    assert summary == {
        "calls": 4,
        "outcomes": {"answered": 3, "truncated": 1},
        "requests": 5,
        "cache_hits": 1,
        "retries": 1,
        "repairs": 1,
        "checks": 0,
        "prompt_tokens": 1000,
        "completion_tokens": 100,
        "cached_prompt_tokens": 100,
        "cached_completion_tokens": 10,
        "replies_without_usage": 0,
        "cost": pytest.approx((1000 * 2 + 100 * 8) / 1e6),
        "currency": "EUR",
    }


def test_checks_are_paid_for_and_counted():
    with ScriptedServer(lambda _: reply("B", prompt_tokens=None)) as server:
        _, account = ask(server, request("a", picture()))
    assert (account.calls, account.requests, account.checks) == (1, 2, 1)
    assert account.prompt_tokens == sum(map(server.prompt_tokens, server.chats))


def test_without_prices_the_cost_is_unknown():
    with ScriptedServer([reply("B")]) as server:
        _, account = ask(server, request())
    assert account.cost is None


def test_progress_tells_rate_end_retries_cache_and_failures(tmp_path, caplog):
    time = Time()
    script = [problem(503), reply("B"), reply("cut", stop="length"), reply("B")]

    async def run(server: ScriptedServer) -> None:
        configured = settings(server, cache=str(tmp_path / "cache.sqlite"))
        async with ChatClient(configured, clock=time.clock, sleep=time.sleep) as client:
            with Progress(
                8, description="ask", unit="call", every_seconds=0, clock=time.clock, note=client.account.note
            ) as progress:
                for text in ("a", "b", "c", "a"):
                    answer = await client.ask(request(text))
                    time.now += 1
                    progress.update(failed=answer.outcome != "answered")

    with ScriptedServer(script) as server, caplog.at_level(logging.INFO, "monai_spatialqa.progress"):
        asyncio.run(run(server))
    told = [record.getMessage() for record in caplog.records if record.name == "monai_spatialqa.progress"]
    assert told[3].startswith("ask: 4 of 8 calls, 1 failed")
    assert all(part in told[3] for part in (", 1 cached, 1 retries, 1 truncated", " calls/s", " left"))


def test_an_estimate_asks_nothing_and_counts_everything():
    calls = [request("x" * 400), request("y" * 40, picture(side=56), picture(side=56)), request("z", max_tokens=7)]
    with ScriptedServer([]) as server:
        told = estimate(iter(calls), settings(server, max_tokens=100, prices=PRICES, requests_per_minute=2))
        assert not server.asked
    assert (told.calls, told.cached, told.asked, told.images) == (3, 0, 3, 2)
    assert told.prompt_tokens == (8 + 100) + (8 + 10 + 2 * 4) + (8 + 1)
    assert told.largest_prompt_tokens == 108
    assert told.completion_tokens == 207
    assert told.cost == PRICES.cost(told.prompt_tokens, told.completion_tokens)
    assert told.minutes == 0.5
    assert str(told).startswith("3 calls, 0 of them in the cache; 3 go out with 2 images; about 143 prompt tokens")
    assert "EUR at most; at least 0.5 minutes" in str(told)


def test_an_estimate_leaves_out_what_the_cache_answers(tmp_path):
    path = tmp_path / "cache.sqlite"
    calls = [request("a"), request("b")]
    assert estimate(calls, SETTINGS.model_copy(update={"cache": str(path)})).cached == 0
    assert not path.exists()
    with ScriptedServer([reply("B")]) as server:
        ask(server, calls[0], cache=str(path))
        told = estimate(calls, settings(server, cache=str(path)))
    assert (told.calls, told.cached, told.asked, told.cost, told.minutes) == (2, 1, 1, None, None)
    assert "minutes" not in str(told)


def test_an_estimate_of_a_schema_that_goes_into_the_prompt_is_larger():
    (by_schema, by_prompt) = (
        estimate([request(schema=Choice)], SETTINGS.model_copy(update={"structured": mode})).prompt_tokens
        for mode in ("json_schema", "prompt")
    )
    assert by_prompt > by_schema + 10


def test_an_estimate_of_nothing():
    assert str(estimate([], SETTINGS)).startswith("0 calls")


def test_rules_of_thumb():
    assert text_tokens("") == 0
    assert text_tokens("abcd" * 10) == 10
    assert text_tokens("肝臓") == 2
    assert image_tokens(picture(side=28)) == 1
    assert image_tokens(picture(side=29)) == 4


@pytest.mark.parametrize("prices", [{"prompt_per_million": -1.0}, {"completion_per_million": float("nan")}])
def test_impossible_prices_are_refused(prices):
    with pytest.raises(ValueError, match="per_million"):
        Prices(**{"prompt_per_million": 1.0, "completion_per_million": 1.0, **prices})
