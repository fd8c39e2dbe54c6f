"""Options of a choice: distractors that are wrong for a stated reason, and apart from the key and from each other."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from random import Random

from monai_spatialqa.items.draft import Choice, Draft, Rules
from monai_spatialqa.items.quantity import Quantity, relative_gap
from monai_spatialqa.items.wording import shown_value
from monai_spatialqa.records.item import LETTERS, Distractor

_FACTORS = (0.5, 0.6, 0.7, 1.4, 1.6, 2.0, 0.35, 0.8, 1.25, 2.5)
"""Offsets of last resort, as factors of the key."""


def complete(draft: Draft, rules: Rules, random: Random) -> tuple[list[str], str, list[Distractor]] | str:
    """Options, the letter of the key, and the distractors in the order of their letters; or why there are none.

    Options are taken from the front of the draft's wrong answers, passing over those that look like, or are as near as
    the value gap to, the key or an earlier one. They are shuffled; those of an ordered draft stand by value.
    """
    if draft.format == "yesno":
        return ["yes", "no"], draft.key.text, [Distractor(text=w.text, why=w.why) for w in draft.wrong]
    chosen: list[Choice] = [draft.key]
    for wrong in draft.wrong:
        if len(chosen) == rules.options:
            break
        if all(_apart(wrong, other, 0.0 if draft.ordered else rules.value_gap) for other in chosen):
            chosen.append(wrong)
    if len(chosen) < rules.options:
        return "too few plausible wrong options"
    if draft.ordered:
        chosen.sort(key=lambda choice: choice.value if choice.value is not None else math.inf)
    else:
        random.shuffle(chosen)
    letter = LETTERS[chosen.index(draft.key)]
    distractors = [
        Distractor(text=choice.text, why=choice.why, value=choice.value, unit=choice.unit)
        for choice in chosen
        if choice is not draft.key
    ]
    return [choice.text for choice in chosen], letter, distractors


def _apart(one: Choice, other: Choice, gap: float) -> bool:
    if _folded(one.text) == _folded(other.text):
        return False
    if one.value is None or other.value is None:
        return True
    return relative_gap(one.value, other.value) >= gap


def _folded(text: str) -> str:
    return "".join(text.casefold().split())


def value_choices(
    key: Quantity, plausible: Iterable[tuple[float, str]], rules: Rules, random: Random
) -> tuple[Choice, tuple[Choice, ...]] | None:
    """The key and wrong answers for a question that asks for a value; None when the key's range is too wide.

    Plausible errors come first, in the order given; random offsets follow. None lies within half a voxel of the key.

    Args:
        key: in the unit that is shown.
        plausible: other values in the same unit, and why each is wrong.
        rules: gaps.
        random: of the item.
    """
    if rules.robust and key.value and key.half_width() / abs(key.value) > rules.value_gap:
        return None
    right = Choice(shown_value(key.value, key.unit), value=key.value, unit=key.unit)
    factors = list(_FACTORS)
    random.shuffle(factors)
    offsets = [(key.value * factor, f"{_percent(factor)} of the measured value") for factor in factors]
    wrong = [
        Choice(shown_value(value, key.unit), why, value, key.unit)
        for value, why in [*plausible, *offsets]
        if value > 0 and not key.low <= value <= key.high
    ]
    return right, tuple(wrong)


def _percent(factor: float) -> str:
    return f"{factor:.0%}".replace("%", " %")


def interval_choices(
    key: Quantity, rules: Rules, random: Random, place: int | None = None, *, below: float = math.inf
) -> tuple[Choice, tuple[Choice, ...], float] | None:
    """Exhaustive intervals that do not overlap; the key's holds its whole half-voxel range. None where none can.

    The cuts are round numbers, each at least twice the value gap from the next. All intervals are about as wide as the
    key's, relative to their values: its width would give it away.

    Args:
        key: in the unit that is shown.
        rules: number of options, gaps.
        random: decides which of the intervals is the key's.
        place: which one it is (0 is the lowest); default: chosen.
        below: what the value cannot reach, and no cut does: 100 for a share in percent.

    Returns:
        The key, the wrong intervals, and the margin: distance to the nearer cut over the half-width of the range.
    """
    count = rules.options
    position = random.randrange(count) if place is None else place
    cuts = _cuts(key, count, position, rules)
    if cuts is None or cuts[-1] >= below:
        return None
    places = max((_places(cut) for cut in cuts), default=0)

    def text(at: int) -> str:
        if at == 0:
            return f"less than {shown_value(cuts[0], key.unit, places)}"
        if at == count - 1:
            return f"{shown_value(cuts[-1], key.unit, places)} or more"
        low, high = (shown_value(cut, key.unit, places) for cut in cuts[at - 1 : at + 1])
        return f"{low} or more, but less than {high}"

    choices = [
        Choice(text(at), "" if at == position else "the measured value lies in another interval", _middle(cuts, at))
        for at in range(count)
    ]
    nearest = min(abs(key.value - cut) for cut in cuts)
    margin = nearest / key.half_width() if key.half_width() else math.inf
    return choices[position], tuple(choice for at, choice in enumerate(choices) if at != position), margin


def _middle(cuts: Sequence[float], at: int) -> float:
    """A value of the interval, which orders it among the others."""
    edges = [cuts[0] / 2, *cuts, cuts[-1] * 2]
    return (edges[at] + edges[at + 1]) / 2 if 0 < at < len(cuts) else (edges[0] if at == 0 else edges[-1])


def _cuts(key: Quantity, count: int, position: int, rules: Rules) -> list[float] | None:
    """``count - 1`` ascending round cuts with the key's range between number ``position - 1`` and ``position``."""
    low, high = (key.low, key.high) if rules.robust else (key.value, key.value)
    if low <= 0:
        return None
    ratio = max(1 + 2 * rules.value_gap, (1 + rules.value_gap) ** 2 * high / low)
    below: list[float] = []
    above: list[float] = []
    edge = low
    while len(below) < position:
        cut = _round_down(edge / (ratio if below else 1 + rules.value_gap))
        if cut <= 0 or (below and relative_gap(cut, below[-1]) < rules.value_gap):
            return None
        below.append(cut)
        edge = cut
    edge = high
    while len(above) < count - 1 - position:
        cut = _round_up(edge * (ratio if above else 1 + rules.value_gap))
        above.append(cut)
        edge = cut
    return [*reversed(below), *above]


def _step(value: float) -> float:
    return 10.0 ** (math.floor(math.log10(value)) - 1) * 5


def _round_down(value: float) -> float:
    return math.floor(value / _step(value)) * _step(value)


def _round_up(value: float) -> float:
    return math.ceil(value / _step(value)) * _step(value)


def _places(value: float) -> int:
    text = f"{value:.6f}".rstrip("0")
    return len(text.split(".")[1])
