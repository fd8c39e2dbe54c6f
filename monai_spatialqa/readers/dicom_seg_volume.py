"""A DICOM SEG as a label map: segments painted into as few layers as they need. Needs neither torch nor MONAI."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monai_spatialqa.anatomy import LabelMap
from monai_spatialqa.errors import GeometryError, LabelValueError, SettingsError, SpatialQAError
from monai_spatialqa.readers.dicom_reference import Reference, reference_grid, stack_on_reference
from monai_spatialqa.readers.dicom_seg_frames import FRACTIONAL, LABELMAP, SegFile, open_seg
from monai_spatialqa.readers.dicom_stack import FrameStack, stack_frames
from monai_spatialqa.readers.meta import ScanGeometry
from monai_spatialqa.readers.segments import assign_ids

_LABELMAP_VALUES = 1 << 16
"""Pixels of a LABELMAP have 8 or 16 bits (PS3.3 C.8.20.2)."""


@dataclass(frozen=True)
class DicomSegVolume:
    """A DICOM SEG, read.

    Attributes:
        voxels: ids, 0 for background; (columns, rows, slices), or (columns, rows, slices, layers) when segments
            overlap. Fortran order, the smallest unsigned type that holds the ids.
        geometry: the grid, RAS mm, with what was decided while reading as its notes.
        names: id -> name of every segment that the file describes, those without voxels included.
    """

    voxels: NDArray[np.unsignedinteger[Any]]
    geometry: ScanGeometry
    names: Mapping[int, str]


def check_threshold(fractional_threshold: float) -> float:
    """The share of the maximum from which a pixel counts.

    Raises:
        SettingsError: not above 0 and at most 1.
    """
    if not 0 < fractional_threshold <= 1:
        raise SettingsError(
            "the cut of fractional segments is unusable",
            key="fractional_threshold",
            found=fractional_threshold,
            expected="above 0, at most 1",
            next_step="use 0.5, half of the maximum",
        )
    return fractional_threshold


def read_dicom_seg(
    path: str | Path,
    *,
    label_map: LabelMap | None = None,
    fractional_threshold: float = 0.5,
    reference: Reference | None = None,
) -> DicomSegVolume:
    """Read a BINARY, FRACTIONAL or LABELMAP segmentation with frames in any order and any encoding highdicom knows.

    Overlapping segments are kept whole: a segment goes into the first layer in which it meets no other. The grid
    follows from the positions of the frames. Slices inside the stack that have no frame are empty. Those before the
    first and behind the last frame are unknown, unless ``reference`` names the image that was segmented.

    Args:
        path: the file.
        label_map: gives segments of its names its ids; see :func:`~monai_spatialqa.readers.segments.assign_ids`.
            Without one, the segment numbers are the ids.
        fractional_threshold: a pixel of a FRACTIONAL file counts from this share of the maximum on.
        reference: the image that was segmented: folder of the DICOM series, enhanced DICOM file, NIfTI file,
            :class:`~monai_spatialqa.readers.meta.ScanGeometry`, or a function from the path of the segmentation to one
            of these.

    Raises:
        FileReadError: not a DICOM SEG, damaged or cut short, or a reference that cannot be read.
        GeometryError: the frames do not make a regular volume, or the file contradicts itself.
        LabelMapError: segments without a name, or of one name.
        LabelValueError: pixels that mean nothing.
        PairingError: the reference is another image.
        MissingExtraError: the extra ``[dicom]`` is not installed.
        SettingsError: the threshold is unusable.
    """
    check_threshold(fractional_threshold)
    path = Path(path)
    try:
        seg = open_seg(path)
        assigned = assign_ids(seg.segments, label_map)
        if reference is None:
            stack = stack_frames(seg.planes)
        else:
            stack = stack_on_reference(seg.planes, reference_grid(reference, path, seg.source_series))
        _refuse_double_frames(seg, stack)
        ids = {segment.number: number for segment, (number, _) in zip(seg.segments, assigned, strict=True)}
        kind = np.min_scalar_type(max(ids.values(), default=0))
        if seg.kind == LABELMAP:
            layers = [_label_map_layer(seg, stack, ids, kind)]
        else:
            layers = _painted_layers(seg, stack, ids, kind, fractional_threshold)
    except SpatialQAError as error:
        raise error.with_context(file=path) from None
    notes = list(stack.geometry.notes)
    if seg.kind == FRACTIONAL:
        notes.append(f"fractional segments cut at {fractional_threshold:g} of the maximum")
    if reference is None and any(layer[0].any() or layer[-1].any() for layer in layers):
        notes.append(_view_note(seg, stack.geometry.shape[2]))
    voxels = layers[0].transpose(2, 1, 0) if len(layers) == 1 else np.stack(layers).transpose(3, 2, 1, 0)
    return DicomSegVolume(voxels, replace(stack.geometry, notes=tuple(notes)), dict(assigned))


def _view_note(seg: SegFile, slices: int) -> str:
    """Why a structure in the outermost slices is reported as truncated, though the scan may go on."""
    count = f"{slices} slice" + "s" * (slices != 1)
    sources = f" (the file refers to {seg.source_images} images)" if seg.source_images > slices else ""
    return f"field of view: {count} from the first to the last frame{sources}, not that of the segmented image"


def _refuse_double_frames(seg: SegFile, stack: FrameStack) -> None:
    """A segment has one frame a slice; more of them are points in time, or another way of cutting the volume."""
    owners = seg.frame_segments or (0,) * len(stack.slices)
    seen: set[tuple[int, int]] = set()
    for number, frame in enumerate(zip(owners, stack.slices, strict=True), 1):
        if frame in seen:
            raise GeometryError(
                "two frames of a segment lie in the same place",
                code="no_volume",
                found=f"frame {number}, slice {frame[1]}" + (f", segment {frame[0]}" if seg.frame_segments else ""),
                expected="one frame a segment and slice",
                next_step="write a file for each point in time",
            )
        seen.add(frame)


def _empty_layer(stack: FrameStack, kind: np.dtype) -> NDArray[Any]:
    """Zeros (slices, rows, columns)."""
    return np.zeros(stack.geometry.shape[::-1], kind)


def _window(layer: NDArray[Any], stack: FrameStack, slice_: int, size: tuple[int, int]) -> NDArray[Any]:
    """The part (rows, columns) of a layer that a frame covers, as a view."""
    column, row = stack.corner
    return layer[slice_, row : row + size[0], column : column + size[1]]


def _painted_layers(
    seg: SegFile, stack: FrameStack, ids: Mapping[int | None, int], kind: np.dtype, fractional_threshold: float
) -> list[NDArray[Any]]:
    """Layers (slices, rows, columns) with one mask a segment painted in; at least one."""
    frames = defaultdict(list)
    for number, owner in enumerate(seg.frame_segments or ()):
        frames[owner].append(number)
    layers = [_empty_layer(stack, kind)]
    for segment in seg.segments:
        mine = frames[segment.number] if segment.number is not None else []
        masks = [
            (stack.slices[number], mask)
            for number, mask in zip(mine, seg.masks(iter(mine), fractional_threshold), strict=True)
            if mask.any()
        ]
        free = (
            layer
            for layer in layers
            if not any(_window(layer, stack, at, mask.shape)[mask].any() for at, mask in masks)
        )
        layer = next(free, None)
        if layer is None:
            layer = _empty_layer(stack, kind)
            layers.append(layer)
        for at, mask in masks:
            _window(layer, stack, at, mask.shape)[mask] = ids[segment.number]
    return layers


def _label_map_layer(seg: SegFile, stack: FrameStack, ids: Mapping[int | None, int], kind: np.dtype) -> NDArray[Any]:
    """The one layer (slices, rows, columns) of a LABELMAP.

    Raises:
        LabelValueError: pixel values that no segment has.
    """
    new = np.zeros(_LABELMAP_VALUES, kind)
    known = np.zeros(_LABELMAP_VALUES, bool)
    known[seg.background] = True
    for number, label in ids.items():
        new[number], known[number] = label, True
    layer = _empty_layer(stack, kind)
    for number, at in enumerate(stack.slices):
        frame = seg.frame(number)
        if not known[frame].all():
            raise LabelValueError(
                "pixels hold numbers of segments that are not described",
                key="SegmentNumber",
                found=f"{np.unique(frame[~known[frame]])[:5].tolist()} in frame {number + 1}",
                expected="numbers of the segments that are described",
                next_step="write the file again with a program that follows the standard",
            )
        _window(layer, stack, at, frame.shape)[:] = new[frame]
    return layer
