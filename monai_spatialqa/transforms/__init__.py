"""MONAI transforms around geometry. Loaded on use: field names and streamed measuring need neither MONAI nor torch."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from monai_spatialqa.transforms.array import (
        MeasureBoundingBox,
        MeasureComponents,
        MeasureContact,
        MeasureDiameter,
        MeasureDirection,
        MeasureDistance,
        MeasureStructures,
        MeasureVolume,
    )
    from monai_spatialqa.transforms.dictionary import (
        MeasureBoundingBoxD,
        MeasureBoundingBoxd,
        MeasureBoundingBoxDict,
        MeasureComponentsD,
        MeasureComponentsd,
        MeasureComponentsDict,
        MeasureContactD,
        MeasureContactd,
        MeasureContactDict,
        MeasureDiameterD,
        MeasureDiameterd,
        MeasureDiameterDict,
        MeasureDirectionD,
        MeasureDirectiond,
        MeasureDirectionDict,
        MeasureDistanceD,
        MeasureDistanced,
        MeasureDistanceDict,
        MeasureStructuresD,
        MeasureStructuresd,
        MeasureStructuresDict,
        MeasureVolumeD,
        MeasureVolumed,
        MeasureVolumeDict,
        ValidateGeometryD,
        ValidateGeometryd,
        ValidateGeometryDict,
    )
    from monai_spatialqa.transforms.validate import ValidateGeometry

__all__ = [
    "MeasureBoundingBox",
    "MeasureBoundingBoxD",
    "MeasureBoundingBoxDict",
    "MeasureBoundingBoxd",
    "MeasureComponents",
    "MeasureComponentsD",
    "MeasureComponentsDict",
    "MeasureComponentsd",
    "MeasureContact",
    "MeasureContactD",
    "MeasureContactDict",
    "MeasureContactd",
    "MeasureDiameter",
    "MeasureDiameterD",
    "MeasureDiameterDict",
    "MeasureDiameterd",
    "MeasureDirection",
    "MeasureDirectionD",
    "MeasureDirectionDict",
    "MeasureDirectiond",
    "MeasureDistance",
    "MeasureDistanceD",
    "MeasureDistanceDict",
    "MeasureDistanced",
    "MeasureStructures",
    "MeasureStructuresD",
    "MeasureStructuresDict",
    "MeasureStructuresd",
    "MeasureVolume",
    "MeasureVolumeD",
    "MeasureVolumeDict",
    "MeasureVolumed",
    "ValidateGeometry",
    "ValidateGeometryD",
    "ValidateGeometryDict",
    "ValidateGeometryd",
]

_ARRAY = {
    "MeasureBoundingBox",
    "MeasureComponents",
    "MeasureContact",
    "MeasureDiameter",
    "MeasureDirection",
    "MeasureDistance",
    "MeasureStructures",
    "MeasureVolume",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    room = "array" if name in _ARRAY else "validate" if name == "ValidateGeometry" else "dictionary"
    return getattr(import_module(f"{__name__}.{room}"), name)
