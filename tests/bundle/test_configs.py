"""The shipped configs, held against MONAI's silent habits, and run once from the command line."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from monai_spatialqa.errors import SettingsError
from monai_spatialqa.evaluation.guessing import chance_interval
from monai_spatialqa.measurement import MeasureSettings
from monai_spatialqa.records import read_records
from monai_spatialqa.records.item import Item

BUNDLE = Path(__file__).parents[2] / "bundles" / "spatialqa"
TABLES = ("measurements.csv", "questions/summary.json", "evaluation/summary.json", "report/report.csv")
MEASURE = BUNDLE / "configs" / "measure.yaml"


@pytest.fixture
def case(write_nifti: Callable[..., Path], block: np.ndarray, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return write_nifti("seg/a.nii.gz", block, spacing=(2.0, 3.0, 4.0))


def run(config: Path = MEASURE, **overrides: Any) -> None:
    from monai.bundle.scripts import run as bundle_run

    bundle_run(config_file=str(config), logging_file=False, **overrides)


def refusal(**overrides: Any) -> str:
    """The text of the SettingsError that a run with these overrides ends in."""
    with pytest.raises((RuntimeError, SettingsError)) as error:
        run(labels="seg/*.nii.gz", **overrides)
    inner: BaseException | None = error.value
    while inner is not None and not isinstance(inner, SettingsError):
        inner = inner.__cause__
    assert inner is not None, error.value
    return str(inner)


def test_the_config_lists_every_setting_with_its_default() -> None:
    config = yaml.safe_load(MEASURE.read_text(encoding="utf-8"))
    for name, field in MeasureSettings.model_fields.items():
        default = field.get_default(call_default_factory=True)
        assert config[name] == default, name


def test_br_107_a_mistyped_override_is_refused(case: Path) -> None:
    assert "'wrokers' (did you mean 'workers'?)" in refusal(wrokers=2).replace('"', "'")
    assert "distances" in refusal(distnaces="all")
    assert not Path("measurements").exists()


def test_br_108_a_flag_of_lower_case_text_is_a_flag(case: Path) -> None:
    run(labels="seg/*.nii.gz", overwrite="false", strict="False", progress="false")
    assert "progress" in refusal(progress="perhaps")


def test_br_111_without_metadata_nothing_runs(case: Path, tmp_path: Path) -> None:
    shutil.copytree(BUNDLE, tmp_path / "bundle")
    (tmp_path / "bundle/configs/metadata.json").unlink()
    with pytest.raises(RuntimeError) as error:
        run(tmp_path / "bundle/configs/measure.yaml", labels="seg/*.nii.gz")
    assert "metadata.json" in str(error.value.__cause__)


def test_br_112_started_from_another_folder_the_outputs_are_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Defaults hang on the bundle, what a user gives on the working directory."""
    tables = []
    for folder in ("one", "deeper/two"):
        (tmp_path / folder).mkdir(parents=True)
        monkeypatch.chdir(tmp_path / folder)
        run(BUNDLE / "configs/quickstart.yaml", cards=0, evaluation={"draws": 100}, report={"pictures": False})
        tables.append([Path("quickstart_output", name).read_bytes() for name in TABLES])
    assert tables[0] == tables[1]


def test_br_115_an_unknown_run_id_lists_those_there_are(case: Path) -> None:
    told = refusal(run_id="mesure")
    assert "mesure" in told
    assert "run" in told.partition("expected")[2]


def test_a_wrong_type_names_the_setting_and_what_it_wants(case: Path) -> None:
    told = refusal(workers="many")
    assert "workers" in told
    assert "many" in told


def test_an_impossible_combination_is_told_before_any_file_is_read(case: Path) -> None:
    assert "native grid" in refusal(path="stream", spacing_mm=[1, 1, 1])


def test_ids_stay_text(case: Path) -> None:
    Path("list.json").write_text(json.dumps({"training": [{"label": "seg/a.nii.gz", "case_id": "007"}]}))
    run(datalist="list.json", output_dir="out")
    assert json.loads(Path("out/measurements.jsonl").read_text())["case_id"] == "007"


def test_the_properties_of_the_bundle_are_found(case: Path) -> None:
    from monai.bundle import ConfigWorkflow

    workflow = ConfigWorkflow(
        config_file=str(MEASURE),
        properties_path=str(BUNDLE / "configs/properties.json"),
        workflow_type="infer",
        logging_file=False,
        labels="seg/*.nii.gz",
        label_map={1: "block"},
    )
    workflow.initialize()
    assert workflow.check_properties() == []


def command(config: Path, *arguments: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "monai.bundle", "run", "--config_file", str(config), *arguments],
        cwd=cwd,
        env={**os.environ, **environment},
        capture_output=True,
        encoding="utf-8",
        timeout=300,
    )


@pytest.mark.slow
def test_br_116_the_command_line_under_a_c_locale(
    write_nifti: Callable[..., Path], block: np.ndarray, tmp_path: Path
) -> None:
    """Names beyond ASCII survive; one broken file makes the exit code 1 and a last line that says so."""
    write_nifti("Schnitte 肝/größe.nii.gz", block)
    (tmp_path / "Schnitte 肝/kaputt.nii.gz").write_bytes(b"")
    done = command(
        MEASURE,
        "--labels",
        "Schnitte 肝/*.nii.gz",
        "--label_map",
        '{1: "Leber 肝"}',
        "--output_dir",
        "aus",
        cwd=tmp_path,
        LC_ALL="C",
        PYTHONUTF8="0",
        PYTHONCOERCECLOCALE="0",
    )
    assert done.returncode == 1, done.stderr
    assert done.stderr.strip().endswith("1 case failed; all others are done. See the records.")
    good, bad = (json.loads(line) for line in (tmp_path / "aus/measurements.jsonl").read_text("utf-8").splitlines())
    assert good["case_id"] == "größe"
    assert good["structures"]["Leber 肝"]["voxel_count"] == 36
    assert bad["errors"][0]["code"] == "empty_file"


@pytest.mark.slow
def test_the_quickstart_from_the_command_line(tmp_path: Path) -> None:
    done = command(BUNDLE / "configs/quickstart.yaml", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    written = [line.split() for line in done.stdout.splitlines() if "quickstart_output/" in line]
    assert len(written) >= 7, done.stdout
    for words in written:
        assert (tmp_path / words[1]).exists(), words
    assert len(list((tmp_path / "quickstart_output/cards").iterdir())) == 3
    assert "quickstart_output/report/report.html" in [words[1] for words in written]
    results = json.loads((tmp_path / "quickstart_output/report/report.json").read_text("utf-8"))["runs"]
    averages = {result["run"]: result["paper_average"]["value"] for result in results}
    assert averages["oracle"] == 1.0
    figures = {result["run"]: result["overall"]["figures"] for result in results}
    assert figures["oracle"]["validity"]["value"] == figures["oracle"]["mra"]["value"] == 1.0
    chance = chance_interval(list(read_records(tmp_path / "quickstart_output/questions/items.jsonl", Item)))
    assert chance is not None
    assert chance.low <= figures["random"]["accuracy_all"]["value"] <= chance.high


def test_br_204_a_windows_path_reaches_the_loader_unchanged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    r"""No escape in ``C:\data\new`` is eaten; records use portable names."""
    monkeypatch.chdir(tmp_path)
    given = r"C:\data\new/seg\table.nii.gz"
    with pytest.raises(SystemExit, match="1 case failed"):
        run(labels=given, output_dir="out")
    record = json.loads(Path("out/measurements.jsonl").read_text(encoding="utf-8"))
    assert record["case_id"] == "table"
    assert record["errors"][0]["code"] == "missing_file"
    assert record["source"]["path"].endswith("C:/data/new/seg/table.nii.gz")


def test_br_075_two_spacing_values_for_three_axes_are_refused(case: Path) -> None:
    told = refusal(label_map={1: "block"}, spacing_mm=[1.0, 2.0])
    assert "spacing_mm" in told
    assert "[1.0, 2.0]" in told
