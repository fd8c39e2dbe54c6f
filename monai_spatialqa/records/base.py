"""What all records share: strictness, a schema version, and JSON that any strict parser takes."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Annotated, Any, ClassVar, Literal, Self, TypeVar, get_args, get_origin

from pydantic import BaseModel, ConfigDict, ModelWrapValidatorHandler, ValidationError, model_validator

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


_REFUSE_NAN = (str, int, float, bool, type(None))


def _refuses_nan(annotation: Any) -> bool:
    """Whether validation of a field refuses NaN at every depth; ``Any`` and the like take it."""
    origin = get_origin(annotation)
    if origin is Annotated:
        return _refuses_nan(get_args(annotation)[0])
    if origin is Literal or annotation is Ellipsis:
        return True
    if origin is not None:
        return all(map(_refuses_nan, get_args(annotation)))
    return isinstance(annotation, type) and issubclass(annotation, (*_REFUSE_NAN, RecordPart))


class RecordPart(BaseModel):
    """A piece of a record. Unknown fields are refused, NaN is stored as null, instances are immutable."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    _checked: ClassVar[bool] = True
    """Whether the types of all fields refuse NaN, so that values that pass hold none."""

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:
        """Find out once a class what need not be looked at once an instance."""
        cls._checked = all(_refuses_nan(field.annotation) for field in cls.model_fields.values())

    @model_validator(mode="wrap")
    @classmethod
    def _null_for_nan(cls, data: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        """Most records hold no NaN: the values are gone through only when they are refused, or could hide one."""
        if not isinstance(data, dict):
            return handler(data)
        if cls._checked:
            try:
                return handler(data)
            except ValidationError:
                data = _finite(data)
        else:
            data = _finite(data)
        return handler(data)


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
