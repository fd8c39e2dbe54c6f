"""Adapters by name. One's own is registered by the code that brings it, or named by its place: ``module.Class``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from monai_spatialqa.errors import SettingsError, SpatialQAError
from monai_spatialqa.models.adapter import Adapter
from monai_spatialqa.models.openai_adapter import OpenAIAdapter

Builder = Callable[[Mapping[str, Any]], Adapter]
"""Makes an adapter from its options; raises SettingsError for options that it does not have."""

_BUILDERS: dict[str, Builder] = {"openai": OpenAIAdapter.from_options}


def register_adapter(name: str, builder: Builder, *, replace: bool = False) -> None:
    """Make an adapter known under a name.

    Args:
        name: how settings call it; without a dot, which stands for a place.
        builder: makes it from its options. It is called when the adapter is wanted; import large packages in it, not
            beside it.
        replace: take the place of one of this name; otherwise that is an error.

    Raises:
        SettingsError: the name is taken, or none.
    """
    if not name or "." in name:
        raise SettingsError("an adapter needs a name without a dot", key="adapter", found=repr(name))
    if name in _BUILDERS and not replace:
        raise SettingsError(
            "an adapter of this name is there already",
            key="adapter",
            found=name,
            expected=f"a name other than {', '.join(known_adapters())}",
            next_step="choose another name, or pass replace=True",
        )
    _BUILDERS[name] = builder


def known_adapters() -> list[str]:
    """Names that :func:`build_adapter` knows."""
    return sorted(_BUILDERS)


def build_adapter(spec: str | Mapping[str, Any], options: Mapping[str, Any] | None = None) -> Adapter:
    """Make an adapter by its name.

    Args:
        spec: the name; or a mapping with it under ``adapter`` and the options beside it. A name with a dot is a place,
            such as ``my_models.Echo``: the module is imported, and its class or function called with the options as
            one mapping.
        options: more options; they win.

    Returns:
        The adapter; nothing is asked yet.

    Raises:
        SettingsError: an unknown name (those known are listed) or place, unfit options, or something that is no
            adapter.

    Example:
        >>> llm = {"model": "qwen2.5-vl-7b", "base_url": "http://127.0.0.1:8000/v1"}
        >>> build_adapter("openai", {"llm": llm, "kind": "2d_general"}).name
        'qwen2.5-vl-7b'
    """
    given = {"adapter": spec} if isinstance(spec, str) else dict(spec)
    given.update(options or {})
    name = given.pop("adapter", None)
    if isinstance(name, str) and "." in name:
        builder = _at(name)
    elif isinstance(name, str) and name in _BUILDERS:
        builder = _BUILDERS[name]
    else:
        raise SettingsError(
            "there is no such adapter",
            key="adapter",
            found=name,
            expected=f"one of {', '.join(known_adapters())}, or module.Class",
            next_step="name one of them, or register your own with register_adapter",
        )
    try:
        adapter = builder(given)
    except SpatialQAError:
        raise
    except Exception as error:  # somebody's own code, which may be called with what it cannot take
        raise SettingsError(
            "the adapter could not be made from its options",
            key="adapter",
            found=f"{name}: {type(error).__name__}: {error}",
            expected="a class or function that takes the options as one mapping and gives an adapter",
            next_step="correct the name or the options",
        ) from error
    if not isinstance(adapter, Adapter):
        raise SettingsError(
            "what was built is no adapter",
            key="adapter",
            found=f"{name} gives {type(adapter).__name__}",
            expected="a subclass of monai_spatialqa.models.Adapter, or a class with its methods",
        )
    return adapter


def _at(place: str) -> Builder:
    """The class or function that a dotted name leads to."""
    module, _, name = place.rpartition(".")
    try:
        found: Builder = getattr(import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise SettingsError(
            "there is no adapter at this place",
            key="adapter",
            found=f"{place}: {error}",
            expected="module.Class, of a module that Python finds",
            next_step="correct the name, or put the module's folder on PYTHONPATH",
        ) from error
    if not callable(found):
        raise SettingsError(
            "what is at this place is no adapter",
            key="adapter",
            found=f"{place}, of type {type(found).__name__}",
            expected="a class or function that takes the options as one mapping and gives an adapter",
            next_step="correct the name",
        )
    return found
