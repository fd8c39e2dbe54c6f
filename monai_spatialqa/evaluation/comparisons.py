"""Runs against each other on the items that both have: differences, intervals, and corrected p-values."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import get_args

import numpy as np

from monai_spatialqa.evaluation.attributes import case_of
from monai_spatialqa.evaluation.result import Comparison, Figure
from monai_spatialqa.records.answer import Score
from monai_spatialqa.records.item import TaskCode
from monai_spatialqa.statistics import holm, paired_comparison


def compare_runs(runs: Mapping[str, Sequence[Score]], *, draws: int = 10_000, seed: int = 0) -> list[Comparison]:
    """Every run against every later one, per task and over all items that both have.

    Scores are accuracy for choices and mean relative accuracy for numbers, averaged over the repeats of an item;
    answers to rotated options are left out. An item that only one run has is left out of their comparison.

    Args:
        runs: scores by name of the run, in the order of the table.
        draws: of the bootstrap, and of the sign flips.
        seed: of both.

    Returns:
        One comparison a pair and task, ``all`` first; Holm's correction is over all of them. Runs that share no item
        are not compared.
    """
    means = {name: _means(scores) for name, scores in runs.items()}
    about = {score.item_id: score for scores in runs.values() for score in scores}
    found: list[tuple[str, str, str, Figure, float | None]] = []
    for first, second in combinations(runs, 2):
        shared = sorted(means[first].keys() & means[second].keys())
        if not shared:
            continue
        tasks = np.array([about[item_id].task for item_id in shared])
        groups = {"all": np.ones(len(shared), bool)} | {
            task: tasks == task for task in get_args(TaskCode) if task in tasks
        }
        compared = paired_comparison(
            [means[first][item_id] for item_id in shared],
            [means[second][item_id] for item_id in shared],
            [case_of(about[item_id].case_id, about[item_id].patient_id) for item_id in shared],
            groups,
            draws=draws,
            seed=seed,
        )
        found += [(first, second, task, Figure.of(one.difference), one.p_value) for task, one in compared.items()]
    corrected = iter(holm([p_value for *_, p_value in found if p_value is not None]))
    return [
        Comparison(
            first=first,
            second=second,
            task=task,
            difference=difference,
            p_value=p_value,
            p_holm=None if p_value is None else next(corrected),
        )
        for first, second, task, difference, p_value in found
    ]


def _means(scores: Sequence[Score]) -> dict[str, float]:
    repeats: dict[str, dict[int, float]] = defaultdict(dict)
    for score in scores:
        if not score.rotation:
            repeats[score.item_id][score.repeat] = score.score
    return {item_id: sum(each[at] for at in sorted(each)) / len(each) for item_id, each in repeats.items()}
