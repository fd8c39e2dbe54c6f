"""The scans of a run as a model is shown them: found, read once a case, turned to RAS and cut into views."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from monai_spatialqa.errors import FileReadError, GeometryError, SpatialQAError
from monai_spatialqa.evaluation.settings import EvaluateSettings
from monai_spatialqa.items.quantities_in_text import quantities_in
from monai_spatialqa.quantities import UNITS, unit_named
from monai_spatialqa.readers.scans import read_scan
from monai_spatialqa.records import Measurement
from monai_spatialqa.records.files import system_path
from monai_spatialqa.records.item import Item
from monai_spatialqa.rendering.slices import reorient_to_ras
from monai_spatialqa.rendering.view_geometry import ViewGeometry
from monai_spatialqa.rendering.view_settings import ViewSettings
from monai_spatialqa.rendering.view_text import describe_views, view_captions
from monai_spatialqa.rendering.views import View, make_views

KEPT = 4
"""Scans whose views are kept at the same time: items are asked case by case."""

Key = tuple[str, str | None, str | None, str | None]
"""Case, path of its scan, modality, and the structure asked about where the views depend on it."""


@dataclass(frozen=True)
class Shown:
    """What goes with the questions of a case.

    Attributes:
        views: the images, in order.
        captions: one line for each.
        text: what the prompt says of them.
    """

    views: tuple[View, ...]
    captions: tuple[str, ...]
    text: str


class ShownScans:
    """Views of scans, made on first use, in threads; the last ones are kept.

    A scan that cannot be shown raises the same error every time and is read once.

    Args:
        settings: of the run.
        measurements: by case; where paths hang on and where structures lie.
    """

    def __init__(self, settings: EvaluateSettings, measurements: Mapping[str, Measurement]) -> None:
        self._settings = settings
        self._measurements = measurements
        self._made: OrderedDict[Key, asyncio.Future[Shown]] = OrderedDict()
        self._failed: dict[Key, SpatialQAError] = {}

    async def of(self, item: Item) -> Shown:
        """The views that go with an item.

        Raises:
            SpatialQAError: the scan is not there, cannot be read or cannot be shown; names case and file.
        """
        key = self.key(item)
        if key in self._failed:
            raise self._failed[key]
        if key in self._made:
            self._made.move_to_end(key)
        else:
            self._made[key] = asyncio.ensure_future(asyncio.to_thread(self.make, item))
            while len(self._made) > KEPT:
                self._made.popitem(last=False)
        try:
            return await asyncio.shield(self._made[key])
        except SpatialQAError as error:
            self._failed[key] = error
            raise

    def make(self, item: Item) -> Shown:
        """Read the scan of an item and cut its views."""
        views = self._settings.views
        try:
            path = image_path(item, self._settings)
            scan = read_scan(path)
            if not scan.geometry.orientation_known:
                raise GeometryError(
                    "the scan does not say where left and front are, so it cannot be shown",
                    code="orientation_unknown",
                    file=path,
                )
            volume, affine = reorient_to_ras(scan.voxels, scan.geometry.affine)
            shape = (int(volume.shape[0]), int(volume.shape[1]), int(volume.shape[2]))
            geometry = ViewGeometry(item.case.modality or self._settings.modality, shape, np.asarray(affine))
            focus = self._focus(item) if views.leaks_location else None
            made = make_views(volume, geometry, views, focus_ras_mm=focus)
            return Shown(tuple(made), view_captions(made, views), describe_views(made, views, geometry))
        except SpatialQAError as error:
            raise error.with_context(case=item.case.case_id, file=item.case.image_path) from None
        except Exception as error:  # whatever one scan raises must not reach the others
            raise SpatialQAError(
                f"the scan cannot be shown: {type(error).__name__}: {error}",
                code="unexpected",
                case=item.case.case_id,
                file=item.case.image_path,
            ) from error

    def key(self, item: Item) -> Key:
        """What the views of an item depend on: items with the same key share them."""
        structure = item.structures[0] if self._settings.views.leaks_location else None
        return item.case.case_id, item.case.image_path, item.case.modality, structure

    def _focus(self, item: Item) -> tuple[float, float, float]:
        """The centre of the box of the structure asked about first."""
        record = self._measurements.get(item.case.case_id)
        structure = None if record is None else record.structures.get(item.structures[0])
        box = None if structure is None else structure.box
        if box is None or box.center_ras_mm is None:
            raise FileReadError(
                "the measurements do not say where the structure lies",
                code="no_place",
                key="measurements",
                found=f"no box of {item.structures[0]}",
                expected="the measurements that the items were made from",
                next_step="name them, or choose views of another kind",
            )
        return box.center_ras_mm


def image_path(item: Item, settings: EvaluateSettings) -> Path:
    """Where the scan of an item lies.

    Its path hangs on ``images_root``; without that on the working directory or, as for public data sets, the folder of
    the measurements.

    Raises:
        FileReadError: the item names no scan, there is none there, or two files could be meant.
    """
    given = item.case.image_path
    if given is None:
        raise FileReadError(
            "the item names no scan",
            code="missing_file",
            key="image_path",
            expected="the path of the scan",
            next_step="give the images to the measure stage, or ask with --blind only",
        )
    measured = settings.measurements_file
    roots = [Path(system_path(settings.images_root))] if settings.images_root is not None else [Path()]
    if settings.images_root is None and measured is not None:
        roots.append(measured.parent)
    found = {path.resolve(): path for root in roots if (path := root / system_path(given)).exists()}
    if len(found) != 1:
        raise FileReadError(
            "there is no such scan" if not found else "the path of the scan could mean two files",
            code="missing_file" if not found else "ambiguous_path",
            file=given,
            key="images_root",
            found=None if not found else ", ".join(map(str, found.values())),
            expected=f"a scan under {' or '.join(map(str, roots))}",
            next_step="name the folder that the items' image paths are relative to: --images_root",
        )
    return next(iter(found.values()))


def can_answer(item: Item, views: ViewSettings) -> bool:
    """Whether a model could know the answer: lengths and volumes, asked for or compared with, need a scale."""
    return views.scale_known or not _needs_scale(item)


def _needs_scale(item: Item) -> bool:
    """Whether a length, area or volume stands in the question, in an option, or is asked for; shares do not count."""
    written = {each.unit for text in (item.question, *item.options) for each in quantities_in(text)}
    units = written | {unit_named(item.answer_unit)}
    return any(UNITS[unit].dimension in ("length", "area", "volume") for unit in units if unit is not None)
