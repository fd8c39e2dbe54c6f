"""Label maps of users: files and dictionaries, the right ones and every wrong one."""

from __future__ import annotations

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monai_spatialqa.anatomy import StructureInfo, load_label_map, shipped_label_maps
from monai_spatialqa.errors import LabelMapError

FULL = """
name: my_labels
source: a clinic
licence: CC0-1.0
structures:
  - {label: 2, name: Kidney left, group: urinary}
  - {label: 1, name: Kidney right, group: urinary}
  - {label: 9, name: nodule A, side: left, partner: nodule B}
  - {label: 8, name: nodule B, side: right}
groups:
  nodules: [nodule A, nodule B]
"""


@pytest.fixture
def load(tmp_path):
    """Write a label map file and load it."""

    def write_and_load(text: str | bytes, name: str = "labels.yaml", **options):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8"))
        return load_label_map(path, **options)

    return write_and_load


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("{1: liver, 2: spleen}", "a.yaml"),
        ("1: liver\n2: spleen\n", "a.yml"),
        ('"1": liver\n"2": spleen\n', "a.yaml"),
        ('{"1": "liver", "2": "spleen"}', "a.json"),
        ('\ufeff{"1": "liver", "2": "spleen"}', "a.json"),
        ("structures: {1: liver, 2: {name: spleen}}", "a.yaml"),
        ('{"structures": [{"label": 1, "name": "liver"}, {"label": 2, "name": "spleen"}]}', "a.json"),
    ],
)
def test_all_forms_say_the_same(load, text, name):
    label_map = load(text, name)
    assert label_map.to_mapping() == {1: "liver", 2: "spleen"}
    assert label_map.name == "a"
    assert label_map.sha256 == load_label_map({1: "liver", 2: "spleen"}).sha256


def test_full_form(load):
    label_map = load(FULL)
    assert (label_map.name, label_map.source, label_map.licence) == ("my_labels", "a clinic", "CC0-1.0")
    assert label_map.by_label(2) == StructureInfo(2, "Kidney left", "left", "Kidney right", "urinary")
    assert label_map.by_name("nodule B").partner == "nodule A"
    assert label_map.group("urinary") == ["Kidney right", "Kidney left"]
    assert label_map.group("nodules") == ["nodule B", "nodule A"]


def test_br_055_two_names_share_an_id_is_refused_before_measuring(load):
    """Usual YAML and JSON loaders keep the last of the two without a word."""
    for text, name in [("11: lung\n11: heart\n", "a.yaml"), ('{"11": "lung", "11": "heart"}', "a.json")]:
        with pytest.raises(LabelMapError) as raised:
            load(text, name)
        error = raised.value
        assert error.code == "duplicate_id"
        assert error.file.endswith(name)
        assert error.key == "id 11"
        assert error.found == "lung and heart"
        assert error.next_step
    with pytest.raises(LabelMapError, match="lung and heart"):
        load_label_map({11: "lung", "11": "heart"})
    with pytest.raises(LabelMapError, match="lung and heart"):
        load("structures: [{label: 11, name: lung}, {label: 11, name: heart}]")


@pytest.mark.parametrize(
    ("text", "code", "told"),
    [
        ("1: liver\n2: liver\n", "duplicate_name", "1 and 2"),
        ("1: liver\n2: Liver\n", "duplicate_name", "1 and 2"),
        ("1: caf\u00e9\n2: cafe\u0301\n", "duplicate_name", "1 and 2"),
        ("0: background\n1: liver\n", "bad_id", "background"),
        ("-1: liver\n", "bad_id", "negative"),
        ("1.5: liver\n", "bad_id", "1.5"),
        ("1.0: liver\n", "bad_id", "1.0"),
        ("1a: liver\n", "bad_id", "1a"),
        ("true: liver\n", "bad_id", "true"),
        ("010: liver\n", "bad_id", "010"),
        ("0x1F: liver\n", "bad_id", "0x1F"),
        ("1_000: liver\n", "bad_id", "1_000"),
        ("1:30: liver\n", "bad_id", "1:30"),
        ("~: liver\n", "bad_id", "~"),
        ("<<: {1: liver}\n", "bad_id", "<<"),
        ("liver: 1\nspleen: 2\n", "bad_id", "turn the entries round"),
        ("name: mine\n1: liver\n", "bad_id", "structures"),
        (f"{2**64}: liver\n", "bad_id", "64 bits"),
        ("9" * 30 + ": liver\n", "bad_id", "64 bits"),
        ("1:\n", "bad_name", "no name"),
        ("1: ''\n", "bad_name", "no name"),
        ("1: null\n", "bad_name", "no name"),
        ("1: ' liver'\n", "bad_name", "spaces"),
        ('1: "liver\\nspleen"\n', "bad_name", "invisible|unprintable"),
        ("1: no\n", "bad_name", "not text"),
        ("1: 2\n3: liver\n", "bad_name", "not text"),
        ("1: [liver]\n", "bad_name", "not text"),
        ("7: label_8\n", "bad_name", "label_7"),
        ("structures: [{label: 1, nmae: liver}]\n", "malformed_label_map", "did you mean name"),
        ("structures: [{label: 1, name: liver, name: spleen}]\n", "malformed_label_map", "twice"),
        ("structures: [{name: liver}]\n", "malformed_label_map", "no label"),
        ("structures: [{label: true, name: liver}]\n", "bad_id", "true"),
        ("structures: [liver]\n", "malformed_label_map", "mapping"),
        ("structures: liver\n", "malformed_label_map", "list"),
        ("structures: {1: liver}\nlicense: MIT\n", "malformed_label_map", "did you mean licence"),
        ("structures: {1: liver}\nname: [a]\n", "malformed_label_map", "not text"),
        ("structures: {1: {name: kidney_left, side: right}}\n", "bad_side", "contradicts"),
        ("structures: {1: {name: liver, side: middle}}\n", "bad_side", "middle"),
        ("structures: {1: {name: a, side: left, partner: b}}\n", "bad_partner", "not in the label map"),
        ("structures: {1: {name: a, side: left, partner: b}, 2: {name: b, side: left}}\n", "bad_partner", "opposite"),
        ("structures: {1: {name: a, partner: b}, 2: {name: b}}\n", "bad_partner", "opposite"),
        (
            "structures: {1: {name: a, side: left, partner: b}, 2: {name: b, side: right}, "
            "3: {name: c, side: left, partner: b}}\n",
            "bad_partner",
            "two others",
        ),
        ("structures: {1: liver}\ngroups: {organs: [livre]}\n", "bad_group", "did you mean liver"),
        ("structures: {1: liver}\ngroups: {organs: [liver, liver]}\n", "bad_group", "twice"),
        ("structures: {1: liver}\ngroups: {organs: liver}\n", "bad_group", "not a list"),
        ("structures: {1: liver}\ngroups: {liver: [liver]}\n", "bad_group", "name of its own"),
        ("structures: {1: {name: liver, group: x}}\ngroups: {x: [liver]}\n", "bad_group", "name of its own"),
        ("structures: {1: liver}\ngroups: {x: [liver], x: [liver]}\n", "bad_group", "name of its own"),
        ("structures: {1: liver}\ngroups: [liver]\n", "malformed_label_map", "groups"),
        ("", "malformed_label_map", "not a mapping"),
        ("{}", "malformed_label_map", "no structure"),
        ("[liver, spleen]", "malformed_label_map", "not a mapping"),
        ("{1: liver", "malformed_label_map", "line 1"),
        ("1: liver\n---\n2: spleen\n", "malformed_label_map", "YAML"),
        ("[1, 2]: liver\n", "malformed_label_map", "line 1"),
        ("structures: &a [*a]\n", "malformed_label_map", "alias"),
        (b"1: caf\xe9\n", "malformed_label_map", "UTF-8"),
    ],
)
def test_wrong_files_are_refused(load, text, code, told):
    with pytest.raises(LabelMapError, match=told) as raised:
        load(text)
    error = raised.value
    assert error.code == code
    assert error.file.endswith("labels.yaml")
    assert error.found
    assert error.expected
    assert error.next_step


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ('{"1": "liver", "2": "liver"}', "duplicate_name"),
        ('{"1": true}', "bad_name"),
        ('{"1": 2.5}', "bad_name"),
        ('{"1": NaN}', "bad_name"),
        ('{"1": {"name": "a", "name": "b"}}', "malformed_label_map"),
        ('{"liver": 1}', "bad_id"),
        ('{"%s": "liver"}' % ("9" * 5000), "bad_id"),
        ('{"1": "liver"', "malformed_label_map"),
        ("[" * 100_000, "malformed_label_map"),
    ],
)
def test_wrong_json_is_refused(load, text, code):
    with pytest.raises(LabelMapError) as raised:
        load(text, "labels.json")
    assert raised.value.code == code


@pytest.mark.parametrize(
    ("mapping", "code"),
    [
        ({True: "liver"}, "bad_id"),
        ({1.0: "liver"}, "bad_id"),
        ({None: "liver"}, "bad_id"),
        ({0: "background", 1: "liver"}, "bad_id"),
        ({-3: "liver"}, "bad_id"),
        ({2**64: "liver"}, "bad_id"),
        ({1: 5}, "bad_name"),
        ({1: None}, "bad_name"),
        ({}, "malformed_label_map"),
    ],
)
def test_wrong_dictionaries_are_refused(mapping, code):
    with pytest.raises(LabelMapError) as raised:
        load_label_map(mapping)
    assert raised.value.code == code


def test_integers_of_any_kind_are_ids():
    np = pytest.importorskip("numpy")
    assert load_label_map({np.uint64(2**64 - 1): "a", np.int8(3): "b"}).ids == (3, 2**64 - 1)


@pytest.mark.parametrize("source", [3, None, ["liver"], b"liver"])
def test_other_types_are_refused(source):
    with pytest.raises(LabelMapError, match="not a label map"):
        load_label_map(source)


def test_ignored_ids_are_left_out(load):
    text = "structures: {-1: void, 0: background, 1: liver, 2: spleen}\ngroups: {rest: [background, spleen]}\n"
    label_map = load(text, ignore_labels=[0, -1])
    assert label_map.to_mapping() == {1: "liver", 2: "spleen"}
    assert label_map.group("rest") == ["spleen"]
    left_out = load_label_map("totalsegmentator_v2", ignore_labels=[2])
    assert len(left_out) == 116
    assert left_out.by_name("kidney_left").partner is None
    assert left_out.group("kidneys") == ["kidney_left"]


def test_missing_file_and_wrong_suffix(tmp_path):
    with pytest.raises(LabelMapError) as raised:
        load_label_map(tmp_path / "gone.yaml")
    assert raised.value.code == "unknown_label_map"
    assert "gone.yaml" in raised.value.found
    (tmp_path / "labels.txt").write_text("1: liver\n")
    with pytest.raises(LabelMapError, match=r"\.json"):
        load_label_map(str(tmp_path / "labels.txt"))


def test_path_is_relative_to_the_working_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "some labels \u00e4.yaml").write_text("1: liver\n")
    label_map = load_label_map("some labels \u00e4.yaml")
    assert label_map.name == "some labels \u00e4"
    assert label_map.source == "some labels \u00e4.yaml"


names = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=12).filter(
    lambda name: not name.startswith("label_")
)


@given(st.dictionaries(st.integers(1, 2**64 - 1), names, min_size=1, max_size=8))
def test_what_is_written_as_json_is_read_back(tmp_path_factory, mapping):
    path = tmp_path_factory.mktemp("maps") / "labels.json"
    path.write_text(json.dumps(mapping), encoding="utf-8")
    folded = {unicodedata.normalize("NFC", name).casefold() for name in mapping.values()}
    if len(folded) == len(mapping):
        assert load_label_map(path).to_mapping() == mapping
    else:
        with pytest.raises(LabelMapError, match="share a name"):
            load_label_map(path)


@pytest.mark.parametrize("name", shipped_label_maps())
def test_the_content_of_a_label_map_gives_it_back(name):
    label_map = load_label_map(name)
    content = json.loads(json.dumps(label_map.to_content()))
    assert load_label_map(content) == label_map
    assert load_label_map(content).sha256 == label_map.sha256
