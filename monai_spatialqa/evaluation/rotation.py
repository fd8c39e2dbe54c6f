"""What is asked once: an item in one rotation of its options, one repeat, with or without images."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from monai_spatialqa.records.answer import answer_id
from monai_spatialqa.records.item import Item


@dataclass(frozen=True)
class Unit:
    """One question as it is asked.

    Attributes:
        item: the question.
        rotation: places that its options are moved on.
        repeat: which time, from 0.
        blind: without images.
    """

    item: Item
    rotation: int = 0
    repeat: int = 0
    blind: bool = False

    @property
    def answer_id(self) -> str:
        """Id of its answer; the same with and without images, which have files of their own."""
        return answer_id(self.item.item_id, self.rotation, self.repeat)

    @property
    def options(self) -> list[str]:
        """Texts of the options in the order shown."""
        return rotated(self.item.options, self.rotation)


def rotated(options: Sequence[str], places: int) -> list[str]:
    """The options moved on by some places; the last ones come to the front.

    Example:
        >>> rotated(["one", "two", "three"], 1)
        ['three', 'one', 'two']
    """
    start = len(options) - places % max(len(options), 1)
    return [*options[start:], *options[:start]]


def units_of(items: Sequence[Item], *, circular: bool, repeats: int, sights: Sequence[bool]) -> Iterator[Unit]:
    """Everything that a run asks, case by case, so that each scan is read once.

    Args:
        items: the questions.
        circular: a choice in all its rotations: intervals, too, whose order is then no longer that of their size.
            A yes-no question keeps its order; a number has none.
        repeats: how often each is asked.
        sights: for each way to ask, whether it is blind.
    """
    for item in sorted(items, key=lambda one: (one.case.case_id, one.item_id)):
        rotations = len(item.options) if circular and item.format == "mca" else 1
        for blind in sights:
            for rotation in range(rotations):
                for repeat in range(repeats):
                    yield Unit(item, rotation, repeat, blind)
