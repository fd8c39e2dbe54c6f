"""What other figures mean: guessing, the first option, what is frequent, and the answers themselves as replies.

Baselines know the references and no model; they give replies that are read and scored like a model's. The blind
baseline is not among them: it is a model that is asked without images.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import get_args

from monai_spatialqa.errors import SettingsError
from monai_spatialqa.evaluation.frequency import frequency_replies
from monai_spatialqa.evaluation.guessing import first_replies, random_replies
from monai_spatialqa.evaluation.matching import keyed
from monai_spatialqa.evaluation.oracle import oracle_reply
from monai_spatialqa.records.answer import Answer, answer_id
from monai_spatialqa.records.item import Item, ItemFormat, Reference

CHOICES: tuple[ItemFormat, ...] = ("mca", "yesno")


@dataclass(frozen=True)
class Baseline:
    """A way to answer without a model.

    Attributes:
        name: in settings, tables and file names.
        about: one sentence for people.
        formats: of the items it has an answer to; it is not asked the others, and no figure counts them.
    """

    name: str
    about: str
    formats: tuple[ItemFormat, ...] = get_args(ItemFormat)

    def asked(self, items: Iterable[Item]) -> list[Item]:
        """The items that it has an answer to."""
        return [item for item in items if item.format in self.formats]


BASELINES = {
    baseline.name: baseline
    for baseline in (
        Baseline("random", "an option at random, the same under the same seed", CHOICES),
        Baseline("always_a", "the first option: A, or yes", CHOICES),
        Baseline("frequency", "what was right most often in the other cases; of numbers, the median"),
        Baseline("oracle", "the reference, written as models write; 100 % proves reading and scoring"),
    )
}
"""By name, in the order of tables."""


def baseline_answers(
    name: str, items: Iterable[Item], references: Iterable[Reference], *, seed: int = 0
) -> list[Answer]:
    """The replies of a baseline to the items that it has an answer to, in their order.

    Args:
        name: one of :data:`BASELINES`.
        items: the questions.
        references: their answers; more than the items' are passed over.
        seed: of the random baseline, and of the forms in which the oracle writes.

    Raises:
        SettingsError: there is no such baseline.
        ScoringError: an item without a fitting reference, or a double id.
    """
    if name not in BASELINES:
        raise SettingsError("there is no such baseline", key="baselines", found=name, expected=", ".join(BASELINES))
    pairs = keyed(items, references)
    asked = BASELINES[name].asked(item for item, _ in pairs.values())
    replies = _replies(name, [pairs[item.item_id] for item in asked], seed)
    return [_answer(name, item, replies[item.item_id]) for item in asked]


def _replies(name: str, pairs: Sequence[tuple[Item, Reference]], seed: int) -> dict[str, str | None]:
    if name == "random":
        return {**random_replies((item for item, _ in pairs), seed)}
    if name == "always_a":
        return {**first_replies(item for item, _ in pairs)}
    if name == "frequency":
        return frequency_replies(pairs)
    return {item.item_id: oracle_reply(item, reference, seed) for item, reference in pairs}


def _answer(name: str, item: Item, reply: str | None) -> Answer:
    return Answer(
        answer_id=answer_id(item.item_id),
        item_id=item.item_id,
        model=name,
        kind="baseline",
        preset="baseline",
        options=item.options,
        outcome="empty" if reply is None else "answered",
        reply=reply,
        problem="no other item tells anything about it" if reply is None else None,
    )
