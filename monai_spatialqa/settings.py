"""Give settings the types that a stage's pydantic model wants, or refuse them by name. Knows nothing of MONAI."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from pathlib import PurePath
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import yaml
from pydantic import BaseModel, ValidationError

from monai_spatialqa.errors import SettingsError, readable


def known_settings(model: type[BaseModel]) -> dict[str, str]:
    """Key in the config -> name of the model's field."""
    return {field.alias or name: name for name, field in model.model_fields.items()}


def as_plain(value: Any) -> Any:
    """The form that a config has: models as dictionaries, tuples as lists, paths as text. New containers."""
    if isinstance(value, BaseModel):
        return {key: as_plain(getattr(value, name)) for key, name in known_settings(type(value)).items()}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, PurePath):
        return str(value)
    if type(value) is dict:
        return {key: as_plain(item) for key, item in value.items()}
    return [as_plain(item) for item in value] if type(value) in (list, tuple) else value


def same_data(one: Any, other: Any) -> bool:
    """Equal in value and type, at any depth; objects that are not plain data only when they are the same."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same_data(one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(map(same_data, one, other))
    return one is other or (type(one) is type(other) and isinstance(one, (str, int, float)) and one == other)


def kinds_of(annotation: Any) -> list[Any]:
    """The members of a union, however nested; otherwise the annotation itself."""
    origin = get_origin(annotation)
    if origin is Annotated:
        return kinds_of(get_args(annotation)[0])
    if origin in (Union, UnionType):
        return [kind for member in get_args(annotation) for kind in kinds_of(member)]
    return [annotation]


def from_text(value: Any, kinds: list[Any]) -> Any:
    """Give text from the command line the meaning it has in YAML, where the setting's type asks for that."""
    if not isinstance(value, str):
        return value
    value = readable(value)
    if value[:1] in ("{", "[") and not {dict, list, tuple}.isdisjoint(get_origin(kind) or kind for kind in kinds):
        with contextlib.suppress(yaml.YAMLError):  # the command line's own parser knows ASCII only
            return yaml.safe_load(value)
    choices = [choice for kind in kinds if get_origin(kind) is Literal for choice in get_args(kind)]
    if value.lower() == "null" and type(None) in kinds:
        return None
    if value.lower() in ("true", "false") and (bool in kinds or not {True, False}.isdisjoint(choices)):
        return value.lower() == "true"
    if str not in kinds and value not in choices:
        for choice in choices:
            if str(choice) == value:
                return choice
        for kind in (int, float):
            if kind in kinds:
                with contextlib.suppress(ValueError):
                    return kind(value)
    return value


def refuse_lossy(key: str, given: Any, taken: Any) -> None:
    """Refuse what pydantic takes but nobody means: true for 1, and numbers that are not finite."""
    if isinstance(given, dict) and isinstance(taken, dict):
        for name in given.keys() & taken.keys():
            refuse_lossy(f"{key}::{name}", given[name], taken[name])
    elif isinstance(given, (list, tuple)) and isinstance(taken, list):
        for number, (one, other) in enumerate(zip(given, taken, strict=False)):
            refuse_lossy(f"{key}::{number}", one, other)
    is_number = isinstance(taken, (int, float)) and not isinstance(taken, bool)
    if is_number and (isinstance(given, bool) or not math.isfinite(taken)):
        raise SettingsError(
            f"the setting '{key}' has the wrong type or value",
            key=key,
            found=_shown(given),
            expected="a finite number",
            next_step="write it in digits",
        )


def validated(stage: str, model: type[BaseModel], values: Mapping[str, Any]) -> BaseModel:
    """Validate; where text is wanted, whole numbers become text: YAML and the command line turn an id 12 into one."""
    values = as_plain(dict(values))
    while True:
        try:
            return model.model_validate(values)
        except ValidationError as error:
            problems = error.errors(include_url=False)
        repaired = False
        for problem in problems:
            path, holder, value = _place(values, problem["loc"])
            if problem["type"] == "string_type" and isinstance(value, int) and not isinstance(value, bool):
                holder[path[-1]] = str(value)
                repaired = True
        if not repaired:
            raise _refusal(stage, model, values, problems)


def _place(values: Any, location: Iterable[Any]) -> tuple[list[Any], Any, Any]:
    """Follow an error's location into the values: the path as far as it goes, the container, the value there."""
    path: list[Any] = []
    holder, value = None, values
    for part in location:  # locations also name members of unions, which are no keys
        if (isinstance(value, dict) and part in value) or (
            isinstance(value, list) and isinstance(part, int) and part < len(value)
        ):
            path, holder, value = [*path, part], value, value[part]
    return path, holder, value


def _refusal(stage: str, model: type[BaseModel], values: Any, problems: Sequence[Any]) -> SettingsError:
    """One error for all settings that do not fit."""
    wrong: dict[str, tuple[str, str | None, list[str]]] = {}
    for problem in problems:
        path, _, value = _place(values, problem["loc"])
        what, found = "has the wrong type or value", _shown(value) if path else None
        expected = problem["msg"].removeprefix("Input should be ").removeprefix("Value error, ")
        if problem["type"] == "missing":
            path, what, found, expected = list(problem["loc"]), "is required", None, "a value"
        elif problem["type"] == "extra_forbidden":
            what, expected = "does not exist", f"one of: {', '.join(_names_at(model, path[:-1]))}"
        key = "::".join(map(str, path)) or "settings"
        wrong.setdefault(key, (what, found, []))[2].append(expected)
    if len(wrong) == 1:
        ((key, (what, found, expected_)),) = wrong.items()
        if key == "settings":  # several settings together
            text = " or ".join(dict.fromkeys(expected_))
            return SettingsError(f"the settings of the stage '{stage}' do not fit together: {text}")
        wants_text = any(problem["type"] == "string_type" for problem in problems)
        quoting = "; text that looks like a number needs quotes of its own" if wants_text else ""
        return SettingsError(
            f"the setting '{key}' of the stage '{stage}' {what}",
            key=key,
            found=found,
            expected=" or ".join(dict.fromkeys(expected_)),
            next_step=None if what == "does not exist" else f"give it as --{key} VALUE or in a config{quoting}",
        )
    told = [
        f"'{key}' {what} ({f'found {found}, ' if found else ''}expected {' or '.join(dict.fromkeys(expected_))})"
        for key, (what, found, expected_) in wrong.items()
    ]
    return SettingsError(
        f"{len(wrong)} settings of the stage '{stage}' do not fit: {'; '.join(told)}", key=", ".join(wrong)
    )


def _names_at(model: type[BaseModel], path: list[Any]) -> list[str]:
    """Names of the settings of a nested model; none when the path does not lead to one."""
    found: type[BaseModel] | None = model
    for part in path:
        field = found.model_fields.get(part) if found else None
        inner = kinds_of(field.annotation) if field else []
        found = next((kind for kind in inner if isinstance(kind, type) and issubclass(kind, BaseModel)), None)
    return list(known_settings(found)) if found else []


def _shown(value: Any) -> str:
    return f"{value!r} ({type(value).__name__})"
