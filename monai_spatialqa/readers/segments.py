"""Ids for structures that a file names itself: a DICOM SEG, a seg.nrrd, a folder of masks."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from monai_spatialqa.anatomy import LabelMap
from monai_spatialqa.errors import LabelMapError


@dataclass(frozen=True)
class NamedSegment:
    """A structure as its file names it.

    Attributes:
        name: its name in the file.
        number: the number the file gives it, None when it gives none.
    """

    name: str
    number: int | None = None


def assign_ids(segments: Sequence[NamedSegment], label_map: LabelMap | None = None) -> list[tuple[int, str]]:
    """An id and a name for each segment; ids are unique.

    With a label map, a segment of one of its names (capitals, spaces, hyphens and underscores make no difference) gets
    that structure's id and name; other segments keep their own names and get free ids above those of the map. Without
    one, the file's numbers are the ids if each segment has a positive one of its own, and 1, 2, ... in the order of the
    file otherwise.

    Args:
        segments: the segments, in the order of the file.
        label_map: the structures that are wanted.

    Raises:
        LabelMapError: no name, two segments of one name, or the name of a union of the label map.
    """
    known = {} if label_map is None else {folded_name(entry.name): entry for entry in label_map}
    names = [known[folded_name(s.name)].name if folded_name(s.name) in known else s.name.strip() for s in segments]
    for name in names:
        if not name or names.count(name) > 1:
            raise LabelMapError(
                "a segment has no name" if not name else "two segments have the same name",
                code="duplicate_name" if name else "missing_name",
                found=repr(name),
                expected="one name a segment",
                next_step="rename them in the program that made the segmentation",
            )
    unions = set() if label_map is None else {folded_name(name): name for name in label_map.derived}
    taken = [name for name in names if folded_name(name) in unions]
    if taken:
        raise LabelMapError(
            "a structure of the file has the name of a union that the label map defines",
            code="union_name",
            found=taken[0],
            expected="structures only; their unions are measured from them",
            next_step="leave it out or rename it, or take a label map without this union",
        )
    if label_map is None:
        numbers = [segment.number for segment in segments]
        own = all(number is not None and number > 0 for number in numbers) and len(set(numbers)) == len(numbers)
        return [
            (n if own and n is not None else at, name)
            for at, (n, name) in enumerate(zip(numbers, names, strict=True), 1)
        ]
    ids = {entry.name: entry.label for entry in label_map}
    free = max(ids.values()) + 1
    assigned = []
    for name in names:
        if name not in ids:
            ids[name], free = free, free + 1
        assigned.append((ids[name], name))
    return assigned


def folded_name(name: str) -> str:
    """A name without capitals, and with one underscore for every run of spaces, hyphens and underscores."""
    return re.sub(r"[\s_\-]+", "_", name.strip()).casefold()
