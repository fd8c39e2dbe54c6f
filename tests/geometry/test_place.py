"""Do two grids cover the same place?"""

from __future__ import annotations

import numpy as np
import pytest

from monai_spatialqa.errors import PairingError
from monai_spatialqa.geometry.affine import RasGrid
from monai_spatialqa.geometry.place import check_same_place


def grid(shape=(20, 24, 16), spacing=(2.0, 3.0, 4.0), origin=(0.0, 0.0, 0.0), flip=False):
    affine = np.diag([*spacing, 1.0])
    affine[:3, 3] = origin
    if flip:
        affine[:3, 3] += affine[:3, :3] @ [shape[0] - 1, shape[1] - 1, 0]
        affine[:2, :2] *= -1
    return RasGrid.of(shape, affine)


@pytest.mark.parametrize(
    "other",
    [
        grid(),
        grid(flip=True),
        grid(origin=(0.05, 0, 0)),
        # the same field of view at half the resolution: the outer faces coincide
        grid((10, 12, 8), (4.0, 6.0, 8.0), (1.0, 1.5, 2.0)),
        grid((40, 48, 32), (1.0, 1.5, 2.0), (-0.5, -0.75, -1.0)),
        grid((20, 24, 13), (2.0, 3.0, 5.0), (0, 0, 0.5)),  # not a whole number of slices: off by one mm of 64
    ],
    ids=["same", "other axis order", "rounding", "coarser", "finer", "nearly"],
)
def test_same_place(other):
    check_same_place(grid(), other)
    check_same_place(other, grid())


@pytest.mark.parametrize(
    ("other", "code", "shift"),
    [
        (grid(origin=(14.0, 0, 0)), "other_place", "14.000"),
        (grid(origin=(1.0, 0, 0)), "other_place", "1.000"),
        (grid((20, 24, 15)), "other_extent", "4.000"),
        (grid((10, 12, 8), (4.0, 6.0, 8.0), (9.0, 1.5, 2.0)), "other_extent", "8.000"),
    ],
    ids=["moved", "half a voxel", "one slice short", "coarser and moved"],
)
def test_other_place(other, code, shift):
    with pytest.raises(PairingError) as caught:
        check_same_place(grid(), other, case="c1", file="seg.nii.gz")
    error = caught.value
    assert error.code == code
    assert shift in error.found
    assert "(20, 24, 16)" in error.found
    assert (error.case, error.file) == ("c1", "seg.nii.gz")
    assert "tolerance" not in str(error)
