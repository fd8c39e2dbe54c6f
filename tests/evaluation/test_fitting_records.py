"""Records that do not belong together are found before anything is asked; which items stand for all of them."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from monai_spatialqa.errors import JournalError, ScoringError, SpatialQAError
from monai_spatialqa.evaluation import run_evaluation
from monai_spatialqa.evaluation.matching import keyed
from monai_spatialqa.evaluation.spreading import spread
from monai_spatialqa.records import read_records
from monai_spatialqa.records.answer import Answer
from tests.evaluation.phantom_items import made, phantom_items, phantom_references
from tests.evaluation.small_run import right_reply, small_settings, write_small_run
from tests.servers.openai_server import Asked, Response, ScriptedServer, reply

ANSWERS = Path("evaluation/answers.jsonl")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_small_run(tmp_path)
    monkeypatch.chdir(tmp_path)


def knowing(asked: Asked) -> Response:
    return reply(right_reply(asked.text))


def edit(path: str, record_id: str, **fields: Any) -> None:
    """Change fields of the record of an item."""
    lines = [json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines()]
    for line in lines:
        line.update(fields if line["item_id"] == record_id else {})
    Path(path).write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


@pytest.mark.parametrize(
    ("item", "fields", "key", "found"),
    [
        ("case_a-ext", {"answer": "Z"}, "answer", "Z"),
        ("case_a-ext", {"answer": "A"}, "answer_text", "A: 15 mm"),
        ("case_a-ext", {"answer_text": "22 mm"}, "answer_text", "B: 22 mm"),
        ("case_a-vol", {"answer": "no"}, "answer_text", "no: yes"),
        ("case_a-volest", {"answer_value": 0.0}, "answer_value", "0"),
        ("case_a-volest", {"answer_value": None}, "answer_value", "None ml"),
        ("case_a-volest", {"answer_value": 145.05}, "answer", "1450.5"),
        ("case_a-volest", {"answer_text": "1450.5 mm3"}, "answer_text", "1450.5 mm3"),
        ("case_a-volest", {"answer_text": "1450.5 mm"}, "answer_text", "1450.5 mm"),
        ("case_a-volest", {"answer": "large"}, "answer", "large"),
    ],
)
def test_a_reference_that_contradicts_its_item_is_refused_before_anything_is_asked(item, fields, key, found) -> None:
    edit("references.jsonl", item, **fields)
    with ScriptedServer(knowing) as server, pytest.raises(ScoringError) as caught:
        run_evaluation(small_settings(server.base_url))
    assert not server.asked
    assert (caught.value.case, caught.value.key, caught.value.found) == (item, key, found)
    assert caught.value.file == "references.jsonl"
    assert caught.value.expected


@pytest.mark.parametrize("text", ["1.4505 l", "1450 ml", "1,450 cm3", "about 1451"])
def test_a_rounded_value_in_another_unit_is_the_same(text: str) -> None:
    item, reference = made("one", 1450.5)
    keyed([item], [reference.model_copy(update={"answer_text": text})])
    with pytest.raises(ScoringError, match="contradicts itself"):
        keyed([item], [reference.model_copy(update={"answer_text": text.replace("1", "2", 1)})])


def test_generated_references_fit_their_items() -> None:
    items = phantom_items()
    assert len(keyed(items, phantom_references())) == len(items)


def test_references_of_options_in_another_order_are_refused() -> None:
    """The same question of another seed has the same id; its letter means another option."""
    lines = [json.loads(line) for line in Path("items.jsonl").read_text(encoding="utf-8").splitlines()]
    edit("items.jsonl", "case_a-dir", options=lines[0]["options"][::-1])
    with pytest.raises(ScoringError, match="not that of the option"):
        run_evaluation(small_settings())


def test_an_empty_option_is_refused() -> None:
    edit("items.jsonl", "case_a-comp", options=["the liver", " "])
    with pytest.raises(JournalError, match="options: one is empty"):
        run_evaluation(small_settings())


def answered(**more: Any) -> list[dict[str, Any]]:
    """The lines of a finished run."""
    with ScriptedServer(knowing) as server:
        run_evaluation(small_settings(server.base_url, blind=False, **more))
    return [json.loads(line) for line in ANSWERS.read_text(encoding="utf-8").splitlines()]


def start_again(**more: Any) -> Any:
    with ScriptedServer(knowing) as server:
        return run_evaluation(small_settings(server.base_url, blind=False, **more))


@pytest.mark.parametrize("more", [{}, {"rescore": True}])
def test_two_replies_to_one_question_are_refused_with_their_lines(more: dict[str, Any]) -> None:
    first = answered()[0]
    with ANSWERS.open("a", encoding="utf-8") as file:
        file.write(json.dumps(first | {"reply": "C"}) + "\n")
    before = ANSWERS.read_bytes()
    with pytest.raises(JournalError, match="not alike") as caught:
        start_again(**more)
    assert (caught.value.key, caught.value.found) == ("line 13", "another answer than in line 1")
    assert ANSWERS.read_bytes() == before


def test_a_reply_after_a_failed_call_is_what_a_killed_run_leaves() -> None:
    lines = answered()
    failed = lines[0] | {"outcome": "service", "reply": None, "problem": "busy"}
    before = ANSWERS.read_bytes()
    ANSWERS.write_text("".join(json.dumps(line) + "\n" for line in [failed, *lines[1:], lines[0]]), encoding="utf-8")
    assert start_again(rescore=True).failed == 0
    assert start_again().failed == 0
    assert ANSWERS.read_bytes() == before


def test_an_id_that_is_not_of_its_item_is_refused() -> None:
    answered()
    edit(str(ANSWERS), "case_a-ext", answer_id="ghost")
    with pytest.raises(JournalError, match="not that of its item") as caught:
        start_again()
    assert (caught.value.found, caught.value.expected) == ("ghost", "case_a-ext")


def test_answers_to_unknown_items_are_told(caplog: pytest.LogCaptureFixture) -> None:
    lines = answered()
    with ANSWERS.open("a", encoding="utf-8") as file:
        file.write(json.dumps(lines[0] | {"item_id": "ghost", "answer_id": "ghost"}) + "\n")
    result = start_again().results[0]
    assert result.counts.unknown == ["ghost"]
    assert result.counts.answers == 12
    assert "not scored: ghost" in caplog.text


def test_answers_of_other_settings_to_items_that_are_not_asked_now_are_refused() -> None:
    answered(tasks=["DIR"])
    with pytest.raises(JournalError, match="other settings"):
        start_again(tasks=["VOL"], preset="reasoned")
    start_again(tasks=["VOL"], preset="reasoned", overwrite=True)
    assert {one.preset for one in read_records(ANSWERS, Answer)} == {"reasoned"}


def test_a_limit_takes_as_many_of_each_task_and_case() -> None:
    sizes = {"DIR": 9, "VOL": 2, "COMP": 20}
    items = [
        made(f"{task}-{case}-{number}", "B", task=task, case_id=case)[0]
        for task, size in sizes.items()
        for case in ("one", "two", "three")
        for number in range(size)
    ]
    chosen = spread(items, 18)
    assert Counter(item.task for item in chosen) == {"DIR": 6, "VOL": 6, "COMP": 6}
    assert Counter((item.task, item.case.case_id) for item in chosen)["COMP", "two"] == 2
    assert Counter(item.task for item in spread(items, 60)) == {"DIR": 27, "VOL": 6, "COMP": 27}
    assert spread(items, 18) == chosen
    assert [len(spread(items, most)) for most in (1, 2, 7, 92, 93, 94)] == [1, 2, 7, 92, 93, 93]
    assert len({item.case.case_id for item in spread(items, 6) if item.task == "DIR"}) == 2


def test_a_limited_run_has_every_task() -> None:
    with ScriptedServer(knowing) as server:
        run_evaluation(small_settings(server.base_url, limit=8, blind=False))
    tasks = Counter(one.item_id.partition("-")[2] for one in read_records(ANSWERS, Answer))
    assert set(tasks) == {"dir", "dist", "ext", "vol", "comp", "volest"}
    assert set(tasks.values()) == {1, 2}


def test_more_than_is_there_is_everything() -> None:
    items = [made("a", "B")[0], made("b", "B")[0]]
    assert spread(items, 5) == items
    with pytest.raises(SpatialQAError):
        run_evaluation(small_settings(tasks=[], limit=5))
