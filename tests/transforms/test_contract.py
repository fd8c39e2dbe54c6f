"""What every measuring transform promises: names, types, shapes, gaps, status; nothing changed, nothing overwritten."""

from __future__ import annotations

import copy
import doctest
import math
import pickle

import numpy as np
import pytest
import torch
from monai.data import MetaTensor
from monai.transforms import Compose, MapTransform, Transform

from monai_spatialqa import transforms
from monai_spatialqa.errors import LabelMapError, SettingsError
from monai_spatialqa.records import Status

LONG, REAL = torch.int64, torch.float64
N, P = 3, 3  # structures of the scene, and pairs among them

VOLUME = {
    "voxel_count": (LONG, (N,)),
    "volume_mm3": (REAL, (N,)),
    "volume_band_mm3": (REAL, (N, 2)),
    "volume_status": (LONG, (N,)),
}
BOX = {
    "box_index": (REAL, (N, 2, 3)),
    "extent_mm": (REAL, (N, 3)),
    "center_ras_mm": (REAL, (N, 3)),
    "centroid_ras_mm": (REAL, (N, 3)),
    "world_min_ras_mm": (REAL, (N, 3)),
    "world_max_ras_mm": (REAL, (N, 3)),
    "centroid_inside": (LONG, (N,)),
    "box_status": (LONG, (N,)),
}
DISTANCE = {
    "distance_mm": (REAL, (P,)),
    "distance_points_ras_mm": (REAL, (P, 2, 3)),
    "distance_rows": (LONG, (P, 2)),
    "distance_overlap_voxels": (LONG, (P,)),
    "distance_status": (LONG, (P,)),
}
DIRECTION = {
    "direction_offset_ras_mm": (REAL, (P, 3)),
    "direction": (LONG, (P, 3)),
    "direction_status": (LONG, (P,)),
}
SIDE = {"side_offset_mm": (REAL, (N,)), "side": (LONG, (N,))}
COMPONENTS = {
    "component_count": (LONG, (N,)),
    "component_voxel_count": (LONG, (N, 4)),
    "component_volume_mm3": (REAL, (N, 4)),
    "component_box_index": (REAL, (N, 4, 2, 3)),
    "component_status": (LONG, (N,)),
}
CONTACT = {
    "contact_faces": (LONG, (P,)),
    "contact_mm2": (REAL, (P,)),
    "contained_share": (REAL, (P, 2)),
    "contact_rows": (LONG, (P, 2)),
    "contact_status": (LONG, (P,)),
}
DIAMETER = {
    "diameter_mm": (REAL, (N, 2)),
    "diameter_points_ras_mm": (REAL, (N, 2, 2, 3)),
    "diameter_slice": (LONG, (N,)),
    "diameter_status": (LONG, (N,)),
}

CASES = {
    "MeasureVolume": ({}, VOLUME),
    "MeasureBoundingBox": ({}, BOX),
    "MeasureDistance": ({}, DISTANCE),
    "MeasureDirection": ({"midline": ["spleen"]}, DIRECTION | SIDE),
    "MeasureStructures": ({"pairs": "all"}, VOLUME | BOX | DISTANCE),
    "MeasureComponents": ({"listed": 4}, COMPONENTS),
    "MeasureContact": ({}, CONTACT),
    "MeasureDiameter": ({"of": ["liver"]}, DIAMETER),
}
every_transform = pytest.mark.parametrize("name", list(CASES))
NAN = float("nan")


def array_transform(name, structures, **more):
    return getattr(transforms, name)(structures, **CASES[name][0], **more)


def dictionary_transform(name, structures, keys="label", **more):
    return getattr(transforms, f"{name}d")(keys, structures, **CASES[name][0], **more)


@every_transform
def test_names_types_shapes_and_device(name, structures, scene, tensor_of, device):
    found = array_transform(name, structures)(tensor_of(scene, device=device))
    assert {key: (value.dtype, tuple(value.shape)) for key, value in found.items()} == CASES[name][1]
    assert {value.device.type for value in found.values()} == {device}
    assert not any(isinstance(value, MetaTensor) for value in found.values())


@every_transform
def test_dictionary_version_files_the_same_results(name, structures, scene, tensor_of, differences):
    label = tensor_of(scene)
    data = {"label": label, "other": 1}
    result = dictionary_transform(name, structures)(data)
    assert list(result) == ["label", "other", "measured_label"]
    assert list(data) == ["label", "other"]
    assert result["label"] is label
    assert not differences(result["measured_label"], array_transform(name, structures)(label))


def test_figures_of_the_block(structures, scene, tensor_of):
    """BR-001, BR-002, BR-071: 36 voxels of 2 x 3 x 4 mm, half-open box, extent between faces, units in the names."""
    found = transforms.MeasureStructures(structures, "all")(tensor_of(scene))
    assert found["voxel_count"].tolist() == [36, 24, 0]
    assert found["volume_mm3"].tolist() == [864, 576, 0]
    assert found["box_index"][0].tolist() == [[2, 3, 1], [5, 7, 4]]
    assert found["extent_mm"][0].tolist() == [6, 12, 12]
    assert found["center_ras_mm"][0].tolist() == [6, 13.5, 8]
    assert found["centroid_ras_mm"][0].tolist() == [6, 13.5, 8]
    assert found["world_min_ras_mm"][0].tolist() == [3, 7.5, 2]
    assert found["world_max_ras_mm"][0].tolist() == [9, 19.5, 14]
    assert found["distance_mm"][0] == 7  # x: 6 and 13
    assert found["distance_points_ras_mm"][0].tolist() == [[6, 13.5, 8], [13, 13.5, 8]]
    assert found["distance_rows"].tolist() == [[0, 1], [0, 2], [1, 2]]
    assert found["distance_overlap_voxels"].tolist() == [0, -1, -1]
    # Half of the 34 voxels with an open face, and half of the 66 outside that share one.
    assert found["volume_band_mm3"][0].tolist() == [(36 - 34 / 2) * 24, (36 + 66 / 2) * 24]


def test_absent_structures_have_no_geometry(structures, scene, tensor_of):
    """BR-060: looked for, none found: count and volume 0, everything else NaN; never a box at the origin."""
    found = array_transform("MeasureStructures", structures)(tensor_of(scene))
    found |= array_transform("MeasureDirection", structures)(tensor_of(scene))
    assert (found["voxel_count"][2], found["volume_mm3"][2]) == (0, 0)
    assert found["volume_band_mm3"][2].tolist() == [0, 0]
    assert found["centroid_inside"][2] == -1
    for key in BOX.keys() - {"centroid_inside", "box_status"}:
        assert found[key][2].isnan().all(), key
    for key in ("volume_status", "box_status"):
        assert found[key].tolist() == [0, 0, Status.ABSENT], key
    # BR-072: distances to nothing are NaN with a reason, never 0
    assert found["distance_mm"].tolist()[0] == 7
    assert found["distance_mm"][1:].isnan().all()
    assert found["distance_points_ras_mm"][1:, 1].isnan().all()
    assert found["distance_status"].tolist() == [0, Status.ABSENT, Status.ABSENT]
    assert found["direction_offset_ras_mm"][1:].isnan().all()
    assert found["direction"].tolist() == [[1, 0, 0], [0, 0, 0], [0, 0, 0]]
    assert found["direction_status"].tolist() == [0, Status.ABSENT, Status.ABSENT]


@every_transform
@pytest.mark.parametrize("dtype", [torch.uint8, torch.int64, torch.float32])
def test_nothing_there_at_all(name, dtype, structures, tensor_of):
    found = array_transform(name, structures)(tensor_of(torch.zeros(4, 4, 4, dtype=dtype)))
    assert {key: (value.dtype, tuple(value.shape)) for key, value in found.items()} == CASES[name][1]
    for key, value in found.items():
        if key.endswith("_status"):
            assert (value == Status.ABSENT).all()


def test_absent_and_not_segmented_differ(structures, block, tensor_of):
    """BR-061: an empty structure supports the question whether it is there; one never looked for does not."""
    found = transforms.MeasureStructures(structures, "all", segmented=["liver", "spleen"])(tensor_of(block))
    assert found["voxel_count"].tolist() == [36, 0, -1]
    np.testing.assert_array_equal(found["volume_mm3"], [864, 0, NAN])
    assert found["volume_band_mm3"][2].isnan().all()
    assert found["volume_status"].tolist() == [0, Status.ABSENT, Status.NOT_SEGMENTED]
    assert found["box_status"].tolist() == [0, Status.ABSENT, Status.NOT_SEGMENTED]
    assert found["distance_status"].tolist()[1:] == [
        Status.NOT_SEGMENTED,
        Status.ABSENT | Status.NOT_SEGMENTED,
    ]
    assert found["centroid_ras_mm"][2].isnan().all()


def test_nothing_segmented(structures, tensor_of):
    found = transforms.MeasureVolume(structures, segmented=[])(tensor_of(torch.zeros(3, 3, 3, dtype=torch.uint8)))
    assert found["voxel_count"].tolist() == [-1, -1, -1]
    assert found["volume_mm3"].isnan().all()


def test_a_structure_said_not_to_be_segmented_may_not_be_there(structures, scene, tensor_of, refused):
    with refused("bad_labels", "spleen", "segmented"):
        transforms.MeasureVolume(structures, segmented=["liver"])(tensor_of(scene))


def test_br062_truncated_structures_keep_their_numbers(structures, block, tensor_of):
    moved = np.roll(block, -2, axis=0)
    found = array_transform("MeasureStructures", structures)(tensor_of(moved))
    assert found["volume_mm3"][0] == 864
    assert found["volume_status"][0] == found["box_status"][0] == Status.TRUNCATED
    near = transforms.MeasureVolume(structures, fov_margin_voxels=2)(tensor_of(block))
    assert near["volume_status"][0] == Status.TRUNCATED
    assert array_transform("MeasureVolume", structures)(tensor_of(block))["volume_status"][0] == Status.OK


def test_br045_no_background(structures, tensor_of):
    found = array_transform("MeasureStructures", structures)(tensor_of(np.ones((3, 4, 5), np.uint8)))
    assert found["voxel_count"].tolist() == [60, 0, 0]
    assert found["volume_status"][0] == Status.TRUNCATED
    assert found["volume_band_mm3"][0].tolist() == [24 * (60 - 54 / 2), 24 * 60]


def test_br066_a_single_voxel(structures, tensor_of):
    array = np.zeros((5, 5, 5), np.uint8)
    array[2, 3, 1] = 1
    found = array_transform("MeasureStructures", structures)(tensor_of(array, spacing=(0.5, 0.5, 0.5)))
    assert found["volume_mm3"][0] == 0.125
    assert found["extent_mm"][0].tolist() == [0.5, 0.5, 0.5]
    assert found["centroid_ras_mm"][0].tolist() == [1, 1.5, 0.5]
    assert found["centroid_inside"][0] == 1
    assert found["box_status"][0] == Status.SINGLE_SLICE


def test_br042_no_counting_in_the_voxels_type(structures, tensor_of):
    array = np.zeros((10, 10, 10), np.uint8)
    array.reshape(-1)[:300] = 1
    assert array_transform("MeasureVolume", structures)(tensor_of(array))["voxel_count"][0] == 300


def test_centroid_outside_of_a_ring(tensor_of):
    array = np.zeros((9, 9, 5), np.uint8)
    array[1:8, 1:8, 2] = 1
    array[3:6, 3:6, 2] = 0
    found = transforms.MeasureBoundingBox({1: "ring", 2: "other"})(tensor_of(array))
    assert found["centroid_inside"].tolist() == [0, -1]


def test_br025_shear(structures, block, tensor_of):
    affine = [[1, 0, 0, 0], [0, 1, 0.5, 0], [0, 0, 2, 0], [0, 0, 0, 1]]
    found = array_transform("MeasureStructures", structures)(tensor_of(block, affine))
    assert found["volume_mm3"][0] == pytest.approx(72, rel=1e-12)
    assert found["volume_status"].tolist() == [Status.SHEARED, *[Status.SHEARED | Status.ABSENT] * 2]
    # y of voxel (j, k) is j + k / 2, half a voxel reaches 0.5 + 0.25
    assert found["world_min_ras_mm"][0].tolist() == pytest.approx([1.5, 3.5 - 0.75, 1])
    assert found["world_max_ras_mm"][0].tolist() == pytest.approx([4.5, 7.5 + 0.75, 7])
    assert found["extent_mm"][0].tolist() == pytest.approx([3, 5.5, 6])
    assert found["centroid_ras_mm"][0].tolist() == pytest.approx([3, 5.5, 4])


def test_unknown_orientation_leaves_sizes_only(structures, scene, tensor_of):
    """BR-017: sizes hold, places and directions are refused, the status says so."""
    label = tensor_of(scene, known=False)
    found = array_transform("MeasureStructures", structures)(label) | array_transform("MeasureDirection", structures)(
        label
    )
    assert found["volume_mm3"].tolist() == [864, 576, 0]
    assert found["extent_mm"][0].tolist() == [6, 12, 12]
    assert found["box_index"][0].tolist() == [[2, 3, 1], [5, 7, 4]]
    assert found["distance_mm"][0] == 7
    for key in (
        "center_ras_mm",
        "centroid_ras_mm",
        "world_min_ras_mm",
        "world_max_ras_mm",
        "distance_points_ras_mm",
        "direction_offset_ras_mm",
        "side_offset_mm",
    ):
        assert found[key].isnan().all(), key
    assert not found["direction"].any()
    assert not found["side"].any()
    for key in ("volume_status", "box_status", "distance_status", "direction_status"):
        assert (found[key] & Status.ORIENTATION_UNKNOWN).all(), key


def test_an_unchecked_header_is_told(structures, scene, tensor_of):
    found = array_transform("MeasureVolume", structures)(tensor_of(scene, geometry="unverified"))
    assert found["volume_status"].tolist() == [Status.UNVERIFIED, Status.UNVERIFIED, Status.UNVERIFIED | Status.ABSENT]


def test_sides_that_contradict_the_names(two_blobs, tensor_of):
    names = {1: "lung_left", 2: "lung_right"}
    right = transforms.MeasureBoundingBox(names)(tensor_of(two_blobs))
    wrong = transforms.MeasureBoundingBox({1: "lung_right", 2: "lung_left"})(tensor_of(two_blobs))
    assert not (right["box_status"] & Status.NAME_CONFLICT).any()
    assert (wrong["box_status"] & Status.NAME_CONFLICT).all()
    unknown = transforms.MeasureBoundingBox(names)(tensor_of(two_blobs[::-1].copy(), known=False))
    assert not (unknown["box_status"] & Status.NAME_CONFLICT).any()


@every_transform
def test_the_input_is_left_as_it_was(name, structures, scene, tensor_of):
    label = tensor_of(scene)
    before = (label.as_tensor().clone(), copy.deepcopy(label.meta), copy.deepcopy(label.applied_operations))
    measured = {"kept": torch.ones(1)}
    data = {"label": label, "measured_label": measured, "note": "x"}
    result = dictionary_transform(name, structures)(data)
    assert torch.equal(label.as_tensor(), before[0])
    assert str(label.meta) == str(before[1])
    assert label.applied_operations == before[2]
    assert measured == {"kept": torch.ones(1)}
    assert data["measured_label"] is measured
    assert set(result["measured_label"]) == {"kept", *CASES[name][1]}


@every_transform
def test_a_name_that_is_there_is_never_overwritten(name, structures, scene, tensor_of, refused):
    step = dictionary_transform(name, structures)
    data = step({"label": tensor_of(scene), "case_id": "c7"})
    for key, value in data["measured_label"].items():
        with refused("bad_settings", key, "c7", "there already"):
            step({"label": data["label"], "case_id": "c7", "measured_label": {key: value}})


@pytest.mark.parametrize("entry", [5, torch.ones(2), [1]])
def test_a_foreign_entry_in_the_place_of_the_results(entry, structures, scene, tensor_of, refused):
    with refused("bad_settings", "measured_label"):
        dictionary_transform("MeasureVolume", structures)({"label": tensor_of(scene), "measured_label": entry})


def test_several_kinds_of_distance_side_by_side(structures, scene, tensor_of):
    chain = Compose(
        [
            transforms.MeasureDistanced("label", structures, [("liver", "spleen")]),
            transforms.MeasureDistanced(
                "label", structures, [("spleen", "liver")], kind="centroid", name="centroid_distance"
            ),
        ]
    )
    found = chain({"label": tensor_of(scene)})["measured_label"]
    assert found["distance_mm"].tolist() == found["centroid_distance_mm"].tolist() == [7]
    assert found["distance_rows"].tolist() == [[0, 1]]
    assert found["centroid_distance_rows"].tolist() == [[1, 0]]
    assert len(found) == 10


def test_two_label_maps_at_once(structures, scene, tensor_of, differences):
    other = np.flip(scene, 0).copy()
    chain = Compose([dictionary_transform(name, structures, ["label", "pred"]) for name in list(CASES)[:4]])
    result = chain({"label": tensor_of(scene), "pred": tensor_of(other)})
    for key, array in (("label", scene), ("pred", other)):
        alone = {}
        for name in list(CASES)[:4]:
            alone |= array_transform(name, structures)(tensor_of(array))
        assert not differences(result[f"measured_{key}"], alone)


@every_transform
def test_missing_keys(name, structures):
    with pytest.raises(KeyError):
        dictionary_transform(name, structures)({"image": 1})
    assert dictionary_transform(name, structures, allow_missing_keys=True)({"image": 1}) == {"image": 1}


@every_transform
def test_pickle_round_trip(name, structures, scene, tensor_of, differences):
    label = tensor_of(scene)
    for step in (array_transform(name, structures), dictionary_transform(name, structures)):
        again = pickle.loads(pickle.dumps(step))
        assert repr(again) == repr(step)
        assert again.structures == ("liver", "spleen", "heart")
        found = again({"label": label})["measured_label"] if isinstance(step, MapTransform) else again(label)
        assert not differences(found, array_transform(name, structures)(label))


@every_transform
def test_repr_names_the_parameters(name, structures):
    options = {
        "layout": "layers",
        "ignore": [-1],
        "segmented": ["liver"],
        "fov_margin_voxels": 2,
        "strict": True,
    }
    for step in (array_transform(name, structures, **options), dictionary_transform(name, structures, **options)):
        shown = repr(step)
        assert shown.startswith(f"{type(step).__name__}(")
        for part in ("<3 of custom>", "layout='layers'", "(-1,)", "('liver',)", "fov_margin_voxels=2", "strict=True"):
            assert part in shown, shown
    assert "keys=('label',)" in repr(dictionary_transform(name, structures))
    assert "strict" not in repr(array_transform(name, structures))


def test_repr_names_what_only_some_have(structures):
    distance = transforms.MeasureDistance(structures, kind="centroid", name="d")
    assert "kind='centroid'" in repr(distance)
    assert "name='d'" in repr(distance)
    direction = transforms.MeasureDirection(structures, [("liver", "heart")], dead_zone_mm=2, midline="spleen")
    assert "pairs=<1>" in repr(direction)
    assert "dead_zone_mm=2.0" in repr(direction)
    assert "midline=['spleen']" in repr(direction)
    assert "kind='centroid'" in repr(transforms.MeasureStructures(structures, kind="centroid"))
    assert repr(transforms.ValidateGeometry("qform")) == "ValidateGeometry(form='qform')"
    assert repr(transforms.ValidateGeometryd("a", "sform", "b")) == (
        "ValidateGeometryd(keys=('a',), form='sform', reference_key='b')"
    )


def test_public_names_and_aliases():
    names = [*CASES, "ValidateGeometry"]
    assert sorted(transforms.__all__) == sorted(name + end for name in names for end in ("", "d", "D", "Dict"))
    for name in names:
        dictionary = getattr(transforms, f"{name}d")
        assert getattr(transforms, f"{name}D") is getattr(transforms, f"{name}Dict") is dictionary
        assert issubclass(dictionary, MapTransform)
        assert issubclass(getattr(transforms, name), Transform)
        assert dictionary.__doc__
    with pytest.raises(AttributeError, match="MeasureNothing"):
        _ = transforms.MeasureNothing


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("MeasureVolume", {"layout": "channels"}, "layout"),
        ("MeasureVolume", {"fov_margin_voxels": -1}, "fov_margin_voxels"),
        ("MeasureVolume", {"ignore": [2]}, "ignore"),
        ("MeasureDistance", {"kind": "edge"}, "kind"),
        ("MeasureDistance", {"name": 3}, "name"),
        ("MeasureComponents", {"connectivity": "26"}, "connectivity"),
        ("MeasureComponents", {"listed": 2.5}, "listed"),
        ("MeasureDiameter", {}, "of"),
        ("MeasureDiameter", {"of": 3}, "of"),
        ("MeasureDistance", {"name": "a b"}, "name"),
        ("MeasureDistance", {"pairs": "some"}, "pairs"),
        ("MeasureDistance", {"pairs": [("liver", "liver")]}, "pairs"),
        ("MeasureDirection", {"dead_zone_mm": -1}, "dead_zone_mm"),
        ("MeasureDirection", {"dead_zone_mm": math.nan}, "dead_zone_mm"),
        ("MeasureStructures", {"kind": "edge"}, "kind"),
    ],
)
def test_bad_arguments_are_refused_at_construction(name, arguments, said, structures):
    with pytest.raises(SettingsError, match=said):
        getattr(transforms, name)(structures, **arguments)
    with pytest.raises(SettingsError, match=said):
        getattr(transforms, f"{name}d")("label", structures, **arguments)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("MeasureVolume", {"structures": "no_such_map"}),
        ("MeasureVolume", {"structures": {1: "a", 2: "a"}}),
        ("MeasureVolume", {"structures": {0: "a"}}),
        ("MeasureVolume", {"segmented": ["lung"]}),
        ("MeasureDistance", {"pairs": [("liver", "lung")]}),
        ("MeasureDistance", {"pairs": {"among": ["lungs"]}}),
        ("MeasureDirection", {"midline": ["spine"]}),
    ],
)
def test_unknown_structures_are_refused_at_construction(name, arguments, structures):
    with pytest.raises(LabelMapError):
        getattr(transforms, name)(**{"structures": structures, **arguments})


def test_structures_may_be_given_in_four_ways(structures, scene, tensor_of, tmp_path, differences):
    from monai_spatialqa.anatomy import load_label_map

    path = tmp_path / "mine.yaml"
    path.write_text("1: liver\n2: spleen\n3: heart\n", encoding="utf-8")
    label = tensor_of(scene)
    expected = transforms.MeasureVolume(structures)(label)
    for given in (load_label_map(structures), path, str(path)):
        assert not differences(transforms.MeasureVolume(given)(label), expected)
    shipped = transforms.MeasureVolume("totalsegmentator_v2")
    assert len(shipped.structures) == 117
    assert shipped(label)["voxel_count"].tolist()[:3] == [36, 24, 0]


def test_examples_in_docstrings():
    from monai_spatialqa.transforms import array, dictionary, measuring

    assert doctest.testmod(array).attempted > 0
    assert not any(doctest.testmod(module).failed for module in (array, dictionary, measuring))


def test_pairs_are_named_in_order(structures, scene, tensor_of):
    step = transforms.MeasureDistanced("label", structures, [("heart", "liver"), ("spleen", "liver")])
    assert step.pairs == [("heart", "liver"), ("spleen", "liver")]
    assert step.structures == ("liver", "spleen", "heart")
    found = step({"label": tensor_of(scene)})["measured_label"]
    assert found["distance_rows"].tolist() == [[2, 0], [1, 0]]
    np.testing.assert_array_equal(found["distance_mm"], [NAN, 7])
    assert transforms.MeasureDirectiond("label", structures, {"among": ["liver", "heart"]}).pairs == [
        ("liver", "heart")
    ]


@pytest.mark.parametrize("name", ["MeasureDistance", "MeasureDirection", "MeasureStructures"])
def test_no_pairs(name, scene, tensor_of):
    found = getattr(transforms, name)({1: "liver"}, "all", ignore=[2])(tensor_of(scene))
    for key in DISTANCE | DIRECTION:
        assert key not in found or found[key].shape[0] == 0
