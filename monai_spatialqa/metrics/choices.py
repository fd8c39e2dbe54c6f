"""Accuracy of choices as a MONAI metric, and as an ignite handler."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import torch
from monai.handlers.ignite_metric import IgniteMetricHandler
from monai.metrics.metric import CumulativeIterationMetric

from monai_spatialqa.errors import SettingsError, SpatialQAError
from monai_spatialqa.metrics.batches import NO_REPLY, UNREAD, Batch, nothing_yet, paired
from monai_spatialqa.statistics import accuracy

Over = Literal["all", "answered"]


class ChoiceAccuracyMetric(CumulativeIterationMetric):
    """Accuracy of choices, collected over batches and processes; :func:`monai_spatialqa.statistics.accuracy`.

    Args:
        over: ``all``: right over all answers asked for; ``answered``: over those with a reply. An unreadable reply is
            wrong in both.

    Raises:
        SettingsError: another ``over``.

    Example:
        >>> metric = ChoiceAccuracyMetric()
        >>> metric([0, 3, UNREAD], [0, 1, 2]).squeeze(1).tolist()
        [1.0, 0.0, 0.0]
        >>> metric([2], [2]).tolist(), metric.aggregate().item()
        ([[1.0]], 0.5)
    """

    def __init__(self, over: Over = "all") -> None:
        super().__init__()
        if over not in ("all", "answered"):
            raise SettingsError(
                "accuracy has no such denominator",
                key="over",
                found=repr(over),
                expected="all or answered",
                next_step="take all, unless failed calls are to be left out",
            )
        self.over: Over = over

    def __repr__(self) -> str:
        return f"{type(self).__name__}(over={self.over!r})"

    def __call__(self, y_pred: Batch, y: Batch | None = None, **kwargs: Any) -> torch.Tensor:
        """Score a batch and keep its scores.

        Args:
            y_pred: number of the chosen option of each answer, from 0; ``UNREAD`` or ``NO_REPLY``.
            y: number of the right option.
            kwargs: none.

        Returns:
            float32 (B, 1) on the device of ``y_pred``: 1 right, 0 wrong, NaN no reply.

        Raises:
            SpatialQAError: not one whole number per answer.
        """
        answers, truths = paired(y_pred, y)
        return super().__call__(answers, truths.to(answers.device), **kwargs)  # type: ignore[return-value]

    def _compute_tensor(self, y_pred: torch.Tensor, y: torch.Tensor | None = None, **kwargs: Any) -> torch.Tensor:
        assert y is not None
        _check("y_pred", y_pred, y_pred >= NO_REPLY, f"a number from 0, {UNREAD} (unread) or {NO_REPLY} (no reply)")
        _check("y", y, y >= 0, "a number from 0")
        score = (y_pred == y).float()
        score[y_pred == NO_REPLY] = torch.nan
        return score[:, None]

    def aggregate(self) -> torch.Tensor:
        """Accuracy of all batches so far, of all processes.

        Returns:
            float64 (); NaN over the answered ones when there are none.

        Raises:
            SpatialQAError: no batch yet.
        """
        scores = self.get_buffer()
        if scores is None:
            raise nothing_yet(type(self).__name__)
        replied = ~torch.isnan(scores).cpu().numpy().ravel()
        found = accuracy((scores == 1).cpu().numpy().ravel(), replied)
        share = found.over_all if self.over == "all" else found.over_answered
        return torch.tensor(torch.nan if share is None else share, dtype=torch.float64)


class ChoiceAccuracy(IgniteMetricHandler):
    """:class:`ChoiceAccuracyMetric` for an engine; the figure is in ``engine.state.metrics``.

    Args:
        over: as there.
        output_transform: takes ``(y_pred, y)`` out of the engine's output, e.g. ``from_engine(["choice", "key"])``.
        save_details: keep the score of every answer in ``engine.state.metric_details``.
    """

    def __init__(
        self, over: Over = "all", output_transform: Callable[[Any], Any] = lambda x: x, save_details: bool = True
    ) -> None:
        super().__init__(
            metric_fn=ChoiceAccuracyMetric(over), output_transform=output_transform, save_details=save_details
        )


def _check(key: str, values: torch.Tensor, within: torch.Tensor, expected: str) -> None:
    good = within & (values == torch.round(values)) if values.is_floating_point() else within
    if values.dtype == torch.bool or not good.all():
        place = 0 if values.dtype == torch.bool else int(torch.nonzero(~good)[0])
        raise SpatialQAError(
            "this is not the number of an option",
            code="bad_choice",
            key=f"{key}[{place}]",
            found=values[place].item(),
            expected=expected,
            next_step="read the reply with monai_spatialqa.answers.read_choice and count its letter from A = 0",
        )
