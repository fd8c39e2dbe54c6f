"""Every shipped label map against an excerpt of the list that its source publishes, or that others quote."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from monai_spatialqa.anatomy import TUMOUR_KINDS, Coding, load_label_map, shipped_label_maps

HERE = Path(__file__).parent
PUBLISHED = json.loads((HERE / "published_lists.json").read_text(encoding="utf-8"))
SNOMED = json.loads((HERE / "totalsegmentator_snomed_published.json").read_text(encoding="utf-8"))
SHIPPED = ["totalsegmentator_v2", *PUBLISHED]  # the excerpt of the first is in test_shipped_label_map.py
VERIFIED = {"amos22", "brats2021", "brats2023", "kits23", "msd_task05", "totalsegmentator_mr", "totalsegmentator_v2"}
WITHOUT_TUMOURS = {"amos22", "msd_task05", "msd_task06", "totalsegmentator_mr", "totalsegmentator_v2"}


def test_these_are_shipped():
    assert shipped_label_maps() == sorted(SHIPPED)


@pytest.mark.parametrize("name", PUBLISHED)
def test_ids_and_names_are_the_published_ones(name):
    label_map = load_label_map(name)
    found = {str(entry.label): entry.source_name or entry.name for entry in label_map}
    assert found == PUBLISHED[name]["labels"]
    assert label_map.name == name


@pytest.mark.parametrize("name", PUBLISHED)
def test_provenance_names_repository_commit_and_file(name):
    label_map, published = load_label_map(name), PUBLISHED[name]
    assert re.fullmatch("[0-9a-f]{40}", published["commit"])
    assert f"{published['repository']}@{published['commit']} {published['path']}" in label_map.source


@pytest.mark.parametrize("name", SHIPPED)
def test_what_was_not_verified_says_so(name):
    label_map = load_label_map(name)
    assert label_map.verified is (name in VERIFIED)
    assert label_map.source.startswith("unverified") is not label_map.verified
    if name in PUBLISHED:
        assert PUBLISHED[name]["verified"] is label_map.verified
        assert ("quoted_by" in PUBLISHED[name]) is not label_map.verified


@pytest.mark.parametrize("name", SHIPPED)
def test_names_are_identifiers_in_one_style(name):
    label_map = load_label_map(name)
    for word in (*label_map.names, *label_map.derived, *label_map.group_names):
        assert re.fullmatch("[a-z0-9]+(_([a-z0-9]+|[A-Z][0-9]+))*", word)
        assert not {"tumor", "tumors", "edema"} & set(word.split("_"))


@pytest.mark.parametrize(
    ("name", "region", "derived"),
    [
        ("brats2021", "WT", "whole_tumour"),
        ("brats2021", "TC", "tumour_core"),
        ("brats2023", "WT", "whole_tumour"),
        ("brats2023", "TC", "tumour_core"),
        ("kits23", "kidney_and_mass", "kidney_and_mass"),
        ("kits23", "mass", "kidney_mass"),
    ],
)
def test_published_regions_are_derived(name, region, derived):
    assert load_label_map(name).derived[derived] == tuple(PUBLISHED[name]["regions"][region])


@pytest.mark.parametrize(
    ("name", "region", "structure"),
    [
        ("brats2021", "ET", "enhancing_tumour"),
        ("brats2023", "ET", "enhancing_tumour"),
        ("kits23", "tumor", "kidney_tumour"),
    ],
)
def test_published_regions_of_one_id_are_structures(name, region, structure):
    assert [load_label_map(name).by_name(structure).label] == PUBLISHED[name]["regions"][region]


def test_our_own_derived_structures():
    assert load_label_map("msd_task01").derived == {"whole_tumour": (1, 2, 3), "tumour_core": (2, 3)}
    assert load_label_map("msd_task03").derived == {"liver_with_tumour": (1, 2)}
    assert load_label_map("msd_task05").derived == {"prostate": (1, 2)}
    assert load_label_map("msd_task07").derived == {"pancreas_with_tumour": (1, 2)}
    assert load_label_map("kits23").derived["kidney_with_tumour"] == (1, 2)


@pytest.mark.parametrize(
    ("kind", "where"),
    [
        ("kidney", {"kits23": ("kidney_tumour",)}),
        ("pancreas", {"msd_task07": ("pancreas_tumour",)}),
        ("liver", {"msd_task03": ("liver_tumour",)}),
        ("prostate", {}),
        ("hepatic_vessel", {"msd_task08": ("hepatic_tumour",)}),
        ("brats_whole", dict.fromkeys(("brats2021", "brats2023", "msd_task01"), ("whole_tumour",))),
        ("brats_enhancing", dict.fromkeys(("brats2021", "brats2023", "msd_task01"), ("enhancing_tumour",))),
        ("brats_oedema", dict.fromkeys(("brats2021", "brats2023", "msd_task01"), ("oedema",))),
    ],
)
def test_where_each_tumour_kind_has_a_label(kind, where):
    """No source labels a prostate tumour, and none is invented."""
    assert kind in TUMOUR_KINDS
    tumours = {name: load_label_map(name).tumours for name in SHIPPED}
    assert {name: kinds[kind] for name, kinds in tumours.items() if kind in kinds} == where


def test_maps_without_a_tumour_kind():
    assert {name for name in SHIPPED if not load_label_map(name).tumours} == WITHOUT_TUMOURS


@pytest.mark.parametrize("name", ["totalsegmentator_v2", "totalsegmentator_mr"])
def test_codes_and_colours_are_those_of_the_published_table(name):
    for entry in load_label_map(name):
        if entry.name in SNOMED["without_a_row"]:
            assert (entry.coding, entry.colour) == (None, None)
            continue
        scheme, code, meaning, colour = SNOMED["rows"][entry.name]
        meaning = meaning.replace("minius", "minimus")  # the one slip of the table that is corrected
        assert (entry.coding, entry.colour) == (Coding(scheme, code, meaning), tuple(colour))


def test_partners_share_a_code_and_no_other_structures_do():
    for name in ("totalsegmentator_v2", "totalsegmentator_mr"):
        label_map = load_label_map(name)
        coded = [entry for entry in label_map if entry.coding is not None]
        for entry in coded:
            same = {other.name for other in coded if other.coding == entry.coding}
            assert same == {entry.name, entry.partner or entry.name}


@pytest.mark.parametrize("name", [name for name in SHIPPED if not name.startswith("totalsegmentator")])
def test_no_code_and_no_colour_where_none_is_published(name):
    assert all(entry.coding is None and entry.colour is None for entry in load_label_map(name))


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("totalsegmentator_v2", r"ribs .* 2\.2\.1"),
        ("totalsegmentator_mr", r"2\.5\.0 .* 56 classes"),
        ("amos22", "right kidney is 2"),
        ("brats2021", "Id 4 is the enhancing tumour"),
        ("brats2023", "Id 3 is the enhancing tumour"),
        ("msd_task01", "oedema is 1 here and 2 there"),
        ("msd_task05", "no label for a prostate tumour"),
        ("kits23", "Both kidneys share id 1"),
    ],
)
def test_traps_are_in_the_notes(name, told):
    assert any(re.search(told, note) for note in load_label_map(name).notes)


@pytest.mark.parametrize("name", ["amos22", "totalsegmentator_mr"])
def test_sides(name):
    label_map = load_label_map(name)
    sided = [entry for entry in label_map if entry.side is not None]
    assert sided
    for entry in sided:
        assert entry.side in entry.name.split("_")
        assert label_map.by_name(entry.partner).partner == entry.name


@pytest.mark.parametrize(
    ("group", "count"),
    [("abdominal_organs", 12), ("lungs", 2), ("bones", 12), ("muscles", 10), ("vessels", 7), ("kidneys", 2)],
)
def test_groups_of_the_mr_map(group, count):
    assert len(load_label_map("totalsegmentator_mr").group(group)) == count
