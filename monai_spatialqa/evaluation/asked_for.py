"""What a folder's answers were asked for: kept beside them, taken from there when they are scored again."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from monai_spatialqa.errors import JournalError, SettingsError
from monai_spatialqa.evaluation.outputs import ASKED, SUMMARY, RunAsked, read_summary, run_files
from monai_spatialqa.evaluation.settings import EvaluateSettings

PATHS = ("items", "references", "measurements", "images_root")
LABELS = ("run_name", "family", "size_billion")
"""Settings that only name a run; like the paths, they are as given where they are given."""

SCORING = ("strict", "draws", "seed", "baselines")
"""Settings that say how answers are scored; they are as given, defaults included."""

STARTING = ("base_url", "retry", "dry_run", "rescore", "output_dir", "overwrite", "progress")
"""Settings that concern a start of a run and neither what was asked nor how it is scored."""

FREE = frozenset({*PATHS, *LABELS, *SCORING, *STARTING})
"""Settings that may be other than in the run that is scored again."""


def read_asked(folder: Path) -> RunAsked | None:
    """What the answers of a folder were asked for; None where the folder is not of a run.

    Raises:
        JournalError: it is of another program or version.
    """
    summary = read_summary(folder) if (folder / SUMMARY).is_file() else None
    path = folder / ASKED
    if not path.is_file():
        return None if summary is None else RunAsked(inputs=summary.inputs, settings=summary.settings)
    try:
        asked = RunAsked.model_validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        raise JournalError(
            "what the answers of this folder were asked for cannot be read",
            file=path,
            found=type(error).__name__,
            expected="the file that evaluate.yaml writes",
            next_step="run evaluate.yaml again without rescore: it asks only what has no answer",
        ) from None
    if summary is None:
        return asked
    scoring = {name: value for name, value in summary.settings.items() if name in (*SCORING, *LABELS)}
    return RunAsked(inputs=summary.inputs, settings=asked.settings | scoring)


def as_asked(settings: EvaluateSettings) -> EvaluateSettings:
    """Settings for scoring again: what was asked as the folder says, how it is scored as given.

    A setting at its default counts as not given.

    Raises:
        SettingsError: the folder holds no run, or a setting says that something else was asked; names it.
    """
    stored = stored_run(settings.output)
    given = settings.model_dump(mode="json")
    refuse_others(given, stored, defaults=_defaults())
    left_out = {"retry", *(name for name in (*PATHS, *LABELS) if given[name] is None)}
    return settings_of(stored, settings.output, {name: value for name, value in given.items() if name not in left_out})


def settings_of(stored: RunAsked, folder: Path, changes: Mapping[str, Any]) -> EvaluateSettings:
    """The settings of a stored run, to score it again.

    Args:
        stored: what was asked.
        folder: of the run; its paths hang on it.
        changes: settings that are to be other than in that run; those that say what was asked are passed over.
    """
    paths = {name: None if path is None else str(folder / path) for name, path in stored.inputs.items()}
    free = {name: value for name, value in changes.items() if name in FREE}
    given = {**stored.settings, **paths, "output_dir": str(folder), "rescore": True, **free}
    given["llm"] = {name: value for name, value in stored.settings.get("llm", {}).items() if name != "model"}
    if (prices := changes.get("llm", {}).get("prices")) is not None:
        given["llm"]["prices"] = prices
    return EvaluateSettings.model_validate(given)


def refuse_others(given: Mapping[str, Any], stored: RunAsked, *, defaults: Mapping[str, Any] | None = None) -> None:
    """Refuse settings that say that something else was asked.

    Args:
        given: settings as plain data.
        stored: what was asked.
        defaults: values that count as not given; None: all are given.

    Raises:
        SettingsError: names the setting.
    """
    asked, left_out = dict(_leaves(stored.settings)), dict(_leaves(defaults or {}))
    for name, value in _leaves(given):
        parts = name.split("::")
        if parts[0] in FREE or parts[:2] == ["llm", "prices"]:
            continue
        of_calls = parts[0] == "llm" and parts[1] not in stored.settings.get("llm", {})  # timeouts, cache and the like
        if of_calls or (name in left_out and left_out[name] == value) or (name in asked and asked[name] == value):
            continue
        raise SettingsError(
            "the answers in this folder were asked for otherwise, and scoring them again cannot change that",
            code="asked_otherwise",
            key=name,
            found=value,
            expected=asked.get(name, "nothing of the kind"),
            next_step=f"leave {name} out: it is taken from the folder; or ask again, with another output_dir",
        )


def refuse_models_folder(settings: EvaluateSettings) -> None:
    """Refuse to write baselines alone over the results of a model.

    Raises:
        JournalError: the folder holds answers of a model.
    """
    for blind in (False, True):
        path = run_files(settings.output, blind=blind).answers
        if path.is_file() and path.stat().st_size:
            raise JournalError(
                "the output folder holds answers of a model, and its results would be lost",
                code="foreign_records",
                file=path,
                key="model",
                found="no model",
                expected="the model whose answers these are",
                next_step="pass --rescore true to score them again, name the model to go on asking, "
                "or choose another output_dir",
            )


def stored_run(folder: Path) -> RunAsked:
    """What the answers of a folder were asked for.

    Raises:
        SettingsError: the folder is not of a run.
        JournalError: it is of another program or version.
    """
    stored = read_asked(folder)
    if stored is None:
        raise SettingsError(
            "there is nothing to score again",
            key="rescore",
            found=f"no run in {folder}",
            expected="the output_dir of an earlier run",
            next_step="name its output_dir, or leave rescore out",
        )
    return stored


def _defaults() -> dict[str, Any]:
    fields = EvaluateSettings.model_fields.items()
    made = {name: field.get_default(call_default_factory=True) for name, field in fields}
    return {
        name: value.model_dump(mode="json") if hasattr(value, "model_dump") else value for name, value in made.items()
    }


def _leaves(tree: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Settings with those of their parts, as ``views::kind``; a part is plain JSON."""
    for name, value in tree.items():
        if isinstance(value, Mapping) and value:
            yield from _leaves(value, f"{above}{name}::")
        elif not isinstance(value, Mapping):
            yield f"{above}{name}", json.loads(json.dumps(value))
