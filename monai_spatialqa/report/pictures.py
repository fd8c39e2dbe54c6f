"""The picture of a card: the structures that a question is about, and the figure that its key rests on."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from PIL import Image

from monai_spatialqa.anatomy import LabelMap
from monai_spatialqa.errors import SpatialQAError
from monai_spatialqa.items.wording import readable_name
from monai_spatialqa.measurement.card_voxels import OTHER, STRUCTURE, CardVoxels, box_edge, structure_ids
from monai_spatialqa.readers.nifti_header import Form
from monai_spatialqa.readers.scans import Scan
from monai_spatialqa.records import Measurement, Pair
from monai_spatialqa.records.item import Evidence, Item, Reference
from monai_spatialqa.rendering import draw_case_card
from monai_spatialqa.rendering.page import slice_boxes
from monai_spatialqa.rendering.windows import Modality
from monai_spatialqa.report.cards import CardPicture, Drawn
from monai_spatialqa.report.wording import AXES, plain, tool_words

SLICE_PIXELS = 420
"""Width of a slice."""

_QUALITIES = (82, 70, 55, 40)
_LARGEST_BYTES = 36_000
_BETWEEN_CENTRES = ("center_distance", "offset")


class Shown(NamedTuple):
    """What a picture draws.

    Attributes:
        structure: the one the slices go through.
        other: a second one.
        segment_ras_mm: ends of the measured line.
        figure: what was measured, in words: "distance of box centres 91.7 mm".
    """

    structure: str
    other: str | None = None
    segment_ras_mm: Sequence[Sequence[float]] | None = None
    figure: str = ""


def make_card_picture(
    measurement: Measurement,
    image: Path | None,
    label: Scan | None,
    item: Item,
    reference: Reference,
    *,
    form: Form | None = None,
    label_map: LabelMap | None = None,
    voxels: CardVoxels | None = None,
    modality: Modality | None = None,
) -> CardPicture:
    """Draw three slices through what a question asks about: outlines, boxes, the measured line, letters, a scale.

    A picture that cannot be drawn is not an error: the card then says why it has none.

    Args:
        measurement: the case of the question.
        image: its scan; None draws the label map only.
        label: its label map: a file, a folder, or mask files.
        item: the question.
        reference: its answer, whose evidence says what was measured.
        form: take this NIfTI form where a header contradicts itself.
        label_map: gives structures that the file names itself the ids of its names.
        voxels: the files, read before; they are read when not given.
        modality: of the scan, where the question does not say. Without either, the window is taken from the image.

    Returns:
        Three JPEGs of 420 pixels width, each of the best quality that keeps it under 36 kB, or the reason why there
        are none.
    """
    shown = what_is_shown(measurement, item, reference)
    if shown is None:
        return CardPicture(words="no picture: what it is about has no place in the measured scan")
    if voxels is None:
        missing = [path for path in _paths(label) if not path.exists()]
        if label is None or missing:
            named = f"the file {missing[0].name} is not there" if missing else "no label map was given"
            return CardPicture(words=f"no picture: {named}")
    try:
        if voxels is None:
            assert label is not None
            there = image if image is not None and image.exists() else None
            voxels = CardVoxels.read(label, there, form=form, label_map=label_map)
        return _drawn(measurement, voxels, item, shown, item.case.modality or modality)
    except SpatialQAError as error:
        return CardPicture(words=f"no picture: {error.problem}")


def what_is_shown(measurement: Measurement, item: Item, reference: Reference) -> Shown | None:
    """Which structures and which line stand for a question: those of the evidence that names the key, or the first.

    Returns:
        None where no structure of the question has a box in the measurement.
    """

    def placed(name: str) -> bool:
        found = measurement.structures.get(name)
        return found is not None and found.box is not None and found.box.center_ras_mm is not None

    for evidence in _by_key(reference):
        names = [name for name in _structures(evidence) if placed(name)]
        if names:
            segment = _segment(measurement, evidence, names)
            return Shown(names[0], names[1] if len(names) > 1 else None, segment, _figure(evidence))
    names = [name for name in item.structures if placed(name)]
    return Shown(names[0], names[1] if len(names) > 1 else None) if names else None


def _by_key(reference: Reference) -> list[Evidence]:
    """The evidence, that which names the key first."""

    def names_key(evidence: Evidence) -> bool:
        return any(readable_name(name) == reference.answer_text for name in _structures(evidence))

    return sorted(reference.evidence, key=lambda evidence: not names_key(evidence))


def _structures(evidence: Evidence) -> list[str]:
    """Structures among a tool's arguments, in their order."""
    names: list[str] = []
    for value in evidence.arguments.values():
        names += [value] if isinstance(value, str) else value if isinstance(value, list) else []
    return list(dict.fromkeys(names))


def _figure(evidence: Evidence) -> str:
    """The figure: "extent left-right 63.0 mm"; more structures than a picture outlines are named."""
    axis = evidence.arguments.get("axis")
    along = f" {AXES[axis]}" if isinstance(axis, int) and 0 <= axis < len(AXES) else ""
    names = _structures(evidence)
    of = f" of {', '.join(map(readable_name, names))}:" if len(names) > 2 else ""
    value = plain(evidence.value) if isinstance(evidence.value, float) else str(evidence.value)
    return f"{tool_words(evidence.tool)}{along}{of} {value} {evidence.unit or ''}".strip()


def _segment(measurement: Measurement, evidence: Evidence, names: Sequence[str]) -> Sequence[Sequence[float]] | None:
    """The line that a figure was measured along, RAS mm; None for volumes and shares."""
    structure = measurement.structures[names[0]]
    axis = evidence.arguments.get("axis")
    if evidence.tool == "extent" and isinstance(axis, int):
        return box_edge(measurement, structure, axis)
    if evidence.tool == "axial_diameter" and structure.axial_diameter is not None:
        return structure.axial_diameter.longest_points_ras_mm
    if len(names) < 2:
        return None
    if evidence.tool == "surface_distance":
        return _pair_points(measurement.pairs, names)
    if evidence.tool in _BETWEEN_CENTRES:
        boxes = [measurement.structures[name].box for name in names[:2]]
        return [box.center_ras_mm for box in boxes if box is not None and box.center_ras_mm is not None]
    return None


def _pair_points(pairs: Sequence[Pair], names: Sequence[str]) -> Sequence[Sequence[float]] | None:
    for pair in pairs:
        if pair.kind == "surface" and {pair.a, pair.b} == set(names[:2]):
            return pair.points_ras_mm
    return None


def _drawn(
    measurement: Measurement, voxels: CardVoxels, item: Item, shown: Shown, modality: Modality | None
) -> CardPicture:
    names = [readable_name(name) for name in (shown.structure, shown.other) if name is not None]
    others = [] if shown.other is None else structure_ids(measurement, shown.other)
    with tempfile.TemporaryDirectory() as folder:
        path = draw_case_card(
            voxels.image,
            voxels.painted(structure_ids(measurement, shown.structure), others),
            voxels.affine,
            structure_label=STRUCTURE,
            structure_name=names[0],
            other_label=OTHER if others else None,
            other_name=names[1] if others else None,
            segment_ras_mm=shown.segment_ras_mm,
            segment_text=shown.figure or None,
            modality=modality,
            title=f"{item.case.case_id}: {' and '.join(names)}",
            path=Path(folder, "card.png"),
        )
        drawn = Image.open(io.BytesIO(path.read_bytes()))
    note = str(drawn.info["Description"])
    slices = [drawn.convert("RGB").crop(box) for box in slice_boxes(*drawn.size)]
    size = (SLICE_PIXELS, round(slices[0].height * SLICE_PIXELS / slices[0].width))
    words = f"Axial, coronal and sagittal slice through the {names[0]} with its outline and bounding box"
    words += f", and those of the {names[1]}" if others else ""
    words += "" if voxels.image is not None else " (the label map only: there is no image on its grid)"
    words += f". {shown.figure[:1].upper()}{shown.figure[1:]}." if shown.figure else "."
    return CardPicture(
        tuple(_small_jpeg(each.resize(size, Image.Resampling.LANCZOS)) for each in slices),
        "image/jpeg",
        size,
        words,
        tuple(_legend(names, shown)),
        " \N{MIDDLE DOT} ".join(part.strip() for part in note.split("|")),
    )


def _legend(names: Sequence[str], shown: Shown) -> Iterator[tuple[Drawn, str]]:
    """The structures, their boxes, and what was measured: beside its line, where it has one."""
    if shown.figure:
        yield ("figure" if shown.segment_ras_mm is None else "segment"), shown.figure
    elif shown.segment_ras_mm is not None:
        yield "segment", "measured line"
    kinds: tuple[Drawn, Drawn] = ("structure", "other")
    yield from zip(kinds, names, strict=False)
    yield "box", "bounding box, projected"


def _small_jpeg(picture: Image.Image) -> bytes:
    """The picture in the best quality that keeps it small; in the lowest one if none does."""
    data = b""
    for quality in _QUALITIES:
        target = io.BytesIO()
        # Colour at full resolution: outlines are a pixel or two wide.
        picture.save(target, "JPEG", quality=quality, subsampling=0, optimize=True, progressive=True)
        data = target.getvalue()
        if len(data) <= _LARGEST_BYTES:
            break
    return data


def _paths(label: Scan | None) -> list[Path]:
    if label is None:
        return []
    return [label] if isinstance(label, Path) else list(label)
