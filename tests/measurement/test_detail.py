"""What goes back to the voxels: both paths, the records, unions, and faults of neighbouring tools."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import ndimage

import monai_spatialqa as sqa
from monai_spatialqa.records import Measurement

Run = Callable[..., list[dict[str, Any]]]

MAP = """
name: tumours
structures:
  1: {name: necrosis, tumour_kind: brats_whole}
  2: oedema
  3: liver
  9: nowhere
derived:
  whole: {union: [1, 2], tumour_kind: brats_whole}
  everything: {union: [whole, liver]}
"""


@pytest.fixture
def map_file(tmp_path: Path) -> Path:
    path = tmp_path / "map.yaml"
    path.write_text(MAP, encoding="utf-8")
    return path


def scene(shape: tuple[int, int, int] = (24, 20, 16)) -> np.ndarray:
    """A liver with a hole that holds a tumour of two parts, and a second piece of liver."""
    label = np.zeros(shape, np.uint8)
    label[3:15, 3:15, 3:13] = 3
    label[6:11, 6:12, 5:9] = 2
    label[7:10, 7:9, 6:8] = 1
    label[18:20, 3:5, 3:5] = 3
    return label


AFFINES = {
    "straight": np.diag([2.0, 3.0, 4.0, 1.0]),
    "flipped": np.array([[0, 0, -4.0, 90], [2.0, 0, 0, -5], [0, 3.0, 0, 7], [0, 0, 0, 1]]),
    "oblique": np.array([[1.9, -0.4, 0.3, 5], [0.5, 2.8, -0.2, -7], [-0.3, 0.3, 3.9, 2], [0, 0, 0, 1]]),
}


@pytest.mark.parametrize("affine", list(AFFINES))
def test_stream_and_transforms_write_the_same_bytes(
    affine: str, run_measure: Run, write_nifti: Any, map_file: Path, tmp_path: Path
) -> None:
    write_nifti("seg.nii.gz", scene(), affine=AFFINES[affine], forms=(1, 0))
    written = []
    for path in ("stream", "transforms"):
        run_measure(
            labels="seg.nii.gz",
            label_map=str(map_file),
            distances=[["liver", "necrosis"], ["whole", "liver"], ["oedema", "nowhere"], ["necrosis", "whole"]],
            detail="full",
            path=path,
            output_dir=path,
        )
        written.append((tmp_path / path / "measurements.jsonl").read_bytes())
    assert written[0] == written[1]
    record = json.loads(written[0])
    assert {pair["kind"] for pair in record["pairs"]} == {"box_center", "surface"}


def test_unions_are_measured_like_their_voxels(write_nifti: Any, map_file: Path) -> None:
    label, affine = scene(), AFFINES["oblique"]
    path = write_nifti("seg.nii.gz", label, affine=affine, forms=(1, 0))
    whole = write_nifti("whole.nii.gz", np.isin(label, (1, 2)).astype(np.uint8), affine=affine, forms=(1, 0))
    found = sqa.measure(path, label_map=map_file, detail="full")
    direct = sqa.measure(whole, label_map={1: "whole"}, detail="full")
    union, alone = found.structures["whole"], direct.structures["whole"]
    assert (union.label, union.union_of) == (None, ["necrosis", "oedema"])
    assert found.structures["everything"].union_of == ["necrosis", "oedema", "liver"]
    ignored = {"label", "union_of", "axial_diameter"}
    assert union.model_dump(exclude=ignored) == alone.model_dump(exclude=ignored)
    assert union.axial_diameter is not None


def test_a_union_without_all_of_its_parts_was_not_looked_for(write_nifti: Any, map_file: Path) -> None:
    path = write_nifti("seg.nii.gz", np.where(scene() == 1, 0, scene()).astype(np.uint8))
    found = sqa.measure(path, label_map=map_file, segmented=["oedema", "liver"])
    assert found.structures["whole"].status == ["not_segmented"]
    assert found.structures["whole"].voxel_count is None
    every = sqa.measure(path, label_map=map_file, segmented=["whole", "liver"]).structures["whole"]
    assert every.voxel_count == found.structures["oedema"].voxel_count


def test_br_068_and_br_069_components_are_counted_and_listed(write_nifti: Any) -> None:
    label = np.zeros((6, 6, 6), np.uint8)
    label[0, 0, 0] = label[1, 1, 1] = label[1, 2, 1] = 4
    label[4:6, 4:6, 5] = 4
    path = write_nifti("seg.nii.gz", label, spacing=(1.0, 2.0, 5.0))
    parts = sqa.measure(path, label_map={4: "kidneys"}, detail="full").structures["kidneys"]
    assert "many_components" in parts.status
    assert parts.components is not None
    assert (parts.components.count, parts.components.connectivity) == (2, 26)
    assert parts.components.voxel_counts == [4, 3]
    assert parts.components.volumes_ml == [0.04, 0.03]
    assert parts.components.boxes == [((4, 4, 5), (6, 6, 6)), ((0, 0, 0), (2, 3, 2))]


def test_surface_distance_contact_and_containment(write_nifti: Any, map_file: Path) -> None:
    label, spacing = scene(), np.array([2.0, 3.0, 4.0])
    path = write_nifti("seg.nii.gz", label, spacing=tuple(spacing))
    found = sqa.measure(path, label_map=map_file, distances=[("liver", "necrosis"), ("liver", "oedema")], detail="full")
    far, near = (pair for pair in found.pairs if pair.kind == "surface")
    outside = ndimage.distance_transform_edt(label != 3, sampling=spacing)
    assert far.distance_mm == pytest.approx(outside[label == 1].min(), rel=1e-12)
    assert near.distance_mm == 2.0
    assert (far.contact_faces, far.contact_mm2) == (0, 0.0)
    assert "touching" in near.status
    faces = [
        np.count_nonzero((np.roll(label, step, axis) == 3) & (label == 2)) for axis in range(3) for step in (1, -1)
    ]
    area = [12.0, 12.0, 8.0, 8.0, 6.0, 6.0]
    assert near.contact_faces == sum(faces)
    assert near.contact_mm2 == pytest.approx(np.dot(faces, area))
    assert near.share_of_b_in_hull_of_a == 1.0
    assert near.share_of_a_in_hull_of_b is not None
    assert near.share_of_a_in_hull_of_b < 0.2
    ends = np.array(far.points_ras_mm)
    assert np.linalg.norm(ends[0] - ends[1]) == pytest.approx(far.distance_mm)


def test_br_008_surface_distance_is_in_mm(write_nifti: Any) -> None:
    label = np.zeros((6, 6, 8), np.uint8)
    label[2, 2, 2], label[2, 2, 5] = 1, 2
    path = write_nifti("seg.nii.gz", label, spacing=(1.0, 1.0, 4.0))
    (pair,) = sqa.measure(path, distances="all", distance_kind="surface").pairs
    assert (pair.kind, pair.distance_mm, pair.status) == ("surface", 12.0, ["single_slice"])


def test_br_072_surface_distance_to_nothing_is_null(write_nifti: Any) -> None:
    label = np.zeros((4, 4, 4), np.uint8)
    label[1, 1, 1] = 1
    path = write_nifti("seg.nii.gz", label)
    options: dict[str, Any] = {"label_map": {1: "a", 2: "b", 3: "c"}, "distance_kind": "surface"}
    one, both = sqa.measure(path, distances=[("a", "b"), ("b", "c")], **options).pairs
    for pair in (one, both):
        assert (pair.distance_mm, pair.points_ras_mm, pair.overlap_voxels) == (None, None, None)
        assert "absent" in pair.status


@pytest.mark.parametrize("scale", [1.0, 2.5])
def test_br_074_the_one_surface_distance_is_symmetric_and_scales(write_nifti: Any, scale: float) -> None:
    """Not a mean, pooled or averaged, but the smallest distance: one number whichever structure comes first."""
    label = np.zeros((12, 9, 7), np.uint8)
    label[1:4, 1:8, 1:3], label[8:9, 2:4, 2:6] = 1, 2
    path = write_nifti("seg.nii.gz", label, spacing=(1.0 * scale, 2.0 * scale, 3.0 * scale))
    there, back = sqa.measure(
        path, distances=[("label_1", "label_2"), ("label_2", "label_1")], distance_kind="surface"
    ).pairs
    assert there.kind == back.kind == "surface"
    assert there.distance_mm == back.distance_mm == 5.0 * scale
    assert there.points_ras_mm is not None
    assert there.points_ras_mm[::-1] == back.points_ras_mm


def test_br_074_identical_structures_have_no_distance(write_nifti: Any, tmp_path: Path) -> None:
    mask = (scene() == 2).astype(np.uint8)
    for name in ("one", "same"):
        write_nifti(f"masks/{name}.nii.gz", mask)
    (pair,) = sqa.measure(tmp_path / "masks", distances="all", distance_kind="surface").pairs
    assert (pair.distance_mm, pair.overlap_voxels) == (0.0, int(mask.sum()))
    assert "overlapping" in pair.status


def test_the_axial_diameter_of_a_tumour(write_nifti: Any, map_file: Path) -> None:
    path = write_nifti("seg.nii.gz", scene(), spacing=(2.0, 3.0, 4.0))
    found = sqa.measure(path, label_map=map_file, detail="full")
    diameter = found.structures["whole"].axial_diameter
    assert diameter is not None
    # 5 x 6 voxels of 2 x 3 mm; corners are edge midpoints: half a voxel beyond the outermost centres on one axis only.
    assert diameter.longest_mm == pytest.approx(math.hypot(4 * 2.0, 6 * 3.0))
    assert 5 <= diameter.slice_index < 9
    assert found.structures["liver"].axial_diameter is None
    assert sqa.measure(path, label_map=map_file).structures["whole"].axial_diameter is None


def test_records_are_strict_json(write_nifti: Any, map_file: Path) -> None:
    path = write_nifti("seg.nii.gz", scene())
    record = sqa.measure(path, label_map=map_file, detail="full", distances=[("liver", "nowhere")])
    line = record.to_json_line()
    assert "NaN" not in line
    assert Measurement.from_json_line(line) == record


def test_tumours_of_any_kind_have_a_diameter(write_nifti: Any) -> None:
    path = write_nifti("seg.nii.gz", (scene() == 1).astype(np.uint8))
    tumour = sqa.measure(path, label_map="msd_task06", detail="full").structures["lung_tumour"]
    assert tumour.axial_diameter is not None


def test_unions_of_tumours_are_tumours(write_nifti: Any) -> None:
    path = write_nifti("seg.nii.gz", np.where(scene() == 3, 0, scene()).astype(np.uint8))
    found = sqa.measure(path, label_map="brats2021", detail="full").structures
    assert found["tumour_core"].axial_diameter is not None
    assert found["whole_tumour"].axial_diameter is not None


@pytest.mark.parametrize("path", ["stream", "transforms"])
def test_an_id_that_a_union_may_lack_is_noted(run_measure: Run, write_nifti: Any, path: str) -> None:
    write_nifti("seg.nii.gz", scene())
    (row,) = run_measure(labels="seg.nii.gz", label_map="brats2021", path=path)
    assert row["geometry"]["notes"] == ["ids outside the label map (3) are in none of its unions"]


@pytest.mark.parametrize(
    ("distances", "told"),
    [
        ([("liver", "zz")], "one of"),
        ([("tumours", "liver")], "among"),
        ({"among": ["liver"]}, "two structures"),
        ({"among": []}, "two structures"),
    ],
)
def test_pairs_that_cannot_be_are_explained(write_nifti: Any, distances: Any, told: str) -> None:
    label_map = {"structures": {1: "liver", 2: "spleen"}, "groups": {"tumours": ["spleen"]}}
    with pytest.raises(sqa.errors.SpatialQAError, match=told):
        sqa.measure(write_nifti("seg.nii.gz", scene()), label_map=label_map, distances=distances)


def test_a_pair_named_twice_is_one_pair(write_nifti: Any) -> None:
    path = write_nifti("seg.nii.gz", scene())
    pairs = [("label_1", "label_2")] * 2
    assert len(sqa.measure(path, distances=pairs).pairs) == 1
