"""From the file block by block, or from the loaded array: the same record, to the last character."""

from __future__ import annotations

import numpy as np
import pytest

import monai_spatialqa as sqa
from monai_spatialqa.anatomy import load_label_map
from monai_spatialqa.measurement import streamed
from monai_spatialqa.measurement.arrays import measure_loaded
from monai_spatialqa.measurement.options import MeasureOptions
from monai_spatialqa.measurement.streamed import measure_streamed
from monai_spatialqa.phantoms.grid import grid_affine, stored_as
from monai_spatialqa.records import Source

NOWHERE = Source(path=None, sha256=None)
NAMES = {1: "kidney_left", 2: "kidney_right", 7: "liver", 9: "spleen"}
TURNS = [{}, {"rotation_deg": (11, -8, 25)}, {"shear": 0.25}]


def both(path, options):
    one = measure_streamed(path, NOWHERE, options, "case")
    other = measure_loaded(path, NOWHERE, options, "case")
    return one.to_json_line(), other.to_json_line()


@pytest.fixture
def scan(write_nifti):
    """A random label map on a random grid, by seed."""

    def make(seed, dtype="u1", endian="<", forms=None):
        rng = np.random.default_rng(seed)
        shape = tuple(int(length) for length in rng.integers(3, 14, 3))
        label = rng.choice(np.array([0, 0, 0, 1, 2, 7, 300 if np.dtype(dtype).itemsize > 1 else 200], dtype), shape)
        label[: shape[0] // 2] = 7
        affine = grid_affine(
            shape, rng.uniform(0.5, 4, 3), center_ras_mm=tuple(rng.uniform(-80, 80, 3)), **TURNS[seed % 3]
        )
        codes = ["RAS", "LPS", "PIR", "SAL", "IPL", "ALI"][seed % 6]
        label, affine = stored_as(label, affine, codes)
        forms = forms or ((1, 0) if seed % 3 == 2 else (1, 1))
        return write_nifti(f"{seed}.nii.gz", label, affine, forms=forms, endian=endian)

    return make


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.filterwarnings("ignore:ids outside")
@pytest.mark.parametrize("named", [True, False], ids=["label map", "ids only"])
def test_records_are_identical(seed, named, scan):
    dtype = ["u1", "i2", "u4", "i8", "f4", "u8"][seed % 6]
    path = scan(seed, dtype, "<>"[seed % 2])
    options = MeasureOptions(
        label_map=load_label_map(NAMES) if named else None,
        distances="all",
        distance_kind="centroid" if seed % 2 else "box_center",
        segmented=("kidney_left", "kidney_right", "liver") if named else None,
        fov_margin_voxels=seed % 2,
    )
    one, other = both(path, options)
    assert one == other


def test_without_orientation(scan):
    path = scan(6, forms=(0, 0))
    for distances in (None, "all"):
        one, other = both(path, MeasureOptions(distances=distances))
        assert one == other
        assert "orientation_unknown" in one


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("dtype", ["u1", "f4", "u8"])
def test_reading_again_where_runs_were_not_kept(seed, dtype, scan, monkeypatch):
    path = scan(seed, dtype, "<>"[seed % 2])
    kept = sqa.measure(path).to_json_line()
    monkeypatch.setattr(streamed, "KEPT_RUNS_BYTES", 0)
    assert sqa.measure(path).to_json_line() == kept


@pytest.mark.parametrize("seed", range(6))
def test_the_centroids_voxel(seed, scan):
    """`centroid_inside` against the voxel that holds the centroid, looked up by hand."""
    import nibabel as nib

    path = scan(seed)
    loaded = nib.load(path)
    voxels = np.asarray(loaded.dataobj)
    for found in sqa.measure(path).structures.values():
        index = np.argwhere(voxels == found.label).mean(0)
        if np.abs(index - np.floor(index) - 0.5).min() < 1e-6:
            continue  # between two voxels: a convention decides
        assert found.centroid_inside == (voxels[tuple(np.rint(index).astype(int))] == found.label)


def test_a_file_is_measured_the_same_with_and_without_reading_ahead(scan):
    path = scan(4)
    options = MeasureOptions()
    lines = {measure_streamed(path, NOWHERE, options, "c", ahead=ahead).to_json_line() for ahead in (True, False)}
    assert len(lines) == 1
