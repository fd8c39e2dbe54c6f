"""What all tests share: the devices to run on, and small NIfTI files written to order."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import nibabel as nib
import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from tests.servers.llama_server import llama_image_server, llama_server  # noqa: F401  # fixtures, started when asked for

ROOT = Path(__file__).parent

# A busy machine is no fault of the code: examples have no time limit.
settings.register_profile("spatialqa", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("spatialqa")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test that takes ``device`` runs on the CPU and, where there is one, on CUDA."""
    if "device" in metafunc.fixturenames:
        import torch

        devices: list[Any] = ["cpu"]
        if torch.cuda.is_available():
            devices.append(pytest.param("cuda", marks=pytest.mark.gpu))
        metafunc.parametrize("device", devices, scope="session")


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """Real scans in miniature; their origins and licences are in the README there."""
    return ROOT / "data"


def nifti_bytes(
    array: np.ndarray,
    affine: Any = None,
    *,
    spacing: Sequence[float] | None = None,
    forms: tuple[int, int] = (1, 1),
    unit: str | int | None = "mm",
    edit: Callable[[Any], None] | None = None,
    version: int = 1,
    endian: str = "<",
) -> bytes:
    """The bytes of a plain single-file NIfTI, every field under control.

    Args:
        array: voxels; stored in their own type.
        affine: index to RAS mm; default: diagonal of ``spacing`` with zero origin.
        spacing: voxel sizes for the default affine.
        forms: codes of (sform, qform); both hold ``affine``.
        unit: name or number of the spatial unit; None for unknown.
        edit: last changes to the header's fields, unchecked.
        version: NIfTI 1 or 2.
        endian: byte order of header and voxels.
    """
    matrix = np.diag([*(spacing or (1.0, 1.0, 1.0)), 1.0]) if affine is None else np.asarray(affine, np.float64)
    image = (nib.Nifti1Image if version == 1 else nib.Nifti2Image)(array, matrix, dtype=array.dtype)
    image.set_sform(matrix, forms[0])
    image.set_qform(matrix, forms[1])
    header = image.header.as_byteswapped(endian)
    header["pixdim"][1:4] = np.linalg.norm(matrix[:3, :3], axis=0)
    header["xyzt_units"] = {"m": 1, "mm": 2, "micron": 3, None: 0}.get(unit, unit)  # type: ignore[call-overload]
    header["vox_offset"] = 352 if version == 1 else 544
    header["magic"] = b"n+1" if version == 1 else b"n+2\0\r\n\x1a\n"
    header["scl_slope"], header["scl_inter"] = np.nan, np.nan
    if edit is not None:
        edit(header)
    voxels = array.astype(array.dtype.newbyteorder(endian)).tobytes(order="F")
    return header.binaryblock + b"\0\0\0\0" + voxels


@pytest.fixture(scope="session")
def to_nifti() -> Callable[..., bytes]:
    """:func:`nifti_bytes`."""
    return nifti_bytes


@pytest.fixture
def write_nifti(tmp_path: Path) -> Callable[..., Path]:
    """Write a NIfTI file into the test's folder: name, voxels, then the options of :func:`nifti_bytes`."""

    def write(name: str, array: np.ndarray, affine: Any = None, **options: Any) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        content = nifti_bytes(array, affine, **options)
        path.write_bytes(gzip.compress(content, 1, mtime=0) if name.endswith(".gz") else content)
        return path

    return write


@pytest.fixture
def block() -> np.ndarray:
    """uint8 zeros (10, 12, 8) with ones at [2:5, 3:7, 1:4]: 36 voxels."""
    array = np.zeros((10, 12, 8), np.uint8)
    array[2:5, 3:7, 1:4] = 1
    return array
