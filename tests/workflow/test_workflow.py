"""Bundle configs refuse what MONAI ignores. Each test runs a tiny bundle through ``monai.bundle.run``."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from monai.bundle import ConfigWorkflow
from pydantic import BaseModel, ConfigDict

from monai_spatialqa import workflow
from monai_spatialqa.errors import PairingError, SettingsError

pytestmark = pytest.mark.filterwarnings("ignore:parsing config_file:UserWarning")

OVERLAY_WITH_COMPONENTS = """
table: {liver: 5}
names: "$sorted(@table)"
structures: "@names"
"""


def test_a_right_config_runs_and_its_defaults_reach_the_stage(tiny: Any) -> None:
    told = tiny.run()
    assert told["workers"] == 0
    assert told["margin_mm"] == 1.5  # an expression
    assert told["connectivity"] == 26  # not in the config
    assert told["extra"] == "workers: 0, surface: False"


# BR-107: an override that is in no config.


@pytest.mark.parametrize(
    ("override", "meant"),
    [({"wrokers": 2}, "workers"), ({"Workers": 2}, "workers"), ({"meta_fil": "x.json"}, "meta_file")],
)
def test_br_107_a_misspelt_override_is_refused_by_name(tiny: Any, override: dict[str, Any], meant: str) -> None:
    error = tiny.refusal(**override)
    assert isinstance(error, SettingsError)
    assert error.key == next(iter(override))
    assert f"did you mean '{meant}'?" in str(error)
    assert "margin_mm, kind, connectivity" in str(error.expected)
    assert not Path("out").exists()


@pytest.mark.parametrize("separator", ["#", "::"])
def test_br_107_a_nested_override_of_an_unknown_name_does_not_run(tiny: Any, separator: str) -> None:
    with pytest.raises(KeyError):  # MONAI itself, before any code of ours
        tiny.run(**{f"wrokers{separator}x": 2})


@pytest.mark.parametrize("separator", ["#", "::"])
def test_br_107_an_unknown_name_inside_a_setting_is_refused(tiny: Any, separator: str) -> None:
    overlay = tiny.overlay("limits: {low_mm: 1}")
    error = tiny.refusal(overlay, **{f"limits{separator}lo_mm": 2})
    assert error.key == "limits::lo_mm"
    assert error.expected == "one of: low_mm, ids"


def test_br_107_all_unknown_names_are_told_at_once(tiny: Any) -> None:
    assert tiny.refusal(wrokers=2, sruface=True).key == "sruface, wrokers"


def test_br_107_a_misspelt_key_in_the_config_itself_is_refused(tiny: Any) -> None:
    tiny.config.write_text(tiny.config.read_text(encoding="utf-8") + "wrokers: 2\n", encoding="utf-8")
    assert tiny.refusal().key == "wrokers"


def test_br_107_a_component_of_an_overlay_that_is_used_is_no_mistake(tiny: Any) -> None:
    assert tiny.run(tiny.overlay(OVERLAY_WITH_COMPONENTS))["structures"] == ["liver"]


def test_br_107_a_component_that_only_itself_refers_to_is_refused(tiny: Any) -> None:
    assert tiny.refusal(tiny.overlay("idle: {value: '@workers', again: '@idle::value'}")).key == "idle"


def test_br_107_a_shipped_component_that_an_overlay_no_longer_uses_is_no_mistake(tiny: Any) -> None:
    assert tiny.run(tiny.overlay("run: [\"$workflow.run_stage('tiny', tiny_run)\"]"))["extra"] is None


def test_br_107_templates_and_notes_with_a_leading_underscore_are_free(tiny: Any) -> None:
    assert tiny.run(tiny.overlay("_names: [liver]\nstructures: '%_names'"))["structures"] == ["liver"]


def test_br_107_an_override_of_none_is_not_dropped_in_silence(tiny: Any) -> None:
    error = tiny.refusal(margin_mm=None)
    assert error.next_step == "write null: --margin_mm null"


def test_br_107_tracking_keys_are_known_only_with_tracking(tiny: Any) -> None:
    assert tiny.refusal(output_dir="elsewhere").key == "output_dir"
    assert tiny.run(tracking="mlflow", save_execute_config=False)["workers"] == 0


# BR-108: booleans, numbers and ids mean the same in YAML, JSON and on the command line.


@pytest.mark.parametrize("text", ["false", "False", "FALSE", False])
def test_br_108_false_is_false(tiny: Any, text: Any) -> None:
    told = tiny.run(surface=text)
    assert told["surface"] is False
    assert told["extra"].endswith("surface: False")  # a reference elsewhere in the config sees the boolean


@pytest.mark.parametrize(
    ("override", "expected"),
    [
        ({"surface": "true"}, {"surface": True}),
        ({"workers": "2"}, {"workers": 2, "extra": "workers: 2, surface: False"}),
        ({"margin_mm": "2.5"}, {"margin_mm": 2.5}),
        ({"margin_mm": 2}, {"margin_mm": 2.0}),
        ({"connectivity": "6"}, {"connectivity": 6}),
        ({"case_id": 12}, {"case_id": "12"}),
        ({"case_id": "007"}, {"case_id": "007"}),
        ({"case_id": "null"}, {"case_id": None}),
        ({"structures": ("liver", 3)}, {"structures": ["liver", "3"]}),
        ({"limits": {"low_mm": "1", "ids": [1]}}, {"limits": {"low_mm": 1.0, "ids": ["1"]}}),
        ({"workers": "$1 + 1"}, {"workers": 2}),
        ({"workers": "$'3'"}, {"workers": 3, "extra": "workers: 3, surface: False"}),
        ({"workers": "@failing"}, {"workers": 0}),
    ],
)
def test_br_108_values_get_the_type_of_their_setting(
    tiny: Any, override: dict[str, Any], expected: dict[str, Any]
) -> None:
    tiny.config.write_text(tiny.config.read_text(encoding="utf-8") + "failing: 0\n", encoding="utf-8")
    told = tiny.run(**override)
    assert {key: told[key] for key in expected} == expected


@pytest.mark.parametrize(
    ("override", "found", "expected"),
    [
        ({"surface": "maybe"}, "'maybe' (str)", "boolean"),
        ({"surface": 2}, "2 (int)", "boolean"),
        ({"workers": True}, "True (bool)", "number"),
        ({"workers": "true"}, "'true' (str)", "integer"),
        ({"workers": -1}, "-1 (int)", "greater than or equal to 0"),
        ({"workers": 1.5}, "1.5 (float)", "integer"),
        ({"margin_mm": "nan"}, "nan (float)", "finite"),
        ({"case_id": 1e3}, "1000.0 (float)", "string"),
        ({"case_id": True}, "True (bool)", "string"),
        ({"kind": "cube"}, "'cube' (str)", "'box' or 'surface'"),
        ({"structures": "liver"}, "'liver' (str)", "list"),
        ({"output": "@nowhere"}, "@nowhere", None),
    ],
)
def test_br_108_a_wrong_type_or_value_is_refused(
    tiny: Any, override: dict[str, Any], found: str, expected: str | None
) -> None:
    error = tiny.refusal(**override)
    assert isinstance(error, SettingsError)
    assert error.key == next(iter(override))
    assert error.found == found
    assert expected is None or expected in str(error.expected)


def test_br_108_several_wrong_values_are_told_at_once(tiny: Any) -> None:
    error = tiny.refusal(workers="two", kind="cube")
    assert error.key == "workers, kind"
    assert "'two'" in str(error)
    assert "'cube'" in str(error)


def test_br_108_a_required_setting_is_named(tiny: Any) -> None:
    text = tiny.config.read_text(encoding="utf-8").replace('output: "out"', "")
    tiny.config.write_text(text, encoding="utf-8")
    assert "'output' of the stage 'tiny' is required" in str(tiny.refusal())


# BR-111: metadata.json is missing.


def test_br_111_missing_metadata_stop_the_run(tiny: Any) -> None:
    tiny.metadata.unlink()
    error = tiny.refusal()
    assert error.code == "missing_metadata"
    assert error.file == str(tiny.metadata)
    assert not Path("out").exists()


def test_br_111_metadata_may_be_given(tiny: Any) -> None:
    elsewhere = tiny.metadata.rename(tiny.root / "about.json")
    assert tiny.run(meta_file=str(elsewhere))["workers"] == 0


# BR-112: start from another folder.


@pytest.mark.parametrize("relative", [False, True])
def test_br_112_any_working_folder_gives_the_same_output(
    tiny: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, relative: bool
) -> None:
    told = []
    for name in ("first", "second/deep"):
        folder = tmp_path / name
        folder.mkdir(parents=True)
        monkeypatch.chdir(folder)
        if relative:
            tiny.config = Path(os.path.relpath(tiny.root, folder), "configs", "tiny.yaml")
        told.append(tiny.run(tiny.overlay("structures: ['$@bundle_root']")))
        assert (folder / "out" / "told.json").is_file()  # paths of the user hang on the working folder
    assert told[0] == told[1]
    assert Path(told[0]["structures"][0]).resolve() == tiny.root.resolve()


def test_br_112_a_config_outside_a_configs_folder_is_its_own_root(tiny: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    tiny.config.parent.rename(tiny.root / "flat")
    tiny.config = tiny.root / "flat" / "tiny.yaml"
    told = tiny.run(tiny.overlay("structures: ['$@bundle_root']"))
    assert told["structures"] == [str(tiny.root / "flat")]


# BR-115: run ids.


def test_br_115_an_unknown_run_id_lists_the_ids(tiny: Any) -> None:
    error = tiny.refusal(run_id="descrbe")
    assert (error.key, error.found) == ("run_id", "descrbe")
    assert error.expected == "one of: run, describe"
    assert "did you mean 'describe'?" in str(error)


def test_br_115_another_run_id_runs(tiny: Any) -> None:
    with pytest.raises(FileNotFoundError):  # nothing is written: describe only checks
        tiny.run(run_id="describe")


@pytest.mark.parametrize("argument", ["init_id", "final_id"])
def test_br_115_a_misspelt_phase_is_refused_and_nothing_runs(tiny: Any, argument: str) -> None:
    error = tiny.refusal(**{argument: "initialise"})
    assert (error.key, error.found) == (argument, "initialise")
    assert not Path("out").exists()


@pytest.mark.parametrize("value", ["measure()", ["measure()"], [], 3, {"a": 1}])
def test_br_115_a_run_that_would_do_nothing_is_refused(tiny: Any, value: Any) -> None:
    error = tiny.refusal(run=value)
    assert error.key == "run"
    assert error.code == "nothing_to_run"


def test_br_115_a_skipped_initialize_does_not_skip_the_check(tiny: Any) -> None:
    assert tiny.refusal(initialize="nothing", wrokers=2).key == "initialize"


# The rest of the interface.


def test_a_component_made_in_initialize_survives_the_second_check(tiny: Any) -> None:
    tiny.run(
        tiny.overlay(
            """
            state: "$[]"
            initialize: ["$workflow.check('tiny')", "$@state.append(1)"]
            run: ["$workflow.run_stage('tiny', tiny_run, extra=@state)"]
            """
        ),
        surface="true",
    )
    assert json.loads(Path("out/told.json").read_text(encoding="utf-8"))["extra"] == [1]


def test_failed_cases_end_the_program_after_everything_is_written(tiny: Any) -> None:
    tiny.config.write_text(tiny.config.read_text(encoding="utf-8") + "failing: 0\n", encoding="utf-8")
    with pytest.raises(SystemExit, match="2 cases failed"):
        tiny.run(failing=2)
    assert Path("out/told.json").is_file()


class _Summary:
    failed = ("a",)


@pytest.mark.parametrize(
    ("summary", "fails"),
    [(0, False), (1, True), ({"failed": 0}, False), ({"failed": 2}, True), (_Summary(), True), ([], False)],
)
def test_exit_nonzero_if(summary: Any, fails: bool) -> None:
    if fails:
        with pytest.raises(SystemExit, match="failed"):
            workflow.exit_nonzero_if(summary)
    else:
        workflow.exit_nonzero_if(summary)


class _Other(BaseModel):
    model_config = ConfigDict(extra="forbid")


def test_outside_a_workflow_the_error_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(workflow.STAGES, "other", _Other)
    with pytest.raises(SettingsError, match="no MONAI workflow"):
        workflow.check("other")
    with pytest.raises(SettingsError, match="no MONAI workflow"):
        workflow.bundle_root()
    with pytest.raises(SettingsError, match="no MONAI workflow"):
        workflow.exit_nonzero_if()


def test_stages_are_registered_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workflow, "STAGES", {})
    workflow.register_stage("other", _Other)
    workflow.register_stage("other", _Other)
    assert workflow.stage_model("other") is _Other
    with pytest.raises(SettingsError, match="has a model already"):
        workflow.register_stage("other", "elsewhere:Model")
    with pytest.raises(SettingsError, match="one of: other"):
        workflow.stage_model("measur")


def test_a_refusal_of_the_stage_arrives_as_it_is(tiny: Any) -> None:
    error = tiny.refusal(tiny.overlay("run: [\"$workflow.run_stage('tiny', tiny_refuse)\"]"))
    assert isinstance(error, PairingError)
    assert error.case == "c1"


@pytest.mark.parametrize("initialized", [True, False])
def test_the_workflow_class_checks_like_the_command(tiny: Any, initialized: bool) -> None:
    running = ConfigWorkflow(config_file=str(tiny.config), workflow_type=None, surface="true", workers="2")
    if initialized:
        running.initialize()
    running.run()
    assert json.loads(Path("out/told.json").read_text(encoding="utf-8"))["workers"] == 2
    assert running.parser.config["surface"] is True
    assert running.parser.config["margin_mm"] == "$1 + 0.5"  # an expression stays one
    assert running.parser.config["connectivity"] == 26  # a default is there to be referred to
    assert running.parser.get_parsed_content("message") == "workers: 2, surface: True"


def test_json_and_yaml_configs_mean_the_same(tiny: Any) -> None:
    from_yaml = tiny.run(surface="true")
    as_json = tiny.config.with_suffix(".json")
    as_json.write_text(json.dumps(yaml.safe_load(tiny.config.read_text(encoding="utf-8"))), encoding="utf-8")
    tiny.config = as_json
    assert tiny.run(surface=True) == from_yaml


@pytest.mark.slow
def test_br_107_br_108_on_the_command_line(tiny: Any, tmp_path: Path) -> None:
    """One start of the real program for each exit: refused, done, done with failed cases."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path / "modules"), *filter(None, sys.path)])}

    def bundle_run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "monai.bundle", "run", "--config_file", str(tiny.config), *arguments]
        return subprocess.run(command, env=environment, capture_output=True, text=True, encoding="utf-8", check=False)

    refused = bundle_run("--wrokers", "2")
    assert refused.returncode == 1
    last = refused.stderr.strip().splitlines()[-1]
    assert last.startswith("SettingsError: 'wrokers' (did you mean 'workers'?)")
    assert "Traceback" not in refused.stderr

    tiny.config.write_text(tiny.config.read_text(encoding="utf-8") + "failing: 0\n", encoding="utf-8")
    failed = bundle_run("--surface", "false", "--case_id", "7", "--failing", "1")
    assert failed.returncode == 1
    assert failed.stderr.strip().splitlines()[-1].startswith("1 case failed")
    told = json.loads(Path("out/told.json").read_text(encoding="utf-8"))
    assert (told["surface"], told["case_id"]) == (False, "7")
