"""MONAI ImageReaders that refuse bad geometry. Loaded on use: the streamed path needs neither MONAI nor torch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from monai_spatialqa.readers.nifti import NiftiReader

__all__ = ["NiftiReader"]


def __getattr__(name: str) -> Any:
    if name == "NiftiReader":
        from monai_spatialqa.readers.nifti import NiftiReader

        return NiftiReader
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
