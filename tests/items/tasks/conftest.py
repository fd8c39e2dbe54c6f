"""Records to ask about: the shipped example, phantoms on different grids, and cases written by hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import monai_spatialqa as sqa
from monai_spatialqa.items.assemble import ItemContext, assemble, random_of
from monai_spatialqa.items.draft import SUBTASKS, Refusals, Rules
from monai_spatialqa.items.subtasks import TASK_FILES
from monai_spatialqa.items.view import CaseView
from monai_spatialqa.phantoms import make_phantom
from monai_spatialqa.records import Measurement
from monai_spatialqa.records.item import Item, ItemCase, Reference
from monai_spatialqa.records.measurement import Box, Geometry, Source, Structure

EXAMPLE = Path(__file__).parents[3] / "bundles" / "spatialqa" / "example" / "seg"
assert TASK_FILES

Pair = tuple[Item, Reference]


@pytest.fixture(scope="session")
def example() -> Measurement:
    """The shipped example."""
    (label,) = EXAMPLE.glob("*.nii.gz")
    return sqa.measure(label, label_map="totalsegmentator_v2", case_id="example")


@pytest.fixture(scope="session")
def phantom(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Measurement]:
    """Measure a phantom."""

    def measured(seed: int = 3, **how: Any) -> Measurement:
        made = make_phantom(seed, **how)
        _, label = made.save(tmp_path_factory.mktemp("phantoms"), f"phantom{seed}")
        return sqa.measure(label, label_map=made.label_names)

    return measured


@pytest.fixture(scope="session")
def fine(phantom: Callable[..., Measurement]) -> Measurement:
    """A phantom in voxels so small that volumes are certain."""
    return phantom(shape=(240, 180, 200), spacing_mm=(1.5, 1.5, 2.0), tumour=False)


@pytest.fixture(scope="session")
def records(example: Measurement, fine: Measurement, phantom: Callable[..., Measurement]) -> dict[str, Measurement]:
    """Cases of all kinds of grids."""
    return {
        "example": example,
        "fine": fine,
        "tumours": phantom(4),
        "truncated": phantom(5, truncate="superior"),
        "oblique": phantom(6, rotation_deg=(10.0, -20.0, 30.0)),
        "sheared": phantom(7, shear=0.2),
        "lps": phantom(8, axcodes="LPS"),
    }


@pytest.fixture(scope="session")
def make_items() -> Callable[..., list[Pair]]:
    """Items of a subtask, with what was refused on the way."""

    def make(
        record: Measurement | CaseView,
        subtask: str,
        *,
        seed: int = 1,
        most: int = 400,
        rules: Rules | None = None,
        refusals: Refusals | None = None,
    ) -> list[Pair]:
        view = record if isinstance(record, CaseView) else CaseView(record)
        rules = rules or Rules()
        context = ItemContext(case=ItemCase(case_id=view.case_id), seed=seed)
        drafts = islice(SUBTASKS[subtask].make(view, rules, random_of(seed, view.case_id, subtask)), most)
        made = (assemble(draft, context, rules, refusals or Refusals()) for draft in drafts)
        return [pair for pair in made if pair is not None]

    return make


@pytest.fixture(scope="session")
def by_hand() -> Callable[..., Measurement]:
    """A record from volumes and boxes."""

    def made(structures: Mapping[str, Mapping[str, Any]], **geometry: Any) -> Measurement:
        affine = np.eye(4)[:3].tolist()
        grid: dict[str, Any] = {
            "shape": (400, 400, 400),
            "spacing_mm": (1.0, 1.0, 1.0),
            "orientation": "RAS",
            "grid": "native",
            "sheared": False,
            "affine_ras_mm": tuple(map(tuple, affine)),
        }
        return Measurement(
            case_id="by-hand",
            structures={name: _structure(at, **said) for at, (name, said) in enumerate(structures.items(), 1)},
            geometry=Geometry(**(grid | geometry)),
            source=Source(path=None, sha256=None),
        )

    return made


def _structure(
    number: int,
    ml: float = 100.0,
    center: tuple[float, float, float] = (0.0, 0.0, 0.0),
    size: tuple[float, float, float] = (50.0, 50.0, 50.0),
    status: str = "ok",
    band: float = 0.02,
    **more: Any,
) -> Structure:
    half = np.array(size) / 2
    low, high = np.subtract(center, half), np.add(center, half)
    start, stop = (tuple(int(edge) + 200 for edge in edges) for edges in (low, high))
    fields: dict[str, Any] = {
        "label": number,
        "voxel_count": int(ml * 1000),
        "volume_mm3": ml * 1000,
        "volume_ml": ml,
        "volume_band_ml": (ml * (1 - band), ml * (1 + band)),
        "box": Box(
            index_start=start,
            index_stop=stop,
            extent_mm=size,
            center_ras_mm=center,
            world_min_ras_mm=tuple(low.tolist()),
            world_max_ras_mm=tuple(high.tolist()),
        ),
        "centroid_ras_mm": center,
        "centroid_inside": True,
        "truncated_faces": [],
        "status": [status],
    }
    return Structure(**(fields | more))
