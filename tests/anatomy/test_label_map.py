"""What a label map answers."""

from __future__ import annotations

import pickle

import pytest

from monai_spatialqa.anatomy import LabelMap, StructureInfo, fallback_name, load_label_map, opposite_name, side_of_name
from monai_spatialqa.errors import LabelMapError


@pytest.fixture
def small() -> LabelMap:
    return load_label_map(
        {
            "name": "small",
            "structures": {7: "spleen", 2: "kidney_right", 3: "kidney_left", 2**64 - 1: "tumour"},
            "groups": {"kidneys": ["kidney_left", "kidney_right"]},
        }
    )


def test_order_is_that_of_the_ids(small):
    assert small.ids == (2, 3, 7, 2**64 - 1)
    assert small.names == ("kidney_right", "kidney_left", "spleen", "tumour")
    assert [entry.label for entry in small] == list(small.ids)


def test_lookups(small):
    assert small.by_label(3) == StructureInfo(3, "kidney_left", "left", "kidney_right")
    assert small.by_name("tumour").label == 2**64 - 1
    assert small.name_of(7) == "spleen"
    assert small.name_of(8) == fallback_name(8) == "label_8"
    assert small.group("kidneys") == ["kidney_right", "kidney_left"]
    assert repr(small) == "LabelMap('small', 4 structures)"


@pytest.mark.parametrize(
    ("asked", "names"),
    [
        ("spleen", ["spleen"]),
        ("kidneys", ["kidney_right", "kidney_left"]),
        (["spleen", "kidneys"], ["spleen", "kidney_right", "kidney_left"]),
        (["kidney_left", "kidneys", "kidney_left"], ["kidney_left", "kidney_right"]),
        ([], []),
    ],
)
def test_select(small, asked, names):
    assert small.select(asked) == names


@pytest.mark.parametrize(
    ("ask", "hint"),
    [
        (lambda m: m.by_name("splen"), "spleen"),
        (lambda m: m.select(["spleen", "kidnesy"]), "kidneys"),
        (lambda m: m.group("kidney"), "kidneys"),
    ],
)
def test_unknown_names_are_refused_with_the_closest(small, ask, hint):
    with pytest.raises(LabelMapError, match=hint):
        ask(small)


def test_unknown_id_is_refused(small):
    with pytest.raises(LabelMapError, match="8"):
        small.by_label(8)


def test_hash_follows_content_not_name_or_order():
    first = load_label_map({1: "a", 2: "b"})
    assert load_label_map({"name": "other", "structures": {"2": "b", "1": "a"}}).sha256 == first.sha256
    assert load_label_map({1: "a", 2: "c"}).sha256 != first.sha256
    assert len(first.sha256) == 64


def test_immutable_equal_and_picklable(small):
    copy = pickle.loads(pickle.dumps(small))
    assert copy == small
    assert hash(copy) == hash(small)
    assert copy.by_name("spleen") == small.by_name("spleen")
    with pytest.raises(AttributeError):
        small.name = "other"


@pytest.mark.parametrize(
    ("name", "side", "opposite"),
    [
        ("kidney_left", "left", "kidney_right"),
        ("left_kidney", "left", "right_kidney"),
        ("Left kidney", "left", "Right kidney"),
        ("KIDNEY-RIGHT", "right", "KIDNEY-LEFT"),
        ("rib_left_1", "left", "rib_right_1"),
        ("cleft_palate", None, None),
        ("upright", None, None),
        ("left_right_shunt", None, None),
        ("liver", None, None),
    ],
)
def test_side_words(name, side, opposite):
    assert side_of_name(name) == side
    assert opposite_name(name) == opposite
