"""What all records share: strictness, a schema version, and JSON that any strict parser takes."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, model_validator

SCHEMA_VERSION = "1"

RecordT = TypeVar("RecordT", bound="Record")


def _finite(value: Any) -> Any:
    """NaN and infinity become None, at any depth: JSON has no word for them."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return value


class RecordPart(BaseModel):
    """A piece of a record. Unknown fields are refused, NaN is stored as null, instances are immutable."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _null_for_nan(cls, data: Any) -> Any:
        return _finite(data) if isinstance(data, dict) else data


class Record(RecordPart):
    """One line of a JSONL file: what crosses a stage boundary."""

    schema_version: str = SCHEMA_VERSION

    @property
    @abstractmethod
    def record_id(self) -> str:
        """The id under which a journal keeps this record."""

    def to_json_line(self) -> str:
        """One line of strict JSON (UTF-8, no NaN), without the newline. Field order is the declared order."""
        return self.model_dump_json()

    @classmethod
    def from_json_line(cls: type[RecordT], line: str | bytes) -> RecordT:
        """Parse and validate one line.

        Raises:
            pydantic.ValidationError: when the line is not JSON or does not fit the record.
        """
        return cls.model_validate_json(line)
