"""DICOM data sets opened and checked: whole or not at all, and where their frames lie."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from monai_spatialqa.errors import FileReadError, GeometryError, MissingExtraError, SpatialQAError
from monai_spatialqa.readers.dicom_stack import FramePlanes, checked_planes

_COPY_AGAIN = "copy the file again from its source"


def highdicom() -> Any:
    """The package highdicom.

    Raises:
        MissingExtraError: it is not installed.
    """
    try:
        import highdicom
    except ImportError:
        raise MissingExtraError(
            "DICOM segmentations are read with highdicom, which is not installed",
            found="no highdicom",
            expected="highdicom 0.24 or newer",
            next_step='pip install "monai-spatialqa[dicom]"',
        ) from None
    return highdicom


def damaged(path: Path, error: Exception) -> FileReadError:
    """The refusal of a file that a DICOM library stumbles over."""
    return FileReadError(
        "the DICOM file is damaged, or breaks the standard",
        code="corrupt_file",
        file=path,
        found=f"{type(error).__name__}: {error}",
        expected="a whole DICOM file",
        next_step=_COPY_AGAIN,
    )


def truncated(path: Path, found: str, expected: str) -> FileReadError:
    """The refusal of a file that ends too early."""
    return FileReadError(
        "the file is truncated, or was written without its pixels",
        code="truncated_file",
        file=path,
        found=found,
        expected=expected,
        next_step=_COPY_AGAIN,
    )


def read_dataset(path: Path, *, tags: Sequence[str] | None = None, pixels: bool = True) -> Any:
    """A pydicom data set.

    Args:
        path: the file.
        tags: read these elements only.
        pixels: whether to read the pixels, and to check that all of them are there.

    Raises:
        FileReadError: damaged, or cut short.
        MissingExtraError: the extra is not installed.
    """
    highdicom()
    import pydicom

    try:
        # force: without the preamble of newer files; the caller has seen that it is DICOM
        wanted = None if tags is None else list(tags)
        dataset = pydicom.dcmread(path, force=True, stop_before_pixels=not pixels, specific_tags=wanted)
        if pixels:
            _check_pixels(path, dataset)
    except (SpatialQAError, MemoryError):
        raise
    except Exception as error:  # pydicom raises whatever its parser trips over
        raise damaged(path, error) from None
    return dataset


def _check_pixels(path: Path, dataset: Any) -> None:
    """Pixels that are not compressed must be there to the last byte, and no more; pydicom would let either pass."""
    if "PixelData" not in dataset:
        raise truncated(path, "no PixelData", "pixels of every frame")
    syntax = dataset.file_meta.TransferSyntaxUID
    if syntax.is_compressed and not syntax.is_deflated:
        return
    frames = int(dataset.get("NumberOfFrames", 1))
    values = frames * int(dataset.Rows) * int(dataset.Columns) * int(dataset.get("SamplesPerPixel", 1))
    expected = math.ceil(values * int(dataset.BitsAllocated) / 8)
    found = len(dataset.PixelData)
    if found < expected:
        raise truncated(path, f"{found} bytes of pixels", f"{expected} bytes of pixels")
    if found > expected + expected % 2:
        raise FileReadError(
            "there are more pixels than the file announces",
            code="extra_data",
            file=path,
            key="PixelData",
            found=f"{found} bytes",
            expected=f"{expected} bytes for {frames} frames",
            next_step="write the file again with a program that follows the standard",
        )


def frame_planes(path: Path, dataset: Any) -> FramePlanes:
    """Where the frames of a data set lie: of a multi-frame file, or the one slice of a classic one.

    Raises:
        FileReadError: elements that are missing or malformed.
        GeometryError: no position in the patient, frames of several orientations or pixel sizes.
    """
    try:
        return _frame_planes(dataset)
    except SpatialQAError:
        raise
    except Exception as error:  # pydicom raises whatever a malformed element makes it trip over
        raise damaged(path, error) from None


def _frame_planes(dataset: Any) -> FramePlanes:
    if "ImageOrientationSlide" in dataset or "TotalPixelMatrixRows" in dataset:
        raise _no_volume("the file is a tiled image of a slide", "tiles of a slide")
    if "PerFrameFunctionalGroupsSequence" not in dataset:
        orientation = _value(dataset, "ImageOrientationPatient")
        positions = np.array([_value(dataset, "ImagePositionPatient")])
        spacing = _value(dataset, "PixelSpacing")
        between = dataset.get("SpacingBetweenSlices")
    else:
        shared = (dataset.get("SharedFunctionalGroupsSequence") or [{}])[0]
        frames = dataset.PerFrameFunctionalGroupsSequence
        announced = int(dataset.get("NumberOfFrames", 1))
        if len(frames) != announced:
            raise GeometryError(
                "not every frame is described",
                code="bad_header",
                key="PerFrameFunctionalGroupsSequence",
                found=f"{len(frames)} frames",
                expected=f"{announced} frames",
                next_step=_COPY_AGAIN,
            )
        positions = np.stack([_grouped(frame, shared, "PlanePosition", "ImagePositionPatient") for frame in frames])
        orientation = _common(frames, shared, "PlaneOrientation", "ImageOrientationPatient")
        spacing = _common(frames, shared, "PixelMeasures", "PixelSpacing")
        group = (frames[0].get("PixelMeasuresSequence") or shared.get("PixelMeasuresSequence"))[0]
        between = group.get("SpacingBetweenSlices")
    size = (int(dataset.Rows), int(dataset.Columns))
    return checked_planes(positions, orientation, spacing, size, None if between is None else float(between))


def joined_planes(planes: Sequence[FramePlanes]) -> FramePlanes:
    """The slices of one series, which lie in files of their own.

    Raises:
        GeometryError: slices of several orientations, pixel sizes or sizes.
    """
    first = planes[0]
    for other in planes[1:]:
        alike = np.allclose([first.row, first.column], [other.row, other.column], atol=1e-4)
        if not (alike and np.allclose(first.spacing, other.spacing, rtol=1e-4) and first.size == other.size):
            raise _no_volume("the slices of the series do not make one volume", "several orientations or pixel sizes")
    positions = np.concatenate([plane.positions for plane in planes])
    return FramePlanes(positions, first.row, first.column, first.spacing, first.size, first.between_slices)


def _common(frames: Sequence[Any], shared: Any, group: str, key: str) -> Any:
    """A value that all frames must have in common."""
    if f"{group}Sequence" in shared:
        return _grouped({}, shared, group, key)
    values = np.stack([_grouped(frame, shared, group, key) for frame in frames])
    if not np.allclose(values, values[0], rtol=1e-4, atol=1e-4 if key == "ImageOrientationPatient" else 0):
        raise _no_volume("the frames do not make one volume", f"several values of {key}")
    return values[0]


def _grouped(frame: Any, shared: Any, group: str, key: str) -> Any:
    """A value of a frame's functional group, or of the group that all frames share."""
    found = frame.get(f"{group}Sequence") or shared.get(f"{group}Sequence")
    if not found:
        slide = "PlanePositionSlideSequence" in frame or "PlanePositionSlideSequence" in shared
        raise _no_volume(
            "the file is an image of a slide" if slide else "the frames have no place in the patient",
            f"no {group}Sequence",
        )
    return _value(found[0], key)


def _value(dataset: Any, key: str) -> Any:
    """A tuple of numbers as float64."""
    value = dataset.get(key)
    numbers = np.atleast_1d(np.array([] if value is None else value, dtype=np.float64))
    if numbers.shape != ({"ImagePositionPatient": 3, "ImageOrientationPatient": 6, "PixelSpacing": 2}[key],):
        raise _no_volume("the frames have no place in the patient", f"no usable {key}")
    return numbers


def _no_volume(problem: str, found: str) -> GeometryError:
    return GeometryError(
        problem,
        code="no_volume",
        found=found,
        expected="parallel frames with positions in the patient (ImagePositionPatient)",
        next_step="use a segmentation of a CT, MR or PET volume",
    )
