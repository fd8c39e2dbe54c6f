"""A reply that should be JSON of a given shape: strict reading, and the three repairs that change no content.

The numbers of a reply are checked before its shape: servers that force the JSON grammar still let a model write
``1062.5e+26000000``, which Python reads as infinity, or an exponent so low that the number becomes 0 (both seen with
llama.cpp and small models).
"""

from __future__ import annotations

import json
import math
import re
from typing import Any, NoReturn

from pydantic import BaseModel, ValidationError

_FENCED = re.compile(r"```[A-Za-z0-9_-]*[ \t]*\r?\n(.*?)```", re.DOTALL)
_REASONING = re.compile(r"\s*<(think|thinking|reasoning)>.*?</\1>", re.DOTALL)
_CLOSING = re.compile(r"\s*[}\]]")
_MOST_PROBLEMS = 5


class MisfitError(ValueError):
    """The text is not JSON of the wanted shape; the message says why and repeats none of the text."""


def read_structured(text: str, schema: type[BaseModel], *, repair: bool) -> BaseModel:
    """Read a reply as a pydantic model.

    Args:
        text: the reply.
        schema: the model.
        repair: drop a closed block of reasoning in front, take JSON out of a code fence, and drop trailing commas,
            where the text as it is does not fit. Only for a reply that ended normally: a cut one must not be made to
            look whole.

    Raises:
        MisfitError: the text does not fit; the reason.
    """
    try:
        return _read(text, schema)
    except MisfitError:
        repaired = _without_trailing_commas(_without_fence(_without_reasoning(text))) if repair else text
        if repaired == text:
            raise
    return _read(repaired, schema)


def _read(text: str, schema: type[BaseModel]) -> BaseModel:
    try:
        json.loads(text, parse_float=_finite, parse_int=_finite, parse_constant=_no_constant)
        return schema.model_validate_json(text.strip())
    except ValidationError as error:
        problems = error.errors(include_url=False, include_input=False, include_context=False)
        told = [f"{'.'.join(map(str, one['loc'])) or 'the whole'}: {one['msg']}" for one in problems]
        more = f" and {len(told) - _MOST_PROBLEMS} more" if len(told) > _MOST_PROBLEMS else ""
        raise MisfitError(f"the JSON does not fit the schema ({'; '.join(told[:_MOST_PROBLEMS])}{more})") from None
    except MisfitError:
        raise
    except json.JSONDecodeError as error:
        raise MisfitError(f"it is not JSON ({error.msg} at character {error.pos})") from None
    except (ValueError, RecursionError) as error:  # a whole number of thousands of digits; nested too deeply
        raise MisfitError(f"its JSON cannot be read ({type(error).__name__})") from None


def _finite(written: str) -> float:
    number = float(written)
    mantissa = re.split("[eE]", written)[0]
    if not math.isfinite(number) or (number == 0 and re.search("[1-9]", mantissa)):
        raise MisfitError("a number is beyond what a computer can hold")
    return number


def _no_constant(name: str) -> NoReturn:
    raise MisfitError(f"{name} is no JSON number")


def _without_reasoning(text: str) -> str:
    """What stands behind a closed block of reasoning at the beginning."""
    block = _REASONING.match(text)
    return text[block.end() :] if block else text


def _without_fence(text: str) -> str:
    """What stands in the only code fence; the text itself where there is none, or more than one."""
    found = _FENCED.findall(text)
    return found[0].strip() if len(found) == 1 else text


def _without_trailing_commas(text: str) -> str:
    """Drop every comma that stands right before a closing bracket, outside strings."""
    kept: list[str] = []
    in_string = escaped = False
    for place, character in enumerate(text):
        if in_string:
            in_string = escaped or character != '"'
            escaped = character == "\\" and not escaped
        elif character == '"':
            in_string = True
        elif character == "," and _CLOSING.match(text, place + 1):
            continue
        kept.append(character)
    return "".join(kept)


def schema_text(schema: type[BaseModel]) -> str:
    """The JSON Schema as text, for a prompt."""
    return json.dumps(schema.model_json_schema(), ensure_ascii=False, sort_keys=True)


def schema_key(schema: type[BaseModel] | None) -> Any:
    """What identifies a schema in a key: its name, which servers are sent, and its JSON Schema."""
    return None if schema is None else [schema.__name__, schema.model_json_schema()]
