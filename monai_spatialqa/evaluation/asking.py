"""Asking what is not answered yet: every reply is on the disk before the next question goes out in its place."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from monai_spatialqa.errors import JournalError, SettingsError, SpatialQAError
from monai_spatialqa.evaluation.questions import prompt_hash, question_of
from monai_spatialqa.evaluation.rotation import Unit
from monai_spatialqa.evaluation.scans import ShownScans
from monai_spatialqa.evaluation.settings import EvaluateSettings
from monai_spatialqa.models import Adapter, ModelReply, Question
from monai_spatialqa.progress import Progress
from monai_spatialqa.records import Journal
from monai_spatialqa.records.answer import Answer

STOP_AFTER = 20
"""Calls that fail at the service one after the other before a run gives up: the server is gone, not busy."""

Journals = Mapping[bool, Journal[Answer]]
"""Blind or not -> where such answers are kept."""


@dataclass
class Taken:
    """What the questions of one way to ask have taken: answers, those from the cache, time of all calls together."""

    answers: int = 0
    cached: int = 0
    seconds: float = 0.0


@dataclass
class Asked:
    """What came of asking.

    Attributes:
        calls: questions that were asked.
        taken: blind or not -> what these took.
        failed_cases: case -> why its scan could not be shown; its questions were not asked.
        stopped: why asking was given up; None when everything was asked.
    """

    calls: int = 0
    taken: dict[bool, Taken] = field(default_factory=dict)
    failed_cases: dict[str, dict[str, str | None]] = field(default_factory=dict)
    stopped: str | None = None


def waiting(
    units: Sequence[Unit], journals: Journals, hashes: Mapping[bool, str], settings: EvaluateSettings
) -> list[Unit]:
    """The units without an answer, or with one that is to be asked again.

    Args:
        units: everything that the run asks.
        journals: what is answered.
        hashes: blind or not -> hash of the settings that shape such answers.
        settings: of the run; with ``overwrite``, answers of other settings are dropped.

    Raises:
        JournalError: an answer was given to another prompt or under other settings, and ``overwrite`` is off.
    """
    left: list[Unit] = []
    foreign = {
        blind: [answer.answer_id for answer in journal.records() if answer.settings_sha256 != hashes[blind]]
        for blind, journal in journals.items()
    }
    for unit in units:
        answer = journals[unit.blind].get(unit.answer_id)
        if answer is None or answer.settings_sha256 != hashes[unit.blind]:
            left.append(unit)
        elif answer.prompt_sha256 != prompt_hash(unit, settings):
            foreign[unit.blind].append(unit.answer_id)
            left.append(unit)
        elif answer.outcome in settings.retry:
            left.append(unit)
    for blind, ids in foreign.items():
        if ids and not settings.overwrite:
            raise JournalError(
                "the output folder holds answers to other questions, or given under other settings",
                code="foreign_records",
                file=journals[blind].path,
                found=", ".join(ids[:5]),
                expected="answers of this model to these items, views and prompts",
                next_step="choose another output_dir, or pass --overwrite true to drop them",
            )
        if ids:
            journals[blind].discard(ids)
    return left


def ask(
    units: Sequence[Unit],
    adapter: Adapter,
    scans: ShownScans,
    journals: Journals,
    hashes: Mapping[bool, str],
    settings: EvaluateSettings,
    progress: Progress,
    asked: Asked,
) -> None:
    """Ask units, several at a time, and keep every answer as it comes.

    A scan that cannot be shown leaves out the questions about it and no others. After ``STOP_AFTER`` calls that failed
    at the service one after the other, nothing more is asked.

    Args:
        units: what to ask.
        adapter: whom; it is opened, tried out before the first question, and closed.
        scans: the views.
        journals: where answers are kept.
        hashes: blind or not -> hash of the settings that shape such answers.
        settings: of the run.
        progress: is told of every question.
        asked: is filled as questions are answered, so that it holds whatever ends the run.

    Raises:
        SpatialQAError: the model cannot be asked: its address, key, name or a setting is refused. What was answered
            before is kept.
    """
    try:
        asyncio.run(_Asking(adapter, scans, journals, hashes, settings, progress, asked).run(units))
    except ExceptionGroup as group:  # of the workers: one reason ends them all
        told = group.subgroup(SpatialQAError)
        if told is None:
            raise
        raise _first(told) from None


class _Asking:
    """One run of asking: workers that take units from a common list."""

    def __init__(
        self,
        adapter: Adapter,
        scans: ShownScans,
        journals: Journals,
        hashes: Mapping[bool, str],
        settings: EvaluateSettings,
        progress: Progress,
        asked: Asked,
    ) -> None:
        self._adapter = adapter
        self._scans = scans
        self._journals = journals
        self._settings = settings
        self._progress = progress
        self._hashes = hashes
        self._asked = asked
        self._failing = 0

    async def run(self, units: Sequence[Unit]) -> None:
        if not units:
            return
        batches = self._batches(units)
        waiting = iter(batches)
        workers = min(self._settings.workers, len(batches))
        async with self._adapter:
            await self._adapter.preflight(await self._largest(units))
            async with asyncio.TaskGroup() as group:
                for _ in range(workers):
                    group.create_task(self._work(waiting))

    async def _largest(self, units: Sequence[Unit]) -> Question | None:
        """The longest question, with the images of the first scan that can be shown; None where none can."""
        words = [len(unit.item.question) + sum(map(len, unit.options)) for unit in units]
        seen = [place for place, unit in enumerate(units) if not unit.blind]
        blind = [place for place, unit in enumerate(units) if unit.blind]
        for case in dict.fromkeys(units[place].item.case.case_id for place in seen):
            own = [place for place in seen if units[place].item.case.case_id == case]
            unit = units[max(own, key=words.__getitem__)]
            try:
                return question_of(unit, await self._scans.of(unit.item), self._settings)
            except SpatialQAError:
                continue  # told when its questions come up
        return question_of(units[max(blind, key=words.__getitem__)], None, self._settings) if blind else None

    def _batches(self, units: Sequence[Unit]) -> list[list[Unit]]:
        """Units that are asked at once: of the same views, as many as the adapter takes."""
        size = int(getattr(self._adapter, "batch_size", 1))
        if size < 1:
            raise SettingsError(
                "an adapter takes one question at once or more",
                key="batch_size",
                found=size,
                expected="1 or more",
                next_step="correct the batch_size of the adapter",
            )
        if size == 1:
            return [[unit] for unit in units]
        alike: dict[object, list[Unit]] = {}
        for unit in units:
            alike.setdefault((self._scans.key(unit.item), unit.blind), []).append(unit)
        return [own[start : start + size] for own in alike.values() for start in range(0, len(own), size)]

    async def _work(self, batches: Iterator[list[Unit]]) -> None:
        for batch in batches:
            if self._asked.stopped is not None:
                return
            await self._ask(batch)

    async def _ask(self, batch: Sequence[Unit]) -> None:
        case = batch[0].item.case.case_id
        try:
            shown = None if batch[0].blind else await self._scans.of(batch[0].item)
        except SpatialQAError as error:
            self._asked.failed_cases[case] = error.with_context(case=case).details()
            for _ in batch:
                self._progress.update(failed=True)
            return
        questions = [question_of(unit, shown, self._settings) for unit in batch]
        replies = await self._adapter.answer(questions)
        if len(replies) != len(batch):
            raise SpatialQAError(
                "an adapter gave another number of replies than it was asked questions",
                code="bad_adapter",
                key="adapter",
                found=f"{len(replies)} of {self._adapter.name}",
                expected=f"{len(batch)}, in the order of the questions",
                next_step="correct its method answer",
            )
        for unit, question, reply in zip(batch, questions, replies, strict=True):
            self._keep(unit, question, reply)

    def _keep(self, unit: Unit, question: Question, reply: ModelReply) -> None:
        self._journals[unit.blind].append(self._answer(unit, len(question.images), reply), replace=True)
        self._asked.calls += 1
        taken = self._asked.taken.setdefault(unit.blind, Taken())
        taken.answers += 1
        taken.cached += reply.cached
        taken.seconds += reply.seconds
        self._failing = self._failing + 1 if reply.outcome == "service" else 0
        if self._failing >= STOP_AFTER:
            self._asked.stopped = reply.problem or "the service failed"
        self._progress.update(failed=reply.outcome == "service")

    def _answer(self, unit: Unit, images: int, reply: ModelReply) -> Answer:
        settings = self._settings
        return Answer(
            answer_id=unit.answer_id,
            item_id=unit.item.item_id,
            model=self._adapter.name,
            kind=self._adapter.kind,
            blind=unit.blind,
            preset=settings.preset,
            rotation=unit.rotation,
            repeat=unit.repeat,
            options=unit.options,
            outcome=reply.outcome,
            reply=reply.text,
            reply_format="json" if settings.structured else "text",
            stop_reason=reply.stop_reason,
            rejected=list(reply.rejected),
            reasoning=reply.reasoning,
            problem=reply.problem,
            usage=reply.usage,
            served_model=reply.served_model,
            images=images,
            prompt_sha256=prompt_hash(unit, settings),
            settings_sha256=self._hashes[unit.blind],
        )


def _first(error: BaseException) -> BaseException:
    """The first error in a group of groups."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
