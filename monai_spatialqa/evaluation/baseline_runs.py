"""A baseline as a run: its answers, their scores by the same reading as a model's, and its row of the table."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from monai_spatialqa.evaluation.attributes import facts_of
from monai_spatialqa.evaluation.baselines import BASELINES, baseline_answers
from monai_spatialqa.evaluation.breakdown import volume_cuts
from monai_spatialqa.evaluation.result import RunResult
from monai_spatialqa.evaluation.scoring import score_answers
from monai_spatialqa.evaluation.tables import build_result
from monai_spatialqa.records import Measurement
from monai_spatialqa.records.answer import Answer, Score
from monai_spatialqa.records.item import Item, Reference


class BaselineRun(NamedTuple):
    """What a baseline gives.

    Attributes:
        answers: its replies, to the items that it has an answer to.
        scores: one for each.
        result: its row of the table; None where it has an answer to no item, as guessing has to numbers.
    """

    answers: list[Answer]
    scores: list[Score]
    result: RunResult | None


def run_baseline(
    name: str,
    items: Iterable[Item],
    references: Iterable[Reference],
    *,
    measurements: Iterable[Measurement] | None = None,
    draws: int = 10_000,
    seed: int = 0,
) -> BaselineRun:
    """Answer, read, score and tabulate a baseline.

    Args:
        name: one of :data:`~monai_spatialqa.evaluation.baselines.BASELINES`.
        items: the questions.
        references: their answers.
        measurements: of the cases, for volume and source of what is asked about.
        draws: of the bootstrap.
        seed: of the replies and of the bootstrap.

    Raises:
        SettingsError: there is no such baseline.
        ScoringError: an item without a fitting reference, or a double id.
    """
    items, references, measurements = list(items), list(references), list(measurements or ())
    answers = baseline_answers(name, items, references, seed=seed)
    scores = score_answers(items, references, answers, measurements=measurements)
    if not answers:
        return BaselineRun([], [], None)
    result = build_result(
        scores,
        answers,
        BASELINES[name].asked(items),
        measurements=measurements,
        cuts=volume_cuts(items, facts_of(items, measurements)),
        draws=draws,
        seed=seed,
    )
    return BaselineRun(answers, scores, result)
