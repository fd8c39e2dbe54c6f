"""Axial diameters from runs against trying every pair of outline points in every slice."""

from __future__ import annotations

import itertools
from typing import Any

import nibabel as nib
import numpy as np
import pytest
import SimpleITK as sitk
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial import ConvexHull
from scipy.spatial.distance import pdist

from monai_spatialqa.geometry.diameters import axial_diameter

KINDS = ["identity", "flipped", "permuted", "oblique", "sheared"]


def outline_points(slice_mask: np.ndarray) -> np.ndarray:
    """Midpoints of the pixel edges between inside and outside."""
    padded = np.pad(slice_mask, 1)
    points = []
    for axis in range(2):
        differs = np.diff(padded.astype(int), axis=axis) != 0
        where = np.argwhere(differs).astype(float) - 1
        where[:, axis] += 0.5
        points.append(where)
    return np.concatenate(points)


def brute_force(mask: np.ndarray, affine: np.ndarray) -> tuple[float, int, np.ndarray]:
    """Longest distance, its slice, and its ends as indices in the slice; ties as documented."""
    best: tuple[float, int, Any] = (-1.0, -1, None)
    for k in range(mask.shape[2]):
        if not mask[:, :, k].any():
            continue
        points = sorted(map(tuple, outline_points(mask[:, :, k]).tolist()))
        for a, b in itertools.combinations(points, 2):
            length = float(np.linalg.norm(affine[:3, :2] @ (np.array(a) - b)))
            if length > best[0] * (1 + 1e-10):
                best = length, k, np.array([a, b])
    return best


def longest_perpendicular(points: np.ndarray, ends: np.ndarray, edges: np.ndarray) -> float:
    """By clipping many parallel lines, one through every point, with the hull's half-spaces in world millimetres."""
    world = points @ edges.T
    frame = np.linalg.svd(edges, full_matrices=False)[0].T  # an orthonormal frame of the slice's plane
    flat = world @ frame.T
    along = (ends[1] - ends[0]) @ edges.T @ frame.T
    step = np.array([-along[1], along[0]]) / np.linalg.norm(along)
    half_spaces = ConvexHull(flat).equations
    longest = 0.0
    for origin in flat:
        low, high = -np.inf, np.inf
        for a, b, c in half_spaces:
            slope, rest = np.array([a, b]) @ step, -(np.array([a, b]) @ origin + c) + 1e-12
            if slope > 1e-12:
                high = min(high, rest / slope)
            elif slope < -1e-12:
                low = max(low, rest / slope)
        longest = max(longest, high - low)
    return longest


def check(mask: np.ndarray, found: Any, in_ras: Any) -> None:
    ours = axial_diameter(found.of(1), found.grid)
    affine = found.grid.ras.affine
    turned = in_ras(mask, found.grid.ras)
    length, k, ends = brute_force(turned, affine)
    if ends is None:
        assert ours is None
        return
    assert ours is not None
    assert ours.longest_mm == pytest.approx(length)
    assert ours.slice_index == k
    corners = np.column_stack([ends, [k, k], [1, 1]]) @ affine.T
    np.testing.assert_allclose(ours.ends_ras_mm, corners[:, :3], atol=1e-9)
    difference = np.diff(ours.ends_ras_mm, axis=0)[0]
    other = np.diff(ours.perpendicular_ends_ras_mm, axis=0)[0]
    assert np.linalg.norm(difference) == pytest.approx(ours.longest_mm)
    assert np.linalg.norm(other) == pytest.approx(ours.perpendicular_mm)
    assert difference @ other == pytest.approx(0, abs=1e-8 * length**2)
    expected = longest_perpendicular(outline_points(turned[:, :, k]), ends, affine[:3, :2])
    assert ours.perpendicular_mm == pytest.approx(expected, abs=1e-8)
    index = np.linalg.solve(affine, np.column_stack([ours.perpendicular_ends_ras_mm, [1, 1]]).T).T
    np.testing.assert_allclose(index[:, 2], k, atol=1e-9)


@given(
    shape=st.tuples(*[st.integers(1, 6)] * 3),
    seed=st.integers(0, 2**32),
    share=st.sampled_from([0.05, 0.2, 0.6, 1.0]),
    order=st.permutations(range(3)),
    kind=st.sampled_from(KINDS),
)
@settings(max_examples=120, deadline=None)
def test_the_same_as_trying_every_pair(shape, seed, share, order, kind, affines, run_set, in_ras):
    mask = np.random.default_rng(seed).random(shape) < share
    check(mask, run_set(mask, affines[kind], order), in_ras)


def ellipse(shape, center, radii, turn=0.0):
    x, y, z = np.meshgrid(*map(np.arange, shape), indexing="ij")
    u = (x - center[0]) * np.cos(turn) + (y - center[1]) * np.sin(turn)
    v = (y - center[1]) * np.cos(turn) - (x - center[0]) * np.sin(turn)
    return (u / radii[0]) ** 2 + (v / radii[1]) ** 2 + ((z - center[2]) / radii[2]) ** 2 <= 1


def test_an_ellipsoid(run_set):
    mask = ellipse((200, 180, 60), (95, 88, 31), (80, 30, 25), 0.5)
    found = run_set(mask, np.diag([0.5, 0.5, 2, 1]))
    ours = axial_diameter(found.of(1), found.grid)
    assert ours.longest_mm == pytest.approx(80, abs=0.7)
    assert ours.perpendicular_mm == pytest.approx(30, abs=0.7)
    assert 29 <= ours.slice_index <= 31  # of slices with the same outline the lowest
    np.testing.assert_allclose(ours.ends_ras_mm.mean(axis=0)[:2], [47.5, 44], atol=0.4)


def test_memory_order_and_stored_orientation_do_not_matter(run_set):
    rng = np.random.default_rng(3)
    for _ in range(10):
        mask = rng.random((9, 8, 7)) < 0.3
        affine = np.array([[0.8, 0.1, 0, 3], [-0.1, 0.8, 0.2, 4], [0, 0.1, 2, 5], [0, 0, 0, 1]])
        answers = []
        for order in itertools.permutations(range(3)):
            for flips in itertools.product([False, True], repeat=3):
                axes = [axis for axis in range(3) if flips[axis]]
                turned = np.flip(mask, axes).transpose(order)
                matrix = affine.copy()
                for axis in axes:
                    matrix[:3, axis] *= -1
                    matrix[:3, 3] += affine[:3, axis] * (mask.shape[axis] - 1)
                matrix[:3, :3] = matrix[:3, :3][:, order]
                found = run_set(turned, matrix, rng.permutation(3))
                answers.append(axial_diameter(found.of(1), found.grid))
        for answer in answers:
            assert answer.slice_index == answers[0].slice_index
            np.testing.assert_allclose(answer.ends_ras_mm, answers[0].ends_ras_mm, atol=1e-9)
            np.testing.assert_allclose(
                answer.perpendicular_ends_ras_mm, answers[0].perpendicular_ends_ras_mm, atol=1e-9
            )


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_a_single_voxel_is_as_wide_as_it_is(order, run_set):
    mask = np.zeros((4, 5, 6), bool)
    mask[1, 4, 5] = True  # at the border of the volume
    found = run_set(mask, np.diag([2.0, 3.0, 7.0, 1]), order)
    ours = axial_diameter(found.of(1), found.grid)
    assert (ours.longest_mm, ours.perpendicular_mm, ours.slice_index) == (3, 2, 5)
    assert ours.ends_ras_mm.tolist() == [[2, 10.5, 35], [2, 13.5, 35]]
    assert ours.perpendicular_ends_ras_mm.tolist() == [[1, 12, 35], [3, 12, 35]]


def test_one_voxel_thick(run_set):
    mask = np.zeros((9, 5, 6), bool)
    mask[2:8, 3, 1:] = True
    found = run_set(mask, np.diag([1.0, 1.0, 9.0, 1]))
    ours = axial_diameter(found.of(1), found.grid)
    assert (ours.longest_mm, ours.perpendicular_mm, ours.slice_index) == (6, 1, 1)


def test_a_full_volume(run_set):
    found = run_set(np.ones((30, 40, 4), bool))
    ours = axial_diameter(found.of(1), found.grid)
    assert ours.slice_index == 0
    assert ours.longest_mm == pytest.approx(np.hypot(29, 40))  # between edge midpoints, not pixel corners


def test_in_plane_shear_changes_the_right_angle(run_set, in_ras):
    mask = ellipse((40, 40, 3), (20, 20, 1), (15, 9, 2), 0.3)
    affine = np.array([[1.0, 0.25, 0, 0], [0, 1, 0, 0], [0, 0, 2, 0], [0, 0, 0, 1]])
    check(mask, run_set(mask, affine), in_ras)


def test_absent(run_set):
    found = run_set(np.zeros((3, 3, 3), bool))
    assert axial_diameter(found.of(1), found.grid) is None


# Maximum2DDiameterSlice as that project publishes it: AIM-Harvard/pyradiomics@8ed57938 data/baseline/baseline_shape.csv
# (BSD-3-Clause). Its mesh has the same points in the slices as our outline, and others half way between two slices.
PUBLISHED = {"breast1": 8.39979371027, "brain1": 53.5939777692}


def pyradiomics_case(name, data_folder, run_set):
    image = sitk.ReadImage(data_folder / "radiomics_reference" / f"{name}_label.nrrd")
    mask = (sitk.GetArrayFromImage(image) == 1).transpose(2, 1, 0)
    affine = np.eye(4)
    affine[:3, :3] = np.reshape(image.GetDirection(), (3, 3)) * image.GetSpacing()
    affine[:3, 3] = image.GetOrigin()
    return mask, image.GetSpacing(), run_set(mask, np.diag([-1, -1, 1, 1]) @ affine)


def longest_between_slices(mask, spacing):
    """Between the mesh's points half way between two slices: pixels of one slice that the next one lacks."""
    padded = np.pad(mask, ((0, 0), (0, 0), (1, 1)))
    changes = np.moveaxis(np.diff(padded.astype(int), axis=2) != 0, 2, 0)
    return max(pdist(np.argwhere(change) * spacing[:2]).max() for change in changes if change.sum() > 1)


def test_pyradiomics_breast(data_folder, run_set):
    mask, spacing, found = pyradiomics_case("breast1", data_folder, run_set)
    assert longest_between_slices(mask, spacing) < PUBLISHED["breast1"]
    assert axial_diameter(found.of(1), found.grid).longest_mm == pytest.approx(PUBLISHED["breast1"], abs=1e-10)


def test_pyradiomics_brain_joins_two_slices(data_folder, run_set):
    """Two slices 6.5 mm apart, one part in each: the published length lies in neither slice."""
    mask, spacing, found = pyradiomics_case("brain1", data_folder, run_set)
    assert longest_between_slices(mask, spacing) == pytest.approx(PUBLISHED["brain1"], abs=1e-9)
    assert axial_diameter(found.of(1), found.grid).longest_mm == pytest.approx(47.969004478)


def test_ibsi_digital_phantom(data_folder, run_set, in_ras):
    image = nib.load(data_folder / "ibsi_digital_phantom" / "mask.nii.gz")
    mask = np.asarray(image.dataobj) == 1
    found = run_set(mask, image.affine)
    check(mask, found, in_ras)
    ours = axial_diameter(found.of(1), found.grid)
    # A full slice of 5 x 4 voxels of 2 mm, between the midpoints of its outer edges.
    assert ours.longest_mm == pytest.approx(2 * np.hypot(5, 3))
