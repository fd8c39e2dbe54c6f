"""The shipped TotalSegmentator label map against an excerpt of the list its authors published."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from monai_spatialqa.anatomy import load_label_map, shipped_label_maps
from monai_spatialqa.errors import LabelMapError

PUBLISHED = json.loads((Path(__file__).parent / "totalsegmentator_published.json").read_text(encoding="utf-8"))


@pytest.fixture
def total():
    return load_label_map("totalsegmentator_v2")


def test_is_shipped():
    assert "totalsegmentator_v2" in shipped_label_maps()


def test_ids_and_names_are_the_published_ones(total):
    assert total.to_mapping() == {int(label): name for label, name in PUBLISHED["classes"].items()}
    assert len(total) == 117
    assert total.ids == tuple(range(1, 118))


def test_source_groups_are_the_published_parts(total):
    for part, names in PUBLISHED["parts"].items():
        assert total.group(part) == names
        assert all(total.by_name(name).group == part for name in names)


def test_provenance_names_repository_commit_and_licence(total):
    assert PUBLISHED["repository"] in total.source
    assert PUBLISHED["classes_commit"] in total.source
    assert total.licence == PUBLISHED["licence"]


def test_every_side_word_has_its_side_and_a_partner_unless_the_class_is_single(total):
    without = {entry.name for entry in total if entry.side is not None and entry.partner is None}
    assert without == {"atrial_appendage_left", "lung_middle_lobe_right"}
    assert sum(entry.side == "left" for entry in total) == sum("left" in entry.name.split("_") for entry in total)
    for entry in total:
        if entry.partner is not None:
            partner = total.by_name(entry.partner)
            assert partner.partner == entry.name
            assert {entry.side, partner.side} == {"left", "right"}


@pytest.mark.parametrize(
    ("group", "count", "member"),
    [
        ("vertebrae", 25, "vertebrae_S1"),
        ("ribs", 24, "rib_right_12"),
        ("lungs", 5, "lung_middle_lobe_right"),
        ("kidneys", 2, "kidney_left"),
        ("vessels", 16, "portal_vein_and_splenic_vein"),
        ("muscles", 10, "iliopsoas_left"),
        ("bones", 62, "sternum"),
        ("abdominal_organs", 12, "liver"),
    ],
)
def test_our_groups(total, group, count, member):
    names = total.group(group)
    assert len(names) == count
    assert member in names
    assert names == sorted(names, key=lambda name: total.by_name(name).label)


def test_muscles_hold_no_bone(total):
    assert not set(total.group("muscles")) & set(total.group("bones"))


def test_unknown_name_lists_the_shipped_ones_and_the_closest():
    with pytest.raises(LabelMapError) as raised:
        load_label_map("totalsegmentator_v3")
    assert raised.value.code == "unknown_label_map"
    assert "totalsegmentator_v2" in raised.value.expected
    assert "totalsegmentator_v2" in raised.value.next_step


def test_loading_twice_gives_the_same_hash(total):
    assert load_label_map("totalsegmentator_v2").sha256 == total.sha256
    assert load_label_map(total) is total
