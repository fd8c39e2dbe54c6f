"""A key reaches the server and nothing else: no log, reply, error, repr or cache."""

from __future__ import annotations

import logging
import sqlite3

import pytest
from pydantic import ValidationError

from monai_spatialqa.errors import SettingsError
from monai_spatialqa.llm import ChatClient, LLMSettings, ModelServiceError
from monai_spatialqa.llm.secrets import Redactor
from tests.llm.calls import ask, request, settings
from tests.servers.openai_server import Response, ScriptedServer, problem, reply

KEY = "sk-proj-A1b2C3d4E5f6G7h8"
VARIABLE = "SPATIALQA_TEST_KEY"


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv(VARIABLE, KEY)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-another-key-9999")
    monkeypatch.setenv("OPENAI_ORG_ID", "org-1")


def test_the_key_goes_to_the_server_only(tmp_path, caplog):
    path = tmp_path / "cache.sqlite"
    echo = reply(f"Your key is {KEY}.", reasoning_content=f"It is {KEY}")
    failing = problem(500, f"bad token {KEY}")
    ending = problem(400, f"who is {KEY[:7]}...{KEY[-4:]}")
    with caplog.at_level(logging.DEBUG), ScriptedServer([echo, failing, failing, ending]) as server:
        configured = settings(server, api_key_env=VARIABLE)
        replies, account = ask(
            server, request("a"), request("b"), request("c"), api_key_env=VARIABLE, cache=str(path), tries=2
        )
    assert server.chats[0].headers["authorization"] == f"Bearer {KEY}"
    assert replies[0].text == "Your key is [key]."
    shown = [repr(replies), repr(account), str(account.summary()), repr(configured), configured.model_dump_json()]
    shown += [str(configured.shaping()), caplog.text, repr([vars(record) for record in caplog.records])]
    assert not [text for text in shown if KEY in text]
    assert KEY.encode() not in b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert KEY[-4:] not in replies[2].problem  # what looks like a part of a key, in an error
    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT text FROM replies").fetchall() == [("Your key is [key].",)]
    assert replies[1].outcome == replies[2].outcome == "service"


@pytest.mark.parametrize("status", [401, 403, 404])
def test_errors_do_not_show_it(status):
    with (
        ScriptedServer([problem(status, f"Incorrect API key provided: {KEY}")]) as server,
        pytest.raises(ModelServiceError) as caught,
    ):
        ask(server, request(), api_key_env=VARIABLE)
    assert KEY not in str(caught.value) + repr(caught.value.details())
    assert "[key]" in str(caught.value)


def test_bodies_that_are_no_json_do_not_show_it():
    with ScriptedServer([Response(f"<p>{KEY}</p>".encode())]) as server:
        (answer,), _ = ask(server, request(), api_key_env=VARIABLE)
    assert (answer.outcome, answer.text) == ("service", "<p>[key]</p>")


def test_reprs_do_not_show_it():
    client = ChatClient(LLMSettings(model="m", base_url="http://127.0.0.1:9/v1", api_key_env=VARIABLE))
    shown = [repr(client), repr(client._connection), repr(client._connection.redactor), str(client.settings)]
    assert not [text for text in shown if KEY in text]


def test_another_server_gets_neither_openais_key_nor_its_organisation():
    with ScriptedServer([reply("B")]) as server:
        ask(server, request())
    headers = server.chats[0].headers
    assert headers["authorization"] == "Bearer no-key"
    assert "openai-organization" not in headers
    assert "sk-another" not in str(headers)


@pytest.mark.parametrize("value", [KEY, "my key", "9KEY", ""])
def test_a_key_where_the_name_of_a_variable_belongs_is_refused_and_not_repeated(value):
    with pytest.raises(SettingsError) as caught:
        LLMSettings(model="m", api_key_env=value)
    assert not value or value not in str(caught.value)
    assert caught.value.key == "api_key_env"


@pytest.mark.parametrize("address", [f"http://user:{KEY}@host/v1", f"https://host/v1?key={KEY}"])
def test_an_address_that_holds_a_key_is_refused_and_not_repeated(address):
    with pytest.raises(SettingsError) as caught:
        LLMSettings(model="m", base_url=address)
    assert KEY not in str(caught.value)


@pytest.mark.parametrize("address", ["localhost:8000/v1", "ftp://host/v1", "http://", ""])
def test_an_address_that_is_none_is_refused(address):
    with pytest.raises(ValidationError, match="http://"):
        LLMSettings(model="m", base_url=address)


def test_what_a_redactor_takes_out():
    redactor = Redactor(KEY)
    assert redactor.text(f"{KEY}, sk-other-key-123") == "[key], sk-other-key-123"
    assert redactor.message("sk-other-key-123 and Bearer abcdef123") == "[key] and Bearer [key]"
    short = Redactor("EMPTY")  # what people give to servers that want no key: no secret, and a word of replies
    assert short.text("EMPTY") == "EMPTY"
    assert Redactor(None).text("a task-oriented desk-bound risk-free answer") == (
        "a task-oriented desk-bound risk-free answer"
    )
    assert Redactor(None).message("a task-oriented answer") == "a task-oriented answer"
