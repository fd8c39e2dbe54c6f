"""The measure stage: from segmented scans to ``measurements.jsonl``. Loaded on use: streaming needs no torch."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from monai_spatialqa.measurement.api import measure
    from monai_spatialqa.measurement.arrays import Guarded, RecordMeasurementd, image_paths
    from monai_spatialqa.measurement.options import MeasureOptions
    from monai_spatialqa.measurement.settings import MeasureSettings
    from monai_spatialqa.measurement.stage import MeasureSummary, run_measurement

__all__ = [
    "Guarded",
    "MeasureOptions",
    "MeasureSettings",
    "MeasureSummary",
    "RecordMeasurementd",
    "image_paths",
    "measure",
    "run_measurement",
]

_HOMES = {
    "Guarded": "arrays",
    "MeasureOptions": "options",
    "MeasureSettings": "settings",
    "MeasureSummary": "stage",
    "RecordMeasurementd": "arrays",
    "image_paths": "arrays",
    "measure": "api",
    "run_measurement": "stage",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
