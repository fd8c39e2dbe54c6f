"""Questions about measured structures that need a few voxels once more."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from monai_spatialqa.geometry.marginals import stacked
from monai_spatialqa.geometry.runs import common_voxels, contains
from monai_spatialqa.transforms.measuring import Measured


def centroid_inside(measured: Measured) -> Tensor:
    """Whether the voxel that holds the centroid is of the structure: int64 (N,), -1 where there is no centroid."""
    table, voxels = measured.table, measured.voxels
    inside = torch.full((len(table.voxel_count),), -1, dtype=torch.int64, device=voxels.device)
    for row, runs in measured.unions.items():
        voxel = [int(column[row]) for column in table.centroid_voxel]
        inside[row] = int(contains(runs, measured.runs.sets[0].grid, voxel))
    if not measured.places:
        return inside
    rows = sorted(measured.places)
    grid = measured.label.grid
    stored = [torch.empty(0)] * 3
    for axis, source in enumerate(grid.source_axes):
        index = torch.as_tensor(table.centroid_voxel[axis][rows])
        stored[source] = grid.stored_shape[source] - 1 - index if grid.flipped[axis] else index
    channel, value = torch.tensor([measured.places[row] for row in rows], device=voxels.device).unbind(1)
    found = voxels[channel, stored[0], stored[1], stored[2]].to(torch.int64)
    inside[rows] = (found == value).to(torch.int64)
    return inside


def overlap_voxels(measured: Measured, rows: Sequence[tuple[int, int]]) -> Tensor:
    """Voxels that belong to both structures of each pair, int64 (P,); -1 where one of them is not there."""
    voxels, places, unions = measured.voxels, measured.places, measured.unions
    both_there = [all(row in places or row in unions for row in pair) for pair in rows]
    counts = torch.tensor([0 if there else -1 for there in both_there], dtype=torch.int64, device=voxels.device)
    boxes = _stored_boxes(measured) if len(voxels) > 1 else {}
    for at, (first, second) in enumerate(rows):
        if not both_there[at]:
            continue
        if first in unions or second in unions:
            runs = measured.structure_runs
            counts[at] = common_voxels(runs.of_row[first], runs.of_row[second], runs.grid)[0]
        elif places[first][0] != places[second][0]:
            common = [slice(max(a, c), min(b, d)) for (a, b), (c, d) in zip(boxes[first], boxes[second], strict=True)]
            if all(span.start < span.stop for span in common):
                one, other = (voxels[places[row][0]][tuple(common)] == places[row][1] for row in (first, second))
                counts[at] = torch.count_nonzero(one & other)
    return counts


def _stored_boxes(measured: Measured) -> dict[int, list[tuple[int, int]]]:
    """Half-open index box of each structure that is there, along the axes of the voxels as stored."""
    grid, table = measured.label.grid, measured.table
    ends = stacked([*table.start, *table.stop], axis=0).tolist()
    boxes: dict[int, list[tuple[int, int]]] = {}
    for row in measured.places:
        boxes[row] = [(0, 0)] * 3
        for axis, source in enumerate(grid.source_axes):
            start, stop = int(ends[axis][row]), int(ends[3 + axis][row])
            length = grid.stored_shape[source]
            boxes[row][source] = (length - stop, length - start) if grid.flipped[axis] else (start, stop)
    return boxes
