"""A question (what a runner may read) and its reference (what only scoring and review may read)."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from monai_spatialqa.records.base import Record, RecordPart

TaskCode = Literal["DIR", "DIST", "EXT", "VOL", "COMP", "VOLEST"]
ItemFormat = Literal["mca", "yesno", "numeric"]
Argument = str | float | int | bool | list[str]

LETTERS = "ABCDEFGH"
"""Letters of options, in their order."""


class ItemCase(RecordPart):
    """The scan that a question is about."""

    case_id: str
    patient_id: str | None = None
    image_path: str | None = Field(default=None, description="relative to the root of the measurements")
    modality: Literal["CT", "MR"] | None = None


class Provenance(RecordPart):
    """Where the wording comes from. The key never comes from a model."""

    template: str | None = Field(default=None, description="stem of the package's template file, and which one of it")
    model: str | None = Field(default=None, description="model that worded the question, null without one")
    prompt_sha256: str | None = None
    seed: int = Field(description="seed of the run that made the item")
    settings_sha256: str | None = Field(default=None, description="hash of the settings that shape the item")
    sources: list[str] = Field(default_factory=list, description="literature that was used, with the sentence")


class Item(Record):
    """One question, without its answer."""

    item_id: str = Field(min_length=1)
    task: TaskCode
    subtask: str
    format: ItemFormat
    question: str = Field(min_length=1)
    options: list[str] = Field(default_factory=list, description="texts in the order shown, A first; none for numeric")
    answer_unit: str | None = Field(default=None, description="unit that a numeric answer is asked in")
    structures: list[str] = Field(min_length=1, description="structures of the case that it is about")
    case: ItemCase
    provenance: Provenance
    licence: str | None = Field(default=None, description="of the scan, as its source states it")
    split: str | None = Field(default=None, description="by patient")

    @model_validator(mode="after")
    def _format_fits(self) -> Item:
        if self.format == "mca" and not 2 <= len(self.options) <= len(LETTERS):
            raise ValueError(f"options: a choice has 2 to {len(LETTERS)} options, this one {len(self.options)}")
        if self.format == "yesno" and self.options != ["yes", "no"]:
            raise ValueError("options: a yes-no question has the options yes and no, in this order")
        if self.format == "numeric" and (self.options or self.answer_unit is None):
            raise ValueError("answer_unit: a numeric question has a unit and no options")
        if not all(map(str.strip, self.options)):
            raise ValueError("options: one is empty")
        if len(set(self.options)) != len(self.options):
            raise ValueError("options: two are the same text")
        return self

    @property
    def record_id(self) -> str:
        """The id of the item."""
        return self.item_id


class Evidence(RecordPart):
    """A figure that the answer rests on, and how to compute it again."""

    tool: str = Field(description="name of a tool of monai_spatialqa.items.tools")
    arguments: dict[str, Argument]
    value: float | str
    unit: str | None = None
    low: float | None = Field(default=None, description="lowest value within half a voxel, in the same unit")
    high: float | None = Field(default=None, description="highest value within half a voxel")
    measurement_id: str = Field(description="case id of the measurement")


class Distractor(RecordPart):
    """A wrong option, and why it is wrong."""

    text: str
    why: str
    value: float | None = None
    unit: str | None = None


class Reference(Record):
    """The answer of an item and what it rests on."""

    item_id: str = Field(min_length=1)
    answer: str = Field(description="letter of the option, or yes or no; the value as text for numeric")
    answer_text: str = Field(description="text of the key")
    answer_value: float | None = None
    answer_unit: str | None = None
    evidence: list[Evidence] = Field(min_length=1)
    distractors: list[Distractor] = Field(default_factory=list)
    margin: float | None = Field(
        default=None,
        description="distance of the deciding figures from the next answer, over what half a voxel moves them; above 1 "
        "the key is the same anywhere within half a voxel",
    )

    @property
    def record_id(self) -> str:
        """The id of the item."""
        return self.item_id
