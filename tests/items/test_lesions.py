"""Questions about lesions: keys computed again from the voxels, unions of KiTS and BraTS, refusals.

Scans with an organ, its tumour and vessels in one label map cannot be shipped: phantoms and drawn scenes stand in, and
the sarcoma (``tests/data/sts_002``) for a tumour alone.
"""

from __future__ import annotations

import math
from itertools import combinations, pairwise

import numpy as np
import pytest

import monai_spatialqa as sqa
from monai_spatialqa.anatomy import load_label_map
from monai_spatialqa.items import lesion_relations, lesions
from monai_spatialqa.items.assemble import ItemContext, assemble, random_of
from monai_spatialqa.items.draft import SUBTASKS, Refusals, Rules
from monai_spatialqa.items.lesion_case import NOT_MEASURED
from monai_spatialqa.items.tools import run_tool
from monai_spatialqa.items.view import CaseView
from monai_spatialqa.records.item import ItemCase
from tests.items.lesion_voxels import Voxels, answer_of

RULES = Rules(widest_range=100.0)  # lesions of a few voxels, so that every key is tried
NAMES = [name for name, one in SUBTASKS.items() if one.make.__module__ in (lesions.__name__, lesion_relations.__name__)]
SCENE_MAP = {
    "name": "scene",
    "structures": {
        1: "liver",
        2: {"name": "liver_tumour", "tumour_kind": "liver"},
        3: "aorta",
        4: "inferior_vena_cava",
        5: {"name": "liver_metastasis", "tumour_kind": "liver"},
    },
    "groups": {"vessels": ["aorta", "inferior_vena_cava"]},
}
SPACING = (2.0, 2.0, 3.0)


def items_of(view, seed=1, rules=RULES, names=NAMES):
    """All items of a case by subtask, and why others were not made."""
    refusals = Refusals()
    context = ItemContext(ItemCase(case_id=view.case_id), seed=seed)
    found = {}
    for name in names:
        drafts = SUBTASKS[name].make(view, rules, random_of(seed, view.case_id, name))
        made = [assemble(draft, context, rules, refusals) for draft in drafts]
        found[name] = [one for one in made if one is not None]
    return found, {**view.left_out_counts(), **view.not_made_counts(), **refusals.counts}


def box(label, value, start, stop):
    label[tuple(slice(a, b) for a, b in zip(start, stop, strict=True))] = value


@pytest.fixture
def scene():
    """A liver with a hole for its tumour, two vessels: the tumour bulges out and lies against the aorta."""
    label = np.zeros((60, 50, 30), np.uint8)
    box(label, 1, (5, 5, 4), (30, 40, 26))
    box(label, 2, (24, 14, 8), (42, 26, 20))
    box(label, 3, (42, 10, 2), (47, 24, 28))
    box(label, 4, (50, 10, 2), (54, 24, 28))
    return label


@pytest.fixture
def view_of(write_nifti):
    def make(label, label_map=SCENE_MAP, *, detail="full", distances="all", spacing=SPACING):
        path = write_nifti("case.nii.gz", label, spacing=spacing)
        named = load_label_map(label_map)
        return CaseView(sqa.measure(path, label_map=named, detail=detail, distances=distances), named)

    return make


@pytest.fixture(scope="module", params=[(7, (120, 90, 100), (3.0, 3.0, 4.0)), (3, (180, 135, 150), (2.0, 2.0, 2.5))])
def phantom_case(request, tmp_path_factory):
    seed, shape, spacing = request.param
    phantom = sqa.make_phantom(seed, shape=shape, spacing_mm=spacing)
    _, path = phantom.save(tmp_path_factory.mktemp("phantom"), "phantom")
    record = sqa.measure(path, label_map=phantom.label_map, detail="full", distances="all")
    return phantom, CaseView(record, phantom.label_map)


def check_against(voxels, name, item, reference):
    right = answer_of(name, item, voxels)
    if isinstance(right, str):
        assert reference.answer_text == right
    elif name == "lesion_share_interval":
        low, high = bounds(reference.answer_text)
        assert low <= right < high
    else:
        assert reference.answer_value == pytest.approx(right, rel=1e-6)
    if item.format == "mca":
        assert item.options["ABCD".index(reference.answer)] == reference.answer_text
        assert len(item.options) == len({option.casefold() for option in item.options}) == RULES.options


def bounds(text):
    """The interval that an option names, in percent."""
    numbers = [float(word.rstrip("%,")) for word in text.split() if word.rstrip("%,").replace(".", "").isdigit()]
    if text.startswith("less"):
        return -math.inf, numbers[0]
    return numbers[0], numbers[1] if len(numbers) == 2 else math.inf


def check_evidence(view, reference):
    for one in reference.evidence:
        found = run_tool(view, one.tool, one.arguments)
        stated = found if one.unit is None else found.to(one.unit)
        assert stated.value == one.value
        assert one.measurement_id == view.case_id


def test_every_key_recomputes_from_the_voxels_of_phantoms(phantom_case):
    phantom, view = phantom_case
    voxels = Voxels(phantom.label, phantom.affine, phantom.label_names)
    found, _ = items_of(view)
    for name, made in found.items():
        for item, reference in made:
            check_against(voxels, name, item, reference)
            check_evidence(view, reference)
            assert "voxel" not in item.question + "".join(item.options)
            assert item.task == SUBTASKS[name].task
    assert {name for name, made in found.items() if made} >= {
        "lesion_share_interval",
        "lesion_share_percent",
        "lesion_place",
        "lesion_axial_diameter",
        "lesion_larger",
        "lesion_closest_structure",
        "lesion_vessel_distance",
        "lesion_touches_vessel",
        "lesion_outside_organ",
    }


def test_keys_stand_when_every_lesion_moves_within_its_range(phantom_case):
    _, view = phantom_case
    found, _ = items_of(view)
    for item, reference in found["lesion_share_interval"]:
        low, high = bounds(reference.answer_text)
        assert low <= reference.evidence[0].low <= reference.evidence[0].high < high
        edges = sorted(bounds(option) for option in item.options)
        assert all(upper == lower for (_, upper), (lower, _) in pairwise(edges))
        assert edges[0][0] == -math.inf
        assert edges[-1][0] < 100
        assert edges[-1][1] == math.inf
    for item, reference in found["lesion_larger"]:
        one, other = reference.evidence
        assert one.low > other.high if reference.answer == "yes" else one.high < other.low
        assert item.structures == [one.arguments["structure"], other.arguments["structure"]]


def test_same_seed_same_items_other_seed_other_order(phantom_case):
    phantom, view = phantom_case
    again = CaseView(view.measurement, phantom.label_map)
    assert items_of(view) == items_of(again)
    assert items_of(view, seed=1)[0] != items_of(view, seed=2)[0]


def test_the_host_of_a_kidney_tumour_is_the_kidney_it_touches(phantom_case):
    phantom, view = phantom_case
    host = next(name for name in ("kidney_left", "kidney_right") if phantom.shapes[name].holes)
    found, _ = items_of(view, names=["lesion_share_percent", "lesion_outside_organ", "lesion_closest_structure"])
    told = [item.structures for item, _ in found["lesion_share_percent"] if item.structures[0] == "kidney_tumor"]
    assert told == [["kidney_tumor", host]]
    for item, _ in found["lesion_closest_structure"]:
        assert not {"kidney_left", "kidney_right"} & set(item.structures) or item.structures[0] != "kidney_tumor"


def test_a_tumour_is_no_rival_for_what_lies_nearest_to_its_organ(phantom_case):
    _, view = phantom_case
    names = ["closest_of", "farthest_of", "distance_order"]
    found, _ = items_of(view, names=names)
    asked = [item.structures for name in names for item, _ in found[name]]
    assert asked
    for anchor, *others in asked:
        assert f"{anchor}_tumor" not in others
        if anchor in view.tumours:
            assert anchor.removesuffix("_tumor") not in others


def test_contact_and_bulging_out_of_a_drawn_tumour(view_of, scene):
    view = view_of(scene)
    found, _ = items_of(view)
    voxels = Voxels(scene, np.diag([*SPACING, 1]), {1: "liver", 2: "liver_tumour", 3: "aorta", 4: "inferior_vena_cava"})
    for name, made in found.items():
        for item, reference in made:
            check_against(voxels, name, item, reference)
            check_evidence(view, reference)
    answers = {item.structures[1]: ref.answer for item, ref in found["lesion_touches_vessel"]}
    assert answers == {"aorta": "yes", "inferior_vena_cava": "no"}
    [(item, reference)] = found["lesion_outside_organ"]
    assert reference.answer == "yes"
    assert "of the liver" in item.question or "out of the liver" in item.question
    assert [item.structures for item, _ in found["lesion_vessel_distance"]] == [["liver_tumour", "inferior_vena_cava"]]


@pytest.mark.parametrize(("gap", "asked"), [(1, False), (2, True), (3, True)])
def test_no_contact_is_asked_only_where_more_than_one_voxel_fits_between(view_of, scene, gap, asked):
    scene[scene > 2] = 0
    box(scene, 3, (42 + gap, 10, 2), (47 + gap, 24, 28))
    found, refused = items_of(view_of(scene, spacing=(2.0, 2.0, 2.0)), names=["lesion_touches_vessel"])
    assert len(found["lesion_touches_vessel"]) == asked
    assert refused.get("the key changes within half a voxel", 0) == (not asked)


def test_contact_by_a_few_faces_is_not_asked(view_of, scene):
    scene[scene > 2] = 0
    box(scene, 3, (42, 24, 10), (46, 30, 12))  # 2 x 2 faces
    found, refused = items_of(view_of(scene), names=["lesion_touches_vessel"])
    assert not found["lesion_touches_vessel"]
    assert refused["the key changes within half a voxel"] == 1


def test_without_the_finer_measures_only_box_centres_are_left(tmp_path):
    phantom = sqa.make_phantom(7)
    _, path = phantom.save(tmp_path, "phantom")
    view = CaseView(sqa.measure(path, label_map=phantom.label_map), phantom.label_map)
    found, refused = items_of(view)
    assert {name for name, made in found.items() if made} == {
        "lesion_share_interval",
        "lesion_share_percent",
        "lesion_larger",
        "lesion_place",
        "lesion_closest_structure",
    }
    assert all("centres of their bounding boxes" in item.question for item, _ in found["lesion_closest_structure"])
    voxels = Voxels(phantom.label, phantom.affine, phantom.label_names)
    for item, reference in found["lesion_closest_structure"]:
        lesion, *others = item.structures
        away = {name: np.linalg.norm(voxels.center(name) - voxels.center(lesion)) for name in others}
        assert reference.answer_text == lesion_relations.readable_name(min(away, key=away.get))
    # Kidneys: which one holds the tumour is not known without contact.
    assert {item.structures[0] for item, _ in found["lesion_share_percent"]} == {"liver_tumor", "pancreas_tumor"}
    assert refused[NOT_MEASURED] > 0


def test_a_truncated_organ_or_lesion_has_no_questions(view_of, scene):
    scene = scene[:, :, 4:]  # the liver now reaches the lower face
    found, refused = items_of(view_of(scene))
    assert refused["truncated"] > 0
    named = {name for made in found.values() for item, _ in made for name in item.structures}
    assert named == {"liver_tumour"}


@pytest.fixture
def pieces():
    """A metastasis in two pieces of 4.8 and 1.5 ml, three empty planes apart."""
    label = np.zeros((40, 40, 30), np.uint8)
    box(label, 2, (5, 5, 5), (15, 15, 9))
    box(label, 2, (18, 5, 5), (23, 10, 10))
    return label


def test_pieces_of_a_lesion(view_of, pieces):
    found, _ = items_of(view_of(pieces))
    [(item, reference)] = found["lesion_piece_count"]
    assert reference.answer_text == "2 pieces"
    assert all(int(option.split()[0]) > 1 for option in item.options)
    assert reference.margin == 3
    assert "0.1 ml" in item.question
    [(item, reference)] = found["lesion_largest_piece"]
    assert reference.answer_value == pytest.approx(10 * 10 * 4 * 12 / 1000)
    assert (item.format, item.answer_unit) == ("numeric", "ml")


def test_a_diameter_does_not_run_from_one_piece_to_another(view_of, pieces):
    found, refused = items_of(view_of(pieces), names=["lesion_axial_diameter"])
    assert not found["lesion_axial_diameter"]
    assert refused["a diameter may run from one piece to another"] == 1


def test_specks_and_near_pieces_are_not_counted(view_of, pieces):
    speck = pieces.copy()
    speck[30, 30, 20] = 2
    found, refused = items_of(view_of(speck), names=["lesion_piece_count", "lesion_largest_piece"])
    assert not any(found.values())
    assert refused["specks make the number of pieces ambiguous"] == 1
    pieces[15:17, 5:10, 5:9] = 2  # one empty plane is left
    found, refused = items_of(view_of(pieces), names=["lesion_piece_count", "lesion_largest_piece"])
    assert not any(found.values())
    assert refused["the key changes within half a voxel"] == 1
    assert refused["the pieces of the lesion are too near to each other"] == 1


def test_two_lesions_of_one_organ_belong_to_it_both(view_of, scene):
    box(scene, 5, (10, 28, 8), (20, 36, 16))
    found, _ = items_of(view_of(scene))
    for item, reference in found["lesion_share_percent"]:
        lesion = item.structures[0]
        assert set(item.structures) == {"liver", "liver_tumour", "liver_metastasis"}
        assert reference.answer_value == pytest.approx(
            100 * (scene == {"liver_tumour": 2, "liver_metastasis": 5}[lesion]).sum() / np.isin(scene, (1, 2, 5)).sum()
        )
    assert len(found["lesion_share_percent"]) == 2


def test_kits_like_kidneys_share_a_label_and_the_mass_is_part_of_them(view_of):
    label = np.zeros((80, 50, 40), np.uint8)
    box(label, 1, (5, 10, 5), (20, 30, 35))
    box(label, 1, (60, 10, 5), (75, 30, 35))
    box(label, 2, (12, 14, 10), (24, 26, 20))
    box(label, 3, (64, 14, 24), (70, 20, 30))
    view = view_of(label, "kits23")
    found, refused = items_of(view)
    assert refused["the organ is in several pieces, whose hull holds what lies between"] == 1
    assert not found["lesion_outside_organ"]
    [(item, reference)] = found["lesion_share_percent"]
    assert item.structures == ["kidney_tumour", "kidney_and_mass"]
    assert "of both kidneys, including the kidney tumour and the kidney cyst," in item.question
    assert reference.answer_value == pytest.approx(100 * (label == 2).sum() / (label > 0).sum())
    assert found["lesion_share_interval"]
    assert not found["lesion_larger"]  # no other lesion; unions with the tumour are none


def test_brats_like_parts_and_the_whole_tumour(view_of):
    label = np.zeros((60, 60, 40), np.uint8)
    box(label, 2, (10, 10, 5), (40, 40, 35))
    box(label, 4, (15, 15, 10), (32, 32, 28))
    box(label, 1, (20, 20, 14), (28, 28, 24))
    view = view_of(label, "brats2021", spacing=(1.0, 1.0, 1.0))
    found, refused = items_of(view)
    counts = {name: (label == value).sum() for name, value in (("necrotic_core", 1), ("oedema", 2))}
    counts |= {"enhancing_tumour": (label == 4).sum()}
    assert {item.structures[0] for item, _ in found["lesion_share_percent"]} == set(counts)
    for item, reference in found["lesion_share_percent"]:
        assert item.structures[1:] == ["whole_tumour"]
        assert "the necrotic core, the oedema and the enhancing tumour together" in item.question
        assert reference.answer_value == pytest.approx(100 * counts[item.structures[0]] / (label > 0).sum())
    counts["tumour_core"] = counts["necrotic_core"] + counts["enhancing_tumour"]
    asked = {frozenset(item.structures) for item, _ in found["lesion_larger"]}
    wanted = {frozenset(pair) for pair in combinations(("necrotic_core", "oedema", "enhancing_tumour"), 2)}
    assert asked == wanted | {frozenset(("tumour_core", "oedema"))}  # never a part against the whole
    for item, reference in found["lesion_larger"]:
        one, other = (counts[name] for name in item.structures)
        assert reference.answer == ("yes" if one > other else "no")
    assert refused["the label map has no organ of this tumour"] == 5  # parts, core and whole; there is no brain
    assert not found["lesion_outside_organ"]
    assert not found["lesion_touches_vessel"]


def test_masks_that_hold_the_tumour_are_the_whole_organ(tmp_path, write_nifti, scene):
    tumour, inside = scene == 2, np.zeros_like(scene, bool)
    inside[12:20, 14:26, 8:20] = True
    for name, part, refusal in (
        ("within", inside, "the organ's segmentation holds the lesion"),
        ("partly", tumour, "the lesion and its organ overlap in part"),
    ):
        liver = (scene == 1) | (tumour & (np.arange(60)[:, None, None] < 30))
        for structure, mask in (("liver", liver | inside), ("liver_tumour", part)):
            write_nifti(f"{name}/{structure}.nii.gz", mask.astype(np.uint8), spacing=SPACING)
        label_map = load_label_map(SCENE_MAP)
        record = sqa.measure(tmp_path / name, label_map=label_map, detail="full", distances="all")
        found, refused = items_of(CaseView(record, label_map))
        assert refused[refusal] >= 1
        assert not found["lesion_outside_organ"]
        if name == "within":
            [(item, reference)] = found["lesion_share_percent"]
            assert item.structures == ["liver_tumour", "liver"]
            assert reference.answer_value == pytest.approx(100 * inside.sum() / (liver | inside).sum())
        else:
            assert not found["lesion_share_percent"]


def test_a_sarcoma_alone_has_a_diameter_only(data_folder):
    label_map = load_label_map({"structures": {1: "sarcoma"}, "groups": {"tumours": ["sarcoma"]}})
    record = sqa.measure(data_folder / "sts_002" / "ct_gtv.nii.gz", label_map=label_map, detail="full")
    found, refused = items_of(CaseView(record, label_map))
    assert {name: len(made) for name, made in found.items() if made} == {"lesion_axial_diameter": 1}
    assert refused == {"the label map has no organ of this tumour": 1, "the lesion is in one piece, as most are": 1}


def test_tilted_slices_are_not_called_axial(tmp_path):
    phantom = sqa.make_phantom(7, rotation_deg=(20.0, 0.0, 0.0))
    _, path = phantom.save(tmp_path, "phantom")
    view = CaseView(sqa.measure(path, label_map=phantom.label_map, detail="full"), phantom.label_map)
    found, refused = items_of(view, names=["lesion_axial_diameter"])
    assert not found["lesion_axial_diameter"]
    assert refused["the slices are not axial"] == 1


def test_without_a_label_map_nothing_is_a_lesion(phantom_case):
    _, view = phantom_case
    found, _ = items_of(CaseView(view.measurement))
    assert not any(found.values())
