"""EXT: how far structures extend along the axes of the patient, by the edges of their bounding boxes.

Boxes have the directions of the scan's grid, so questions are asked where these are the patient's, within
``view.LARGEST_TILT_DEG``; on an oblique grid they are refused. On a sheared grid (gantry tilt) boxes are those of the
patient's axes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import combinations
from random import Random

from monai_spatialqa.items.draft import Choice, Draft, Rules, subtask
from monai_spatialqa.items.names import of_one_series, whole_organs
from monai_spatialqa.items.options import value_choices, wrong_orders
from monai_spatialqa.items.quantity import Quantity, relative_gap
from monai_spatialqa.items.ranking import (
    PLAIN,
    any_too_near,
    extreme_margin,
    is_plain,
    order_margin,
    ranked,
    too_near,
    with_rivals,
)
from monai_spatialqa.items.tools import evidence
from monai_spatialqa.items.view import AXES, CaseView
from monai_spatialqa.items.wording import places_of, readable_name, shown
from monai_spatialqa.records.item import Evidence

ALIKE = 2.0
"""Times that an extent may be the one it is compared with; beyond this, who is longer is known without the scan."""

ELONGATED = 1.6
"""A box that is so many times longer along one axis is that of a vessel or a long bone: everybody knows its axis."""

Edges = tuple[Quantity, Quantity, Quantity]


def _structures(view: CaseView, random: Random) -> list[str]:
    """Structures whose box may be asked about, in random order."""
    names = whole_organs(view, "place")
    if view.tilt_deg is None or view.oblique:
        for name in names:
            view.leave_out("oblique grid", name)
        return []
    kept = [name for name in names if _of_its_own(view, name)]
    random.shuffle(kept)
    return kept


def _of_its_own(view: CaseView, name: str) -> bool:
    """Whether the box is that of the largest component, where components were measured: no stray voxel widens it."""
    found = view.structure(name)
    if found.box is None or found.components is None:
        return True
    if found.components.boxes[0] == (found.box.index_start, found.box.index_stop):
        return True
    view.leave_out("parts apart from the largest one widen its box", name)
    return False


def _edges(view: CaseView, rules: Rules, name: str) -> Edges:
    first, second, third = (view.extent(name, axis).to(rules.length_unit) for axis in range(3))
    return first, second, third


def _length(view: CaseView, axis: int, name: str) -> Quantity:
    return view.extent(name, axis)


def _voxel(view: CaseView, rules: Rules, axis: int) -> float:
    """What every extent along an axis is a multiple of; 0 on a sheared grid, where there is no such length."""
    if view.geometry.sheared:
        return 0.0
    return Quantity(view.voxel_mm(axis), 0.0, 0.0, "mm").to(rules.length_unit).value


def _evidence(view: CaseView, rules: Rules, name: str, axis: int) -> Evidence:
    return evidence(view, "extent", rules.length_unit, structure=name, axis=axis)


@subtask("EXT", "extent_value")
def extent_value(view: CaseView, rules: Rules, random: Random) -> Iterator[Draft]:
    """How long the bounding box of a structure is along an axis of the patient."""
    names = _structures(view, random)
    for name in names:
        axis = random.randrange(3)
        edges = _edges(view, rules, name)
        plausible = [(edges[other].value, f"its {AXES[other]} extent") for other in range(3) if other != axis]
        plausible += [
            (
                view.extent(other, axis).to(rules.length_unit).value,
                f"the {AXES[axis]} extent of the {readable_name(other)}",
            )
            for other in random.sample(names, len(names))
            if other != name
        ]
        choices = value_choices(edges[axis], plausible, rules, random, multiple=_voxel(view, rules, axis))
        if choices is None:
            view.refuse("the value is uncertain by more than the gap between options", name)
            continue
        yield Draft(
            task="EXT",
            subtask="extent_value",
            structures=(name,),
            words={"a": readable_name(name), "axis": AXES[axis]},
            key=choices[0],
            wrong=choices[1],
            evidence=(_evidence(view, rules, name, axis),),
        )


@subtask("EXT", "box_size")
def box_size(view: CaseView, rules: Rules, random: Random) -> Iterator[Draft]:
    """The three edges of the bounding box of a structure."""
    names = _structures(view, random)
    for name in names:
        key = _edges(view, rules, name)
        if any(edge.half_width() > rules.value_gap * edge.value for edge in key):
            view.refuse("the value is uncertain by more than the gap between options", name)
            continue
        others = [
            (_edges(view, rules, each), f"the box of the {readable_name(each)}") for each in names if each != name
        ]
        random.shuffle(others)
        wrong = _boxes(key, others, rules, random)
        if wrong is None:
            view.refuse("too few plausible wrong options", name)
            continue
        yield Draft(
            task="EXT",
            subtask="box_size",
            structures=(name,),
            words={"a": readable_name(name)},
            key=Choice(_size(key)),
            wrong=tuple(Choice(_size(edges), why) for edges, why in wrong),
            evidence=tuple(_evidence(view, rules, name, axis) for axis in range(3)),
        )


def _boxes(
    key: Edges, others: Sequence[tuple[Edges, str]], rules: Rules, random: Random
) -> list[tuple[Edges, str]] | None:
    """Wrong boxes; None where there are too few.

    Of four options, two are the key and the key with two edges changed round, and two are another structure's box and
    that box with the same two edges changed round: neither pair stands out. Of other numbers of options all are the
    boxes of different structures.
    """
    turns = random.sample([(1, 0, 2), (2, 1, 0), (0, 2, 1)], 3)
    if rules.options == 4:
        for turn, (edges, why) in ((turn, other) for turn in turns for other in others):
            four = [key, _turned(key, turn), edges, _turned(edges, turn)]
            if all(_differ(one, other, rules) for one, other in combinations(four, 2)):
                return [(four[1], "two of its edges changed round"), (edges, why), (four[3], f"{why}, turned")]
        return None
    kept, wrong = [key], []
    for edges, why in others:
        if len(kept) < rules.options and all(_differ(edges, one, rules) for one in kept):
            kept.append(edges)
            wrong.append((edges, why))
    return wrong if len(kept) == rules.options else None


def _turned(edges: Edges, turn: tuple[int, int, int]) -> Edges:
    return edges[turn[0]], edges[turn[1]], edges[turn[2]]


def _differ(one: Edges, other: Edges, rules: Rules) -> bool:
    """Whether two boxes differ in an edge by the value gap and by more than half a voxel of either."""
    return any(
        relative_gap(first.value, second.value) >= rules.value_gap
        and (first.surely_above(second) or second.surely_above(first))
        for first, second in zip(one, other, strict=True)
    )


def _size(edges: Edges) -> str:
    places = max(places_of(edge.value, edge.step) for edge in edges)
    return f"{' x '.join(f'{edge.value:.{places}f}' for edge in edges)} {edges[0].unit}"


@subtask("EXT", "edge_order")
def edge_order(view: CaseView, rules: Rules, random: Random) -> Iterator[Draft]:
    """Along which axes the bounding box of a structure is longest, second and shortest."""
    for name in _structures(view, random):
        order = _ordered_edges(view, rules, name)
        if _shape_is_plain(name, order):
            view.refuse(PLAIN, name)
            continue
        if any_too_near(order, rules):
            view.refuse("two figures are too near to compare", name)
            continue
        right = [axis for _, axis in order]
        orders = wrong_orders(right, rules, random)
        why = ", ".join(f"{axis} {shown(found)}" for found, axis in order)
        yield Draft(
            task="EXT",
            subtask="edge_order",
            structures=(name,),
            words={"a": readable_name(name)},
            key=Choice(", ".join(right)),
            wrong=tuple(Choice(", ".join(each), f"the edges are {why}") for each in orders),
            evidence=tuple(_evidence(view, rules, name, AXES.index(axis)) for axis in right),
            margin=order_margin(order),
        )


def _shape_is_plain(name: str, order: Sequence[tuple[Quantity, str]]) -> bool:
    """Whether anatomy tells a structure's longest axis: it is one of a series of like shape, or elongated."""
    return of_one_series(name, name) or order[0][0].value > ELONGATED * order[1][0].value


def _ordered_edges(view: CaseView, rules: Rules, name: str) -> list[tuple[Quantity, str]]:
    return ranked(zip(_edges(view, rules, name), AXES, strict=True), largest_first=True)


@subtask("EXT", "longest_along")
def longest_along(view: CaseView, rules: Rules, random: Random) -> Iterator[Draft]:
    """Which of several structures has a bounding box that is longer along a stated axis than along the other two."""
    longest: dict[str, list[str]] = {axis: [] for axis in AXES}
    orders = {}
    for name in _structures(view, random):
        orders[name] = _ordered_edges(view, rules, name)
        (first, axis), (second, _) = orders[name][:2]
        if too_near(first, second, rules):
            view.refuse("two figures are too near to compare", name)
        elif _shape_is_plain(name, orders[name]):
            view.refuse(PLAIN, name)
        else:
            longest[axis].append(name)
    keys = [(axis, name) for axis, names in longest.items() for name in names]
    random.shuffle(keys)
    for axis, key in keys:
        others = [name for other, names in longest.items() if other != axis for name in names]
        if len(others) < rules.options - 1:
            continue
        chosen = random.sample(others, rules.options - 1)
        every = [(name, orders[name]) for name in (key, *chosen)]
        yield Draft(
            task="EXT",
            subtask="longest_along",
            structures=tuple(sorted((key, *chosen))),
            asked=key,
            words={"axis": axis},
            key=Choice(readable_name(key)),
            wrong=tuple(
                Choice(readable_name(name), f"its longest edge is {order[0][1]}, {shown(order[0][0])}")
                for name, order in every[1:]
            ),
            evidence=tuple(_evidence(view, rules, name, AXES.index(of)) for name, order in every for _, of in order),
            margin=min(extreme_margin(order) for _, order in every),
        )


@subtask("EXT", "largest_extent_of")
def largest_extent_of(view: CaseView, rules: Rules, random: Random) -> Iterator[Draft]:
    """Which of several structures extends farthest along an axis of the patient."""
    names = _structures(view, random)
    if len(names) < rules.options:
        return
    for first in names:
        axis = random.randrange(3)
        chosen = with_rivals(
            first, names, partial(_length, view, axis), ALIKE, rules.comparison_gap, rules.options, random
        )
        order = ranked([(view.extent(name, axis).to(rules.length_unit), name) for name in chosen], largest_first=True)
        (best, key), (second, _) = order[:2]
        if too_near(best, second, rules):
            view.refuse("two figures are too near to compare", *sorted(chosen))
            continue
        if is_plain(order, ALIKE):
            view.refuse(PLAIN, *sorted(chosen))
            continue
        yield Draft(
            task="EXT",
            subtask="largest_extent_of",
            structures=tuple(sorted(chosen)),
            asked=key,
            words={"axis": AXES[axis]},
            key=Choice(readable_name(key)),
            wrong=tuple(
                Choice(readable_name(name), f"{shown(found)} long; the correct one is {shown(best)} long")
                for found, name in order[1:]
            ),
            evidence=tuple(_evidence(view, rules, name, axis) for _, name in order),
            margin=extreme_margin(order),
        )
