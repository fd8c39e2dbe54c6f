"""Contact between structures: voxel faces with one structure on either side, counted from the runs.

A face counts for two structures when the voxel on one side belongs to the first and not to the second, and the voxel on
the other side to the second and not to the first. For structures that do not overlap these are simply the faces they
share. Where they overlap, it is the surface along which one ends and the other begins: faces inside the overlap do not
count, and a structure that lies wholly inside another has no contact with it (what they share is overlap).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monai_spatialqa.geometry.affine import RasGrid
from monai_spatialqa.geometry.compiled import compiled
from monai_spatialqa.geometry.runs import RunGrid, Runs, RunSet

FIRST_CAPACITY = 1024
"""Places in the table of touching pairs at first; it grows as needed."""


@dataclass(frozen=True)
class Contacts:
    """The pairs of structures that touch.

    Attributes:
        pairs: positions of the two structures in the list they were given in, int64 (T, 2), the smaller one first;
            ascending.
        faces: shared voxel faces perpendicular to each RAS-grid axis, int64 (T, 3).
        grid: the grid, which knows how large a face is.
    """

    pairs: NDArray[np.int64]
    faces: NDArray[np.int64]
    grid: RasGrid

    def between(self, pairs: NDArray[np.int64] | Sequence[tuple[int, int]]) -> NDArray[np.int64]:
        """Shared faces of pairs, int64 (P, 3): zeros for those that do not touch.

        Args:
            pairs: positions (P, 2), the two of a pair in any order; a structure has no contact with itself.
        """
        wanted = np.sort(np.asarray(pairs, np.int64).reshape(-1, 2), axis=1)
        known = self.pairs[:, 0] << 32 | self.pairs[:, 1]
        keys = wanted[:, 0] << 32 | wanted[:, 1]
        faces = np.zeros((len(wanted), 3), np.int64)
        if len(known):
            at = np.minimum(np.searchsorted(known, keys), len(known) - 1)
            hit = known[at] == keys
            faces[hit] = self.faces[at[hit]]
        return faces

    def area_mm2(self, pairs: NDArray[np.int64] | Sequence[tuple[int, int]]) -> NDArray[np.float64]:
        """Area of the shared faces of pairs, mm2, (P,): right on oblique and sheared grids, too."""
        return self.between(pairs) @ face_areas_mm2(self.grid)


def face_areas_mm2(grid: RasGrid) -> NDArray[np.float64]:
    """Area of the voxel face perpendicular to each RAS-grid axis: that of the parallelogram of the other two, (3,)."""
    axes = grid.affine[:3, :3].T
    return np.array([np.linalg.norm(np.cross(axes[axis - 2], axes[axis - 1])) for axis in range(3)])


def contacts_of(found: RunSet) -> Contacts:
    """Contacts of all structures of one label map, in one sweep over its runs.

    Positions are those in ``found.labels``.
    """
    return _contacts(found.runs, found.grid)


def contacts_among(structures: Sequence[Runs], grid: RunGrid) -> Contacts:
    """Contacts of structures given by their runs, which may overlap: of several channels, or derived from others.

    Positions are those in ``structures``.

    Args:
        structures: runs of each; none for a structure without voxels.
        grid: where they lie.
    """
    slots = [np.full((len(runs), 1), slot, np.int64) for slot, runs in enumerate(structures)]
    tables = [np.concatenate([runs, slot], axis=1) for runs, slot in zip(structures, slots, strict=True)]
    table = np.concatenate(tables) if tables else np.empty((0, 4), np.int64)
    table = table[np.argsort(table[:, 0] * grid.shape[0] + table[:, 1], kind="stable")]  # merges sorted pieces
    if not ((table[1:, 0] == table[:-1, 0]) & (table[1:, 1] < table[:-1, 2])).any():
        return _contacts(table, grid)
    pieces, parent, member = _exclusive(table, len(structures))
    return _of_members(_contacts(pieces, grid), parent, member)


def _contacts(table: NDArray[Any], grid: RunGrid) -> Contacts:
    """Contacts of exclusive structures: rows (row, start, stop, slot), ascending."""
    keys, faces = _sweep(np.ascontiguousarray(table), grid.shape[1])
    filled = np.flatnonzero(keys >= 0)
    filled = filled[np.argsort(keys[filled])]
    pairs = np.stack([keys[filled] >> 32, keys[filled] & 0xFFFFFFFF], axis=1)
    return Contacts(pairs, faces[filled][:, [grid.run_axis(axis) for axis in range(3)]], grid.ras)


def _of_members(combined: Contacts, parent: NDArray[np.int64], member: NDArray[np.int64]) -> Contacts:
    """Contacts of the structures from those of the pieces of space, each of which belongs to a set of structures."""
    sets: dict[int, frozenset[int]] = {0: frozenset()}

    def members(node: int) -> frozenset[int]:
        if node not in sets:
            sets[node] = members(int(parent[node])) | {int(member[node])}
        return sets[node]

    total: dict[tuple[int, int], NDArray[np.int64]] = {}
    for (one, other), faces in zip(combined.pairs.tolist(), combined.faces, strict=True):
        here, there = members(one), members(other)
        for a in here - there:
            for b in there - here:
                pair = min(a, b), max(a, b)
                total[pair] = total.get(pair, 0) + faces
    pairs = sorted(total)
    faces = np.array([total[pair] for pair in pairs], np.int64).reshape(-1, 3)
    return Contacts(np.array(pairs, np.int64).reshape(-1, 2), faces, combined.grid)


@compiled
def _sweep(runs: Any, rows_per_plane: int) -> Any:  # pragma: no cover - compiled
    """Count the faces between runs of different slots: along the rows, to the row before, and to the plane before.

    Returns:
        keys (one slot << 32 | a larger slot; -1 where empty) and faces per run axis, (capacity,) and (capacity, 3).
    """
    keys = np.full(FIRST_CAPACITY, -1, np.int64)
    faces = np.zeros((FIRST_CAPACITY, 3), np.int64)
    used = 0
    # In the row before and the plane before, the first run that may still touch. A cursor only goes forward, and ends
    # at the run itself.
    cursor = np.zeros(3, np.uintp)
    latest, place = np.int64(-1), 0
    for at in range(np.uintp(runs.shape[0])):
        row, start, stop, slot = runs[at, 0], runs[at, 1], runs[at, 2], runs[at, 3]
        cursor[0] = at - np.uintp(at > 0)  # the run before
        for axis in range(3):
            target, low, high = row, start - 1, start  # along the row, the other run ends where this one begins
            if axis == 1:
                if row % rows_per_plane == 0:
                    continue
                target, low, high = row - 1, start, stop
            elif axis == 2:
                target, low, high = row - rows_per_plane, start, stop
            p = cursor[axis]
            while runs[p, 0] < target or (runs[p, 0] == target and runs[p, 2] <= low):
                p += np.uintp(1)
            cursor[axis] = p
            while runs[p, 0] == target and runs[p, 1] < high:
                other = runs[p, 3]
                if other != slot:
                    key = np.int64(min(slot, other)) << 32 | np.int64(max(slot, other))
                    if key != latest:
                        if 2 * used >= keys.size:
                            keys, faces = _grown(keys, faces)
                        latest, place = key, _place(keys, key)
                        if keys[place] < 0:
                            keys[place] = key
                            used += 1
                    faces[place, axis] += 1 if axis == 0 else min(stop, runs[p, 2]) - max(start, runs[p, 1])
                p += np.uintp(1)
    return keys, faces


@compiled
def _place(keys: Any, key: int) -> int:  # pragma: no cover - compiled
    """Where a key is, or would go, in an open-addressing table whose size is a power of two; -1 means empty."""
    last = keys.size - 1
    at = np.int64((np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(32)) & last
    while keys[at] >= 0 and keys[at] != key:
        at = (at + 1) & last
    return at


@compiled
def _grown(keys: Any, values: Any) -> Any:  # pragma: no cover - compiled
    """The same table with twice the places."""
    new_keys = np.full(2 * keys.size, -1, np.int64)
    new_values = np.zeros((2 * keys.size, values.shape[1]), np.int64)
    for at in range(keys.size):
        if keys[at] >= 0:
            place = _place(new_keys, keys[at])
            new_keys[place] = keys[at]
            new_values[place] = values[at]
    return new_keys, new_values


@compiled
def _exclusive(runs: Any, structures: int) -> Any:  # pragma: no cover - compiled
    """Cut overlapping runs into pieces, each of which belongs to one set of structures throughout.

    A set is a node of a tree: its parent's set and one larger member; node 0 is the empty set.

    Returns:
        pieces (row, start, stop, node), ascending, int64 (P, 4); per node its parent and its member.
    """
    count = 0
    pieces = np.empty((2 * runs.shape[0], 4), np.int64)  # every piece begins where a run begins or ends
    keys = np.full(FIRST_CAPACITY, -1, np.int64)
    nodes = np.zeros((FIRST_CAPACITY, 1), np.int64)
    parent, member = np.zeros(FIRST_CAPACITY, np.int64), np.zeros(FIRST_CAPACITY, np.int64)
    used = 0
    stops = np.zeros(structures, np.int64)  # per structure of ``active``, where its run ends
    active = np.empty(structures, np.int64)  # ascending
    open_runs = 0
    at = 0
    here = np.int64(0)
    row = np.int64(-1)
    while at < runs.shape[0] or open_runs:
        if not open_runs:
            row, here = np.int64(runs[at, 0]), np.int64(runs[at, 1])
        while at < runs.shape[0] and runs[at, 0] == row and runs[at, 1] == here:
            n = open_runs
            while n and active[n - 1] > runs[at, 3]:
                active[n] = active[n - 1]
                n -= 1
            active[n] = runs[at, 3]
            stops[active[n]] = runs[at, 2]
            open_runs += 1
            at += 1
        until = stops[active[0]]
        node = np.int64(0)
        for n in range(open_runs):
            until = min(until, stops[active[n]])
            key = node * structures + active[n]
            if 2 * used >= keys.size:
                keys, nodes = _grown(keys, nodes)
            place = _place(keys, key)
            if keys[place] < 0:
                used += 1
                if used == parent.size:
                    parent, member = np.append(parent, parent), np.append(member, member)
                parent[used], member[used] = node, active[n]
                keys[place], nodes[place, 0] = key, used
            node = nodes[place, 0]
        if at < runs.shape[0] and runs[at, 0] == row:
            until = min(until, np.int64(runs[at, 1]))
        pieces[count, 0], pieces[count, 1], pieces[count, 2], pieces[count, 3] = row, here, until, node
        count += 1
        here = until
        left = 0
        for n in range(open_runs):
            if stops[active[n]] > here:
                active[left] = active[n]
                left += 1
        open_runs = left
    return pieces[:count], parent[: used + 1], member[: used + 1]
