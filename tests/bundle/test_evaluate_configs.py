"""The configs that ask models and write reports, with the overlays for servers."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from monai_spatialqa.errors import SettingsError
from monai_spatialqa.evaluation import EvaluateSettings
from monai_spatialqa.report import ReportSettings
from tests.evaluation.small_run import right_reply, write_small_run
from tests.servers.openai_server import ScriptedServer, reply

REPOSITORY = Path(__file__).parents[2]
CONFIGS = REPOSITORY / "bundles/spatialqa/configs"
EVALUATE, REPORT = CONFIGS / "evaluate.yaml", CONFIGS / "report.yaml"
OVERLAYS = sorted((REPOSITORY / "configs/models").glob("*.yaml"))

QUICK: dict[str, Any] = {"items": ".", "draws": 100, "progress": False, "views::kind": "planes", "views::size_px": 64}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_small_run(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(config: Path | list[Path], **overrides: Any) -> None:
    from monai.bundle.scripts import run as bundle_run

    files = [str(one) for one in config] if isinstance(config, list) else str(config)
    bundle_run(config_file=files, logging_file=False, **overrides)


def refusal(**overrides: Any) -> str:
    """The text of the SettingsError that evaluate.yaml ends in."""
    with pytest.raises((RuntimeError, SettingsError)) as error:
        run(EVALUATE, **overrides)
    inner: BaseException | None = error.value
    while inner is not None and not isinstance(inner, SettingsError):
        inner = inner.__cause__
    assert inner is not None, error.value
    return str(inner)


@pytest.mark.parametrize(("config", "model"), [(EVALUATE, EvaluateSettings), (REPORT, ReportSettings)])
def test_the_config_lists_every_setting_with_its_default(config: Path, model: Any) -> None:
    listed = yaml.safe_load(config.read_text(encoding="utf-8"))
    for name, field in model.model_fields.items():
        default = field.get_default(call_default_factory=True)
        if hasattr(default, "model_dump"):
            default = default.model_dump(mode="json")
        assert listed[name] == default, name


def test_a_model_is_asked_and_reported() -> None:
    with ScriptedServer(lambda asked: reply(right_reply(asked.text))) as server:
        run(EVALUATE, model="scripted", base_url=server.base_url, **QUICK)
        run(EVALUATE, model="scripted", base_url=server.base_url, run_name="again", output_dir="other", **QUICK)
    run(REPORT, runs="[evaluation, other]", pictures="false", draws=100)
    for where in ("evaluation", "other", "report"):
        assert "<html" in Path(where, "report.html").read_text(encoding="utf-8")
    runs = json.loads(Path("report/report.json").read_text(encoding="utf-8"))["runs"]
    assert [one["run"] for one in runs[:2]] == ["again", "scripted"]
    baselines = ["again (blind)", "always_a", "frequency", "oracle", "random", "scripted (blind)"]
    assert sorted(one["run"] for one in runs[2:]) == baselines
    assert runs[0]["spent"]["calls"] == 12
    assert runs[0]["spent"]["seconds"] > 0


def test_scoring_again_needs_the_folder_alone() -> None:
    with ScriptedServer(lambda asked: reply(right_reply(asked.text))) as server:
        run(EVALUATE, model="scripted", base_url=server.base_url, preset="reasoned", **QUICK)
    before = Path("evaluation/summary.json").read_bytes()
    run(EVALUATE, rescore="true", draws=100, progress="false")
    run(EVALUATE, rescore="true", items=".", draws=100, progress="false")
    assert Path("evaluation/summary.json").read_bytes() == before
    assert "scripted" in Path("evaluation/report.md").read_text(encoding="utf-8")
    assert "found: other" in refusal(rescore="true", model="other", progress="false")
    assert Path("evaluation/summary.json").read_bytes() == before


def test_questions_without_a_reply_make_the_exit_code_1() -> None:
    Path("ct/case_a.nii").unlink()
    with (
        ScriptedServer(lambda asked: reply(right_reply(asked.text))) as server,
        pytest.raises(SystemExit, match="6 questions have no reply"),
    ):
        run(EVALUATE, model="scripted", base_url=server.base_url, **QUICK)
    assert Path("evaluation/report.html").exists()


@pytest.mark.parametrize(
    ("overrides", "told"),
    [
        ({}, "name the items.jsonl"),
        ({"items": ".", "modle": "x"}, "did you mean 'model'"),
        ({"items": ".", "structured": True, "model": "m"}, "take the preset json"),
        ({"items": ".", "llm": {"model": "m"}}, "setting of its own"),
        ({"items": ".", "model": "m", "llm": {"temprature": 1}}, "llm::temprature"),
        ({"items": ".", "preset": "none_such", "model": "m", "base_url": "http://127.0.0.1:9/v1"}, "prompt preset"),
        ({"items": ".", "model": "m", "adapter_options": {"order": 1}, "base_url": "http://127.0.0.1:9"}, "order"),
        ({"items": ".", "views::kind": "sideways"}, "views::kind"),
    ],
)
def test_settings_are_refused_by_name(overrides: dict[str, Any], told: str) -> None:
    assert told in refusal(**overrides).replace('"', "'")


@pytest.mark.parametrize("overlay", OVERLAYS, ids=lambda path: path.stem)
def test_every_overlay_is_taken(overlay: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run([EVALUATE, overlay], items=".", model="any", dry_run="true", progress="false")
    assert "24 calls" in capsys.readouterr().out
    assert not Path("evaluation").exists()


def command(config: Path, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "monai.bundle", "run", "--config_file", str(config), *arguments],
        capture_output=True,
        encoding="utf-8",
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_both_from_the_command_line() -> None:
    told = command(EVALUATE, "--items", ".", "--draws", "100")
    assert "evaluation/report.html" in told
    assert "oracle" in told
    told = command(REPORT, "--runs", "['evaluation']", "--rescore", "true", "--pictures", "false")
    assert "report/report.html" in told
