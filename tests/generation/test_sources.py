"""What a run is made from, and what is refused before anything is written: cases, label maps, choices, folders."""

from __future__ import annotations

import json

import pytest

import monai_spatialqa as sqa
from monai_spatialqa.anatomy import load_label_map
from monai_spatialqa.errors import LabelMapError, SettingsError, SpatialQAError
from monai_spatialqa.generation import GenerateSettings, LintSettings, run_generation, run_lint


def settings_of(path, tmp_path, **more):
    return GenerateSettings(measurements=str(path), output_dir=str(tmp_path / "made"), progress=False, **more)


@pytest.fixture(scope="session")
def phantom():
    return sqa.make_phantom(3)


@pytest.fixture(scope="session")
def lesions(phantom, tmp_path_factory):
    """A phantom with tumours, measured as questions about lesions need it."""
    _, label = phantom.save(tmp_path_factory.mktemp("lesions"), "three")
    return sqa.measure(label, label_map=phantom.label_map, detail="full", distances="all", case_id="three")


@pytest.mark.parametrize("changed", [False, True])
def test_a_case_that_stands_twice_is_refused_by_name(write_measurements, phantom_records, tmp_path, changed):
    first, second, *_ = phantom_records
    again = second.model_copy(update={"case_id": first.case_id}) if changed else first
    path = write_measurements(first, again)
    with pytest.raises(SpatialQAError, match=f"ids are not unique.*{first.case_id}") as caught:
        run_generation(settings_of(path, tmp_path))
    assert caught.value.code == "duplicate_id"
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize("case_id", ["", "  ", "one\ntwo", "a\tb"])
def test_a_case_without_a_usable_id_is_refused(write_measurements, phantom_records, tmp_path, case_id):
    path = write_measurements(phantom_records[0].model_copy(update={"case_id": case_id}))
    with pytest.raises(SpatialQAError, match="no usable id"):
        run_generation(settings_of(path, tmp_path))
    assert not (tmp_path / "made").exists()


def lesion_items(tmp_path):
    rows = [json.loads(line) for line in (tmp_path / "made" / "items.jsonl").read_text("utf-8").splitlines()]
    return [row for row in rows if row["subtask"].startswith("lesion_")]


@pytest.mark.parametrize("form", ["object", "content", "file"])
def test_a_label_map_of_ones_own_makes_questions_about_lesions(write_measurements, lesions, phantom, tmp_path, form):
    content = phantom.label_map.to_content()
    (tmp_path / "mine.json").write_text(json.dumps(content), "utf-8")
    given = {"object": phantom.label_map, "content": content, "file": str(tmp_path / "mine.json")}[form]
    summary = run_generation(settings_of(write_measurements(lesions), tmp_path, label_map=given, items_per_case=60))
    assert summary.label_maps == {}
    assert len({item["subtask"] for item in lesion_items(tmp_path)}) >= 5


def test_a_label_map_that_is_not_shipped_is_told_in_the_summary(write_measurements, lesions, tmp_path, capsys):
    summary = run_generation(settings_of(write_measurements(lesions), tmp_path))
    assert not lesion_items(tmp_path)
    told = "phantom is not shipped: no structure is known to be a tumour; set label_map"
    assert summary.label_maps == {told: 1}
    assert told in capsys.readouterr().out
    assert json.loads((tmp_path / "made" / "summary.json").read_text("utf-8"))["label_maps"] == {told: 1}


def test_a_label_map_of_other_structures_is_refused(write_measurements, phantom_records, tmp_path):
    path = write_measurements(phantom_records[0])
    with pytest.raises(LabelMapError, match=r"does not fit the measurement.*kits23.*totalsegmentator_v2"):
        run_generation(settings_of(path, tmp_path, label_map="kits23"))
    assert not (tmp_path / "made").exists()


def test_a_label_map_that_fits_in_part_is_told(write_measurements, phantom_records, tmp_path):
    record = phantom_records[0]
    known = {one.label: name for name, one in record.structures.items() if one.label}
    some = {label: name for label, name in known.items() if name not in ("liver", "spleen")}
    summary = run_generation(settings_of(write_measurements(record), tmp_path, label_map=some))
    (told,) = summary.label_maps
    assert told.startswith("custom does not fit: structures that it does not name, such as spleen")
    moved = {label + 1000 if name == "liver" else label: name for label, name in known.items()}
    summary = run_generation(settings_of(write_measurements(record), tmp_path, label_map=moved))
    assert summary.label_maps == {"custom does not fit: structures that have another id, such as liver": 1}


@pytest.mark.parametrize(
    ("chosen", "told"),
    [
        ({"tasks": []}, "an empty list makes no questions"),
        ({"subtasks": []}, "an empty list makes no questions"),
        ({"tasks": ["DIR"], "subtasks": ["volume_value"]}, "volume_value is one of VOL; tasks are DIR"),
        ({"tasks": ["DIR"], "subtasks": ["relation", "volume_value"]}, "volume_value is one of VOL"),
    ],
    ids=str,
)
def test_choices_that_make_nothing_are_refused(chosen, told):
    with pytest.raises(ValueError, match=told):
        GenerateSettings(measurements="x", **chosen)
    assert GenerateSettings(measurements="x", tasks=["DIR"], subtasks=["relation"]).chosen == ["relation"]


def test_a_label_map_object_and_its_content_are_the_same_setting():
    label_map = load_label_map("brats2021")
    one, other = (GenerateSettings(measurements="x", label_map=each) for each in (label_map, label_map.to_content()))
    assert one.sha256 == other.sha256
    assert GenerateSettings(measurements="x", label_map={"1": "liver"}).label_map


@pytest.mark.parametrize("below", [False, True])
def test_a_file_where_the_folder_should_be_is_refused(write_measurements, phantom_records, tmp_path, below):
    path = write_measurements(phantom_records[0])
    (tmp_path / "taken").write_text("mine")
    folder = str(tmp_path / "taken" / "deeper") if below else str(tmp_path / "taken")
    items = tmp_path / "items.json"
    items.write_text('[{"question": "How long?", "options": ["1 mm", "2 mm"], "answer": "A"}]')
    with pytest.raises(SettingsError, match=r"into a file.*output_dir.*Next step: choose another output_dir"):
        run_generation(GenerateSettings(measurements=str(path), output_dir=folder, progress=False))
    with pytest.raises(SettingsError, match="into a file"):
        run_lint(LintSettings(items=str(items), output_dir=folder))
    assert (tmp_path / "taken").read_text() == "mine"


def test_the_other_stages_refuse_a_file_for_a_folder_too(tmp_path):
    from monai_spatialqa.evaluation import EvaluateSettings, run_evaluation
    from monai_spatialqa.measurement import MeasureSettings, run_measurement
    from monai_spatialqa.report import write_report

    (tmp_path / "taken").write_text("mine")
    folder = str(tmp_path / "taken")
    with pytest.raises(SettingsError, match="into a file"):
        run_measurement(MeasureSettings(labels=str(tmp_path / "*.nii.gz"), output_dir=folder))
    with pytest.raises(SettingsError, match="into a file"):
        run_evaluation(EvaluateSettings(items=str(tmp_path / "items.jsonl"), model="m", output_dir=folder))
    with pytest.raises(SettingsError, match="into a file"):
        write_report([], folder)


def test_the_summary_names_the_strongest_relation_of_options(write_measurements, phantom_records, tmp_path, capsys):
    summary = run_generation(
        settings_of(
            write_measurements(*phantom_records),
            tmp_path,
            items_per_subtask=40,
            items_per_case=900,
            items_per_structure=99,
        )
    )
    strongest = summary.option_relations
    assert strongest is not None
    assert strongest["items"] >= 20
    assert 0 <= strongest["right"] <= 1
    assert f"right by options alone  {strongest['attack'].replace('_', ' ')}" in capsys.readouterr().out
