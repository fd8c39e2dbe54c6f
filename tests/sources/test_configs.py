"""The overlays in configs/sources: one for each data set, holding settings that exist."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from monai_spatialqa.anatomy import load_label_map
from monai_spatialqa.measurement.settings import MeasureSettings
from monai_spatialqa.sources import source_names
from monai_spatialqa.sources.registry import data_set

FOLDER = Path(__file__).parents[2] / "configs" / "sources"


def test_there_is_one_for_each_data_set() -> None:
    assert sorted(path.stem for path in FOLDER.iterdir()) == source_names()


@pytest.mark.parametrize("name", source_names())
def test_it_names_the_data_set_its_labels_and_all_its_sections(name: str) -> None:
    text = (FOLDER / f"{name}.yaml").read_text(encoding="utf-8")
    assert f"configs/sources/{name}.yaml" in text
    settings = MeasureSettings(source_root="anywhere", **yaml.safe_load(text))
    assert settings.source == name
    assert settings.label_map == load_label_map(name).name
    keys = [settings.datalist_key] if isinstance(settings.datalist_key, str) else settings.datalist_key
    assert tuple(keys) == data_set(name).sections
    assert settings.modality == (data_set(name).modality or "CT")


def test_the_page_states_the_licences() -> None:
    page = (FOLDER.parents[1] / "docs/sources.md").read_text(encoding="utf-8")
    rows = [line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("| `")]
    stated = {row[0].strip("`"): row[-1] for row in rows if row[0].strip("`") in source_names()}
    assert stated == {name: data_set(name).licence for name in source_names()}


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"source": "kits23"}, "belong together"),
        ({"labels": "a", "source_root": "b"}, "belong together"),
        ({"source": "kits23", "source_root": "b", "labels": "a"}, "leave labels"),
        ({"source": "kits23", "source_root": "b", "datalist": "a"}, "leave labels"),
    ],
)
def test_settings_that_contradict_each_other(settings: dict[str, Any], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        MeasureSettings(**settings)


def test_a_year_that_the_voxels_contradict_fails_the_case(download: Any, measured: Callable[..., Any]) -> None:
    """BraTS 2024 has the names of 2023 and one more id: it is not taken for 2023 in silence."""
    data = download("brats2023")
    data.voxels[data.voxels == 3] = 4
    data.label("BraTS-GLI-00000-100/BraTS-GLI-00000-100-seg.nii.gz")
    with pytest.raises(SystemExit, match="1 case failed"):
        measured("brats2023")


def test_masks_are_measured_as_they_were_downloaded(download: Any, measured: Callable[..., Any]) -> None:
    data = download("totalsegmentator_v2")
    data.voxels = (data.voxels == data.voxels.max()).astype(data.voxels.dtype)
    for case in ("s0000", "s0001"):
        data.image(f"{case}/ct.nii.gz")
        data.label(f"{case}/segmentations/spleen.nii.gz", f"{case}/segmentations/liver.nii.gz")
    records = measured("totalsegmentator_v2")
    assert [record["case_id"] for record in records] == ["s0000", "s0001"]
    for record in records:
        assert record["structures"]["spleen"]["voxel_count"] > 0
        assert record["structures"]["aorta"]["status"] == ["not_segmented"]
        assert record["source"]["path"].endswith("segmentations")


def test_one_section_alone(download: Any, measured: Callable[..., Any]) -> None:
    data = download("amos22")
    data.label("labelsTr/amos_0001.nii.gz", "labelsVa/amos_0002.nii.gz")
    assert [one["case_id"] for one in measured("amos22", datalist_key="validation")] == ["amos_0002"]


def test_a_section_without_cases_is_told(download: Any, measured: Callable[..., Any]) -> None:
    data = download("amos22")
    data.label("labelsTr/amos_0001.nii.gz")
    with pytest.raises(RuntimeError) as error:
        measured("amos22", datalist_key="validation")
    assert "no case to measure" in str(error.value.__cause__)


def test_another_label_map_than_the_data_sets_is_refused(download: Any, measured: Callable[..., Any]) -> None:
    data = download("brats2023")
    data.label("BraTS-GLI-00000-000-seg.nii.gz")
    with pytest.raises(RuntimeError) as error:
        measured("brats2023", label_map="brats2021")
    assert "another label map" in str(error.value.__cause__)
