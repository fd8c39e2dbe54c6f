"""From what comes back to replies: every outcome, order, concurrency, dropped images, errors that end a run."""

from __future__ import annotations

import asyncio
import threading

import pytest
from pydantic import BaseModel

from monai_spatialqa.errors import SpatialQAError
from monai_spatialqa.models import Question
from monai_spatialqa.records.answer import Usage
from tests.models.asking import adapter_for, answers, png
from tests.servers.openai_server import HANG, ScriptedServer, problem, reply


class Letter(BaseModel):
    answer: str


PLAIN = Question("item-1", "Which?")
SEEN = Question("item-1", "Which?", images=(png(),))
FORMED = Question("item-1", "Which?", schema=Letter)


@pytest.mark.parametrize(
    ("question", "response", "outcome", "text", "told"),
    [
        (PLAIN, reply(" B\n"), "answered", " B\n", None),
        (SEEN, reply("The answer is B."), "answered", "The answer is B.", None),
        (FORMED, reply('{"answer": "B"}'), "answered", '{"answer": "B"}', None),
        (PLAIN, reply("The liver is", stop="length"), "truncated", "The liver is", "max_tokens"),
        (FORMED, reply('{"answ', stop="length"), "truncated", '{"answ', "max_tokens"),
        (PLAIN, reply(None, refusal="I cannot help."), "refused", "I cannot help.", "refus"),
        (PLAIN, reply("", stop="content_filter"), "refused", "", "filter"),
        (PLAIN, reply(""), "empty", "", "said nothing"),
        (FORMED, reply("It is B."), "malformed", "It is B.", "fit"),
        (PLAIN, problem(503, "overloaded"), "service", None, "overloaded"),
        (PLAIN, problem(400, "bad request"), "service", None, "bad request"),
    ],
)
def test_each_end_has_its_outcome_and_keeps_the_text(question, response, outcome, text, told):
    with ScriptedServer(lambda _: response) as server:
        (answer,) = answers(adapter_for(server), [question])
    assert answer.outcome == outcome
    if text is not None:
        assert (answer.text or "") == text
    assert (answer.problem is None) == (outcome == "answered")
    if told is not None:
        assert told in (answer.problem or "").lower()
    assert not answer.cached


def test_a_server_that_never_answers_ends_as_service():
    with ScriptedServer(lambda _: HANG) as server:
        (answer,) = answers(adapter_for(server, {"timeout_seconds": 0.2, "total_seconds": 0.3}), [PLAIN])
    assert answer.outcome == "service"
    assert answer.seconds >= 0.1


def test_stop_reason_tokens_and_time_are_passed_on():
    response = reply("B", prompt_tokens=321, completion_tokens=7, delay_seconds=0.05)
    with ScriptedServer([response]) as server:
        (answer,) = answers(adapter_for(server), [PLAIN])
    assert answer.stop_reason == "stop"
    assert answer.usage == Usage(prompt_tokens=321, completion_tokens=7)
    assert answer.seconds >= 0.05
    with ScriptedServer([reply("B", usage=False)]) as server:
        (answer,) = answers(adapter_for(server), [PLAIN])
    assert answer.usage == Usage()


def test_images_that_the_server_drops_are_not_an_answer():
    """Seen with llama-cpp-python's server and transformers serve: the reply reads well, the prompt did not grow."""
    questions = [SEEN, Question("item-2", "And which?", images=(png(1), png(2))), PLAIN]
    with ScriptedServer(lambda _: reply("B"), tokens_per_image=0) as server:
        found = answers(adapter_for(server), questions)
    assert [answer.outcome for answer in found] == ["image_ignored", "image_ignored", "answered"]
    assert found[0].text == "B", "kept for whoever wants to look"
    assert "dropped the images" in (found[0].problem or "")


@pytest.mark.parametrize(("tokens", "fails"), [(0, True), (16, False)])
def test_the_preflight_finds_dropped_images_before_the_first_question(tokens, fails):
    async def look(adapter):
        async with adapter:
            await adapter.preflight(SEEN)

    with ScriptedServer(lambda _: reply("B"), tokens_per_image=tokens) as server:
        if not fails:
            asyncio.run(look(adapter_for(server)))
            assert server.chats[-1].images == list(SEEN.images), "the largest question is tried as it is"
            return
        with pytest.raises(SpatialQAError, match="drops images") as caught:
            asyncio.run(look(adapter_for(server)))
        assert caught.value.code == "image_ignored"
        assert SEEN.prompt not in [asked.text for asked in server.chats]


def test_a_blind_run_sends_no_image_in_its_preflight():
    async def look(adapter):
        async with adapter:
            await adapter.preflight(PLAIN)
            await adapter.preflight()

    with ScriptedServer(lambda _: reply("B"), tokens_per_image=0) as server:
        asyncio.run(look(adapter_for(server)))
    assert server.chats
    assert not any(asked.images for asked in server.chats)


def test_replies_come_in_the_order_of_the_questions():
    def script(asked):
        number = int(asked.text)
        return reply(f"answer {number}", delay_seconds=0.02 * (4 - number % 5))

    with ScriptedServer(script) as server:
        found = answers(adapter_for(server, {"concurrency": 8}), [Question(f"item-{n}", str(n)) for n in range(12)])
    assert [answer.text for answer in found] == [f"answer {n}" for n in range(12)]


@pytest.mark.parametrize("concurrency", [1, 3])
def test_as_many_questions_at_a_time_as_allowed(concurrency):
    together = threading.Barrier(concurrency)

    def script(_):
        together.wait(timeout=10)  # breaks, and the call fails, unless as many arrive at once
        return reply("B")

    with ScriptedServer(script) as server:
        found = answers(adapter_for(server, {"concurrency": concurrency}), [Question(f"{n}", str(n)) for n in range(6)])
        assert server.most_at_once == concurrency
    assert {answer.outcome for answer in found} == {"answered"}


def test_one_question_that_fails_leaves_the_others_alone():
    def script(asked):
        return problem(500, "broke") if asked.text == "1" else reply("B")

    with ScriptedServer(script) as server:
        found = answers(adapter_for(server), [Question(f"item-{n}", str(n)) for n in range(4)])
    assert [answer.outcome for answer in found] == ["answered", "service", "answered", "answered"]


@pytest.mark.parametrize(
    ("response", "key"),
    [
        (problem(401, "no such key"), "api_key_env"),
        (problem(400, "temperature is not supported", param="temperature"), "temperature"),
        (problem(404, "no such model"), "model"),
    ],
)
def test_what_would_end_every_call_is_an_error_and_stops_the_batch(response, key):
    with ScriptedServer(lambda _: response) as server, pytest.raises(SpatialQAError) as caught:
        answers(adapter_for(server, {"concurrency": 2}), [Question(f"item-{n}", str(n)) for n in range(40)])
    assert caught.value.key == key
    assert len(server.chats) < 40, "the rest is not asked"


def test_an_empty_batch_asks_nothing():
    with ScriptedServer([]) as server:
        assert answers(adapter_for(server), []) == []
    assert not server.asked


def test_repeats_are_asked_anew_and_equal_questions_come_from_the_cache(tmp_path):
    llm = {"cache": str(tmp_path / "replies.sqlite")}
    with ScriptedServer([reply("first"), reply("second")]) as server:
        (one,) = answers(adapter_for(server, llm), [PLAIN])
        (again,) = answers(adapter_for(server, llm), [Question("another id", "Which?")])
        (repeat,) = answers(adapter_for(server, llm), [Question("item-1", "Which?", sample=1)])
    assert (one.text, again.text, repeat.text) == ("first", "first", "second")
    assert (one.cached, again.cached, repeat.cached) == (False, True, False)
    assert len(server.chats) == 2


def test_a_cancelled_batch_leaves_no_call_behind():
    async def run(server):
        async with adapter_for(server) as adapter:
            task = asyncio.ensure_future(adapter.answer([PLAIN]))
            while not server.chats:
                await asyncio.sleep(0.005)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            return asyncio.all_tasks() - {asyncio.current_task()}

    with ScriptedServer(lambda _: HANG) as server:
        assert asyncio.run(run(server)) == set()


def test_reasoning_rejected_texts_and_the_name_that_answered_come_along():
    thought = reply({"answer": "B"}, reasoning_content="It is B. \ud83d", model="other-7b")
    with ScriptedServer([reply("certainly"), thought]) as server:
        (found,) = answers(adapter_for(server), [Question("item-1", "Which?", schema=Letter)])
    assert (found.outcome, found.rejected, found.served_model) == ("answered", ("certainly",), "other-7b")
    assert found.reasoning == "It is B. \ufffd"
