"""What is tried again, after which wait, until which limit; and what is not."""

from __future__ import annotations

import logging
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from monai_spatialqa.llm import ModelServiceError
from monai_spatialqa.llm.failures import retry_after
from monai_spatialqa.llm.pacing import LONGEST_WAIT_SECONDS, backoff_seconds
from tests.llm.calls import Time, ask, ask_one, request
from tests.servers.openai_server import CUT, HANG, ScriptedServer, problem, reply

TOO_MANY = problem(429, "slow down", headers={"Retry-After": "1"})


def test_br_160_waits_as_told_and_logs_each_wait(caplog):
    time = Time()
    with (
        caplog.at_level(logging.WARNING),
        ScriptedServer([TOO_MANY, TOO_MANY, HANG, reply("B")]) as server,
    ):
        (answer,), account = ask(server, request(tag="item-7"), time=time, timeout_seconds=0.3)
    assert (answer.outcome, answer.text, answer.tries) == ("answered", "B", 4)
    first, second, third = time.waits
    assert 1 <= first <= 1.1
    assert 1 <= second <= 1.1
    assert 2 <= third <= 4  # nobody told: doubled with each try, half of it spread
    assert answer.seconds == pytest.approx(sum(time.waits))
    assert account.waited_seconds == pytest.approx(sum(time.waits))
    assert (account.requests, account.retries, account.calls) == (4, 3, 1)
    told = [record.getMessage() for record in caplog.records]
    assert len(told) == 3
    assert all("item-7" in line for line in told)
    assert told[0].endswith(f"429: slow down; try 2 of 5 in {first:.1f} s")
    assert "no reply within 0.3 s (timeout_seconds)" in told[2]


def test_br_160_tries_are_capped():
    with ScriptedServer(lambda _: TOO_MANY) as server:
        answer = ask_one(server, tries=3)
    assert (answer.outcome, answer.tries, len(server.chats)) == ("service", 3, 3)
    assert "429: slow down; given up after 3 tries (tries)" in answer.problem
    assert "slow down" in answer.text  # what the server sent


@pytest.mark.parametrize(("asked", "tries"), [("4", 3), ("3600", 1)])
def test_br_160_total_time_is_capped(asked, tries):
    time = Time()
    busy = problem(503, "busy", headers={"Retry-After": asked})
    with ScriptedServer(lambda _: busy) as server:
        (answer,), _ = ask(server, request(), time=time, tries=100, total_seconds=10)
    assert (answer.outcome, len(server.chats)) == ("service", tries)
    assert "beyond the 10 s of a call (total_seconds)" in answer.problem
    assert sum(time.waits) < 10


def test_a_try_gets_no_more_than_what_is_left_of_the_total_time():
    with ScriptedServer([HANG]) as server:
        answer = ask_one(server, timeout_seconds=60, total_seconds=0.3, tries=1)
    assert answer.outcome == "service"
    assert "no reply within 0.3 s (what total_seconds leaves)" in answer.problem


def test_retry_after_as_a_date():
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=30), usegmt=True)
    time = Time()
    with ScriptedServer([problem(429, headers={"Retry-After": later}), reply("B")]) as server:
        (answer,), _ = ask(server, request(), time=time)
    assert answer.outcome == "answered"
    assert 20 <= time.waits[0] <= 33


NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after": "0"}, 0),
        ({"retry-after": "Mon, 30 Nov 2026 12:00:20 GMT"}, 20),
        ({"retry-after": "Monday, 30-Nov-26 12:00:20 GMT"}, 20),
        ({"retry-after": "Mon, 30 Nov 2026 11:59:00 GMT"}, 0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-5"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after-ms": "250", "retry-after": "1"}, 0.25),
    ],
)
def test_what_retry_after_says(headers, seconds):
    assert retry_after(headers, NOW) == seconds


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 529])
def test_statuses_worth_another_try(status):
    with ScriptedServer([problem(status), reply("B")]) as server:
        assert ask_one(server).tries == 2


@pytest.mark.parametrize(
    "message", ["provisioning the multi-modal model", "qwen-vision: overloaded", "max_tokens queue"]
)
def test_a_busy_server_is_tried_again_whatever_words_it_uses(message):
    with ScriptedServer([problem(503, message), reply("B")]) as server:
        assert ask_one(server).outcome == "answered"


def test_a_lost_connection_is_tried_again():
    with ScriptedServer([CUT, reply("B")]) as server:
        answer = ask_one(server)
    assert (answer.outcome, answer.tries) == ("answered", 2)
    with ScriptedServer(lambda _: CUT) as server:
        answer = ask_one(server, tries=2)
    assert answer.outcome == "service"
    assert "the connection failed" in answer.problem


REFUSED_PARAMETERS = [
    ("max_tokens", "Unsupported parameter: 'max_tokens' is not supported with this model. Use "
     "'max_completion_tokens' instead.", "max_tokens_parameter", "max_completion_tokens"),
    ("temperature", "Unsupported value: 'temperature' does not support 0.0 with this model.", "temperature",
     "set temperature to null"),
    (None, "temperature must be 1 for this model", "temperature", "set temperature to null"),
    ("seed", "Unrecognized request argument supplied: seed", "seed", "set seed to null"),
    ("response_format", "json_schema is not supported", "structured", "json_object or prompt"),
    ("min_p", "unknown field", "min_p", "extra_body"),
]  # fmt: skip


@pytest.mark.parametrize(("param", "message", "setting", "step"), REFUSED_PARAMETERS)
def test_br_162_a_refused_parameter_is_named_and_not_retried(param, message, setting, step):
    with (
        ScriptedServer([problem(400, message, code="unsupported_parameter", param=param)]) as server,
        pytest.raises(ModelServiceError) as caught,
    ):
        ask_one(server)
    assert len(server.chats) == 1
    assert (caught.value.code, caught.value.key) == ("parameter_refused", setting)
    assert message in str(caught.value)
    assert step in caught.value.next_step


@pytest.mark.parametrize(
    ("response", "code", "key"),
    [
        (problem(401, "Incorrect API key provided"), "bad_key", "api_key_env"),
        (problem(403, "not for you"), "forbidden", "api_key_env"),
        (problem(404, "The model `scripted` does not exist", code="model_not_found"), "not_found", "model"),
        (problem(404, "Not Found"), "not_found", "base_url"),
        (problem(429, "You exceeded your current quota", code="insufficient_quota"), "no_credit", None),
        (problem(400, "at most 8 images may be provided"), "images_refused", "model"),
        (problem(500, "image input is not supported - hint: you may need to provide the mmproj"), "images_refused",
         "model"),
    ],
)  # fmt: skip
def test_what_would_end_every_call_ends_the_run(response, code, key):
    with ScriptedServer([response]) as server, pytest.raises(ModelServiceError) as caught:
        ask_one(server)
    assert len(server.chats) == 1
    assert (caught.value.code, caught.value.key, caught.value.file) == (code, key, server.base_url)


@pytest.mark.parametrize(
    ("response", "told"),
    [
        (problem(400, "the request exceeds the available context size, try increasing it"), "larger context window"),
        (problem(400, "Failed to load image or audio file"), "look at the image"),
        (problem(413, "Payload Too Large"), "fewer or smaller images"),
        (problem(422, "odd"), "read what the server says"),
    ],
)
def test_a_fault_of_one_request_ends_that_call_only(response, told):
    with ScriptedServer([response, reply("B")]) as server:
        (failed, answered), account = ask(server, request("a"), request("b"))
    assert (failed.outcome, failed.tries, answered.outcome) == ("service", 1, "answered")
    assert told in failed.problem
    assert account.failures == {"service": 1}


def test_waits_double_are_spread_and_end():
    waits = [backoff_seconds(tries, None, "key") for tries in range(1, 12)]
    for tries, wait in enumerate(waits):
        longest = min(2.0**tries, LONGEST_WAIT_SECONDS)
        assert longest / 2 <= wait <= longest
    assert waits == [backoff_seconds(tries, None, "key") for tries in range(1, 12)]
    assert len({backoff_seconds(1, None, str(key)) for key in range(20)}) == 20
    assert all(5 <= backoff_seconds(1, 5.0, str(key)) <= 5.5 for key in range(20))
