"""The generate stage: from ``measurements.jsonl`` to ``items.jsonl`` and ``references.jsonl``. Loaded on use."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from monai_spatialqa.generation.settings import GenerateSettings
    from monai_spatialqa.generation.stage import run_generation

__all__ = ["GenerateSettings", "run_generation"]

_HOMES = {"GenerateSettings": "settings", "run_generation": "stage"}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
