"""Options of a choice: distractors that are wrong for a stated reason, and apart from the key and from each other."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from decimal import ROUND_HALF_EVEN, Decimal
from itertools import pairwise, permutations
from random import Random

from monai_spatialqa.items.draft import Choice, Draft, Rules
from monai_spatialqa.items.quantity import Quantity, relative_gap
from monai_spatialqa.items.ranking import robust_margin
from monai_spatialqa.items.wording import shown, shown_value
from monai_spatialqa.records.item import LETTERS, Distractor

FARTHEST = 4.0
"""Cuts that are all this many times the key, or as many times smaller, are no question."""

_CLEAR = 1.01
"""Steps between values are so much longer than they must be, for what rounding takes away."""

_STEPS = 1.2
"""The longest step between values is so many times the shortest one."""

_DRAWS = 60
"""Ladders that are drawn until one holds when it is rounded."""

_ROUNDING = 0.05
"""The nearest round number is no farther away than this share of a value."""

WIDEST = 1.7
"""How many times the lower end of an interval its upper end may have to be; wider ones tell nothing of an organ."""

NARROWEST = 1.3
"""How many times the lower end of an interval its upper end is at least."""


def complete(draft: Draft, rules: Rules, random: Random) -> tuple[list[str], str, list[Distractor]] | str:
    """Options, the letter of the key, and the distractors in the order of their letters; or why there are none.

    Options are taken from the front of the draft's wrong answers, passing over those that look like, or are as near as
    the value gap to, the key or an earlier one. They are shuffled; those of an ordered draft stand by their place.
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
        chosen.sort(key=lambda choice: choice.place)
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
    key: Quantity,
    plausible: Iterable[tuple[float, str]],
    rules: Rules,
    random: Random,
    *,
    multiple: float = 0.0,
    banned: Sequence[float] = (),
) -> tuple[Choice, tuple[Choice, ...]] | None:
    """The key and wrong answers for a question that asks for a value; None when the key's range is too wide.

    Options are the rungs of a ladder whose steps are all drawn from one distribution, and the key stands on any of them
    with equal chance: neither its rank nor its relation to the others tells it. A plausible error takes the place of
    the rung next to it, where the steps stay within the bounds of all steps; the other rungs are random values.

    Args:
        key: in the unit that is shown.
        plausible: other values in the same unit, and why each is wrong.
        rules: gaps.
        random: of the item.
        multiple: what the key can only be a multiple of, in its unit: an extent is a whole number of voxels. Options
            are multiples of it, too, or the key would be told by being one.
        banned: values that are no option, nor near one.
    """
    if key.value <= 0 or (rules.robust and key.half_width() / key.value > rules.value_gap):
        return None
    errors = [(value, why) for value, why in plausible if value > 0]
    for _ in range(_DRAWS):
        found = _ladder(key, errors, rules, random, multiple)
        if found is not None and not any(
            relative_gap(value, no) < rules.value_gap / 2 for value, _ in found for no in banned
        ):
            break
    else:
        return None
    right = Choice(shown(key), value=key.value, unit=key.unit)
    wrong = [Choice(shown(replace(key, value=value)), why, value, key.unit) for value, why in found]
    return right, tuple(wrong)


def _ladder(
    key: Quantity, errors: Sequence[tuple[float, str]], rules: Rules, random: Random, multiple: float
) -> list[tuple[float, str]] | None:
    """Wrong values around a key; None where they come too near to each other when they are shown."""
    low, high = (key.low, key.high) if rules.robust else (key.value, key.value)
    least = max(1 / (1 - rules.value_gap), high / key.value, key.value / low if low > 0 else math.inf) * _CLEAR
    if not math.isfinite(least):
        return None
    bounds = math.log(least), math.log(least * _STEPS)
    place = random.randrange(rules.options)
    steps = [random.uniform(*bounds) for _ in range(rules.options - 1)]
    rungs = [math.log(key.value) - sum(steps[at:place]) + sum(steps[place:at]) for at in range(rules.options)]
    whys = [""] * rules.options
    for at in random.sample(range(rules.options), rules.options):
        if at == place:
            continue
        beside = [rungs[other] for other in (at - 1, at + 1) if 0 <= other < rules.options]
        fitting = [
            (abs(math.log(value) - rungs[at]), value, why)
            for value, why in errors
            if all(bounds[0] <= abs(math.log(value) - other) <= bounds[1] for other in beside)
            and (math.log(value) > rungs[at - 1] if at else math.log(value) < rungs[1])
        ]
        if fitting:
            _, value, why = min(fitting)
            rungs[at], whys[at] = math.log(value), why
    values = [key.value if at == place else math.exp(rung) for at, rung in enumerate(rungs)]
    if multiple:
        values = [value if at == place else round(value / multiple) * multiple for at, value in enumerate(values)]
    told = [float(shown(replace(key, value=value)).split()[0].rstrip("%")) for value in values]
    if any(
        one >= other or relative_gap(one, other) < rules.value_gap
        for pair in (values, told)
        for one, other in pairwise(pair)
    ):
        return None
    if any(low <= value <= high for at, value in enumerate(values) if at != place):
        return None
    named = [
        why or f"about {value / key.value:.0%} of the measured value" for value, why in zip(values, whys, strict=True)
    ]
    wrong = [pair for at, pair in enumerate(zip(values, named, strict=True)) if at != place]
    random.shuffle(wrong)
    return wrong


def wrong_orders(right: Sequence[str], rules: Rules, random: Random) -> list[tuple[str, ...]]:
    """Other orders of the same names, those to be taken in front.

    Of four orders of three names, two pairs are each other's reverse: the key's and another one. Every order of such a
    set has the same relations to the others, so none stands out.
    """
    orders = [each for each in permutations(right) if each != tuple(right)]
    random.shuffle(orders)
    if len(right) == 3 and rules.options == 4:
        back = tuple(reversed(right))
        other = next(each for each in orders if each != back)
        return [back, other, tuple(reversed(other))]
    return orders


Intervals = tuple[Choice, tuple[Choice, ...], float]
"""Intervals to choose from: the key's, the others, and the margin."""


def interval_choices(
    key: Quantity, rules: Rules, random: Random, place: int | None = None, *, widest: float = math.inf
) -> Intervals | None:
    """Exhaustive intervals that do not overlap; the key's holds its whole half-voxel range. None where none can.

    The cuts are round numbers whose ratio is about the same throughout: the key's interval does not stand out by its
    width. It is as wide as the range of the key asks for, ``NARROWEST`` at least, or a little wider. A value on
    a cut belongs to the interval that begins there.

    Args:
        key: in the unit that is shown.
        rules: number of options, gaps.
        random: decides which of the intervals is the key's, and how wide they are.
        place: which one it is (0 is the lowest); default: chosen.
        widest: upper end over lower end that an interval may need to hold the key's range, at most.

    Returns:
        The key, the wrong intervals, and the margin: the smallest distance to a cut over what half a voxel moves the
        key by in its direction.
    """
    position = random.randrange(rules.options) if place is None else place
    cuts = _cuts(key, rules.options, position, rules, random, widest)
    return None if cuts is None else _between(cuts, position, key)


def every_interval_choice(key: Quantity, rules: Rules, random: Random) -> list[Intervals]:
    """Intervals with the key at every place that it can have, in random order; none where none are of use."""
    places = random.sample(range(rules.options), rules.options)
    found = (interval_choices(key, rules, random, place, widest=WIDEST) for place in places)
    return [each for each in found if each is not None]


def ladder_choices(key: Quantity, ladder: Sequence[float], rules: Rules, random: Random) -> list[Intervals]:
    """Intervals with cuts on a ladder of customary figures, with the key at every place it can have.

    Cuts are neighbours on the ladder, or on what is left of it when a rung is taken away: equal keys then lie in
    intervals of several widths, and no interval is mostly the right one.

    Rungs that the half-voxel range of the key, and the value gap on either side of it, do not keep clear of are left
    out. So are sets of rungs that all lie far from the key: below or above the end next to it, by ``FARTHEST`` times.

    Args:
        key: in the unit of the ladder.
        ladder: ascending.
        rules: number of options, gaps.
        random: the order of what is found.
    """
    low, high = (key.low, key.high) if rules.robust else (key.value, key.value)
    rungs = [rung for rung in ladder if rung < low / (1 + rules.value_gap) or rung > high * (1 + rules.value_gap)]
    thinned = [[*rungs[:at], *rungs[at + 1 :]] for at in range(len(rungs))]
    sets = {
        tuple(left[start : start + rules.options - 1])
        for left in [rungs, *thinned]
        for start in range(len(left) - rules.options + 2)
    }
    near = sorted(cuts for cuts in sets if cuts[0] <= key.value * FARTHEST and cuts[-1] >= key.value / FARTHEST)
    random.shuffle(near)
    found = [_between(cuts, sum(cut < key.value for cut in cuts), key) for cuts in near]
    turns = random.sample(range(rules.options), rules.options)
    counts = [0] * rules.options
    order = {}
    for at, (right, _, _) in enumerate(found):  # one of each place, then another one of each
        order[at] = (counts[right.place], turns[right.place])
        counts[right.place] += 1
    return [found[at] for at in sorted(order, key=lambda each: order[each])]


def in_intervals(draft: Draft, found: Sequence[Intervals]) -> Draft:
    """A question for an interval, with the first of some sets of intervals; with the others as what it turns into."""
    made = [replace(draft, key=right, wrong=wrong, margin=margin, ordered=True) for right, wrong, margin in found]
    return replace(made[0], turned=tuple(made[1:]))


def _between(cuts: Sequence[float], position: int, key: Quantity) -> Intervals:
    """The intervals that ascending cuts make, the key in the one at a position."""
    shown_cuts = [shown_value(cut, key.unit, round_places(cut)) for cut in cuts]
    texts = [
        f"less than {shown_cuts[0]}",
        *(f"{low} or more, but less than {high}" for low, high in pairwise(shown_cuts)),
        f"{shown_cuts[-1]} or more",
    ]
    right = Choice(texts[position], value=key.value, unit=key.unit, place=position)
    why = f"the measured value is {shown(key)}"
    wrong = tuple(Choice(text, why, place=at) for at, text in enumerate(texts) if at != position)
    margin = min(robust_margin(key, Quantity(cut, cut, cut, key.unit)) for cut in cuts)
    return right, wrong, margin


def _cuts(key: Quantity, count: int, position: int, rules: Rules, random: Random, widest: float) -> list[float] | None:
    """``count - 1`` ascending round cuts; the key's range lies above ``position`` of them, a gap from either side."""
    low, high = (key.low, key.high) if rules.robust else (key.value, key.value)
    if low <= 0 or not math.isfinite(high):
        return None
    # Cuts are rounded to the nearest round number, so that none of the intervals is systematically wider than another,
    # and the range of the key keeps clear of its cuts by what that can move them by.
    lowest, highest = low / (1 + _ROUNDING) ** 1.2, high * (1 + _ROUNDING) ** 1.2
    if highest / lowest > widest:
        return None
    ratio = max(highest / lowest, NARROWEST) * random.uniform(1.0, 1.15)
    start = math.exp(random.uniform(math.log(highest / ratio), math.log(lowest)))
    raw = [start * ratio ** (at + 1 - position) for at in range(count - 1)]
    cuts = [round_number(cut) for cut in raw]
    return None if any(relative_gap(one, other) < rules.value_gap for one, other in pairwise(cuts)) else cuts


def round_number(value: float, rounding: str = ROUND_HALF_EVEN) -> float:
    """The next round number: two figures, the second of them 0 or 5 from 50 (or 0.5, 5, 500 ...) on.

    Args:
        value: positive.
        rounding: of the decimal module: to the nearest one, ROUND_FLOOR, ROUND_CEILING.
    """
    power = math.floor(math.log10(value)) - 1
    steps = Decimal(repr(value)).scaleb(-power)
    step = 5 if steps >= 50 else 1
    return float(((steps / step).to_integral_value(rounding) * step).scaleb(power))


def round_places(value: float) -> int:
    """Decimals that a round number has."""
    return max(0, -int(Decimal(repr(value)).normalize().as_tuple().exponent))
