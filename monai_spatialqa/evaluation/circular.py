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
    """Circular accuracy and rotation consistency of the choices whose options were rotated.

    Every item of a format of which some item was rotated counts for the accuracy: one that was not asked in all
    rotations, or not at all, is wrong. Consistency is over the items with two answers or more. Each repeat is judged by
    itself and repeats are averaged.

    Returns:
        None and None where no options were rotated.
    """
    formats = {score.format for score in scores if score.rotation and score.format != "numeric"}
    options = {item.item_id: len(item.options) for item in items if item.format in formats}
    repeats: dict[int, list[Score]] = defaultdict(list)
    for score in sorted(scores, key=lambda one: (one.item_id, one.rotation)):
        if score.item_id in options:
            repeats[score.repeat].append(score)
    right: dict[str, list[bool]] = defaultdict(list)
    alike: dict[str, list[bool]] = defaultdict(list)
    for asked in repeats.values():
        ids, places = [one.item_id for one in asked], [one.rotation for one in asked]
        counts = [options[item_id] for item_id in ids]
        found = circular_scores(ids, places, [one.score == 1 for one in asked], counts)
        for item_id in options:
            right[item_id].append(found.get(item_id, False))
        for item_id, same in consistent_items(ids, [one.reading.letter for one in asked]).items():
            alike[item_id].append(same)
    cases = cases_of(items)
    return _figure(right, cases, draws, seed), _figure(alike, cases, draws, seed)


def _figure(flags: Mapping[str, list[bool]], cases: Mapping[str, str], draws: int, seed: int) -> Figure | None:
    if not flags:
        return None
    means = [sum(repeats) / len(repeats) for repeats in flags.values()]
    return Figure.of(cluster_bootstrap(means, [cases[item_id] for item_id in flags], draws=draws, seed=seed))
