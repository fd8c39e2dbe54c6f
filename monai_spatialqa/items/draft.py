"""A question before it has options and words: what a subtask hands on, and how subtasks are found."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from random import Random

from monai_spatialqa.items.view import CaseView
from monai_spatialqa.records.item import Evidence, ItemFormat, TaskCode


@dataclass(frozen=True)
class Choice:
    """An answer as it is shown, right or wrong.

    Attributes:
        text: as shown, with its unit.
        why: why it is wrong; empty for the key.
        value: its number in ``unit``, where it is one.
        unit: unit of the value.
        place: where it stands among the options of an ordered draft.
    """

    text: str
    why: str = ""
    value: float | None = None
    unit: str | None = None
    place: int = 0


@dataclass(frozen=True)
class Draft:
    """One question of a subtask.

    Attributes:
        task, subtask: where it belongs; the template of the subtask words it.
        structures: what it is about, the one asked for first.
        words: values for the template, as text; names of structures are already readable.
        key: the right answer.
        wrong: wrong answers, the most plausible first; options are taken from the front.
        evidence: what the key rests on.
        format: mca, yesno or numeric.
        answer_unit: unit of a numeric answer.
        margin: see :class:`~monai_spatialqa.records.item.Reference`.
        ordered: options stand by their ``place``, unshuffled (intervals).
        asked: structure that quotas count the item for, where it is not the first one.
        turned: the same question with its answer elsewhere: no instead of yes, the key in another interval. A run
            takes the one that balances its answers.
    """

    task: TaskCode
    subtask: str
    structures: tuple[str, ...]
    words: Mapping[str, str]
    key: Choice
    wrong: tuple[Choice, ...]
    evidence: tuple[Evidence, ...]
    format: ItemFormat = "mca"
    answer_unit: str | None = None
    margin: float | None = None
    ordered: bool = False
    asked: str | None = None
    turned: tuple[Draft, ...] = ()


def either_way(make: Callable[[bool], Draft], random: Random) -> Draft:
    """A yes-no question whose answer is left to chance, and the one with the other answer as what it turns into.

    Args:
        make: gives the question whose answer is yes, or no.
        random: of the subtask.
    """
    true = random.random() < 0.5
    return replace(make(true), turned=(make(not true),))


@dataclass(frozen=True)
class Rules:
    """Settings that shape items; the defaults are those of ``configs/presets/strict.yaml``.

    Attributes:
        options: options of a choice.
        value_gap: least relative gap between two options that are values.
        comparison_gap: least relative gap between two figures that are compared.
        robust: the key must be the same anywhere within half a voxel.
        widest_range: times that the upper end of an open number's range may be the lower one.
        volume_unit, length_unit: units that items are stated in.
    """

    options: int = 4
    value_gap: float = 0.15
    comparison_gap: float = 0.10
    robust: bool = True
    widest_range: float = 2.0
    volume_unit: str = "ml"
    length_unit: str = "mm"


Maker = Callable[[CaseView, Rules, Random], Iterator[Draft]]


@dataclass(frozen=True)
class Subtask:
    """A kind of question.

    Attributes:
        task: its task code.
        name: unique over all tasks; also the key of its templates.
        make: yields drafts for a case, in an order that the random generator alone decides.
        about: one sentence for people.
    """

    task: TaskCode
    name: str
    make: Maker
    about: str


SUBTASKS: dict[str, Subtask] = {}
"""All subtasks by name, in the order of their files."""


def subtask(task: TaskCode, name: str) -> Callable[[Maker], Maker]:
    """Register a function that makes drafts as a subtask; its docstring's first line says what it asks."""

    def register(make: Maker) -> Maker:
        if name in SUBTASKS:
            raise ValueError(f"two subtasks are called {name}")
        SUBTASKS[name] = Subtask(task, name, make, (make.__doc__ or "").strip().splitlines()[0])
        return make

    return register


@dataclass
class Refusals:
    """Why drafts did not become items, counted."""

    counts: dict[str, int] = field(default_factory=dict)

    def add(self, reason: str) -> None:
        """Count one."""
        self.counts[reason] = self.counts.get(reason, 0) + 1
