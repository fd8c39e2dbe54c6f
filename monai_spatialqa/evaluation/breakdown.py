"""What figures are broken down by: items by task, structure, organ, tumour, volume, source and modality."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from monai_spatialqa.anatomy import ORGANS, TUMOUR_KINDS
from monai_spatialqa.evaluation.attributes import ItemFacts
from monai_spatialqa.evaluation.result import DIMENSIONS
from monai_spatialqa.records.item import Item, TaskCode
from monai_spatialqa.statistics import TERTILES, tertile_cuts, tertile_of

Masks = dict[tuple[str, str], NDArray[np.bool_]]
"""(dimension, name) -> mask over the items."""

_TASKS: tuple[str, ...] = get_args(TaskCode)


def volume_cuts(items: Iterable[Item], facts: Mapping[str, ItemFacts]) -> tuple[float, float] | None:
    """Largest volume of the lower and of the middle third of what is asked about, in ml.

    Every structure that some item asks about first counts once a case. The cuts depend on the items, not on answers, so
    all runs on the same items have the same.

    Returns:
        None for fewer than three different volumes.
    """
    volumes = {
        (item.case.case_id, item.structures[0]): volume
        for item in items
        if (volume := facts[item.item_id].volume_ml) is not None
    }
    return tertile_cuts(list(volumes.values()))


def masks_of(items: Sequence[Item], facts: Mapping[str, ItemFacts], cuts: tuple[float, float] | None) -> Masks:
    """Masks of all groups that have an item, in the order of tables.

    An item counts for every structure, organ and tumour kind that it is about, and for the volume of the first
    structure.
    """
    members: dict[tuple[str, str], list[int]] = {}
    for row, item in enumerate(items):
        for dimension, names in _names(item, facts[item.item_id], cuts).items():
            for name in dict.fromkeys(names):
                members.setdefault((dimension, name), []).append(row)
    task_of = {item.subtask: item.task for item in items}
    masks: Masks = {}
    for key in sorted(members, key=lambda key: _place(key[0], key[1], task_of)):
        masks[key] = np.zeros(len(items), bool)
        masks[key][members[key]] = True
    return masks


def _names(item: Item, facts: ItemFacts, cuts: tuple[float, float] | None) -> dict[str, list[str]]:
    return {
        "task": [item.task],
        "subtask": [item.subtask],
        "structure": item.structures,
        "organ": list(facts.organs),
        "tumour": list(facts.tumours),
        "volume": [] if cuts is None or facts.volume_ml is None else [tertile_of(facts.volume_ml, cuts)],
        "source": [] if facts.source is None else [facts.source],
        "modality": [] if facts.modality is None else [facts.modality],
    }


def _place(dimension: str, name: str, task_of: Mapping[str, str]) -> tuple[Any, ...]:
    orders: dict[str, Sequence[str]] = {
        "task": _TASKS,
        "organ": ORGANS,
        "tumour": TUMOUR_KINDS,
        "volume": TERTILES,
    }
    if dimension == "subtask":
        place = _TASKS.index(task_of[name])
    else:
        place = orders[dimension].index(name) if dimension in orders else 0
    return DIMENSIONS.index(dimension), place, name
