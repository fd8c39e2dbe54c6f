"""The case card: one PNG that shows where a measured figure comes from, for a reviewer to check at a glance."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes

from monai_spatialqa.errors import GeometryError, PairingError, SettingsError
from monai_spatialqa.rendering.page import LegendEntry, Page
from monai_spatialqa.rendering.panels import (
    OTHER_COLOUR,
    QUIET_COLOUR,
    SEGMENT_COLOUR,
    STRUCTURE_COLOUR,
    Field,
    Overlay,
    draw_furniture,
    draw_image,
    draw_segment,
    draw_structure,
    set_limits,
)
from monai_spatialqa.rendering.slices import PLANES, SliceView, extract_slice, reorient_to_ras
from monai_spatialqa.rendering.structures import IndexBox, structure_box
from monai_spatialqa.rendering.windows import Modality, Window, apply_window, choose_window

Float = npt.NDArray[np.float64]
Volume = npt.NDArray[np.generic]

_SMALLEST_FIELD_MM = 160.0
_CONTEXT = 4.0
_LABEL_GREY = 70


def draw_case_card(
    image: npt.ArrayLike | None,
    label: npt.ArrayLike,
    affine: npt.ArrayLike,
    *,
    structure_label: int,
    title: str,
    path: str | os.PathLike[str],
    structure_name: str | None = None,
    other_label: int | None = None,
    other_name: str | None = None,
    segment_ras_mm: npt.ArrayLike | None = None,
    segment_text: str | None = None,
    window: Window | str | None = None,
    modality: Modality | None = "CT",
    margin_mm: float | None = None,
) -> Path:
    """Draw the axial, coronal and sagittal slice through the centre of a structure's box.

    On each slice: the structure's outline and its box (dashed, projected), those of a second structure, a measured
    line (projected), letters of the patient's directions and a scale bar, in radiological convention. All three have
    the same scale, true to the voxel size. The grid is shown as it is, never resampled: on an oblique one the letters
    name the closest directions and the card says by how many degrees they are off. What stands at its foot (convention,
    window, voxel size) is also in the PNG's ``Description``.

    Args:
        image: (X, Y, Z) intensities on the label's grid, or None to draw the labels only.
        label: (X, Y, Z) integer ids, in any orientation.
        affine: (4, 4) voxel index to RAS mm.
        structure_label: id of the structure the slices go through.
        title: case, structure and status, as they shall read.
        path: where to write, ending in ``.png``; folders are made. Written beside it first, then renamed.
        structure_name: for the legend; ``label <id>`` when not given.
        other_label: id of a second structure.
        other_name: its name for the legend.
        segment_ras_mm: (2, 3) end points of the measured line, RAS mm.
        segment_text: the measured value with its unit, for the header.
        window: see :func:`choose_window`.
        modality: CT or MR; decides the default window. None, where nobody says: that of an MR, and no unit is told.
        margin_mm: how much to show around everything drawn. None: the whole volume, unless the structures are so
            small in it that they would be hard to see; infinity: the whole volume.

    Returns:
        The path written.

    Raises:
        LabelValueError: a structure is not in the label map (the ids present are named), or ids are not integers.
        PairingError: image and label differ in shape.
        GeometryError: not 3-D, an unusable affine, or segment ends that are not finite.
        SettingsError: a path that is not a PNG, an unknown window or modality, twice the same structure.
    """
    target = Path(path)
    if target.suffix.lower() != ".png":
        raise SettingsError("a case card is a PNG", key="path", found=target.name, expected="a name ending in .png")
    if other_label == structure_label:
        raise SettingsError("the two structures of a card differ", key="other_label", found=other_label)
    if margin_mm is not None and not margin_mm >= 0:
        raise SettingsError("a margin is 0 mm or more", key="margin_mm", found=margin_mm)
    labels, matrix = reorient_to_ras(np.asarray(label), affine)
    scan = None if image is None else _matching(np.asarray(image), labels.shape, affine)
    shown = None if scan is None else choose_window(scan, modality or "MR", window)
    overlays = [Overlay(structure_label, structure_box(labels, structure_label), STRUCTURE_COLOUR)]
    if other_label is not None:
        overlays.append(Overlay(other_label, structure_box(labels, other_label), OTHER_COLOUR))
    segment = None if segment_ras_mm is None else _to_index(segment_ras_mm, matrix)

    spacing = np.linalg.norm(matrix[:3, :3], axis=0)
    field = _field(overlays, segment, np.asarray(labels.shape), spacing, margin_mm)
    views = _views(labels, overlays[0].box, spacing)
    scans = [None] * len(views) if scan is None else _views(scan, overlays[0].box, spacing)
    page = Page.for_views(views, field)
    for view, pixels, cell in zip(views, scans, page.cells, strict=True):
        set_limits(cell, view, field, page.cell_mm)
        _draw_cell(cell, view, pixels, shown, overlays)
        if segment is not None:
            draw_segment(cell, view, segment, _narrowest_mm(view, overlays))
        draw_furniture(cell, view, page.cell_mm, _position(view, matrix))
    legend = [LegendEntry(STRUCTURE_COLOUR, "-", structure_name or f"label {structure_label}")]
    if other_label is not None:
        legend.append(LegendEntry(OTHER_COLOUR, "-", other_name or f"label {other_label}"))
    legend.append(LegendEntry(QUIET_COLOUR, "--", "bounding box, projected"))
    if segment is not None:
        legend.append(LegendEntry(SEGMENT_COLOUR, "-", "measured line, projected"))
    page.add_header(title, segment_text, STRUCTURE_COLOUR if segment is None else SEGMENT_COLOUR)
    notes = _notes(shown, modality, matrix, spacing, labels.shape, field)
    page.add_footer(legend, notes)
    return page.save(target, notes)


def _matching(image: Volume, shape: tuple[int, ...], affine: npt.ArrayLike) -> Volume:
    scan, _ = reorient_to_ras(image, affine)
    if scan.shape != shape:
        raise PairingError(
            "image and label differ in shape",
            code="shape_mismatch",
            found=f"image {scan.shape}, label {shape} (in RAS order)",
            expected="one grid",
            next_step="bring the image onto the label's grid first",
        )
    return scan


def _views(volume: Volume, box: IndexBox, spacing: Float) -> list[SliceView]:
    """The axial, coronal and sagittal slice through the middle of a box."""
    middle = box.center_voxel
    sizes = [float(length) for length in spacing]
    return [extract_slice(volume, plane, middle[axis], sizes) for plane, axis in zip(PLANES, (2, 1, 0), strict=True)]


def _to_index(segment_ras_mm: npt.ArrayLike, matrix: Float) -> Float:
    ends = np.asarray(segment_ras_mm, dtype=np.float64)
    if ends.shape != (2, 3) or not np.isfinite(ends).all():
        raise GeometryError(
            "a segment has two finite end points in RAS mm",
            code="bad_segment",
            key="segment_ras_mm",
            found=segment_ras_mm,
            expected="an array of shape (2, 3)",
        )
    return np.asarray((ends - matrix[:3, 3]) @ np.linalg.inv(matrix[:3, :3]).T)


def _field(
    overlays: Sequence[Overlay],
    segment: Float | None,
    size: npt.NDArray[np.int_],
    spacing: Float,
    margin: float | None,
) -> Field:
    """What to show: everything drawn with its margin, moved to lie inside the volume, but never beyond it."""
    points = np.concatenate([overlay.box.corners for overlay in overlays] + ([] if segment is None else [segment]))
    needed = (points + 0.5) * spacing
    low, high, whole = needed.min(axis=0), needed.max(axis=0), size * spacing
    if margin is None:
        side = max(_SMALLEST_FIELD_MM, _CONTEXT * float((high - low).max()))
        length = np.full(3, side)
    else:
        length = high - low + 2 * margin
    length = np.minimum(length, whole)
    start = np.clip((low + high) / 2 - length / 2, 0, whole - length)
    start, stop = np.minimum(start, low), np.maximum(start + length, high)
    return Field((start[0], start[1], start[2]), (stop[0], stop[1], stop[2]))


def _draw_cell(
    cell: Axes, labels: SliceView, scan: SliceView | None, window: Window | None, overlays: Sequence[Overlay]
) -> None:
    """The scan in its window, or without one every structure in one grey; outlines and boxes over it."""
    if scan is None or window is None:
        draw_image(cell, labels, np.where(labels.pixels != 0, _LABEL_GREY, 0).astype(np.uint8), smooth=False)
    else:
        draw_image(cell, labels, apply_window(scan.pixels, window), smooth=True)
    for overlay in reversed(overlays):
        draw_structure(cell, labels, overlay, filled=scan is None)


def _narrowest_mm(view: SliceView, overlays: Sequence[Overlay]) -> float:
    """The shortest edge of the structures' boxes in this view."""
    return min(float(np.abs(np.diff(view.to_mm(overlay.box.corners), axis=0)).min()) for overlay in overlays)


def _tilt_deg(matrix: Float) -> float:
    """Largest angle between a grid axis (RAS order) and the patient axis it is named after."""
    axes = matrix[:3, :3] / np.linalg.norm(matrix[:3, :3], axis=0)
    return math.degrees(math.acos(float(np.clip(np.diag(axes).min(), -1, 1))))


def _position(view: SliceView, matrix: Float) -> str | None:
    """Where the slice lies along its patient axis; nothing on an oblique grid, where it has no single position."""
    axis = view.axes[0]
    if _tilt_deg(matrix) > 0.05:
        return None
    place = float(matrix[axis, axis] * view.index + matrix[axis, 3])
    return f"{'RAS'[axis] if place >= 0 else 'LPI'[axis]} {abs(place):.1f} mm"


def _notes(
    window: Window | None, modality: Modality | None, matrix: Float, spacing: Float, shape: Sequence[int], field: Field
) -> str:
    unit = " HU" if modality == "CT" else ""
    parts = [
        f"{modality or 'image'} window level {window.level:g}, width {window.width:g}{unit}"
        if window
        else "labels only, no image",
        "voxel " + " x ".join(f"{length:.4g}" for length in spacing) + " mm",
    ]
    whole = np.asarray(shape) * spacing
    if (np.asarray(field.size_mm) < whole - 1e-6).any():
        shown = " x ".join(f"{length:.0f}" for length in field.size_mm)
        parts.append(f"shown {shown} of {' x '.join(f'{length:.0f}' for length in whole)} mm (R-L x A-P x S-I)")
    tilt = _tilt_deg(matrix)
    if tilt > 0.05:
        axes = matrix[:3, :3] / spacing
        kind = "sheared" if np.abs(axes.T @ axes - np.eye(3)).max() > 1e-4 else "oblique"
        parts.append(
            f"{kind} grid, drawn as stored: letters name the closest direction, up to {tilt:.1f}\N{DEGREE SIGN} off"
        )
    return "   |   ".join(parts)
