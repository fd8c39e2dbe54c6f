"""The encoder keeps no voxels: its memory is a few planes of runs and the histograms, whatever comes in."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
import torch

from monai_spatialqa.geometry import threaded
from monai_spatialqa.geometry.encoder import MarginalEncoder
from monai_spatialqa.geometry.tensors import marginals_of
from monai_spatialqa.phantoms.label_map import make_label_map


def peak_bytes(function) -> int:
    """Most memory allocated beyond what was there before, after a warm-up call."""
    function()
    tracemalloc.start()
    try:
        function()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def encode(label: np.ndarray, **options) -> MarginalEncoder:
    taker = MarginalEncoder(label.shape, label.dtype, **options)
    flat = label.reshape(-1, order="F")
    for start in range(0, flat.size, 1 << 20):
        taker.feed(flat[start : start + (1 << 20)])
    taker.result()
    return taker


def test_a_scan_of_117_structures():
    label = make_label_map((256, 256, 256), 117, seed=1)
    assert peak_bytes(lambda: encode(label)) < 0.25 * label.nbytes
    assert peak_bytes(lambda: marginals_of(torch.from_numpy(label))) < 0.25 * label.nbytes


@pytest.mark.parametrize("threads", [1, 2, 8])
def test_a_thread_needs_little_memory(threads, monkeypatch):
    monkeypatch.setattr(threaded, "PART_BYTES", 1)
    label = make_label_map((256, 256, 256), 117, seed=1).T
    weights = [[981, 87, 174], [-97, 993, 54], [-168, -70, 983]]
    peak = peak_bytes(lambda: threaded.marginals_of_array(label, threads=threads, weights=weights))
    assert peak < (1 + 1.5 * threads) * 2**20


def test_noise_needs_a_few_planes_of_runs():
    noise = np.random.default_rng(0).integers(0, 60, (128, 128, 300)).astype(np.uint8)
    plane_of_runs = 128 * 128 * 4 * 8
    assert peak_bytes(lambda: encode(noise)) < 24 * plane_of_runs
    assert 24 * plane_of_runs < noise.size * 4 * 8 / 12  # a twelfth of all runs


def test_cost_follows_the_number_of_labels_not_the_highest_id():
    label = np.zeros((40, 40, 40), np.uint64)
    label[3:9, 4:8, 5:7] = 2**64 - 1
    label[20:22] = 7_112_614_941
    assert peak_bytes(lambda: encode(label)) < 3 << 20


def test_kept_runs_stay_within_their_room():
    noise = np.random.default_rng(0).integers(0, 60, (64, 64, 400)).astype(np.uint8)
    without = peak_bytes(lambda: encode(noise))
    assert peak_bytes(lambda: encode(noise, keep_runs_bytes=4 << 20)) < without + (6 << 20)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int32])
def test_nothing_is_written_into_the_label_map(dtype):
    label = torch.zeros(4, 5, 6, dtype=dtype)
    label[1:3] = 3
    before = label.clone()
    for compiled in (True, False):
        marginals_of(label, compiled=compiled)
    assert torch.equal(label, before)
