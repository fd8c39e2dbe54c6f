"""A report from the folders of runs: one row for what is the same, all names different, nothing lost."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from monai_spatialqa.errors import JournalError, SettingsError
from monai_spatialqa.evaluation import EvaluateSettings, run_evaluation
from monai_spatialqa.evaluation.result import Spent
from monai_spatialqa.report import ReportSettings, run_report
from monai_spatialqa.report.stored_runs import load_stored_runs
from tests.report.factory import made_items
from tests.report.tree import parse

NAMES = ("report.html", "report.csv", "report.json", "report.md")


def run_folder(root: Path, name: str, *, cases: int = 4, seed: int = 0, modality: str | None = None) -> Path:
    """A run of the baselines only."""
    pairs = made_items(cases)
    items = root / f"items_{cases}"
    items.mkdir(exist_ok=True)
    for place, file in enumerate(("items.jsonl", "references.jsonl")):
        (items / file).write_text("".join(pair[place].to_json_line() + "\n" for pair in pairs), encoding="utf-8")
    settings = {"items": str(items), "output_dir": str(root / name), "seed": seed, "modality": modality}
    run_evaluation(EvaluateSettings.model_validate({**settings, "draws": 100, "progress": False}))
    return root / name


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    run_folder(folder, "one", modality="CT")
    run_folder(folder, "same")
    run_folder(folder, "other_seed", seed=7)
    return folder


def names(*folders: Path) -> list[str]:
    return [run.result.run for run in load_stored_runs(folders).runs]


def test_a_baseline_that_is_the_same_stands_once(root: Path) -> None:
    assert names(root / "one", root / "same") == names(root / "one") == ["random", "always_a", "frequency", "oracle"]


def test_a_baseline_that_differs_gets_a_name_of_its_own(root: Path) -> None:
    found = names(root / "one", root / "other_seed")
    assert found[:4] == names(root / "one")
    assert "random (other_seed)" in found
    assert "always_a (other_seed)" not in found
    assert len(set(found)) == len(found)


def test_everything_behind_a_run_is_read(root: Path) -> None:
    stored = load_stored_runs([root / "one", root / "other_seed"])
    assert len(stored.items) == len(stored.references) == 24
    assert list(stored.seeds) == [0, 7]
    assert list(stored.modalities) == ["CT"]
    assert not stored.presets  # no model was asked
    oracle = next(run for run in stored.runs if run.result.run == "oracle")
    assert {score.score for score in oracle.scores} == {1.0}
    assert len(oracle.answers) == 24


def test_the_report_of_two_folders(root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = ReportSettings(
        runs=[str(root / "one"), str(root / "other_seed")], output_dir=str(tmp_path / "out"), title="Two", cards=3
    )
    written = run_report(settings)
    assert [path.name for path in written] == list(NAMES)
    assert capsys.readouterr().out.splitlines()[0] == f"report    {(tmp_path / 'out/report.html').as_posix()}"
    tree = parse(written[0].read_text(encoding="utf-8"))
    rows = {
        row.one(class_="run").text: row.all("td") for row in tree.by_id("results").one("table", "results").all("tr")[2:]
    }
    assert set(rows) == set(names(root / "one", root / "other_seed"))
    assert {cell.one(class_="v").text for cell in rows["oracle"]} == {"100.0"}
    assert len(tree.all("article", "card")) == 3
    assert {div.one("dt").text: div.one("dd").text for div in tree.one("dl").all("div")}["Seed"] == "0, 7"


def test_the_same_folders_give_the_same_bytes_and_rescoring_changes_nothing(root: Path, tmp_path: Path) -> None:
    def written(**options: bool) -> list[bytes]:
        settings = {"runs": str(root / "one"), "output_dir": str(tmp_path), "draws": 100, **options}
        return [path.read_bytes() for path in run_report(ReportSettings.model_validate(settings))]

    first = written()
    assert written() == first
    assert written(rescore=True) == first


def test_times_of_a_run_come_from_its_sidecar(root: Path) -> None:
    """Of every start of the run, a cut one left out; a run whose replies stand as those of a model."""
    folder = shutil.copytree(root / "one", root / "asked")
    summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    summary["results"][0] |= {"run": "model", "kind": "2d_general", "spent": {"calls": 24}}
    (folder / "summary.json").write_text(json.dumps(summary), encoding="utf-8")
    for name in ("answers", "scores"):
        shutil.move(folder / "baselines" / f"random.{name}.jsonl", folder / f"{name}.jsonl")
    starts = [{"asked": {"images": {"seconds": seconds, "cached": 3}}} for seconds in (1.5, 2.25)]
    lines = [*map(json.dumps, starts), json.dumps({"asked": {}}), '{"asked": {"images": {"sec']
    (folder / "run.jsonl").write_text("\n".join(lines), encoding="utf-8")
    stored = load_stored_runs([folder])
    spent = {run.result.run: run.result.spent for run in stored.runs}
    assert spent["model"] == Spent(calls=24, cached=6, seconds=3.75)
    assert spent["oracle"] == Spent()
    assert list(stored.presets) == ["plain"]


def test_a_folder_that_is_no_run_is_refused(root: Path, tmp_path: Path) -> None:
    with pytest.raises(JournalError, match="no folder of an evaluation"):
        run_report(ReportSettings(runs=[str(root / "items_4")], output_dir=str(tmp_path / "out")))
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("runs", [[], ["a", "a"]])
def test_settings_without_runs_are_refused(runs: list[str]) -> None:
    with pytest.raises((SettingsError, ValueError), match="name"):
        ReportSettings(runs=runs)
