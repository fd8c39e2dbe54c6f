"""The server that other tests rely on counts, records and plays its script."""

from __future__ import annotations

import json
import urllib.error
import urllib.request

import pytest

from tests.servers.openai_server import CUT, ScriptedServer, problem, reply

PNG = "iVBORw0KGgo="


def post(server, content, **more):
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": content}], **more}).encode()
    request = urllib.request.Request(f"{server.base_url}/chat/completions", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=10) as answer:
        return json.loads(answer.read())


def test_it_plays_the_script_and_records():
    with ScriptedServer([reply("A"), problem(429, headers={"Retry-After": "1"})]) as server:
        assert post(server, "hello", seed=7)["choices"][0]["message"]["content"] == "A"
        with pytest.raises(urllib.error.HTTPError) as too_many:
            post(server, "again")
        assert (too_many.value.code, too_many.value.headers["Retry-After"]) == (429, "1")
        with pytest.raises(urllib.error.HTTPError, match="500"):
            post(server, "beyond the script")
    assert [chat.text for chat in server.chats] == ["hello", "again", "beyond the script"]
    assert server.chats[0].body["seed"] == 7


def test_prompt_tokens_grow_with_text_and_images():
    parts = [{"type": "text", "text": "x" * 40}]
    image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}}
    with ScriptedServer(lambda _: reply()) as server:
        without = post(server, parts)["usage"]["prompt_tokens"]
        assert post(server, "x" * 80)["usage"]["prompt_tokens"] == without + 10
        assert post(server, [*parts, image, image])["usage"]["prompt_tokens"] == without + 32
        assert server.chats[-1].images == [b"\x89PNG\r\n\x1a\n"] * 2
    with ScriptedServer(lambda _: reply(), tokens_per_image=0) as server:
        assert post(server, [*parts, image])["usage"]["prompt_tokens"] == without


def test_it_cuts_the_connection():
    with ScriptedServer([CUT]) as server, pytest.raises(Exception, match=r"(?i)incomplete|reset"):
        post(server, "hello")


def test_it_lists_models():
    with (
        ScriptedServer([], models=["a", "b"]) as server,
        urllib.request.urlopen(f"{server.base_url}/models", timeout=10) as answer,
    ):
        assert [model["id"] for model in json.loads(answer.read())["data"]] == ["a", "b"]
