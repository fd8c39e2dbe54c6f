"""Before the first item: what would fail every item is found, and named with the setting to change."""

from __future__ import annotations

import asyncio
import logging
import socket

import pytest

from monai_spatialqa.llm import Account, ChatClient, LLMSettings, ModelServiceError, Request
from tests.llm.calls import Time, picture, request, settings
from tests.servers.openai_server import Asked, Response, ScriptedServer, problem, reply


def preflight(configured: LLMSettings, *, images: bool = False, largest: Request | None = None) -> Account:
    async def run() -> Account:
        time = Time()
        async with ChatClient(configured, clock=time.clock, sleep=time.sleep) as client:
            await client.preflight(images=images, largest=largest)
            return client.account

    return asyncio.run(run())


def guarded(asked: Asked) -> Response:
    """A server that wants a key and knows one model."""
    if asked.headers.get("authorization") != "Bearer the-right-key-123":
        return problem(401, "Incorrect API key provided", code="invalid_api_key")
    if asked.body["model"] != "scripted":
        return problem(404, f"The model '{asked.body['model']}' does not exist", code="model_not_found")
    return reply("OK")


@pytest.fixture
def key(monkeypatch):
    monkeypatch.setenv("SPATIALQA_TEST_KEY", "the-right-key-123")
    return "SPATIALQA_TEST_KEY"


def test_a_good_server_is_asked_little(key, caplog):
    with caplog.at_level(logging.WARNING), ScriptedServer(guarded) as server:
        account = preflight(settings(server, api_key_env=key), images=True)
    assert (account.calls, account.checks) == (0, 3)
    assert [len(chat.images) for chat in server.chats] == [0, 0, 1]
    assert all(chat.body["max_tokens"] == 16 for chat in server.chats)
    assert not caplog.records


def test_a_wrong_key(monkeypatch, key):
    monkeypatch.setenv(key, "the-wrong-key-456")
    with ScriptedServer(guarded) as server, pytest.raises(ModelServiceError) as caught:
        preflight(settings(server, api_key_env=key))
    assert (caught.value.code, caught.value.key) == ("bad_key", "api_key_env")
    assert "environment variable SPATIALQA_TEST_KEY" in caught.value.next_step
    assert len(server.chats) == 1


def test_no_key_where_one_is_wanted():
    with ScriptedServer(guarded) as server, pytest.raises(ModelServiceError) as caught:
        preflight(settings(server))
    assert "name the environment variable of the key in api_key_env" in caught.value.next_step


@pytest.mark.parametrize("value", [None, "", "  "])
def test_a_missing_key_is_found_before_any_request(monkeypatch, value):
    monkeypatch.delenv("SPATIALQA_TEST_KEY", raising=False)
    if value is not None:
        monkeypatch.setenv("SPATIALQA_TEST_KEY", value)
    with pytest.raises(ModelServiceError, match="SPATIALQA_TEST_KEY") as caught:
        ChatClient(LLMSettings(model="m", base_url="http://127.0.0.1:9/v1", api_key_env="SPATIALQA_TEST_KEY"))
    assert caught.value.code == "missing_key"


def test_openais_own_address_wants_its_key(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ModelServiceError, match="OPENAI_API_KEY"):
        ChatClient(LLMSettings(model="m"))


def test_a_wrong_model_is_answered_with_the_list(key):
    with ScriptedServer(guarded, models=["scripted", "other"]) as server, pytest.raises(ModelServiceError) as caught:
        preflight(settings(server, api_key_env=key, model="mistyped"))
    assert (caught.value.code, caught.value.key, caught.value.expected) == ("not_found", "model", "scripted, other")


def test_a_model_that_is_answered_but_not_listed_is_a_warning(caplog):
    with caplog.at_level(logging.WARNING), ScriptedServer(lambda _: reply("OK"), models=["other"]) as server:
        preflight(settings(server))
    assert "answers as 'scripted' but lists other models: other" in caplog.text


def test_a_server_without_a_list_of_models_will_do(caplog):
    with caplog.at_level(logging.WARNING), ScriptedServer(lambda _: reply("OK"), models=None) as server:
        preflight(settings(server))
    assert not caplog.records


def test_br_165_a_wrong_endpoint_fails_before_the_first_item():
    not_here = Response(b"<html><h1>404 Not Found</h1></html>", status=404, headers={"Content-Type": "text/html"})
    with ScriptedServer(lambda _: not_here) as server, pytest.raises(ModelServiceError) as caught:
        preflight(settings(server))
    assert (caught.value.code, caught.value.key) == ("not_found", "base_url")
    assert "it usually ends in /v1" in caught.value.next_step
    assert len(server.chats) == 1
    website = Response(b"<html>Welcome</html>", headers={"Content-Type": "text/html"})
    with ScriptedServer(lambda _: website) as server, pytest.raises(ModelServiceError) as caught:
        preflight(settings(server))
    assert caught.value.key == "base_url"
    assert "not JSON" in str(caught.value)


def test_br_165_no_server_fails_at_once():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound and not listening: nobody answers there
        address = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        with pytest.raises(ModelServiceError) as caught:
            preflight(LLMSettings(model="m", base_url=address))
    assert (caught.value.code, caught.value.file, caught.value.key) == ("no_connection", address, "base_url")
    assert "start the server" in caught.value.next_step


def test_dropped_images_are_found():
    with ScriptedServer(lambda _: reply("OK"), tokens_per_image=0) as server:
        preflight(settings(server))  # no image will be sent
        with pytest.raises(ModelServiceError) as caught:
            preflight(settings(server), images=True)
    assert caught.value.code == "image_ignored"
    assert "--mmproj" in caught.value.next_step


def test_a_lost_prompt_is_found():
    with (
        ScriptedServer(lambda _: reply("OK"), swallows_prompt=True) as server,
        pytest.raises(ModelServiceError) as caught,
    ):
        preflight(settings(server))
    assert (caught.value.code, caught.value.found) == ("prompt_lost", "3 and 3 prompt tokens")


def test_the_largest_request_is_tried_as_it_is():
    def small_window(asked: Asked) -> Response:
        long = len(asked.text) > 5000
        return problem(400, "the request exceeds the available context size") if long else reply("OK")

    with ScriptedServer(small_window) as server:
        preflight(settings(server), largest=request("short", picture(), max_tokens=77))
        assert server.chats[-1].body["max_tokens"] == 77
        assert [len(chat.images) for chat in server.chats] == [0, 0, 1, 1]
        with pytest.raises(ModelServiceError) as caught:
            preflight(settings(server), largest=request("long " * 2000))
    assert (caught.value.code, caught.value.key) == ("context_length", "max_tokens")


def test_a_busy_server_is_waited_for():
    with ScriptedServer([problem(503), reply("OK"), reply("OK")]) as server:
        assert preflight(settings(server)).retries == 1


def test_a_server_without_counts_is_a_warning(caplog):
    with caplog.at_level(logging.WARNING), ScriptedServer(lambda _: reply("OK", usage=False)) as server:
        preflight(settings(server), images=True)
    assert "does not tell the number of prompt tokens" in caplog.text
