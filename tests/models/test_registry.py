"""Adapters by name: those known, one's own, and what is refused."""

from __future__ import annotations

import asyncio
import sys
import textwrap
from typing import Any

import pytest

from monai_spatialqa.errors import SettingsError
from monai_spatialqa.models import (
    Adapter,
    ModelReply,
    OpenAIAdapter,
    OpenAIOptions,
    Question,
    build_adapter,
    known_adapters,
    register_adapter,
    registry,
)

LLM = {"model": "m", "base_url": "http://127.0.0.1:9/v1"}


class Parrot(Adapter):
    """Says what it is told."""

    name = "parrot"
    kind = "unstated"

    def __init__(self, options: Any) -> None:
        self.options = dict(options)

    async def answer(self, batch):
        return [ModelReply("answered", question.prompt) for question in batch]

    def describe(self):
        return {"adapter": "parrot", **self.options}


class Duck:
    """Has the methods of an adapter without being its child."""

    name, kind = "duck", "unstated"

    async def preflight(self, largest=None): ...
    async def answer(self, batch): ...
    def describe(self): ...
    async def close(self): ...
    async def __aenter__(self): ...
    async def __aexit__(self, *error): ...


@pytest.fixture(autouse=True)
def own_registry(monkeypatch):
    monkeypatch.setattr(registry, "_BUILDERS", {"openai": registry._BUILDERS["openai"]})


def test_openai_is_known():
    assert known_adapters() == ["openai"]
    adapter = build_adapter("openai", {"llm": LLM, "kind": "2d_general", "captions": False})
    assert isinstance(adapter, OpenAIAdapter)
    assert adapter.options == OpenAIOptions(llm=LLM, kind="2d_general", captions=False)


def test_options_beside_the_name_or_apart_with_those_apart_winning():
    adapter = build_adapter({"adapter": "openai", "llm": LLM, "name": "one", "kind": "2d_general"}, {"name": "two"})
    assert (adapter.name, adapter.kind) == ("two", "2d_general")


def test_the_mapping_given_is_not_changed():
    given = {"adapter": "openai", "llm": LLM}
    build_adapter(given)
    assert given == {"adapter": "openai", "llm": LLM}


@pytest.mark.parametrize("spec", ["openaii", "", {"llm": LLM}, {"adapter": None}, {"adapter": 3}])
def test_an_unknown_name_is_an_error_that_lists_the_known_ones(spec):
    with pytest.raises(SettingsError, match=r"no such adapter.*openai") as caught:
        build_adapter(spec)
    assert caught.value.key == "adapter"


@pytest.mark.parametrize(
    ("options", "key", "told"),
    [
        ({}, "llm", "Field required"),
        ({"llm": {**LLM, "modle": "m"}}, "llm::modle", "not permitted"),
        ({"llm": LLM, "image_first": True}, "image_first", "images_first"),
        ({"llm": LLM, "detail": "medium"}, "detail", "'low', 'high' or 'auto'"),
        ({"llm": LLM, "kind": "4d"}, "kind", "2d_general"),
        ({"llm": {"model": "m", "base_url": "127.0.0.1"}}, "llm::base_url", "http://"),
        ({"llm": {**LLM, "api_key_env": "sk-123-secret"}}, "api_key_env", "environment variable"),
    ],
)
def test_unfit_options_are_named_and_never_repeat_a_key(options, key, told):
    with pytest.raises(SettingsError, match=told) as caught:
        build_adapter("openai", options)
    assert caught.value.key == key
    assert "secret" not in str(caught.value)


def test_an_own_adapter_is_registered_and_asked():
    register_adapter("parrot", Parrot)
    assert known_adapters() == ["openai", "parrot"]

    async def ask():
        async with build_adapter("parrot", {"colour": "green"}) as adapter:
            await adapter.preflight()
            return adapter.describe(), await adapter.answer([Question("1", "B"), Question("2", "C")])

    described, replies = asyncio.run(ask())
    assert described == {"adapter": "parrot", "colour": "green"}
    assert [reply.text for reply in replies] == ["B", "C"]


@pytest.mark.parametrize("name", ["openai", "", "a.b"])
def test_taken_and_impossible_names_are_refused(name):
    with pytest.raises(SettingsError) as caught:
        register_adapter(name, Parrot)
    assert caught.value.key == "adapter"


def test_a_name_can_be_given_to_another_on_purpose():
    register_adapter("parrot", OpenAIAdapter.from_options)
    register_adapter("parrot", Parrot, replace=True)
    assert build_adapter("parrot").name == "parrot"


def test_an_own_adapter_is_found_by_its_place(tmp_path, monkeypatch):
    code = """
        from tests.models.test_registry import Parrot
        def make(options):
            return Parrot({**options, "made": True})
        """
    (tmp_path / "birds_of_mine.py").write_text(textwrap.dedent(code))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "birds_of_mine", raising=False)
    assert build_adapter("birds_of_mine.Parrot", {"a": 1}).describe() == {"adapter": "parrot", "a": 1}
    assert build_adapter({"adapter": "birds_of_mine.make"}).describe() == {"adapter": "parrot", "made": True}
    assert known_adapters() == ["openai"]


@pytest.mark.parametrize("place", ["no_such_module_here.Echo", "math.Echo", ".Echo", "math."])
def test_a_wrong_place_is_an_error(place):
    with pytest.raises(SettingsError, match="no adapter at this place") as caught:
        build_adapter(place)
    assert place in str(caught.value)


@pytest.mark.parametrize("place", ["os.path", "os.getcwd", "string.ascii_letters"])
def test_a_place_that_cannot_make_an_adapter_is_an_error(place):
    with pytest.raises(SettingsError, match="adapter") as caught:
        build_adapter(place)
    assert caught.value.key == "adapter"
    assert place in str(caught.value)


def test_what_is_no_adapter_is_refused_when_it_is_built():
    with pytest.raises(SettingsError, match=r"no adapter.*collections.OrderedDict gives OrderedDict"):
        build_adapter("collections.OrderedDict")


def test_methods_make_an_adapter_and_a_subclass_needs_the_four_that_matter():
    register_adapter("duck", lambda options: Duck())
    assert isinstance(build_adapter("duck"), Duck)
    for lacking in ("name", "kind", "answer", "describe"):
        members = {
            name: value for name, value in vars(Parrot).items() if name in ("name", "kind", "answer", "describe")
        }
        del members[lacking]
        with pytest.raises(TypeError, match=lacking):
            type("Half", (Adapter,), members)()
