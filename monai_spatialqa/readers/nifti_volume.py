"""A whole NIfTI volume as a numpy array, with the header's scaling applied. Needs neither torch nor MONAI."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from monai_spatialqa.readers.meta import ScanGeometry
from monai_spatialqa.readers.nifti_header import Form, NiftiGeometry
from monai_spatialqa.readers.nifti_stream import NiftiStream


def read_volume(path: str | Path, *, form: Form | None = None) -> tuple[NDArray, NDArray[np.float64]]:
    """The voxels (X, Y, Z) or (X, Y, Z, C) in stored axis order, Fortran-ordered, and the affine to RAS mm.

    Raises:
        SpatialQAError: see :class:`~monai_spatialqa.readers.nifti_stream.NiftiStream`.
    """
    with NiftiStream(path, form=form) as stream:
        geometry = stream.geometry
        values = scaled_values(stream.read_all(), geometry)
    return values.reshape(array_shape(geometry), order="F"), geometry.affine


def scan_geometry(geometry: NiftiGeometry) -> ScanGeometry:
    """The grid that a NIfTI header states."""
    return ScanGeometry(geometry.shape, geometry.affine, geometry.orientation_known, geometry.notes)


def array_shape(geometry: NiftiGeometry) -> tuple[int, ...]:
    """(X, Y, Z), with the number of volumes behind it when there are several."""
    return geometry.shape if geometry.channels == 1 else (*geometry.shape, geometry.channels)


def scaled_values(values: NDArray, geometry: NiftiGeometry) -> NDArray:
    """Stored values with the header's scaling applied; the same array when there is none."""
    if not geometry.scaled:
        return values
    slope, inter = geometry.slope, geometry.inter
    if values.dtype.kind in "iu" and slope.is_integer() and inter.is_integer():
        ends = [int(slope) * int(end) + int(inter) for end in (values.min(), values.max())] if values.size else [0]
        for kind in (np.int16, np.int32, np.int64):
            if np.iinfo(kind).min <= min(ends) and max(ends) <= np.iinfo(kind).max:
                return (values.astype(np.int64) * int(slope) + int(inter)).astype(kind)
    narrow = values.dtype.itemsize <= 2 or values.dtype == np.float32
    return (values * slope + inter).astype(np.float32 if narrow else np.float64)
