"""Adapters by name. A new one is entered here, or registered by the code that brings it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from monai_spatialqa.errors import SettingsError
from monai_spatialqa.models.adapter import Adapter
from monai_spatialqa.models.openai_adapter import OpenAIAdapter

Builder = Callable[[Mapping[str, Any]], Adapter]
"""Makes an adapter from its options; raises SettingsError for options that it does not have."""

_BUILDERS: dict[str, Builder] = {"openai": OpenAIAdapter.from_options}


def register_adapter(name: str, builder: Builder) -> None:
    """Make an adapter known under a name.

    Args:
        name: how settings call it.
        builder: makes it from its options. It is called when the adapter is wanted; import large packages in it, not
            beside it.

    Raises:
        SettingsError: the name is taken.
    """
    if name in _BUILDERS:
        raise SettingsError(
            "an adapter of this name is there already",
            key="adapter",
            found=name,
            expected=f"a name other than {', '.join(known_adapters())}",
        )
    _BUILDERS[name] = builder


def known_adapters() -> list[str]:
    """Names that :func:`build_adapter` knows."""
    return sorted(_BUILDERS)


def build_adapter(spec: str | Mapping[str, Any], options: Mapping[str, Any] | None = None) -> Adapter:
    """Make an adapter by its name.

    Args:
        spec: the name; or a mapping with it under ``adapter`` and the options beside it.
        options: more options; they win.

    Returns:
        The adapter; nothing is asked yet.

    Raises:
        SettingsError: an unknown name (those known are listed) or unfit options.

    Example:
        >>> llm = {"model": "qwen2.5-vl-7b", "base_url": "http://127.0.0.1:8000/v1"}
        >>> build_adapter("openai", {"llm": llm, "kind": "2d_general"}).name
        'qwen2.5-vl-7b'
    """
    given = {"adapter": spec} if isinstance(spec, str) else dict(spec)
    given.update(options or {})
    name = given.pop("adapter", None)
    if not isinstance(name, str) or name not in _BUILDERS:
        raise SettingsError(
            "there is no such adapter",
            key="adapter",
            found=name,
            expected=f"one of {', '.join(known_adapters())}",
            next_step="name one of them, or register your own with register_adapter",
        )
    return _BUILDERS[name](given)
