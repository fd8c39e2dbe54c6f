"""Views of a scan for a model that sees images: which slices, how large, in which window, with what drawn into them.

Pure functions on arrays in RAS order. Slices are chosen after orientation is normalised, shown in radiological
convention, clipped to the window before the type is narrowed, and brought to square pixels of one size in mm for all
images of a set. The same input gives the same bytes.
"""

from __future__ import annotations

import io
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from PIL import Image

from monai_spatialqa.errors import PairingError, SettingsError
from monai_spatialqa.rendering.burn_in import burn_in, room_px
from monai_spatialqa.rendering.montage import GAP_PX, columns_for, split_evenly, tile
from monai_spatialqa.rendering.slices import PLANES, EdgeLetters, Plane, SliceView, extract_slice
from monai_spatialqa.rendering.view_geometry import ViewGeometry
from monai_spatialqa.rendering.view_settings import BurnIn, Interpolation, LevelWidth, ViewSettings
from monai_spatialqa.rendering.windows import Window, apply_window, choose_window, percentile_window

_FILTERS: dict[Interpolation, Image.Resampling] = {
    "nearest": Image.Resampling.NEAREST,
    "bilinear": Image.Resampling.BILINEAR,
    "bicubic": Image.Resampling.BICUBIC,
}

_LEAST_SLICE_PX = 16
"""The longest edge of a slice is at least so long."""


@dataclass(frozen=True)
class SlicePlace:
    """Where a slice was cut.

    Args:
        plane: which way.
        index: along S (axial), A (coronal) or R (sagittal).
        count: slices that the scan has in this plane.
        from_first_mm: distance from the slice of index 0, perpendicular to both.
    """

    plane: Plane
    index: int
    count: int
    from_first_mm: float

    @property
    def number(self) -> int:
        """The slice's number, counted from 1."""
        return self.index + 1


@dataclass(frozen=True)
class View:
    """One image for a model.

    Args:
        png: 8-bit grey PNG.
        places: the slices it shows, in reading order; one, unless it is a montage.
        columns: slices a row.
        size_px: width and height of the image.
        slice_px: width and height of one slice in it; the scan may fill less of it, see ``scan_px``.
        scan_px: width and height of the part of ``slice_px`` that the scan fills; what is around it is black.
        pixel_mm: width and height of a pixel; equal but for rounding to whole pixels.
        letters: patient's directions at the edges of a slice.
        window: which intensities are shown, in the scan's unit.
        leaks_location: whether the choice of slices gives away where the structure asked about is.
    """

    png: bytes
    places: tuple[SlicePlace, ...]
    columns: int
    size_px: tuple[int, int]
    slice_px: tuple[int, int]
    scan_px: tuple[int, int]
    pixel_mm: tuple[float, float]
    letters: EdgeLetters
    window: Window
    leaks_location: bool

    @property
    def plane(self) -> Plane:
        """Which way its slices were cut."""
        return self.places[0].plane

    @property
    def indices(self) -> tuple[int, ...]:
        """Slice indices along S (axial), A (coronal) or R (sagittal), in reading order."""
        return tuple(place.index for place in self.places)


def make_views(
    volume_ras: npt.NDArray[np.generic],
    geometry: ViewGeometry,
    settings: ViewSettings,
    *,
    focus_ras_mm: Sequence[float] | None = None,
) -> list[View]:
    """Make the images that a model is shown of one scan.

    Args:
        volume_ras: (X, Y, Z) intensities whose axes grow to R, A and S; any real type, not changed.
        geometry: its grid and modality.
        settings: what to show.
        focus_ras_mm: centre of the structure asked about, RAS mm; used by the kind ``structure`` alone, whose views
            are marked as leaking the location.

    Returns:
        The images in their order.

    Raises:
        PairingError: volume and geometry differ in shape.
        GeometryError: a centre outside the scan.
        SettingsError: a structure view without a centre, or a montage whose slices would be too small to be seen.
    """
    if volume_ras.shape != geometry.shape:
        raise PairingError(
            "volume and geometry differ in shape",
            code="shape_mismatch",
            found=f"volume {volume_ras.shape}",
            expected=geometry.shape,
            next_step="take both from the scan turned to RAS",
        )
    window = window_of(volume_ras, geometry.modality or "", settings)
    cuts = [
        extract_slice(volume_ras, plane, index, geometry.spacing_mm)
        for plane, index in _chosen(geometry, settings, focus_ras_mm)
    ]
    if settings.kind == "montage":
        groups = split_evenly(len(cuts), settings.montage_images)
        high, wide = cuts[0].size_mm
        columns = columns_for(len(groups[0]), wide, high)
    else:
        groups, columns = [range(at, at + 1) for at in range(len(cuts))], 1
    mm_a_pixel = _mm_a_pixel(cuts, geometry, settings, columns, len(groups[0]))
    views = []
    for group in groups:
        slices = [cuts[at] for at in group]
        pictures = [_picture(cut, geometry, window, mm_a_pixel, settings) for cut in slices]
        whole = pictures[0] if len(pictures) == 1 else tile(pictures, min(columns, len(pictures)))
        scan_px = _scan_px(slices[0], mm_a_pixel)
        high, wide = slices[0].size_mm
        views.append(
            View(
                png=_png(whole),
                places=tuple(_place(cut, geometry) for cut in slices),
                columns=min(columns, len(pictures)),
                size_px=whole.size,
                slice_px=pictures[0].size,
                scan_px=scan_px,
                pixel_mm=(wide / scan_px[0], high / scan_px[1]),
                letters=slices[0].letters,
                window=window,
                leaks_location=settings.leaks_location,
            )
        )
    return views


def window_of(volume: npt.ArrayLike, modality: str, settings: ViewSettings) -> Window:
    """The intensity window of a scan: the CT setting for a CT, the MR setting for an MR.

    Raises:
        SettingsError: another modality.
    """
    chosen = settings.mr_window if modality == "MR" else settings.ct_window
    if isinstance(chosen, tuple):
        return percentile_window(volume, *chosen)
    return choose_window(volume, modality, chosen.window if isinstance(chosen, LevelWidth) else chosen)


def spread(count: int, wanted: int) -> list[int]:
    """Indices of slices in the middle of equal parts of a stack; all of them when there are no more than wanted."""
    wanted = min(wanted, count)
    return [(2 * part + 1) * count // (2 * wanted) for part in range(wanted)]


def _chosen(
    geometry: ViewGeometry, settings: ViewSettings, focus_ras_mm: Sequence[float] | None
) -> list[tuple[Plane, int]]:
    if settings.kind in ("axial", "montage"):
        indices = spread(geometry.shape[2], settings.slices)
        return [("axial", index) for index in (indices if settings.order == "inferior_to_superior" else indices[::-1])]
    if settings.kind == "planes":
        middle = [spread(count, 1)[0] for count in geometry.shape]
    elif focus_ras_mm is None:
        raise SettingsError(
            "views of kind structure need the structure's centre",
            key="focus_ras_mm",
            expected="the centre of its box, RAS mm",
            next_step="measure the scan first, or choose another kind of views",
        )
    else:
        middle = list(geometry.nearest_voxel(focus_ras_mm))
    return list(zip(PLANES, reversed(middle), strict=True))


def _mm_a_pixel(
    cuts: Sequence[SliceView], geometry: ViewGeometry, settings: ViewSettings, columns: int, tiles: int
) -> float:
    """One scale for all images: the largest of them has the longest edge asked for."""
    rows = -(-tiles // columns)
    across, down = ((settings.longest_px - (repeats - 1) * GAP_PX) // repeats for repeats in (columns, rows))
    by_plane = {cut.plane: cut for cut in cuts}.values()
    pixels_a_mm = min(min(across / wide, down / high) for high, wide in (cut.size_mm for cut in by_plane))
    for cut in by_plane:
        size = _scan_px(cut, 1 / pixels_a_mm)
        wide, high = _slice_px(size, cut, geometry, settings)
        if wide > across or high > down or max(size) < _LEAST_SLICE_PX:
            raise SettingsError(
                "the slices would be too small to be seen, or to be drawn into",
                key="size_px",
                found=f"{size[0]} x {size[1]} pixels a slice ({settings.longest_px} for {columns} x {rows})",
                expected=f"at least {max(wide, _LEAST_SLICE_PX)} x {max(high, _LEAST_SLICE_PX)}",
                next_step="raise size_px; for a montage, raise montage_images or lower slices; or draw less in",
            )
    return 1 / pixels_a_mm


def _slice_px(size: tuple[int, int], cut: SliceView, geometry: ViewGeometry, settings: ViewSettings) -> tuple[int, int]:
    """Width and height of a slice with room for what is drawn into it, the same for all of a plane."""
    drawn = settings.burn_in
    if not drawn.any:
        return size
    count = cut.shape[cut.axes[0]]
    last = SlicePlace(cut.plane, count - 1, count, (count - 1) * geometry.slice_distance_mm(cut.axes[0]))
    room = room_px(size, letters=drawn.letters, position=_position(last, drawn), scale=drawn.scale)
    return max(size[0], room[0]), max(size[1], room[1])


def _position(place: SlicePlace, drawn: BurnIn) -> tuple[str, ...]:
    if not drawn.position:
        return ()
    number = f"{place.number}/{place.count}"
    return (number, f"{place.from_first_mm:.1f} mm") if drawn.scale else (number,)


def _scan_px(cut: SliceView, mm_a_pixel: float) -> tuple[int, int]:
    high, wide = cut.size_mm
    return max(1, round(wide / mm_a_pixel)), max(1, round(high / mm_a_pixel))


def _picture(
    cut: SliceView, geometry: ViewGeometry, window: Window, mm_a_pixel: float, settings: ViewSettings
) -> Image.Image:
    grey = Image.fromarray(np.ascontiguousarray(apply_window(cut.pixels, window)))
    size = _scan_px(cut, mm_a_pixel)
    picture = grey.resize(size, _FILTERS[settings.interpolation], reducing_gap=None)
    drawn = settings.burn_in
    if not drawn.any:
        return picture
    room = _slice_px(size, cut, geometry, settings)
    if room != size:
        wider = Image.new("L", room, 0)
        wider.paste(picture, ((room[0] - size[0]) // 2, (room[1] - size[1]) // 2))
        picture = wider
    return burn_in(
        picture,
        letters=cut.letters if drawn.letters else None,
        position=_position(_place(cut, geometry), drawn),
        pixel_mm=cut.size_mm[1] / size[0] if drawn.scale else None,
    )


def _place(cut: SliceView, geometry: ViewGeometry) -> SlicePlace:
    axis = cut.axes[0]
    return SlicePlace(cut.plane, cut.index, cut.shape[axis], cut.index * geometry.slice_distance_mm(axis))


def _png(picture: Image.Image) -> bytes:
    target = io.BytesIO()
    # Runs only: on a slice, five times as fast as looking for repeats, and no larger.
    picture.save(target, "PNG", compress_level=6, compress_type=zlib.Z_RLE)
    return target.getvalue()
