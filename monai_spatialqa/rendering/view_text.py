"""What a model is told of its views in words: what they are, their order, the display convention, sizes, the window."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from monai_spatialqa.errors import SettingsError
from monai_spatialqa.rendering.slices import CONVENTION, Plane
from monai_spatialqa.rendering.view_geometry import ViewGeometry
from monai_spatialqa.rendering.view_settings import ViewSettings
from monai_spatialqa.rendering.views import SlicePlace, View
from monai_spatialqa.rendering.windows import CT_WINDOWS

_ORDERS: dict[Plane, str] = {
    "axial": "from inferior to superior",
    "coronal": "from posterior to anterior",
    "sagittal": "from left to right",
}
"""How slices are counted."""

_BEYOND_FIRST: dict[Plane, str] = {
    "axial": "above the lowest slice",
    "coronal": "in front of the rearmost slice",
    "sagittal": "to the right of the leftmost slice",
}

_TOLD_TILT_DEG = 1.0


def describe_views(views: Sequence[View], settings: ViewSettings, geometry: ViewGeometry) -> str:
    """The words for the prompt that go with a set of views.

    The radiological convention is always in them. Nothing in mm is, when ``settings.tell.scale`` is off; see
    ``settings.scale_known`` for what that means for questions with numbers.

    Args:
        views: what :func:`~monai_spatialqa.rendering.make_views` made.
        settings: with which it did.
        geometry: of the same scan.

    Returns:
        A few paragraphs.

    Raises:
        SettingsError: no views.
    """
    if not views:
        raise SettingsError("there are no views to describe", key="views", expected="at least one image")
    parts = [f"{_what(views, settings, geometry)} {CONVENTION}"]
    if settings.tell.scale:
        parts.append(_scale(views, settings, geometry))
    parts.append(_grey_values(views[0], geometry.modality or ""))
    for more in (_drawn(settings), _grid(settings, geometry)):
        if more:
            parts.append(more)
    if settings.tell.position and settings.kind == "montage":
        parts.append("\n".join(view_captions(views, settings)))
    return "\n\n".join(parts)


def view_captions(views: Sequence[View], settings: ViewSettings) -> tuple[str, ...]:
    """One line for each image, to stand beside it: its number and, where it is to be told, which slices it shows."""
    captions = []
    for number, view in enumerate(views, start=1):
        text = f"Image {number} of {len(views)}"
        if len(view.places) > 1:
            if settings.tell.position:
                numbers = ", ".join(str(place.number) for place in view.places)
                text += f": axial slices {numbers} of {view.places[0].count}"
        else:
            text += f": {view.plane}"
            if settings.tell.position:
                text += f" slice {_position(view.places[0], settings.tell.scale)}"
        captions.append(text)
    return tuple(captions)


def views_in_words(settings: ViewSettings) -> str:
    """What any scan is shown as with these settings, in one line for a report."""
    kinds = {
        "axial": f"{settings.slices} axial slices, {settings.order.replace('_', ' ')}",
        "montage": f"montage of {settings.slices} axial slices, {settings.order.replace('_', ' ')}, "
        f"in {_counted(settings.montage_images, 'image')}",
        "planes": "three orthogonal slices through the middle of the scan",
        "structure": "three orthogonal slices through the structure asked about (gives its location away)",
    }
    ct, mr = settings.ct_window, settings.mr_window
    if isinstance(ct, str):
        preset = CT_WINDOWS[ct]
        ct_text = f"{ct} (level {preset.level:g}, width {preset.width:g} HU)"
    else:
        ct_text = f"level {ct.level:g}, width {ct.width:g} HU"
    mr_text = (
        f"percentiles {mr[0]:g} to {mr[1]:g}" if isinstance(mr, tuple) else f"level {mr.level:g}, width {mr.width:g}"
    )
    drawn = [name for name in ("scale", "position", "letters") if getattr(settings.burn_in, name)]
    told = ["convention", *(name for name in ("scale", "position") if getattr(settings.tell, name))]
    return (
        f"{kinds[settings.kind]}; longest edge {settings.longest_px} pixels, {settings.interpolation}; CT window "
        f"{ct_text}; MR window {mr_text}; drawn in: {', '.join(drawn) or 'nothing'}; told: {', '.join(told)}"
        f"{'' if settings.scale_known else '; physical scale hidden'}"
    )


def _position(place: SlicePlace, scale: bool) -> str:
    where = f", {place.from_first_mm:.1f} mm {_BEYOND_FIRST[place.plane]}" if scale else ""
    return f"{place.number} of {place.count}{where}"


def _what(views: Sequence[View], settings: ViewSettings, geometry: ViewGeometry) -> str:
    scan = f"{geometry.modality} scan"
    count = sum(len(view.places) for view in views)
    if settings.kind in ("axial", "montage"):
        one = settings.order.replace("_", " ")
        slices = f"{count} axial slices" if count > 1 else "one axial slice"
        spread = ", evenly spread over its whole height" if count > 1 else " through its middle"
        ordered = f", ordered from {one}" if count > 1 else ""
        if settings.kind == "axial":
            images = "The images show" if count > 1 else "The image shows"
            return f"{images} {slices} of one {scan}{spread}{ordered}{', one slice per image' if count > 1 else ''}."
        images = "The image is a montage" if len(views) == 1 else f"The {len(views)} images are montages"
        rows = -(-len(views[0].places) // views[0].columns)
        grid = f"{_counted(views[0].columns, 'column')} and {_counted(rows, 'row')}"
        if len(views) > 1:
            grid = f"up to {grid} an image"
        reading = f"from left to right, then from top to bottom{', then image by image' if len(views) > 1 else ''}"
        return (
            f"{images} of {slices} of one {scan}{spread}, in {grid}. Read them {reading}: they are ordered from {one}."
        )
    through = (
        "the middle of the scan"
        if settings.kind == "planes"
        else "the centre of the bounding box of the structure that the question is about"
    )
    return (
        f"The three images show one {scan}: an axial, a coronal and a sagittal slice, in this order, through {through}."
    )


def _counted(count: int, word: str) -> str:
    return f"{count} {word}{'' if count == 1 else 's'}"


def _scale(views: Sequence[View], settings: ViewSettings, geometry: ViewGeometry) -> str:
    axial_only = settings.kind in ("axial", "montage")
    parts = [f"All slices have the same scale: a pixel is {views[0].pixel_mm[0]:.3g} mm wide and high."]
    for plane, view in {view.plane: view for view in views}.items():
        (wide, high), (mm_wide, mm_high) = view.scan_px, view.pixel_mm
        name = "Each slice" if axial_only else f"The {plane} slice"
        parts.append(
            f"{name} is {wide} x {high} pixels (width x height) and covers {wide * mm_wide:.1f} mm x "
            f"{high * mm_high:.1f} mm."
        )
    if axial_only:
        distance = geometry.slice_distance_mm(2)
        parts.append(
            f"The scan has {geometry.shape[2]} axial slices, {distance:.3g} mm apart, and is "
            f"{geometry.shape[2] * distance:.1f} mm high."
        )
        shown = [place.from_first_mm for view in views for place in view.places]
        gaps = [abs(upper - lower) for lower, upper in pairwise(shown)]
        if gaps:
            least, most, mean = min(gaps), max(gaps), sum(gaps) / len(gaps)
            apart = f"{mean:.1f} mm" if most - least < 0.05 else f"{least:.1f} to {most:.1f} mm ({mean:.1f} on average)"
            parts.append(f"From each slice shown to the next it is {apart}.")
    return " ".join(parts)


def _grey_values(view: View, modality: str) -> str:
    unit = " HU" if modality == "CT" else ""
    window = view.window
    name = "CT window" if modality == "CT" else "MR window, in the scan's own units"
    return (
        f"Grey values: {name}, level {window.level:.6g}{unit}, width {window.width:.6g}{unit}; "
        f"{window.low:.6g}{unit} and less is black, {window.high:.6g}{unit} and more is white."
    )


def _drawn(settings: ViewSettings) -> str:
    burn_in, axial_only = settings.burn_in, settings.kind in ("axial", "montage")
    told = []
    if burn_in.letters:
        names = "R right, L left, A anterior, P posterior" + ("" if axial_only else ", S superior, I inferior")
        told.append(f"the patient's directions at the edges ({names})")
    if burn_in.position:
        orders = {"axial": _ORDERS["axial"]} if axial_only else _ORDERS
        counted = ", ".join(order if axial_only else f"{plane} slices {order}" for plane, order in orders.items())
        distance = ", and its distance from the first one in mm" if burn_in.scale else ""
        told.append(f"at the top left the slice's number out of all of the scan, counted {counted}{distance}")
    if burn_in.scale:
        told.append("at the bottom right a scale bar with its length")
    return f"Drawn into each slice: {'; '.join(told)}." if told else ""


def _grid(settings: ViewSettings, geometry: ViewGeometry) -> str:
    if geometry.tilt_deg < _TOLD_TILT_DEG:
        return ""
    kind = "The scan's slices are tilted against its other axes" if geometry.sheared else "The scan was taken obliquely"
    skew = ", so that coronal and sagittal slices are skewed" if geometry.sheared else ""
    return f"{kind}{skew}: the directions named are the closest ones, up to {geometry.tilt_deg:.0f} degrees off."
