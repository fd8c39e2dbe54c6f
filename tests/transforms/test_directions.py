"""Where one structure lies from another, and on which side of the body."""

from __future__ import annotations

import nibabel as nib
import numpy as np
import pytest
from monai.transforms import Orientation

from monai_spatialqa import transforms
from monai_spatialqa.phantoms import make_phantom


@pytest.mark.parametrize(("sign", "left"), [(1, 0), (-1, 1)])
def test_br010_which_blob_is_on_the_left(sign, left, two_blobs, write_nifti, load):
    """In RAS lower x is left, whatever way the stored axis runs."""
    label = load(write_nifti("a.nii.gz", two_blobs, np.diag([sign, 1.0, 1.0, 1.0])))
    names = {1: "one", 2: "two"}
    found = transforms.MeasureStructures(names)(label)
    assert int(found["centroid_ras_mm"][:, 0].argmin()) == left
    direction = transforms.MeasureDirection(names, dead_zone_mm=2)(label)
    assert direction["direction"].tolist() == [[sign, 0, 0]]
    assert direction["direction_offset_ras_mm"].tolist() == [[sign * 5, 0, 0]]


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("sign", [1, -1])
def test_signs_are_right_anterior_superior(axis, sign, tensor_of):
    array = np.zeros((9, 9, 9), np.uint8)
    at = [4, 4, 4]
    array[tuple(at)] = 1
    at[axis] += 3 * sign
    array[tuple(at)] = 2
    step = transforms.MeasureDirection({1: "a", 2: "b"}, [("a", "b"), ("b", "a")])
    found = step(tensor_of(array, spacing=(2, 2, 2)))
    expected = [sign if other == axis else 0 for other in range(3)]
    assert found["direction"].tolist() == [expected, [-value for value in expected]]
    assert found["direction_offset_ras_mm"][0].tolist() == [6 * value for value in expected]


@pytest.mark.parametrize(("dead_zone_mm", "expected"), [(0, 1), (4.999, 1), (5, 0), (5.001, 0)])
def test_the_dead_zone_includes_its_end(dead_zone_mm, expected, two_blobs, tensor_of):
    label = tensor_of(two_blobs, spacing=(1, 1, 1))
    found = transforms.MeasureDirection({1: "a", 2: "b"}, dead_zone_mm=dead_zone_mm)(label)
    assert found["direction"].tolist() == [[expected, 0, 0]]


def test_the_direction_runs_between_box_centres(tensor_of):
    """Not between centroids: an L-shaped structure has them apart."""
    array = np.zeros((12, 8, 4), np.uint8)
    array[0, 0:5, 0] = 1
    array[0:5, 0, 0] = 1
    array[10, 2, 0] = 2
    found = transforms.MeasureDirection({1: "a", 2: "b"}, dead_zone_mm=0)(tensor_of(array, spacing=(1, 1, 1)))
    assert found["direction_offset_ras_mm"].tolist() == [[8, 0, 0]]
    distances = {
        kind: float(transforms.MeasureDistance({1: "a", 2: "b"}, kind=kind)(tensor_of(array))["distance_mm"])
        for kind in ("box_center", "centroid")
    }
    assert distances["centroid"] > distances["box_center"] == 16


def test_sides_of_the_body(tensor_of):
    array = np.zeros((21, 5, 5), np.uint8)
    array[10, 2, 2], array[2, 2, 2], array[18, 2, 2], array[12, 2, 2] = 1, 2, 3, 4
    names = {1: "spine", 2: "kidney_left", 3: "kidney_right", 4: "aorta", 5: "liver"}
    step = transforms.MeasureDirection(names, None, midline=["spine"], dead_zone_mm=3)
    found = step(tensor_of(array, spacing=(1, 1, 1)))
    np.testing.assert_array_equal(found["side_offset_mm"], [0, -8, 8, 2, np.nan])
    assert found["side"].tolist() == [0, -1, 1, 0, 0]
    mirrored = step(tensor_of(array, spacing=(-1, 1, 1)))
    assert mirrored["side"].tolist() == [0, 1, -1, 0, 0]
    assert found["direction"].shape == (0, 3)


def test_the_midline_is_the_mean_of_what_is_there(tensor_of):
    array = np.zeros((21, 5, 5), np.uint8)
    array[8, 2, 2], array[12, 2, 4], array[2, 2, 2] = 1, 2, 4
    names = {1: "upper", 2: "lower", 3: "gone", 4: "spleen"}
    step = transforms.MeasureDirection(names, None, midline=["upper", "lower", "gone"], dead_zone_mm=0)
    assert step(tensor_of(array, spacing=(1, 1, 1)))["side_offset_mm"][3] == -8
    alone = transforms.MeasureDirection(names, None, midline=["gone"])(tensor_of(array))
    assert alone["side_offset_mm"].isnan().all()
    assert not alone["side"].any()


def test_no_sides_unless_asked(two_blobs, tensor_of):
    assert "side" not in transforms.MeasureDirection({1: "a", 2: "b"})(tensor_of(two_blobs))


def test_groups_on_the_midline():
    step = transforms.MeasureDirection("totalsegmentator_v2", None, midline="vertebrae")
    assert len(step.midline) == 25
    assert set(step.midline) < set(step.structures)


@pytest.mark.parametrize("axcodes", ["LPS", "SAR", "IRP"])
def test_orientation_changes_nothing(axcodes, tensor_of, differences):
    phantom = make_phantom(5, shape=(60, 45, 50), spacing_mm=(6.0, 6.0, 8.0), rotation_deg=(5, 8, -12))
    names = phantom.label_names
    step = transforms.MeasureDirection(names, midline=[next(iter(names.values()))])
    straight = tensor_of(phantom.label, phantom.affine)
    expected = step(straight)
    assert not differences(step(Orientation(axcodes, labels=None)(straight)), expected, 1e-9)
    offsets = np.array(
        [
            np.subtract(phantom.shapes[second].center_ras_mm, phantom.shapes[first].center_ras_mm)
            for first, second in step.pairs
        ]
    )
    far = np.abs(offsets) > 25
    assert (np.sign(offsets)[far] == expected["direction"].numpy()[far]).all()
    assert far.sum() > 50
    assert nib.aff2axcodes(phantom.affine) == ("R", "A", "S")
