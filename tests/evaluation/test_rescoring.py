"""Scoring again takes what was asked from the folder, and baselines alone never take the place of a model's results."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from monai_spatialqa.errors import JournalError, SettingsError
from monai_spatialqa.evaluation import EvaluateSettings, rescore, run_evaluation
from tests.evaluation.small_run import right_reply, small_settings, write_small_run
from tests.servers.openai_server import ScriptedServer, reply

FOLDER = Path("evaluation")


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with settings other than the defaults."""
    root = tmp_path_factory.mktemp("finished")
    write_small_run(root)
    with pytest.MonkeyPatch.context() as patch, ScriptedServer(lambda one: reply(right_reply(one.text))) as server:
        patch.chdir(root)
        run_evaluation(
            small_settings(
                server.base_url, preset="reasoned", kind="2d_medical", repeats=2, limit=8, llm={"temperature": 0.7}
            )
        )
    return root


@pytest.fixture(autouse=True)
def asked(finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(finished, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)


def again(**given: Any) -> EvaluateSettings:
    """What the command line gives for ``--rescore true`` and some settings: all others at their defaults."""
    return EvaluateSettings.model_validate({"rescore": True, "draws": 100, "progress": False, **given})


def content() -> dict[str, bytes]:
    return {path.as_posix(): path.read_bytes() for path in FOLDER.rglob("*") if path.is_file()}


def summary() -> Any:
    return json.loads((FOLDER / "summary.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    "given", [{}, {"items": "."}, {"model": "scripted", "views": {"kind": "planes"}, "llm": {"tries": 2}}]
)
def test_what_was_asked_comes_from_the_folder(given: dict[str, Any]) -> None:
    before = content()
    for name in ("scores.jsonl", "blind.scores.jsonl"):
        (FOLDER / name).unlink()
    run_evaluation(again(**given))
    assert content() == before
    assert summary()["settings"]["views"]["kind"] == "planes"


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ({"model": "other"}, "model"),
        ({"preset": "json"}, "preset"),
        ({"kind": "3d_native"}, "kind"),
        ({"views": {"kind": "montage"}}, "views::kind"),
        ({"views": {"tell": {"scale": False}}}, "views::tell::scale"),
        ({"repeats": 3}, "repeats"),
        ({"circular": True}, "circular"),
        ({"blind": "only"}, "blind"),
        ({"limit": 3}, "limit"),
        ({"tasks": ["DIR"]}, "tasks"),
        ({"modality": "MR"}, "modality"),
        ({"llm": {"temperature": 0.0}}, "llm::temperature"),
        ({"llm": {"extra_body": {"top_k": 3}}}, "llm::extra_body::top_k"),
        ({"adapter_options": {"captions": False}}, "adapter_options::captions"),
        ({"structured": True}, "structured"),
    ],
)
def test_a_setting_that_says_something_else_was_asked_is_refused_by_name(given: dict[str, Any], name: str) -> None:
    before = content()
    with pytest.raises(SettingsError, match="asked for otherwise") as caught:
        run_evaluation(again(**given))
    assert caught.value.key == name
    with pytest.raises(SettingsError) as caught:
        rescore(FOLDER, **given)
    assert caught.value.key == name
    assert content() == before


def test_how_it_is_scored_may_differ() -> None:
    run_evaluation(again(strict=True, seed=3, baselines=["oracle"], run_name="strictly", llm={"prices": PRICES}))
    told = summary()
    assert [one["run"] for one in told["results"]] == ["strictly", "strictly (blind)", "oracle"]
    assert (told["settings"]["strict"], told["settings"]["seed"]) == (True, 3)
    assert told["settings"]["views"]["kind"] == "planes"
    assert told["results"][0]["spent"]["cost"] > 0
    rescore(FOLDER, strict=False)
    assert (summary()["settings"]["strict"], summary()["settings"]["seed"]) == (False, 3)


PRICES = {"prompt_per_million": 1.0, "completion_per_million": 1.0}


def test_a_run_that_was_killed_can_be_scored() -> None:
    before = content()
    (FOLDER / "summary.json").unlink()
    run_evaluation(again())
    assert content() == before


def test_scoring_again_in_python_keeps_views_of_which_a_part_is_named() -> None:
    before = content()
    rescore(FOLDER, views={"kind": "planes"})
    assert content() == before


def test_baselines_alone_do_not_take_the_place_of_a_models_results() -> None:
    before = content()
    with pytest.raises(JournalError, match="would be lost") as caught:
        run_evaluation(small_settings())
    assert "--rescore true" in str(caught.value)
    assert content() == before


def test_baselines_can_be_scored_again() -> None:
    run_evaluation(small_settings(output_dir="alone"))
    told = run_evaluation(again(output_dir="alone", baselines=["oracle"]))
    assert [one.run for one in told.results] == ["oracle"]
    with pytest.raises(SettingsError) as caught:
        run_evaluation(again(output_dir="alone", model="scripted"))
    assert caught.value.key == "model"
