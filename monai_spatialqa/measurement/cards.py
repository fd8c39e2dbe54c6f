"""Case cards of a run: pictures of what was measured, on request."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

import numpy as np

from monai_spatialqa.errors import LabelMapError, SpatialQAError
from monai_spatialqa.measurement.card_voxels import OTHER, STRUCTURE, CardVoxels, box_edge, structure_ids
from monai_spatialqa.measurement.case import CaseFiles
from monai_spatialqa.measurement.options import MeasureOptions
from monai_spatialqa.measurement.settings import MeasureSettings
from monai_spatialqa.records import Measurement, Pair, Structure

_AXIS_WORDS = ("left to right", "posterior to anterior", "inferior to superior")

logger = logging.getLogger(__name__)


def with_card_names(settings: MeasureSettings, options: MeasureOptions) -> MeasureSettings:
    """The settings with groups among the card names spelled out.

    Raises:
        LabelMapError: a name that the label map does not have.
    """
    if not isinstance(settings.cards, list) or options.label_map is None:
        return settings
    try:
        return settings.model_copy(update={"cards": options.label_map.select(settings.cards)})
    except LabelMapError as error:
        raise error.with_context(key="cards") from None


def draw_cards(
    settings: MeasureSettings, cases: Sequence[CaseFiles], records: Sequence[Measurement], folder: Path
) -> list[Path]:
    """Draw the cards the settings ask for, and return their paths.

    One card a structure: three slices through it with its outline, box and volume; a listed distance in which it takes
    part is drawn with the other structure. A card that cannot be drawn is logged and left out.
    """
    if not settings.cards:
        return []
    files_of = {files.case_id: files for files in cases}
    drawn: list[Path] = []
    for record in records:
        if record.errors or record.geometry is None or record.case_id not in files_of:
            continue
        if record.geometry.orientation is None:
            logger.warning("no cards for case %s: its file does not say where left and right are", record.case_id)
            continue
        names = _chosen(record, settings.cards)
        if names:
            try:
                drawn += _draw_case(settings, files_of[record.case_id], record, names, folder)
            except SpatialQAError as error:
                logger.warning("no cards for case %s: %s", record.case_id, error)
    return drawn


def _chosen(record: Measurement, cards: int | list[str]) -> list[str]:
    if isinstance(cards, list):
        missing = [name for name in cards if name not in record.structures or record.structures[name].box is None]
        if missing:
            logger.warning("no card in case %s for %s: not in its label map", record.case_id, ", ".join(missing))
        return [name for name in cards if name not in missing]
    whole = [
        (-(structure.volume_mm3 or 0.0), name)
        for name, structure in record.structures.items()
        if structure.box and "truncated" not in structure.status
    ]
    return [name for _, name in sorted(whole)[:cards]]


def _draw_case(
    settings: MeasureSettings, files: CaseFiles, record: Measurement, names: Sequence[str], folder: Path
) -> list[Path]:
    # Pictures need voxels: here, and only here, the volumes are loaded.
    from monai_spatialqa.rendering import draw_case_card

    voxels = CardVoxels.read(files.label, files.image, form=settings.form, label_map=settings.options().label_map)
    drawn = []
    for name in names:
        structure = record.structures[name]
        pair = _pair_of(record, name)
        other = None if pair is None else (pair.b if pair.a == name else pair.a)
        segment, text = _segment(record, structure, pair)
        drawn.append(
            draw_case_card(
                voxels.image,
                voxels.painted(structure_ids(record, name), [] if other is None else structure_ids(record, other)),
                voxels.affine,
                structure_label=STRUCTURE,
                title=f"{record.case_id}: {name} ({', '.join(structure.status)})",
                path=folder / f"{quote(record.case_id, safe='')}_{quote(name, safe='')}.png",
                structure_name=name,
                other_label=None if other is None else OTHER,
                other_name=other,
                segment_ras_mm=segment,
                segment_text=text,
                modality=files.case.modality or settings.modality,
            )
        )
    return drawn


def _pair_of(record: Measurement, name: str) -> Pair | None:
    """A distance the structure takes part in; one between whole structures first."""
    measured = [pair for pair in record.pairs if name in (pair.a, pair.b) and pair.distance_mm is not None]
    return min(measured, key=lambda pair: pair.status != ["ok"], default=None)


def _segment(
    record: Measurement, structure: Structure, pair: Pair | None
) -> tuple[Sequence[Sequence[float]] | None, str]:
    """The line to draw and its text: the distance asked for, else the longest edge of the box through its centre."""
    volume = f"{structure.volume_ml:.1f} ml" if (structure.volume_ml or 0) >= 1 else f"{structure.volume_ml:.3g} ml"
    if pair is not None:
        between = {"box_center": "box centres", "centroid": "centroids", "surface": "surfaces"}[pair.kind]
        words = [word for word in pair.status if word in ("touching", "overlapping")]
        near = f", {' and '.join(words)}" if words else ""
        return pair.points_ras_mm, f"{volume}; {pair.a} to {pair.b} ({between}) {pair.distance_mm:.1f} mm{near}"
    if structure.box is None:
        return None, volume
    axis = int(np.argmax(structure.box.extent_mm))
    ends = box_edge(record, structure, axis)
    if ends is None:
        return None, volume
    return ends, f"{volume}; extent {_AXIS_WORDS[axis]} {structure.box.extent_mm[axis]:.1f} mm"
