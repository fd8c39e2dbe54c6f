"""What a structure's name gives away: its side, its place in a series, its place within an organ, its tumour."""

from __future__ import annotations

import re
from functools import cache

from monai_spatialqa.anatomy.structure import side_of_name
from monai_spatialqa.items.parts import lacks_a_part, part_and_whole
from monai_spatialqa.items.view import CaseView, Purpose

_NUMBER = re.compile(r"[CTLS]?\d+")
_LEVELS = {"upper", "middle", "lower", "superior", "inferior", "anterior", "posterior", "cranial", "caudal"}
_SIDES = {"left", "right"}
_TUMOUR = re.compile(r"_tumou?rs?$")
LEFT_RIGHT, ANTERIOR_POSTERIOR, SUPERIOR_INFERIOR = range(3)
"""Axes of the patient, in the order R, A, S."""


def _words(name: str) -> list[str]:
    return [word for word in name.split("_") if word not in _SIDES]


@cache
def series_of(name: str) -> str | None:
    """What a structure is one of, side left out: all vertebrae, or all ribs, share it; None for what has no number."""
    words = _words(name)
    kept = [word for word in words if not _NUMBER.fullmatch(word)]
    return "_".join(kept) if len(kept) < len(words) else None


def of_one_series(first: str, second: str) -> bool:
    """Whether two structures are of one numbered series, so that their numbers tell which others lie near.

    Example:
        >>> of_one_series("vertebrae_L1", "vertebrae_L3"), of_one_series("rib_left_3", "vertebrae_T7")
        (True, False)
    """
    return series_of(first) is not None and series_of(first) == series_of(second)


def told_by_names(first: str, second: str, axis: int) -> bool:
    """Whether the names alone tell how two structures lie along R (0), A (1) or S (2), or one is a part of the other.

    Example:
        >>> told_by_names("kidney_left", "liver", 0), told_by_names("kidney_left", "liver", 2)
        (True, False)
        >>> told_by_names("vertebrae_L1", "vertebrae_L3", 2), told_by_names("lung_upper_lobe_left", "liver", 2)
        (True, False)
    """
    if part_and_whole(first, second):
        return True
    if axis == LEFT_RIGHT:
        return side_of_name(first) != side_of_name(second)
    if axis == SUPERIOR_INFERIOR and of_one_series(first, second):
        return True
    return bool(_LEVELS.intersection(_words(first))) and bool(_LEVELS.intersection(_words(second)))


def whole_organs(view: CaseView, purpose: Purpose) -> list[str]:
    """Structures that may be asked about and are whole: where a tumour or part has a label of its own, they are not.

    Such an organ's label is what the tumour left of it; how large "the liver" is would have two answers. Left out is
    what shares a union with a tumour (``liver_with_tumour``), and what a tumour of the case is named after
    (``kidney_left`` beside ``kidney_tumor``); and what lacks a part by ``data/parts.yaml`` (the small bowel beside the
    duodenum). Each is counted as refused.
    """
    present = {name for name, found in view.measurement.structures.items() if found.voxel_count}
    tumours = {name for name in present if name in view.tumours or _TUMOUR.search(name)}
    named = {_TUMOUR.sub("", name) for name in tumours}
    hosts: set[str] = set()
    for found in view.measurement.structures.values():
        if found.union_of and tumours.intersection(found.union_of):
            hosts.update(set(found.union_of) - tumours)
    kept = []
    for name in view.askable(purpose):
        if name not in tumours and (name in hosts or {name, "_".join(_words(name))} & named):
            view.leave_out("its tumour has a label of its own", name)
        elif lacks_a_part(name, view.measurement.structures):
            view.leave_out("a part of it has a label of its own", name)
        else:
            kept.append(name)
    return kept
