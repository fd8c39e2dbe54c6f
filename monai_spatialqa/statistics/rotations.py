"""The same choice with its options moved on: is it right every time, and is it one answer every time?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from monai_spatialqa.errors import SpatialQAError


def circular_scores(
    items: Sequence[str], rotations: Sequence[int], correct: Sequence[bool], options: Sequence[int]
) -> dict[str, bool]:
    """Which items are right in every rotation (CircularEval of MMBench, arXiv 2307.06281, section 4.2).

    An item with n options is asked n times, its options moved on by one place each time. It counts as right only if
    all n answers are right: one that is missing, failed or could not be read makes it wrong.

    Args:
        items: item id of each answer.
        rotations: places that the options were moved on in each answer, 0 to n - 1.
        correct: whether each answer is right.
        options: number of options of each answer's item.

    Returns:
        Item id to whether it is right throughout, in the order of first appearance.

    Raises:
        SpatialQAError: an item has two answers to a rotation, a rotation it cannot have, or two numbers of options;
            or the lengths differ.

    Example:
        >>> circular_scores(["a", "a", "b", "b"], [0, 1, 0, 1], [True, True, True, False], [2, 2, 2, 2])
        {'a': True, 'b': False}
    """
    _same_length(items, rotations=rotations, correct=correct, options=options)
    right: dict[str, dict[int, bool]] = defaultdict(dict)
    counts: dict[str, int] = {}
    for item, rotation, good, count in zip(items, rotations, correct, options, strict=True):
        if counts.setdefault(item, count) != count:
            raise _wrong("an item has two numbers of options", item, count, str(counts[item]))
        if not 0 <= rotation < count:
            raise _wrong("an item has a rotation that it cannot have", item, rotation, f"0 to {count - 1}")
        if rotation in right[item]:
            raise _wrong("an item has two answers to one rotation", item, rotation, "one answer to each")
        right[item][rotation] = bool(good)
    return {item: len(found) == counts[item] and all(found.values()) for item, found in right.items()}


def circular_accuracy(
    items: Sequence[str], rotations: Sequence[int], correct: Sequence[bool], options: Sequence[int]
) -> float | None:
    """Share of the items that are right in every rotation; see :func:`circular_scores`. None without items.

    Guessing scores ``(1/n)**n``: 0.4 % with four options.
    """
    return _share(circular_scores(items, rotations, correct, options))


def consistent_items(items: Sequence[str], choices: Sequence[str | None]) -> dict[str, bool]:
    """Which items got one and the same answer every time they were asked, right or wrong.

    Args:
        items: item id of each answer.
        choices: option chosen in each answer, in the item's own order and not as shown; None where nothing was read,
            which makes the item inconsistent.

    Returns:
        Item id to whether its answers are one, in the order of first appearance. An item with a single answer says
        nothing about consistency and is left out.

    Raises:
        SpatialQAError: the lengths differ.

    Example:
        >>> consistent_items(["a", "a", "b", "b", "c"], ["B", "B", "A", None, "D"])
        {'a': True, 'b': False}
    """
    _same_length(items, choices=choices)
    chosen: dict[str, list[str | None]] = defaultdict(list)
    for item, choice in zip(items, choices, strict=True):
        chosen[item].append(choice)
    return {item: None not in all_ and len(set(all_)) == 1 for item, all_ in chosen.items() if len(all_) > 1}


def rotation_consistency(items: Sequence[str], choices: Sequence[str | None]) -> float | None:
    """Share of the items, of those asked more than once, that :func:`consistent_items` finds so; None without any."""
    return _share(consistent_items(items, choices))


def _share(flags: dict[str, bool]) -> float | None:
    return sum(flags.values()) / len(flags) if flags else None


def _same_length(items: Sequence[str], **others: Sequence[Any]) -> None:
    for name, values in others.items():
        if len(values) != len(items):
            raise SpatialQAError(
                "the columns do not belong to the same answers",
                code="length_mismatch",
                key=name,
                found=f"{len(values)} values",
                expected=f"{len(items)} values, one per answer",
                next_step="give one value per answer in every column",
            )


def _wrong(problem: str, item: str, found: int, expected: str) -> SpatialQAError:
    return SpatialQAError(
        problem,
        code="bad_rotations",
        case=item,
        key="rotations",
        found=found,
        expected=expected,
        next_step="give the answers of one repeat, once each",
    )
