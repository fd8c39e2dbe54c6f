"""Limits per minute and at the same time are kept, whatever runs beside."""

from __future__ import annotations

import asyncio

import pytest

from monai_spatialqa.llm import ChatClient
from monai_spatialqa.llm.pacing import Pace
from tests.llm.calls import Time, ask, request, settings
from tests.servers.openai_server import ScriptedServer, problem, reply


def starts(tokens: list[int], *, requests=None, per_minute=None, at_once=True) -> list[float]:
    """When each of several requests goes, in seconds from the first."""
    time = Time()

    async def run() -> list[float]:
        pace = Pace(requests, per_minute, clock=time.clock, sleep=time.sleep)

        async def one(count: int) -> float:
            return (await pace.start(count)).at

        if at_once:
            return list(await asyncio.gather(*map(one, tokens)))
        return [await one(count) for count in tokens]

    went = asyncio.run(run())
    return [round(at - went[0]) for at in went]


@pytest.mark.parametrize("at_once", [True, False])
@pytest.mark.parametrize(
    ("tokens", "limits", "expected"),
    [
        ([1] * 7, {}, [0] * 7),
        ([1] * 7, {"requests": 3}, [0, 0, 0, 60, 60, 60, 120]),
        ([40, 40, 40, 20], {"per_minute": 100}, [0, 0, 60, 60]),
        ([40, 60, 1], {"per_minute": 100}, [0, 0, 60]),
        ([10, 500, 10], {"per_minute": 100}, [0, 60, 120]),  # larger than a minute's share: goes alone
        ([10] * 4, {"requests": 2, "per_minute": 15}, [0, 60, 120, 180]),
    ],
)
def test_no_minute_holds_more_than_its_share(tokens, limits, expected, at_once):
    assert starts(tokens, at_once=at_once, **limits) == expected


def test_any_minute_counts_not_only_the_first():
    time = Time()

    async def run() -> list[float]:
        pace = Pace(2, None, clock=time.clock, sleep=time.sleep)
        went = []
        for pause in (0, 50, 1, 1, 1):
            time.now += pause
            went.append((await pace.start(1)).at - 1000)
        return went

    assert asyncio.run(run()) == [0, 50, 60, 110, 120]


def test_an_estimate_gives_way_to_what_it_took():
    time = Time()

    async def run() -> float:
        pace = Pace(None, 100, clock=time.clock, sleep=time.sleep)
        first = await pace.start(90)
        pace.correct(first, None)
        assert first.tokens == 90
        pace.correct(first, 20)
        return (await pace.start(80)).at

    assert asyncio.run(run()) == 1000.0


def test_a_wait_that_one_call_is_told_holds_all():
    time = Time()

    async def run() -> list[float]:
        pace = Pace(None, None, clock=time.clock, sleep=time.sleep)
        pace.hold(5)
        pace.hold(2)
        return [(await pace.start(1)).at for _ in range(2)]

    assert asyncio.run(run()) == [1005.0, 1005.0]


def test_a_cancelled_wait_leaves_no_trace():
    async def run() -> None:
        pace = Pace(1, None)
        await pace.start(1)
        waiting = asyncio.create_task(pace.start(1))
        await asyncio.sleep(0.01)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert len(pace._slots) == 1
        assert not pace._turn.locked()

    asyncio.run(run())


@pytest.mark.parametrize("concurrency", [1, 3])
def test_no_more_calls_at_the_same_time_than_set(concurrency):
    async def run(server: ScriptedServer) -> None:
        async with ChatClient(settings(server, concurrency=concurrency)) as client:
            await asyncio.gather(*(client.ask(request(str(number))) for number in range(8)))

    with ScriptedServer(lambda _: reply("B", delay_seconds=0.05)) as server:
        asyncio.run(run(server))
        assert server.most_at_once == concurrency
        assert len(server.chats) == 8


def test_the_client_keeps_requests_per_minute_tries_included():
    time = Time()
    responses = [problem(503), *[reply("B")] * 4]
    with ScriptedServer(responses) as server:
        _, account = ask(server, *[request(str(number)) for number in range(4)], time=time, requests_per_minute=2)
    assert account.requests == 5
    assert time.now - 1000 == pytest.approx(120, abs=2)  # two in the first minute, two in the second, one in the third


def test_the_client_keeps_tokens_per_minute():
    time = Time()
    with ScriptedServer(lambda _: reply("B", prompt_tokens=70, completion_tokens=20)) as server:
        ask(server, *[request(str(number)) for number in range(3)], time=time, tokens_per_minute=100, max_tokens=20)
    assert time.now - 1000 == pytest.approx(120, abs=1)
