"""The cache: an equal request is answered from the file, an unequal one never is."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from pydantic import BaseModel, field_validator

from monai_spatialqa.errors import SpatialQAError
from monai_spatialqa.llm import Image, LLMSettings, Message, Reply, Request, Text, cache
from monai_spatialqa.llm.cache import ReplyCache, cache_key
from monai_spatialqa.records.answer import Usage
from tests.llm.calls import QUESTION, Time, ask, picture, request
from tests.servers.openai_server import ScriptedServer, problem, reply


class Choice(BaseModel):
    answer: str


class Choice2(BaseModel):
    answer: str


class Bounded(BaseModel):
    answer: str
    note: str | None = None


BASE = LLMSettings(model="m", base_url="http://127.0.0.1:9/v1")
SYSTEM = Message("system", "You are a radiologist.")
REQUEST = Request((SYSTEM, Message("user", (picture(1), Text("Which is larger?")))), schema=Choice)

OTHER_SETTINGS = {
    "model": "n",
    "base_url": "http://127.0.0.1:10/v1",
    "temperature": 0.1,
    "top_p": 0.9,
    "seed": 1,
    "max_tokens": 7,
    "max_tokens_parameter": "max_completion_tokens",
    "structured": "prompt",
    "extra_body": {"cache_prompt": False},
}

OTHER_REQUESTS = {
    "text": Request((SYSTEM, Message("user", (picture(1), Text("Which is larger? ")))), schema=Choice),
    "image": Request((SYSTEM, Message("user", (picture(2), Text("Which is larger?")))), schema=Choice),
    "detail": Request((SYSTEM, Message("user", (Image(picture(1).png, "low"), Text("Which is larger?")))), Choice),
    "second image": Request((SYSTEM, Message("user", (picture(1), picture(1), Text("Which is larger?")))), Choice),
    "order": Request((SYSTEM, Message("user", (Text("Which is larger?"), picture(1)))), schema=Choice),
    "system": Request((Message("user", (picture(1), Text("Which is larger?"))),), schema=Choice),
    "role": Request((Message("user", SYSTEM.parts), REQUEST.messages[1]), schema=Choice),
    "split": Request((SYSTEM, Message("user", (picture(1), Text("Which "), Text("is larger?")))), schema=Choice),
    "no schema": Request(REQUEST.messages),
    "schema's name": Request(REQUEST.messages, Choice2),
    "schema's fields": Request(REQUEST.messages, Bounded),
    "max_tokens": Request(REQUEST.messages, Choice, max_tokens=5),
    "repeat": Request(REQUEST.messages, Choice, sample=1),
}


@pytest.mark.parametrize("name", OTHER_SETTINGS)
def test_other_settings_have_another_key(name):
    other = BASE.model_copy(update={name: OTHER_SETTINGS[name]})
    assert cache_key(REQUEST, other) != cache_key(REQUEST, BASE)


@pytest.mark.parametrize("name", OTHER_REQUESTS)
def test_other_requests_have_another_key(name):
    assert cache_key(OTHER_REQUESTS[name], BASE) != cache_key(REQUEST, BASE)


def test_the_key_of_other_code_is_another(monkeypatch):
    before = cache_key(REQUEST, BASE)
    monkeypatch.setattr(cache, "CODE_VERSION", "next")
    assert cache_key(REQUEST, BASE) != before


def test_keys_do_not_depend_on_what_shapes_nothing():
    slower = BASE.model_copy(update={"tries": 1, "concurrency": 9, "timeout_seconds": 5.0, "cache": "x.sqlite"})
    tagged = Request(REQUEST.messages, Choice, tag="item-7", text_only_tokens=True)
    assert cache_key(tagged, slower) == cache_key(REQUEST, BASE)


def test_every_setting_either_shapes_answers_or_does_not():
    rest = {"api_key_env", "timeout_seconds", "tries", "total_seconds", "concurrency", "requests_per_minute",
            "tokens_per_minute", "cache", "prices"}  # fmt: skip
    assert set(OTHER_SETTINGS) | rest == set(LLMSettings.model_fields)


def test_a_second_run_asks_nothing(tmp_path):
    path = str(tmp_path / "folder" / "cache.sqlite")
    calls = [request("a", schema=Choice), request("b", picture()), request("b", picture(1))]

    def answers(asked):
        return reply({"answer": "B"}) if asked.schema else reply(f"reply {asked.number}")

    with ScriptedServer(answers) as server:
        first, before = ask(server, *calls, cache=path)
        sent = len(server.chats)
        second, after = ask(server, *calls, cache=path)
        assert len(server.chats) == sent
    assert [one.cached for one in first + second] == [False] * 3 + [True] * 3
    for one, other in zip(first, second, strict=True):
        assert (one.text, one.parsed, one.usage, one.stop_reason) == (
            other.text, other.parsed, other.usage, other.stop_reason,
        )  # fmt: skip
        assert (other.tries, other.seconds) == (0, 0.0)
    assert (after.cache_hits, after.calls, after.requests, after.prompt_tokens) == (3, 3, 0, 0)
    assert after.cached_prompt_tokens == sum(one.usage.prompt_tokens for one in first)
    assert before.cache_hits == 0


def test_failures_are_asked_again(tmp_path):
    path = str(tmp_path / "cache.sqlite")
    ends = [reply("The", stop="length"), reply(None, refusal="No."), reply(""), problem(400, "odd"), reply("B")]
    with ScriptedServer(ends) as server:
        outcomes = [ask(server, request(), cache=path)[0][0].outcome for _ in range(6)]
    assert outcomes == ["truncated", "refused", "empty", "service", "answered", "answered"]
    assert len(server.chats) == 5


def test_a_reply_that_its_schema_no_longer_takes_is_asked_again(tmp_path):
    path = str(tmp_path / "cache.sqlite")
    rules = {"taken": "B"}

    class Strict(BaseModel):
        answer: str

        @field_validator("answer")
        @classmethod
        def _known(cls, value: str) -> str:
            if value != rules["taken"]:
                raise ValueError("another answer")
            return value

    with ScriptedServer([reply({"answer": "B"}), reply({"answer": "C"})]) as server:
        ask(server, request(schema=Strict), cache=path)
        rules["taken"] = "C"
        (again,), _ = ask(server, request(schema=Strict), cache=path)
    assert (again.cached, again.parsed.answer) == (False, "C")


WRITER = """
import sys
from monai_spatialqa.llm import LLMSettings, Message, Reply, Request
from monai_spatialqa.llm.cache import ReplyCache
path, first, last = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
settings = LLMSettings(model="m", base_url="http://127.0.0.1:9/v1")
cache = ReplyCache(path)
print("open", flush=True)
sys.stdin.readline()
for number in range(first, last):
    request = Request((Message("user", f"question {number}"),))
    cache.put(request, settings, Reply("answered", f"reply {number} of {first}"))
    assert cache.get(request, settings) is not None
import os; os._exit(0)  # no orderly end
"""


def test_two_processes_share_the_file(tmp_path):
    path = tmp_path / "cache.sqlite"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path), str(first), str(first + 60)],
            env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8",
        )
        for first in (0, 30)
    ]  # fmt: skip
    for process in processes:
        assert process.stdout.readline() == "open\n"
    for process in processes:
        process.stdin.write("\n")
        process.stdin.flush()
    assert [process.wait(30) for process in processes] == [0, 0]
    for process in processes:
        process.stdin.close()
        process.stdout.close()
    kept = ReplyCache(path)
    assert len(kept) == 90
    for number in range(90):
        got = kept.get(request_of(number), BASE)
        assert got is not None
        assert got.text in {f"reply {number} of {first}" for first in (0, 30) if first <= number < first + 60}
    kept.close()


def request_of(number: int) -> Request:
    return Request((Message("user", f"question {number}"),))


def test_opening_waits_for_another_process(tmp_path):
    path = tmp_path / "cache.sqlite"
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    other.execute("CREATE TABLE other (x)")
    opened: list[ReplyCache] = []
    opening = threading.Thread(target=lambda: opened.append(ReplyCache(path)))
    opening.start()
    opening.join(0.2)
    assert not opened
    other.execute("COMMIT")
    other.close()
    opening.join(30)
    assert len(opened[0]) == 0
    opened[0].close()


def test_the_first_of_two_equal_replies_stays(tmp_path):
    kept = ReplyCache(tmp_path / "cache.sqlite")
    usage = Usage(prompt_tokens=1, completion_tokens=1)
    kept.put(request(), BASE, Reply("answered", "first", usage=usage))
    kept.put(request(), BASE, Reply("answered", "second", usage=usage))
    assert kept.get(request(), BASE).text == "first"
    kept.close()
    kept.close()


@pytest.mark.parametrize("content", [b"no database at all, but long enough to be read as a header " * 4, None])
def test_a_file_that_is_no_cache_is_refused(tmp_path, content):
    path = tmp_path / "cache.sqlite"
    if content is None:
        path.mkdir()
    else:
        path.write_bytes(content)
    with pytest.raises(SpatialQAError) as caught, ScriptedServer([]) as server:
        ask(server, request(), cache=str(path))
    assert (caught.value.code, caught.value.file, caught.value.key) == ("bad_cache", str(path), "cache")


def test_the_cache_of_another_layout_is_refused(tmp_path):
    path = tmp_path / "cache.sqlite"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE replies (key TEXT, body TEXT)")
    connection.close()
    with pytest.raises(SpatialQAError, match="cannot be used"), ScriptedServer([]) as server:
        ask(server, request(QUESTION), cache=str(path), time=Time())


def test_paths_are_relative_to_the_working_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with ScriptedServer([reply("B")]) as server:
        ask(server, request(), cache="cache.sqlite")
    assert Path("cache.sqlite").is_file()
