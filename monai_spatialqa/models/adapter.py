"""What every adapter to a model can do."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Any, Protocol, Self, runtime_checkable

from monai_spatialqa.models.question import ModelReply, Question
from monai_spatialqa.records.answer import ModelKind


@runtime_checkable
class Adapter(Protocol):
    """A way to ask one model. Used as an asynchronous context manager, which closes it at the end.

    An adapter gets questions only: keys, measurements and label maps never reach it.
    """

    @property
    def name(self) -> str:
        """Name of the model in tables."""
        ...

    @property
    def kind(self) -> ModelKind:
        """Group of the model in tables."""
        ...

    async def preflight(self, largest: Question | None = None) -> None:
        """Find out cheaply, before the first question, whether the model can be asked.

        Args:
            largest: the largest question of the run, to find out whether it fits.

        Raises:
            SpatialQAError: it cannot; says what to change.
        """
        ...

    async def answer(self, batch: Sequence[Question]) -> list[ModelReply]:
        """Ask questions at once; one reply for each, in the same order. A question that fails is a reply, too.

        Raises:
            SpatialQAError: nothing can be asked with these settings.
        """
        ...

    def describe(self) -> dict[str, Any]:
        """The settings that shape replies, as plain data for the report; never a key or password."""
        ...

    async def close(self) -> None:
        """Free what is held: connections, files, devices."""
        ...

    async def __aenter__(self) -> Self:
        """The adapter, ready to be asked."""
        ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Closes it."""
        ...
