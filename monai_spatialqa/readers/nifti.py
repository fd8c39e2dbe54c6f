"""A MONAI ``ImageReader`` for NIfTI that refuses bad geometry and does not copy the voxels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from monai.config import PathLike
from monai.data import ImageReader
from monai.utils import ensure_tuple
from numpy.typing import NDArray
from torch import Tensor

from monai_spatialqa.errors import FileReadError, SpatialQAError
from monai_spatialqa.readers.loaded import scan_meta
from monai_spatialqa.readers.nifti_header import Form, NiftiGeometry
from monai_spatialqa.readers.nifti_stream import NiftiStream
from monai_spatialqa.readers.nifti_volume import array_shape, scaled_values

SUFFIXES = (".nii", ".nii.gz", ".hdr", ".hdr.gz")


@dataclass(frozen=True)
class _Loaded:
    """What ``read`` hands to ``get_data``: the voxels, or the refusal that ``get_data`` has to raise."""

    path: Path
    geometry: NiftiGeometry | None = None
    values: NDArray | None = None
    refusal: SpatialQAError | None = None


class NiftiReader(ImageReader):
    """Reads NIfTI-1 and NIfTI-2, plain, gzipped or as a header/image pair, for ``LoadImage(reader=NiftiReader())``.

    The array keeps the stored type and the file's memory order, so that ``LoadImage(dtype=None,
    ensure_channel_first=True)`` hands on a view of the memory the file was inflated into. The affine is RAS mm whatever
    the header's unit. Length, checksum, units, form codes, spacing and singularity are checked; the outcome travels in
    the meta data (``spatialqa_geometry``, see :func:`~monai_spatialqa.readers.meta.geometry_meta`).

    Values are stored * slope + inter where the header asks for scaling: of the smallest integer type when both are
    whole, float32 or float64 otherwise.

    ``LoadImage`` swallows what a reader raises in ``read`` and falls back to another reader; so the refusal is raised
    by ``get_data``.

    Args:
        form: take this form (``"sform"`` or ``"qform"``) where the header contradicts itself, instead of refusing.

    Raises:
        SpatialQAError: from ``get_data``; see :class:`~monai_spatialqa.readers.nifti_stream.NiftiStream`.
    """

    def __init__(self, form: Form | None = None) -> None:
        super().__init__()
        self.form: Form | None = form

    def __repr__(self) -> str:
        return f"NiftiReader(form={self.form!r})"

    def verify_suffix(self, filename: Sequence[PathLike] | PathLike) -> bool:
        """Whether every name ends like a NIfTI file."""
        return all(str(name).lower().endswith(SUFFIXES) for name in ensure_tuple(filename))

    def read(self, data: Sequence[PathLike] | PathLike, **kwargs: Any) -> _Loaded:
        """Read one file; a refusal is kept for :meth:`get_data`."""
        names = ensure_tuple(data)
        path = Path(str(names[0]))
        if len(names) != 1:
            refusal: SpatialQAError = FileReadError(
                "one file is one volume",
                file=path,
                found=f"{len(names)} files",
                expected="1 file",
                next_step="load the files one by one",
            )
            return _Loaded(path, refusal=refusal)
        try:
            with NiftiStream(path, form=self.form) as stream:
                return _Loaded(path, stream.geometry, stream.read_all())
        except SpatialQAError as error:
            return _Loaded(path, refusal=error.with_context(file=path))
        except MemoryError:
            refusal = FileReadError(
                "the voxels do not fit into memory",
                code="too_large",
                file=path,
                found="out of memory",
                expected="memory for all voxels",
                next_step="measure the file with sqa.measure, which does not hold them",
            )
            return _Loaded(path, refusal=refusal)

    def get_data(self, img: _Loaded) -> tuple[Tensor, dict[str, Any]]:  # type: ignore[override]
        """The voxels as a tensor in the file's memory order, and the meta data.

        Returns:
            (X, Y, Z) or, with several volumes, (X, Y, Z, C); stored type unless scaled.

        Raises:
            SpatialQAError: whatever made :meth:`read` refuse the file.
        """
        if img.refusal is not None:
            raise img.refusal
        geometry, values = img.geometry, img.values
        assert geometry is not None
        assert values is not None
        array = scaled_values(values, geometry).reshape(array_shape(geometry), order="F")
        return torch.from_numpy(array), scan_meta(geometry, layers=geometry.channels)
