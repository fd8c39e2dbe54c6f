"""Which files are a case: pairing by name, ids, datalists."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from monai_spatialqa.errors import PairingError, SpatialQAError
from monai_spatialqa.measurement.listing import list_cases, stem_of
from monai_spatialqa.measurement.settings import MeasureSettings


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def touch(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()


def listed(**settings: object) -> dict[str, tuple[str, str | None]]:
    cases = list_cases(MeasureSettings(**settings))  # type: ignore[arg-type]
    return {files.case_id: (str(files.case.label), files.case.image) for files in cases}  # type: ignore[misc]


@pytest.mark.parametrize(
    ("labels", "images"),
    [
        (["a", "b"], ["b", "a"]),
        (["case_1_seg", "case_2_seg"], ["case_1_ct", "case_2_ct"]),
        (["case_1", "case_2", "case_10"], ["case_1_0000", "case_2_0000", "case_10_0000"]),
        (["seg_x", "seg_y"], ["ct_x", "ct_y"]),
        (["only"], ["another"]),
    ],
)
def test_pairs_by_name(folder: Path, labels: list[str], images: list[str]) -> None:
    touch(folder, *(f"seg/{name}.nii.gz" for name in labels), *(f"ct/{name}.nii.gz" for name in images))
    found = listed(labels="seg/*.nii.gz", images="ct/*.nii.gz")
    assert sorted(found) == sorted(labels)
    keys = {name: "".join(c for c in name if c.isdigit()) or name[-1] for name in labels}
    for name, (_, image) in found.items():
        assert image is not None
        assert len(labels) == 1 or keys[name].rstrip("0000") in image  # noqa: B005 - the digits of the case


@pytest.mark.parametrize(
    ("labels", "images"), [(["a", "b"], ["a", "c"]), (["a", "b"], ["a"]), (["x1", "x2"], ["y3", "y4"])]
)
def test_what_cannot_be_paired_is_refused(folder: Path, labels: list[str], images: list[str]) -> None:
    touch(folder, *(f"seg/{name}.nii.gz" for name in labels), *(f"ct/{name}.nii.gz" for name in images))
    with pytest.raises(PairingError, match="datalist"):
        listed(labels="seg/*.nii.gz", images="ct/*.nii.gz")


def test_equal_names_in_many_folders_take_the_folder_into_the_id(folder: Path) -> None:
    touch(folder, "s1/seg.nii.gz", "s2/seg.nii.gz", "s1/ct.nii.gz", "s2/ct.nii.gz")
    found = listed(labels="*/seg.nii.gz", images="*/ct.nii.gz")
    assert {case: image for case, (_, image) in found.items()} == {"s1_seg": "s1/ct.nii.gz", "s2_seg": "s2/ct.nii.gz"}


def test_no_file_names_the_pattern(folder: Path) -> None:
    with pytest.raises(PairingError, match=r"seg/\*\.nii\.gz"):
        listed(labels="seg/*.nii.gz")


def test_resource_forks_are_passed_over(folder: Path) -> None:
    touch(folder, "seg/liver.nii.gz", "seg/._liver.nii.gz")
    assert list(listed(labels="seg/*.nii.gz")) == ["liver"]


def test_a_file_name_with_pattern_characters_is_a_file(folder: Path) -> None:
    touch(folder, "seg/a[1].nii.gz")
    assert list(listed(labels="seg/a[1].nii.gz")) == ["a[1]"]


def test_datalist_paths_hang_on_its_folder(folder: Path) -> None:
    touch(folder, "data/seg/a.nii.gz", "data/ct/a.nii.gz")
    entries = [{"label": "seg/a.nii.gz", "image": "ct/a.nii.gz", "case_id": "7", "modality": "CT", "fold": 0}]
    (folder / "data/list.json").write_text(json.dumps({"training": entries}), encoding="utf-8")
    (files,) = list_cases(MeasureSettings(datalist="data/list.json"))
    assert files.case_id == "7"
    assert files.label == folder / "data/seg/a.nii.gz"
    assert files.source(hashed=False).path == "seg/a.nii.gz"
    assert files.source(hashed=False).image_path == "ct/a.nii.gz"


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("not json", "not JSON"),
        ('{"validation": []}', "validation"),
        ('{"training": [{"image": "a"}]}', "entry 0"),
        ('{"training": [{"label": "a.nii", "modality": "PET"}]}', "entry 0"),
        ('{"training": [{"label": "a.nii", "case_id": "x"}, {"label": "b.nii", "case_id": "x"}]}', "not unique"),
    ],
)
def test_bad_datalists_are_refused(folder: Path, content: str, told: str) -> None:
    (folder / "list.json").write_text(content, encoding="utf-8")
    with pytest.raises(SpatialQAError, match=told):
        list_cases(MeasureSettings(datalist="list.json"))


@pytest.mark.parametrize(
    ("path", "stem"),
    [("a.nii.gz", "a"), ("x/b.nii", "b"), (r"C:\data\new\c.nii.gz", "c"), ("d.e.nii.gz", "d.e"), ("F.NII.GZ", "F")],
)
def test_stems(path: str, stem: str) -> None:
    assert stem_of(path) == stem


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({}, "nothing to measure"),
        ({"labels": "a", "datalist": "b"}, "datalist"),
        ({"labels": "a", "path": "stream", "spacing_mm": (1, 1, 1)}, "native grid"),
        ({"labels": "a", "path": "stream", "device": "cuda:0"}, "CPU"),
        ({"labels": "a", "device": "cuda:0"}, "label_map"),
        ({"labels": "a", "label_map": {1: "a"}, "spacing_mm": (1, 0, 1)}, "greater than 0"),
    ],
)
def test_settings_that_contradict_each_other(settings: dict[str, object], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        MeasureSettings(**settings)  # type: ignore[arg-type]
