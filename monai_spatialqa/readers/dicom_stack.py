"""From the positions of DICOM frames to one regular grid. Slice thickness and the order of frames do not count.

Positions and directions come in as DICOM states them, LPS mm; grids go out as RAS mm. Needs no DICOM library.

Source: DICOM PS3.3 C.7.6.2.1.1 (equation C.7.6.2.1-1) and C.7.6.16.2.3 (plane position).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from monai_spatialqa.errors import GeometryError
from monai_spatialqa.geometry.affine import checked_affine
from monai_spatialqa.readers.meta import ScanGeometry

IRREGULAR_VOXELS = 0.02
"""A frame further than this from its place makes a stack irregular; rounded positions stay below."""

SAME_PLACE_VOXELS = 0.01
"""Frames closer than this share of a pixel along the normal are frames of one slice."""

SAME_SPACING = 0.02
"""Stated and found distance of slices may differ by this share."""

COSINE_ERROR = 1e-3
"""Directions may be off length 1 or off perpendicular by this much through rounding."""

LPS_TO_RAS = np.array([-1.0, -1.0, 1.0])
"""Signs that turn a point from one space into the other."""

_GIVE_REFERENCE = "name the source image with reference=, whose grid then counts"


@dataclass(frozen=True)
class FramePlanes:
    """Where the frames of one file, or the slices of one series, lie.

    Attributes:
        positions: (N, 3) centre of each frame's first pixel, LPS mm.
        row, column: unit vectors along a row (column index grows) and along a column (row index grows), LPS.
        spacing: mm from row to row and from column to column.
        size: rows, columns.
        between_slices: mm between slices as the file states it; None when it does not.
    """

    positions: NDArray[np.float64]
    row: NDArray[np.float64]
    column: NDArray[np.float64]
    spacing: tuple[float, float]
    size: tuple[int, int]
    between_slices: float | None = None

    @property
    def normal(self) -> NDArray[np.float64]:
        """Unit vector at a right angle to the frames, LPS."""
        return np.cross(self.row, self.column)


@dataclass(frozen=True)
class FrameStack:
    """Frames on a regular grid of columns, rows and slices.

    Attributes:
        geometry: the grid, (columns, rows, slices) and index to RAS mm.
        slices: the slice of each frame, in the order of the frames.
        corner: column and row of the grid that hold each frame's first pixel.
    """

    geometry: ScanGeometry
    slices: tuple[int, ...]
    corner: tuple[int, int] = (0, 0)


def checked_planes(
    positions: NDArray[np.float64],
    orientation: NDArray[np.float64],
    spacing: NDArray[np.float64],
    size: tuple[int, int],
    between_slices: float | None,
) -> FramePlanes:
    """Planes whose numbers are possible.

    Args:
        positions: (N, 3) ImagePositionPatient of each frame.
        orientation: (6,) ImageOrientationPatient.
        spacing: (2,) PixelSpacing.
        size: rows, columns.
        between_slices: SpacingBetweenSlices, None when the file has none.

    Raises:
        GeometryError: not finite, no spacing, or directions that do not span a plane.
    """
    row, column = orientation[:3], orientation[3:]
    named = (("ImagePositionPatient", positions), ("ImageOrientationPatient", orientation), ("PixelSpacing", spacing))
    for key, values in named:
        if not np.isfinite(values).all():
            raise GeometryError("not a finite number", key=key, found=values.tolist(), expected="finite numbers")
    if (spacing <= 0).any():
        raise GeometryError(
            "the pixels have no size",
            code="bad_spacing",
            key="PixelSpacing",
            found=spacing.tolist(),
            expected="above 0 mm",
            next_step="export the file again from its source",
        )
    lengths = [float(np.linalg.norm(axis)) for axis in (row, column)]
    if max(abs(lengths[0] - 1), abs(lengths[1] - 1), abs(float(row @ column))) > COSINE_ERROR:
        raise GeometryError(
            "the directions of rows and columns are not perpendicular unit vectors",
            key="ImageOrientationPatient",
            found=orientation.tolist(),
            expected="direction cosines",
            next_step="export the file again from its source",
        )
    rows_mm, columns_mm = spacing.tolist()
    return FramePlanes(positions, row / lengths[0], column / lengths[1], (rows_mm, columns_mm), size, between_slices)


def stack_frames(planes: FramePlanes) -> FrameStack:
    """Frames on the grid that their positions make; slices between them that have no frame are part of it.

    Slices are numbered along the normal, whatever the order of the frames. A stack whose frames shift sideways from
    slice to slice (gantry tilt) gives a sheared grid.

    Raises:
        GeometryError: positions that no regular grid holds, a stated slice spacing that contradicts them, or one slice
            whose file does not state the spacing.
    """
    places = planes.positions @ planes.normal
    order = np.argsort(places, kind="stable")
    new_slice = np.diff(places[order], prepend=-np.inf) > SAME_PLACE_VOXELS * min(planes.spacing)
    firsts = order[new_slice]
    gaps = np.diff(places[firsts])
    notes: tuple[str, ...] = ()
    if len(gaps):
        step, stated = _slice_step(gaps, planes.between_slices)
        if not stated:
            notes = ("slice spacing: the smallest distance between frames, the file does not state it",)
        numbers = np.concatenate([[0], np.cumsum(np.rint(gaps / step).astype(np.int64))])
        along = (planes.positions[firsts[-1]] - planes.positions[firsts[0]]) / numbers[-1]
    else:
        numbers = np.zeros(1, np.int64)
        along = planes.normal * _stated_spacing(planes.between_slices)
        notes = ("slice spacing: as the file states it, there is one slice",)
    slices = np.empty(len(order), np.int64)
    slices[order] = numbers[np.cumsum(new_slice) - 1]
    origin = planes.positions[firsts[0]]
    columns = np.stack([planes.row * planes.spacing[1], planes.column * planes.spacing[0], along], axis=1)
    _refuse_irregular(planes, columns, slices, places[firsts], float(along @ planes.normal))
    affine = np.eye(4)
    affine[:3, :3], affine[:3, 3] = columns, origin
    affine[:3] *= LPS_TO_RAS[:, None]
    shape = (planes.size[1], planes.size[0], int(numbers[-1]) + 1)
    geometry = ScanGeometry(shape, checked_affine(affine + 0.0), notes=notes)
    return FrameStack(geometry, tuple(slices.tolist()))


def _stated_spacing(between_slices: float | None) -> float:
    """The slice spacing of a single slice: there is no distance to measure, so the file has to state it."""
    if between_slices is None:
        raise GeometryError(
            "there is one slice and the file does not state the distance between slices; its thickness is another fact",
            code="unknown_slice_spacing",
            key="SpacingBetweenSlices",
            found="nothing",
            expected="a distance in mm",
            next_step=_GIVE_REFERENCE,
        )
    if not (math.isfinite(between_slices) and between_slices > 0):
        raise GeometryError(
            "the slices have no distance",
            code="bad_spacing",
            key="SpacingBetweenSlices",
            found=between_slices,
            expected="above 0 mm",
            next_step=_GIVE_REFERENCE,
        )
    return between_slices


def _slice_step(gaps: NDArray[np.float64], between_slices: float | None) -> tuple[float, bool]:
    """Distance between slices along the normal, and whether the file states it.

    Args:
        gaps: distances between neighbouring frames' slices.
        between_slices: the stated distance.

    Raises:
        GeometryError: the stated distance contradicts the positions, or they leave it open which is right.
    """
    smallest = float(gaps.min())
    found = float(gaps[gaps < 1.5 * smallest].mean())
    if between_slices is None:
        return found, False
    stated = _stated_spacing(between_slices)
    if abs(found - stated) <= SAME_SPACING * stated:
        return found, True
    steps = np.rint(gaps / stated)
    whole = bool((steps >= 1).all() and (np.abs(gaps - steps * stated) <= SAME_SPACING * stated).all())
    if whole and math.gcd(*steps.astype(np.int64).tolist()) == 1:
        return stated, True
    raise GeometryError(
        "the frames lie further apart than the stated distance of slices: either slices are left out between all of "
        "them, or it is wrong"
        if whole
        else "the stated distance of slices contradicts the positions of the frames",
        code="contradictory_spacing",
        key="SpacingBetweenSlices",
        found=f"{between_slices:g} mm stated, frames {smallest:g} mm apart",
        expected="one distance",
        next_step=_GIVE_REFERENCE,
    )


def _refuse_irregular(
    planes: FramePlanes,
    columns: NDArray[np.float64],
    slices: NDArray[np.int64],
    places: NDArray[np.float64],
    step: float,
) -> None:
    """Every frame must lie where a regular grid puts it.

    Args:
        planes: the frames.
        columns: the steps of the grid, LPS mm.
        slices: slice of each frame.
        places: where the slices that have frames lie along the normal, ascending.
        step: distance of slices along the normal.

    Raises:
        GeometryError: naming the odd gap, or the frame that lies beside the others.
    """
    origin = planes.positions[slices.argmin()]
    off = np.abs((planes.positions - origin - slices[:, None] * columns[:, 2]) @ np.linalg.inv(columns).T)
    if off.max() <= IRREGULAR_VOXELS:
        return
    if off[:, 2].max() > IRREGULAR_VOXELS:
        gaps = np.diff(places)
        odd = int(np.abs(gaps / step - np.rint(gaps / step)).argmax())
        problem = "the slices are not evenly spaced"
        found = f"a gap of {gaps[odd]:.4g} mm from {places[odd]:g} to {places[odd + 1]:g} mm along the normal"
        expected = f"{step:.4g} mm or a multiple"
    else:
        worst = int(off.max(axis=1).argmax())
        position = ", ".join(f"{value:g}" for value in planes.positions[worst])
        problem = "the frames do not lie above each other in a line"
        found = f"frame {worst + 1} at ({position}) mm, {off[worst].max():.2g} voxel from its place"
        expected = f"at most {IRREGULAR_VOXELS:g} voxel"
    raise GeometryError(
        problem,
        code="irregular_slices",
        key="ImagePositionPatient",
        found=found,
        expected=expected,
        next_step="resample the segmentation onto a regular grid, and measure that",
    )
