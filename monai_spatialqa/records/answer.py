"""What a model said to an item, before anybody reads it; and what it counts for, after reading."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from monai_spatialqa.records.base import Record, RecordPart
from monai_spatialqa.records.item import ItemFormat, TaskCode

Outcome = Literal["answered", "truncated", "refused", "empty", "malformed", "service", "image_ignored"]
"""How a call ended. ``answered``: it ended normally with text. ``image_ignored``: the server dropped the images."""

ModelKind = Literal["2d_general", "2d_medical", "3d_native", "text_only", "baseline", "unstated"]
"""The groups of a result table."""


class Usage(RecordPart):
    """Tokens of a call, as the server counts them; null where it does not say."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class Answer(Record):
    """One reply of one model to one item, as it came; wall times are kept beside, never here."""

    answer_id: str = Field(min_length=1, description="item id, with rotation and repeat where they are not 0")
    item_id: str = Field(min_length=1)
    model: str = Field(description="name under which the model stands in tables")
    kind: ModelKind = "unstated"
    blind: bool = Field(default=False, description="asked without the image")
    preset: str = Field(description="name of the prompt preset")
    rotation: int = Field(default=0, ge=0, description="places that the options were moved on, for CircularEval")
    repeat: int = Field(default=0, ge=0)
    options: list[str] = Field(default_factory=list, description="texts in the order shown, A first")
    outcome: Outcome
    reply: str | None = Field(default=None, description="text of the model, whole and unchanged")
    rejected: list[str] = Field(
        default_factory=list, description="earlier texts of the model that did not fit the form asked for, oldest first"
    )
    reasoning: str | None = Field(default=None, description="reasoning, where the server gives it apart from the text")
    reply_format: Literal["text", "json"] = Field(default="text", description="json: structured output was asked for")
    stop_reason: str | None = Field(default=None, description="as the server gives it")
    problem: str | None = Field(default=None, description="what went wrong, for every outcome but answered")
    usage: Usage = Field(default_factory=Usage)
    served_model: str | None = Field(
        default=None, description="name that the server answered under, where it is not the one asked for"
    )
    images: int = Field(default=0, ge=0, description="images that were sent")
    prompt_sha256: str | None = Field(default=None, description="hash of the prompt's text file and of what it asked")
    settings_sha256: str | None = Field(default=None, description="hash of the settings that shape an answer")

    @property
    def record_id(self) -> str:
        """The id of the answer."""
        return self.answer_id


def answer_id(item_id: str, rotation: int = 0, repeat: int = 0) -> str:
    """Id of an answer: the item's own for the first repeat of the unrotated item."""
    return item_id if not (rotation or repeat) else f"{item_id}~{rotation}.{repeat}"


class Reading(RecordPart):
    """What was read from a reply, by which rule, or why nothing was."""

    letter: str | None = Field(default=None, description="letter of the option in the item's own order; yes or no")
    value: float | None = Field(default=None, description="number, in the unit that the item asks for")
    written_unit: str | None = Field(default=None, description="unit that the reply gives; null for a bare number")
    rule: str | None = Field(default=None, description="rule of the reader that found it")
    reason: str | None = Field(default=None, description="why nothing was read")
    flags: list[str] = Field(default_factory=list, description="e.g. range, letter_text_conflict, letter_missing")
    abstained: bool = Field(default=False, description="the reply says that it cannot be determined")


class Score(Record):
    """What one answer counts for. Everything a table is grouped by is in it."""

    answer_id: str = Field(min_length=1)
    item_id: str = Field(min_length=1)
    model: str
    kind: ModelKind = "unstated"
    blind: bool = False
    rotation: int = 0
    repeat: int = 0
    task: TaskCode
    subtask: str
    format: ItemFormat
    case_id: str
    patient_id: str | None = None
    structures: list[str]
    organs: list[str] = Field(default_factory=list, description="of the ten organs of the result tables")
    tumours: list[str] = Field(default_factory=list, description="of the eight tumour kinds of the result tables")
    volume_ml: float | None = Field(default=None, description="of the structure asked about first")
    modality: str | None = None
    source: str | None = Field(default=None, description="data set of the scan")
    outcome: Outcome
    reading: Reading
    valid: bool = Field(description="a letter or a number was read")
    score: float = Field(ge=0, le=1, description="1 or 0 for a choice, mean relative accuracy for a number")
    score_parity: float | None = Field(default=None, description="as public harnesses compute it; numbers only")
    chance: float | None = Field(default=None, description="score of blind guessing: 1 over the options; null: number")
    key: str = Field(description="the right answer: letter, yes or no, or the number as text")
    key_value: float | None = Field(default=None, description="of a number, in the unit asked for")
    unit: str | None = None
    relative_error: float | None = Field(default=None, description="|answer - truth| / |truth|")
    log10_ratio: float | None = Field(default=None, description="log10(answer / truth); 3 is a slip of a thousand")
    parser_version: str

    @property
    def record_id(self) -> str:
        """The id of the answer."""
        return self.answer_id
