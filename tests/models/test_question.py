"""What an adapter gets: nothing that could tell the answer, by type and at run time."""

from __future__ import annotations

import ast
import dataclasses
import pickle
from collections.abc import Sequence
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import pytest
from pydantic import BaseModel

import monai_spatialqa.models
from monai_spatialqa.errors import SpatialQAError
from monai_spatialqa.models import Adapter, ModelReply, OpenAIAdapter, Question
from monai_spatialqa.records.item import Reference
from tests.models.asking import adapter_for, answers, png
from tests.servers.openai_server import ScriptedServer, reply

SECRET = "k3y-that-no-model-may-see"

QUESTION = Question(
    key=f"item-1 {SECRET}",
    prompt="Which kidney is larger?",
    system="You are a radiologist.",
    images=(png(1), png(2)),
    captions=("Image 1 of 2", "Image 2 of 2"),
)


def leaves(hint: Any) -> set[Any]:
    """The types that a value of this type is made of."""
    if get_origin(hint) in (tuple, Union, UnionType):
        return {leaf for part in get_args(hint) if part is not Ellipsis for leaf in leaves(part)}
    return {hint}


def test_references_have_no_place_in_a_question_by_type():
    found = {leaf for hint in get_type_hints(Question).values() for leaf in leaves(hint)}
    assert found == {str, bytes, int, NoneType, type[BaseModel]}, "texts, images and numbers; no record of any kind"
    for kind in (Adapter, OpenAIAdapter):
        for method, taken in ((kind.answer, Sequence[Question]), (kind.preflight, Question | None)):
            hints = get_type_hints(method)
            hints.pop("return")
            assert list(hints.values()) == [taken], f"{kind.__name__}.{method.__name__} takes questions alone"


def test_references_have_no_place_in_a_question_at_run_time():
    with pytest.raises(AttributeError):
        object.__setattr__(QUESTION, "reference", SECRET)  # round the frozen dataclass, too
    with pytest.raises(dataclasses.FrozenInstanceError):
        QUESTION.prompt = SECRET
    with pytest.raises(TypeError):
        Question(key="item-1", prompt="?", reference=SECRET)
    assert Question.__final__, "a subclass could bring more: mypy refuses it"


def test_references_do_not_get_past_the_adapter():
    secret = Reference.model_construct(item_id="item-1", answer=SECRET)
    with ScriptedServer(lambda _: reply()) as server:
        adapter = adapter_for(server)
        with pytest.raises(AttributeError):
            answers(adapter, [secret])
    assert not server.asked, "refused before anything is sent"


def test_a_model_does_not_see_the_key_of_a_question():
    with ScriptedServer(lambda _: reply()) as server:
        (answer,) = answers(adapter_for(server), [QUESTION])
    assert answer.outcome == "answered"
    for asked in server.asked:
        assert SECRET not in f"{asked.path}{asked.headers}{asked.body}"
        assert set(asked.body) <= {"model", "messages", "temperature", "seed", "max_tokens"}


def test_the_room_knows_no_record_with_an_answer():
    for path in Path(monai_spatialqa.models.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("monai_spatialqa.records"):
                assert node.module == "monai_spatialqa.records.answer", path.name
                assert {name.name for name in node.names} <= {"ModelKind", "Outcome", "Usage"}, path.name


@pytest.mark.parametrize("captions", [("one",), ("one", "two", "three")])
def test_captions_are_one_for_each_image(captions):
    with pytest.raises(SpatialQAError, match=r"captions and images.*item-1") as caught:
        Question("item-1", "?", images=(png(), png()), captions=captions)
    assert caught.value.code == "bad_captions"


def test_questions_and_replies_can_be_compared_and_sent_to_other_processes():
    assert pickle.loads(pickle.dumps(QUESTION)) == QUESTION
    assert dataclasses.replace(QUESTION, sample=1) != QUESTION
    answer = ModelReply("answered", "B")
    assert pickle.loads(pickle.dumps(answer)) == answer
