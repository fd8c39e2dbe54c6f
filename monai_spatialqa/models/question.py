"""What goes to a model and what comes back. A question holds nothing that could tell its answer."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import final

from pydantic import BaseModel

from monai_spatialqa.errors import SpatialQAError
from monai_spatialqa.records.answer import Outcome, Usage


@final
@dataclass(frozen=True, slots=True)
class Question:
    """One question as a model gets it. It has no place for anything else: no subclass, no further attribute.

    Args:
        key: names the question in logs and errors; the model does not see it.
        prompt: everything it is asked and told, as one text.
        system: text of a system message; empty: none is sent.
        images: PNG files in their order; none for a question that is asked blind.
        captions: one line for each image, to stand before it; empty: images go without.
        schema: pydantic model that the reply has to fit; None: free text.
        max_tokens: longest reply in tokens; None: as the adapter is set.
        sample: number of a repeat: equal questions with unequal samples are asked separately, whatever is cached.

    Raises:
        SpatialQAError: neither no caption nor one for each image.
    """

    key: str
    prompt: str
    system: str = ""
    images: tuple[bytes, ...] = ()
    captions: tuple[str, ...] = ()
    schema: type[BaseModel] | None = None
    max_tokens: int | None = None
    sample: int = 0

    def __post_init__(self) -> None:
        if self.captions and len(self.captions) != len(self.images):
            raise SpatialQAError(
                "captions and images of a question differ in number",
                code="bad_captions",
                key=self.key,
                found=f"{len(self.captions)} captions, {len(self.images)} images",
                expected="one caption for each image, or none",
            )


@dataclass(frozen=True)
class ModelReply:
    """How a question ended.

    Args:
        outcome: ``answered``, or which failure; see :data:`monai_spatialqa.records.answer.Outcome`.
        text: what the model said, whole and unchanged.
        stop_reason: as the server gives it.
        problem: what went wrong, for every outcome but ``answered``.
        rejected: earlier texts of the model that did not fit the form asked for, oldest first.
        reasoning: the model's reasoning, where it comes apart from the text.
        served_model: name that the model answered under, where it is not the one asked for.
        usage: tokens, as the server counts them.
        seconds: how long it took, waits included.
        cached: whether it came from a cache.
    """

    outcome: Outcome
    text: str | None = None
    stop_reason: str | None = None
    problem: str | None = None
    rejected: tuple[str, ...] = ()
    reasoning: str | None = None
    served_model: str | None = None
    usage: Usage = field(default_factory=Usage)
    seconds: float = 0.0
    cached: bool = False
