"""The figures that go back to the voxels, under the names that transforms and records share.

Torch-free, like :mod:`monai_spatialqa.transforms.fields`: the streamed path and the transforms both come here with the
runs of their structures, so both give the same figures to the last bit. Everything is numpy on the CPU.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monai_spatialqa.geometry.affine import column_norms, to_world, voxel_volume_mm3
from monai_spatialqa.geometry.components import Connectivity, components_of
from monai_spatialqa.geometry.contact import contacts_among
from monai_spatialqa.geometry.containment import DilatedHull
from monai_spatialqa.geometry.diameters import axial_diameter
from monai_spatialqa.geometry.nearest import surface_distances
from monai_spatialqa.geometry.runs import RunGrid, Runs
from monai_spatialqa.records.status import Status

CONNECTIVITY: Connectivity = 26
"""Voxels of a component share at least a corner."""

DEFAULT_COMPONENTS = 20
"""Components of a structure that are listed, the largest first; all are counted."""

Rows = Sequence[tuple[int, int]]


@dataclass(frozen=True)
class StructureRuns:
    """The structures of a measurement as runs.

    Attributes:
        grid: where the runs lie.
        of_row: runs of the structures that are present, by row.
        status: bit codes of every row, int64 (N,).
        orientation_known: whether left, front and up are known.
    """

    grid: RunGrid
    of_row: Mapping[int, Runs]
    status: NDArray[np.int64]
    orientation_known: bool

    def both_present(self, rows: Rows) -> list[int]:
        """Positions in ``rows`` of the pairs whose structures are both there."""
        return [at for at, (first, second) in enumerate(rows) if first in self.of_row and second in self.of_row]

    def pair_status(self, rows: Rows) -> NDArray[np.int64]:
        """Status of both structures of each pair together, int64 (P,)."""
        ends = _ends(rows)
        return self.status[ends[:, 0]] | self.status[ends[:, 1]]

    def world(self, index: NDArray[Any]) -> NDArray[np.float64]:
        """RAS mm of RAS-grid indices (..., 3); NaN where the orientation is unknown."""
        unknown = 0.0 if self.orientation_known else np.nan
        columns = to_world(self.grid.ras.affine, [np.asarray(index, np.float64)[..., axis] for axis in range(3)])
        return np.stack(columns, axis=-1) + unknown


def full_fields(found: StructureRuns, rows: Rows, tumours: Sequence[int]) -> dict[str, NDArray[Any]]:
    """Everything: components of all structures, diameters of tumours, surface distance and contact of the pairs."""
    result = component_fields(found, connectivity=CONNECTIVITY, listed=DEFAULT_COMPONENTS) | diameter_fields(
        found, tumours
    )
    if rows:
        result |= surface_fields(found, rows, name="surface") | contact_fields(found, rows)
    return result


def component_fields(found: StructureRuns, *, connectivity: Connectivity, listed: int) -> dict[str, NDArray[Any]]:
    """Connected components.

    ``component_count`` int64 (N,): 0 absent, -1 not segmented. The ``listed`` largest, largest first:
    ``component_voxel_count`` int64 (N, K), 0 behind the last; ``component_volume_mm3`` (N, K) and
    ``component_box_index`` (N, K, 2, 3), half-open in the RAS grid, NaN behind the last. ``component_status`` (N,)
    flags ``many_components`` where there is more than one.
    """
    size = len(found.status)
    never = (found.status & int(Status.NOT_SEGMENTED)) != 0
    count = np.where(never, -1, 0)
    voxels = np.zeros((size, listed), np.int64)
    volume = np.full((size, listed), np.nan)
    box = np.full((size, listed, 2, 3), np.nan)
    voxel_mm3 = voxel_volume_mm3(found.grid.ras.affine)
    for row, runs in found.of_row.items():
        parts = components_of(runs, found.grid, connectivity)
        shown = min(listed, parts.count)
        count[row] = parts.count
        voxels[row, :shown] = parts.voxel_count[:shown]
        volume[row, :shown] = parts.voxel_count[:shown] * voxel_mm3
        box[row, :shown, 0] = parts.start[:shown]
        box[row, :shown, 1] = parts.stop[:shown]
    return {
        "component_count": count,
        "component_voxel_count": voxels,
        "component_volume_mm3": volume,
        "component_box_index": box,
        "component_status": found.status | np.where(count > 1, int(Status.MANY_COMPONENTS), 0),
    }


def surface_fields(found: StructureRuns, rows: Rows, *, name: str) -> dict[str, NDArray[Any]]:
    """Smallest distance between voxel centres of two structures, under the names of a centre distance.

    0 where they share voxels (``overlapping``); one voxel spacing or less where they share faces (``touching``). The
    points are the nearest pair of voxel centres, the same one when they overlap.
    """
    size = len(rows)
    distance = np.full(size, np.nan)
    points = np.full((size, 2, 3), np.nan)
    overlap = np.full(size, -1, np.int64)
    status = found.pair_status(rows)
    at = found.both_present(rows)
    if at:
        structures, pairs = _compact(found, [rows[n] for n in at])
        nearest = surface_distances(structures, pairs, found.grid)
        distance[at] = nearest.distance_mm
        overlap[at] = nearest.overlap_voxels
        points[at, 0] = found.world(nearest.first_index)
        points[at, 1] = found.world(nearest.second_index)
        status[at] |= np.where(nearest.overlap_voxels > 0, int(Status.OVERLAPPING), 0)
        # Structures that share a face are no farther apart than the longest edge of a voxel.
        reach_mm = max(column_norms(found.grid.ras.affine)) * (1 + 1e-9)
        near = [n for n, pair_mm in zip(at, nearest.distance_mm, strict=True) if pair_mm <= reach_mm]
        if near:
            structures, pairs = _compact(found, [rows[n] for n in near])
            faces = contacts_among(structures, found.grid).between(pairs).sum(axis=1)
            status[near] |= np.where(faces > 0, int(Status.TOUCHING), 0)
    return {
        f"{name}_mm": distance,
        f"{name}_points_ras_mm": points,
        f"{name}_rows": _ends(rows),
        f"{name}_overlap_voxels": overlap,
        f"{name}_status": status,
    }


def contact_fields(found: StructureRuns, rows: Rows) -> dict[str, NDArray[Any]]:
    """What two structures share and how far one lies inside the other.

    ``contact_faces`` int64 (P,): voxel faces between them, -1 where one is missing; ``contact_mm2`` (P,): their area;
    ``contained_share`` (P, 2): share of the first structure's voxels inside the second's convex hull, and the other way
    round; ``contact_rows`` int64 (P, 2); ``contact_status`` (P,), with ``touching``.
    """
    size = len(rows)
    faces = np.full(size, -1, np.int64)
    area = np.full(size, np.nan)
    share = np.full((size, 2), np.nan)
    status = found.pair_status(rows)
    at = found.both_present(rows)
    if at:
        structures, pairs = _compact(found, [rows[n] for n in at])
        contacts = contacts_among(structures, found.grid)
        faces[at] = contacts.between(pairs).sum(axis=1)
        area[at] = contacts.area_mm2(pairs)
        status[at] |= np.where(faces[at] > 0, int(Status.TOUCHING), 0)
        hulls = [DilatedHull.of(runs, found.grid) for runs in structures]
        for n, (first, second) in zip(at, pairs, strict=True):
            share[n] = hulls[second].share(structures[first]), hulls[first].share(structures[second])
    return {
        "contact_faces": faces,
        "contact_mm2": area,
        "contained_share": share,
        "contact_rows": _ends(rows),
        "contact_status": status,
    }


def diameter_fields(found: StructureRuns, rows: Sequence[int]) -> dict[str, NDArray[Any]]:
    """Longest axial diameter of some structures and its perpendicular; NaN for all others.

    ``diameter_mm`` (N, 2): the longest in-plane diameter over all axial slices, and the longest chord perpendicular to
    it in the same slice; ``diameter_points_ras_mm`` (N, 2, 2, 3): their ends; ``diameter_slice`` int64 (N,): index
    along the third axis of the RAS grid, -1 where there is none; ``diameter_status`` (N,). Without an orientation no
    slice is axial.
    """
    size = len(found.status)
    lengths = np.full((size, 2), np.nan)
    points = np.full((size, 2, 2, 3), np.nan)
    slices = np.full(size, -1, np.int64)
    for row in rows:
        if row not in found.of_row or not found.orientation_known:
            continue
        diameter = axial_diameter(found.of_row[row], found.grid)
        assert diameter is not None  # a structure that is present has voxels
        lengths[row] = diameter.longest_mm, diameter.perpendicular_mm
        points[row] = diameter.ends_ras_mm, diameter.perpendicular_ends_ras_mm
        slices[row] = diameter.slice_index
    return {
        "diameter_mm": lengths,
        "diameter_points_ras_mm": points,
        "diameter_slice": slices,
        "diameter_status": found.status,
    }


def _ends(rows: Rows) -> NDArray[np.int64]:
    return np.array(rows, np.int64).reshape(-1, 2)


def _compact(found: StructureRuns, rows: Rows) -> tuple[list[Runs], list[tuple[int, int]]]:
    """The structures of some pairs, each once, and the pairs as positions in that list."""
    used = sorted({row for pair in rows for row in pair})
    position = {row: at for at, row in enumerate(used)}
    return [found.of_row[row] for row in used], [(position[first], position[second]) for first, second in rows]
