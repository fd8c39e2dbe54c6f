"""The grid of the image that was segmented: a DICOM SEG often leaves out the slices in which nothing was found."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from pathlib import Path

import numpy as np

from monai_spatialqa.errors import FileReadError, GeometryError, PairingError, SpatialQAError
from monai_spatialqa.geometry.affine import checked_affine
from monai_spatialqa.readers.dicom_datasets import frame_planes, joined_planes, read_dataset
from monai_spatialqa.readers.dicom_files import dicom_kind
from monai_spatialqa.readers.dicom_stack import LPS_TO_RAS, FramePlanes, FrameStack, stack_frames
from monai_spatialqa.readers.meta import ScanGeometry
from monai_spatialqa.readers.nifti_stream import read_header

GridSource = str | Path | ScanGeometry
Reference = GridSource | Callable[[Path], GridSource]
"""An image, or a function that names the image of a segmentation: folder of a DICOM series, enhanced DICOM file, NIfTI
file, or a grid."""

OFF_GRID_VOXELS = 0.1
"""A corner further than this from a voxel of the reference is not on its grid."""

_GEOMETRY_TAGS = [
    "SOPClassUID",
    "SeriesInstanceUID",
    "ImagePositionPatient",
    "ImageOrientationPatient",
    "PixelSpacing",
    "Rows",
    "Columns",
    "SpacingBetweenSlices",
    "NumberOfFrames",
    "SharedFunctionalGroupsSequence",
    "PerFrameFunctionalGroupsSequence",
]


def reference_grid(reference: Reference, segmentation: Path, series: Collection[str]) -> ScanGeometry:
    """The grid of the image that was segmented.

    Args:
        reference: the image, or a function from the path of the segmentation to it.
        segmentation: path of the segmentation.
        series: SeriesInstanceUIDs that the segmentation refers to. Of a folder, the slices of these count; with none,
            the folder has to hold one series.

    Raises:
        FileReadError: no such image.
        GeometryError: the image has no regular grid.
        PairingError: the folder holds other series, or several.
    """
    source = reference(segmentation) if callable(reference) else reference
    if isinstance(source, ScanGeometry):
        return source
    path = Path(source)
    try:
        if path.is_dir():
            return _series_grid(path, series)
        if dicom_kind(path) == "image":
            dataset = read_dataset(path, tags=_GEOMETRY_TAGS, pixels=False)
            return _whole_grid(frame_planes(path, dataset))
        header = read_header(path)
    except SpatialQAError as error:
        raise error.with_context(file=path, key="reference") from None
    return ScanGeometry(header.shape, header.affine, header.orientation_known, header.notes)


def _series_grid(folder: Path, series: Collection[str]) -> ScanGeometry:
    """The grid of a series whose slices lie in one folder."""
    found: dict[str, list[FramePlanes]] = {}
    for path in sorted(folder.iterdir()):
        if path.is_file() and dicom_kind(path) == "image":
            dataset = read_dataset(path, tags=_GEOMETRY_TAGS, pixels=False)
            found.setdefault(str(dataset.get("SeriesInstanceUID", "")), []).append(frame_planes(path, dataset))
    if not found:
        raise FileReadError(
            "there is no DICOM image in the folder",
            code="missing_file",
            file=folder,
            found="none",
            expected="the slices of the image that was segmented",
            next_step="check the path",
        )
    wanted = [uid for uid in found if uid in series] if series else list(found)
    if len(wanted) != 1:
        raise PairingError(
            "the folder does not hold the series that was segmented"
            if not wanted
            else "the folder holds several series that may have been segmented",
            code="other_series",
            file=folder,
            key="SeriesInstanceUID",
            found=", ".join(sorted(found)[:5]),
            expected=", ".join(sorted(series)[:5]) or "one series",
            next_step="name the folder of the image that was segmented",
        )
    return _whole_grid(joined_planes(found[wanted[0]]))


def _whole_grid(planes: FramePlanes) -> ScanGeometry:
    """The grid of an image: all of its slices are there, so their positions say everything."""
    if len(planes.positions) > 1:
        planes = replace(planes, between_slices=None)
    geometry = stack_frames(planes).geometry
    return ScanGeometry(geometry.shape, geometry.affine)


def stack_on_reference(planes: FramePlanes, reference: ScanGeometry) -> FrameStack:
    """Frames on the grid of another image, with its axes turned to columns, rows and slices of the frames.

    Slices of the reference that have no frame are part of the grid; its field of view counts, and its slice spacing.

    Args:
        planes: the frames; what they state of the slice spacing is not used.
        reference: grid of the image that was segmented.

    Raises:
        GeometryError: the reference does not know its orientation.
        PairingError: the frames do not lie on the voxels of the reference, or reach beyond them.
    """
    if not reference.orientation_known:
        raise GeometryError(
            "the reference does not say where left, front and up are",
            code="orientation_unknown",
            key="reference",
            found="no orientation",
            expected="an image with one",
            next_step="name the original image",
        )
    grid = _turned(planes, reference)
    rows, columns = planes.size
    far = planes.row * planes.spacing[1] * (columns - 1) + planes.column * planes.spacing[0] * (rows - 1)
    to_index = np.linalg.inv(grid.affine)
    first, last = (
        (corners * LPS_TO_RAS) @ to_index[:3, :3].T + to_index[:3, 3]
        for corners in (planes.positions, planes.positions + far)
    )
    start = np.rint(first).astype(np.int64)
    start[:, :2] = start[0, :2]
    end = start + np.array([columns - 1, rows - 1, 0])
    shift = max(float(np.abs(first - start).max()), float(np.abs(last - end).max()))
    if shift > OFF_GRID_VOXELS:
        raise _off_grid(f"a corner {shift:.3g} voxel from its place")
    if (start < 0).any() or (end >= np.array(grid.shape)).any():
        raise PairingError(
            "the segmentation reaches beyond the reference",
            code="other_grid",
            key="reference",
            found=f"voxels {start.min(axis=0).tolist()} to {end.max(axis=0).tolist()}",
            expected=f"voxels inside {list(grid.shape)}",
            next_step="name the image that was segmented",
        )
    return FrameStack(grid, tuple(start[:, 2].tolist()), (int(start[0, 0]), int(start[0, 1])))


def _turned(planes: FramePlanes, reference: ScanGeometry) -> ScanGeometry:
    """The reference's grid with its axes permuted and flipped to run along rows, columns and slices of the frames."""
    steps = reference.affine[:3, :3]
    axes = np.stack([planes.row, planes.column, planes.normal]) * LPS_TO_RAS
    cosines = axes @ (steps / np.linalg.norm(steps, axis=0))
    sources = np.abs(cosines).argmax(axis=1).tolist()
    if sorted(sources) != [0, 1, 2]:
        raise _off_grid("other directions")
    affine = reference.affine.copy()
    for axis, source in enumerate(sources):
        flipped = cosines[axis, source] < 0
        affine[:3, axis] = -steps[:, source] if flipped else steps[:, source]
        if flipped:
            affine[:3, 3] += steps[:, source] * (reference.shape[source] - 1)
    shape = (reference.shape[sources[0]], reference.shape[sources[1]], reference.shape[sources[2]])
    notes = (*reference.notes, "placed on the grid of the reference image")
    return ScanGeometry(shape, checked_affine(affine + 0.0), notes=notes)


def _off_grid(found: str) -> PairingError:
    return PairingError(
        "the segmentation does not lie on the voxels of the reference",
        code="other_grid",
        key="reference",
        found=found,
        expected=f"at most {OFF_GRID_VOXELS:g} voxel",
        next_step="name the image that was segmented",
    )
