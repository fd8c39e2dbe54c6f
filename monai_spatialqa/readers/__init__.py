"""MONAI ImageReaders that refuse bad geometry. Loaded on use: the streamed path needs neither MONAI nor torch."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from monai_spatialqa.readers.dicom_seg import DicomSegReader
    from monai_spatialqa.readers.nifti import NiftiReader

__all__ = ["DicomSegReader", "NiftiReader"]

_HOMES = {"DicomSegReader": "dicom_seg", "NiftiReader": "nifti"}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
