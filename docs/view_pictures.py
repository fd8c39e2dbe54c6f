"""Pictures of views as models get them, for the page about views. Drawn by pictures.py."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from drawing import INK, PAPER
from matplotlib import font_manager
from PIL import Image, ImageDraw, ImageFont

from monai_spatialqa.readers.nifti_volume import read_volume
from monai_spatialqa.rendering import View, ViewGeometry, ViewSettings, make_views, reorient_to_ras
from monai_spatialqa.rendering.structures import structure_box

EXAMPLE = Path(__file__).resolve().parent.parent / "bundles/spatialqa/example"
KIDNEY_LEFT = 3
EVERYTHING = {"scale": True, "position": True, "letters": True}

_WIDTH, _GAP, _HEADING = 1200, 8, 30


def views_axial() -> Image.Image:
    """Eight axial slices, an image each."""
    views = _views(ViewSettings(slices=8, size_px=294))
    return _sheet(_pictures(views), [f"Image {number}" for number in range(1, 9)], 4)


def views_planes() -> Image.Image:
    """Three orthogonal slices through the middle of the scan."""
    return _sheet(_pictures(_views(ViewSettings(kind="planes", size_px=394))), ["Image 1", "Image 2", "Image 3"], 3)


def views_montage() -> Image.Image:
    """Sixteen slices in one image."""
    return _sheet(_pictures(_views(ViewSettings(kind="montage", slices=16, size_px=760))), ["Image 1"], 1)


def views_structure() -> Image.Image:
    """Three orthogonal slices through the left kidney, with everything drawn in."""
    settings = ViewSettings(kind="structure", size_px=394, burn_in=EVERYTHING)
    return _sheet(_pictures(_views(settings)), ["Image 1", "Image 2", "Image 3"], 3)


def views_windows() -> Image.Image:
    """One slice in three windows."""
    names = ("soft_tissue", "lung", "bone")
    pictures = [_pictures(_views(ViewSettings(slices=3, size_px=394, ct_window=name)))[2] for name in names]
    return _sheet(pictures, names, 3)


def _views(settings: ViewSettings) -> list[View]:
    volume, matrix = reorient_to_ras(*read_volume(EXAMPLE / "ct/example_ct.nii.gz"))
    label, _ = reorient_to_ras(*read_volume(EXAMPLE / "seg/example_seg_fast_force_split.nii.gz"))
    middle = np.mean(structure_box(label, KIDNEY_LEFT).corners, axis=0)
    focus = matrix[:3, :3] @ middle + matrix[:3, 3]
    return make_views(volume, ViewGeometry("CT", volume.shape, matrix), settings, focus_ras_mm=focus)


def _pictures(views: Sequence[View]) -> list[Image.Image]:
    return [Image.open(io.BytesIO(view.png)) for view in views]


def _sheet(pictures: Sequence[Image.Image], headings: Sequence[str], columns: int) -> Image.Image:
    """Images in rows on white paper, each under its heading."""
    cell = (_WIDTH - (columns - 1) * _GAP) // columns
    high = max(picture.height for picture in pictures) + _HEADING
    rows = -(-len(pictures) // columns)
    sheet = Image.new("RGB", (_WIDTH, rows * high + (rows - 1) * _GAP), PAPER)
    pen = ImageDraw.Draw(sheet)
    font = ImageFont.truetype(font_manager.findfont("DejaVu Sans:bold"), 15)
    for place, (picture, heading) in enumerate(zip(pictures, headings, strict=True)):
        row, column = divmod(place, columns)
        left, top = column * (cell + _GAP), row * (high + _GAP)
        pen.text((left + cell / 2, top + _HEADING / 2), heading, font=font, fill=INK, anchor="mm")
        sheet.paste(picture, (left + (cell - picture.width) // 2, top + _HEADING))
    return sheet
