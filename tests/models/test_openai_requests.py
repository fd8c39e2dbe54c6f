"""From a question to what goes over the wire: order, placement, captions, detail, system, schema, sampling."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel

from monai_spatialqa.errors import SpatialQAError
from monai_spatialqa.llm import LLMSettings
from monai_spatialqa.models import OpenAIAdapter, OpenAIOptions, Question
from tests.models.asking import adapter_for, answers, png
from tests.servers.openai_server import ScriptedServer, reply

IMAGES = (png(10), png(20), png(30))
CAPTIONS = ("Image 1 of 3", "Image 2 of 3", "Image 3 of 3")


class Letter(BaseModel):
    answer: str


def sent(question: Question, **options: Any) -> Any:
    """The request as the server got it; the one with the images, where there are any."""
    with ScriptedServer(lambda _: reply({"answer": "B"})) as server:
        (answer,) = answers(adapter_for(server, **options), [question])
    assert answer.outcome == "answered"
    return server.chats[0]


def outline(content: Any) -> list[str]:
    """Texts, and ``image`` for each image."""
    if isinstance(content, str):
        return [content]
    return [part["text"] if part["type"] == "text" else "image" for part in content]


WITH_CAPTIONS = ["Image 1 of 3", "image", "Image 2 of 3", "image", "Image 3 of 3", "image"]


@pytest.mark.parametrize(
    ("options", "captions", "expected"),
    [
        ({}, CAPTIONS, [*WITH_CAPTIONS, "Which?"]),
        ({}, (), ["image", "image", "image", "Which?"]),
        ({"captions": False}, CAPTIONS, ["image", "image", "image", "Which?"]),
        ({"images_first": False}, CAPTIONS, ["Which?", *WITH_CAPTIONS]),
        ({"images_first": False, "captions": False}, CAPTIONS, ["Which?", "image", "image", "image"]),
    ],
)
def test_images_captions_and_text_stand_where_asked(options, captions, expected):
    asked = sent(Question("item-1", "Which?", images=IMAGES, captions=captions), **options)
    (message,) = asked.messages
    assert message["role"] == "user"
    assert outline(message["content"]) == expected
    assert asked.images == list(IMAGES), "in order, and byte for byte what was rendered"


def test_a_blind_question_is_plain_text():
    asked = sent(Question("item-1", "Which?"))
    assert asked.messages == [{"role": "user", "content": "Which?"}]


@pytest.mark.parametrize("images", [(), IMAGES])
def test_the_system_message_stands_in_front(images):
    asked = sent(Question("item-1", "Which?", system="You are a radiologist.", images=images))
    assert asked.messages[0] == {"role": "system", "content": "You are a radiologist."}
    assert [message["role"] for message in asked.messages] == ["system", "user"]


@pytest.mark.parametrize("detail", ["low", "high", "auto", None])
def test_detail_is_sent_where_it_is_set(detail):
    asked = sent(Question("item-1", "Which?", images=IMAGES[:1]), detail=detail)
    (url,) = (part["image_url"] for part in asked.messages[0]["content"] if part["type"] == "image_url")
    assert url.get("detail") == detail
    assert ("detail" in url) == (detail is not None)


@pytest.mark.parametrize(("own", "expected"), [(None, 77), (5, 5)])
def test_the_limit_of_a_question_goes_before_that_of_the_settings(own, expected):
    asked = sent(Question("item-1", "Which?", max_tokens=own), llm={"max_tokens": 77, "temperature": 0.5, "seed": 3})
    assert asked.body["max_tokens"] == expected
    assert (asked.body["model"], asked.body["temperature"], asked.body["seed"]) == ("scripted", 0.5, 3)


def test_a_schema_reaches_the_server():
    asked = sent(Question("item-1", "Which?", schema=Letter))
    assert asked.schema["properties"].keys() == {"answer"}
    assert sent(Question("item-1", "Which?")).schema is None


def test_text_that_looks_like_a_place_or_an_expression_is_sent_as_it_is():
    wild = "$import os; %question #1 @ref {{images}} {0} \\n ä 肝"
    assert sent(Question("item-1", wild)).messages[0]["content"] == wild


def test_what_is_no_png_is_refused_before_anything_is_sent():
    with ScriptedServer(lambda _: reply()) as server, pytest.raises(SpatialQAError, match="not a PNG"):
        answers(adapter_for(server), [Question("item-1", "Which?", images=(b"GIF89a",))])
    assert not server.asked


def test_it_says_what_shapes_its_replies_and_no_key(monkeypatch):
    monkeypatch.setenv("SPATIALQA_TEST_KEY", "sk-secret")
    llm = LLMSettings(model="m", base_url="http://127.0.0.1:9/v1", api_key_env="SPATIALQA_TEST_KEY", temperature=0.7)
    described = OpenAIAdapter(OpenAIOptions(llm=llm, detail="low", images_first=False)).describe()
    assert described["adapter"] == "openai"
    assert (described["model"], described["temperature"]) == ("m", 0.7)
    assert (described["images_first"], described["captions"], described["detail"]) == (False, True, "low")
    assert "sk-secret" not in str(described)


@pytest.mark.parametrize(
    ("options", "name", "kind"),
    [({}, "scripted", "unstated"), ({"name": "Mine", "kind": "2d_medical"}, "Mine", "2d_medical")],
)
def test_name_and_kind_are_the_models_unless_given(options, name, kind):
    with ScriptedServer([]) as server:
        adapter = adapter_for(server, **options)
    assert (adapter.name, adapter.kind) == (name, kind)


@pytest.mark.parametrize(("seed", "seeds"), [(3, [3, 4, 5]), (None, [None] * 3)])
def test_every_repeat_has_a_seed_of_its_own(seed, seeds):
    found = [sent(Question("item-1", "Which?", sample=sample), llm={"seed": seed}) for sample in range(3)]
    assert [asked.body.get("seed") for asked in found] == seeds
