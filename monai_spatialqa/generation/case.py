"""The items of one case: every subtask in turns, under the quotas."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from monai_spatialqa.anatomy import LabelMap
from monai_spatialqa.generation.balance import Pair, RunBalance
from monai_spatialqa.generation.settings import GenerateSettings
from monai_spatialqa.items.assemble import ItemContext, assemble, assemble_turned, random_of
from monai_spatialqa.items.draft import SUBTASKS, Draft, Refusals
from monai_spatialqa.items.view import CaseView
from monai_spatialqa.records import Measurement

MOST_TRIES = 200
"""Drafts of a subtask and case that are looked at before its quota is given up."""

ONE_ANSWER = "the run has had this answer too often in the subtask"
"""Why a question is not made whose key a guesser would know from the others of the run."""

LOOK_AHEAD = 6
"""Questions of a subtask among which the one is taken whose key and structure the run has had least."""


@dataclass
class CaseItems:
    """What a case yields.

    Attributes:
        pairs: items with their references.
        asked: the structure that each of them asks about, in the same order.
        left_out: reason -> structures that some question could not be about.
        not_made: reason -> questions that were drafted and given up.
    """

    pairs: list[Pair]
    asked: list[str]
    left_out: Counter[str] = field(default_factory=Counter)
    not_made: Counter[str] = field(default_factory=Counter)


def items_of_case(
    measurement: Measurement,
    label_map: LabelMap | None,
    context: ItemContext,
    settings: GenerateSettings,
    balance: RunBalance | None = None,
) -> CaseItems:
    """Make the items of one case; equal records, settings and earlier cases give equal items.

    Tasks take turns, and within a task its subtasks, one item each, until the quotas are full: per case, per subtask,
    per structure that is asked about, and over the run.

    Args:
        measurement: the case.
        label_map: of its structures.
        context: what its items share.
        settings: of the run.
        balance: what the run has asked so far; goes on counting. None: this is the only case.
    """
    balance = balance or RunBalance(settings.run_items_per_task, settings.run_items_per_structure)
    view = CaseView(measurement, label_map)
    context = replace(context, oblique=view.oblique)
    refusals = Refusals()
    queues = {name: _Queue(_candidates(name, view, context, settings, refusals)) for name in settings.chosen}
    turns = _Turns(queues)
    made = CaseItems([], [])
    per_subtask: Counter[str] = Counter()
    per_structure: Counter[str] = Counter()

    def fits(asked: str) -> bool:
        return per_structure[asked] < settings.items_per_structure and balance.may_ask(asked)

    while len(made.pairs) < settings.items_per_case and (name := turns.next()) is not None:
        found = queues[name].best(balance, fits) if balance.has_room(SUBTASKS[name].task) else None
        if found is not None:
            pair = balance.best_of([found.pair, *assemble_turned(found.draft, context, settings.rules)])
            if not balance.stays_open(pair):
                refusals.add(ONE_ANSWER)
                continue
            balance.take(pair, found.asked)
            made.pairs.append(pair)
            made.asked.append(found.asked)
            per_subtask[name] += 1
            per_structure[found.asked] += 1
        if found is None or per_subtask[name] == settings.items_per_subtask:
            turns.drop(name)
    made.left_out, made.not_made = view.left_out_counts(), view.not_made_counts()
    made.not_made.update(refusals.counts)
    return made


@dataclass(frozen=True)
class _Candidate:
    """A question that may be taken."""

    draft: Draft
    pair: Pair

    @property
    def asked(self) -> str:
        return self.draft.asked or self.draft.structures[0]


class _Queue:
    """The questions that a subtask can still give, of which the next few are looked at together."""

    def __init__(self, candidates: Iterator[_Candidate]) -> None:
        self._candidates = candidates
        self._seen: list[_Candidate] = []

    def best(self, balance: RunBalance, fits: Callable[[str], bool]) -> _Candidate | None:
        """Of the next few that fit, the one whose key and structure the run has had least; None without any."""
        self._seen = [each for each in self._seen if fits(each.asked)]
        while len(self._seen) < LOOK_AHEAD and (each := next(self._candidates, None)) is not None:
            if fits(each.asked):
                self._seen.append(each)
        if not self._seen:
            return None
        found = min(self._seen, key=lambda each: balance.had(each.pair, each.asked))
        self._seen.remove(found)
        return found


class _Turns:
    """Whose turn it is: the tasks one after the other, and of each task the subtask that waited longest.

    Those of lesions begin: fewer cases have them.
    """

    def __init__(self, names: dict[str, _Queue]) -> None:
        self._tasks: dict[str, list[str]] = {}
        for name in sorted(names, key=lambda each: not each.startswith("lesion_")):
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

    def drop(self, name: str) -> None:
        """Leave a subtask out from now on."""
        self._tasks[SUBTASKS[name].task].remove(name)


def _candidates(
    name: str, view: CaseView, context: ItemContext, settings: GenerateSettings, refusals: Refusals
) -> Iterator[_Candidate]:
    made = SUBTASKS[name].make(view, settings.rules, random_of(settings.seed, view.case_id, name))
    seen: set[str] = set()
    for _, draft in zip(range(MOST_TRIES), made, strict=False):
        pair = assemble(draft, context, settings.rules, refusals)
        # Several structures are compared in whatever order they were drawn: the same question may come again.
        if pair is not None and pair[0].item_id not in seen:
            seen.add(pair[0].item_id)
            yield _Candidate(draft, pair)
