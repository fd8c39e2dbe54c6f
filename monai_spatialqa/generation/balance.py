"""What a run has asked so far, and how the next item is chosen so that answers and structures stay balanced over it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from monai_spatialqa.items.assemble import random_of
from monai_spatialqa.items.shuffle import with_key_at
from monai_spatialqa.records.item import LETTERS, Item, Reference, TaskCode

Pair = tuple[Item, Reference]

FEW = 10
"""Items of a subtask below which a share of them means little."""

MOST_SHARE = {"yesno": 0.6, "mca": 0.4}
"""Largest share of a subtask's items over the run that may have one answer, by their format."""


@dataclass
class RunBalance:
    """Counts over the items that a run has taken.

    Attributes:
        most_per_task: items of a task over the run; None: any number.
        most_per_structure: items over the run that ask about one structure; None: any number.
        structures: structure that is asked about -> items.
        tasks: task -> items.
        answers: subtask -> yes, no, or the letter of an interval -> items.
        keys: subtask -> text of the key -> items.
    """

    most_per_task: int | None = None
    most_per_structure: int | None = None
    structures: Counter[str] = field(default_factory=Counter)
    tasks: Counter[TaskCode] = field(default_factory=Counter)
    answers: defaultdict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    keys: defaultdict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    _told: defaultdict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    _by_format: defaultdict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))

    def has_room(self, task: TaskCode) -> bool:
        """Whether the run may have another item of a task."""
        return self.most_per_task is None or self.tasks[task] < self.most_per_task

    def may_ask(self, structure: str) -> bool:
        """Whether the run may ask about a structure once more."""
        return self.most_per_structure is None or self.structures[structure] < self.most_per_structure

    def had(self, pair: Pair, asked: str) -> tuple[int, int]:
        """How often the run has had a choice's key in its subtask, and the structure that is asked about."""
        item, reference = pair
        return self.keys[item.subtask][reference.answer_text] if item.format == "mca" else 0, self.structures[asked]

    def best_of(self, versions: Sequence[Pair]) -> Pair:
        """The version of a question whose answer its subtask, and then the run, has had least; else the first one.

        Of intervals that is the text of the key first, then its place.
        """

        def had(pair: Pair) -> tuple[int, int, int]:
            item, reference = pair
            text, answer = reference.answer_text, reference.answer
            told = self.keys[item.subtask][text] if is_ordered(item) else 0
            return told, self.answers[item.subtask][answer], self._by_format[item.format][answer]

        return min(versions, key=had)

    def stays_open(self, pair: Pair) -> bool:
        """Whether the answers of a subtask stay open to question when an item is taken, too.

        Of ``FEW`` items and more, no more than ``MOST_SHARE`` have one answer: yes or no, the place of an interval, the
        text of another choice's key. Of fewer, no more than that share of ``FEW``.
        """
        item, reference = pair
        most = MOST_SHARE.get(item.format)
        if most is None:
            return True
        told = reference.answer if item.format == "yesno" or is_ordered(item) else reference.answer_text
        counts = self._told[item.subtask]
        return counts[told] + 1 <= most * max(FEW, counts.total() + 1)

    def take(self, pair: Pair, asked: str) -> None:
        """Count an item that was taken, and the structure that it asks about."""
        item, reference = pair
        by_answer = item.format == "yesno" or is_ordered(item)
        self._told[item.subtask][reference.answer if by_answer else reference.answer_text] += 1
        self.structures[asked] += 1
        self.tasks[item.task] += 1
        if item.format == "mca":
            self.keys[item.subtask][reference.answer_text] += 1
        if item.format == "yesno" or is_ordered(item):
            self.answers[item.subtask][reference.answer] += 1
            self._by_format[item.format][reference.answer] += 1


def with_letters_in_turn(pairs: Iterable[Pair], seed: int) -> list[Pair]:
    """The items of a run with their keys spread evenly over the letters; the key follows by its text.

    Items come in the order of their ids. Each choice gets the letter that the run has used least as a key so far, ties
    drawn by the seed. Intervals stand from low to high and keep their letters, which count as used.

    Args:
        pairs: all items of the run, with their references.
        seed: of the run.
    """
    random = random_of(seed, "letters")
    ordered = sorted(pairs, key=lambda pair: pair[0].item_id)
    used = Counter(reference.answer for item, reference in ordered if is_ordered(item))
    result = []
    for item, reference in ordered:
        if item.format == "mca" and not is_ordered(item):
            letters = list(LETTERS[: len(item.options)])
            random.shuffle(letters)
            letter = min(letters, key=lambda each: used[each])
            used[letter] += 1
            item, reference = with_key_at(item, reference, letter)
        result.append((item, reference))
    return result


def is_ordered(item: Item) -> bool:
    """Whether the options of a choice have an order of their own: intervals from low to high."""
    return item.format == "mca" and any(option.startswith("less than ") for option in item.options)
