"""Choices that were asked with their options moved on: right in every rotation, and one answer throughout."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from monai_spatialqa.evaluation.attributes import cases_of
from monai_spatialqa.evaluation.result import Figure
from monai_spatialqa.records.answer import Score
from monai_spatialqa.records.item import Item
from monai_spatialqa.statistics import circular_scores, cluster_bootstrap, consistent_items


def circular_figures(
    scores: Sequence[Score], items: Sequence[Item], *, draws: int, seed: int
) -> tuple[Figure | None, Figure | None]:
    """Circular accuracy and rotation consistency over the choices that were asked in several rotations.

    Each repeat is judged by itself and repeats are averaged; a rotation without an answer makes an item wrong.

    Returns:
        None and None where no options were rotated.
    """
    options = {item.item_id: len(item.options) for item in items if item.format != "numeric"}
    turned = {score.item_id for score in scores if score.rotation and score.item_id in options}
    repeats: dict[int, list[Score]] = defaultdict(list)
    for score in sorted(scores, key=lambda one: (one.item_id, one.rotation)):
        if score.item_id in turned:
            repeats[score.repeat].append(score)
    right: dict[str, list[bool]] = defaultdict(list)
    alike: dict[str, list[bool]] = defaultdict(list)
    for asked in repeats.values():
        ids, places = [one.item_id for one in asked], [one.rotation for one in asked]
        counts = [options[item_id] for item_id in ids]
        for item_id, good in circular_scores(ids, places, [one.score == 1 for one in asked], counts).items():
            right[item_id].append(good)
        for item_id, same in consistent_items(ids, [one.reading.letter for one in asked]).items():
            alike[item_id].append(same)
    cases = cases_of(items)
    return _figure(right, cases, draws, seed), _figure(alike, cases, draws, seed)


def _figure(flags: Mapping[str, list[bool]], cases: Mapping[str, str], draws: int, seed: int) -> Figure | None:
    if not flags:
        return None
    means = [sum(repeats) / len(repeats) for repeats in flags.values()]
    return Figure.of(cluster_bootstrap(means, [cases[item_id] for item_id in flags], draws=draws, seed=seed))
