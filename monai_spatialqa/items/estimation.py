"""VOLEST: volumes as open numbers, scored by how near an answer comes; so the half-voxel rule for keys does not apply.

A number is not asked for whose half-voxel range is so wide that nobody could come near it but by luck
(``Rules.widest_range``).

Ratios are asked for in the unit ``times``: a numeric item always states a unit, and answers are read with it or bare.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, permutations
from random import Random

from monai_spatialqa.anatomy.structure import opposite_name, side_of_name
from monai_spatialqa.items.comparison import LARGEST_RATIO
from monai_spatialqa.items.draft import Choice, Draft, Rules, subtask
from monai_spatialqa.items.names import series_of, whole_organs
from monai_spatialqa.items.quantity import RATIO_UNIT, Quantity
from monai_spatialqa.items.tools import evidence, run_tool
from monai_spatialqa.items.view import CaseView
from monai_spatialqa.items.wording import readable_name, shown, together
from monai_spatialqa.records.item import Argument

VAGUE = "the range within half a voxel is too wide for a number"
"""Why an open number is not asked for."""


def is_vague(found: Quantity, rules: Rules) -> bool:
    """Whether half a voxel leaves a figure more room than ``rules.widest_range``, upper end over lower end."""
    return found.low <= 0 or found.high > rules.widest_range * found.low


def _structures(view: CaseView, random: Random) -> list[str]:
    names = whole_organs(view, "size")
    random.shuffle(names)
    return names


def _draft(
    view: CaseView,
    rules: Rules,
    subtask: str,
    about: tuple[str, ...],
    words: dict[str, str],
    unit: str,
    tool: str,
    **arguments: Argument,
) -> Iterator[Draft]:
    found = run_tool(view, tool, arguments).to(unit)
    if is_vague(found, rules):
        view.refuse(VAGUE, *about)
        return
    yield Draft(
        task="VOLEST",
        subtask=subtask,
        structures=about,
        words=words | {"unit": unit},
        key=Choice(shown(found), value=found.value, unit=unit),
        wrong=(),
        evidence=(evidence(view, tool, unit, **arguments),),
        format="numeric",
        answer_unit=unit,
    )


@subtask("VOLEST", "volume_estimate")
def volume_estimate(view: CaseView, rules: Rules, random: Random) -> Iterator[Draft]:
    """The volume of a structure, as an open number."""
    for name in _structures(view, random):
        words = {"a": readable_name(name)}
        yield from _draft(view, rules, "volume_estimate", (name,), words, rules.volume_unit, "volume", structure=name)


@subtask("VOLEST", "ratio_estimate")
def ratio_estimate(view: CaseView, rules: Rules, random: Random) -> Iterator[Draft]:
    """How many times as large as another structure a structure is, as an open number."""
    pairs = list(permutations(_structures(view, random), 2))
    random.shuffle(pairs)
    for larger, smaller in pairs:
        ratio = view.volume(larger).value / view.volume(smaller).value
        # Of two that are nearly equal, anybody would answer 1 unseen.
        if ratio <= LARGEST_RATIO and ratio >= 1 / (1 - rules.comparison_gap):
            words = {"a": readable_name(larger), "b": readable_name(smaller)}
            names = (larger, smaller)
            yield from _draft(
                view, rules, "ratio_estimate", names, words, RATIO_UNIT, "volume_ratio", first=larger, second=smaller
            )


@subtask("VOLEST", "total_estimate")
def total_estimate(view: CaseView, rules: Rules, random: Random) -> Iterator[Draft]:
    """The volume of several structures together, as an open number: partners of both sides first, then three alike."""
    names = _structures(view, random)
    partners = [(name, opposite_name(name)) for name in names if side_of_name(name) == "left"]
    groups = [(left, right) for left, right in partners if right in names]
    series: dict[str, list[str]] = {}
    for name in names:
        if (kind := series_of(name)) is not None:
            series.setdefault(kind, []).append(name)
    triples = [each for members in series.values() for each in combinations(members, 3)]
    random.shuffle(triples)
    for group in [*groups, *triples]:
        chosen = sorted(group)
        if _share_voxels(view, chosen):
            view.refuse("they share voxels", *chosen)
            continue
        words = {"whole": together(chosen)}
        yield from _draft(
            view, rules, "total_estimate", tuple(chosen), words, rules.volume_unit, "total_volume", structures=chosen
        )


def _share_voxels(view: CaseView, names: list[str]) -> bool:
    shared = {frozenset((each.a, each.b)) for each in view.measurement.overlaps}
    return any(frozenset(pair) in shared for pair in combinations(names, 2))
