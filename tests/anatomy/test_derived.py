"""Codes, colours, tumour kinds, notes and derived structures of label maps: right, and wrong in every way."""

from __future__ import annotations

import json
import pickle

import pytest

from monai_spatialqa.anatomy import Coding, DerivedStructure, load_label_map
from monai_spatialqa.errors import LabelMapError

FULL = """
name: brain
verified: false
notes: [first, second]
structures:
  1: {name: necrosis, source_name: NCR}
  2: {name: oedema, tumour_kind: brats_oedema, colour: [140, 224, 228]}
  4:
    name: enhancing
    coding: {scheme: SCT, code: "0108369006", meaning: Neoplasm}
groups: {core: [necrosis, enhancing]}
derived:
  everything: {union: [whole, 9]}
  whole: {union: [1, oedema, 4], tumour_kind: brats_whole}
  also_whole: {union: [whole, enhancing]}
""".replace("groups:", "  9: skull\ngroups:")


@pytest.fixture
def load(tmp_path):
    def write_and_load(text: str, **options):
        path = tmp_path / "labels.yaml"
        path.write_text(text, encoding="utf-8")
        return load_label_map(path, **options)

    return write_and_load


def test_all_fields(load):
    label_map = load(FULL)
    assert label_map.verified is False
    assert label_map.notes == ("first", "second")
    assert label_map.by_label(1).source_name == "NCR"
    assert label_map.by_name("oedema").colour == (140, 224, 228)
    assert label_map.by_name("enhancing").coding == Coding("SCT", "0108369006", "Neoplasm")
    assert label_map.tumours == {"brats_oedema": ("oedema",), "brats_whole": ("whole",)}


def test_derived_structures_are_names_and_ids(load):
    label_map = load(FULL)
    assert label_map.derived == {"everything": (1, 2, 4, 9), "whole": (1, 2, 4), "also_whole": (1, 2, 4)}
    assert label_map.derived_structures[1] == DerivedStructure("whole", (1, 2, 4), "brats_whole")
    assert label_map.names == ("necrosis", "oedema", "enhancing", "skull")
    assert pickle.loads(pickle.dumps(label_map)) == label_map
    assert hash(pickle.loads(pickle.dumps(label_map))) == hash(label_map)


def test_the_same_from_json_and_from_a_dictionary(load, tmp_path):
    content = {
        "verified": True,
        "notes": ["a"],
        "structures": {"1": {"name": "a", "colour": [0, 10, 255]}, "2": "b"},
        "derived": {"both": {"union": [1, "b"]}},
    }
    (tmp_path / "a.json").write_text(json.dumps(content), encoding="utf-8")
    for label_map in (load_label_map(tmp_path / "a.json"), load_label_map(content), load(json.dumps(content))):
        assert label_map.derived == {"both": (1, 2)}
        assert label_map.by_label(1).colour == (0, 10, 255)
        assert label_map.verified is True


def test_a_map_that_does_not_say_is_neither_verified_nor_unverified():
    plain = load_label_map({1: "liver"})
    assert (plain.verified, plain.notes, plain.derived, plain.tumours) == (None, (), {}, {})


@pytest.mark.parametrize(("ignored", "left"), [([9], ["whole", "also_whole"]), ([2], []), ([7], ["everything"])])
def test_a_union_is_left_out_with_any_of_its_structures(load, ignored, left):
    kept = load(FULL, ignore_labels=ignored).derived
    assert kept == load_label_map(load(FULL), ignore_labels=ignored).derived
    assert all(name in kept for name in left)
    assert bool(kept) is bool(left)


def test_a_union_may_name_an_ignored_background(load):
    text = "structures: {0: air, 1: a, 2: b}\nderived: {all: {union: [air, a, b]}, ab: {union: [1, 2]}}\n"
    assert load(text, ignore_labels=[0]).derived == {"ab": (1, 2)}


def test_hash_follows_the_unions_not_codes_or_colours():
    content = {"structures": {1: "a", 2: "b", 3: "c"}}
    plain = load_label_map(content)
    union = load_label_map({**content, "derived": {"ab": {"union": [1, 2]}}})
    assert union.sha256 != plain.sha256
    assert union.sha256 != load_label_map({**content, "derived": {"ab": {"union": [1, 3]}}}).sha256
    assert union.sha256 == load_label_map({**content, "derived": {"ab": {"union": ["b", "a"]}}}).sha256
    coloured = {"structures": {1: {"name": "a", "colour": [1, 2, 3]}, 2: "b", 3: "c"}, "notes": ["x"]}
    assert load_label_map(coloured).sha256 == plain.sha256


@pytest.mark.parametrize(
    ("derived", "code", "told"),
    [
        ("{x: {union: [1, 5]}}", "bad_derived", "not in the label map"),
        ("{x: {union: [1, -5]}}", "bad_derived", "-5"),
        ("{x: {union: [1, livr]}}", "bad_derived", "did you mean liver"),
        ('{x: {union: [1, "2"]}}', "bad_derived", "'2'"),
        ("{x: {union: [1, organs]}}", "bad_derived", "is a group"),
        ("{x: {union: [1, 1]}}", "bad_derived", "twice"),
        ("{x: {union: [1, liver]}}", "bad_derived", "union of one"),
        ("{x: {union: [1]}}", "bad_derived", "union of one"),
        ("{x: {union: []}}", "bad_derived", "not a list"),
        ("{x: {union: liver}}", "bad_derived", "not a list"),
        ("{x: {union: {1: 2}}}", "bad_derived", "not a list"),
        ("{x: {union: [1, 2.0]}}", "bad_derived", "neither an id nor a name"),
        ("{x: {union: [1, true]}}", "bad_derived", "neither an id nor a name"),
        ("{x: {union: [1, [2]]}}", "bad_derived", "neither an id nor a name"),
        ("{x: {}}", "bad_derived", "not a list"),
        ("{x: [1, 2]}", "bad_derived", "not a mapping"),
        ("{x: {unoin: [1, 2]}}", "malformed_label_map", "did you mean union"),
        ("{x: {union: [1, 2], tumour_kind: livr}}", "bad_tumour_kind", "did you mean liver"),
        ("{x: {union: [x, 1]}}", "bad_derived", "x -> x"),
        ("{x: {union: [y, 1]}, y: {union: [z, 2]}, z: {union: [y, 1]}}", "bad_derived", "y -> z -> y"),
        ("{liver: {union: [1, 2]}}", "duplicate_name", "structure liver"),
        ("{Liver: {union: [1, 2]}}", "duplicate_name", "structure liver"),
        ("{organs: {union: [1, 2]}}", "duplicate_name", "group organs"),
        ("{x: {union: [1, 2]}, x: {union: [1, 2]}}", "duplicate_name", "derived x"),
        ("{x: {union: [1, 2]}, X: {union: [1, 2]}}", "duplicate_name", "derived x"),
        ("{label_1: {union: [1, 2]}}", "bad_name", "reserved"),
        ("{' x': {union: [1, 2]}}", "bad_name", "spaces"),
        ("{'': {union: [1, 2]}}", "bad_name", "no name"),
        ("[1, 2]", "bad_derived", "not a mapping"),
        ("x", "bad_derived", "not a mapping"),
    ],
)
def test_wrong_rules_are_refused(load, derived, code, told):
    text = f"structures: {{1: liver, 2: spleen}}\ngroups: {{organs: [liver, spleen]}}\nderived: {derived}\n"
    refused(load, text, code, told)


@pytest.mark.parametrize(
    ("fields", "code", "told"),
    [
        ("coding: liver", "bad_coding", "not a mapping"),
        ("coding: [SCT, '1', liver]", "bad_coding", "not a mapping"),
        ("coding: {scheme: SCT, meaning: Liver}", "bad_coding", "add the field"),
        ("coding: {scheme: SCT, code: 10200004, meaning: Liver}", "bad_coding", "in quotes"),
        ("coding: {scheme: SCT, code: '', meaning: Liver}", "bad_coding", "code in coding of id 1"),
        ("coding: {scheme: SCT, code: '1', meaning: Liver, side: left}", "malformed_label_map", "unknown field"),
        ("colour: red", "bad_colour", "red"),
        ("colour: [1, 2]", "bad_colour", r"\[1, 2\]"),
        ("colour: [1, 2, 256]", "bad_colour", "256"),
        ("colour: [1, 2, -1]", "bad_colour", "-1"),
        ("colour: [1, 2, 0.5]", "bad_colour", "0.5"),
        ("colour: [1, 2, true]", "bad_colour", "true"),
        ("colour: {1: 2}", "bad_colour", "mapping"),
        ("color: [1, 2, 3]", "malformed_label_map", "did you mean colour"),
        ("tumour_kind: lung", "bad_tumour_kind", "in a group"),
        ("tumour_kind: [liver]", "bad_tumour_kind", "list"),
        ("source_name: 7", "malformed_label_map", "source_name"),
    ],
)
def test_wrong_fields_of_a_structure_are_refused(load, fields, code, told):
    refused(load, f"structures: {{1: {{name: a, {fields}}}}}\n", code, told)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("verified: maybe", "neither true nor false"),
        ("verified: yes", "neither true nor false"),
        ("verified: 1", "neither true nor false"),
        ("notes: one", "not a list"),
        ("notes: [one, 2]", "item 2 of notes"),
        ("notes: ['']", "item 1 of notes"),
        ("derive: {}", "did you mean derived"),
    ],
)
def test_wrong_fields_of_a_map_are_refused(load, line, told):
    refused(load, f"structures: {{1: a}}\n{line}\n", "malformed_label_map", told)


def refused(load, text: str, code: str, told: str) -> None:
    with pytest.raises(LabelMapError, match=told) as raised:
        load(text)
    error = raised.value
    assert error.code == code
    assert error.file.endswith("labels.yaml")
    assert error.found
    assert error.expected
    assert error.next_step
