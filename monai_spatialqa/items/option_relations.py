"""What the options of a choice tell of its key when they are held against each other only, without the question.

Wrong options are made from the key: a part of it changed, its order turned, its value times a factor. Each attack below
names the options that look most like the origin of the others. Where the key is among them more often than chance
explains, a reader who never sees the image can learn it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from monai_spatialqa.items.quantities_in_text import folded, read_text

FACTORS = (0.35, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 1.2, 1.25, 1.4, 1.5, 1.6, 2.0, 2.5, 3.0)
"""What wrong values are usually made with, as multiples of the key."""

CONFIDENCE = 0.999
"""That a share is more than chance explains; high, for many groups of items are held against several attacks."""

LEAST = 20
"""Items of a group that an attack must say something about."""

Attack = Callable[[Sequence[str]], tuple[int, ...]]
"""From the texts of the options to the places of those that it takes for the key; none where it cannot tell."""

_JOINT = re.compile(r"\s*(?:,\s*and\b|[,;<>→/]|\bthen\b|\band\b)\s*")
_OPPOSITE = {"left": "right", "anterior": "posterior", "superior": "inferior", "above": "below", "front": "back"}
_OPPOSITE |= {other: one for one, other in _OPPOSITE.items()}

Parts = tuple[str, ...]


def parts_of(option: str) -> Parts:
    """The parts that an order, a pair of directions or a size has, in their order; one for any other text.

    Example:
        >>> parts_of("liver, spleen and colon"), parts_of("10 x 20 x 30 mm"), parts_of("3,4 cm")
        (('liver', 'spleen', 'colon'), ('10 mm', '20 mm', '30 mm'), ('3,4 cm',))
    """
    reading = read_text(option)
    if reading.interval or (reading.whole and len(reading.quantities) == 1):
        return (folded(option),)
    if reading.whole and len(reading.quantities) > 1:
        return tuple(f"{one.value.normalize():f} {one.unit or ''}".strip() for one in reading.quantities)
    return tuple(part for part in _JOINT.split(folded(option).strip(" .")) if part)


def most_alike(options: Sequence[str]) -> tuple[int, ...]:
    """Of orders, directions and sizes, those that agree with the others most often, place by place."""
    parts = _same_length(options)
    return _best(
        [
            sum(
                one == other
                for at, each in enumerate(parts)
                if at != mine
                for one, other in zip(own, each, strict=True)
            )
            for mine, own in enumerate(parts)
        ]
    )


def factor_origin(options: Sequence[str]) -> tuple[int, ...]:
    """Of values and sizes, those of which most others are a customary multiple (half, 1.25 times ...)."""
    readings = [read_text(option) for option in options]
    if any(not one.whole or one.interval or not one.quantities for one in readings):
        return ()
    if len({one.dimensions for one in readings}) > 1:
        return ()
    values = [[(float(one.base), float(one.base_step) / 2) for one in each.quantities] for each in readings]
    return _best(
        [
            sum(_is_multiple(each, own) for at, each in enumerate(values) if at != mine)
            for mine, own in enumerate(values)
        ]
    )


def turned_round(options: Sequence[str]) -> tuple[int, ...]:
    """Of orders, sizes and directions, those whose reverse or opposite is an option, too."""
    parts = [parts_of(option) for option in options]
    return _best([sum(_is_reverse(own, each) for each in parts) for own in parts])


def rearranged(options: Sequence[str]) -> tuple[int, ...]:
    """Of orders and sizes, those of which most others have the same parts in another order."""
    parts = _same_length(options)
    return _best([sum(own != each and sorted(own) == sorted(each) for each in parts) for own in parts])


ATTACKS: dict[str, Attack] = {
    attack.__name__: attack for attack in (most_alike, factor_origin, turned_round, rearranged)
}
"""By name."""


@dataclass(frozen=True)
class AttackResult:
    """How often an attack finds the key in a group of items.

    Attributes:
        attack: its name.
        group: what the items have in common, e.g. their subtask; empty for all items together.
        items: those it names some, but not all, options of.
        found: those of which it names the key.
        most: of those, how many chance explains (one-sided bound at ``CONFIDENCE``).
        right: share of the items that it gets right, when it draws one of the options that it names.
        chance: share that drawing any option gets right.
    """

    attack: str
    group: str
    items: int
    found: int
    most: int
    right: float
    chance: float

    @property
    def beyond_chance(self) -> bool:
        """Whether the key is found more often than chance explains."""
        return self.found > self.most


def attack_results(choices: Iterable[tuple[str, Sequence[str], int]], least: int = LEAST) -> list[AttackResult]:
    """Every attack on every group of choices that has enough items for it, the strongest first.

    Args:
        choices: group, options as shown, place of the key.
        least: items of a group that an attack must say something about.
    """
    named: dict[tuple[str, str], list[tuple[int, int, bool]]] = {}
    for group, options, key in choices:
        for name, attack in ATTACKS.items():
            places = attack(options)
            if places:
                named.setdefault((group, name), []).append((len(places), len(options), key in places))
    results = [
        AttackResult(
            attack=name,
            group=group,
            items=len(each),
            found=sum(hit for _, _, hit in each),
            most=most_by_chance([places / count for places, count, _ in each]),
            right=sum(hit / places for places, _, hit in each) / len(each),
            chance=sum(1 / count for _, count, _ in each) / len(each),
        )
        for (group, name), each in named.items()
        if len(each) >= least
    ]
    return sorted(results, key=lambda result: (result.most - result.found, -result.right, result.group, result.attack))


def most_by_chance(chances: Sequence[float], confidence: float = CONFIDENCE) -> int:
    """The most hits that chance explains, when each item has a chance of its own: from the exact distribution."""
    distribution = np.ones(1)
    for chance in chances:
        distribution = np.append(distribution, 0.0) * (1 - chance) + np.insert(distribution, 0, 0.0) * chance
    return int(np.searchsorted(np.cumsum(distribution), confidence))


def _best(scores: Sequence[int]) -> tuple[int, ...]:
    """Places of the highest score; none where all are alike."""
    if not scores or max(scores) == min(scores):
        return ()
    return tuple(at for at, score in enumerate(scores) if score == max(scores))


def _same_length(options: Sequence[str]) -> list[Parts]:
    parts = [parts_of(option) for option in options]
    return parts if len({len(each) for each in parts}) == 1 and len(parts[0]) > 1 else []


def _is_multiple(values: Sequence[tuple[float, float]], of: Sequence[tuple[float, float]]) -> bool:
    """Whether values, each with half of its last digit, are one customary multiple of others as far as shown."""
    return any(
        all(
            abs(value - factor * base) <= half + factor * half_base
            for (value, half), (base, half_base) in zip(values, of, strict=True)
        )
        for factor in FACTORS
    )


def _is_reverse(one: Parts, other: Parts) -> bool:
    opposite = tuple(_OPPOSITE.get(part, part) for part in one)
    return one != other and other in (one[::-1], opposite)
