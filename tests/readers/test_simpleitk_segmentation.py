"""seg.nrrd: each (layer, value) becomes a structure with an id of its own."""

from __future__ import annotations

import gzip

import numpy as np
import pytest
from monai.transforms import LoadImaged

from monai_spatialqa.errors import FileReadError, LabelMapError, LabelValueError, SpatialQAError
from monai_spatialqa.readers import SimpleITKReader
from monai_spatialqa.readers.meta import read_segments_meta
from monai_spatialqa.readers.simpleitk_volume import read_sitk_volume
from monai_spatialqa.transforms import MeasureStructuresd


def segments(*described):
    """Keys of segments (name, layer, value); None leaves a key out."""
    keys = {"Segmentation_MasterRepresentation": "Binary labelmap"}
    for number, (name, layer, value) in enumerate(described):
        keys |= {f"Segment{number}_ID": f"Segment_{number}", f"Segment{number}_Name": name}
        keys |= {f"Segment{number}_Layer": layer, f"Segment{number}_LabelValue": value}
        keys[f"Segment{number}_Tags"] = "Segmentation.Status:inprogress|Terminology~: x=y"
    return keys


@pytest.fixture
def write(tmp_path):
    """A seg.nrrd: (X, Y, Z), or (L, X, Y, Z) with the layers first as 3D Slicer writes them, or last."""

    def to_file(array, keys, name="a.seg.nrrd", first=True):
        layered = array.ndim == 4
        stored = array if first or not layered else np.moveaxis(array, 0, -1)
        kinds, directions = ["domain"] * 3, ["(2,0,0)", "(0,3,0)", "(0,0,4)"]
        if layered:
            at = 0 if first else 3
            kinds.insert(at, "list")
            directions.insert(at, "none")
        lines = [
            "NRRD0004",
            f"type: {'short' if array.dtype == np.int16 else 'float' if array.dtype.kind == 'f' else 'unsigned char'}",
            f"dimension: {array.ndim}",
            "space: left-posterior-superior",
            f"sizes: {' '.join(map(str, stored.shape))}",
            f"space directions: {' '.join(directions)}",
            f"kinds: {' '.join(kinds)}",
            "endian: little",
            "encoding: gzip",
            "space origin: (0,0,0)",
            *(f"{key}:={value}" for key, value in keys.items() if value is not None),
        ]
        path = tmp_path / name
        path.write_bytes("\n".join(lines).encode() + b"\n\n" + gzip.compress(stored.tobytes(order="F")))
        return path

    return to_file


@pytest.fixture
def layers():
    """(2, 10, 12, 8): layer 0 has 1 (36 voxels) and 2 (24), layer 1 has 1 (12), which overlaps both."""
    array = np.zeros((2, 10, 12, 8), np.uint8)
    array[0, 2:5, 3:7, 1:4] = 1
    array[0, 6:8, 3:7, 1:4] = 2
    array[1, 4:7, 3:5, 1:3] = 1
    return array


THREE = segments(("liver", 0, 1), ("spleen", 0, 2), ("tumour", 1, 1))


def load(path, structures=None):
    loader = LoadImaged("label", reader=SimpleITKReader(structures), dtype=None, ensure_channel_first=True)
    return loader({"label": str(path)})


def counts(path, structures=None):
    data = load(path, structures)
    names = read_segments_meta(data["label"].meta)
    measure = MeasureStructuresd("label", names, "all", layout="layers")
    found = dict(zip(measure.structures, measure(data)["measured_label"]["voxel_count"].tolist(), strict=True))
    return {name: (number, found[name]) for number, name in names.items()}


@pytest.mark.parametrize("first", [True, False])
def test_br_082_layers_with_the_same_value(first, write, layers):
    path = write(layers, THREE, first=first)
    assert counts(path) == {"liver": (1, 36), "spleen": (2, 24), "tumour": (3, 12)}
    voxels, geometry, names = read_sitk_volume(path)
    assert voxels.shape == (10, 12, 8, 2)
    assert voxels.flags.f_contiguous
    assert voxels.dtype == np.uint8
    assert names == {1: "liver", 2: "spleen", 3: "tumour"}
    assert geometry.shape == (10, 12, 8)
    label = load(path)["label"]
    assert label.shape == (2, 10, 12, 8)
    assert label[0].is_contiguous() or label[0].permute(2, 1, 0).is_contiguous()


def test_values_that_are_unique_stay_the_ids(write, layers):
    layers[1] *= 7
    path = write(layers, segments(("liver", 0, 1), ("spleen", 0, 2), ("tumour", 1, 7)))
    assert counts(path) == {"liver": (1, 36), "spleen": (2, 24), "tumour": (7, 12)}


def test_one_layer(write, layers):
    for keys in (segments(("liver", 0, 1), ("spleen", 0, 2)), segments(("liver", None, 1), ("spleen", None, 2))):
        path = write(layers[0], keys)
        label = load(path)["label"]
        assert label.shape == (1, 10, 12, 8)
        assert counts(path) == {"liver": (1, 36), "spleen": (2, 24)}


def test_a_single_layer_on_a_list_axis(write, layers):
    path = write(layers[:1], segments(("liver", 0, 1), ("spleen", 0, 2)))
    assert read_sitk_volume(path)[0].shape == (10, 12, 8)


def test_the_old_layout_has_a_layer_for_each_segment(write, layers):
    array = np.stack([layers[0] == 1, layers[0] == 2, layers[1] == 1]).astype(np.uint8)
    path = write(array, segments(("liver", None, None), ("spleen", None, None), ("tumour", None, None)))
    assert counts(path) == {"liver": (1, 36), "spleen": (2, 24), "tumour": (3, 12)}


def test_a_label_map_gives_the_ids_by_name(write, layers):
    path = write(layers, segments(("Liver", 0, 1), ("spleen", 0, 2), ("odd thing", 1, 1)))
    found = counts(path, {300: "liver", 5: "spleen", 6: "heart"})
    assert found == {"liver": (300, 36), "spleen": (5, 24), "odd thing": (301, 12)}
    assert read_sitk_volume(path, {300: "liver", 5: "spleen", 6: "heart"})[0].dtype == np.uint16


def test_ids_may_be_swapped(write, layers):
    assert counts(write(layers[0], segments(("a", 0, 1), ("b", 0, 2))), {2: "a", 1: "b"}) == {
        "a": (2, 36),
        "b": (1, 24),
    }


def test_a_segment_without_voxels_was_looked_for(write, layers):
    path = write(layers, segments(("liver", 0, 1), ("spleen", 0, 2), ("tumour", 1, 1), ("cyst", 1, 9)))
    assert counts(path)["cyst"] == (4, 0)


class TestValuesWithoutASegment:
    def test_are_kept_under_their_own_id(self, write, layers):
        path = write(layers[0], segments(("liver", 0, 1)))
        assert counts(path) == {"liver": (1, 36), "label_2": (2, 24)}
        assert "value 2 of layer 0" in load(path)["label"].meta["spatialqa_notes"]

    def test_or_under_a_free_one(self, write, layers):
        path = write(layers, segments(("liver", 0, 1), ("spleen", 0, 2)))
        assert counts(path) == {"liver": (1, 36), "spleen": (2, 24), "layer_1_label_1": (3, 12)}

    def test_never_under_an_id_of_the_label_map(self, write, layers):
        path = write(layers[0], segments(("liver", 0, 1)))
        assert counts(path, {1: "liver", 2: "heart"}) == {"liver": (1, 36), "layer_0_label_2": (3, 24)}


def test_an_empty_segmentation(write, layers):
    assert read_sitk_volume(write(layers[0] * 0, segments()))[2] == {}


def test_whole_numbers_as_floats(write, layers):
    path = write(layers[0].astype("<f4"), segments(("liver", 0, 1), ("spleen", 0, 2)))
    assert counts(path) == {"liver": (1, 36), "spleen": (2, 24)}


def test_names_beyond_ascii(write, layers):
    assert list(counts(write(layers[0], segments(("Leber größer", 0, 1), ("肝臓", 0, 2))))) == ["Leber größer", "肝臓"]


REFUSED = {
    "same layer and value": (segments(("a", 0, 1), ("b", 0, 1)), LabelMapError, "duplicate_label"),
    "same name": (segments(("a", 0, 1), ("a", 1, 1)), LabelMapError, "duplicate_name"),
    "no such layer": (segments(("a", 2, 1)), FileReadError, "bad_header"),
    "negative layer": (segments(("a", -1, 1)), FileReadError, "bad_header"),
    "background": (segments(("a", 0, 0)), FileReadError, "bad_header"),
    "no number": (segments(("a", 0, "one")), FileReadError, "bad_header"),
    "more segments than layers": (segments(*[(n, None, None) for n in "abc"]), FileReadError, "bad_header"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_segments_that_cannot_be_told_apart(what, write, layers):
    keys, kind, code = REFUSED[what]
    path = write(layers, keys)
    with pytest.raises(SpatialQAError) as caught:
        load(path)
    assert isinstance(caught.value, kind)
    assert caught.value.code == code
    assert caught.value.file == str(path)


def test_values_that_are_no_ids(write, layers):
    with pytest.raises(LabelValueError, match="negative"):
        read_sitk_volume(write(-layers.astype("<i2"), THREE))
    with pytest.raises(LabelValueError, match="whole numbers"):
        read_sitk_volume(write(layers.astype("<f4") / 2, THREE))


def test_an_unusable_label_map_is_refused_at_construction():
    with pytest.raises(LabelMapError):
        SimpleITKReader({1: "a", 2: "a"})
