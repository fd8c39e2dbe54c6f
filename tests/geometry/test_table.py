"""What the channels mean, and how figures are spread over the declared structures."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import torch

from monai_spatialqa.errors import LabelValueError
from monai_spatialqa.geometry.affine import RasGrid
from monai_spatialqa.geometry.distances import all_pairs, direction_signs, direction_words, lengths_mm, offsets_ras_mm
from monai_spatialqa.geometry.encoder import MarginalEncoder
from monai_spatialqa.geometry.table import build_table, channel_of_labels
from monai_spatialqa.geometry.tensors import marginals_of


class TestChannels:
    @pytest.mark.parametrize(
        ("found", "declared", "layout", "rows", "unknown"),
        [
            ([[1, 5, 9]], [1, 2, 5], "auto", {(0, 1): 0, (0, 5): 2}, [9]),
            ([[1]], [1, 2], "auto", {(0, 1): 0}, []),
            ([[]], [1, 2], "auto", {}, []),
            ([[1], [1], [1]], [7, 8, 9], "auto", {(0, 1): 0, (1, 1): 1, (2, 1): 2}, []),
            ([[1], [1], [1]], [8, 9], "auto", {(1, 1): 0, (2, 1): 1}, []),
            ([[1], [], [1]], [7, 8, 9], "one_hot", {(0, 1): 0, (1, 1): 1, (2, 1): 2}, []),
            ([[1]], [7], "one_hot", {(0, 1): 0}, []),
            ([[1, 4], [2, 3]], [1, 2, 3], "auto", {(0, 1): 0, (1, 2): 1, (1, 3): 2}, [4]),
            ([[1], [2]], [1, 2], "layers", {(0, 1): 0, (1, 2): 1}, []),
            ([[1], []], [1, 2], "layers", {(0, 1): 0}, []),
        ],
    )
    def test_layouts(self, found, declared, layout, rows, unknown):
        assert channel_of_labels(found, declared, layout) == (rows, unknown)

    @pytest.mark.parametrize(
        ("found", "declared", "layout", "said"),
        [
            ([[1]], [1], "volumes", "unknown layout"),
            ([[1], [1]], [1], "labels", "one channel"),
            ([[1], [2]], [1, 2], "one_hot", "0 and 1 only"),
            ([[1]] * 4, [7, 8], "auto", "does not fit"),
            ([[1], [1]], [7, 8, 9], "auto", "does not fit"),
            ([[1, 2], [1, 2]], [1, 2], "auto", "meaning of the channel axis is unclear"),
            ([[1, 2], [2, 3]], [1, 2], "layers", "meaning of the channel axis is unclear"),
        ],
    )
    def test_what_would_have_to_be_guessed_is_refused(self, found, declared, layout, said):
        with pytest.raises(LabelValueError, match=said) as caught:
            channel_of_labels(found, declared, layout)
        assert caught.value.found
        assert caught.value.expected


class TestTable:
    def build(self, label, ids, **options):
        grid = RasGrid.of(label.shape, np.eye(4))
        rows = {(0, value): row for row, value in enumerate(ids)}
        return build_table([marginals_of(label)], rows, len(ids), grid, projection=None, **options)

    def test_absent_and_not_segmented(self, device):
        label = torch.zeros(5, 5, 5, dtype=torch.uint8, device=device)
        label[1, 1, 1] = 3
        table = self.build(label, [1, 2, 3], segmented=[True, False, True])
        assert table.voxel_count.tolist() == [0, -1, 1]
        assert table.volume_mm3.tolist()[::2] == [0.0, 1.0]
        assert math.isnan(table.volume_mm3[1])
        assert math.isnan(table.band_low_mm3[1])
        assert table.present.tolist() == [False, False, True]
        assert table.segmented.tolist() == [True, False, True]
        assert table.truncated.tolist() == [False] * 3

    def test_names_that_contradict_positions(self):
        label = torch.zeros(8, 6, 6, dtype=torch.uint8)
        label[1, 3, 3], label[6, 3, 3] = 1, 2
        for partners, expected in (([(0, 1)], [False] * 3), ([(1, 0)], [True, True, False]), ([(0, 2)], [False] * 3)):
            assert self.build(label, [1, 2, 3], partners=partners).name_conflict.tolist() == expected

    def test_numpy_and_torch_columns_give_the_same_figures(self, make_map):
        label = make_map((9, 8, 7), [1, 2, 3], seed=5)
        taker = MarginalEncoder(label.shape, label.dtype)
        taker.feed(label.reshape(-1, order="F"))
        grid = RasGrid.of(label.shape, np.diag([0.7, 1.3, 2.9, 1.0]))
        rows = {(0, value): value - 1 for value in (1, 2, 3)}
        one = build_table([taker.result()], rows, 4, grid, projection=None)
        other = build_table([marginals_of(torch.from_numpy(label), compiled=False)], rows, 4, grid, projection=None)
        for name in ("voxel_count", "volume_mm3", "band_low_mm3", "band_high_mm3", "single_slice", "present"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name).numpy())
        for name in ("start", "stop", "extent_mm", "center_ras_mm", "world_min_ras_mm", "centroid_ras_mm"):
            for a, b in zip(getattr(one, name), getattr(other, name), strict=True):
                np.testing.assert_array_equal(a, b.numpy())

    def test_nothing_declared(self):
        table = self.build(torch.zeros(3, 3, 3, dtype=torch.uint8), [])
        assert table.voxel_count.shape == table.volume_mm3.shape == table.start[0].shape == (0,)


class TestDistances:
    def test_all_pairs(self):
        first, second = all_pairs(5)
        assert list(zip(first, second, strict=True)) == list(itertools.combinations(range(5), 2))
        assert all_pairs(1) == all_pairs(0) == ([], [])

    def test_offsets_and_lengths(self, device):
        centers = tuple(torch.tensor([0.0, 3.0, math.nan], dtype=torch.float64, device=device) * k for k in (1, 2, -2))
        offsets = offsets_ras_mm(centers, [0, 1, 0], [1, 0, 2])
        assert torch.stack(offsets)[:, :2].T.tolist() == [[3, 6, -6], [-3, -6, 6]]
        assert lengths_mm(offsets)[:2].tolist() == [9, 9]
        assert math.isnan(lengths_mm(offsets)[2])

    def test_dead_zone(self, device):
        values = torch.tensor([-5.1, -5.0, -0.1, 0.0, 4.9, 5.0, 5.1, math.nan], dtype=torch.float64, device=device)
        signs = direction_signs((values, values, values), 5.0)
        assert signs[0].tolist() == [-1, 0, 0, 0, 0, 0, 1, 0]
        assert direction_signs((values, values, values), 0.0)[2].tolist() == [-1, -1, -1, 0, 1, 1, 1, 0]

    def test_words(self):
        assert direction_words([-1, 0, 1]) == ["left", "superior"]
        assert direction_words([1, -1, -1]) == ["right", "posterior", "inferior"]
        assert direction_words([0, 0, 0]) == []
