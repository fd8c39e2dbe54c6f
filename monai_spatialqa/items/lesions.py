"""Questions about a lesion itself: its share of the organ, its parts, its diameter, which of two is larger.

They are filed under the task codes of the method, VOL, VOLEST, EXT and COMP. Relations to organs and vessels are in
``lesion_relations.py``. Most of them need records of ``detail: full``. Public scans with an organ and its tumour in one
label map cannot be shipped: these questions were tried on phantoms, and on a sarcoma whose label map has no organ.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from random import Random

import numpy as np

from monai_spatialqa.items.draft import Choice, Draft, Rules, either_way, subtask
from monai_spatialqa.items.estimation import VAGUE, is_vague
from monai_spatialqa.items.lesion_case import NOT_MEASURED, Share, lesions, share_words, shares, unrelated
from monai_spatialqa.items.options import in_intervals, ladder_choices, value_choices
from monai_spatialqa.items.quantity import Quantity
from monai_spatialqa.items.ranking import robust_margin, too_near
from monai_spatialqa.items.tools import evidence, run_tool
from monai_spatialqa.items.view import AXES, CaseView
from monai_spatialqa.items.wording import readable_name, shown
from monai_spatialqa.records import Components

SPECK_ML = 0.1
"""Pieces below this volume are specks. Where one is below twice that, it is not clear what counts, and nobody asks."""

SHARE_CUTS = (1.0, 2.0, 5.0, 10.0, 25.0, 50.0, 75.0, 90.0)
"""Percent at which shares are parted: about the steps in which tumour load is reported, finer where it is small."""

LEAST_SHARE = 0.5
"""A lesion below so many percent of the whole is small, and nobody asks how small."""

ALL_OF_IT = 95.0
"""A lesion that makes up more percent of the whole than this is the whole, and its share no question."""

AXIAL_DEG = 10.0
"""Slices that lie further from the axial plane of the patient are not called axial."""


@subtask("VOL", "lesion_share_interval")
def lesion_share_interval(view: CaseView, rules: Rules, random: Random) -> Iterator[Draft]:
    """In which interval a lesion's share of its organ lies, or a part's share of the whole tumour, by volume."""
    for share, key in _shares(view, random):
        choices = ladder_choices(key, SHARE_CUTS, rules, random)
        if not choices:
            view.refuse("no intervals of use hold it for certain", share.part)
            continue
        draft = Draft(
            task="VOL",
            subtask="lesion_share_interval",
            structures=share.structures,
            words=share_words(view, share),
            key=choices[0][0],
            wrong=(),
            evidence=(evidence(view, "volume_share", part=share.part, whole=list(share.whole)),),
        )
        yield in_intervals(draft, choices)


@subtask("VOLEST", "lesion_share_percent")
def lesion_share_percent(view: CaseView, rules: Rules, random: Random) -> Iterator[Draft]:
    """A lesion's share of its organ, or a part's share of the whole tumour, by volume, in percent."""
    for share, key in _shares(view, random):
        if is_vague(key, rules):
            view.refuse(VAGUE, share.part)
            continue
        yield Draft(
            task="VOLEST",
            subtask="lesion_share_percent",
            structures=share.structures,
            words=share_words(view, share),
            key=Choice(shown(key), value=key.value, unit="%"),
            wrong=(),
            evidence=(evidence(view, "volume_share", part=share.part, whole=list(share.whole)),),
            format="numeric",
            answer_unit="%",
        )


def _shares(view: CaseView, random: Random) -> Iterator[tuple[Share, Quantity]]:
    for share in shares(view, random):
        key = run_tool(view, "volume_share", {"part": share.part, "whole": list(share.whole)})
        if key.value > ALL_OF_IT:
            view.refuse("the lesion is nearly all of the whole", share.part)
            continue
        if key.value < LEAST_SHARE:
            view.refuse("the lesion is too small a part of the whole to say how small", share.part)
            continue
        yield share, key


@subtask("VOL", "lesion_piece_count")
def lesion_piece_count(view: CaseView, rules: Rules, random: Random) -> Iterator[Draft]:
    """Of how many separate pieces a lesion consists; only of several, none a speck, and all clearly apart.

    Of a single piece nobody asks: most lesions are one, and a guess would be right. No option is one piece, either.
    """
    for lesion in lesions(view, "count", random):
        parts = _clear_pieces(view, lesion)
        if parts is None:
            continue
        if parts.count < 2:
            view.refuse("the lesion is in one piece, as most are", lesion)
            continue
        first = max(2, parts.count - random.randrange(rules.options))
        near = [number for number in range(first, first + rules.options) if number != parts.count]
        yield Draft(
            task="VOL",
            subtask="lesion_piece_count",
            structures=(lesion,),
            words={"a": readable_name(lesion), "speck": f"{SPECK_ML:g} {rules.volume_unit}"},
            key=Choice(_pieces(parts.count)),
            wrong=tuple(Choice(_pieces(number), f"the segmentation has {_pieces(parts.count)}") for number in near),
            evidence=(evidence(view, "component_count", structure=lesion),),
            margin=_clearance(parts.boxes),
        )


@subtask("VOLEST", "lesion_largest_piece")
def lesion_largest_piece(view: CaseView, rules: Rules, random: Random) -> Iterator[Draft]:
    """The volume of the largest of several pieces of a lesion; only where it lies clearly apart from the others."""
    for lesion in lesions(view, "size", random):
        parts = _clear_pieces(view, lesion)
        if parts is None or parts.count < 2:
            continue
        if _clearance(parts.boxes) <= 1:
            view.refuse("the pieces of the lesion are too near to each other", lesion)
            continue
        key = run_tool(view, "largest_component", {"structure": lesion}).to(rules.volume_unit)
        yield Draft(
            task="VOLEST",
            subtask="lesion_largest_piece",
            structures=(lesion,),
            words={"a": readable_name(lesion), "unit": rules.volume_unit},
            key=Choice(shown(key), value=key.value, unit=key.unit),
            wrong=(),
            evidence=(evidence(view, "largest_component", rules.volume_unit, structure=lesion),),
            format="numeric",
            answer_unit=rules.volume_unit,
        )


def _clear_pieces(view: CaseView, lesion: str) -> Components | None:
    """The pieces of a lesion, all of them listed and none a speck; None, with the reason counted, otherwise."""
    parts = view.structure(lesion).components
    if parts is None:
        view.refuse(NOT_MEASURED, lesion)
        return None
    if len(parts.volumes_ml) < parts.count or parts.volumes_ml[-1] < 2 * SPECK_ML:
        view.refuse("specks make the number of pieces ambiguous", lesion)
        return None
    return parts


def _clearance(boxes: Sequence[tuple[tuple[int, int, int], tuple[int, int, int]]]) -> float:
    """How many empty planes lie between the boxes of the two nearest of several pieces.

    One plane is what closes when both pieces grow by half a voxel.
    """
    gaps = [
        max(max(start_b[axis] - stop_a[axis], start_a[axis] - stop_b[axis]) for axis in range(3))
        for (start_a, stop_a), (start_b, stop_b) in combinations(boxes, 2)
    ]
    return float(max(0, min(gaps)))


def _pieces(number: int) -> str:
    return f"{number} pieces"


@subtask("EXT", "lesion_axial_diameter")
def lesion_axial_diameter(view: CaseView, rules: Rules, random: Random) -> Iterator[Draft]:
    """The longest diameter of a lesion within one axial slice; only of a lesion in one piece.

    The diameter is measured on everything that has the lesion's label: of several pieces in one slice it would run from
    one to the other, through what lies between.
    """
    names = lesions(view, "place", random)
    if names and not _axial(view):
        view.refuse("the slices are not axial", *sorted(names))
        return
    for lesion in names:
        found = view.structure(lesion).axial_diameter
        measured = view.diameter(lesion)
        if found is None or measured is None:
            view.refuse(NOT_MEASURED, lesion)
            continue
        parts = view.structure(lesion).components
        if parts is None or parts.count > 1:
            view.refuse(NOT_MEASURED if parts is None else "a diameter may run from one piece to another", lesion)
            continue
        key = measured.to(rules.length_unit)
        plausible = [
            (Quantity(found.perpendicular_mm, 0.0, 0.0, "mm"), "the diameter perpendicular to the longest one"),
            *((view.extent(lesion, axis), f"the {AXES[axis]} edge of its bounding box") for axis in (2, 1, 0)),
            *(
                (other, f"the diameter of the {readable_name(name)}")
                for name in names
                if name != lesion and (other := view.diameter(name)) is not None
            ),
        ]
        told = [(value.to(rules.length_unit).value, why) for value, why in plausible]
        choices = value_choices(key, told, rules, random)
        if choices is None:
            view.refuse("the value is uncertain by more than the gap between options", lesion)
            continue
        yield Draft(
            task="EXT",
            subtask="lesion_axial_diameter",
            structures=(lesion,),
            words={"a": readable_name(lesion)},
            key=choices[0],
            wrong=choices[1],
            evidence=(evidence(view, "axial_diameter", rules.length_unit, structure=lesion),),
        )


def _axial(view: CaseView) -> bool:
    """Whether the planes of the grid's first two axes are nearly perpendicular to the patient's long axis."""
    affine = np.array(view.geometry.affine_ras_mm)
    normal = np.cross(affine[:, 0], affine[:, 1])
    return bool(abs(normal[2]) >= np.cos(np.radians(AXIAL_DEG)) * np.linalg.norm(normal))


@subtask("COMP", "lesion_larger")
def lesion_larger(view: CaseView, rules: Rules, random: Random) -> Iterator[Draft]:
    """Whether one lesion has a larger volume than another one; they share no voxels."""
    pairs = [pair for pair in combinations(lesions(view, "size", random), 2) if unrelated(view, *pair)]
    random.shuffle(pairs)
    for first, second in pairs:
        one, other = view.volume(first), view.volume(second)
        if too_near(one, other, rules):
            view.refuse("two figures are too near to compare", *sorted((first, second)))
            continue
        larger, smaller = (first, second) if one.value > other.value else (second, first)
        why = " and ".join(
            f"the {readable_name(name)} has {shown(view.volume(name).to(rules.volume_unit))}"
            for name in (larger, smaller)
        )
        margin = robust_margin(one, other)

        def asking(
            true: bool, larger: str = larger, smaller: str = smaller, why: str = why, margin: float = margin
        ) -> Draft:
            asked = (larger, smaller) if true else (smaller, larger)
            return Draft(
                task="COMP",
                subtask="lesion_larger",
                structures=asked,
                words={"a": readable_name(asked[0]), "b": readable_name(asked[1])},
                key=Choice("yes" if true else "no"),
                wrong=(Choice("no" if true else "yes", why),),
                evidence=tuple(evidence(view, "volume", rules.volume_unit, structure=name) for name in asked),
                format="yesno",
                margin=margin,
            )

        yield either_way(asking, random)
