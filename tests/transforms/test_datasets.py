"""Datasets, caches, loaders and batches: the same figures from each, and never a lost affine without a word."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from monai.data import (
    CacheDataset,
    DataLoader,
    Dataset,
    MetaTensor,
    PersistentDataset,
    ThreadDataLoader,
    decollate_batch,
    list_data_collate,
)
from monai.data.utils import json_hashing, pickle_hashing
from monai.transforms import Compose, CopyItemsd, EnsureTyped, LoadImaged, Orientationd, RandFlipd, ToTensord

from monai_spatialqa import transforms
from monai_spatialqa.readers import NiftiReader
from monai_spatialqa.records import Status

NAMES = {1: "liver", 2: "spleen", 3: "heart"}
LOADING = [
    LoadImaged("label", reader=NiftiReader(), dtype=None, ensure_channel_first=True),
    transforms.ValidateGeometryd("label"),
    Orientationd("label", "RAS", labels=None),
]
MEASURING = [
    transforms.MeasureVolumed("label", NAMES),
    transforms.MeasureBoundingBoxd("label", NAMES),
    transforms.MeasureDistanced("label", NAMES),
    transforms.MeasureDirectiond("label", NAMES, midline=["spleen"]),
    transforms.MeasureStructuresd("again", NAMES, "all", allow_missing_keys=True),
]
TRACKED = {"track_meta": True, "weights_only": False}


@pytest.fixture
def cases(block, write_nifti):
    """Two cases with unlike structures: a liver only, and a spleen with a heart."""
    other = np.zeros_like(block)
    other[0:4, 2:6, 1:5], other[6:9, 2:4, 5] = 2, 3
    affine = np.diag([-2.0, 3.0, 4.0, 1.0])
    return [
        {"case_id": f"c{number}", "label": str(write_nifti(f"c{number}.nii.gz", array, affine))}
        for number, array in enumerate([block, other])
    ]


@pytest.fixture
def expected(cases):
    return [Compose(LOADING + MEASURING)(case)["measured_label"] for case in cases]


def assert_same(found, expected, differences):
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert not differences(one, other)


def test_what_the_two_cases_hold(expected):
    liver, others = (found["volume_status"].tolist() for found in expected)
    assert liver == [0, Status.ABSENT, Status.ABSENT]
    assert others == [Status.ABSENT, Status.TRUNCATED, Status.SINGLE_SLICE]


@pytest.mark.parametrize("kind", [Dataset, CacheDataset])
def test_datasets(kind, cases, expected, differences):
    options = {"progress": False} if kind is CacheDataset else {}
    dataset = kind(cases, Compose(LOADING + MEASURING), **options)
    for _ in range(2):
        assert_same([item["measured_label"] for item in dataset], expected, differences)


def test_a_cached_label_is_not_changed_by_measuring(cases, expected, differences):
    dataset = CacheDataset(cases, Compose(LOADING), progress=False, copy_cache=False)
    measure = Compose(MEASURING)
    for _ in range(2):
        assert_same([measure(item)["measured_label"] for item in dataset], expected, differences)
    assert set(dataset[0]) == {"case_id", "label"}


@pytest.mark.parametrize("workers", [0, 2])
def test_thread_loader(workers, cases, expected, differences):
    dataset = CacheDataset(cases, Compose(LOADING + MEASURING), progress=False)
    loader = ThreadDataLoader(dataset, batch_size=1, num_workers=workers, use_thread_workers=True)
    found = [item["measured_label"] for batch in loader for item in decollate_batch(batch)]
    assert_same(found, expected, differences)


def test_br101_a_batch_of_unlike_cases(cases, expected, differences):
    """MONAI's own collation keeps every structure: the tensors have one length, whatever is present."""
    batch = list_data_collate([Compose(LOADING + MEASURING)(case) for case in cases])
    assert batch["measured_label"]["volume_mm3"].shape == (2, 3)
    assert batch["measured_label"]["volume_mm3"].dtype == torch.float64
    assert batch["measured_label"]["voxel_count"].tolist() == [[36, 0, 0], [0, 64, 6]]
    assert_same([item["measured_label"] for item in decollate_batch(batch)], expected, differences)


def test_measuring_after_a_batch_has_been_taken_apart(cases, expected, differences, refused):
    loader = DataLoader(Dataset(cases, Compose(LOADING)), batch_size=2)
    (batch,) = loader
    for part in (batch["label"], batch["label"][:, 0]):
        with refused("not_3d", "decollate"):
            MEASURING[0]({"label": part})
    assert MEASURING[0]({"label": batch["label"][0]})
    measure = Compose(MEASURING)
    assert_same([measure(item)["measured_label"] for item in decollate_batch(batch)], expected, differences)


@pytest.mark.slow
def test_br103_spawned_workers(cases, expected, differences):
    """All public transforms pickle; two spawned workers give what one process gives."""
    everything = Compose([*LOADING, CopyItemsd("label", names="again"), *MEASURING])
    alone = [everything(case) for case in cases]
    loader = DataLoader(
        Dataset(cases, everything), batch_size=1, num_workers=2, multiprocessing_context="spawn", timeout=100
    )
    found = [item for batch in loader for item in decollate_batch(batch)]
    assert [item["case_id"] for item in found] == ["c0", "c1"]
    assert_same([item["measured_label"] for item in found], expected, differences)
    assert_same([item["measured_again"] for item in found], [item["measured_again"] for item in alone], differences)


def test_persistent_dataset_measuring_inside(cases, expected, differences, tmp_path):
    """The results are plain tensors: they come back from disk as they were, with MONAI's default settings."""
    for _ in range(2):
        dataset = PersistentDataset(cases, Compose(LOADING + MEASURING), cache_dir=tmp_path / "cache")
        assert_same([item["measured_label"] for item in dataset], expected, differences)
    assert len(list((tmp_path / "cache").glob("*.pt"))) == 2


def test_persistent_dataset_loses_the_affine_and_that_is_said(cases, expected, differences, tmp_path, refused):
    """By default the cached label is a plain tensor; measuring it later must not take it for 1 mm voxels."""
    measure = Compose(MEASURING)
    fresh = PersistentDataset(cases, Compose(LOADING), cache_dir=tmp_path)
    assert_same([measure(item)["measured_label"] for item in fresh], expected, differences)
    cached = PersistentDataset(cases, Compose(LOADING), cache_dir=tmp_path)
    assert not isinstance(cached[0]["label"], MetaTensor)
    for step in (*MEASURING[:4], transforms.ValidateGeometryd("label")):
        with refused("no_affine", "case: c0", "PersistentDataset", "track_meta=True", "weights_only=False"):
            step(cached[0])


def test_persistent_dataset_that_keeps_the_affine(cases, expected, differences, tmp_path):
    measure = Compose(MEASURING)
    for _ in range(2):
        dataset = PersistentDataset(cases, Compose(LOADING), cache_dir=tmp_path, **TRACKED)
        assert_same([measure(item)["measured_label"] for item in dataset], expected, differences)
    assert isinstance(dataset[0]["label"], MetaTensor)


@pytest.mark.parametrize("wrapping", [EnsureTyped("label"), RandFlipd("label", prob=0.0), ToTensord("label")])
def test_a_lost_affine_that_monai_papers_over(wrapping, cases, tmp_path):
    """MONAI wraps the cached tensor again, with an identity affine: warned of, and every status is unverified."""
    steps = [*LOADING, RandFlipd("label", prob=0.0), wrapping]
    for second in (False, True):
        dataset = PersistentDataset(cases, Compose(steps), cache_dir=tmp_path)
        if not second:
            assert not MEASURING[0](dataset[0])["measured_label"]["volume_status"][0]
            continue
        with pytest.warns(UserWarning, match="lost its affine"):
            found = MEASURING[0](dataset[0])["measured_label"]
        assert (found["volume_status"] & Status.UNVERIFIED).all()


def test_br099_a_cache_does_not_know_the_parameters(cases, tmp_path):
    """MONAI returns what was cached with other parameters unless hash_transform=pickle_hashing is given."""

    def faces(margin, folder, **options):
        steps = Compose([*LOADING, transforms.MeasureVolumed("label", NAMES, fov_margin_voxels=margin)])
        dataset = PersistentDataset(cases, steps, cache_dir=tmp_path / folder, **options)
        return bool(dataset[0]["measured_label"]["volume_status"][0] & Status.TRUNCATED)

    assert [faces(0, "stale"), faces(10, "stale")] == [False, False]  # the second is the first one's
    names_only = {"hash_transform": json_hashing}  # it cannot write transforms as JSON, and takes their class names
    assert [faces(0, "names", **names_only), faces(10, "names", **names_only)] == [False, False]
    told = {"hash_transform": pickle_hashing}
    assert [faces(0, "told", **told), faces(10, "told", **told), faces(0, "told", **told)] == [False, True, False]


def test_br099_hashes_follow_the_parameters_and_nothing_else(cases):
    """Equal transforms have equal hashes, also after use; other parameters have others."""
    from monai_spatialqa.transforms import MeasureDistanced, MeasureStructuresd, MeasureVolumed, ValidateGeometryd

    def make():
        return [
            MeasureVolumed("label", "totalsegmentator_v2"),
            MeasureVolumed("label", "totalsegmentator_v2", strict=True),
            MeasureVolumed("label", "totalsegmentator_v2", ignore=[255]),
            MeasureVolumed("label", NAMES),
            MeasureVolumed("label", {**NAMES, 4: "lung_left"}),
            MeasureStructuresd("label", NAMES, "all"),
            MeasureStructuresd("label", NAMES, "all", kind="centroid"),
            MeasureDistanced("label", NAMES, [("liver", "heart")]),
            MeasureDistanced("label", NAMES, [("liver", "spleen")]),
            ValidateGeometryd("label"),
            ValidateGeometryd("label", form="sform"),
        ]

    first = [pickle_hashing(step) for step in make()]
    assert len(set(first)) == len(first)
    used = make()
    for step in used:
        step(Compose(LOADING)(cases[0]))
    assert [pickle_hashing(step) for step in used] == first


def test_small_cases_take_milliseconds(cases):
    """Overhead of four measuring transforms, without the file."""
    item = Compose(LOADING)(cases[0])
    measure = Compose(MEASURING)
    measure(item)
    start = time.perf_counter()
    for _ in range(20):
        measure(item)
    assert (time.perf_counter() - start) / 20 < 0.1


def test_relative_paths_and_odd_names(block, write_nifti, monkeypatch):
    """BR-092: a folder with a space, an umlaut and CJK."""
    path = write_nifti("dü 漢 x/läbel.nii.gz", block, spacing=(2, 3, 4))
    monkeypatch.chdir(path.parent.parent)
    for given in (path, str(path), Path(path.parent.name) / path.name):
        found = Compose(LOADING + MEASURING)({"label": given})["measured_label"]
        assert found["volume_mm3"][0] == 864
    assert sys.getfilesystemencoding() == "utf-8"
