"""Config checks shared by all bundle configs: what MONAI would ignore in silence is refused by name.

MONAI 1.6.1 takes a mistyped override (``--wrokers 2``), a ``run`` without ``$`` and a mistyped ``--init_id`` for
nothing and ends with exit code 0; ``--flag false`` arrives as the text ``"false"``. A config of ours calls, first
thing in ``initialize`` and again in ``run`` (a mistyped ``--init_id`` skips ``initialize``)::

    imports: ["$import monai_spatialqa"]
    initialize: ["$monai_spatialqa.workflow.check('measure')"]
    run: ["$monai_spatialqa.workflow.run_stage('measure', monai_spatialqa.measurement.run_measurement)"]
    finalize: ["$monai_spatialqa.workflow.exit_nonzero_if()"]

``check`` finds the running workflow on the call stack, compares its config with the stage's pydantic model, and writes
the settings back with the types the model wants, so that ``@workers`` elsewhere in the config is a number. A key that
is no setting must be a component that the config uses: one that is referred to, directly or not, by a setting or by
something that can be run. Keys with a leading underscore are free (templates for ``%_name``, notes).
"""

from __future__ import annotations

import difflib
import importlib
import os
import sys
import weakref
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from types import FrameType
from typing import Any

from pydantic import BaseModel

from monai_spatialqa.errors import SettingsError, SpatialQAError
from monai_spatialqa.settings import as_plain, from_text, kinds_of, known_settings, refuse_lossy, same_data, validated

STAGES: dict[str, str | type[BaseModel]] = {
    "measure": "monai_spatialqa.measurement.settings:MeasureSettings",
    "generate": "monai_spatialqa.generation.settings:GenerateSettings",
    "lint": "monai_spatialqa.generation.lint_settings:LintSettings",
    "evaluate": "monai_spatialqa.evaluation.settings:EvaluateSettings",
    "report": "monai_spatialqa.report.settings:ReportSettings",
}
"""Stage name -> the model of its settings, as a class or as ``"module:Class"``, imported when it is needed."""

PHASE_KEYS = ("initialize", "run", "finalize")
RESERVED_KEYS = frozenset({*PHASE_KEYS, "imports", "bundle_root"})
"""Top-level keys that MONAI gives a meaning, in every config. Those with a leading underscore need no listing."""

MONAI_ARGUMENTS = ("run_id", "init_id", "final_id", "meta_file", "config_file", "logging_file", "tracking", "args_file")

_MISSING = object()
_summaries: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()


def register_stage(name: str, model: str | type[BaseModel]) -> None:
    """Make a stage known to ``check``, e.g. one of a plug-in. A name that is taken by another model is refused."""
    if STAGES.setdefault(name, model) != model:
        raise SettingsError(f"the stage '{name}' has a model already", key=name, found=model, expected=STAGES[name])


def stage_model(name: str) -> type[BaseModel]:
    """The pydantic model of a stage's settings.

    Raises:
        SettingsError: for an unknown stage; lists those that are known.
    """
    if name not in STAGES:
        raise SettingsError(f"there is no stage '{name}'", key=name, expected=f"one of: {', '.join(sorted(STAGES))}")
    model = STAGES[name]
    if isinstance(model, str):
        module, _, class_name = model.partition(":")
        found: type[BaseModel] = getattr(importlib.import_module(module), class_name)
        return found
    return model


def check(stage: str, *, components: Collection[str] = ()) -> BaseModel:
    """Check the config of the running MONAI workflow, and give its settings their types.

    Checked are: every top-level key, every setting's type and value, ``run_id``, ``init_id`` and ``final_id`` and what
    they name, and that ``metadata.json`` lies beside the first config. Text from the command line becomes what the
    model wants: "true" and "false" in any case, "null" where nothing is allowed, numbers; a whole number becomes text
    where text is wanted, because ids are text. Settings that are expressions or references are resolved first.

    Args:
        stage: name of the stage, see ``STAGES``.
        components: top-level keys that nothing in the config refers to and that are right nevertheless, such as the
            properties that other programs ask a bundle for.

    Returns:
        the validated settings. Missing ones have their defaults, in the parser's config too.

    Raises:
        SettingsError: naming every key that is wrong. When the program is ``python -m monai.bundle`` it arrives as
            ``SystemExit`` instead: the message without a traceback, exit code 1. In-process, MONAI wraps it in a
            ``RuntimeError``; it is that error's ``__cause__``.
    """
    try:
        model = stage_model(stage)
        workflow = _running_workflow()
        _check_metadata(workflow)
        _check_overrides()
        parser = workflow.parser
        if not parser.ref_resolver.items:
            parser.parse(reset=True)
        _check_phases(workflow)
        _check_keys(stage, workflow, model, components)
        return _checked_settings(stage, parser, model)
    except SettingsError as error:
        raise _for_the_reader(error) from None


def run_stage(stage: str, function: Callable[..., Any], *, components: Collection[str] = (), **arguments: Any) -> Any:
    """Check the config, call a stage's function with the validated settings, and keep its summary.

    Args:
        stage: name of the stage.
        function: takes the settings, and ``arguments`` by name; returns a summary, see ``exit_nonzero_if``.
        components: as in ``check``.
        arguments: what the function needs besides, usually references to components of the config.

    Returns:
        the summary.

    Raises:
        SpatialQAError: from the check or the function; as ``SystemExit`` at the command line, like in ``check``.
    """
    settings = check(stage, components=components)
    try:
        summary = function(settings, **arguments)
    except SpatialQAError as error:
        raise _for_the_reader(error) from None
    _summaries[_running_workflow()] = summary
    return summary


def exit_nonzero_if(summary: Any = None) -> None:
    """End the program with exit code 1 and one line on stderr when cases have failed. The last thing in ``finalize``.

    Everything is written by then: MONAI runs ``finalize`` after ``run``.

    Args:
        summary: the number of failed cases, a collection of them, or an object or mapping with such a ``failed``;
            the summary of the last ``run_stage`` of this workflow when None. An object's ``exit_message`` is the line.

    Raises:
        SystemExit: when the number is not zero.
    """
    if summary is None:
        summary = _summaries.get(_running_workflow())
    failed = summary.get("failed") if isinstance(summary, Mapping) else getattr(summary, "failed", summary)
    number = failed if isinstance(failed, int) else len(failed or ())
    if number:
        cases = "1 case" if number == 1 else f"{number} cases"
        told = f"{cases} failed; all others are done. See the records."
        raise SystemExit(getattr(summary, "exit_message", told))


def component(key: str) -> Callable[..., Any]:
    """A component of the running config that a stage resolves only when it needs it.

    Args:
        key: top-level key of the component; name it in ``components`` of ``check``, as nothing refers to it.

    Returns:
        a function that puts its keyword arguments into the config as top-level values and gives the component, built
        from them.
    """
    parser = _running_workflow().parser

    def resolve(**values: Any) -> Any:
        _write_back(parser, values)
        return parser.get_parsed_content(key)

    return resolve


def bundle_root() -> str:
    """Root folder of the running bundle, absolute: the folder above ``configs``. For defaults that a bundle ships.

    Use it as ``bundle_root: "$monai_spatialqa.workflow.bundle_root()"``; paths that a user gives hang on the working
    directory instead.
    """
    folder = Path(os.path.abspath(_running_workflow().config_root_path))
    return str(folder.parent if folder.name == "configs" else folder)


def _frames() -> Iterator[FrameType]:
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        yield frame
        frame = frame.f_back


def _running_workflow() -> Any:
    """The nearest ConfigWorkflow on the call stack."""
    module = sys.modules.get("monai.bundle.workflows")
    if module is not None:
        for frame in _frames():
            candidate = frame.f_locals.get("self")
            if isinstance(candidate, module.ConfigWorkflow):
                return candidate
    raise SettingsError(
        "no MONAI workflow is running here",
        expected="a call from a config that python -m monai.bundle run or monai.bundle.ConfigWorkflow runs",
        next_step="run the config, or use the Python interface of the stage",
    )


def _for_the_reader(error: SpatialQAError) -> BaseException:
    """At the command line the message alone: MONAI's traceback is fifty lines that end with another message."""
    spec = getattr(sys.modules.get("__main__"), "__spec__", None)
    return SystemExit(f"{type(error).__name__}: {error}") if spec and spec.name == "monai.bundle.__main__" else error


def _check_metadata(workflow: Any) -> None:
    if workflow.meta_file is None:
        raise SettingsError(
            "the bundle's metadata are missing",
            code="missing_metadata",
            file=Path(workflow.config_root_path) / "metadata.json",
            expected="metadata.json beside the first config, or files named by --meta_file",
            next_step="copy it from the bundle, or start the bundle's own config and give your file as the second one",
        )


def _check_overrides() -> None:
    """MONAI drops an override that is None without a word."""
    for frame in _frames():
        if frame.f_code.co_name == "run" and frame.f_globals.get("__name__") == "monai.bundle.scripts":
            for name, value in frame.f_locals.get("override", {}).items():
                if value is None:
                    raise SettingsError(
                        f"MONAI ignores the override '{name}' when it is None",
                        key=name,
                        found=None,
                        next_step=f"write null: --{name} null",
                    )


def _check_keys(stage: str, workflow: Any, model: type[BaseModel], components: Collection[str]) -> None:
    parser = workflow.parser
    settings = known_settings(model)
    phases = {parser.ref_resolver.split_id(name)[0] for name in _phase_ids(workflow).values()}
    fixed = {*settings, *components, *RESERVED_KEYS, *phases, *_tracking_keys(parser)}
    used = _used_keys(parser, fixed)
    for suffix in type(parser).suffixes:
        shipped = Path(workflow.config_root_path, f"{stage}.{suffix}")
        if shipped.is_file():  # what it uses is right even where an override or an overlay uses it no longer
            used |= _used_keys(type(parser)(type(parser).load_config_file(shipped)), fixed)
    unknown = sorted(str(key) for key in parser.config if key not in used and not str(key).startswith("_"))
    if unknown:
        pool = [*settings, *map(str, used), *MONAI_ARGUMENTS]
        told = ", ".join(f"'{key}'{_did_you_mean(key, pool)}" for key in unknown)
        raise SettingsError(
            f"{told}: no such setting of the stage '{stage}', and no component that its config uses",
            code="unknown_setting",
            key=", ".join(unknown),
            expected=f"one of the settings: {', '.join(settings)}",
            next_step=f"correct the name; a component of your own must be referred to somewhere, as @{unknown[0]}",
        )


def _used_keys(parser: Any, fixed: Collection[str]) -> set[Any]:
    """Keys of a config that are fixed, can be run, or are referred to from one of those, directly or not."""
    resolver = parser.ref_resolver
    runnable = _runnable_ids(parser)
    used: set[Any] = set()
    waiting = [key for key in parser.config if key in runnable or resolver.split_id(key)[0] in fixed]
    while waiting:
        key = waiting.pop()
        if key not in used:
            used.add(key)
            references = resolver.find_refs_in_config(parser.config[key], str(key))
            names = {resolver.split_id(reference)[0] for reference in references}
            waiting.extend(name for name in names if name in parser.config)
    return used


def _did_you_mean(name: Any, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(str(name).lower().replace("-", "_"), list(known), n=1)
    return f" (did you mean '{close[0]}'?)" if close else ""


def _tracking_keys(parser: Any) -> set[str]:
    """Keys that ``--tracking`` adds; only known when it is on, so that ``output_dir`` is no silent setting."""
    if "save_execute_config" not in parser.config:
        return set()
    from monai.bundle.utils import DEFAULT_MLFLOW_SETTINGS  # MONAI is imported already when a workflow runs

    return {*DEFAULT_MLFLOW_SETTINGS["configs"], "output_dir"}  # type: ignore[misc]


def _phase_ids(workflow: Any) -> dict[str, str]:
    return {"init_id": workflow.init_id, "run_id": workflow.run_id, "final_id": workflow.final_id}


def _is_expression(item: Any) -> bool:
    return isinstance(item, str) and item.startswith("$")


def _is_component(item: Any) -> bool:
    return isinstance(item, dict) and "_target_" in item


def _is_executable(item: Any) -> bool:
    """Whether MONAI does something for an entry: an expression, a reference to one, or a component."""
    return _is_expression(item) or _is_component(item) or (isinstance(item, str) and item.startswith("@"))


def _runnable_ids(parser: Any) -> list[str]:
    """What can be given as ``run_id``: ``run`` and other lists of expressions."""
    return [
        key
        for key, value in parser.config.items()
        if key == "run"
        or (
            key not in RESERVED_KEYS
            and isinstance(value, list)
            and value
            and all(_is_expression(item) for item in value)
        )
    ]


def _check_phases(workflow: Any) -> None:
    parser = workflow.parser
    for (argument, name), default in zip(_phase_ids(workflow).items(), PHASE_KEYS, strict=True):
        if name not in parser:
            if argument != "run_id" and name == default:
                continue  # MONAI allows a config without initialize or finalize
            runnable = _runnable_ids(parser)
            raise SettingsError(
                f"the config has no '{name}'{_did_you_mean(name, [*runnable, *PHASE_KEYS])}",
                code="unknown_run_id",
                key=argument,
                found=name,
                expected=f"one of: {', '.join(runnable)}" if argument == "run_id" else f"a key such as {default}",
                next_step="put quotes around patterns such as 'seg/*.nii.gz', or the shell makes several words of them"
                if (argument == "run_id" and os.sep in name) or name.endswith(".gz")
                else f"correct --{argument}",
            )
        value = parser[name]
        items = value if isinstance(value, list) else [value]
        wrong = [item for item in items if not _is_executable(item)]
        if wrong or (argument == "run_id" and not items):
            raise SettingsError(
                f"'{name}' is not a list of expressions: MONAI would do nothing",
                code="nothing_to_run",
                key=name,
                found=repr(wrong[0]) if wrong else "an empty list",
                expected="expressions, which start with $",
                next_step=f"put a $ in front, or leave --{name} out",
            )


def _checked_settings(stage: str, parser: Any, model: type[BaseModel]) -> BaseModel:
    known = known_settings(model)
    kinds = {key: kinds_of(model.model_fields[name].annotation) for key, name in known.items()}
    present = [key for key in known if key in parser.config]
    plain = [key for key in present if not _needs_resolving(parser, key)]
    given = {key: from_text(parser.config[key], kinds[key]) for key in plain}
    _write_back(parser, given)  # before anything that refers to them is resolved
    given.update({key: _resolved(parser, key) for key in present if key not in given})
    settings = validated(stage, model, {key: from_text(value, kinds[key]) for key, value in given.items()})
    taken = {key: as_plain(getattr(settings, name)) for key, name in known.items()}
    for key, value in given.items():
        refuse_lossy(key, value, taken[key])
    # An expression stays one unless its value had to be changed.
    _write_back(parser, {key: value for key, value in taken.items() if not same_data(given.get(key, _MISSING), value)})
    return settings


def _needs_resolving(parser: Any, key: str) -> bool:
    value = parser.config[key]
    return _is_expression(value) or _is_component(value) or bool(parser.ref_resolver.find_refs_in_config(value, key))


def _resolved(parser: Any, key: str) -> Any:
    try:
        return parser.get_parsed_content(key)
    except Exception as error:  # an expression may raise anything
        reason = error.__cause__ if isinstance(error, RuntimeError) and error.__cause__ else error
        raise SettingsError(
            f"the setting '{key}' cannot be resolved: {reason}",
            key=key,
            found=parser.config[key],
            next_step="correct the expression or the reference",
        ) from error


def _write_back(parser: Any, values: Mapping[str, Any]) -> None:
    """Put values into the config. Parsing anew forgets the components that exist, so only when something changes."""
    changed = {key: value for key, value in values.items() if not same_data(parser.config.get(key, _MISSING), value)}
    if changed:
        parser.config.update(changed)
        parser.parse(reset=True)
