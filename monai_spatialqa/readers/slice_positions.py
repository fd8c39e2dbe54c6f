"""Slices in space: their order along the normal, and the affine that their positions give.

Source: DICOM PS3.3, C.7.6.2.1.1 (Image Position and Image Orientation).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from monai_spatialqa.errors import FileReadError, GeometryError

UNEVEN_SHARE, UNEVEN_MM = 0.01, 0.02
"""A gap between slices may differ from the median one by this share or this much, as rounding in tags does."""

OFF_LINE_VOXELS = 0.1
"""How far a slice may lie from where even spacing along a straight line puts it, in its own voxels."""

TURNED = 1e-3
"""Largest difference between the direction cosines of two slices of one series, and from unit length."""


@dataclass(frozen=True)
class SlicePlane:
    """Where a slice lies in the patient.

    Attributes:
        position: centre of its first pixel, LPS mm.
        along_columns: direction in which the column index grows, of unit length.
        along_rows: direction in which the row index grows, of unit length.
        column_mm, row_mm: distances between neighbouring columns, and rows.
    """

    position: NDArray[np.float64]
    along_columns: NDArray[np.float64]
    along_rows: NDArray[np.float64]
    column_mm: float
    row_mm: float

    @classmethod
    def of(cls, path: Path, *, position: str | None, orientation: str | None, pixel_spacing: str | None) -> SlicePlane:
        """From the text of the tags (0020,0032), (0020,0037) and (0028,0030).

        Raises:
            GeometryError: a tag is missing or impossible.
        """
        place = _values(path, "(0020,0032) Image Position (Patient)", position, 3)
        cosines = _values(path, "(0020,0037) Image Orientation (Patient)", orientation, 6)
        spacing = _values(path, "(0028,0030) Pixel Spacing", pixel_spacing, 2)
        columns, rows = cosines[:3], cosines[3:]
        if not (spacing > 0).all():
            raise GeometryError(
                "the pixel spacing is impossible",
                code="bad_spacing",
                file=path,
                key="(0028,0030) Pixel Spacing",
                found=pixel_spacing,
                expected="two positive numbers",
                next_step="export the series again from its source",
            )
        lengths = np.linalg.norm([columns, rows], axis=1)
        if (np.abs(lengths - 1) > TURNED).any() or abs(float(columns @ rows)) > TURNED:
            raise GeometryError(
                "the directions of rows and columns are not perpendicular and of length 1",
                code="bad_orientation",
                file=path,
                key="(0020,0037) Image Orientation (Patient)",
                found=orientation,
                expected="two perpendicular unit vectors",
                next_step="export the series again from its source",
            )
        # The standard gives the distance between rows first.
        return cls(place, columns, rows, column_mm=float(spacing[1]), row_mm=float(spacing[0]))

    @property
    def normal(self) -> NDArray[np.float64]:
        """Direction across the slice."""
        return np.cross(self.along_columns, self.along_rows)


def plane_order(planes: Sequence[tuple[Path, SlicePlane]]) -> tuple[list[int], NDArray[np.float64]]:
    """The order of slices along their normal, and the affine (column, row, slice) to RAS mm.

    Positions that step sideways as well, as with a tilted gantry, give a sheared affine.

    Args:
        planes: file (for messages) and plane of every slice.

    Raises:
        FileReadError: a single slice.
        GeometryError: slices that are turned or scaled against each other, at the same place, or unevenly spaced.
    """
    if len(planes) < 2:
        raise FileReadError(
            "one slice is no volume: the distance to the next one is not known",
            code="not_3d",
            found=f"{len(planes)} slice",
            expected="two or more",
            next_step="give all files of the series; slice thickness does not stand for the distance",
        )
    _, first = planes[0]
    for path, plane in planes[1:]:
        _refuse_other_grid(path, plane, planes[0][0], first)
    heights = [float(plane.position @ first.normal) for _, plane in planes]
    order = sorted(range(len(planes)), key=heights.__getitem__)
    positions = np.array([planes[at][1].position for at in order])
    _refuse_uneven([planes[at][0] for at in order], np.array([heights[at] for at in order]))
    step = (positions[-1] - positions[0]) / (len(order) - 1)
    even = positions[0] + np.arange(len(order))[:, None] * step
    off = np.linalg.norm(positions - even, axis=1)
    limit = max(OFF_LINE_VOXELS * min(first.column_mm, first.row_mm, float(np.linalg.norm(step))), UNEVEN_MM)
    if off.max() > limit:
        raise GeometryError(
            "the slices do not lie evenly along a straight line",
            code="uneven_slices",
            file=planes[order[int(off.argmax())]][0],
            key="(0020,0032) Image Position (Patient)",
            found=f"{off.max():.4g} mm off the line",
            expected=f"at most {limit:.4g} mm",
            next_step="take out the files that do not belong to the series, or resample it first",
        )
    lps = np.eye(4)
    lps[:3, 0] = first.along_columns * first.column_mm
    lps[:3, 1] = first.along_rows * first.row_mm
    lps[:3, 2] = step
    lps[:3, 3] = positions[0]
    return order, np.diag([-1.0, -1.0, 1.0, 1.0]) @ lps + 0.0  # no negative zeros


def _refuse_other_grid(path: Path, plane: SlicePlane, first_path: Path, first: SlicePlane) -> None:
    turned = np.abs(
        np.concatenate([plane.along_columns - first.along_columns, plane.along_rows - first.along_rows])
    ).max()
    scaled = abs(plane.column_mm / first.column_mm - 1), abs(plane.row_mm / first.row_mm - 1)
    if turned > TURNED or max(scaled) > TURNED:
        raise GeometryError(
            "the slices are not parallel" if turned > TURNED else "the slices differ in pixel spacing",
            code="uneven_slices",
            file=path,
            key="(0020,0037) Image Orientation (Patient)" if turned > TURNED else "(0028,0030) Pixel Spacing",
            found=f"another one than in {first_path.name}",
            expected="the same for all slices",
            next_step="take out the files that do not belong to the series, such as localizers",
        )


def _refuse_uneven(paths: Sequence[Path], heights: NDArray[np.float64]) -> None:
    gaps = np.diff(heights)
    usual = float(np.median(gaps))
    same = int(gaps.argmin())
    if gaps[same] <= UNEVEN_MM:
        raise GeometryError(
            "two slices lie at the same place: time points, echoes, or copies?",
            code="uneven_slices",
            file=paths[same + 1],
            key="(0020,0032) Image Position (Patient)",
            found=f"{gaps[same]:.4g} mm from {paths[same].name}",
            expected=f"{usual:.4g} mm" if usual > UNEVEN_MM else "one slice at each place",
            next_step="give the list of the files of one volume",
        )
    off = np.abs(gaps - usual)
    at = int(off.argmax())
    if off[at] > max(UNEVEN_SHARE * usual, UNEVEN_MM):
        raise GeometryError(
            "the slices are unevenly spaced: is one missing?",
            code="uneven_slices",
            file=paths[at + 1],
            key="(0020,0032) Image Position (Patient)",
            found=f"a gap of {gaps[at]:.4g} mm behind {paths[at].name}",
            expected=f"{usual:.4g} mm",
            next_step="find the missing slice, or resample the series first",
        )


def _values(path: Path, key: str, text: str | None, count: int) -> NDArray[np.float64]:
    try:
        values = np.array([float(part) for part in (text or "").split("\\")])
    except ValueError:
        values = np.empty(0)
    if len(values) != count or not np.isfinite(values).all():
        raise GeometryError(
            "a slice does not say where it lies",
            code="missing_position" if not text else "bad_position",
            file=path,
            key=key,
            found=text or "nothing",
            expected=f"{count} numbers",
            next_step="export the series again from its source",
        )
    return values
