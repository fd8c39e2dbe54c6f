"""NIfTI files through MONAI's loaders, as a pipeline sees them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from monai.transforms import LoadImaged

from monai_spatialqa.readers import NiftiReader


def load_label(path: Path, **options: Any) -> Any:
    """The label map as ``LoadImaged`` hands it on with the settings for labels."""
    reader = NiftiReader(**options)
    loader = LoadImaged("label", reader=reader, dtype=None, ensure_channel_first=True)
    return loader({"label": str(path)})["label"]


@pytest.fixture(scope="session")
def load() -> Callable[..., Any]:
    return load_label
