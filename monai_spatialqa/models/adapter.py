"""What every adapter to a model can do."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Protocol, Self, runtime_checkable

from monai_spatialqa.models.question import ModelReply, Question
from monai_spatialqa.records.answer import ModelKind


@runtime_checkable
class Adapter(Protocol):
    """A way to ask one model. Used as an asynchronous context manager, which closes it at the end.

    An adapter gets questions only: keys, measurements and label maps never reach it. One's own may be a subclass, which
    needs ``name``, ``kind``, ``answer`` and ``describe``; or any class with the same methods. One that answers several
    questions faster together has a number ``batch_size`` as well: it then gets up to so many about the same views.
    """

    @property
    @abstractmethod
    def name(self) -> str:
        """Name of the model in tables."""

    @property
    @abstractmethod
    def kind(self) -> ModelKind:
        """Group of the model in tables."""

    async def preflight(self, largest: Question | None = None) -> None:
        """Find out cheaply, before the first question, whether the model can be asked. Unless overridden: nothing.

        Args:
            largest: the largest question of the run, to find out whether it fits.

        Raises:
            SpatialQAError: it cannot; says what to change.
        """

    @abstractmethod
    async def answer(self, batch: Sequence[Question]) -> list[ModelReply]:
        """Ask questions at once; one reply for each, in the same order. A question that fails is a reply, too.

        Raises:
            SpatialQAError: nothing can be asked with these settings.
        """

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """The settings that shape replies, as plain data for the report; never a key or password."""

    async def close(self) -> None:
        """Free what is held: connections, files, devices. May be called twice. Unless overridden: nothing."""

    async def __aenter__(self) -> Self:
        """The adapter, ready to be asked."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Closes it."""
        await self.close()
