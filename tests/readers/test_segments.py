"""Ids of structures that a file names itself."""

from __future__ import annotations

import pytest

from monai_spatialqa.anatomy import load_label_map
from monai_spatialqa.errors import LabelMapError
from monai_spatialqa.readers.meta import read_segments_meta, segments_meta
from monai_spatialqa.readers.segments import NamedSegment, assign_ids

MAP = load_label_map({3: "liver", 8: "kidney_left"})


@pytest.mark.parametrize(
    ("segments", "label_map", "expected"),
    [
        ([("tumour", 5), ("cyst", 2)], None, [(5, "tumour"), (2, "cyst")]),
        ([("tumour", 5), ("cyst", 5)], None, [(1, "tumour"), (2, "cyst")]),
        ([("tumour", None), ("cyst", 7)], None, [(1, "tumour"), (2, "cyst")]),
        ([("tumour", 0), ("cyst", 1)], None, [(1, "tumour"), (2, "cyst")]),
        ([("Liver", 1), ("Kidney left", 2)], MAP, [(3, "liver"), (8, "kidney_left")]),
        ([("spleen", 3), ("kidney-left", 1), ("x", None)], MAP, [(9, "spleen"), (8, "kidney_left"), (10, "x")]),
        ([], MAP, []),
    ],
)
def test_ids_follow_the_label_map_or_the_file(segments, label_map, expected):
    assert assign_ids([NamedSegment(*segment) for segment in segments], label_map) == expected


@pytest.mark.parametrize(
    ("names", "code"),
    [(["a", "a"], "duplicate_name"), (["Liver", "liver"], "duplicate_name"), (["a", " "], "missing_name")],
)
def test_names_must_tell_segments_apart(names, code):
    with pytest.raises(LabelMapError) as caught:
        assign_ids([NamedSegment(name) for name in names], MAP)
    assert caught.value.code == code


def test_segments_survive_as_a_plain_string():
    assert read_segments_meta(segments_meta({7: "Körper", 2: "a"})) == {7: "Körper", 2: "a"}
    assert read_segments_meta({}) is None
