"""The measure stage through its bundle config: results, both paths, resuming, failures."""

from __future__ import annotations

import csv
import itertools
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nibabel as nib
import numpy as np
import pytest

import monai_spatialqa as sqa
from monai_spatialqa.errors import JournalError, LabelMapError, SettingsError
from monai_spatialqa.records import Measurement

BLOCK_AFFINE = np.diag([2.0, 3.0, 4.0, 1.0])

Run = Callable[..., list[dict[str, Any]]]


def cause(error: pytest.ExceptionInfo[BaseException]) -> BaseException:
    """The refusal behind MONAI's wrapper."""
    inner: BaseException = error.value
    while inner.__cause__ is not None:
        inner = inner.__cause__
    return inner


def test_the_example_gives_records_tables_summary_and_cards(run_measure: Run, bundle: Path, tmp_path: Path) -> None:
    records = run_measure(
        labels=str(bundle / "example/seg/*.nii.gz"),
        images=str(bundle / "example/ct/*.nii.gz"),
        label_map="totalsegmentator_v2",
        distances={"among": ["kidneys", "liver"]},
        cards=["kidney_left", "kidney_right"],
    )
    out = tmp_path / "out"
    (record,) = records
    assert Measurement.model_validate(record).structures["kidney_left"].voxel_count == 5090
    assert len(record["structures"]) == 117
    assert {(pair["a"], pair["b"]) for pair in record["pairs"]} == {
        ("kidney_right", "kidney_left"),
        ("kidney_right", "liver"),
        ("kidney_left", "liver"),
    }
    assert not Path(record["source"]["path"]).is_absolute()
    rows = list(csv.DictReader((out / "measurements.csv").open(encoding="utf-8")))
    kidney = next(row for row in rows if row["structure"] == "kidney_left")
    assert len(rows) == 117
    assert float(kidney["volume_ml"]) == record["structures"]["kidney_left"]["volume_ml"]
    assert len(list(csv.DictReader((out / "distances.csv").open(encoding="utf-8")))) == 3
    summary = json.loads((out / "summary.json").read_text(encoding="utf-8"))
    assert (summary["cases"], summary["measured"], summary["failed"]) == (1, 1, 0)
    assert summary["structures"]["kidney_left"]["whole"] == 1
    assert summary["structures"]["liver"]["flagged"] == {"truncated": 1}
    cards = sorted((out / "cards").iterdir())
    assert [card.name.rpartition("split_")[2] for card in cards] == ["kidney_left.png", "kidney_right.png"]
    assert all(card.read_bytes().startswith(b"\x89PNG") for card in cards)


def test_stream_and_transforms_write_the_same_bytes(run_measure: Run, phantom_cases: Any, tmp_path: Path) -> None:
    """All orientations, oblique, sheared, truncated, ids outside the map, absent structures, a broken file."""
    folder = tmp_path / "seg"
    phantom_cases(folder)
    (folder / "zz_broken.nii.gz").write_bytes((folder / "ras.nii.gz").read_bytes()[:500])
    label_map = {1: "spleen", 2: "kidney_right", 3: "kidney_left", 5: "liver", 77: "not_there"}
    written = []
    for path in ("stream", "transforms"):
        with pytest.raises(SystemExit):
            run_measure(
                labels=str(folder / "*.nii.gz"), label_map=label_map, distances="all", path=path, output_dir=path
            )
        written.append([(tmp_path / path / name).read_bytes() for name in ("measurements.jsonl", "measurements.csv")])
    assert written[0] == written[1]
    assert b"label_31" in written[0][0]


@pytest.mark.parametrize("axcodes", ["LPS", "PIR", "SAL"])
def test_the_three_ways_give_the_same_numbers(run_measure: Run, tmp_path: Path, axcodes: str) -> None:
    from monai.transforms import Compose, LoadImaged, Orientationd

    from monai_spatialqa.phantoms import make_phantom
    from monai_spatialqa.readers import NiftiReader
    from monai_spatialqa.transforms import MeasureBoundingBoxd, MeasureDistanced, MeasureVolumed

    phantom = make_phantom(3, axcodes=axcodes, rotation_deg=(4.0, -7.0, 11.0))
    image, label = phantom.save(tmp_path, "case")
    names, pair = phantom.label_names, [("liver", "spleen")]
    api = sqa.measure(label, image=image, label_map=names, distances=pair)
    (row,) = run_measure(labels=str(label), images=str(image), label_map=names, distances=pair)
    chain = Compose(
        [
            LoadImaged("label", reader=NiftiReader(), dtype=None, ensure_channel_first=True),
            Orientationd("label", "RAS", labels=None),
            MeasureVolumed("label", names),
            MeasureBoundingBoxd("label", names),
            MeasureDistanced("label", names, pairs=pair),
        ]
    )
    measured = chain({"label": str(label)})["measured_label"]
    stage = Measurement.model_validate(row)
    assert stage.structures == api.structures
    assert stage.pairs == api.pairs
    assert measured["distance_mm"].tolist() == [api.pairs[0].distance_mm]
    for at, structure in enumerate(api.structures.values()):
        assert measured["volume_mm3"][at].item() == structure.volume_mm3
        assert structure.box is not None
        assert tuple(measured["extent_mm"][at].tolist()) == structure.box.extent_mm
        assert tuple(measured["centroid_ras_mm"][at].tolist()) == structure.centroid_ras_mm


@pytest.mark.parametrize("path", ["stream", "transforms"])
def test_workers_change_nothing(run_measure: Run, phantom_cases: Any, tmp_path: Path, path: str) -> None:
    phantom_cases(tmp_path / "seg", limit=4)
    label_map = {1: "spleen", 5: "liver"}
    written = []
    for workers in (0, 2):
        out = f"out{workers}"
        run_measure(labels="seg/*.nii.gz", label_map=label_map, workers=workers, path=path, output_dir=out)
        written.append((tmp_path / out / "measurements.jsonl").read_bytes())
    assert written[0] == written[1]


def test_one_bad_case_never_stops_the_others(
    run_measure: Run, write_nifti: Any, block: np.ndarray, tmp_path: Path
) -> None:
    for name in ("a", "c"):
        write_nifti(f"seg/{name}.nii.gz", block, BLOCK_AFFINE)
    good = write_nifti("seg/b.nii.gz", block, BLOCK_AFFINE).read_bytes()
    (tmp_path / "seg/b.nii.gz").write_bytes(good[: len(good) // 2])
    with pytest.raises(SystemExit, match="1 case failed"):
        run_measure(labels="seg/*.nii.gz")
    records = [Measurement.model_validate_json(line) for line in (tmp_path / "out/measurements.jsonl").open()]
    assert [record.case_id for record in records] == ["a", "b", "c"]
    assert [bool(record.errors) for record in records] == [False, True, False]
    (error,) = records[1].errors
    assert (error.code, error.case) == ("truncated_file", "b")
    assert error.file == "seg/b.nii.gz"
    assert str(tmp_path) not in records[1].to_json_line()
    assert json.loads((tmp_path / "out/summary.json").read_text())["errors"] == {"truncated_file": ["b"]}


def test_a_failed_case_is_tried_again_and_the_rest_kept(
    run_measure: Run, write_nifti: Any, block: np.ndarray, tmp_path: Path
) -> None:
    write_nifti("seg/a.nii.gz", block, BLOCK_AFFINE)
    whole = write_nifti("seg/b.nii.gz", block, BLOCK_AFFINE).read_bytes()
    (tmp_path / "seg/b.nii.gz").write_bytes(whole[:60])
    with pytest.raises(SystemExit):
        run_measure(labels="seg/*.nii.gz")
    (tmp_path / "seg/b.nii.gz").write_bytes(whole)
    records = run_measure(labels="seg/*.nii.gz")
    assert [record["errors"] for record in records] == [[], []]
    runs = [json.loads(line) for line in (tmp_path / "out/run.jsonl").open()]
    assert [one["cases_tried"] for one in runs] == [2, 1]


def test_a_changed_file_is_measured_again(run_measure: Run, write_nifti: Any, block: np.ndarray) -> None:
    write_nifti("seg/a.nii.gz", block, BLOCK_AFFINE)
    assert run_measure(labels="seg/*.nii.gz")[0]["structures"]["label_1"]["voxel_count"] == 36
    block[0, 0, 0] = 1
    write_nifti("seg/a.nii.gz", block, BLOCK_AFFINE)
    assert run_measure(labels="seg/*.nii.gz")[0]["structures"]["label_1"]["voxel_count"] == 37


def test_other_settings_are_never_mixed_in(
    run_measure: Run, write_nifti: Any, block: np.ndarray, tmp_path: Path
) -> None:
    write_nifti("seg/a.nii.gz", block, BLOCK_AFFINE)
    run_measure(labels="seg/*.nii.gz")
    before = (tmp_path / "out/measurements.jsonl").read_bytes()
    with pytest.raises(RuntimeError) as error:
        run_measure(labels="seg/*.nii.gz", label_map={1: "liver"})
    assert isinstance(cause(error), JournalError)
    assert "--overwrite true" in str(cause(error))
    assert (tmp_path / "out/measurements.jsonl").read_bytes() == before
    (record,) = run_measure(labels="seg/*.nii.gz", label_map={1: "liver"}, overwrite="true")
    assert list(record["structures"]) == ["liver"]


def test_a_killed_run_goes_on_where_it_was(write_nifti: Any, tmp_path: Path, bundle: Path) -> None:
    """kill -9 in the middle, a half-written last line, start again: the same bytes as a run that was left alone."""
    rng = np.random.default_rng(0)
    for number in range(60):
        block = np.zeros((60, 60, 40), np.uint8)
        block[tuple(slice(*sorted(rng.integers(0, length, 2) + np.array([0, 2]))) for length in block.shape)] = 1
        write_nifti(f"seg/{number:02}.nii.gz", block, BLOCK_AFFINE)
    command = [sys.executable, "-c", _RUN, str(bundle / "configs/measure.yaml")]
    process = subprocess.Popen([*command, "killed"], cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    journal = tmp_path / "killed/measurements.jsonl"
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and (not journal.exists() or journal.read_bytes().count(b"\n") < 5):
        time.sleep(0.005)
    process.kill()
    process.wait()
    done = journal.read_bytes().count(b"\n")
    assert 5 <= done < 60
    with journal.open("ab") as file:
        file.write(b'{"schema_version":"1","case_id":"5')
    for out in ("killed", "whole"):
        subprocess.run([*command, out], cwd=tmp_path, check=True, capture_output=True, timeout=300)
    assert journal.read_bytes() == (tmp_path / "whole/measurements.jsonl").read_bytes()
    resumed = json.loads((tmp_path / "killed/run.jsonl").read_text().splitlines()[-1])
    assert resumed["cases_tried"] == 60 - done


_RUN = """
import sys
from pathlib import Path
from monai_spatialqa.measurement import MeasureSettings, run_measurement
run_measurement(MeasureSettings(labels="seg/*.nii.gz", output_dir=sys.argv[2], progress=False))
"""


def test_resampled_measuring_is_recorded(run_measure: Run, write_nifti: Any, block: np.ndarray) -> None:
    write_nifti("seg/a.nii.gz", block, BLOCK_AFFINE)
    (record,) = run_measure(labels="seg/*.nii.gz", label_map={1: "block"}, spacing_mm=[1.0, 1.0, 1.0])
    assert record["geometry"]["grid"] == "resampled"
    assert record["geometry"]["spacing_mm"] == [1.0, 1.0, 1.0]
    assert record["structures"]["block"]["volume_mm3"] == pytest.approx(864, rel=0.5)


def test_the_chain_can_be_edited_in_an_overlay(
    run_measure: Run, write_nifti: Any, block: np.ndarray, tmp_path: Path
) -> None:
    """An overlay replaces a member of the chain: here the direction of the boxes' order is left out."""
    write_nifti("seg/a.nii.gz", block, BLOCK_AFFINE)
    overlay = tmp_path / "overlay.yaml"
    overlay.write_text(
        # nothing in the place of MeasureDistanced
        "chain#transforms#7:\n  _target_: Lambdad\n  keys: label\n  func: '$lambda label: label'\n"
    )
    shipped = Path(__file__).parents[2] / "bundles/spatialqa/configs/measure.yaml"
    (record,) = run_measure(
        [shipped, overlay], labels="seg/*.nii.gz", label_map={1: "a", 2: "b"}, distances=[["a", "b"]], path="transforms"
    )
    assert record["pairs"] == []
    assert record["structures"]["a"]["volume_mm3"] == 864


@pytest.mark.parametrize("overrides", [{"spacing_mm": [5, 5, 5]}, {"path": "transforms"}])
def test_a_config_without_the_chain_never_streams_instead(
    run_measure: Run, bundle: Path, overrides: dict[str, Any]
) -> None:
    with pytest.raises(RuntimeError) as error:
        run_measure(bundle / "configs/quickstart.yaml", **overrides)
    assert "run measure.yaml" in str(cause(error))


def test_a_device_that_is_not_there_is_one_error(run_measure: Run, write_nifti: Any, block: np.ndarray) -> None:
    write_nifti("seg/a.nii.gz", block, BLOCK_AFFINE)
    with pytest.raises(RuntimeError) as error:
        run_measure(labels="seg/*.nii.gz", label_map={1: "a"}, device="cuda:99")
    assert isinstance(cause(error), SettingsError)
    assert "--device cpu" in str(cause(error))


def test_transforms_without_a_label_map_are_refused(run_measure: Run, write_nifti: Any, block: np.ndarray) -> None:
    write_nifti("seg/a.nii.gz", block, BLOCK_AFFINE)
    with pytest.raises(RuntimeError) as error:
        run_measure(labels="seg/*.nii.gz", path="transforms")
    assert isinstance(cause(error), SettingsError)
    assert "path: stream" in str(cause(error))


def test_an_unknown_label_map_lists_the_shipped_ones(run_measure: Run, write_nifti: Any, block: np.ndarray) -> None:
    write_nifti("seg/a.nii.gz", block, BLOCK_AFFINE)
    with pytest.raises(RuntimeError) as error:
        run_measure(labels="seg/*.nii.gz", label_map="totalsegmentor_v2")
    assert isinstance(cause(error), LabelMapError)
    assert "totalsegmentator_v2" in str(cause(error))


def test_a_path_that_looks_like_an_expression_stays_text(
    run_measure: Run, write_nifti: Any, block: np.ndarray, tmp_path: Path
) -> None:
    for name in ("$a.nii.gz", "@b.nii.gz", "%c.nii.gz"):
        write_nifti(f"seg/{name}", block, BLOCK_AFFINE)
    records = run_measure(labels="seg/*.nii.gz", label_map={1: "block"}, path="transforms")
    assert [record["case_id"] for record in records] == ["$a", "%c", "@b"]
    assert all(record["structures"]["block"]["voxel_count"] == 36 for record in records)


def test_several_volumes_in_a_file(run_measure: Run, tmp_path: Path) -> None:
    """One-hot channels: three structures, an overlap counted whole in both and reported."""
    channels = np.zeros((6, 6, 6, 3), np.uint8)
    channels[1:4, 1:4, 1:4, 0] = channels[3:5, 3:5, 3:5, 1] = channels[5, 5, 5, 2] = 1
    (tmp_path / "seg").mkdir()
    nib.save(nib.Nifti1Image(channels, np.eye(4)), tmp_path / "seg/onehot.nii.gz")
    for path in ("stream", "transforms"):
        (record,) = run_measure(
            labels="seg/*.nii.gz", label_map={1: "a", 2: "b", 3: "c"}, distances="all", path=path, output_dir=path
        )
        assert [record["structures"][name]["voxel_count"] for name in "abc"] == [27, 8, 1]
        assert [pair["overlap_voxels"] for pair in record["pairs"]] == [1, 0, 0]
        assert "overlapping" in record["pairs"][0]["status"]


def test_every_orientation_gives_the_same_record(run_measure: Run, tmp_path: Path) -> None:
    from monai_spatialqa.phantoms import make_phantom

    folder = tmp_path / "seg"
    folder.mkdir()
    codes = ["".join(code) for code in itertools.product("RL", "PA", "SI")] + ["SRP", "AIL", "PSL", "ILA"]
    for code in codes:
        _, label = make_phantom(5, axcodes=code, shape=(60, 50, 40), spacing_mm=(4.0, 5.0, 6.0)).save(tmp_path, code)
        shutil.move(label, folder / f"{code}.nii.gz")
    records = run_measure(labels="seg/*.nii.gz", distances="all")
    assert {record["geometry"]["orientation"] for record in records} == set(codes)

    def body(record: dict[str, Any]) -> Any:
        return record["structures"], record["pairs"], {**record["geometry"], "orientation": None}

    first = body(records[0])
    for record in records[1:]:
        structures, pairs, geometry = body(record)
        assert geometry["shape"] == first[2]["shape"]
        assert structures.keys() == first[0].keys()
        for name, structure in structures.items():
            expected = first[0][name]
            assert structure["voxel_count"] == expected["voxel_count"]
            assert structure["volume_band_ml"] == pytest.approx(expected["volume_band_ml"], rel=1e-12)
            assert structure["box"]["index_start"] == expected["box"]["index_start"]
            assert structure["box"]["index_stop"] == expected["box"]["index_stop"]
            assert structure["centroid_ras_mm"] == pytest.approx(
                expected["centroid_ras_mm"], abs=1e-4
            )  # float32 header
        assert [pair["distance_mm"] for pair in pairs] == pytest.approx([p["distance_mm"] for p in first[1]], abs=1e-4)


def test_without_an_orientation_nothing_names_a_direction(
    run_measure: Run, write_nifti: Any, block: np.ndarray, tmp_path: Path
) -> None:
    write_nifti("seg/a.nii.gz", block, BLOCK_AFFINE, forms=(0, 0))
    (record,) = run_measure(labels="seg/*.nii.gz", cards=1)
    assert record["structures"]["label_1"]["box"]["extent_mm"] == [6, 12, 12]
    assert record["structures"]["label_1"]["volume_mm3"] == 864
    (row,) = csv.DictReader((tmp_path / "out/measurements.csv").open(encoding="utf-8"))
    assert [row[name] for name in row if name.startswith(("extent_", "center_", "centroid_r"))] == [""] * 7
    assert not (tmp_path / "out/cards").exists()


def test_a_mistyped_card_is_refused_and_an_absent_one_told(
    run_measure: Run, write_nifti: Any, block: np.ndarray, caplog: pytest.LogCaptureFixture
) -> None:
    write_nifti("seg/a.nii.gz", block, BLOCK_AFFINE)
    with pytest.raises(RuntimeError) as error:
        run_measure(labels="seg/*.nii.gz", label_map={1: "heart", 2: "liver"}, cards=["hart"])
    assert "heart" in str(cause(error))
    run_measure(labels="seg/*.nii.gz", label_map={1: "heart", 2: "liver"}, cards=["heart", "liver"])
    assert "no card in case a for liver" in caplog.text


def test_files_that_are_not_there_are_failed_cases(
    run_measure: Run, write_nifti: Any, block: np.ndarray, tmp_path: Path
) -> None:
    """A link to data that is not fetched yet, and a name in a list."""
    write_nifti("seg/a.nii.gz", block, BLOCK_AFFINE)
    (tmp_path / "seg/b.nii.gz").symlink_to("/nowhere/b.nii.gz")
    with pytest.raises(SystemExit, match="2 cases failed"):
        run_measure(labels=["seg/*.nii.gz", "seg/c.nii.gz"])
    rows = [json.loads(line) for line in (tmp_path / "out/measurements.jsonl").open()]
    assert [[error["code"] for error in row["errors"]] for row in rows] == [[], ["missing_file"], ["missing_file"]]


@pytest.mark.parametrize(("segmented", "failed"), [("null", 4), ([], 5)])
def test_error_records_of_both_paths_are_the_same(
    segmented: Any, failed: int, run_measure: Run, write_nifti: Any, block: np.ndarray, tmp_path: Path
) -> None:
    write_nifti("seg/known.nii.gz", block + 8 * np.roll(block, 1, axis=0) * (block == 0), BLOCK_AFFINE)
    write_nifti("seg/ignored.nii.gz", block * 2, BLOCK_AFFINE)
    write_nifti("seg/negative.nii.gz", -block.astype(np.int16), BLOCK_AFFINE)
    write_nifti("seg/fraction.nii.gz", block.astype(np.float32) / 2, BLOCK_AFFINE)
    write_nifti("seg/unknown.nii.gz", block * 9, BLOCK_AFFINE)
    noise = np.random.default_rng(0).integers(0, 900, (20, 20, 20)).astype(np.int16)
    write_nifti("seg/noise.nii.gz", noise, BLOCK_AFFINE)
    written = []
    for path in ("stream", "transforms"):
        with pytest.raises(SystemExit, match=f"{failed} cases failed"):
            run_measure(
                labels="seg/*.nii.gz",
                label_map={1: "a"},
                ignore=[2, 8] if segmented == "null" else [2],
                segmented=segmented,
                strict=True,
                path=path,
                output_dir=path,
            )
        written.append((tmp_path / path / "measurements.jsonl").read_bytes())
    assert written[0] == written[1]
