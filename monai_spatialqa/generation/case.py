"""The items of one case: every subtask in turns, under the quotas."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from monai_spatialqa.anatomy import LabelMap
from monai_spatialqa.generation.settings import GenerateSettings
from monai_spatialqa.items.assemble import ItemContext, assemble, random_of
from monai_spatialqa.items.draft import SUBTASKS, Refusals
from monai_spatialqa.items.shuffle import with_key_at
from monai_spatialqa.items.view import CaseView
from monai_spatialqa.records import Measurement
from monai_spatialqa.records.item import LETTERS, Item, Reference

MOST_TRIES = 60
"""Drafts of a subtask and case that are looked at before its quota is given up."""

Pair = tuple[Item, Reference]


@dataclass
class CaseItems:
    """What a case yields.

    Attributes:
        pairs: items with their references.
        refusals: reason -> how often a structure or a draft was refused for it.
    """

    pairs: list[Pair]
    refusals: Counter[str] = field(default_factory=Counter)


def items_of_case(
    measurement: Measurement, label_map: LabelMap | None, context: ItemContext, settings: GenerateSettings
) -> CaseItems:
    """Make the items of one case; equal records and settings give equal items.

    Tasks take turns, and within a task its subtasks, one item each, until the quotas are full: per case, per subtask,
    and per structure that is asked about. Keys of choices whose options have no order of their own go round the
    letters.
    """
    view = CaseView(measurement, label_map)
    refusals = Refusals()
    turns = _Turns({name: _candidates(name, view, context, settings, refusals) for name in settings.chosen})
    taken: list[Pair] = []
    per_subtask: Counter[str] = Counter()
    per_structure: Counter[str] = Counter()
    while len(taken) < settings.items_per_case and (name := turns.next()) is not None:
        found = next(
            (pair for pair in turns.queue(name) if per_structure[pair[0].structures[0]] < settings.items_per_structure),
            None,
        )
        if found is not None:
            taken.append(found)
            per_subtask[name] += 1
            per_structure[found[0].structures[0]] += 1
        if found is None or per_subtask[name] == settings.items_per_subtask:
            turns.drop(name)
    counts = view.left_out_counts() + view.not_made_counts()
    counts.update(refusals.counts)
    return CaseItems(_balanced(taken, context, measurement.case_id), counts)


class _Turns:
    """Whose turn it is: the tasks one after the other, and of each task the subtask that waited longest."""

    def __init__(self, queues: dict[str, Iterator[Pair]]) -> None:
        self._queues = queues
        self._tasks: dict[str, list[str]] = {}
        for name in queues:
            self._tasks.setdefault(SUBTASKS[name].task, []).append(name)
        self._order = list(self._tasks)

    def next(self) -> str | None:
        """The next subtask, None when all are dropped."""
        for task in list(self._order):
            self._order.append(self._order.pop(0))
            if self._tasks[task]:
                name = self._tasks[task].pop(0)
                self._tasks[task].append(name)
                return name
        return None

    def queue(self, name: str) -> Iterator[Pair]:
        """The items that a subtask can still give."""
        return self._queues[name]

    def drop(self, name: str) -> None:
        """Leave a subtask out from now on."""
        self._tasks[SUBTASKS[name].task].remove(name)


def _candidates(
    name: str, view: CaseView, context: ItemContext, settings: GenerateSettings, refusals: Refusals
) -> Iterator[Pair]:
    made = SUBTASKS[name].make(view, settings.rules, random_of(settings.seed, view.case_id, name))
    for _, draft in zip(range(MOST_TRIES), made, strict=False):
        pair = assemble(draft, context, settings.rules, refusals)
        if pair is not None:
            yield pair


def _balanced(pairs: list[Pair], context: ItemContext, case_id: str) -> list[Pair]:
    """Keys go round the letters in blocks that the seed shuffles; intervals stay in their order."""
    random = random_of(context.seed, case_id, "letters")
    block: list[str] = []
    result = []
    for item, reference in sorted(pairs, key=lambda pair: pair[0].item_id):
        if item.format == "mca" and not is_ordered(item):
            wanted = next((letter for letter in block if LETTERS.index(letter) < len(item.options)), None)
            if wanted is None:
                block = list(LETTERS[: len(item.options)])
                random.shuffle(block)
                wanted = block[0]
            block.remove(wanted)
            item, reference = with_key_at(item, reference, wanted)
        result.append((item, reference))
    return result


def is_ordered(item: Item) -> bool:
    """Whether the options of a choice have an order of their own: intervals from low to high."""
    return any(option.startswith("less than ") for option in item.options)
