"""Read YAML and JSON without losing what their usual loaders lose: double keys, and numbers as written.

A label map that names id 11 twice must be refused, and both loaders keep the last entry without a word. YAML also reads
``010`` as 8, ``1:30`` as 90 and ``no`` as false. Here keys stay text as written, and double keys stay side by side.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from monai_spatialqa.errors import LabelMapError

_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,39}")


class Pairs(list[tuple[Any, Any]]):
    """A mapping as a list of key and value, double keys included."""


@dataclass(frozen=True)
class OtherScalar:
    """A value that is neither text, nor a plain whole number, nor nothing: kept as written."""

    text: str

    def __str__(self) -> str:
        return self.text


def parse_yaml(text: str) -> Any:
    """Parse one YAML document into :class:`Pairs`, lists, text, whole numbers, None and :class:`OtherScalar`.

    Raises:
        LabelMapError: when it is not one well-formed document, or uses aliases.
    """
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except (yaml.YAMLError, RecursionError) as error:
        raise _malformed("YAML", error) from error
    return None if node is None else _from_node(node, set())


def parse_json(text: str) -> Any:
    """The same for JSON.

    Raises:
        LabelMapError: when it is not well-formed.
    """
    try:
        return json.loads(text, object_pairs_hook=Pairs, parse_float=OtherScalar, parse_constant=OtherScalar)
    except (ValueError, RecursionError) as error:
        raise _malformed("JSON", error) from error


def from_python(value: Any) -> Any:
    """The same for a dictionary from code, whose values are kept as they are."""
    if isinstance(value, Mapping):
        return Pairs((key, from_python(item)) for key, item in value.items())
    return [from_python(item) for item in value] if isinstance(value, (list, tuple)) else value


def _from_node(node: yaml.Node, seen: set[int]) -> Any:
    if isinstance(node, yaml.ScalarNode):
        return _from_scalar(node)
    line = node.start_mark.line + 1
    if id(node) in seen:
        raise _not_plain("the label map uses a YAML alias", found=f"an alias to line {line}")
    seen.add(id(node))
    if isinstance(node, yaml.MappingNode):
        return Pairs((_key_text(key), _from_node(value, seen)) for key, value in node.value)
    return [_from_node(item, seen) for item in node.value]


def _key_text(node: yaml.Node) -> str:
    if not isinstance(node, yaml.ScalarNode):
        raise _not_plain("a key of the label map is a list or a mapping", found=f"line {node.start_mark.line + 1}")
    return str(node.value)


def _from_scalar(node: yaml.ScalarNode) -> Any:
    kind = node.tag.rpartition(":")[2]
    if kind == "null":
        return None
    if kind == "str":
        return node.value
    if kind == "int" and _INTEGER.fullmatch(node.value):
        return int(node.value)
    return OtherScalar(node.value)


def _malformed(language: str, error: Exception) -> LabelMapError:
    return LabelMapError(
        f"the label map is not well-formed {language}",
        code="malformed_label_map",
        found=" ".join(str(error).split()),
        expected="one 'id: name' a line, or the full form with 'structures'",
        next_step="correct the file at the place named",
    )


def _not_plain(problem: str, found: str) -> LabelMapError:
    return LabelMapError(
        problem,
        code="malformed_label_map",
        found=found,
        expected="plain entries",
        next_step="write one 'id: name' a line",
    )
