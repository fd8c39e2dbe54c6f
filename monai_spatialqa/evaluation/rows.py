"""The rows of a run's table: the model, the model without images, and the baselines, read and scored alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from monai_spatialqa.evaluation.baselines import BASELINES, baseline_answers
from monai_spatialqa.evaluation.loading import Inputs
from monai_spatialqa.evaluation.outputs import RunFiles, ScoredRun, baseline_files, run_files
from monai_spatialqa.evaluation.result import Spent
from monai_spatialqa.evaluation.scoring import score_answers
from monai_spatialqa.evaluation.settings import EvaluateSettings
from monai_spatialqa.evaluation.tables import About, build_result
from monai_spatialqa.records import read_records
from monai_spatialqa.records.answer import Answer, Score
from monai_spatialqa.records.item import Item
from monai_spatialqa.rendering.view_text import views_in_words


def stored_answers(folder: Path, settings: EvaluateSettings, inputs: Inputs) -> dict[bool, list[Answer]]:
    """What models have answered in a folder, blind or not; a way to ask without answers is left out.

    Answers to items that are in the file but not asked in this run are left out; those to unknown items stay, and are
    told. The group of the model is as the settings say now.
    """
    asked = {item.item_id for item in inputs.items}
    found: dict[bool, list[Answer]] = {}
    for blind in settings.sights:
        path = run_files(folder, blind=blind).answers
        answers = [
            answer if answer.kind == settings.model_kind else answer.model_copy(update={"kind": settings.model_kind})
            for answer in (read_records(path, Answer) if path.is_file() else ())
            if answer.item_id in asked or answer.item_id not in inputs.known_ids
        ]
        if answers:
            found[blind] = answers
    return found


def score_rows(settings: EvaluateSettings, inputs: Inputs, answers: Mapping[bool, Sequence[Answer]]) -> list[ScoredRun]:
    """Read, score and summarise everything.

    Args:
        settings: of the run.
        inputs: items, references, measurements.
        answers: of the model, by blind or not.

    Raises:
        ScoringError: references or answers do not fit the items.
    """
    scores = {blind: _scores(settings, inputs, found) for blind, found in answers.items()}
    rows = [_model_row(settings, inputs, blind, answers[blind], scores) for blind in answers]
    return rows + [_baseline_row(settings, inputs, name) for name in BASELINES if name in settings.baselines]


def _model_row(
    settings: EvaluateSettings,
    inputs: Inputs,
    blind: bool,
    answers: Sequence[Answer],
    scores: Mapping[bool, list[Score]],
) -> ScoredRun:
    suffix = " (blind)" if blind and len(settings.sights) > 1 else ""
    about = About(
        run=settings.name + suffix,
        family=settings.family,
        size_billion=settings.size_billion,
        views=None if blind else views_in_words(settings.views),
        spent=_spent(settings, answers),
    )
    files = run_files(settings.output, blind=blind)
    return _row(settings, inputs, files, answers, scores[blind], about, None if blind else scores.get(True))


def _baseline_row(settings: EvaluateSettings, inputs: Inputs, name: str) -> ScoredRun:
    answers = baseline_answers(name, inputs.items, inputs.references, seed=settings.seed)
    files = baseline_files(settings.output, name)
    asked = {answer.item_id for answer in answers}
    own = [item for item in inputs.items if item.item_id in asked]
    return _row(settings, inputs, files, answers, _scores(settings, inputs, answers), About(run=name), None, own)


def _row(
    settings: EvaluateSettings,
    inputs: Inputs,
    files: RunFiles,
    answers: Sequence[Answer],
    scores: list[Score],
    about: About,
    blind: Sequence[Score] | None,
    items: Sequence[Item] | None = None,
) -> ScoredRun:
    result = build_result(
        scores,
        answers,
        inputs.items if items is None else items,
        measurements=inputs.measurements.values(),
        blind=blind,
        about=about,
        draws=settings.draws,
        seed=settings.seed,
    )
    return ScoredRun(files, answers, scores, result)


def _scores(settings: EvaluateSettings, inputs: Inputs, answers: Sequence[Answer]) -> list[Score]:
    return score_answers(
        inputs.items, inputs.references, answers, measurements=inputs.measurements.values(), strict=settings.strict
    )


def _spent(settings: EvaluateSettings, answers: Sequence[Answer]) -> Spent:
    """Calls, tokens and their price, from the answers; times are in the sidecar."""
    prompt = [one.usage.prompt_tokens for one in answers if one.usage.prompt_tokens is not None]
    completion = [one.usage.completion_tokens for one in answers if one.usage.completion_tokens is not None]
    prices = settings.client.prices
    return Spent(
        calls=len(answers),
        prompt_tokens=sum(prompt) if prompt else None,
        completion_tokens=sum(completion) if completion else None,
        cost=None if prices is None else prices.cost(sum(prompt), sum(completion)),
        currency=None if prices is None else prices.currency,
    )
