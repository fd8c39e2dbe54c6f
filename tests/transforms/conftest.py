"""Small label maps with known figures, and the ways transforms are held against each other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from monai.data import MetaTensor
from monai.transforms import LoadImage
from torch import Tensor

from monai_spatialqa.errors import SpatialQAError
from monai_spatialqa.readers import NiftiReader
from monai_spatialqa.readers.meta import GEOMETRY_KEY, geometry_meta

STRUCTURES = {1: "liver", 2: "spleen", 3: "heart"}


@pytest.fixture
def structures() -> dict[int, str]:
    """Names of the scene's ids; the heart (3) is not in it."""
    return dict(STRUCTURES)


@pytest.fixture
def scene(block: np.ndarray) -> np.ndarray:
    """The block as id 1, and id 2 at [6:8, 3:7, 1:4]: 24 voxels."""
    block[6:8, 3:7, 1:4] = 2
    return block


@pytest.fixture(scope="session")
def tensor_of() -> Callable[..., MetaTensor]:
    """A MetaTensor as a checking reader leaves it; 3-D arrays get a channel."""

    def make(
        array: Any,
        affine: Any = None,
        *,
        spacing: Sequence[float] = (2.0, 3.0, 4.0),
        known: bool = True,
        geometry: str | None = None,
        device: Any = "cpu",
    ) -> MetaTensor:
        voxels = torch.as_tensor(array)
        matrix = np.diag([*spacing, 1.0]) if affine is None else np.asarray(affine, np.float64)
        meta: dict[str, Any] = {"original_affine": matrix.copy(), **geometry_meta(known=known, notes=())}
        if geometry is not None:
            meta[GEOMETRY_KEY] = geometry
        return MetaTensor(
            (voxels[None] if voxels.ndim == 3 else voxels).to(device), affine=torch.as_tensor(matrix), meta=meta
        )

    return make


@pytest.fixture(scope="session")
def load() -> Callable[[Path], MetaTensor]:
    """Load a label map the way the documentation says."""
    loader = LoadImage(reader=NiftiReader(), dtype=None, ensure_channel_first=True, image_only=True)
    return lambda path: loader(str(path))


@pytest.fixture(scope="session")
def differences() -> Callable[..., list[str]]:
    """Names whose tensors differ in type, shape or any value (NaN equals NaN)."""

    def compare(one: Mapping[str, Tensor], other: Mapping[str, Tensor], tolerance: float = 0.0) -> list[str]:
        def differ(first: Tensor, second: Tensor) -> bool:
            if first.dtype != second.dtype or first.shape != second.shape:
                return True
            return not torch.allclose(
                first.cpu().double(), second.cpu().double(), rtol=tolerance, atol=tolerance, equal_nan=True
            )

        names = sorted({*one, *other})
        return [name for name in names if name not in one or name not in other or differ(one[name], other[name])]

    return compare


@pytest.fixture(scope="session")
def refused() -> Callable[..., Any]:
    """A block that must end in a refusal of this code, whatever MONAI wraps around it."""

    @contextmanager
    def block(code: str, *said: str) -> Iterator[None]:
        with pytest.raises((SpatialQAError, RuntimeError)) as caught:
            yield
        error: BaseException | None = caught.value
        while error is not None and not isinstance(error, SpatialQAError):
            error = error.__cause__ or error.__context__
        assert isinstance(error, SpatialQAError), caught.value
        assert error.code == code, str(error)
        assert error.expected or error.next_step, str(error)
        for part in said:
            assert part in str(error), str(error)

    return block


@pytest.fixture
def two_blobs() -> np.ndarray:
    """(8, 6, 6): id 1 at (1, 3, 3), id 2 at (6, 3, 3)."""
    array = np.zeros((8, 6, 6), np.uint8)
    array[1, 3, 3], array[6, 3, 3] = 1, 2
    return array
