"""The lint stage through its bundle config: this package's items, anybody's, exit codes, refusals."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from monai_spatialqa.errors import SettingsError, SpatialQAError
from monai_spatialqa.generation import LintSettings
from monai_spatialqa.items.lint_item import LintOptions

CONFIG = Path(__file__).parents[2] / "bundles" / "spatialqa" / "configs" / "lint.yaml"
WEAK = Path(__file__).parents[1] / "items" / "weak_items.json"


@pytest.fixture
def run_lint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[list[Any], Any]]:
    """Run lint.yaml with overrides from the test's folder; gives the rows and the summary."""
    from monai.bundle.scripts import run

    def lint(**overrides: Any) -> tuple[list[Any], Any]:
        monkeypatch.chdir(tmp_path)
        run(config_file=str(CONFIG), logging_file=False, **overrides)
        return read(tmp_path / str(overrides.get("output_dir", "lint")))

    return lint


def read(folder: Path) -> tuple[list[Any], Any]:
    rows = [json.loads(line) for line in (folder / "lint.jsonl").read_text("utf-8").splitlines()]
    return rows, json.loads((folder / "lint_summary.json").read_text("utf-8"))


def cause(error: pytest.ExceptionInfo[BaseException]) -> BaseException:
    inner: BaseException = error.value
    while inner.__cause__ is not None:
        inner = inner.__cause__
    return inner


def test_the_config_lists_every_setting_with_its_default():
    config = yaml.safe_load(CONFIG.read_text(encoding="utf-8"))
    for name, field in LintSettings.model_fields.items():
        assert config[name] == field.get_default(call_default_factory=True), name
    assert LintSettings(items="x").rules == LintOptions()


def test_generated_items_are_clean(run_generate, run_lint, write_measurements, phantom_records, capsys):
    path = write_measurements(*phantom_records)
    items, _ = run_generate(measurements=str(path), output_dir="made", items_per_case=60)
    rows, summary = run_lint(items="made", measurements=str(path))
    assert [row["item_id"] for row in rows] == [item["item_id"] for item in items]
    assert (summary["items"], summary["errors"], summary["faulty_items"]) == (len(items), 0, 0)
    assert summary["notes"] == 0, "every answer was recomputed"
    assert f"{len(items)} items: 0 errors" in capsys.readouterr().out


def test_a_changed_measurement_is_noticed(run_generate, run_lint, write_measurements, phantom_records):
    path = write_measurements(*phantom_records)
    run_generate(measurements=str(path), output_dir="made")
    content = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    for record in content:
        for structure in record["structures"].values():
            if structure["box"]:
                structure["box"]["center_ras_mm"][0] *= 1.01
    path.write_text("".join(json.dumps(record) + "\n" for record in content), "utf-8")
    with pytest.raises(SystemExit, match="the linter found"):
        run_lint(items="made/items.jsonl", measurements=str(path))


def test_weak_items_of_anybody_fail_the_run_and_everything_is_written(run_lint, tmp_path, capsys):
    with pytest.raises(SystemExit) as ended:
        run_lint(items=str(WEAK))
    rows, summary = read(tmp_path / "lint")
    assert str(ended.value) == (
        f"the linter found {summary['errors']} errors and {summary['warnings']} warnings; see lint.jsonl"
    )
    assert summary["faulty_items"] == len(rows) == 10
    assert all(row["errors"] and row["findings"] for row in rows)
    assert sum(len(row["findings"]) for row in rows) == sum(summary["rules"].values())
    shown = capsys.readouterr().out
    assert "near_options" in shown
    assert "no measurements" in shown


def test_what_fails_a_run_is_a_setting(run_lint, tmp_path):
    _, summary = run_lint(items=str(WEAK), fail_on="never")
    assert summary["errors"] > 0
    shared = [{"question": "How long?", "options": ["2 cm or less", "2 cm or more"], "answer": "A"}]
    (tmp_path / "ends.json").write_text(json.dumps(shared))
    _, summary = run_lint(items="ends.json")
    assert (summary["errors"], summary["warnings"]) == (0, 1)
    with pytest.raises(SystemExit):
        run_lint(items="ends.json", fail_on="warning")


def test_gaps_are_settings(run_lint, tmp_path):
    (tmp_path / "near.json").write_text(
        json.dumps([{"question": "How long?", "options": ["20 mm", "22 mm"], "answer": "A"}])
    )
    with pytest.raises(SystemExit):
        run_lint(items="near.json")
    _, summary = run_lint(items="near.json", value_gap=0.05)
    assert summary["errors"] == 0


@pytest.mark.parametrize(
    ("overrides", "told"),
    [
        ({}, "name the file of items"),
        ({"items": "none.json"}, "none.json"),
        ({"items": str(WEAK), "vaule_gap": 0.1}, "vaule_gap"),
        ({"items": str(WEAK), "fail_on": "sometimes"}, "fail_on"),
        ({"items": str(WEAK), "references": str(WEAK)}, "items of this package only"),
        ({"items": str(WEAK), "measurements": "none.jsonl"}, "none.jsonl"),
    ],
    ids=str,
)
def test_refusals_name_what_is_wrong(run_lint, overrides, told):
    with pytest.raises((RuntimeError, SpatialQAError)) as error:
        run_lint(**overrides)
    assert told in str(cause(error))


def test_an_input_is_never_written_over(run_lint, tmp_path):
    (tmp_path / "lint").mkdir()
    path = tmp_path / "lint" / "lint.jsonl"
    path.write_text('{"question": "How long?", "options": ["1 mm", "2 mm"], "answer": "A"}\n')
    with pytest.raises((RuntimeError, SettingsError)) as error:
        run_lint(items=str(path))
    assert "over an input" in str(cause(error))
    assert "How long?" in path.read_text()


@pytest.mark.slow
def test_the_command_line(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "monai.bundle", "run", "--config_file", str(CONFIG), "--items", str(WEAK)],
        cwd=tmp_path,
        capture_output=True,
        encoding="utf-8",
        timeout=300,
    )
    assert done.returncode == 1
    assert "the linter found" in done.stderr.strip().splitlines()[-1]
    assert "filler_option" in done.stdout
    assert (tmp_path / "lint" / "lint.jsonl").is_file()
