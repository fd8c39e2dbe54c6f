"""A MONAI ``ImageReader`` for NIfTI that refuses bad geometry and does not copy the voxels."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from monai.config import PathLike
from monai.utils import ensure_tuple

from monai_spatialqa.readers.image_reader import RefusingReader, single
from monai_spatialqa.readers.meta import LoadedScan
from monai_spatialqa.readers.nifti_header import Form
from monai_spatialqa.readers.nifti_stream import NiftiStream
from monai_spatialqa.readers.nifti_volume import array_shape, scaled_values, scan_geometry

SUFFIXES = (".nii", ".nii.gz", ".hdr", ".hdr.gz")


class NiftiReader(RefusingReader):
    """Reads NIfTI-1 and NIfTI-2, plain, gzipped or as a header/image pair, for ``LoadImage(reader=NiftiReader())``.

    The array keeps the stored type and the file's memory order, so that ``LoadImage(dtype=None,
    ensure_channel_first=True)`` hands on a view of the memory the file was inflated into. The affine is RAS mm whatever
    the header's unit. Length, checksum, units, form codes, spacing and singularity are checked; the outcome travels in
    the meta data (``spatialqa_geometry``, see :func:`~monai_spatialqa.readers.meta.geometry_meta`).

    Values are stored * slope + inter where the header asks for scaling: of the smallest integer type when both are
    whole, float32 or float64 otherwise.

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

    def load(self, paths: Sequence[Path]) -> LoadedScan:
        """Read one file: (X, Y, Z) or, with several volumes, (X, Y, Z, C); stored type unless scaled."""
        with NiftiStream(single(paths, "volume"), form=self.form) as stream:
            geometry = stream.geometry
            values = scaled_values(stream.read_all(), geometry)
        return LoadedScan(values.reshape(array_shape(geometry), order="F"), scan_geometry(geometry))
