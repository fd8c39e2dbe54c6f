"""Each layout in miniature: its datalist, read back by MONAI, and the measurements made from it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from monai.data import load_decathlon_datalist

from monai_spatialqa.anatomy import load_label_map
from monai_spatialqa.measurement.listing import list_cases
from monai_spatialqa.measurement.settings import MeasureSettings
from monai_spatialqa.sources import make_datalist, source_names
from monai_spatialqa.sources.amos import modality_of

Measured = Callable[..., list[dict[str, Any]]]


def entries(path: Path, section: str = "training") -> list[dict[str, Any]]:
    """As MONAI reads them, every path of which is there."""
    found = load_decathlon_datalist(str(path), data_list_key=section)
    for entry in found:
        for key in ("label", "image"):
            paths = entry.get(key, [])
            assert all(os.path.isfile(one) for one in ([paths] if isinstance(paths, str) else paths)), entry
    return found


def assert_measured(records: list[dict[str, Any]], voxels: np.ndarray, source: str) -> None:
    label_map = load_label_map(source)
    for record in records:
        assert record["errors"] == []
        assert record["label_map"] == source
        for entry in label_map:
            assert record["structures"][entry.name]["voxel_count"] == int((voxels == entry.label).sum()), entry.name


def test_every_source_has_the_label_map_of_its_name() -> None:
    assert len(source_names()) == 12
    for name in source_names():
        assert load_label_map(name).name == name


def test_totalsegmentator_ct(download: Any, tmp_path: Path) -> None:
    data = download("totalsegmentator_v2")
    for case in ("s0000", "s0001", "s0002", "s0003"):
        data.image(f"{case}/ct.nii.gz")
        data.label(f"{case}/segmentations/spleen.nii.gz", f"{case}/segmentations/adrenal_gland_left.nii.gz")
    data.empty("s0001/segmentations/._spleen.nii.gz", "s0001/segmentations/statistics.json")
    data.label("s0001/segmentations/nose.nii.gz")
    data.image("s0004/ct.nii.gz")
    rows = ["image_id;age;gender;split", "s0000;60;m;train", "s0001;61;f;val", "s0002;;m;test", "s0009;50;f;train"]
    data.text("meta.csv", "\r\n".join(rows), encoding="utf-8-sig")

    summary = make_datalist("totalsegmentator_v2", data.folder, tmp_path / "out/list.json")

    assert summary.sections == {"training": 2, "validation": 1, "test": 1}
    assert summary.skipped == {
        "macOS resource fork": ["s0001/segmentations/._spleen.nii.gz"],
        "not a NIfTI file": ["s0001/segmentations/statistics.json"],
        "not a structure of the label map totalsegmentator_v2": ["s0001/segmentations/nose.nii.gz"],
        "no folder segmentations": ["s0004"],
        "in meta.csv, but no such folder": ["s0009"],
    }
    assert summary.notes["split unknown: not in meta.csv, listed under training"] == ["s0003"]
    assert len(summary.notes["fewer masks than the 117 structures of the label map"]) == 4
    (case,) = entries(tmp_path / "out/list.json", "validation")
    assert case["case_id"] == "s0001"
    assert [Path(mask).name for mask in case["label"]] == ["spleen.nii.gz", "adrenal_gland_left.nii.gz"]
    assert (case["modality"], case["licence"], case["label_map"]) == ("CT", "CC BY 4.0", "totalsegmentator_v2")
    (written,) = json.loads((tmp_path / "out/list.json").read_text())["test"]
    assert written["image"] == "../download/s0002/ct.nii.gz"


def test_totalsegmentator_mr_without_meta_csv(download: Any, tmp_path: Path) -> None:
    data = download("totalsegmentator_mr")
    data.image("s0001/mri.nii.gz")
    data.label("s0001/segmentations/liver.nii.gz")
    data.label("s0002/segmentations/liver.nii.gz")
    summary = make_datalist("totalsegmentator_mr", data.folder, tmp_path / "list.json")
    assert summary.notes["split unknown: not in meta.csv, listed under training"] == ["s0001", "s0002"]
    assert summary.notes["without image, listed with the label only"] == ["s0002"]
    first, second = entries(tmp_path / "list.json")
    assert first["modality"] == "MR"
    assert "unverified" in first["licence"]
    assert "image" not in second


@pytest.mark.parametrize(("number", "modality"), [(1, "CT"), (500, "CT"), (501, "MR"), (600, "MR"), (5000, "CT")])
def test_amos_modality_by_number(number: int, modality: str) -> None:
    assert modality_of(number) == modality


def test_amos(download: Any, describe: Any, tmp_path: Path, measured: Measured) -> None:
    data = download("amos22")
    for stem in ("Tr/amos_0001", "Tr/amos_0507", "Va/amos_0500"):
        data.label(f"amos/labels{stem}.nii.gz")
        data.image(f"amos/images{stem}.nii.gz")
    data.image("amos/imagesTr/amos_0002.nii.gz", "amos/imagesTs/amos_0003.nii.gz")
    data.label("amos/labelsTr/mine.nii.gz")
    data.text("amos/dataset.json", describe("amos22", []))

    summary = make_datalist("amos22", data.folder, tmp_path / "list.json")

    assert summary.base == data.folder / "amos"
    assert summary.skipped == {
        "image without label": ["imagesTr/amos_0002.nii.gz"],
        "not called amos_<number>: CT or MR is not known": ["labelsTr/mine.nii.gz"],
        "image of the test set, whose labels are not published": ["imagesTs/amos_0003.nii.gz"],
    }
    assert [(one["case_id"], one["modality"]) for one in entries(tmp_path / "list.json")] == [
        ("amos_0001", "CT"),
        ("amos_0507", "MR"),
    ]
    (validation,) = entries(tmp_path / "list.json", "validation")
    assert validation["modality"] == "CT"
    assert all(word in validation["licence"] for word in ("CC BY-SA 4.0", "CC BY 4.0", "contradictory"))

    records = measured("amos22")
    assert [record["case_id"] for record in records] == ["amos_0001", "amos_0500", "amos_0507"]
    assert_measured(records, data.voxels, "amos22")


@pytest.mark.parametrize(
    ("source", "channels", "modality"),
    [
        ("msd_task01", 4, "MR"),
        ("msd_task03", 0, "CT"),
        ("msd_task05", 2, "MR"),
        ("msd_task06", 0, "CT"),
        ("msd_task07", 0, "CT"),
        ("msd_task08", 0, "CT"),
    ],
)
def test_decathlon(
    download: Any, describe: Any, tmp_path: Path, measured: Measured, source: str, channels: int, modality: str
) -> None:
    data = download(source)
    data.label("labelsTr/x_0.nii.gz", "labelsTr/x_10.nii.gz", "labelsTr/stray.nii.gz")
    data.image("imagesTr/x_0.nii.gz", "imagesTs/t.nii.gz", channels=channels)
    data.empty("labelsTr/._x_0.nii.gz", "imagesTr/._x_0.nii.gz", "imagesTs/._t.nii.gz")
    data.text("dataset.json", describe(source, ["x_0", "x_10", "x_11"]))

    summary = make_datalist(source, data.folder, tmp_path / "list.json")

    assert summary.cases == 2
    assert summary.skipped == {
        "macOS resource fork": ["labelsTr/._x_0.nii.gz", "imagesTr/._x_0.nii.gz", "imagesTs/._t.nii.gz"],
        "not in the training list of dataset.json": ["labelsTr/stray.nii.gz"],
        "in the training list of dataset.json, but no such file": ["labelsTr/x_11.nii.gz"],
        "image of the test set, whose labels are not published": ["imagesTs/t.nii.gz"],
    }
    assert summary.notes == {"without image, listed with the label only": ["x_10"]}
    first, _ = entries(tmp_path / "list.json")
    assert (first["case_id"], first["modality"], first["licence"]) == ("x_0", modality, "CC-BY-SA 4.0")
    content = json.loads((tmp_path / "list.json").read_text())
    assert len(content["modality"]) == max(1, channels)
    assert content["numTraining"] == 2
    assert_measured(measured(source), data.voxels, source)


def test_kits23_as_a_clone_with_one_image_fetched(download: Any, tmp_path: Path, measured: Measured) -> None:
    data = download("kits23")
    for case in ("case_00000", "case_00001", "case_00400"):
        data.label(f"dataset/{case}/segmentation.nii.gz", f"dataset/{case}/instances/kidney_instance-1.nii.gz")
    data.image("dataset/case_00000/imaging.nii.gz", "dataset/case_00002/imaging.nii.gz")
    data.empty("dataset/case_00001/.partial.imaging.nii.gz", "dataset/kits23.json", "README.md")

    summary = make_datalist("kits23", data.folder, tmp_path / "list.json")

    assert summary.base == data.folder / "dataset"
    assert summary.sections == {"training": 3}
    assert summary.notes == {"without image, listed with the label only": ["case_00001", "case_00400"]}
    assert summary.skipped == {
        "partial download": ["case_00001/.partial.imaging.nii.gz"],
        "no segmentation.nii.gz": ["case_00002"],
    }
    first, second, _ = entries(tmp_path / "list.json")
    assert first["licence"] == "CC BY-NC-SA (version unverified)"
    assert "image" not in second
    assert_measured(measured("kits23"), data.voxels, "kits23")


def test_brats_2021(download: Any, tmp_path: Path, measured: Measured) -> None:
    data = download("brats2021")
    parts = ("flair", "t1", "t1ce", "t2")
    for case, label in (("BraTS2021_00000", True), ("BraTS2021_00001", False)):
        data.image(*(f"{case}/{case}_{part}.nii.gz" for part in parts))
        if label:
            data.label(f"{case}/{case}_seg.nii.gz")
    summary = make_datalist("brats2021", data.folder, tmp_path / "list.json")
    (case,) = entries(tmp_path / "list.json")
    assert [Path(image).name.split("_")[-1] for image in case["image"]] == [f"{part}.nii.gz" for part in parts]
    assert "patient_id" not in case
    assert "unverified" in case["licence"]
    assert {reason: len(paths) for reason, paths in summary.skipped.items()} == {
        "no segmentation, as in validation data": 4
    }
    assert_measured(measured("brats2021"), data.voxels, "brats2021")


def test_brats_2023_in_nested_folders(download: Any, tmp_path: Path, measured: Measured) -> None:
    data = download("brats2023")
    parts = ("t1c", "t1n", "t2f", "t2w")
    top = "ASNR-MICCAI-BraTS2023-GLI-Challenge-TrainingData"
    for case in ("BraTS-GLI-00000-000", "BraTS-GLI-00000-001"):
        place = f"{top}/{top}/{case}/{case}"
        data.image(*(f"{place}-{part}.nii.gz" for part in parts))
        data.label(f"{place}-seg.nii.gz")
    data.label(f"{top}/{top}/BraTS-GLI-00002-000/BraTS-GLI-00002-000-seg.nii.gz")
    data.image(f"{top}/{top}/BraTS-GLI-00002-000/BraTS-GLI-00002-000-t1c.nii.gz")
    data.image("notes/scan.nii.gz")

    summary = make_datalist("brats2023", data.folder, tmp_path / "list.json")

    found = entries(tmp_path / "list.json")
    assert [one["patient_id"] for one in found] == ["BraTS-GLI-00000", "BraTS-GLI-00000", "BraTS-GLI-00002"]
    assert len(found[0]["image"]) == 4
    assert "image" not in found[2]
    assert summary.notes["not all modalities are there"] == ["BraTS-GLI-00002-000"]
    assert len(summary.skipped["the other modalities of its case are missing"]) == 1
    assert summary.skipped["not a modality or a segmentation of this data set"] == ["notes/scan.nii.gz"]
    assert_measured(measured("brats2023"), data.voxels, "brats2023")


def test_the_run_writes_its_datalist_and_gives_the_same_records_from_it(
    download: Any, tmp_path: Path, measured: Measured, capsys: pytest.CaptureFixture[str]
) -> None:
    data = download("kits23")
    data.label("case_00000/segmentation.nii.gz")
    data.empty("case_00000/.partial.imaging.nii.gz")
    records = measured("kits23")
    told = capsys.readouterr().out
    assert "kits23: 1 case (training 1)" in told
    assert "licence: CC BY-NC-SA (version unverified)" in told
    assert "skipped, partial download: 1 (case_00000/.partial.imaging.nii.gz)" in told
    again = measured("kits23", source="null", source_root="null", datalist="out/datalist.json", output_dir="out2")
    assert again == records
    first = (tmp_path / "out/datalist.json").read_bytes()
    assert measured("kits23") == records  # goes on, with nothing to do
    assert (tmp_path / "out/datalist.json").read_bytes() == first


def test_names_beyond_ascii_and_spaces(download: Any, tmp_path: Path, measured: Measured) -> None:
    data = download("kits23")
    data.label("größe 肝/case_00000/segmentation.nii.gz")
    make_datalist("kits23", data.folder, tmp_path / "list.json")
    assert (tmp_path / "list.json").read_bytes().isascii()
    (entry,) = entries(tmp_path / "list.json")
    assert "größe 肝" in entry["label"]
    assert_measured(measured("kits23"), data.voxels, "kits23")


def test_a_datalist_behind_a_link_has_absolute_paths(download: Any, tmp_path: Path) -> None:
    data = download("kits23")
    data.label("case_00000/segmentation.nii.gz")
    (tmp_path / "far/away/from/here").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "far/away/from/here", target_is_directory=True)
    make_datalist("kits23", data.folder, tmp_path / "link/list.json")
    entries(tmp_path / "link/list.json")
    (files,) = list_cases(MeasureSettings(datalist=str(tmp_path / "link/list.json"), label_map="kits23"))
    assert files.label.is_file()


def test_files_that_are_links_are_cases_fetched_or_not(download: Any, tmp_path: Path) -> None:
    data = download("kits23")
    data.label("store/x.nii.gz")
    (data.folder / "case_00000").mkdir()
    (data.folder / "case_00000/segmentation.nii.gz").symlink_to(data.folder / "store/x.nii.gz")
    (data.folder / "case_00001").mkdir()
    (data.folder / "case_00001/segmentation.nii.gz").symlink_to("/nowhere/x.nii.gz")
    assert make_datalist("kits23", data.folder, tmp_path / "list.json").cases == 2
