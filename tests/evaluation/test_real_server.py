"""Whole runs against a real server and a real model, far too small to be right: every reply must end honestly."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from monai_spatialqa.errors import SpatialQAError
from monai_spatialqa.evaluation import EvaluateSettings, run_evaluation
from monai_spatialqa.report import ReportSettings, run_report
from tests.evaluation.small_run import small_settings, write_small_run
from tests.evaluation.test_asking import answers, content, scores
from tests.servers.llama_server import LlamaServer

pytestmark = [pytest.mark.extra, pytest.mark.slow]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_small_run(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def settings(server: LlamaServer, **more: object) -> EvaluateSettings:
    llm = {"concurrency": 1, "max_tokens": 24, "timeout_seconds": 300.0, "extra_body": {"cache_prompt": False}}
    return small_settings(server.base_url, model=server.model, llm=llm, **more)


def test_a_text_model_is_asked_blind_and_reported(llama_server: LlamaServer) -> None:
    summary = run_evaluation(settings(llama_server, blind="only", output_dir="run"))
    assert summary.failed == 0
    kept = answers("run", "blind.answers.jsonl")
    assert len(kept) == 12
    assert {one.outcome for one in kept.values()} <= {"answered", "truncated", "empty"}
    assert all(one.usage.prompt_tokens and one.usage.prompt_tokens > 30 for one in kept.values())
    counts = summary.results[0].counts
    assert counts.read + counts.abstained + counts.unread + sum(counts.failed.values()) == 12
    before = content("run")
    assert run_evaluation(settings(llama_server, blind="only", output_dir="run")).asked.calls == 0  # type: ignore[union-attr]
    assert content("run") == before
    page, *_ = run_report(ReportSettings(runs=["run"], pictures=False))
    assert llama_server.model in page.read_text(encoding="utf-8")


def test_a_structured_run_reads_every_reply(llama_server: LlamaServer) -> None:
    run_evaluation(settings(llama_server, blind="only", preset="json", structured=True, limit=6))
    found = scores(name="blind.scores.jsonl")
    by_rule = {score.reading.rule for score in found.values() if score.valid}
    assert by_rule == {"json"}
    assert sum(score.valid for score in found.values()) >= 5


def test_a_model_that_takes_images_is_shown_them(llama_image_server: LlamaServer) -> None:
    summary = run_evaluation(settings(llama_image_server, limit=4))
    assert summary.failed == 0
    seen, blind = answers(), answers(name="blind.answers.jsonl")
    assert {one.images for one in seen.values()} == {3}
    for name, answer in seen.items():
        assert (answer.usage.prompt_tokens or 0) > (blind[name].usage.prompt_tokens or 0) + 3 * 10
    assert [result.run for result in summary.results[:2]] == [
        llama_image_server.model,
        f"{llama_image_server.model} (blind)",
    ]
    json.loads(Path("evaluation/summary.json").read_text(), parse_constant=pytest.fail)


def test_a_text_model_cannot_be_shown_images(llama_server: LlamaServer) -> None:
    with pytest.raises(SpatialQAError):
        run_evaluation(settings(llama_server))
    assert answers() == {}
