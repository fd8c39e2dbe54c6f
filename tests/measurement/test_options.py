"""What ``sqa.measure`` refuses before it reads a voxel, and what it takes in another form."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import monai_spatialqa as sqa
from monai_spatialqa.errors import FileReadError, PairingError, SettingsError

Write = Callable[..., Path]


@pytest.mark.parametrize(
    ("options", "key"),
    [
        ({"distance_kind": "edge"}, "distance_kind"),
        ({"form": "x"}, "form"),
        ({"fov_margin_voxels": -1}, "fov_margin_voxels"),
        ({"segmented": ["block"]}, "segmented"),
        ({"strict": True}, "strict"),
        ({"label_map": {1: "block"}, "ignore": [1]}, "ignore"),
        ({"distances": "foo"}, "pairs"),
        ({"distances": [("label_1", "label_1")]}, "pairs"),
        ({"distances": [("label_1", "label_9")]}, "distances"),
        ({"distances": 5}, "pairs"),
        ({"distances": [("label_1",)]}, "pairs"),
        ({"ignore": ["a"]}, "ignore"),
        ({"ignore": [-1.5]}, "ignore"),
        ({"strict": "yes"}, "strict"),
        ({"fov_margin_voxels": 1.5}, "fov_margin_voxels"),
        ({"image": 7}, "image"),
    ],
)
def test_unusable_options_name_their_key(
    options: dict[str, Any], key: str, write_nifti: Write, block: np.ndarray
) -> None:
    path = write_nifti("a.nii.gz", block)
    with pytest.raises(SettingsError) as error:
        sqa.measure(path, **options)
    assert error.value.key == key


def test_one_ignored_value_and_one_segmented_name(write_nifti: Write, block: np.ndarray) -> None:
    path = write_nifti("a.nii.gz", block.astype(np.int16) - 1)
    found = sqa.measure(path, label_map={5: "a", 6: "b"}, ignore=-1, segmented="b")
    assert found.structures["a"].status == ["not_segmented"]
    assert found.structures["b"].status == ["absent"]


@pytest.mark.parametrize("forms", [((0, 0), (1, 1)), ((1, 1), (0, 0)), ((0, 0), (0, 0))])
def test_without_an_orientation_the_grids_must_be_the_same(
    forms: tuple[tuple[int, int], tuple[int, int]], write_nifti: Write, block: np.ndarray
) -> None:
    label = write_nifti("seg.nii.gz", block, spacing=(2, 3, 4), forms=forms[0])
    image = write_nifti("ct.nii.gz", block, spacing=(2, 3, 4), forms=forms[1])
    assert sqa.measure(label, image=image).structures["label_1"].volume_mm3 == 864
    other = write_nifti("other.nii.gz", block, spacing=(2, 3, 5), forms=forms[1])
    with pytest.raises(PairingError, match="orientation is unknown"):
        sqa.measure(label, image=other)


@pytest.mark.filterwarnings("error:ids outside")
def test_unknown_ids_of_a_file_with_several_volumes_are_measured(write_nifti: Write, block: np.ndarray) -> None:
    layers = np.stack([block * 3, np.roll(block, 1, 0) * 4], axis=-1)
    found = sqa.measure(write_nifti("a.nii.gz", layers), label_map={3: "known"})
    assert found.unknown_labels == [4]
    assert found.structures["label_4"].voxel_count == found.structures["known"].voxel_count == 36


@pytest.mark.parametrize("label", ["", None, 5, np.zeros((2, 2, 2))])
def test_a_label_that_is_no_path(label: Any) -> None:
    with pytest.raises(SettingsError, match="label is not a path"):
        sqa.measure(label)


def test_a_folder_is_not_a_file(tmp_path: Path) -> None:
    with pytest.raises(FileReadError, match="folder"):
        sqa.measure(tmp_path)
