"""What is not asked, and what is said about it."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

from monai_spatialqa.anatomy import load_label_map
from monai_spatialqa.items import normal_places
from monai_spatialqa.items.comparison import RATIO_CUTS
from monai_spatialqa.items.draft import SUBTASKS, Refusals, Rules
from monai_spatialqa.items.names import told_by_names, whole_organs
from monai_spatialqa.items.normal_places import normal_range, told_by_anatomy
from monai_spatialqa.items.ranking import PLAIN
from monai_spatialqa.items.view import CaseView
from monai_spatialqa.records.measurement import Components

# Lesions have tests of their own.
OF_ORGANS = {name: each for name, each in SUBTASKS.items() if "lesion" not in name}

TASKS = {
    code: [name for name, each in OF_ORGANS.items() if each.task == code]
    for code in ("DIR", "EXT", "VOL", "COMP", "VOLEST")
}
LAYOUT = {
    "liver": {"ml": 1500.0, "center": (80.0, 0.0, 60.0), "size": (150.0, 120.0, 90.0)},
    "spleen": {"ml": 220.0, "center": (-110.0, -50.0, 90.0), "size": (60.0, 80.0, 110.0)},
    "kidney_left": {"ml": 160.0, "center": (-60.0, -60.0, 0.0), "size": (50.0, 62.0, 105.0)},
    "kidney_right": {"ml": 140.0, "center": (65.0, -60.0, -25.0), "size": (55.0, 45.0, 100.0)},
    "urinary_bladder": {"ml": 400.0, "center": (5.0, 30.0, -190.0), "size": (110.0, 80.0, 65.0)},
    "gallbladder": {"ml": 35.0, "center": (60.0, 60.0, -5.0), "size": (40.0, 55.0, 33.0)},
    "pancreas": {"ml": 80.0, "center": (-25.0, 0.0, 5.0), "size": (120.0, 60.0, 55.0)},
    "cyst": {"ml": 26.0, "center": (20.0, 15.0, 30.0), "size": (30.0, 24.0, 36.0)},
    "abscess": {"ml": 12.0, "center": (-10.0, 30.0, 20.0), "size": (24.0, 30.0, 18.0)},
    "haematoma": {"ml": 100.0, "center": (32.0, -8.0, 42.0), "size": (60.0, 42.0, 42.0)},
    "seroma": {"ml": 19.0, "center": (5.0, 0.0, 5.0), "size": (24.0, 36.0, 24.0)},
    "vertebrae_L1": {"ml": 60.0, "center": (0.0, -80.0, -5.0), "size": (75.0, 85.0, 54.0)},
    "vertebrae_L3": {"ml": 66.0, "center": (0.0, -75.0, -80.0), "size": (95.0, 85.0, 50.0)},
}

ALONE = {
    "extent_value",
    "edge_order",
    "volume_value",
    "volume_interval",
    "volume_at_least",
    "volume_estimate",
}
"""What can be asked of one structure."""


def refused(view):
    """Reasons why structures were left out or questions not made, counted."""
    return view.left_out_counts() + view.not_made_counts()


def with_status(status, **more):
    return {name: said | {"status": status} | more for name, said in LAYOUT.items()}


def test_all_tasks_have_subtasks_with_several_wordings(by_hand, make_items):
    assert [len(names) for names in TASKS.values()] == [7, 5, 3, 7, 3]
    for names in TASKS.values():
        for name in names:
            made = make_items(by_hand(LAYOUT), name, most=100)
            assert made, name
            assert SUBTASKS[name].about.endswith(".")
            wordings = {
                item.provenance.template for s in range(6) for item, _ in make_items(by_hand(LAYOUT), name, seed=s)
            }
            assert len(wordings) == 2, name


@pytest.mark.parametrize("status", ["truncated", "absent", "not_segmented", "name_conflict", "unverified"])
def test_unfit_structures_are_refused_and_counted(by_hand, make_items, status):
    for names in TASKS.values():
        for name in names:
            view = CaseView(by_hand(with_status(status)))
            assert make_items(view, name) == []
            assert refused(view)[status] == len(LAYOUT)


def test_one_unfit_structure_does_not_stop_the_others(by_hand, make_items):
    layout = LAYOUT | {"liver": LAYOUT["liver"] | {"status": "truncated"}}
    for names in TASKS.values():
        for name in names:
            made = make_items(by_hand(layout), name)
            assert made, name
            assert all("liver" not in item.structures for item, _ in made)
            assert all("liver" not in item.options for item, _ in made)


def test_without_orientation_only_volumes_are_asked_for(by_hand, make_items):
    record = by_hand(with_status("orientation_unknown", centroid_ras_mm=None), affine_ras_mm=None, orientation=None)
    for each in record.structures.values():
        for field in ("center_ras_mm", "world_min_ras_mm", "world_max_ras_mm"):
            object.__setattr__(each.box, field, None)
    for code, names in TASKS.items():
        for name in names:
            view = CaseView(record)
            assert bool(make_items(view, name)) == (code in ("VOL", "COMP", "VOLEST"))
            assert bool(refused(view)["orientation_unknown"]) == (code in ("DIR", "EXT"))


def turned(degrees):
    """A grid turned about the superior-inferior axis."""
    c, s = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    return ((c, -s, 0.0, 0.0), (s, c, 0.0, 0.0), (0.0, 0.0, 1.0, 0.0))


@pytest.mark.parametrize(("degrees", "asked"), [(0.0, True), (2.9, True), (3.1, False), (30.0, False)])
def test_extents_are_asked_where_the_grid_is_that_of_the_patient(by_hand, make_items, degrees, asked):
    for name in TASKS["EXT"]:
        view = CaseView(by_hand(LAYOUT, affine_ras_mm=turned(degrees)))
        assert view.tilt_deg == pytest.approx(degrees, abs=1e-5)
        assert bool(make_items(view, name)) == asked
        assert refused(view)["oblique grid"] == (0 if asked else len(LAYOUT))


def test_on_a_sheared_grid_extents_are_those_of_the_patient(by_hand, make_items):
    sheared = ((1.0, 0.0, 0.0, 0.0), (0.0, 1.0, 0.4, 0.0), (0.0, 0.0, 1.0, 0.0))
    view = CaseView(by_hand(with_status("sheared"), affine_ras_mm=sheared, sheared=True))
    assert view.tilt_deg == 0
    assert make_items(view, "extent_value")
    # A voxel of 1 mm reaches over 1.4 mm of the anterior-posterior axis.
    assert view.extent("liver", 1).half_width() == pytest.approx(0.7)
    assert view.extent("liver", 2).half_width() == pytest.approx(0.5)


def test_a_stray_part_is_not_measured_as_extent(by_hand, make_items):
    parts = Components(
        count=2, connectivity=26, voxel_counts=[9, 1], volumes_ml=[1, 1], boxes=[((0, 0, 0), (9, 9, 9))] * 2
    )
    layout = LAYOUT | {"liver": LAYOUT["liver"] | {"components": parts}}
    for name in TASKS["EXT"]:
        view = CaseView(by_hand(layout))
        assert all("liver" not in item.structures for item, _ in make_items(view, name))
        assert refused(view)["parts apart from the largest one widen its box"] == 1


def test_nameless_structures_are_not_asked_about(by_hand, make_items):
    record = by_hand({f"label_{at}": said for at, said in enumerate(LAYOUT.values(), 1)})
    for names in TASKS.values():
        for name in names:
            view = CaseView(record)
            assert make_items(view, name) == []
            assert refused(view)["no name"] == len(LAYOUT)


def test_organs_without_their_tumour_have_no_size(by_hand, make_items):
    layout = LAYOUT | {"liver_tumor": {"ml": 20.0}, "kidney_tumor": {"ml": 8.0}}
    view = CaseView(by_hand(layout))
    left = {"liver", "kidney_left", "kidney_right"}
    assert set(whole_organs(view, "size")) == set(layout) - left
    assert refused(view)["its tumour has a label of its own"] == 3
    for name in TASKS["VOL"] + TASKS["COMP"] + TASKS["VOLEST"] + TASKS["EXT"]:
        assert all(not left & set(item.structures) for item, _ in make_items(by_hand(layout), name))


def test_unions_tell_which_organ_lacks_its_tumour(by_hand):
    layout = {"pancreas": {}, "pancreas_tumour": {"ml": 4.0}, "spleen": {}}
    whole = {"pancreas_with_tumour": {"union_of": ["pancreas", "pancreas_tumour"], "label": None}}
    view = CaseView(by_hand(layout | whole), load_label_map("msd_task07"))
    assert whole_organs(view, "size") == ["pancreas_tumour", "spleen"]
    without = layout | {"pancreas_tumour": {"ml": 0.0, "status": "absent", "box": None}}
    assert whole_organs(CaseView(by_hand(without | whole), load_label_map("msd_task07")), "size") == [
        "pancreas",
        "spleen",
    ]


@pytest.mark.parametrize(
    ("first", "second", "axis", "told"),
    [
        ("kidney_left", "kidney_right", 0, True),
        ("kidney_left", "kidney_right", 1, False),
        ("kidney_left", "kidney_right", 2, False),
        ("kidney_left", "liver", 0, True),
        ("kidney_left", "adrenal_gland_left", 0, False),
        ("vertebrae_L1", "vertebrae_T12", 2, True),
        ("vertebrae_L1", "vertebrae_T12", 1, False),
        ("rib_left_3", "rib_right_7", 2, True),
        ("rib_left_3", "vertebrae_T7", 2, False),
        ("lung_upper_lobe_left", "lung_lower_lobe_right", 2, True),
        ("lung_upper_lobe_left", "liver", 2, False),
    ],
)
def test_names_do_not_give_the_direction_away(first, second, axis, told):
    assert told_by_names(first, second, axis) == told
    assert told_by_names(second, first, axis) == told


def test_no_direction_of_what_names_tell(example, make_items):
    for name in TASKS["DIR"]:
        if name == "offset_value":  # the question states the direction
            continue
        for item, reference in make_items(example, name):
            for found in reference.evidence:
                arguments = found.arguments
                if item.subtask == "dominant_direction" and found is not reference.evidence[0]:
                    continue
                if item.subtask == "side_of_spine" and arguments["axis"] == 2:
                    continue
                assert not told_by_names(arguments["first"], arguments["second"], arguments["axis"]), item


@pytest.mark.parametrize(
    ("size", "away", "asked"), [(50.0, 9.0, False), (50.0, 11.0, True), (8.0, 3.0, False), (8.0, 5.0, True)]
)
def test_structures_beside_each_other_have_no_order(by_hand, make_items, size, away, asked):
    """10 mm between the centres are enough, and half the length of a small structure."""
    layout = {
        "liver": {"size": (size, size, size)},
        "spleen": {"center": (away, away, away), "size": (90.0, 90.0, 90.0)},
    }
    view = CaseView(by_hand({"kidney_left": layout["liver"], "spleen": layout["spleen"]}))
    for name in ("direction_pair", "offset_value"):
        assert bool([item for item, _ in make_items(view, name)]) == asked or name == "direction_pair"
    assert bool(refused(view)["the two lie too much beside each other"]) != asked


def test_box_centre_and_centroid_must_agree(by_hand, make_items):
    layout = {"liver": {}, "spleen": {"center": (60.0, 60.0, 60.0), "centroid_ras_mm": (-1.0, -1.0, -1.0)}}
    for name in ("relation", "direction_pair"):
        view = CaseView(by_hand(layout))
        assert make_items(view, name) == []
        assert refused(view)["box centres and centroids disagree"]


@pytest.mark.parametrize(("second", "reason"), [(81.0, "no main direction"), (79.0, None), (41.0, None), (39.0, PLAIN)])
def test_a_main_direction_is_longer_than_any_other_but_not_plainly(by_hand, make_items, second, reason):
    view = CaseView(by_hand({"liver": {}, "spleen": {"center": (10.0, second, 100.0)}}))
    made = make_items(view, "dominant_direction")
    assert bool(made) == (reason is None)
    assert reason is None or refused(view)[reason]
    for item, reference in made:  # two axes, both ways: neither the key nor its opposite stands out
        assert set(item.options) == {"anterior", "posterior", "superior", "inferior"}
        assert reference.answer_text in ("superior", "inferior")


def test_br_169_near_equal_volumes_are_not_compared(by_hand, make_items):
    """1450 against 1452 ml, and 9 % apart: no question, whatever the subtask; 12 % apart there is one."""
    for other, asked in ((1452.0, False), (1580.0, False), (1650.0, True)):
        layout = {"kidney_left": {"ml": 1450.0, "band": 0.001}, "kidney_right": {"ml": other, "band": 0.001}}
        for name in ("larger_side", "ratio_value"):
            view = CaseView(by_hand(layout))
            assert bool(make_items(view, name)) == asked
            assert bool(refused(view)["two figures are too near to compare"]) != asked
        pair = {"liver": layout["kidney_left"], "spleen": layout["kidney_right"]}
        assert bool(make_items(by_hand(pair), "larger_than")) == asked
        four = pair | {"pancreas": {"ml": 200.0}, "stomach": {"ml": 500.0}}
        assert bool(make_items(by_hand(four), "largest_of")) == asked
        assert make_items(by_hand(four), "smallest_of")


def test_a_ratio_that_is_low_whatever_the_cuts_has_no_intervals(by_hand, make_items):
    for times, asked in ((1.6, False), (1.9, True), (18.0, True), (21.0, False)):
        layout = {"liver": {"ml": 50.0 * times}, "spleen": {"ml": 50.0}}
        made = [pair for seed in range(4) for pair in make_items(by_hand(layout), "ratio_interval", seed=seed)]
        assert bool(made) == asked, times
        for item, reference in made:
            assert item.structures == ["liver", "spleen"]
            cuts = {float(number) for option in item.options for number in re.findall(r"[\d.]+", option)}
            assert cuts <= set(RATIO_CUTS)
            assert reference.margin > 1


def test_br_169_near_equal_extents_are_not_compared(by_hand, make_items):
    sizes = {"liver": 100.0, "spleen": 95.0, "pancreas": 50.0, "stomach": 40.0}
    layout = {name: {"size": (size, size, size)} for name, size in sizes.items()}
    view = CaseView(by_hand(layout))
    assert make_items(view, "largest_extent_of") == []
    assert make_items(view, "edge_order") == []
    layout["spleen"]["size"] = (80.0, 80.0, 80.0)
    assert make_items(by_hand(layout), "largest_extent_of")


def test_a_key_that_half_a_voxel_changes_is_refused(by_hand, make_items):
    layout = {"liver": {"ml": 100.0, "band": 0.2}, "spleen": {"ml": 130.0, "band": 0.2}}
    refusals = Refusals()
    assert make_items(by_hand(layout), "larger_than", refusals=refusals) == []
    assert refusals.counts == {"the key changes within half a voxel": 1}
    assert make_items(by_hand(layout), "larger_than", rules=Rules(robust=False))


def test_the_third_may_overtake_within_half_a_voxel(by_hand, make_items):
    """The second largest is certain, the third is not: the margin is that of the third."""
    layout = {
        "liver": {"ml": 100.0, "band": 0.01},
        "spleen": {"ml": 80.0, "band": 0.01},
        "pancreas": {"ml": 70.0, "band": 0.5},
        "stomach": {"ml": 10.0},
    }
    assert make_items(by_hand(layout), "largest_of") == []
    layout["pancreas"]["band"] = 0.2
    assert make_items(by_hand(layout), "largest_of")


def test_totals_of_structures_that_share_voxels_are_refused(by_hand, make_items):
    record = by_hand({"kidney_left": {}, "kidney_right": {"ml": 150.0}})
    assert make_items(record, "total_estimate")
    shared = record.model_validate(
        record.model_dump() | {"overlaps": [{"a": "kidney_right", "b": "kidney_left", "voxels": 3}]}
    )
    view = CaseView(shared)
    assert make_items(view, "total_estimate") == []
    assert refused(view)["they share voxels"] == 1


def test_cases_with_little_in_them_yield_little(by_hand, make_items):
    for names in TASKS.values():
        for name in names:
            assert make_items(by_hand({}), name) == []
            made = make_items(by_hand({"liver": {"size": (100.0, 60.0, 80.0)}}), name)
            assert bool(made) == (name in ALONE), name


def test_oblique_grids_have_directions(records, make_items):
    found = records["oblique"]
    assert CaseView(found).tilt_deg > 10
    assert all(make_items(found, name) for name in ("relation", "dominant_direction", "direction_pair"))
    assert np.isfinite(CaseView(found).reach("liver", 0)).all()


@pytest.mark.parametrize(("away", "asked"), [(39.0, True), (41.0, False)])
def test_directions_of_structures_far_apart_are_plain(by_hand, make_items, away, asked):
    """Up to 40 mm lie within what people differ by."""
    sizes = {"center": (away, away, away), "size": (50.0, 50.0, 50.0)}
    for name in ("relation", "direction_pair"):
        view = CaseView(by_hand({"liver": {"size": (80.0, 80.0, 80.0)}, "pet": sizes}))
        assert bool(make_items(view, name)) == asked
        assert bool(refused(view)[PLAIN]) != asked


@pytest.mark.parametrize(
    ("first", "second", "axis", "told"),
    [
        ("kidney_left", "kidney_right", 2, False),
        ("kidney_right", "adrenal_gland_right", 2, False),
        ("kidney_left", "urinary_bladder", 2, True),
        ("kidney_left", "vertebrae_L5", 2, True),
        ("kidney_left", "vertebrae_L2", 2, False),
        ("gallbladder", "kidney_right", 1, True),
        ("gallbladder", "stomach", 1, False),
        ("aorta", "vertebrae_L1", 1, True),
        ("liver", "spleen", 0, True),
        ("pancreas", "vertebrae_L1", 0, False),
        ("kidney_left", "adrenal_gland_left", 0, False),
        ("skull", "kidney_left", 2, False),
    ],
)
def test_normal_places_tell_directions(by_hand, make_items, first, second, axis, told):
    """Told is what lies so in anybody; then no relation is asked for, however near the two lie."""
    assert told_by_anatomy(first, second, axis) == told_by_anatomy(second, first, axis) == told
    center = [0.0, 0.0, 0.0]
    center[axis] = 20.0
    view = CaseView(by_hand({first: {}, second: {"center": tuple(center)}}))
    made = [make_items(view, "relation", seed=seed) for seed in range(8)]
    assert any(made) != told
    assert bool(refused(view)[PLAIN]) == told


def test_every_normal_range_is_a_range():
    for axis, table in enumerate(("strips", "layers", "levels")):
        for name in normal_places._tables()[table]:
            first, last = normal_range(name, axis)
            assert first <= last, name


def test_volumes_far_from_alike_are_plain(by_hand, make_items):
    layout = {"liver": {"ml": 1500.0}, "spleen": {"ml": 200.0}}
    view = CaseView(by_hand(layout))
    assert make_items(view, "larger_than") == []
    assert refused(view)[PLAIN] == 1
