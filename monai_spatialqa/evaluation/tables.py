"""The result of one run: all figures with intervals and denominators, by everything they are broken down by."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from monai_spatialqa.errors import ScoringError
from monai_spatialqa.evaluation.attributes import ItemFacts, facts_of
from monai_spatialqa.evaluation.breakdown import Masks, masks_of, volume_cuts
from monai_spatialqa.evaluation.circular import circular_figures
from monai_spatialqa.evaluation.item_rows import ItemRows, item_rows
from monai_spatialqa.evaluation.matching import unique, unmatched
from monai_spatialqa.evaluation.result import FIGURES, Counts, Figure, Group, RunResult, Spent
from monai_spatialqa.records import Measurement
from monai_spatialqa.records.answer import Answer, Score
from monai_spatialqa.records.item import Item
from monai_spatialqa.statistics import (
    CHOICE_TASKS,
    PAPER_COLUMNS,
    Estimate,
    bootstrap_columns,
    cluster_bootstrap,
    macro_bootstrap,
)


@dataclass(frozen=True)
class About:
    """What the records of a run do not tell of it.

    Attributes:
        run: name in tables; None for the model's, with "(blind)" where it saw nothing.
        family, size_billion: of the model, for the order of rows.
        views: what the model was shown, in words.
        spent: None to count calls and tokens from the answers.
    """

    run: str | None = None
    family: str | None = None
    size_billion: float | None = None
    views: str | None = None
    spent: Spent | None = None


def build_result(
    scores: Sequence[Score],
    answers: Sequence[Answer],
    items: Sequence[Item],
    *,
    measurements: Iterable[Measurement] | None = None,
    blind: Sequence[Score] | None = None,
    about: About | None = None,
    cuts: tuple[float, float] | None = None,
    draws: int = 10_000,
    seed: int = 0,
) -> RunResult:
    """All figures of a run of one model.

    An item without an answer counts as a failed one, so that no figure is a silent mean over what came back. Repeats
    are averaged within an item, answers to rotated options enter the two figures about rotations only. Intervals draw
    whole patients, or cases where no patient is stated. The same records give the same result in whatever order.

    Args:
        scores: of the run, from :func:`~monai_spatialqa.evaluation.scoring.score_answers`.
        answers: of the run, those to unknown items included.
        items: everything that was asked, each once.
        measurements: for volume and source of what is asked about; None takes those in the scores, which items
            without an answer lack.
        blind: scores of the same model without images, for the blind gain.
        about: name, family and cost.
        cuts: of the volumes, in ml, where the run is one of several on unlike items; None for those of these items.
        draws: of the bootstrap.
        seed: of the bootstrap.

    Raises:
        ScoringError: a double id, or no answers, or those of several models.
    """
    about = about or About()
    unique(items, "item")
    unique(scores, "score")
    first = _one_run(scores, answers)
    facts = facts_of(items, measurements)
    if measurements is None:
        facts |= {score.item_id: _facts(score) for score in scores}
    rows = item_rows(items, scores, blind)
    cuts = cuts or volume_cuts(items, facts)
    found = _estimates(rows, masks_of(items, facts, cuts), draws, seed)
    overall, *groups = (
        Group(dimension=dimension, name=name, figures=_figures(figures)) for (dimension, name), figures in found.items()
    )
    paper, macro = _averages(rows, draws, seed)
    circular, consistency = circular_figures(scores, items, draws=draws, seed=seed)
    return RunResult(
        run=about.run or first.model + (" (blind)" if first.blind else ""),
        model=first.model,
        kind=first.kind,
        family=about.family,
        size_billion=about.size_billion,
        blind=first.blind,
        preset=first.preset,
        views=about.views,
        counts=_counts(scores, answers, items),
        overall=overall,
        groups=groups,
        paper_average=paper,
        macro_average=macro,
        blind_gain=_blind_gain(rows, draws, seed),
        circular_accuracy=circular,
        rotation_consistency=consistency,
        volume_cuts_ml=cuts,
        served_models=sorted({answer.served_model for answer in answers if answer.served_model is not None}),
        spent=about.spent or _spent(answers),
        parser_version=" ".join(sorted({score.parser_version for score in scores})),
    )


def _one_run(scores: Sequence[Score], answers: Sequence[Answer]) -> Answer:
    runs = sorted({(one.model, one.blind) for one in scores} | {(one.model, one.blind) for one in answers})
    if len(runs) != 1 or not answers:
        raise ScoringError(
            "a result is of one run of one model",
            key="answers",
            found=", ".join(model + (" (blind)" if blind else "") for model, blind in runs) or "no answers",
            expected="answers of one model, either all with images or all without",
            next_step="build a result for each",
        )
    return answers[0]


def _facts(score: Score) -> ItemFacts:
    return ItemFacts(tuple(score.organs), tuple(score.tumours), score.volume_ml, score.modality, score.source)  # type: ignore[arg-type]


def _estimates(rows: ItemRows, masks: Masks, draws: int, seed: int) -> dict[tuple[str, str], dict[str, Estimate]]:
    """Every figure of every group, all items first. Medians are over numbers, the others over items."""
    keys = [("all", "all"), *masks]
    wanted = [np.ones(len(rows.items), bool), *masks.values()]
    reads = np.array(rows.clusters, object)[rows.reads]
    means = bootstrap_columns(rows.means, rows.clusters, _numbered(wanted), draws=draws, seed=seed)
    medians = bootstrap_columns(
        rows.medians, reads, _numbered([mask[rows.reads] for mask in wanted]), draws=draws, seed=seed
    )
    return {key: means[str(at)] | medians[str(at)] for at, key in enumerate(keys)}


def _numbered(masks: Sequence[NDArray[np.bool_]]) -> dict[str, NDArray[np.bool_]]:
    return {str(at): mask for at, mask in enumerate(masks)}


def _figures(estimates: dict[str, Estimate]) -> dict[str, Figure]:
    return {name: Figure.of(estimates[name]) for name in FIGURES if name in estimates and estimates[name].count}


def _averages(rows: ItemRows, draws: int, seed: int) -> tuple[Figure, Figure | None]:
    """Mean of the six columns, an empty one as 0; and mean of the columns with choices, None without any."""
    score, choice = rows.means["accuracy_all"].values, np.asarray(rows.means["accuracy_all"].weights) > 0
    task = np.array([item.task for item in rows.items])
    # The column of a task is its accuracy; only one without choices has the mean relative accuracy instead.
    columns = {name: (task == name) & (choice | ~choice[task == name].any()) for name in PAPER_COLUMNS}
    paper = macro_bootstrap(score, rows.clusters, columns, empty="zero", draws=draws, seed=seed)
    macro = macro_bootstrap(
        score, rows.clusters, {name: columns[name] & choice for name in CHOICE_TASKS}, draws=draws, seed=seed
    )
    return Figure.of(paper), Figure.of(macro) if macro.count else None


def _blind_gain(rows: ItemRows, draws: int, seed: int) -> Figure | None:
    """Over the choices that were asked both ways."""
    if rows.gain is None:
        return None
    found = cluster_bootstrap(rows.gain.values, rows.clusters, weights=rows.gain.weights, draws=draws, seed=seed)
    return Figure.of(found) if found.count else None


def _counts(scores: Sequence[Score], answers: Sequence[Answer], items: Sequence[Item]) -> Counts:
    missing, unknown = unmatched(items, answers)
    failed = Counter(score.outcome for score in scores if score.outcome != "answered")
    replied = [score for score in scores if score.outcome == "answered"]
    unread = [score for score in replied if not score.valid and not score.reading.abstained]
    reasons = Counter(score.reading.reason or "unknown" for score in unread)
    return Counts(
        items=len(items),
        answers=len(scores),
        read=sum(score.valid for score in replied),
        abstained=sum(score.reading.abstained for score in replied if not score.valid),
        unread=len(unread),
        reasons=dict(sorted(reasons.items())),
        failed=dict(sorted(failed.items())),
        missing=missing,
        unknown=unknown,
    )


def _spent(answers: Sequence[Answer]) -> Spent:
    asked = [answer for answer in answers if answer.kind != "baseline"]
    prompt = [answer.usage.prompt_tokens for answer in asked if answer.usage.prompt_tokens is not None]
    completion = [answer.usage.completion_tokens for answer in asked if answer.usage.completion_tokens is not None]
    return Spent(
        calls=len(asked),
        prompt_tokens=sum(prompt) if prompt else None,
        completion_tokens=sum(completion) if completion else None,
    )
