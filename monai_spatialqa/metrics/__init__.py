"""Scores as MONAI metrics and ignite handlers, for evaluators and training loops; the arithmetic is in statistics."""

from monai_spatialqa.metrics.batches import NO_REPLY, UNREAD
from monai_spatialqa.metrics.choices import ChoiceAccuracy, ChoiceAccuracyMetric
from monai_spatialqa.metrics.numbers import RelativeAccuracy, RelativeAccuracyMetric

__all__ = [
    "NO_REPLY",
    "UNREAD",
    "ChoiceAccuracy",
    "ChoiceAccuracyMetric",
    "RelativeAccuracy",
    "RelativeAccuracyMetric",
]
