"""A run from items to scores against a server that speaks the real protocol: outcomes, resuming, what is sent."""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from monai_spatialqa.errors import JournalError, SettingsError, SpatialQAError
from monai_spatialqa.evaluation import rescore, run_evaluation
from monai_spatialqa.evaluation.scans import can_answer
from monai_spatialqa.models import Adapter, ModelReply, Question, register_adapter
from monai_spatialqa.records import read_records
from monai_spatialqa.records.answer import Answer, Score
from monai_spatialqa.records.item import Item
from monai_spatialqa.rendering.view_settings import ViewSettings
from tests.evaluation.small_run import right_reply, small_settings, write_small_run
from tests.servers.openai_server import Asked, Response, ScriptedServer, problem, reply


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_small_run(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def knowing(asked: Asked) -> Response:
    return reply(right_reply(asked.text))


def answers(folder: str = "evaluation", name: str = "answers.jsonl") -> dict[str, Answer]:
    return {one.answer_id: one for one in read_records(Path(folder) / name, Answer)}


def scores(folder: str = "evaluation", name: str = "scores.jsonl") -> dict[str, Score]:
    return {one.answer_id: one for one in read_records(Path(folder) / name, Score)}


def content(folder: str) -> dict[str, bytes]:
    """Every file that a run leaves, without the sidecar of times."""
    root = Path(folder)
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file() and path.name != "run.jsonl"
    }


def questions(server: ScriptedServer) -> list[Asked]:
    """What was asked to be answered: the run's questions without the checks, which are cut to a few tokens."""
    return [asked for asked in server.chats if "Question case_" in asked.text and asked.body["max_tokens"] > 16]


def test_a_whole_run(capsys: pytest.CaptureFixture[str]) -> None:
    with ScriptedServer(knowing) as server:
        summary = run_evaluation(small_settings(server.base_url))
    assert summary.failed == 0
    assert len(answers()) == len(answers(name="blind.answers.jsonl")) == 12
    assert {one.images for one in answers().values()} == {3}
    assert {one.images for one in answers(name="blind.answers.jsonl").values()} == {0}
    assert [score.score for score in scores().values()] == [1.0] * 12
    by_name = {result.run: result for result in summary.results}
    assert list(by_name) == ["scripted", "scripted (blind)", "random", "always_a", "frequency", "oracle"]
    oracle = by_name["oracle"].paper_average
    assert oracle is not None
    assert oracle.value == 1.0
    assert "evaluation/answers.jsonl" in capsys.readouterr().out
    json.loads(Path("evaluation/summary.json").read_text(), parse_constant=pytest.fail)


def test_nothing_of_the_references_is_sent() -> None:
    with ScriptedServer(knowing) as server:
        run_evaluation(small_settings(server.base_url))
    sent = "\n".join(json.dumps(asked.body) for asked in server.chats)
    assert "1450.5" not in sent
    assert "case_a.nii" not in sent


def test_br_190_a_finished_run_started_again_asks_nothing_and_changes_nothing() -> None:
    with ScriptedServer(knowing) as server:
        run_evaluation(small_settings(server.base_url))
        before, asked = content("evaluation"), len(server.chats)
        run_evaluation(small_settings(server.base_url))
        assert len(server.chats) == asked
    assert content("evaluation") == before


def test_br_189_resuming_asks_exactly_what_failed() -> None:
    def failing(asked: Asked) -> Response:
        return problem(503) if "case_a-ext" in asked.text and asked.images else knowing(asked)

    with ScriptedServer(failing) as server:
        summary = run_evaluation(small_settings(server.base_url))
    assert summary.failed == 1
    assert "1 question has no reply" in summary.exit_message
    assert answers()["case_a-ext"].outcome == "service"
    with ScriptedServer(knowing) as server:
        assert run_evaluation(small_settings(server.base_url)).failed == 0
        assert {asked.text.partition("Question ")[2][:10] for asked in questions(server)} == {"case_a-ext"}
    assert answers()["case_a-ext"].outcome == "answered"


def test_br_192_items_of_equal_wording_are_both_asked() -> None:
    lines = [json.loads(line) for line in Path("items.jsonl").read_text().splitlines()]
    for line in lines:
        line["question"] = "Question case_x: what of the liver?"
    Path("items.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    with ScriptedServer(lambda _: reply("B")) as server:
        run_evaluation(small_settings(server.base_url, blind=False, llm={"cache": "cache.sqlite"}))
    assert len(answers()) == 12


def test_br_193_a_cut_last_line_is_asked_again(caplog: pytest.LogCaptureFixture) -> None:
    with ScriptedServer(knowing) as server:
        run_evaluation(small_settings(server.base_url))
        before = content("evaluation")
        path = Path("evaluation/answers.jsonl")
        path.write_bytes(path.read_bytes()[:-40])
        asked = len(questions(server))
        with caplog.at_level(logging.WARNING):
            run_evaluation(small_settings(server.base_url))
        assert len(questions(server)) - asked in (1, 2)  # the preflight sends the largest question, too
    assert "is cut and is dropped" in caplog.text
    assert content("evaluation") == before


def test_br_165_a_wrong_endpoint_ends_the_run_before_the_first_item() -> None:
    with ScriptedServer(lambda _: problem(404, "no such path")) as server, pytest.raises(SpatialQAError):
        run_evaluation(small_settings(server.base_url))
    assert not questions(server)
    assert answers() == {}
    assert not Path("evaluation/scores.jsonl").exists()


OUTCOMES: dict[str, tuple[str, Any]] = {
    "dir": ("truncated", reply("Let me think", stop="length")),
    "dist": ("refused", reply(None, refusal="I cannot help with that.")),
    "ext": ("empty", reply("")),
    "comp": ("service", problem(500)),
    "vol": ("answered", reply("yes")),
    "volest": ("answered", reply("I see nothing")),
}


def test_every_call_ends_in_its_own_outcome() -> None:
    def script(asked: Asked) -> Response:
        for name, (_, response) in OUTCOMES.items():
            if f"case_a-{name}:" in asked.text and asked.images:
                return response
        return knowing(asked)

    with ScriptedServer(script) as server:
        summary = run_evaluation(small_settings(server.base_url))
    found = answers()
    assert {name: found[f"case_a-{name}"].outcome for name in OUTCOMES} == {
        name: outcome for name, (outcome, _) in OUTCOMES.items()
    }
    assert found["case_a-dir"].reply == "Let me think"
    assert summary.failed == 1
    assert [scores()[f"case_a-{name}"].score for name in OUTCOMES] == [0, 0, 0, 0, 1, 0]
    assert scores()["case_a-volest"].reading.reason == "no_answer"
    assert all(score.score == 1 for name, score in scores().items() if name.startswith("case_b"))


def test_a_malformed_structured_reply_is_an_outcome_of_its_own() -> None:
    def script(asked: Asked) -> Response:
        if asked.schema is None:
            return reply("OK")
        if "case_a-dir:" in asked.text:
            return reply("certainly not JSON")
        if "value" in asked.schema["properties"]:
            return reply({"value": 1450.5, "unit": "ml"})
        return reply({"answer": right_reply(asked.text)})

    with ScriptedServer(script) as server:
        run_evaluation(small_settings(server.base_url, structured=True, preset="json", blind=False))
    assert answers()["case_a-dir"].outcome == "malformed"
    assert answers()["case_a-dir"].reply == "certainly not JSON"
    assert Counter(score.score for score in scores().values()) == {1.0: 11, 0.0: 1}
    assert {one.reply_format for one in answers().values()} == {"json"}


def test_a_server_that_drops_images_ends_the_run() -> None:
    with ScriptedServer(knowing, tokens_per_image=0) as server, pytest.raises(SpatialQAError, match="drops images"):
        run_evaluation(small_settings(server.base_url))
    assert answers() == {}


def test_a_server_that_dies_is_given_up_and_the_rest_is_asked_later() -> None:
    with ScriptedServer(lambda asked: problem(503) if len(questions(server)) > 3 else knowing(asked)) as server:
        summary = run_evaluation(small_settings(server.base_url, circular=True, repeats=2))
    assert summary.asked is not None
    assert summary.asked.stopped is not None
    assert summary.asked.calls < 40
    assert "given up after 20 failed calls" in summary.exit_message
    with ScriptedServer(knowing) as server:
        assert run_evaluation(small_settings(server.base_url, circular=True, repeats=2)).failed == 0


def test_a_scan_that_cannot_be_read_leaves_out_its_own_questions() -> None:
    Path("ct/case_a.nii").write_bytes(b"no scan")
    with ScriptedServer(knowing) as server:
        summary = run_evaluation(small_settings(server.base_url))
    assert summary.failed == 6
    assert "case_a" in summary.exit_message
    assert {one.partition("-")[0] for one in answers()} == {"case_b"}
    assert len(answers(name="blind.answers.jsonl")) == 12
    (told,) = json.loads(Path("evaluation/summary.json").read_text())["failed_cases"].values()
    assert told["file"] == "ct/case_a.nii"


def test_circular_asks_every_rotation_and_repeats_are_asked_apart() -> None:
    with ScriptedServer(knowing) as server:
        run_evaluation(small_settings(server.base_url, circular=True, repeats=2, blind=False))
    found = answers()
    assert len(found) == 2 * 2 * (4 + 4 + 3 + 2 + 1 + 1)
    assert found["case_a-ext~1.1"].options == ["22 mm", "10 mm", "15 mm"]
    assert [score.reading.letter for name, score in scores().items() if "a-ext" in name] == ["B"] * 6
    (model, *_) = json.loads(Path("evaluation/summary.json").read_text())["results"]
    assert model["circular_accuracy"]["value"] == model["rotation_consistency"]["value"] == 1.0


def test_other_settings_in_the_same_folder_are_refused_or_replaced() -> None:
    with ScriptedServer(knowing) as server:
        run_evaluation(small_settings(server.base_url))
        with pytest.raises(JournalError, match="other settings"):
            run_evaluation(small_settings(server.base_url, preset="reasoned"))
        run_evaluation(small_settings(server.base_url, preset="reasoned", overwrite=True))
    assert {one.preset for one in answers().values()} == {"reasoned"}
    assert len(answers()) == 12


def test_rescoring_asks_nothing_and_gives_the_same_bytes() -> None:
    with ScriptedServer(knowing) as server:
        run_evaluation(
            small_settings(server.base_url, llm={"prices": {"prompt_per_million": 1, "completion_per_million": 2}})
        )
    before = content("evaluation")
    Path("evaluation/scores.jsonl").unlink()
    rescore("evaluation")
    assert content("evaluation") == before


def test_rescoring_without_answers_says_so() -> None:
    with pytest.raises(SettingsError, match="nothing to score again"):
        run_evaluation(small_settings("http://127.0.0.1:9/v1", rescore=True))


def test_a_dry_run_counts_and_asks_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    summary = run_evaluation(small_settings("http://127.0.0.1:9/v1", circular=True, dry_run=True))
    assert summary.estimate is not None
    assert (summary.estimate.calls, summary.estimate.images) == (60, 90)
    assert "60 calls" in capsys.readouterr().out
    assert not Path("evaluation").exists()


def test_without_a_model_the_baselines_are_scored() -> None:
    summary = run_evaluation(small_settings())
    assert [result.run for result in summary.results] == ["random", "always_a", "frequency", "oracle"]
    assert sorted(path.name for path in Path("evaluation/baselines").iterdir())[:2] == [
        "always_a.answers.jsonl",
        "always_a.scores.jsonl",
    ]
    assert not Path("evaluation/answers.jsonl").exists()


def test_blind_only_sends_no_images_and_needs_no_scan() -> None:
    Path("ct/case_a.nii").unlink()
    with ScriptedServer(knowing, tokens_per_image=0) as server:
        summary = run_evaluation(small_settings(server.base_url, blind="only"))
    assert summary.failed == 0
    assert not [asked for asked in server.chats if asked.images]
    assert summary.results[0].kind == "text_only"


def test_br_200_the_window_shapes_what_is_sent_and_is_told_of_the_run() -> None:
    pictures, views = [], []
    for window in ("soft_tissue", "bone"):
        with ScriptedServer(knowing) as server:
            summary = run_evaluation(
                small_settings(server.base_url, views={"kind": "planes", "ct_window": window}, output_dir=window)
            )
            pictures.append(next(asked.images for asked in questions(server) if asked.images))
        views.append(str(summary.results[0].views))
    assert pictures[0] != pictures[1]
    assert "width 400 HU" in views[0]
    assert views[0] != views[1]


def test_br_203_the_prompt_gives_the_physical_size_or_numbers_are_not_asked() -> None:
    with ScriptedServer(knowing) as server:
        run_evaluation(small_settings(server.base_url))
        assert all(" mm" in asked.text for asked in questions(server) if asked.images)
        hidden = {"kind": "planes", "tell": {"scale": False}}
        run_evaluation(small_settings(server.base_url, views=hidden, output_dir="hidden"))
    summary = json.loads(Path("hidden/summary.json").read_text())
    assert summary["unanswerable"] == [f"case_{case}-{task}" for case in "ab" for task in ("dist", "ext", "volest")]
    assert summary["results"][0]["counts"]["items"] == 6


@pytest.mark.parametrize(
    ("question", "options", "answerable"),
    [
        ("What is the volume of the liver?", ["less than 900 ml", "900 ml or more"], False),
        ("How many times as large as the spleen is the liver?", ["2 to 3 times", "more than 3 times"], True),
        ("Is the liver wider than 20 cm?", ["yes", "no"], False),
        ("Which share of the kidney is the tumour?", ["less than 10 %", "10 % or more"], True),
    ],
)
def test_br_203_choices_between_lengths_or_volumes_need_a_scale(question, options, answerable) -> None:
    item = next(read_records(Path("items.jsonl"), Item)).model_copy(
        update={"format": "mca", "question": question, "options": options}
    )
    assert can_answer(item, ViewSettings(kind="planes", tell={"scale": False})) is answerable
    assert can_answer(item, ViewSettings(kind="planes"))


def test_an_unknown_modality_is_refused_before_anything_is_asked() -> None:
    Path("items.jsonl").write_text(Path("items.jsonl").read_text().replace('"modality":"CT"', '"modality":null'))
    with ScriptedServer(knowing) as server:
        with pytest.raises(SettingsError, match="modality"):
            run_evaluation(small_settings(server.base_url))
        assert not server.chats
        assert run_evaluation(small_settings(server.base_url, modality="CT")).failed == 0


def test_abstention_is_offered_where_it_is_set() -> None:
    with ScriptedServer(lambda _: reply("It cannot be determined.")) as server:
        summary = run_evaluation(small_settings(server.base_url, abstain=True, blind=False))
        assert all("cannot be determined" in asked.text for asked in questions(server))
    assert summary.results[0].counts.abstained == 12


def test_double_ids_are_refused() -> None:
    Path("items.jsonl").write_text(Path("items.jsonl").read_text() * 2)
    with pytest.raises(JournalError, match="not unique"):
        run_evaluation(small_settings())


def test_answers_of_items_that_are_not_chosen_stay_and_are_not_counted() -> None:
    with ScriptedServer(knowing) as server:
        run_evaluation(small_settings(server.base_url, blind=False))
        summary = run_evaluation(small_settings(server.base_url, blind=False, limit=5))
    assert summary.results[0].counts.unknown == []
    assert summary.results[0].counts.items == 5
    assert len(answers()) == 12


def test_a_dry_run_needs_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    prices = {"prompt_per_million": 2.0, "completion_per_million": 8.0, "currency": "EUR"}
    summary = run_evaluation(small_settings(None, model="any", dry_run=True, llm={"prices": prices}))
    assert summary.estimate is not None
    assert (summary.estimate.currency, summary.estimate.cost is not None) == ("EUR", True)
    with pytest.raises(SpatialQAError, match="OPENAI_API_KEY"):
        run_evaluation(small_settings(None, model="any"))


class Stubborn(Adapter):
    """An adapter of one's own that always says the same."""

    name = "stubborn"
    kind = "3d_native"

    def __init__(self, options: Mapping[str, Any]) -> None:
        self.letter = options["letter"]

    async def answer(self, batch: Sequence[Question]) -> list[ModelReply]:
        return [ModelReply("answered", self.letter) for _ in batch]

    def describe(self) -> dict[str, Any]:
        return {"letter": self.letter}


def test_an_adapter_of_ones_own_is_asked_and_its_options_shape_the_answers() -> None:
    register_adapter("stubborn", Stubborn, replace=True)
    summary = run_evaluation(small_settings(adapter="stubborn", adapter_options={"letter": "B"}))
    assert [result.run for result in summary.results[:2]] == ["stubborn", "stubborn (blind)"]
    assert {one.kind for one in answers().values()} == {"3d_native"}
    with pytest.raises(JournalError, match="other settings"):
        run_evaluation(small_settings(adapter="stubborn", adapter_options={"letter": "A"}))
    with pytest.raises(SettingsError, match="dry_run"):
        run_evaluation(small_settings(adapter="stubborn", adapter_options={"letter": "B"}, dry_run=True))
