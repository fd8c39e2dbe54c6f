"""What comes back from a model is kept whole: rejected texts, reasoning, its name; repeats; batches; names of runs."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from monai_spatialqa.errors import SpatialQAError
from monai_spatialqa.evaluation import run_evaluation
from monai_spatialqa.models import Adapter, ModelReply, Question, register_adapter
from monai_spatialqa.records import read_records
from monai_spatialqa.records.answer import Answer
from monai_spatialqa.report import ReportSettings, run_report
from tests.evaluation.small_run import right_reply, small_settings, write_small_run
from tests.servers.openai_server import Asked, Response, ScriptedServer, reply


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_small_run(tmp_path)
    monkeypatch.chdir(tmp_path)


def knowing(asked: Asked) -> Response:
    return reply(right_reply(asked.text))


def answers(folder: str = "evaluation") -> dict[str, Answer]:
    return {one.answer_id: one for one in read_records(Path(folder) / "answers.jsonl", Answer)}


def test_every_text_of_a_malformed_reply_is_kept() -> None:
    def script(asked: Asked) -> Response:
        if asked.schema is None:
            return reply("OK")
        if "case_a-dir:" in asked.text:
            return reply("still none" if len(asked.messages) > 1 else "no JSON")
        if "value" in asked.schema["properties"]:
            return reply({"value": 1450.5, "unit": "ml"})
        return reply({"answer": right_reply(asked.text)}, reasoning_content="I look at it.")

    with ScriptedServer(script) as server:
        run_evaluation(small_settings(server.base_url, structured=True, preset="json", blind=False))
    malformed = answers()["case_a-dir"]
    assert (malformed.outcome, malformed.rejected, malformed.reply) == ("malformed", ["no JSON"], "still none")
    assert answers()["case_a-ext"].reasoning == "I look at it."


def test_another_name_is_kept_and_told(caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]) -> None:
    def other(asked: Asked) -> Response:
        return reply(right_reply(asked.text), model="other-7b" if "case_a-ext" in asked.text else "scripted")

    with ScriptedServer(other) as server:
        run_evaluation(small_settings(server.base_url, blind=False))
    assert {name for name, one in answers().items() if one.served_model == "other-7b"} == {"case_a-ext"}
    assert answers()["case_b-ext"].served_model is None
    assert caplog.text.count("answers as other-7b") == 1
    assert "asked for scripted, the server answered as other-7b" in capsys.readouterr().out
    assert json.loads(Path("evaluation/summary.json").read_text())["results"][0]["served_models"] == ["other-7b"]
    run_report(ReportSettings(runs=["evaluation"], output_dir="report", pictures=False, draws=100))
    assert "scripted as other-7b" in Path("report/report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(("temperature", "warned"), [(0.0, True), (0.8, False)])
def test_repeats_have_seeds_of_their_own(caplog: pytest.LogCaptureFixture, temperature: float, warned: bool) -> None:
    with ScriptedServer(knowing) as server, caplog.at_level(logging.WARNING):
        run_evaluation(
            small_settings(
                server.base_url, repeats=3, tasks=["DIR"], blind=False, llm={"seed": 5, "temperature": temperature}
            )
        )
    asked = [one for one in server.chats if "Question case_a-dir" in one.text and one.body["max_tokens"] > 16]
    assert {one.body["seed"] for one in asked} == {5, 6, 7}
    assert ("repeats at temperature 0" in caplog.text) is warned


class Batching(Adapter):
    """Answers several questions at once and remembers how it was asked."""

    name = "batching"
    kind = "3d_native"
    asked: list[list[Question]]

    def __init__(self, options: Mapping[str, Any]) -> None:
        self.batch_size = options["size"]
        self.lost = options.get("lost", 0)
        type(self).asked = []

    async def answer(self, batch: Sequence[Question]) -> list[ModelReply]:
        self.asked.append(list(batch))
        return [ModelReply("answered", right_reply(question.prompt)) for question in batch][self.lost :]

    def describe(self) -> dict[str, Any]:
        return {"adapter": "batching"}


def test_an_adapter_gets_batches_of_the_same_sight() -> None:
    register_adapter("batching", Batching, replace=True)
    summary = run_evaluation(small_settings(adapter="batching", adapter_options={"size": 4}))
    assert [len(batch) for batch in Batching.asked] == [4, 2] * 4
    assert all(len({question.images for question in batch}) == 1 for batch in Batching.asked)
    assert summary.failed == 0
    assert summary.results[0].overall.figures["accuracy_all"].value == 1.0
    batched = Path("evaluation/answers.jsonl").read_bytes()
    run_evaluation(small_settings(adapter="batching", adapter_options={"size": 1}, output_dir="single"))
    assert {len(batch) for batch in Batching.asked} == {1}
    assert Path("single/answers.jsonl").read_bytes() == batched


@pytest.mark.parametrize("options", [{"size": 4, "lost": 1}, {"size": 0}])
def test_an_adapter_that_cannot_count_is_an_error(options: dict[str, int]) -> None:
    register_adapter("batching", Batching, replace=True)
    with pytest.raises(SpatialQAError, match="an adapter"):
        run_evaluation(small_settings(adapter="batching", adapter_options=options))
    assert answers() == {}


def test_a_scan_that_cannot_be_shown_leaves_out_its_batches() -> None:
    Path("ct/case_a.nii").write_bytes(b"no scan")
    register_adapter("batching", Batching, replace=True)
    summary = run_evaluation(small_settings(adapter="batching", adapter_options={"size": 4}))
    assert summary.failed == 6
    assert {name.partition("-")[0] for name in answers()} == {"case_b"}


def test_run_names_name_two_runs_of_one_model_everywhere() -> None:
    for name in ("warm", "cold"):
        with ScriptedServer(knowing) as server:
            told = run_evaluation(small_settings(server.base_url, run_name=name, output_dir=name))
        assert [result.run for result in told.results[:2]] == [name, f"{name} (blind)"]
        assert json.loads(Path(name, "summary.json").read_text())["results"][0]["run"] == name
        assert {one.model for one in answers(name).values()} == {"scripted"}
    run_report(ReportSettings(runs=["warm", "cold"], output_dir="report", pictures=False, draws=100))
    report = json.loads(Path("report/report.json").read_text(encoding="utf-8"))
    assert {run["run"] for run in report["runs"] if run["kind"] != "baseline"} == {
        "warm",
        "warm (blind)",
        "cold",
        "cold (blind)",
    }
    assert {frozenset((one["first"], one["second"])) for one in report["comparisons"]} >= {frozenset(("warm", "cold"))}
    assert "warm" in Path("report/report.md").read_text(encoding="utf-8")
