"""The structures of a seg.nrrd: which (layer, value) each segment is, and ids that are unique over all layers.

Source: 3D Slicer's seg.nrrd. A segment has a name, a layer (the position along the fourth axis) and a value in it.
Files of before Slicer 4.11 have neither: segment N is the value 1 of layer N.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from monai_spatialqa.anatomy import LabelMap
from monai_spatialqa.errors import FileReadError, LabelMapError, LabelValueError, readable
from monai_spatialqa.readers.segments import NamedSegment, assign_ids

_BLOCK = 1 << 20


class Segment(NamedTuple):
    """One segment as the header describes it."""

    name: str
    layer: int
    value: int


class Relabelled(NamedTuple):
    """Voxels in which each structure has an id of its own.

    Attributes:
        voxels: (X, Y, Z), or (X, Y, Z, L) with several layers.
        names: id -> name, found or not.
        notes: what the header did not name.
    """

    voxels: NDArray
    names: dict[int, str]
    notes: tuple[str, ...]


def is_segmentation(keys: Mapping[str, str]) -> bool:
    """Whether key/value pairs describe segments."""
    return any(re.match(r"Segment(\d+|ation)_", key) for key in keys)


def segments_of(keys: Mapping[str, str], layers: int) -> list[Segment]:
    """The segments, in the order of their numbers.

    Args:
        keys: key/value pairs of the header.
        layers: layers in the file.

    Raises:
        FileReadError: a layer that does not exist, or a value that is no positive whole number.
        LabelMapError: two segments with the same value in the same layer.
    """
    found = [re.match(r"Segment(\d+)_(?:ID|Name)$", key) for key in keys]
    taken: dict[tuple[int, int], str] = {}
    segments = []
    for number in sorted({int(match[1]) for match in found if match}):
        prefix = f"Segment{number}_"
        name = readable(keys.get(f"{prefix}Name") or keys[f"{prefix}ID"])
        layer = _whole(keys, f"{prefix}Layer", default=number if layers > 1 else 0, ends=(0, layers - 1))
        value = _whole(keys, f"{prefix}LabelValue", default=1, ends=(1, 2**63 - 1))
        if (layer, value) in taken:
            raise LabelMapError(
                "two segments have the same value in the same layer",
                code="duplicate_label",
                key=f"{prefix}LabelValue",
                found=f"{taken[layer, value]!r} and {name!r}: layer {layer}, value {value}",
                expected="one segment for each layer and value",
                next_step="save the segmentation again from the program that made it",
            )
        taken[layer, value] = name
        segments.append(Segment(name, layer, value))
    return segments


def _whole(keys: Mapping[str, str], key: str, *, default: int, ends: tuple[int, int]) -> int:
    text = keys.get(key, str(default)).strip()
    if not text.isdecimal() or not ends[0] <= int(text) <= ends[1]:
        raise FileReadError(
            "a segment points to nothing",
            code="bad_header",
            key=key,
            found=text if key in keys else f"nothing, which means {default}",
            expected=f"{ends[0]} to {ends[1]}" if ends[1] < 2**62 else f"{ends[0]} or more",
            next_step="save the segmentation again from the program that made it",
        )
    return int(text)


def relabel(voxels: NDArray, segments: list[Segment], label_map: LabelMap | None = None) -> Relabelled:
    """Give every (layer, value) an id of its own.

    Where values are unique over the layers and there is no label map, they are the ids. A value that no segment names
    is kept, under an id that is free.

    Args:
        voxels: (X, Y, Z, L) in Fortran order; changed in place where its type can hold the ids.
        segments: from :func:`segments_of`.
        label_map: the structures that are wanted; see :func:`~monai_spatialqa.readers.segments.assign_ids`.

    Returns:
        (X, Y, Z), or (X, Y, Z, L) with several layers, and the names.

    Raises:
        LabelMapError: two segments of one name, or one without.
        LabelValueError: negative values, or fractions.
    """
    voxels = _whole_numbers(voxels)
    assigned = assign_ids([NamedSegment(segment.name, segment.value) for segment in segments], label_map)
    names = dict(assigned)
    ids = {(s.layer, s.value): number for s, (number, _) in zip(segments, assigned, strict=True)}
    used = set(names) | (set() if label_map is None else {entry.label for entry in label_map})
    notes = []
    present = [_values(voxels[..., at]) for at in range(voxels.shape[3])]
    unnamed = [(at, value) for at, values in enumerate(present) for value in values if (at, value) not in ids]
    free = max(used | {value for _, value in unnamed}, default=0) + 1
    for layer, value in unnamed:
        number, name = value, f"label_{value}"
        if value in used:
            number, name = free, f"layer_{layer}_label_{value}"
            free += 1
        used.add(number)
        ids[layer, value], names[number] = number, name
        notes.append(f"no segment names the value {value} of layer {layer}: kept as {name}, id {number}")
    replaced = _with_ids(voxels, [{value: ids[at, value] for value in values} for at, values in enumerate(present)])
    return Relabelled(replaced[..., 0] if len(present) == 1 else replaced, names, tuple(notes))


def _whole_numbers(voxels: NDArray) -> NDArray:
    if voxels.dtype.kind in "iu":
        return voxels
    rounded = np.rint(voxels)
    if not np.isfinite(voxels).all() or np.abs(voxels - rounded).max(initial=0) > 1e-3:
        raise LabelValueError(
            "a segmentation holds whole numbers",
            code="not_whole_numbers",
            found=f"{voxels.dtype} values with fractions",
            expected="ids",
            next_step="save the segmentation again from the program that made it",
        )
    return rounded.astype(np.int64)


def _values(layer: NDArray) -> list[int]:
    """The values of a layer other than 0, sorted."""
    flat = layer.reshape(-1, order="F")
    found: set[int] = set()
    if layer.dtype.itemsize <= 2:
        unsigned = np.dtype(f"u{layer.dtype.itemsize}")
        seen = np.zeros(1 << (8 * layer.dtype.itemsize), bool)
        for at in range(0, flat.size, _BLOCK):
            seen[flat[at : at + _BLOCK].view(unsigned)] = True
        found = set(np.flatnonzero(seen).astype(unsigned).view(layer.dtype).tolist())
    else:
        for at in range(0, flat.size, _BLOCK):
            found.update(np.unique(flat[at : at + _BLOCK]).tolist())
    if found and min(found) < 0:
        raise LabelValueError(
            "a segmentation holds negative values",
            code="negative_labels",
            found=sorted(found)[:5],
            expected="0 for background and positive ids",
            next_step="save the segmentation again from the program that made it",
        )
    return sorted(found - {0})


def _with_ids(voxels: NDArray, ids: list[dict[int, int]]) -> NDArray:
    """The voxels with the values of each layer replaced; the same array when its type can hold the ids."""
    highest = max((number for layer in ids for number in layer.values()), default=0)
    kind = np.result_type(voxels.dtype, np.min_scalar_type(highest))
    kind = kind if kind.kind in "iu" else np.dtype(np.int64)  # uint64 beside a signed type has no common integer
    result = voxels if kind == voxels.dtype else voxels.astype(kind, order="F")
    for at, layer in enumerate(ids):
        if all(value == number for value, number in layer.items()):
            continue
        values, numbers = np.array([0, *layer], voxels.dtype), np.array([0, *layer.values()], kind)
        flat = result[..., at].reshape(-1, order="F")  # a view: layers are contiguous
        for start in range(0, flat.size, _BLOCK):
            block = flat[start : start + _BLOCK]
            block[:] = numbers[np.searchsorted(values, block)]
    return result
