"""A part of the items that stands for all of them: as many of each task, spread over its cases."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar, get_args

from monai_spatialqa.records.item import Item, TaskCode

_T = TypeVar("_T")
_TASKS: tuple[str, ...] = get_args(TaskCode)


def spread(items: Sequence[Item], most: int) -> list[Item]:
    """At most so many items: equally many of each task as far as it has them, and within a task of each case.

    The same items give the same choice. Which is taken of a case is spread over its items, in the order given.

    Args:
        items: to choose from.
        most: how many.

    Returns:
        The items chosen, in their order.
    """
    if most >= len(items):
        return list(items)
    kept = {
        item.item_id
        for of_task, share in _shares(items, most, lambda item: str(_TASKS.index(item.task)))
        for of_case, number in _shares(of_task, share, lambda item: item.case.case_id)
        for item in _evenly(of_case, number)
    }
    return [item for item in items if item.item_id in kept]


def _shares(items: Sequence[Item], most: int, key: Callable[[Item], str]) -> list[tuple[list[Item], int]]:
    """Groups of items, and how many to take of each: all the same number, as far as a group has them."""
    groups: dict[str, list[Item]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    names = sorted(groups)
    taken = dict.fromkeys(names, 0)
    while most > 0:
        open_ones = [name for name in names if taken[name] < len(groups[name])]
        turn = open_ones if most >= len(open_ones) else _evenly(open_ones, most)
        for name in turn:
            taken[name] += 1
        most -= len(turn)
    return [(groups[name], taken[name]) for name in names]


def _evenly(things: Sequence[_T], number: int) -> list[_T]:
    return [things[at * len(things) // number] for at in range(number)]
