"""Questions about a lesion and what lies around it: nearest structure, distance to a vessel, contact, bulging out.

What resectability turns on. All but the nearest structure need records of ``detail: full`` with the pairs of lesion and
structure among the distances; a question whose pair is missing is counted as not measured. Tried on phantoms: public
scans with tumour, organ and vessels in one label map cannot be shipped.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from random import Random

from monai_spatialqa.items.direction import NOWHERE, RELATION, asked_towards, direction, is_clear
from monai_spatialqa.items.draft import Choice, Draft, Rules, subtask
from monai_spatialqa.items.lesion_case import (
    NOT_MEASURED,
    figure,
    lesions,
    organ_names,
    organ_of,
    unrelated,
    vessels,
    with_article,
)
from monai_spatialqa.items.options import value_choices
from monai_spatialqa.items.quantity import Quantity
from monai_spatialqa.items.ranking import ranked, robust_margin, too_near
from monai_spatialqa.items.tools import evidence, run_tool
from monai_spatialqa.items.view import CaseView
from monai_spatialqa.items.wording import readable_name, shown, shown_value

OUTSIDE_PERCENT = 25.0
"""How much of a lesion must lie outside its organ's hull to count as bulging out."""

SURROUNDED = 0.75
"""Share of a lesion's surface that its organ must touch for the lesion to lie within it."""

FACES_OF_A_BALL = 1.5
"""Area of the voxel faces of a ball over its surface: its three projections, twice each, are 6 against 4 pi r2."""

ONE_PIECE = 0.1
"""An organ whose second piece is larger than this share of its first is no single body, and its hull means nothing."""

NEAR_MISSES = 2
"""Vessels without contact that a lesion's contact is asked for: so many of the nearest."""

NEAR_MM = 40.0
"""Contact with a vessel farther away than this is no question."""

NEAREST = 2
"""The closest structure is asked for among the nearest: so many times the number of options."""

_KINDS = {
    "surface_distance": "the shortest distance between their surfaces",
    "center_distance": "the distance between the centres of their bounding boxes",
}


@subtask("DIR", "lesion_place")
def lesion_place(view: CaseView, rules: Rules, random: Random) -> Iterator[Draft]:
    """Whether a lesion lies in a stated direction from the middle of its organ, yes or no."""
    for lesion in lesions(view, "place", random):
        organ = organ_of(view, lesion)
        if organ is None or not view.may_ask(organ, "place"):
            continue
        for axis in random.sample(range(3), 3):
            if not is_clear(view, organ, lesion, axis):
                continue
            found = view.offset(organ, lesion, axis)
            draft = Draft(
                task="DIR",
                subtask="lesion_place",
                structures=(lesion, organ),
                words={"a": readable_name(lesion), "b": with_article(view, [organ])},
                key=Choice("yes"),
                wrong=(),
                evidence=(evidence(view, "offset", rules.length_unit, first=organ, second=lesion, axis=axis),),
                format="yesno",
                margin=robust_margin(found, NOWHERE),
            )
            towards = RELATION[direction(axis, found.value)]
            why = f"its centre lies {_told(found.magnitude(), rules)} {towards} that of the organ"
            yield asked_towards(draft, "relation", RELATION, axis, found, why, random)


@subtask("DIST", "lesion_closest_structure")
def lesion_closest_structure(view: CaseView, rules: Rules, random: Random) -> Iterator[Draft]:
    """Which of several structures lies closest to a lesion, its own organ left out; by surfaces, or else by centres."""

    def around(lesion: str) -> list[str]:
        own = {*organ_names(view, lesion), *view.tumours}
        return [name for name in view.askable("place") if name not in own and unrelated(view, name, lesion)]

    yield from _closest(view, rules, random, "lesion_closest_structure", around)


@subtask("DIST", "lesion_closest_vessel")
def lesion_closest_vessel(view: CaseView, rules: Rules, random: Random) -> Iterator[Draft]:
    """Which of several vessels lies closest to a lesion; by surfaces, or else by centres."""
    yield from _closest(view, rules, random, "lesion_closest_vessel", lambda lesion: _vessels_beside(view, lesion))


def _vessels_beside(view: CaseView, lesion: str) -> list[str]:
    return [name for name in vessels(view) if unrelated(view, name, lesion)]


def _closest(
    view: CaseView, rules: Rules, random: Random, name: str, around: Callable[[str], list[str]]
) -> Iterator[Draft]:
    asked: list[tuple[str, str, list[str]]] = []
    for lesion in lesions(view, "place", random):
        others = around(lesion)
        random.shuffle(others)
        measured = [other for other in others if view.surface_distance(lesion, other) is not None]
        tool, usable = "surface_distance", measured
        if len(measured) < rules.options:
            tool, usable = "center_distance", others
        near = ranked(
            [(run_tool(view, tool, {"first": lesion, "second": each}), each) for each in usable], largest_first=False
        )
        usable = [each for _, each in near[: NEAREST * rules.options]]
        random.shuffle(usable)
        ends = range(rules.options, len(usable) + 1, rules.options)
        asked += [(lesion, tool, usable[end - rules.options : end]) for end in ends]
    random.shuffle(asked)
    for lesion, tool, chosen in asked:
        order = ranked(
            [(run_tool(view, tool, {"first": lesion, "second": other}), other) for other in chosen],
            largest_first=False,
        )
        (best, key), (second, _) = order[0], order[1]
        if too_near(best, second, rules):
            view.refuse("two figures are too near to compare", lesion, key)
            continue
        yield Draft(
            task="DIST",
            subtask=name,
            structures=(lesion, *chosen),
            words={"a": readable_name(lesion), "kind": _KINDS[tool]},
            key=Choice(readable_name(key)),
            wrong=tuple(
                Choice(
                    readable_name(other), f"{_told(found, rules)} away; the correct one is {_told(best, rules)} away"
                )
                for found, other in order[1:]
            ),
            evidence=tuple(evidence(view, tool, rules.length_unit, first=lesion, second=other) for _, other in order),
            margin=robust_margin(best, second),
        )


@subtask("DIST", "lesion_vessel_distance")
def lesion_vessel_distance(view: CaseView, rules: Rules, random: Random) -> Iterator[Draft]:
    """The shortest distance between the surfaces of a lesion and a vessel that it does not touch."""
    for lesion, vessel in _vessel_pairs(view, random):
        measured = view.surface_distance(lesion, vessel)
        if measured is None:
            view.refuse(NOT_MEASURED, lesion, vessel)
            continue
        if _touching(view, lesion, vessel):
            continue
        key = _between_surfaces(view, measured).to(rules.length_unit)
        plausible = [
            (found, f"the distance from the {readable_name(lesion)} to the {readable_name(other)}")
            for other in _vessels_beside(view, lesion)
            if other != vessel and (found := view.surface_distance(lesion, other)) is not None
        ]
        plausible.append((view.distance(lesion, vessel), "the distance between the centres of their bounding boxes"))
        told = [(value.to(rules.length_unit).value, why) for value, why in plausible]
        choices = value_choices(key, told, rules, random)
        if choices is None:
            view.refuse("the value is uncertain by more than the gap between options", lesion, vessel)
            continue
        yield Draft(
            task="DIST",
            subtask="lesion_vessel_distance",
            structures=(lesion, vessel),
            words={"a": readable_name(lesion), "b": readable_name(vessel)},
            key=choices[0],
            wrong=choices[1],
            evidence=(evidence(view, "surface_distance", rules.length_unit, first=lesion, second=vessel),),
        )


def _between_surfaces(view: CaseView, measured: Quantity) -> Quantity:
    """A distance between voxel centres, with a range that also holds the one between the voxels' outer faces."""
    low = max(0.0, measured.value - max(view.geometry.spacing_mm))
    return Quantity(measured.value, low, measured.high, measured.unit, measured.step)


def _vessel_pairs(view: CaseView, random: Random) -> list[tuple[str, str]]:
    pairs = [(lesion, vessel) for lesion in lesions(view, "place", random) for vessel in _vessels_beside(view, lesion)]
    random.shuffle(pairs)
    return pairs


def _touching(view: CaseView, first: str, second: str) -> bool:
    pair = view.pair(first, second, "surface")
    return pair is not None and "touching" in pair.status


@subtask("DIST", "lesion_touches_vessel")
def lesion_touches_vessel(view: CaseView, rules: Rules, random: Random) -> Iterator[Draft]:
    """Whether a lesion is in contact with a vessel.

    Of vessels without contact only near ones are asked for. A contact is sure when it is broader than what a shift of
    half a voxel along it takes away at its rim: of ``n`` faces in a patch, about twice the square root of ``n``.
    No contact is sure when more than one voxel fits between the two.
    """
    asked = [
        (lesion, vessel) for lesion in lesions(view, "place", random) for vessel in _contact_candidates(view, lesion)
    ]
    random.shuffle(asked)
    for lesion, vessel in asked:
        pair = view.pair(lesion, vessel, "surface")
        assert pair is not None
        assert pair.contact_faces is not None
        area = run_tool(view, "contact_area", {"first": lesion, "second": vessel})
        distance = run_tool(view, "surface_distance", {"first": lesion, "second": vessel})
        if pair.contact_faces:
            right, wrong = "yes", "no"
            why = f"they share {shown_value(area.value, area.unit)} of their surfaces"
            margin = math.sqrt(pair.contact_faces) / 2
        else:
            right, wrong = "no", "yes"
            why = f"they are {_told(distance, rules)} apart"
            step = max(view.geometry.spacing_mm)
            margin = max(0.0, distance.value - step) / step
        yield Draft(
            task="DIST",
            subtask="lesion_touches_vessel",
            structures=(lesion, vessel),
            words={"a": readable_name(lesion), "b": readable_name(vessel)},
            key=Choice(right),
            wrong=(Choice(wrong, why),),
            evidence=(
                evidence(view, "contact_area", first=lesion, second=vessel),
                evidence(view, "surface_distance", rules.length_unit, first=lesion, second=vessel),
            ),
            format="yesno",
            margin=margin,
        )


def _contact_candidates(view: CaseView, lesion: str) -> list[str]:
    """Vessels that the lesion touches, and the nearest of the others."""
    touched, apart = [], []
    for vessel in _vessels_beside(view, lesion):
        area = figure(view, "contact_area", lesion, vessel, first=lesion, second=vessel)
        distance = view.surface_distance(lesion, vessel)
        if area is None or distance is None:
            continue
        if area.value > 0:
            touched.append(vessel)
        elif distance.value <= NEAR_MM:
            apart.append((distance, vessel))
    return [*touched, *(vessel for _, vessel in ranked(apart, largest_first=False)[:NEAR_MISSES])]


@subtask("EXT", "lesion_outside_organ")
def lesion_outside_organ(view: CaseView, rules: Rules, random: Random) -> Iterator[Draft]:
    """Whether a lesion bulges out of its organ: a quarter or more of it lies outside the organ's outer contour.

    The contour is the convex hull of the organ's own label, without the lesion. A hull also holds the hollows of the
    organ: of a lesion inside it that the organ does not surround, nobody asks. "Any part" would hang on a single voxel.
    """
    for lesion in lesions(view, "place", random):
        organ = organ_of(view, lesion)
        if organ is None or not view.may_ask(organ, "place") or not _has_hull(view, lesion, organ):
            continue
        inside = figure(view, "share_inside", lesion, organ, inner=lesion, outer=organ)
        if inside is None:
            continue
        outside = 100 - inside.value
        right, wrong = ("yes", "no") if outside >= OUTSIDE_PERCENT else ("no", "yes")
        if right == "no" and not _surrounded(view, lesion, organ):
            view.refuse("the lesion lies in a hollow of the organ, or at its border", lesion, organ)
            continue
        yield Draft(
            task="EXT",
            subtask="lesion_outside_organ",
            structures=(lesion, organ),
            words={"a": readable_name(lesion), "b": with_article(view, [organ])},
            key=Choice(right),
            wrong=(Choice(wrong, f"{shown_value(outside, '%', 0)} of it lies outside"),),
            evidence=(evidence(view, "share_inside", inner=lesion, outer=organ),),
            format="yesno",
            margin=abs(outside - OUTSIDE_PERCENT) / _hull_room(view.volume(lesion)),
        )


def _has_hull(view: CaseView, lesion: str, organ: str) -> bool:
    """Whether the hull of an organ tells something of the lesion; the reason is counted where it does not."""
    parts = view.structure(organ).components
    if parts is None:
        view.refuse(NOT_MEASURED, lesion, organ)
        return False
    if parts.count > 1 and parts.volumes_ml[1] > ONE_PIECE * parts.volumes_ml[0]:
        view.refuse("the organ is in several pieces, whose hull holds what lies between", lesion, organ)
        return False
    if not unrelated(view, lesion, organ):
        view.refuse("the organ's segmentation holds the lesion", lesion, organ)
        return False
    return True


def _surrounded(view: CaseView, lesion: str, organ: str) -> bool:
    """Whether the faces that a lesion shares with its organ are most of the surface of a ball of its volume."""
    area = figure(view, "contact_area", lesion, organ, first=lesion, second=organ)
    if area is None:
        return False
    radius_mm = (view.volume(lesion).value * 1000 * 3 / (4 * math.pi)) ** (1 / 3)
    return area.value >= SURROUNDED * FACES_OF_A_BALL * 4 * math.pi * radius_mm**2


def _hull_room(volume: Quantity) -> float:
    """By how many percent of the lesion half a voxel more or less of a hull changes the share inside, at most.

    A convex border meets at most about half of the lesion's surface; the volume band is what half a voxel is worth over
    all of that surface.
    """
    return 100 * volume.half_width() / 2 / volume.value


def _told(found: Quantity, rules: Rules) -> str:
    return shown(found.to(rules.length_unit))
