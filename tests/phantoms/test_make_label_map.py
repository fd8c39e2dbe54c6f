"""The benchmark's label maps: every id there, about the asked foreground, quick, Fortran-ordered."""

from __future__ import annotations

import time

import numpy as np
import pytest
from scipy import ndimage

from monai_spatialqa.errors import SettingsError
from monai_spatialqa.phantoms import make_label_map


@pytest.mark.parametrize(
    ("shape", "label_count", "foreground"),
    [
        ((64, 64, 64), 8, 0.2),
        ((128, 96, 80), 117, 0.16),
        ((96, 96, 96), 300, 0.16),
        ((50, 60, 70), 1, 0.1),
        ((80, 80, 80), 27, 0.01),
        ((30, 200, 40), 60, 0.2),
    ],
)
@pytest.mark.parametrize("seed", [0, 1])
def test_all_ids_and_about_the_asked_foreground(shape, label_count, foreground, seed):
    label = make_label_map(shape, label_count, foreground, seed)
    assert label.shape == shape
    assert label.dtype == np.min_scalar_type(label_count)
    assert label.flags.f_contiguous
    assert np.unique(label).tolist() == list(range(label_count + 1))
    assert (label > 0).mean() == pytest.approx(foreground, rel=0.1)


def test_blobs_are_compact_and_unlike_in_size():
    label = make_label_map((120, 120, 120), 64, 0.16, seed=3)
    sizes = []
    for identifier, box in enumerate(ndimage.find_objects(label), start=1):
        mask = label[box] == identifier
        assert ndimage.label(mask)[1] == 1
        sizes.append(mask.sum())
        assert mask.mean() > 0.4
    assert max(sizes) > 5 * min(sizes)


def test_a_seed_decides():
    first, again, other = (make_label_map((60, 60, 60), 20, seed=seed) for seed in (1, 1, 2))
    assert (first == again).all()
    assert (first != other).any()


@pytest.mark.parametrize("dtype", [np.uint16, "int32", np.uint64])
def test_dtype_is_kept(dtype):
    label = make_label_map((40, 40, 40), 20, dtype=dtype)
    assert label.dtype == np.dtype(dtype)
    assert (label == make_label_map((40, 40, 40), 20)).all()


def test_the_benchmark_case_takes_seconds():
    start = time.perf_counter()
    label = make_label_map((512, 512, 400), 117)
    assert time.perf_counter() - start < 10
    assert label.dtype == np.uint8
    assert np.count_nonzero(label) / label.size == pytest.approx(0.16, rel=0.01)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (((64, 64), 3), "three voxel counts"),
        (((64, 64, 64), 0), "at least one label"),
        (((64, 64, 64), 300, 0.16, 0, np.uint8), "voxel type"),
        (((64, 64, 64), 3, 0.16, 0, np.float32), "voxel type"),
        (((8, 8, 8), 500), "too many labels"),
        (((64, 64, 64), 8, 0.6), "separate blobs"),
        (((64, 64, 64), 8, 0.0), "separate blobs"),
    ],
)
def test_impossible_requests_are_refused(arguments, said):
    with pytest.raises(SettingsError, match=said):
        make_label_map(*arguments)
