"""The rows of a run's table: the model, the model without images, and the baselines, read and scored alike."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path

from monai_spatialqa.evaluation.answer_files import read_answers
from monai_spatialqa.evaluation.baseline_runs import run_baseline
from monai_spatialqa.evaluation.baselines import BASELINES
from monai_spatialqa.evaluation.loading import Inputs
from monai_spatialqa.evaluation.outputs import ScoredRun, baseline_files, run_files
from monai_spatialqa.evaluation.result import Spent
from monai_spatialqa.evaluation.scoring import score_answers
from monai_spatialqa.evaluation.settings import EvaluateSettings
from monai_spatialqa.evaluation.tables import About, build_result
from monai_spatialqa.records.answer import Answer, Score
from monai_spatialqa.rendering.view_text import views_in_words

logger = logging.getLogger(__name__)


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
            _regrouped(answer, settings)
            for answer in read_answers(path)
            if answer.item_id in asked or answer.item_id not in inputs.known_ids
        ]
        if answers:
            found[blind] = answers
        unknown = {answer.item_id for answer in answers} - inputs.known_ids
        if unknown:
            logger.warning(
                "%s: answers to %d items that are not in %s are not scored: %s",
                path,
                len(unknown),
                settings.items_file,
                ", ".join(sorted(unknown)[:5]),
            )
    return found


def _regrouped(answer: Answer, settings: EvaluateSettings) -> Answer:
    """The answer in the group that the settings name now; an adapter of one's own knows its group itself."""
    own = settings.adapter != "openai" and settings.kind == "unstated"
    return (
        answer if own or answer.kind == settings.model_kind else answer.model_copy(update={"kind": settings.model_kind})
    )


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
    baselines = [_baseline_row(settings, inputs, name) for name in BASELINES if name in settings.baselines]
    return rows + [row for row in baselines if row is not None]


def _model_row(
    settings: EvaluateSettings,
    inputs: Inputs,
    blind: bool,
    answers: Sequence[Answer],
    scores: Mapping[bool, list[Score]],
) -> ScoredRun:
    suffix = " (blind)" if blind and len(settings.sights) > 1 else ""
    about = About(
        run=(settings.run_name or answers[0].model) + suffix,
        family=settings.family,
        size_billion=settings.size_billion,
        views=None if blind else views_in_words(settings.views),
        spent=_spent(settings, answers),
    )
    result = build_result(
        scores[blind],
        answers,
        inputs.items,
        measurements=inputs.measurements.values(),
        blind=None if blind else scores.get(True),
        about=about,
        draws=settings.draws,
        seed=settings.seed,
    )
    return ScoredRun(run_files(settings.output, blind=blind), answers, scores[blind], result)


def _baseline_row(settings: EvaluateSettings, inputs: Inputs, name: str) -> ScoredRun | None:
    """None for a baseline that has an answer to no item, as guessing has to numbers."""
    run = run_baseline(
        name,
        inputs.items,
        inputs.references,
        measurements=inputs.measurements.values(),
        draws=settings.draws,
        seed=settings.seed,
    )
    files = baseline_files(settings.output, name)
    return None if run.result is None else ScoredRun(files, run.answers, run.scores, run.result)


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
