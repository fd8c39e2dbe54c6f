"""The generate stage: from ``measurements.jsonl`` to ``items.jsonl`` and ``references.jsonl``; and the lint stage."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from monai_spatialqa.generation.lint import run_lint
    from monai_spatialqa.generation.lint_settings import LintSettings
    from monai_spatialqa.generation.settings import GenerateSettings
    from monai_spatialqa.generation.stage import run_generation

__all__ = ["GenerateSettings", "LintSettings", "run_generation", "run_lint"]

_HOMES = {
    "GenerateSettings": "settings",
    "LintSettings": "lint_settings",
    "run_generation": "stage",
    "run_lint": "lint",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
