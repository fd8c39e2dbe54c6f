"""Does a left or right name contradict the place of its partner? Tells; never swaps."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from monai_spatialqa.anatomy.structure import StructureInfo
from monai_spatialqa.errors import SettingsError


class SideConflict(NamedTuple):
    """A pair whose left structure lies further to the patient's right than its right partner."""

    left: str
    right: str
    wrong_by_mm: float


def find_side_conflicts(
    structures: Iterable[StructureInfo],
    centroids_ras_mm: Mapping[str, Sequence[float] | None],
    margin_mm: float = 0.0,
) -> list[SideConflict]:
    """Find the pairs of partners whose positions contradict their names.

    Positions are in RAS mm: the first coordinate grows towards the patient's right. A pair is compared when both
    partners have a position; absent structures (no entry, None or NaN) contradict nothing. Which name of the pair is
    the wrong one cannot be told from positions, so both are to be doubted and neither is changed.

    Args:
        structures: structures with their sides and partners, such as a label map.
        centroids_ras_mm: structure name to centroid (R, A, S).
        margin_mm: how much further right the left one may lie before it counts, at least 0.

    Returns:
        The contradicting pairs, in the order of their left structures.

    Raises:
        SettingsError: when ``margin_mm`` is negative or not a finite number.

    Example:
        >>> from monai_spatialqa.anatomy import load_label_map
        >>> kidneys = load_label_map({1: "kidney_left", 2: "kidney_right"})
        >>> find_side_conflicts(kidneys, {"kidney_left": (60.0, 0, 0), "kidney_right": (-50.0, 0, 0)})
        [SideConflict(left='kidney_left', right='kidney_right', wrong_by_mm=110.0)]
    """
    if not (math.isfinite(margin_mm) and margin_mm >= 0):
        raise SettingsError(
            "the margin for left and right is unusable",
            key="margin_mm",
            found=margin_mm,
            expected="a finite number of mm, at least 0",
            next_step="give a margin of 0 or more",
        )
    conflicts = []
    for structure in structures:
        if structure.side != "left" or structure.partner is None:
            continue
        left_r = _right_coordinate(centroids_ras_mm.get(structure.name))
        right_r = _right_coordinate(centroids_ras_mm.get(structure.partner))
        wrong_by = left_r - right_r
        if wrong_by > margin_mm:
            conflicts.append(SideConflict(structure.name, structure.partner, wrong_by))
    return conflicts


def _right_coordinate(centroid: Sequence[float] | None) -> float:
    """How far to the patient's right; NaN, which no comparison holds for, when there is no position."""
    return math.nan if centroid is None else float(centroid[0])
