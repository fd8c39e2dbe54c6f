"""Pictures of what goes back to the voxels: surface distance, and the axial diameter of a tumour."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from drawing import (
    ACCENT,
    EDGE,
    EDGE_B,
    FILL,
    FILL_B,
    INK,
    PAPER,
    QUIET,
    Float,
    Mask,
    draw_grid,
    draw_voxels,
    figure,
    mask_of,
    outline,
    scan,
    straight,
    window,
    write,
)
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.spatial import ConvexHull

from monai_spatialqa.anatomy import load_label_map
from monai_spatialqa.phantoms import make_phantom
from monai_spatialqa.readers.nifti_volume import read_volume
from monai_spatialqa.rendering import CT_WINDOWS, SliceView, apply_window, extract_slice, reorient_to_ras
from monai_spatialqa.transforms import MeasureDiameter, MeasureDistance

EXAMPLE = Path(__file__).resolve().parent.parent / "bundles/spatialqa/example"

BRIGHT, BRIGHT_B = "#FFB000", "#4FC3F7"
"""Lines on a scan: the finer measure, and what it is compared with."""

BACK: dict[str, Any] = {"facecolor": "black", "alpha": 0.7, "edgecolor": "none", "pad": 1.5}
"""Behind text on a scan."""


def surface_distance() -> Figure:
    """Box-centre and surface distance of the example's kidneys, which voxels count, and structures that are near."""
    made, (left, middle, right) = figure(9.6, 3.2, 3, width_ratios=[1.32, 1.0, 0.8])
    for panel in (left, middle, right):
        panel.set_anchor("N")
    _kidneys(left)
    one = mask_of([f"{row:.<13}" for row in (".###", "#####", "####", "###", "##", "#####")])
    two = mask_of([f"{row:.>13}" for row in ("", "###.", "###", "#####", "######", "###")])
    draw_voxels(middle, np.ones_like(one), straight(3.0))
    for mask, fill, edge in ((one, FILL, EDGE), (two, FILL_B, EDGE_B)):
        draw_voxels(middle, mask, straight(3.0), fill, edge)
    for kind, colour, style, at in (("box_center", INK, "--", -4.6), ("surface", ACCENT, "-", -7.4)):
        length, ends = _distance(one, two, kind)
        _line(middle, ends, colour, style)
        write(middle, 18, at, f"{kind}: {length:.1f} mm", color=colour, fontweight="bold")
    write(middle, 18, -12.4, "between the two voxel centres\nthat are nearest to each other", fontsize=9)
    window(middle, (-2, 38), (-15, 18), "Which voxels")
    cases = (
        ("share a face", ["##.", "#..", "..."], ["...", ".##", "..#"]),
        ("share an edge", ["##.", "##.", "..."], ["...", "...", "..#"]),
        ("share voxels", ["##.", "##.", "..."], ["...", ".##", ".##"]),
    )
    for row, (name, first, second) in enumerate(cases):
        grid = straight(3.0)
        grid[1, 2] = -13.0 * row
        masks = mask_of(first), mask_of(second)
        draw_voxels(right, np.ones_like(masks[0]), grid)
        for mask, fill, edge in zip(masks, (FILL, FILL_B), (EDGE, EDGE_B), strict=True):
            draw_voxels(right, mask, grid, fill, edge)
        draw_voxels(right, masks[0] & masks[1], grid, FILL, EDGE_B, hatch="////")
        length, ends = _distance(*masks, "surface")
        _line(right, ends + grid[:2, 2], ACCENT, "-")
        flag = ("touching", "not touching", "overlapping")[row]
        write(right, 9.5, 3.0 - 13 * row, f"{name}:\n{length:.1f} mm,\n{flag}", ha="left", fontsize=9)
    window(right, (-3, 29), (-29, 9), "Near, at 3 mm voxels")
    return made


def _kidneys(axes: Axes) -> None:
    """A coronal slice of the example with the two distances between its kidneys."""
    label_map = load_label_map("totalsegmentator_v2")
    image, affine = read_volume(EXAMPLE / "ct/example_ct.nii.gz")
    label, _ = read_volume(EXAMPLE / "seg/example_seg_fast_force_split.nii.gz")
    names = ("kidney_left", "kidney_right")
    found = {}
    for kind in ("surface", "box_center"):
        measured = MeasureDistance(label_map, [names], kind=kind)(scan(torch.from_numpy(label.copy())[None], affine))
        found[kind] = float(measured["distance_mm"][0]), measured["distance_points_ras_mm"][0].numpy()
    volume, matrix = reorient_to_ras(image, affine)
    ids, _ = reorient_to_ras(label, affine)
    to_index = np.linalg.inv(matrix)
    sizes = np.linalg.norm(matrix[:3, :3], axis=0).tolist()
    at = round(float((found["surface"][1] @ to_index[:3, :3].T + to_index[:3, 3])[0, 1]))
    view, shown = (extract_slice(one, "coronal", at, sizes) for one in (volume, ids))
    _show(axes, view)
    for name, colour in zip(names, (FILL, FILL_B), strict=True):
        _edges(axes, shown.pixels == label_map.by_name(name).label, shown.pixel_size_mm, colour)
    for kind, colour, style, below in (("box_center", BRIGHT_B, "--", 13), ("surface", BRIGHT, "-", -13)):
        length, ends = found[kind]
        points = view.to_mm(ends @ to_index[:3, :3].T + to_index[:3, 3])
        _line(axes, points, colour, style)
        x, y = points.mean(axis=0)
        write(axes, x, y + below, f"{kind}: {length:.1f} mm", color=colour, fontweight="bold", bbox=BACK, zorder=8)
    _letters(axes, view, (68, 297), 30)
    window(axes, (60, 305), (196, 20), "The example's kidneys, coronal")


def axial_diameter() -> Figure:
    """The longest diameter of a phantom's tumour in an axial slice, its perpendicular, and between which points."""
    made, (left, right) = figure(9.6, 3.7, 2, width_ratios=[1, 1.15])
    phantom = make_phantom(7, shape=(240, 180, 100), spacing_mm=(1.5, 1.5, 4.0), tumour=False)
    image, label, affine = phantom.image.copy(), phantom.label, phantom.affine
    tumour = _lobulated(label.shape, affine, phantom.shapes["liver"].center_ras_mm)
    image[tumour] -= 65
    found = MeasureDiameter({1: "tumour"}, of="tumour")(scan(torch.from_numpy(tumour.astype(np.uint8))[None], affine))
    to_index = np.linalg.inv(affine)
    at = int(found["diameter_slice"][0])
    view, shown = (extract_slice(volume, "axial", at, phantom.spacing_mm) for volume in (image, tumour))
    _show(left, view)
    _edges(left, shown.pixels.astype(bool), view.pixel_size_mm, FILL)
    ends = view.to_mm(found["diameter_points_ras_mm"][0].numpy() @ to_index[:3, :3].T + to_index[:3, 3])
    x, y = ends.mean(axis=(0, 1))
    words = (("longest", BRIGHT, -36), ("perpendicular", BRIGHT_B, 37))
    for points, length, (word, colour, below) in zip(ends, found["diameter_mm"][0].tolist(), words, strict=True):
        _line(left, points, colour, "-")
        write(left, x, y + below, f"{word}: {length:.1f} mm", color=colour, fontweight="bold", bbox=BACK)
    _letters(left, view, (x - 46, x + 46), y - 36)
    window(left, (x - 50, x + 50), (y + 42, y - 42), "A tumour in a phantom's liver, axial")
    _notched(right)
    return made


def _lobulated(shape: Sequence[int], affine: Float, center: Sequence[float]) -> Mask:
    """A tumour with lobes: its radius depends on the direction. Longest in the slice through its centre."""
    index = np.moveaxis(np.indices(shape), 0, -1)
    x, y, z = np.moveaxis(index @ affine[:3, :3].T + affine[:3, 3] - np.asarray(center), -1, 0)
    angle = np.arctan2(y, x)
    radius = 19 * (1 + 0.28 * np.cos(2 * angle - 1.2) + 0.13 * np.cos(5 * angle) + 0.05 * np.sin(7 * angle))
    return np.asarray(np.sqrt(x**2 + y**2 + 1.4 * z**2) < radius)


def _notched(axes: Axes) -> None:
    """A drawn tumour with a notch: edge midpoints, their convex hull, and the two lengths."""
    mask = mask_of(
        ["..........", ".....###..", "..######..", ".###.####.", ".##...###.", ".##...##..", ".#........", ".........."]
    )
    grid = straight(3.0)
    draw_grid(axes, mask, grid)
    affine = np.diag([3.0, 3.0, 3.0, 1.0])
    voxels = torch.from_numpy(mask[..., None].astype(np.uint8))[None]
    found = MeasureDiameter({1: "drawn"}, of="drawn")(scan(voxels, affine))
    midpoints = _edge_midpoints(mask) * 3.0
    outline(axes, midpoints[ConvexHull(midpoints).vertices], QUIET, "--", 1.4)
    axes.plot(*midpoints.T, ".", color=INK, markersize=4, zorder=6)
    points, lengths = found["diameter_points_ras_mm"][0].numpy(), found["diameter_mm"][0].tolist()
    words = (("longest", ACCENT, 4.5), ("perpendicular", EDGE_B, 21.5))
    for ends, length, (word, colour, at) in zip(points, lengths, words, strict=True):
        _line(axes, ends[:, :2], colour, "-")
        write(axes, at, -3.2, f"{word}: {length:.1f} mm", color=colour, fontweight="bold")
    write(axes, 13.5, -5.9, "Dots: midpoints of outer voxel edges. Dashed: their convex hull.", fontsize=8.5)
    window(axes, (-4.5, 31.5), (-7, 22.7), "Between which points")


def _edge_midpoints(mask: Mask) -> Float:
    """Midpoints of the outer pixel edges of a 2-D mask, in voxel indices (N, 2)."""
    padded = np.pad(mask, 1)
    found = []
    for axis in (0, 1):
        for step in (-1, 1):
            outer = mask & ~np.roll(padded, -step, axis)[1:-1, 1:-1]
            found.append(np.argwhere(outer) + 0.5 * step * np.eye(2)[axis])
    return np.concatenate(found)


def _distance(one: Mask, two: Mask, kind: str) -> tuple[float, Float]:
    """What ``MeasureDistance`` says of two drawings on 3 mm voxels: the length and its two ends in the plane."""
    layers = torch.from_numpy(np.stack([one, two])[..., None].astype(np.uint8))
    found = MeasureDistance({1: "a", 2: "b"}, kind=kind)(scan(layers, np.diag([3.0, 3.0, 3.0, 1.0])))
    return float(found["distance_mm"][0]), found["distance_points_ras_mm"][0, :, :2].numpy()


def _show(axes: Axes, view: SliceView) -> None:
    """A CT slice in mm from its top left corner."""
    high, wide = view.size_mm
    grey = apply_window(view.pixels, CT_WINDOWS["soft_tissue"])
    axes.imshow(grey, cmap="gray", extent=(0, wide, high, 0), interpolation="bilinear")


def _letters(axes: Axes, view: SliceView, sides: tuple[float, float], y: float) -> None:
    """Which side of the patient is where."""
    for x, letter in zip(sides, (view.letters.left, view.letters.right), strict=True):
        write(axes, x, y, letter, color="white", fontweight="bold", fontsize=11, bbox=BACK)


def _edges(axes: Axes, mask: Mask, pixel_size_mm: tuple[float, float], colour: str) -> None:
    """The outer pixel edges of a mask in a slice, as lines."""
    high, wide = pixel_size_mm
    padded = np.pad(mask, 1)
    for row, column in np.argwhere(padded[1:, 1:-1] != padded[:-1, 1:-1]):
        axes.plot([column * wide, (column + 1) * wide], [row * high] * 2, color=colour, linewidth=1.3, zorder=4)
    for row, column in np.argwhere(padded[1:-1, 1:] != padded[1:-1, :-1]):
        axes.plot([column * wide] * 2, [row * high, (row + 1) * high], color=colour, linewidth=1.3, zorder=4)


def _line(axes: Axes, ends: Any, colour: str, style: str, marker: str | None = "o") -> None:
    """A measured line with its two ends."""
    look: dict[str, Any] = {"color": colour, "linestyle": style, "linewidth": 2.0, "zorder": 7}
    axes.plot(*np.asarray(ends).T[:2], marker=marker, markersize=5, markeredgecolor=PAPER, markeredgewidth=0.6, **look)
