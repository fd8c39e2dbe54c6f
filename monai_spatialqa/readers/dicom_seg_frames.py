"""The segments and frames of a DICOM SEG, decoded frame by frame: which structure, which slice, which pixels."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monai_spatialqa.errors import FileReadError, LabelValueError
from monai_spatialqa.readers.dicom_datasets import damaged, frame_planes, highdicom, read_dataset
from monai_spatialqa.readers.dicom_files import dicom_class
from monai_spatialqa.readers.dicom_stack import FramePlanes
from monai_spatialqa.readers.segments import NamedSegment

BINARY, FRACTIONAL, LABELMAP = "BINARY", "FRACTIONAL", "LABELMAP"


@dataclass(frozen=True)
class SegFile:
    """An open DICOM SEG.

    Attributes:
        path: the file.
        dataset: highdicom's ``Segmentation``.
        planes: where the frames lie.
        kind: ``BINARY``, ``FRACTIONAL`` or ``LABELMAP``.
        segments: every segment that is described, in the order of the file, without the background of a LABELMAP.
        background: the pixel value of a LABELMAP that is no structure.
        frame_segments: segment number of each frame; None for a LABELMAP, whose frames hold several.
        source_series: SeriesInstanceUIDs that the file refers to.
        source_images: how many images it refers to.
    """

    path: Path
    dataset: Any
    planes: FramePlanes
    kind: str
    segments: tuple[NamedSegment, ...]
    background: int
    frame_segments: tuple[int, ...] | None
    source_series: frozenset[str]
    source_images: int

    def frame(self, number: int) -> NDArray:
        """Stored values (rows, columns) of a frame, counted from 0.

        Raises:
            FileReadError: the frame cannot be decoded.
        """
        try:
            frame = self.dataset.get_stored_frame(number + 1)
        except MemoryError:
            raise
        except Exception as error:  # decoders raise whatever they trip over
            raise damaged(self.path, error) from None
        if frame.shape != (self.dataset.Rows, self.dataset.Columns):
            raise damaged(self.path, ValueError(f"frame {number + 1} has shape {frame.shape}"))
        return frame

    def masks(self, frames: Iterator[int], fractional_threshold: float) -> Iterator[NDArray[np.bool_]]:
        """Where the segment of each frame is; not for a LABELMAP.

        Args:
            frames: frames, counted from 0.
            fractional_threshold: share of the maximum from which a pixel of a FRACTIONAL file counts.

        Raises:
            LabelValueError: values beyond the file's maximum.
        """
        highest = int(self.dataset.MaximumFractionalValue) if self.kind == FRACTIONAL else 1
        cut = fractional_threshold * highest if self.kind == FRACTIONAL else 1
        for number in frames:
            frame = self.frame(number)
            if frame.max(initial=0) > highest:
                raise LabelValueError(
                    "a frame holds more than its maximum",
                    key="MaximumFractionalValue" if self.kind == FRACTIONAL else "PixelData",
                    found=f"{frame.max()} in frame {number + 1}",
                    expected=f"0 to {highest}",
                    next_step="write the file again with a program that follows the standard",
                )
            yield frame >= cut


def open_seg(path: Path) -> SegFile:
    """Open a DICOM SEG and read what it says of its segments.

    Raises:
        FileReadError: not a DICOM SEG, damaged or cut short.
        GeometryError: the frames have no place in the patient, or do not make one volume.
        MissingExtraError: the extra is not installed.
    """
    _refuse_other_files(path)
    dataset = read_dataset(path)
    planes = frame_planes(path, dataset)
    try:
        return _described(path, highdicom().seg.Segmentation.from_dataset(dataset, copy=False), planes)
    except (FileReadError, MemoryError):
        raise
    except Exception as error:  # highdicom raises whatever its parser trips over
        raise damaged(path, error) from None


def _refuse_other_files(path: Path) -> None:
    found = dicom_class(path)
    if found is None:
        empty = path.stat().st_size == 0
        raise FileReadError(
            "the file is empty" if empty else "this is not a DICOM file",
            code="empty_file" if empty else "not_dicom",
            file=path,
            found="0 bytes" if empty else "no DICOM header",
            expected="a DICOM segmentation",
            next_step="check that the file is what its name says",
        )
    if found.kind == "segmentation":
        return
    steps = {
        "image": "read images with SimpleITKReader, and name the segmentation of this one here",
        "rtstruct": "convert the contours to a label map in the program that drew them; they are not read",
        "other": "name a DICOM segmentation",
    }
    raise FileReadError(
        "the file is truncated, or does not say what it is" if not found.uid else "this is not a DICOM segmentation",
        code="truncated_file" if not found.uid else "not_segmentation",
        file=path,
        found=found.name,
        expected="Segmentation or Label Map Segmentation",
        next_step=steps[found.kind],
    )


def _described(path: Path, dataset: Any, planes: FramePlanes) -> SegFile:
    kind = str(dataset.SegmentationType)
    if kind not in (BINARY, FRACTIONAL, LABELMAP):
        raise FileReadError(
            "unknown type of segmentation",
            code="unsupported_format",
            file=path,
            key="SegmentationType",
            found=kind,
            expected=", ".join((BINARY, FRACTIONAL, LABELMAP)),
            next_step="write the segmentation as one of these types",
        )
    background = int(dataset.get("PixelPaddingValue", 0))
    segments = tuple(
        NamedSegment(str(item.get("SegmentLabel") or item.get("SegmentDescription") or ""), int(item.SegmentNumber))
        for item in dataset.SegmentSequence
        if kind != LABELMAP or int(item.SegmentNumber) != background
    )
    numbers = [segment.number for segment in segments]
    if len(set(numbers)) != len(numbers):
        raise FileReadError(
            "two segments have the same number",
            code="bad_header",
            file=path,
            key="SegmentNumber",
            found=sorted(number for number in numbers if number is not None),
            expected="one number a segment",
            next_step="write the file again with a program that follows the standard",
        )
    series = list(dataset.get("ReferencedSeriesSequence") or [])
    return SegFile(
        path,
        dataset,
        planes,
        kind,
        segments,
        background,
        None if kind == LABELMAP else _frame_segments(path, dataset, set(numbers)),
        frozenset(str(item.SeriesInstanceUID) for item in series),
        sum(len(item.get("ReferencedInstanceSequence") or []) for item in series),
    )


def _frame_segments(path: Path, dataset: Any, numbers: set[int | None]) -> tuple[int, ...]:
    """The segment each frame belongs to."""
    shared = dataset.SharedFunctionalGroupsSequence[0]
    found = tuple(
        int(
            (frame.get("SegmentIdentificationSequence") or shared.SegmentIdentificationSequence)[
                0
            ].ReferencedSegmentNumber
        )
        for frame in dataset.PerFrameFunctionalGroupsSequence
    )
    unknown = sorted(set(found) - numbers)
    if unknown:
        raise FileReadError(
            "frames belong to segments that are not described",
            code="bad_header",
            file=path,
            key="ReferencedSegmentNumber",
            found=unknown,
            expected="numbers of the segments that are described",
            next_step="write the file again with a program that follows the standard",
        )
    return found
