"""MONAI ImageReaders that refuse bad geometry. Loaded on use: the streamed path needs neither MONAI nor torch."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from monai_spatialqa.readers.dicom_seg import DicomSegReader
    from monai_spatialqa.readers.mask_folder import MaskFolderReader
    from monai_spatialqa.readers.nifti import NiftiReader
    from monai_spatialqa.readers.scan_reader import ScanReader
    from monai_spatialqa.readers.simpleitk import SimpleITKReader

__all__ = ["DicomSegReader", "MaskFolderReader", "NiftiReader", "ScanReader", "SimpleITKReader"]

_MODULE_OF = {
    "DicomSegReader": "dicom_seg",
    "MaskFolderReader": "mask_folder",
    "NiftiReader": "nifti",
    "ScanReader": "scan_reader",
    "SimpleITKReader": "simpleitk",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
