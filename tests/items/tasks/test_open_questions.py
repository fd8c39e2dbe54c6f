"""Questions that have one answer, and not the one that everybody knows: ties, parts, plain shapes, vague numbers."""

from __future__ import annotations

import pytest

from monai_spatialqa.anatomy import load_label_map
from monai_spatialqa.generation.balance import FEW, RunBalance
from monai_spatialqa.items.draft import Rules
from monai_spatialqa.items.names import whole_organs
from monai_spatialqa.items.normal_places import nearer_by_anatomy, told_by_anatomy
from monai_spatialqa.items.parts import lacks_a_part, part_and_whole, parts_tables
from monai_spatialqa.items.view import CaseView

PAPER = Rules(comparison_gap=0.0, robust=False, volume_unit="cm3", length_unit="cm")
MAPS = (
    *("amos22", "brats2021", "brats2023", "kits23", "totalsegmentator_mr", "totalsegmentator_v2"),
    *(f"msd_task0{number}" for number in (1, 3, 5, 6, 7, 8)),
)


@pytest.mark.parametrize("other", [100.0, 100.2])
def test_ties_are_not_compared_whatever_the_gap(by_hand, make_items, other):
    """Equal as measured, or equal as shown."""
    layout = {
        name: {"ml": ml, "size": (80.0, 60.0, 60.0), "center": (0.0, 0.0, 30.0 * at)}
        for at, (name, ml) in enumerate((("liver", 100.0), ("spleen", other), ("colon", 100.0), ("stomach", other)))
    }
    view = CaseView(by_hand(layout))
    for name in ("larger_than", "largest_of", "smallest_of", "volume_order", "edge_order", "largest_extent_of"):
        assert make_items(view, name, rules=PAPER) == [], name
    assert view.not_made_counts()["two figures are too near to compare"] > 5


def test_a_structure_without_its_part_has_no_size(by_hand, make_items):
    layout = {"sacrum": {}, "vertebrae_S1": {"center": (0.0, 30.0, 30.0)}, "kidney_left": {}, "kidney_cyst_left": {}}
    record = by_hand(layout)
    view = CaseView(record)
    assert whole_organs(view, "size") == ["vertebrae_S1", "kidney_cyst_left"]
    assert view.left_out_counts()["a part of it has a label of its own"] == 2
    for name in ("relation", "direction_pair", "offset_value", "distance_value"):
        for item, _ in make_items(view, name):
            assert not part_and_whole(*item.structures)
    absent = record.structures["kidney_cyst_left"].model_copy(update={"voxel_count": 0})
    assert not lacks_a_part("kidney_left", {**record.structures, "kidney_cyst_left": absent})
    absent = record.structures["vertebrae_S1"].model_copy(update={"voxel_count": 0})
    assert lacks_a_part("sacrum", {**record.structures, "vertebrae_S1": absent})


def test_the_table_of_parts_speaks_of_shipped_label_maps():
    shipped = [set(load_label_map(name).row_names) for name in MAPS]
    for table in parts_tables():
        for whole, parts in table.items():
            assert any(whole in names and set(parts) & names for names in shipped), whole
            assert all(any(part in names for names in shipped) for part in parts)


@pytest.mark.parametrize(
    ("first", "second", "axis"),
    [("portal_vein_and_splenic_vein", "vertebrae_L3", 2), ("gallbladder", "vertebrae_L1", 0)],
)
def test_what_a_radiologist_knows_unseen(first, second, axis):
    assert told_by_anatomy(first, second, axis)


def test_the_nearest_is_not_asked_where_levels_tell_it(by_hand, make_items):
    assert nearer_by_anatomy("gallbladder", "duodenum", "gluteus_maximus_left")
    assert not nearer_by_anatomy("gallbladder", "liver", "colon")
    down = ("iliac_vena_right", "gluteus_medius_right", "hip_right", "sacrum")
    layout = {"gallbladder": {}, "kidney_right": {"center": (0.0, 0.0, -60.0)}} | {
        name: {"center": (0.0, 0.0, -75.0 - 12 * at)} for at, name in enumerate(down)
    }
    for item, reference in make_items(CaseView(by_hand(layout)), "closest_of"):
        if item.structures[0] == "gallbladder":
            assert reference.answer_text != "right kidney"


def test_elongated_boxes_and_vertebrae_are_not_asked_for_their_longest_axis(by_hand, make_items):
    layout = {
        "aorta": {"size": (25.0, 30.0, 200.0)},
        "vertebrae_L1": {"size": (60.0, 50.0, 40.0)},
        "liver": {"size": (100.0, 80.0, 60.0)},
        "spleen": {"size": (50.0, 60.0, 75.0)},
        "stomach": {"size": (50.0, 65.0, 80.0)},
        "colon": {"size": (60.0, 70.0, 95.0)},
    }
    view = CaseView(by_hand(layout))
    asked = {
        name for sub in ("longest_along", "edge_order") for item, _ in make_items(view, sub) for name in item.structures
    }
    assert asked == {"liver", "spleen", "stomach", "colon"}


def test_a_number_that_half_a_voxel_makes_anything_is_not_asked_for(by_hand, make_items):
    layout = {"liver": {"ml": 100.0}, "spleen": {"ml": 60.0, "band": 0.5}}
    view = CaseView(by_hand(layout))
    assert {item.structures[0] for item, _ in make_items(view, "volume_estimate")} == {"liver"}
    assert make_items(view, "ratio_estimate") == []
    assert make_items(view, "ratio_estimate", rules=Rules(widest_range=10.0))
    assert view.not_made_counts()["the range within half a voxel is too wide for a number"] == 2


@pytest.mark.parametrize("name", ["A", "b", "yes", "123", "_"])
def test_a_name_that_reads_like_an_option_is_none(by_hand, name):
    view = CaseView(by_hand({name: {}, "liver": {}}))
    assert view.askable("size") == ["liver"]
    assert view.left_out_counts()["no name"] == 1


def test_two_structures_that_read_alike_are_not_asked_about(by_hand):
    view = CaseView(by_hand({"kidney_left": {}, "left_kidney": {}, "liver": {}}))
    assert view.askable("size") == ["liver"]
    assert view.left_out_counts()["two structures of one name"] == 2


def test_on_an_oblique_grid_the_question_names_whose_boxes_are_meant(records):
    from monai_spatialqa.generation import GenerateSettings
    from monai_spatialqa.generation.case import items_of_case
    from monai_spatialqa.items.assemble import ItemContext
    from monai_spatialqa.records.item import ItemCase

    for name, said in (("oblique", True), ("fine", False)):
        context = ItemContext(ItemCase(case_id=name), 0)
        made = items_of_case(records[name], None, context, GenerateSettings(measurements="x")).pairs
        asked = [item.question for item, _ in made if "bounding box" in item.question]
        assert asked
        assert all(("along the scan's axes" in question) == said for question in asked)


def test_an_answer_that_is_always_the_same_is_capped(fine, make_items):
    pairs = make_items(fine, "relation", most=200)
    no = [pair for pair in pairs if pair[1].answer == "no"]
    yes = [pair for pair in pairs if pair[1].answer == "yes"]
    balance, taken = RunBalance(), []
    for pair in [*no[:20], *yes[:9], *no[20:40]]:
        if balance.stays_open(pair):
            balance.take(pair, "x")
            taken.append(pair[1].answer)
        if len(taken) >= FEW:
            assert max(taken.count("yes"), taken.count("no")) <= 0.6 * len(taken)
    assert taken.count("no") > 6
