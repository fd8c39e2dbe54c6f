"""The generate stage through its bundle config: files, quotas, seeds, refusals, what guessing would score."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from monai_spatialqa.generation.case import items_of_case
from monai_spatialqa.generation.settings import GenerateSettings
from monai_spatialqa.generation.summary import text_only_shares
from monai_spatialqa.items.assemble import ItemContext
from monai_spatialqa.items.shuffle import reshuffled, with_key_at
from monai_spatialqa.records import Measurement
from monai_spatialqa.records.item import Item, ItemCase, Reference


def items_of(record: Measurement, **settings: Any) -> list[tuple[Item, Reference]]:
    from monai_spatialqa.anatomy import load_label_map

    chosen = GenerateSettings(measurements="x", **settings)
    context = ItemContext(ItemCase(case_id=record.case_id), chosen.seed)
    return items_of_case(record, load_label_map("totalsegmentator_v2"), context, chosen).pairs


def test_items_and_references_are_two_files(run_generate, write_measurements, example, tmp_path):
    items, references = run_generate(measurements=str(write_measurements(example)))
    assert [item["item_id"] for item in items] == [reference["item_id"] for reference in references]
    assert items == sorted(items, key=lambda item: item["item_id"])
    assert len(items) == 30
    assert {"DIST"} <= {item["task"] for item in items}
    for item, reference in zip(items, references, strict=True):
        Item.model_validate(item)
        Reference.model_validate(reference)
        assert "answer" not in item
        assert "evidence" not in item
        if item["format"] == "mca":
            assert item["options"]["ABCDEFGH".index(reference["answer"])] == reference["answer_text"]
            told = {wrong["text"] for wrong in reference["distractors"]}
            assert told == set(item["options"]) - {reference["answer_text"]}
            assert all(wrong["why"] for wrong in reference["distractors"])
    summary = json.loads((tmp_path / "out" / "summary.json").read_text(encoding="utf-8"))
    assert summary["items"] == 30
    assert summary["left_out"]["absent"] > 0
    assert summary["left_out"]["truncated"] > 0


def test_two_runs_are_the_same_bytes_and_another_seed_is_not(run_generate, write_measurements, example, tmp_path):
    path = str(write_measurements(example))
    for name, seed in (("a", 0), ("b", 0), ("c", 1)):
        run_generate(measurements=path, output_dir=name, seed=seed)
    read = {name: (tmp_path / name / "items.jsonl").read_bytes() for name in "abc"}
    assert read["a"] == read["b"] != read["c"]


def test_br_174_zero_is_a_seed(example):
    assert items_of(example, seed=0) == items_of(example, seed=0)
    assert items_of(example, seed=0) != items_of(example, seed=1)


def test_the_order_of_the_cases_changes_nothing(run_generate, write_measurements, phantom_records, tmp_path):
    one = write_measurements(*phantom_records)
    other = write_measurements(*reversed(phantom_records), name="other.jsonl")
    for name, path in (("one", one), ("other", other)):
        run_generate(measurements=str(path), output_dir=name)
    for name in ("items.jsonl", "references.jsonl", "summary.json"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "other" / name).read_bytes()


def test_quotas(example):
    pairs = items_of(example, items_per_case=12, items_per_subtask=1, items_per_structure=2)
    assert len(pairs) <= 12
    assert max(Counter(item.subtask for item, _ in pairs).values()) == 1
    assert max(Counter(item.structures[0] for item, _ in pairs).values()) <= 2
    only = items_of(example, subtasks=["closest_of"], items_per_subtask=3)
    assert [item.subtask for item, _ in only] == ["closest_of"] * 3


def test_br_171_keys_are_near_uniform_over_the_letters(example, phantom_records):
    letters: Counter[str] = Counter()
    for record in (example, *phantom_records):
        for seed in range(4):
            letters.update(ref.answer for item, ref in items_of(record, seed=seed) if item.format == "mca")
    total = sum(letters.values())
    assert total >= 300
    expected = total / 4
    statistic = sum((letters[letter] - expected) ** 2 / expected for letter in "ABCD")
    assert statistic < 7.815  # chi-square, 3 degrees of freedom, 95 %


def test_the_key_follows_its_text(example):
    for item, reference in items_of(example):
        if item.format != "mca":
            continue
        for letter in "ABCD"[: len(item.options)]:
            moved, told = with_key_at(item, reference, letter)
            assert told.answer == letter
            assert moved.options["ABCD".index(letter)] == reference.answer_text
        moved, told = reshuffled(item, reference, random.Random(3))
        assert moved.options["ABCD".index(told.answer)] == reference.answer_text
        assert sorted(moved.options) == sorted(item.options)


def test_a_case_without_a_measurement_is_skipped(run_generate, write_measurements, example, tmp_path):
    failed = Measurement.model_validate(
        {
            "case_id": "broken",
            "source": {"path": None, "sha256": None},
            "errors": [{"code": "empty_file", "problem": "the file is empty"}],
        }
    )
    items, _ = run_generate(measurements=str(write_measurements(example, failed)))
    assert items
    summary = json.loads((tmp_path / "out" / "summary.json").read_text(encoding="utf-8"))
    assert summary["skipped"] == ["broken"]


def test_what_the_datalist_says_goes_into_the_items(run_generate, write_measurements, phantom_records):
    path = write_measurements(phantom_records[0])
    entry = {
        "case_id": phantom_records[0].case_id,
        "label": "x",
        "patient_id": "p7",
        "modality": "CT",
        "licence": "CC BY 4.0",
    }
    path.with_name("datalist.json").write_text(json.dumps({"training": [entry]}), encoding="utf-8")
    items, _ = run_generate(measurements=str(path.parent), split="test")
    assert {item["case"]["patient_id"] for item in items} == {"p7"}
    assert {item["licence"] for item in items} == {"CC BY 4.0"}
    assert {item["split"] for item in items} == {"test"}


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({}, "measurements"),
        ({"measurements": "nowhere.jsonl"}, "nowhere.jsonl"),
        ({"measurements": "x", "subtasks": ["telepathy"]}, "telepathy"),
        ({"measurements": "x", "tasks": ["XYZ"]}, "tasks"),
        ({"measurements": "x", "options": 1}, "options"),
        ({"measurements": "x", "sed": 1}, "sed"),
    ],
)
def test_unusable_settings_name_the_key(run_generate, settings, told):
    with pytest.raises(RuntimeError) as caught:
        run_generate(**settings)
    error: BaseException = caught.value
    while error.__cause__ is not None:
        error = error.__cause__
    assert told in str(error)


@pytest.mark.parametrize("preset", ["strict", "paper"])
def test_presets(run_generate, write_measurements, example, preset):
    overlay = Path(__file__).parents[2] / "configs" / "presets" / f"{preset}.yaml"
    items, references = run_generate(overlay, measurements=str(write_measurements(example)))
    text = json.dumps(items)
    assert (" cm" in text) == (preset == "paper")
    margins = [reference["margin"] for reference in references if reference["margin"] is not None]
    assert preset == "paper" or min(margins) > 1
    assert "voxel" not in text


def test_text_only_shares_of_made_up_choices():
    def choice(number: int, answer: str, options: list[str]) -> tuple[Item, Reference]:
        case = ItemCase(case_id="c")
        item = Item.model_validate(
            {
                "item_id": f"i{number}",
                "task": "COMP",
                "subtask": "s",
                "format": "mca",
                "question": "q",
                "options": options,
                "structures": ["a"],
                "case": case.model_dump(),
                "provenance": {"seed": 0},
            }
        )
        evidence = {"tool": "volume", "arguments": {"structure": "a"}, "value": 1.0, "measurement_id": "c"}
        reference = Reference.model_validate(
            {
                "item_id": f"i{number}",
                "answer": answer,
                "answer_text": options["ABCD".index(answer)],
                "evidence": [evidence],
            }
        )
        return item, reference

    pairs = [choice(1, "A", ["liver", "x"]), choice(2, "B", ["xy", "liver"]), choice(3, "A", ["liver", "longest"])]
    shares = text_only_shares(pairs)
    assert shares["majority_letter"] == pytest.approx(2 / 3)
    assert shares["frequent_answer"] == 1.0
    assert shares["longest_option"] == pytest.approx(2 / 3)


def test_nothing_in_an_item_tells_its_key(example):
    """The structures of a choice do not stand in the order of the answer, nor the key in front of the others."""
    from monai_spatialqa.items.wording import readable_name

    first = tries = 0
    for seed in range(8):
        for item, reference in items_of(example, seed=seed):
            named = [readable_name(name) for name in item.structures]
            if item.format != "mca":
                continue
            assert ", ".join(named) != reference.answer_text or item.structures == sorted(item.structures)
            if set(item.options) == set(named):
                tries += 1
                first += named[0] == reference.answer_text
    assert tries > 30
    assert first / tries < 0.5


def test_the_run_has_as_many_yes_as_no_and_every_interval(run_generate, write_measurements, example, phantom_records):
    run_generate(measurements=str(write_measurements(example, *phantom_records)))
    summary = json.loads(Path("out/summary.json").read_text(encoding="utf-8"))
    letters, words, places = (summary[name] for name in ("key_letters", "yes_no", "interval_places"))
    assert max(letters.values()) - min(letters.values()) <= 1
    assert sum(words.values()) > 20
    assert abs(words["yes"] - words["no"]) <= 4
    assert set(places) == set("ABCD")


def test_quotas_over_the_run(run_generate, write_measurements, phantom_records):
    path = write_measurements(*phantom_records)
    run_generate(measurements=str(path), run_items_per_task=7, run_items_per_structure=3)
    summary = json.loads(Path("out/summary.json").read_text(encoding="utf-8"))
    assert {sum(subtasks.values()) for subtasks in summary["tasks"].values()} == {7}
    assert max(summary["structures"].values()) == 3


@pytest.mark.parametrize(("said", "told"), [(None, "CT"), ("MR", "MR")])
def test_the_modality_of_the_datalist_counts_before_the_setting(
    run_generate, write_measurements, phantom_records, said, told
):
    path = write_measurements(phantom_records[0])
    entry = {"case_id": phantom_records[0].case_id, "label": "x", "modality": said}
    path.with_name("datalist.json").write_text(json.dumps({"training": [entry]}), encoding="utf-8")
    items, _ = run_generate(measurements=str(path.parent), modality="CT")
    assert {item["case"]["modality"] for item in items} == {told}


def test_no_question_is_made_twice(example, phantom_records):
    for record in (example, *phantom_records):
        for seed in range(3):
            many = items_of(record, seed=seed, items_per_subtask=20, items_per_case=500, items_per_structure=99)
            ids = [item.item_id for item, _ in many]
            assert len(ids) == len(set(ids)) > 30
