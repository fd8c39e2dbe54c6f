"""Which structures of the shipped label maps count for which organ and tumour kind: the whole list, read by eye."""

from __future__ import annotations

from collections import defaultdict

import pytest

from monai_spatialqa.anatomy import ORGANS, TUMOUR_KINDS, load_label_map, organs_of, shipped_label_maps, tumours_of

BRATS = {"brats_oedema": "oedema", "brats_enhancing": "enhancing_tumour", "brats_whole": "whole_tumour"}
ORGANS_OF_MAPS = {
    "amos22": {
        "pancreas": "pancreas",
        "liver": "liver",
        "kidney": "kidney_right kidney_left",
        "stomach": "stomach",
        "spleen": "spleen",
        "vessel": "aorta inferior_vena_cava",
    },
    "brats2021": {"brain": "necrotic_core oedema enhancing_tumour whole_tumour tumour_core"},
    "brats2023": {"brain": "necrotic_core oedema enhancing_tumour whole_tumour tumour_core"},
    "kits23": {"kidney": "kidney kidney_tumour kidney_cyst kidney_and_mass kidney_mass kidney_with_tumour"},
    "msd_task01": {"brain": "oedema non_enhancing_tumour enhancing_tumour whole_tumour tumour_core"},
    "msd_task03": {"liver": "liver liver_tumour liver_with_tumour"},
    "msd_task05": {"prostate": "peripheral_zone transition_zone prostate"},
    "msd_task06": {"lung": "lung_tumour"},
    "msd_task07": {"pancreas": "pancreas pancreas_tumour pancreas_with_tumour"},
    "msd_task08": {"liver": "hepatic_tumour", "vessel": "hepatic_vessel"},
    "totalsegmentator_mr": {
        "pancreas": "pancreas",
        "liver": "liver",
        "lung": "lung_left lung_right",
        "kidney": "kidney_right kidney_left",
        "stomach": "stomach",
        "spleen": "spleen",
        "vessel": "aorta inferior_vena_cava portal_vein_and_splenic_vein iliac_artery_left iliac_artery_right"
        " iliac_vena_left iliac_vena_right",
        "heart": "heart",
        "brain": "brain",
        "prostate": "prostate",
    },
    "totalsegmentator_v2": {
        "pancreas": "pancreas",
        "liver": "liver",
        "lung": "lung_upper_lobe_left lung_lower_lobe_left lung_upper_lobe_right lung_middle_lobe_right"
        " lung_lower_lobe_right",
        "kidney": "kidney_right kidney_left kidney_cyst_left kidney_cyst_right",
        "stomach": "stomach",
        "spleen": "spleen",
        "vessel": "aorta pulmonary_vein brachiocephalic_trunk subclavian_artery_right subclavian_artery_left"
        " common_carotid_artery_right common_carotid_artery_left brachiocephalic_vein_left brachiocephalic_vein_right"
        " superior_vena_cava inferior_vena_cava portal_vein_and_splenic_vein iliac_artery_left iliac_artery_right"
        " iliac_vena_left iliac_vena_right",
        "heart": "heart atrial_appendage_left",
        "brain": "brain",
        "prostate": "prostate",
    },
}
TUMOURS_OF_MAPS = {
    "brats2021": BRATS,
    "brats2023": BRATS,
    "msd_task01": BRATS,
    "kits23": {"kidney": "kidney_tumour"},
    "msd_task03": {"liver": "liver_tumour"},
    "msd_task07": {"pancreas": "pancreas_tumour"},
    "msd_task08": {"hepatic_vessel": "hepatic_tumour"},
}


@pytest.mark.parametrize("name", shipped_label_maps())
def test_structures_of_a_shipped_map(name: str) -> None:
    label_map = load_label_map(name)
    organs, tumours = defaultdict(list), defaultdict(list)
    for structure in label_map.row_names:
        for organ in organs_of(structure, label_map):
            organs[organ].append(structure)
        for kind in tumours_of(structure, label_map):
            tumours[kind].append(structure)
        assert organs_of(structure, name) == organs_of(structure, label_map)  # by name as by map
    assert {organ: " ".join(found) for organ, found in organs.items()} == ORGANS_OF_MAPS[name]
    assert {kind: " ".join(found) for kind, found in tumours.items()} == TUMOURS_OF_MAPS.get(name, {})


def test_every_organ_and_all_tumour_kinds_with_a_label_are_met() -> None:
    assert {organ for organs in ORGANS_OF_MAPS.values() for organ in organs} == set(ORGANS)
    # The Decathlon's prostate task labels zones, not tumours.
    assert {kind for kinds in TUMOURS_OF_MAPS.values() for kind in kinds} == set(TUMOUR_KINDS) - {"prostate"}


@pytest.mark.parametrize(
    ("structure", "organs", "tumours"),
    [
        ("liver_tumor", ("liver",), ("liver",)),  # the phantoms' spelling
        ("Left Kidney", ("kidney",), ()),
        ("right-lung", ("lung",), ()),
        ("prostate_tumour", ("prostate",), ("prostate",)),
        ("lung_tumour", ("lung",), ()),
        ("spleen_tumor", ("spleen",), ()),
        ("portal_vein", ("vessel",), ()),
        ("label_7", (), ()),
        ("kidney_stone", (), ()),
        ("oedema", (), ()),  # of the brain in the maps that say so
        ("prostate_or_uterus", (), ()),
    ],
)
def test_names_of_maps_that_are_not_known(structure: str, organs: tuple, tumours: tuple) -> None:
    assert organs_of(structure, "my_own_map") == organs_of(structure) == organs
    assert tumours_of(structure, "my_own_map") == tumours_of(structure) == tumours


def test_a_union_counts_for_the_organs_of_its_members() -> None:
    mine = load_label_map(
        {
            "structures": {1: "liver", 2: "spleen", 3: "a1", 4: "node"},
            "groups": {"vessels": ["a1"]},
            "derived": {"both": {"union": ["spleen", "liver"]}, "more": {"union": ["a1", "node"]}},
        }
    )
    assert organs_of("both", mine) == ("liver", "spleen")
    assert organs_of("more", mine) == ("vessel",)
    assert organs_of("both", None, members=["spleen", "liver"]) == ("liver", "spleen")
    assert organs_of("both") == ()


def test_the_kind_that_a_map_states_comes_first() -> None:
    mine = load_label_map(
        {
            "structures": [
                {"label": 1, "name": "liver_tumour", "tumour_kind": "hepatic_vessel"},
                {"label": 2, "name": "x"},
            ]
        }
    )
    assert tumours_of("liver_tumour", mine) == ("hepatic_vessel",)
    assert organs_of("liver_tumour", mine) == ("liver",)
