"""MONAI ImageReaders that refuse bad geometry. Loaded on use: the streamed path needs neither MONAI nor torch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from monai_spatialqa.readers.nifti import NiftiReader
    from monai_spatialqa.readers.simpleitk import SimpleITKReader

__all__ = ["NiftiReader", "SimpleITKReader"]


def __getattr__(name: str) -> Any:
    if name == "NiftiReader":
        from monai_spatialqa.readers.nifti import NiftiReader

        return NiftiReader
    if name == "SimpleITKReader":
        from monai_spatialqa.readers.simpleitk import SimpleITKReader

        return SimpleITKReader
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
