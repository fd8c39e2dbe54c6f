"""Measure segmented CT and MR, and find out how multimodal LLMs think in 3D.

Attributes load on use: ``import monai_spatialqa`` alone imports neither torch nor MONAI.

Example:
    >>> import monai_spatialqa as sqa
    >>> m = sqa.measure("seg.nii.gz", label_map="totalsegmentator_v2")  # doctest: +SKIP
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from monai_spatialqa.anatomy import load_label_map
    from monai_spatialqa.measurement.api import measure
    from monai_spatialqa.phantoms import make_phantom

from monai_spatialqa.errors import SpatialQAError

__version__ = "0.1.0"

__all__ = ["SpatialQAError", "__version__", "load_label_map", "make_phantom", "measure"]

_HOMES = {
    "load_label_map": "monai_spatialqa.anatomy",
    "make_phantom": "monai_spatialqa.phantoms",
    "measure": "monai_spatialqa.measurement.api",
}

_ROOMS = {
    "anatomy",
    "answers",
    "errors",
    "evaluation",
    "execution",
    "generation",
    "geometry",
    "items",
    "llm",
    "measurement",
    "metrics",
    "models",
    "phantoms",
    "quantities",
    "readers",
    "records",
    "rendering",
    "report",
    "sources",
    "statistics",
    "transforms",
    "workflow",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    if name in _ROOMS:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_ROOMS})
