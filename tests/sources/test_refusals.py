"""What does not look like the data set is refused with what was expected, what was found and what to do."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from monai_spatialqa.errors import FileReadError, LabelMapError, PairingError, SettingsError, SpatialQAError
from monai_spatialqa.sources import make_datalist, source_names


def refused(source: str, root: Path, output: Path | None = None) -> SpatialQAError:
    with pytest.raises(SpatialQAError) as error:
        make_datalist(source, root, output or root.parent / "list.json")
    assert not (root.parent / "list.json").exists()
    return error.value


@pytest.mark.parametrize("source", source_names())
def test_another_folder(download: Any, source: str) -> None:
    data = download(source)
    assert refused(source, data.folder).found == "an empty folder"
    data.empty("photos/cat.jpg", "readme.txt")
    error = refused(source, data.folder)
    assert error.code == "bad_layout"
    assert error.found == "photos/, readme.txt"
    assert error.expected
    assert error.next_step
    assert refused(source, data.folder / "nothing").code == "missing_file"


def test_an_archive(download: Any) -> None:
    data = download("amos22")
    data.empty("amos22.zip")
    assert "unpack" in str(refused("amos22", data.folder / "amos22.zip"))


def test_an_unknown_source_is_answered_with_those_there_are(tmp_path: Path) -> None:
    error = refused("kits32", tmp_path)
    assert isinstance(error, SettingsError)
    assert "kits23" in str(error.next_step)
    assert "msd_task08" in str(error.expected)


@pytest.mark.parametrize(
    ("source", "other", "name"),
    [
        ("brats2021", "brats2023", "BraTS-GLI-00000-000/BraTS-GLI-00000-000-seg.nii.gz"),
        ("brats2023", "brats2021", "BraTS2021_00000/BraTS2021_00000_seg.nii.gz"),
    ],
)
def test_brats_of_another_year(download: Any, source: str, other: str, name: str) -> None:
    data = download(source)
    data.empty(name)
    error = refused(source, data.folder)
    assert other in str(error.next_step)
    assert Path(name).name in str(error.found)


def test_totalsegmentator_of_the_other_modality(download: Any) -> None:
    data = download("totalsegmentator_mr")
    data.empty("s0001/ct.nii.gz", "s0001/segmentations/liver.nii.gz")
    assert "totalsegmentator_v2" in str(refused("totalsegmentator_mr", data.folder).next_step)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("image_id,age,split\ns0001,3,train\n", "image_id,age,split"),
        ("image_id;split\ns0001;holdout\n", "holdout"),
        ("image_id;split\ns0001;train\ns0001;test\n", "twice"),
        ("image_id;split\ns0001\n", "nothing"),
        ("", "columns"),
    ],
)
def test_another_meta_csv(download: Any, content: str, told: str) -> None:
    data = download("totalsegmentator_v2")
    data.empty("s0001/ct.nii.gz", "s0001/segmentations/liver.nii.gz")
    data.text("meta.csv", content)
    error = refused("totalsegmentator_v2", data.folder)
    assert (error.code, told in str(error)) == ("bad_meta_csv", True), error


@pytest.mark.parametrize(
    ("content", "code"),
    [
        ("{", "bad_dataset_json"),
        ("[]", "bad_dataset_json"),
        ("{}", "bad_dataset_json"),
        (None, "missing_file"),
        ({"labels": ["liver"]}, "bad_dataset_json"),
        ({"training": None}, "bad_dataset_json"),
        ({"training": [{"image": "x.nii.gz"}]}, "bad_dataset_json"),
        ({"labels": {"0": "background", "1": "pancreas", "2": "cancer"}}, "other_labels"),
        ({"labels": {"0": "background", "1": "liver"}}, "other_labels"),
        ({"labels": {"0": "background", "1": "cancer", "2": "liver"}}, "other_labels"),
    ],
)
def test_an_unusable_dataset_json(download: Any, describe: Callable[..., str], content: Any, code: str) -> None:
    data = download("msd_task03")
    data.empty("labelsTr/liver_0.nii.gz", "imagesTr/liver_0.nii.gz")
    if content is not None:
        changed = content if isinstance(content, str) else describe("msd_task03", ["liver_0"], **content)
        data.text("dataset.json", changed)
    error = refused("msd_task03", data.folder)
    assert isinstance(error, FileReadError | LabelMapError)
    assert error.code == code
    assert error.file is not None
    assert error.file.endswith("dataset.json")


def test_labels_spelled_another_way_are_the_same(download: Any, describe: Callable[..., str]) -> None:
    data = download("msd_task01")
    data.empty("labelsTr/a.nii.gz")
    labels = {"0": "background", "1": "Edema", "2": "non_enhancing tumour", "3": "enhancing  Tumor"}
    data.text("dataset.json", describe("msd_task01", ["a"], labels=labels))
    assert make_datalist("msd_task01", data.folder, data.folder.parent / "list.json").cases == 1


def test_a_case_that_is_there_twice(download: Any) -> None:
    data = download("amos22")
    data.empty("labelsTr/amos_0001.nii.gz", "labelsVa/amos_0001.nii.gz")
    error = refused("amos22", data.folder)
    assert (error.code, error.case) == ("duplicate_case", "amos_0001")
    assert all(part in str(error.found) for part in ("labelsTr", "labelsVa"))


def test_two_copies_of_a_brats_case(download: Any) -> None:
    data = download("brats2021")
    data.empty("a/BraTS2021_00000_seg.nii.gz", "b/BraTS2021_00000_seg.nii.gz")
    assert refused("brats2021", data.folder).code == "duplicate_case"


def test_a_file_that_is_there_compressed_and_not(download: Any) -> None:
    data = download("amos22")
    data.empty("labelsTr/amos_0001.nii.gz", "labelsTr/amos_0001.nii")
    assert refused("amos22", data.folder).code == "duplicate_file"


def test_two_data_sets_in_one_folder(download: Any) -> None:
    data = download("amos22")
    data.empty("one/labelsTr/amos_0001.nii.gz", "two/labelsTr/amos_0001.nii.gz")
    assert refused("amos22", data.folder).found == "one, two"


def test_only_images(download: Any) -> None:
    data = download("brats2023")
    data.empty("BraTS-GLI-00000-000-t1c.nii.gz")
    assert "no segmentation" in str(refused("brats2023", data.folder).found)


def test_no_file_of_the_data_set_is_written_over(download: Any, describe: Callable[..., str]) -> None:
    data = download("msd_task03")
    data.empty("labelsTr/liver_0.nii.gz")
    data.text("dataset.json", describe("msd_task03", ["liver_0"]))
    before = (data.folder / "dataset.json").read_bytes()
    error = refused("msd_task03", data.folder, data.folder / "dataset.json")
    assert error.code == "file_exists"
    assert (data.folder / "dataset.json").read_bytes() == before
    make_datalist("msd_task03", data.folder, data.folder / "datalist.json")
    make_datalist("msd_task03", data.folder, data.folder / "datalist.json")  # its own file is replaced
    assert json.loads((data.folder / "datalist.json").read_text())["training"][0]["label"] == "labelsTr/liver_0.nii.gz"


def test_a_datalist_that_monai_would_misread(download: Any) -> None:
    """Beside the folders of the cases, MONAI makes a path of every case_id."""
    data = download("kits23")
    data.empty("case_00000/segmentation.nii.gz")
    error = refused("kits23", data.folder, data.folder / "list.json")
    assert (error.code, error.key, error.found) == ("ambiguous_datalist", "case_id", "case_00000")


def test_a_refused_run_leaves_the_datalist_of_the_folder_as_it_was(
    download: Any, tmp_path: Path, measured: Callable[..., Any]
) -> None:
    data = download("kits23")
    data.label("one/case_00000/segmentation.nii.gz", "two/case_00001/segmentation.nii.gz")
    measured("kits23", source_root="download/one")
    before = (tmp_path / "out/datalist.json").read_bytes()
    with pytest.raises(RuntimeError) as error:
        measured("kits23", source_root="download/two")
    assert "cases that are not in this run" in str(error.value.__cause__)
    assert (tmp_path / "out/datalist.json").read_bytes() == before


def test_listing_errors_are_pairing_errors(download: Any) -> None:
    assert isinstance(refused("kits23", download("kits23").folder), PairingError)
