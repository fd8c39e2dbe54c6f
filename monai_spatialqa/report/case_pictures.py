"""Pictures of cases from their scans: finds the files that a measurement names, and reads a case's voxels once."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from monai_spatialqa.anatomy import LabelMap, load_label_map, shipped_label_maps
from monai_spatialqa.errors import SpatialQAError
from monai_spatialqa.measurement.card_voxels import CardVoxels
from monai_spatialqa.records import Measurement
from monai_spatialqa.records.files import system_path
from monai_spatialqa.records.item import Item, Reference
from monai_spatialqa.rendering.windows import Modality
from monai_spatialqa.report.cards import CardPicture
from monai_spatialqa.report.pictures import make_card_picture


class CasePictures:
    """Draws the picture of a card. What cannot be drawn is said on the card; it never stops a report.

    The voxels of the last case are kept, so that its other cards do not read them again.

    Args:
        measurements: of the cases; they name the files.
        root: folder that their paths are relative to; None for the working directory.
        modality: of scans whose items do not state it; without either the window is taken from the image.
    """

    def __init__(
        self,
        measurements: Iterable[Measurement],
        root: str | Path | None = None,
        *,
        modality: Modality | None = None,
    ) -> None:
        self._measurements = {measurement.case_id: measurement for measurement in measurements}
        self._root = Path() if root is None else Path(system_path(root))
        self._modality = modality
        self._last: tuple[str, CardVoxels] | None = None

    def __call__(self, item: Item, reference: Reference) -> CardPicture:
        """The picture of a question, or the reason why there is none."""
        case = item.case.case_id
        measurement = self._measurements.get(case)
        if measurement is None:
            return CardPicture(words=f"no picture: there is no measurement of case {case}")
        label = self._path(measurement.source.path)
        if label is None:
            return CardPicture(words="no picture: the measurement names no file")
        if not label.exists():
            return CardPicture(words=f"no picture: the file {label.name} is not there")
        try:
            voxels = self._voxels(measurement, label, item)
        except SpatialQAError as error:
            return CardPicture(words=f"no picture: {error.problem}")
        return make_card_picture(measurement, None, label, item, reference, voxels=voxels, modality=self._modality)

    def _voxels(self, measurement: Measurement, label: Path, item: Item) -> CardVoxels:
        if self._last is None or self._last[0] != measurement.case_id:
            image = self._path(measurement.source.image_path) or self._path(item.case.image_path)
            there = image if image is not None and image.exists() else None
            self._last = None  # the old voxels go before the new ones come
            self._last = (
                measurement.case_id,
                CardVoxels.read(label, there, label_map=_label_map(measurement)),
            )
        return self._last[1]

    def _path(self, given: str | None) -> Path | None:
        return None if given is None else self._root / system_path(given)


def _label_map(measurement: Measurement) -> LabelMap | None:
    """The label map of a measurement, where it is one that comes with the package."""
    name = measurement.label_map
    return load_label_map(name) if name is not None and name in shipped_label_maps() else None
