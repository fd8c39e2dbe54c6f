"""Mean relative accuracy of numbers as a MONAI metric, and as an ignite handler."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import torch
from monai.handlers.ignite_metric import IgniteMetricHandler
from monai.metrics.metric import CumulativeIterationMetric

from monai_spatialqa.errors import SettingsError
from monai_spatialqa.metrics.batches import Batch, nothing_yet, paired
from monai_spatialqa.statistics import mean_relative_accuracy

Mode = Literal["exact", "parity"]

STEPS = 10
"""Scores are whole tenths; counting those keeps the mean exact in any type and over any number of processes."""


class RelativeAccuracyMetric(CumulativeIterationMetric):
    """Mean relative accuracy, collected over batches and processes.

    The scores are those of :func:`monai_spatialqa.statistics.mean_relative_accuracy`. A float counts as the shortest
    decimal that gives it back in its own type: 0.1 in float32 is 0.1. They are computed on the CPU.

    Args:
        mode: ``exact`` or ``parity``.

    Raises:
        SettingsError: another mode.

    Example:
        >>> metric = RelativeAccuracyMetric()
        >>> metric(torch.tensor([107.0, torch.nan]), torch.tensor([100.0, 100.0])).squeeze(1).tolist()
        [0.9, 0.0]
        >>> metric.aggregate().item()
        0.45
    """

    def __init__(self, mode: Mode = "exact") -> None:
        super().__init__()
        if mode not in ("exact", "parity"):
            raise SettingsError(
                "this way of computing mean relative accuracy does not exist",
                key="mode",
                found=repr(mode),
                expected="exact or parity",
                next_step="take exact, or parity to compare with figures of public harnesses",
            )
        self.mode: Mode = mode

    def __repr__(self) -> str:
        return f"{type(self).__name__}(mode={self.mode!r})"

    def __call__(self, y_pred: Batch, y: Batch | None = None, **kwargs: Any) -> torch.Tensor:
        """Score a batch and keep its scores.

        Args:
            y_pred: a number per answer in the unit of the truth; NaN where none was read, which scores 0.
            y: the truths.
            kwargs: none.

        Returns:
            (B, 1) on the device of ``y_pred``, 0 to 1; float64, or float32 where the device has none.

        Raises:
            SpatialQAError: not one number per answer; a truth is zero or not finite, its index in the batch named.
        """
        answers, truths = paired(y_pred, y)
        return super().__call__(answers, truths, **kwargs)  # type: ignore[return-value]

    def _compute_tensor(self, y_pred: torch.Tensor, y: torch.Tensor | None = None, **kwargs: Any) -> torch.Tensor:
        assert y is not None
        predicted, truth = (
            (values.float() if values.dtype == torch.bfloat16 else values).cpu().numpy() for values in (y_pred, y)
        )
        scores = torch.from_numpy(mean_relative_accuracy(predicted, truth, self.mode))[:, None]
        kind = torch.float32 if y_pred.device.type == "mps" else torch.float64
        return scores.to(y_pred.device, kind)

    def aggregate(self) -> torch.Tensor:
        """Mean over all answers of all batches so far, of all processes.

        Returns:
            float64 ().

        Raises:
            SpatialQAError: no batch yet.
        """
        scores = self.get_buffer()
        if scores is None:
            raise nothing_yet(type(self).__name__)
        tenths = torch.round(scores.cpu() * STEPS).to(torch.int64)
        return torch.tensor(int(tenths.sum()) / (STEPS * tenths.numel()), dtype=torch.float64)


class RelativeAccuracy(IgniteMetricHandler):
    """:class:`RelativeAccuracyMetric` for an engine; the figure is in ``engine.state.metrics``.

    Args:
        mode: as there.
        output_transform: takes ``(y_pred, y)`` out of the engine's output, e.g. ``from_engine(["volume", "truth"])``.
        save_details: keep the score of every answer in ``engine.state.metric_details``.
    """

    def __init__(
        self, mode: Mode = "exact", output_transform: Callable[[Any], Any] = lambda x: x, save_details: bool = True
    ) -> None:
        super().__init__(
            metric_fn=RelativeAccuracyMetric(mode), output_transform=output_transform, save_details=save_details
        )
