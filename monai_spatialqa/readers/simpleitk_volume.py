"""NRRD, seg.nrrd, MetaImage and DICOM image series as numpy arrays. Needs neither torch nor MONAI.

Text headers are read raw and judged here, and their voxels unpacked with every length and checksum compared: SimpleITK
repairs spacings and reads some files that were cut short. It reads the DICOM slices.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from monai_spatialqa.anatomy import LabelMap, load_label_map
from monai_spatialqa.errors import FileReadError, SpatialQAError
from monai_spatialqa.readers.contents import content_of, first_bytes
from monai_spatialqa.readers.meta import ScanGeometry
from monai_spatialqa.readers.metaimage_header import read_metaimage_header
from monai_spatialqa.readers.nrrd_header import read_nrrd_header
from monai_spatialqa.readers.seg_nrrd import is_segmentation, relabel, segments_of
from monai_spatialqa.readers.stored_voxels import check_files, read_voxels
from monai_spatialqa.readers.volume_header import VolumeHeader

Source = str | Path | Sequence[str | Path]
"""A file, a folder of DICOM slices, or a list of DICOM slices."""

Format = Literal["nrrd", "metaimage", "dicom"]


def format_of(path: Source) -> Format:
    """Which format a source has: a folder or a list is a DICOM series, a file is what its first bytes say.

    Raises:
        FileReadError: missing, empty, or none of these formats.
    """
    if not isinstance(path, (str, Path)):
        names = list(path)
        return format_of(names[0]) if len(names) == 1 else "dicom"
    path = Path(path)
    if path.is_dir():
        return "dicom"
    found = content_of(first_bytes(path))
    if found in ("nrrd", "metaimage", "dicom"):
        return found  # type: ignore[return-value]
    raise FileReadError(
        "the file is not what its name says" if path.suffix else "the format is unknown",
        code="unsupported_format",
        file=path,
        found=found,
        expected="NRRD, MetaImage or DICOM",
        next_step="check the file; give it the reader of its format",
    )


def read_sitk_geometry(path: Source, *, series_uid: str | None = None) -> ScanGeometry:
    """The checked grid of a scan; no voxel is unpacked, but their files must be there and of a size that fits.

    Args:
        path: a file, or the folder or the files of a DICOM series.
        series_uid: the DICOM series to take where a folder has several.

    Raises:
        SpatialQAError: see :func:`read_sitk_volume`.
    """
    kind = format_of(path)
    if kind == "dicom":
        return _series(path, series_uid).geometry
    file = _single(path)
    try:
        header = _header(file, kind)
        check_files(header.voxels)
        return header.geometry
    except SpatialQAError as error:
        raise error.with_context(file=file) from None


def read_sitk_volume(
    path: Source,
    label_map: str | Path | Mapping[Any, Any] | LabelMap | None = None,
    *,
    series_uid: str | None = None,
) -> tuple[NDArray, ScanGeometry, dict[int, str] | None]:
    """The voxels, their grid, and the structures that the file names itself.

    Args:
        path: a file, or the folder or the files of a DICOM series.
        label_map: gives the segments of a seg.nrrd their ids, by name; other label maps keep their ids.
        series_uid: the DICOM series to take where a folder has several.

    Returns:
        The voxels in Fortran order, (X, Y, Z) or, with several layers, (X, Y, Z, L), in native byte order; the grid
        in RAS mm; and id -> name of the segments of a seg.nrrd, found or not, None for anything else.

    Raises:
        FileReadError: missing, empty, cut short, damaged, of an unknown format, not three spatial axes, or not one
            number a voxel.
        GeometryError: the header's geometry is missing, impossible or contradictory, or slices are unevenly spaced.
        PairingError: several DICOM series.
        LabelMapError, LabelValueError: a seg.nrrd whose segments cannot be told apart.
    """
    kind = format_of(path)
    if kind == "dicom":
        from monai_spatialqa.readers.dicom_series import read_series_voxels

        series = _series(path, series_uid)
        return read_series_voxels(series), series.geometry, None
    file = _single(path)
    try:
        header = _header(file, kind)
        array = _spatial_first(read_voxels(header.voxels).reshape(header.sizes, order="F"), header)
        if not is_segmentation(header.keys):
            return array[..., 0], header.geometry, None
        segments = segments_of(header.keys, array.shape[3])
        found = relabel(array, segments, None if label_map is None else load_label_map(label_map))
        geometry = replace(header.geometry, notes=(*header.geometry.notes, *found.notes))
        return found.voxels, geometry, found.names
    except SpatialQAError as error:
        raise error.with_context(file=file) from None


def _single(path: Source) -> Path:
    return Path(path) if isinstance(path, (str, Path)) else Path(next(iter(path)))


def _header(path: Path, kind: Format) -> VolumeHeader:
    return read_nrrd_header(path) if kind == "nrrd" else read_metaimage_header(path)


def _series(path: Source, series_uid: str | None) -> Any:
    from monai_spatialqa.readers.dicom_series import read_series_header  # SimpleITK is slow to load

    return read_series_header(path, series_uid=series_uid)


def _spatial_first(array: NDArray, header: VolumeHeader) -> NDArray:
    """(X, Y, Z, L) in Fortran order; a copy only where layers lie between the voxels."""
    last = [axis for axis in range(array.ndim) if axis not in header.space_axes and axis != header.layer_axis]
    order = [*header.space_axes, *([] if header.layer_axis is None else [header.layer_axis]), *last]
    moved = array.transpose(order)
    shape = (*header.geometry.shape, 1 if header.layer_axis is None else header.sizes[header.layer_axis])
    return np.asfortranarray(moved).reshape(shape, order="F")
