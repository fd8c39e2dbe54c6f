"""Units as questions for a model: the prompt, the images, the form that the reply must have."""

from __future__ import annotations

from functools import cache
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, create_model

from monai_spatialqa.evaluation.rotation import Unit
from monai_spatialqa.evaluation.scans import Shown
from monai_spatialqa.evaluation.settings import EvaluateSettings
from monai_spatialqa.models import Question
from monai_spatialqa.records.item import LETTERS, Item

UNDETERMINED = "cannot be determined"
"""How a reply says that it abstains, in the words of the prompts."""


def question_of(unit: Unit, shown: Shown | None, settings: EvaluateSettings) -> Question:
    """What a model gets.

    Args:
        unit: what is asked.
        shown: the images and what is told of them; None without images.
        settings: of the run.
    """
    images = None if shown is None else shown.text
    return Question(
        key=unit.answer_id,
        prompt=settings.prompt.text(unit.item, unit.options, images=images, abstain=settings.abstain),
        images=() if shown is None else tuple(view.png for view in shown.views),
        captions=() if shown is None else shown.captions,
        schema=reply_schema(unit.item, abstain=settings.abstain) if settings.structured else None,
        sample=unit.repeat,
    )


def prompt_hash(unit: Unit, settings: EvaluateSettings) -> str:
    """Hash of the preset and of what it asks of a unit."""
    return settings.prompt.prompt_sha256(unit.item, unit.options, blind=unit.blind, abstain=settings.abstain)


def reply_schema(item: Item, *, abstain: bool) -> type[BaseModel]:
    """The form of a structured reply: a letter, yes or no, or a number with its unit; and null or words to abstain."""
    if item.format == "numeric":
        return _number_schema(abstain)
    words = tuple(item.options) if item.format == "yesno" else tuple(LETTERS[: len(item.options)])
    return _choice_schema((*words, UNDETERMINED) if abstain else words)


@cache
def _choice_schema(words: tuple[str, ...]) -> type[BaseModel]:
    kind: Any = Literal[words]
    return create_model("ChoiceReply", __config__=ConfigDict(extra="forbid"), answer=(kind, ...))


@cache
def _number_schema(abstain: bool) -> type[BaseModel]:
    value: Any = float | None if abstain else float
    finite: Any = Field(allow_inf_nan=False)
    return create_model(
        "NumberReply", __config__=ConfigDict(extra="forbid"), value=(value, finite), unit=(str, Field(max_length=16))
    )
