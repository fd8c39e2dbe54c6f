"""Rules about a file of items as a whole: what stands in it twice, and what a guesser could learn from its keys.

A share is held against its 95 % band: outside of it is a warning, outside of the 99.9 % band an error. One fair file in
twenty is outside of the first.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

import numpy as np

from monai_spatialqa.items.lint_item import Fault, LintContext, LintItem, file_rule
from monai_spatialqa.items.option_relations import CONFIDENCE, attack_results
from monai_spatialqa.items.quantities_in_text import folded

CHI_SQUARE_95 = (3.841, 5.991, 7.815, 9.488, 11.070, 12.592, 14.067)
CHI_SQUARE_999 = (10.828, 13.816, 16.266, 18.467, 20.515, 22.458, 24.322)
"""Upper 5 % and 0.1 % points of the chi-square distribution with 1 to 7 degrees of freedom."""

LEAST_PER_LETTER = 5
"""Items that each letter must be expected to have, for the chi-square distribution to hold."""

_Found = Iterator[tuple[LintItem | None, Fault]]


@file_rule("error")
def duplicate_id(context: LintContext) -> _Found:
    """Two items have the same id."""
    yield from _twice(context.items, lambda item: item.item_id, "item_id", "an id that no other item has")


@file_rule("error")
def duplicate_question(context: LintContext) -> _Found:
    """Two items ask the same question with the same options about the same case."""
    items = [item for item in context.items if item.question]
    yield from _twice(
        items,
        lambda item: (item.case_id, folded(item.question), tuple(sorted(map(folded, item.options)))),
        "question",
        "a question that no other item of the case asks",
    )


@file_rule("error")
def orphan_reference(context: LintContext) -> _Found:
    """A reference belongs to no item."""
    for item_id in context.orphans:
        yield None, Fault("references", item_id, "the id of an item")


@file_rule("warning")
def key_position_bias(context: LintContext) -> _Found:
    """Over the file, the key is more often at one place than chance explains (chi-square, 95 %)."""
    yield from _positions(context, CHI_SQUARE_95, CHI_SQUARE_999)


@file_rule("error")
def key_position_strong_bias(context: LintContext) -> _Found:
    """Over the file, the key is far more often at one place than chance explains (chi-square, 99.9 %)."""
    yield from _positions(context, CHI_SQUARE_999, None)


@file_rule("warning")
def option_length_bias(context: LintContext) -> _Found:
    """Over the file, the key is more often, or less often, among the longest options than chance explains (95 %)."""
    yield from _lengths(context, 0.95, 0.999)


@file_rule("error")
def option_length_strong_bias(context: LintContext) -> _Found:
    """Over the file, the key is far more often, or far less often, among the longest options than chance explains."""
    yield from _lengths(context, 0.999, None)


@file_rule("warning")
def structure_of_options(context: LintContext) -> _Found:
    """Over a subtask, or the file, the key is told by how the options relate to each other (one-sided, 99.9 %)."""
    choices = [(item.subtask, item.options, item.keys[0]) for item in _choices(context) if item.format != "yesno"]
    groups = {group for group, _, _ in choices} - {""}
    results = attack_results(choices)
    told = {result.attack for result in results if result.beyond_chance}
    if groups:  # items of all subtasks together tell what none of the subtasks has enough items for
        whole = attack_results(("", options, key) for _, options, key in choices)
        results += [result for result in whole if result.attack not in told]
    for result in results:
        if result.beyond_chance:
            yield (
                None,
                Fault(
                    f"options of {result.items} items" + (f" of {result.group}" if result.group else ""),
                    f"the key {result.found} times among those that {result.attack} names without the question "
                    f"(right {result.right:.0%}, by chance {result.chance:.0%})",
                    f"up to {result.most} times, as chance explains ({CONFIDENCE:.1%})",
                ),
            )


def _twice(items: Sequence[LintItem], of: object, field: str, expected: str) -> _Found:
    first: dict[object, LintItem] = {}
    for item in items:
        value = of(item)  # type: ignore[operator]
        earlier = first.setdefault(value, item)
        if earlier is not item:
            yield item, Fault(field, f"the same as in row {earlier.row}", expected)


def _choices(context: LintContext) -> list[LintItem]:
    return [item for item in context.items if len(item.options) > 1 and len(item.keys) == 1]


def _positions(context: LintContext, lower: Sequence[float], upper: Sequence[float] | None) -> _Found:
    """Items by their number of options; letters of each, or yes and no, against a uniform distribution."""
    groups: dict[int, list[LintItem]] = defaultdict(list)
    for item in _choices(context):
        groups[len(item.options)].append(item)
    for count, items in sorted(groups.items()):
        yesno = all(item.format == "yesno" for item in items)
        if len(items) < max(context.options.least_items, LEAST_PER_LETTER * count) or count - 1 > len(lower):
            continue
        names = [folded(item.options[item.keys[0]]) if yesno else item.letters[item.keys[0]] for item in items]
        found = Counter(names)
        expected = len(items) / count
        statistic = sum((found[name] - expected) ** 2 for name in found) / expected
        statistic += (count - len(found)) * expected
        if statistic <= lower[count - 2] or (upper is not None and statistic > upper[count - 2]):
            continue
        told = ", ".join(f"{name} {found[name]}" for name in sorted(found))
        yield (
            None,
            Fault(
                f"answers of {len(items)} items with {count} options",
                f"{told} (chi-square {statistic:.1f})",
                f"about {expected:.0f} each (chi-square up to {lower[count - 2]})",
            ),
        )


def _lengths(context: LintContext, level: float, beyond: float | None) -> _Found:
    """How often the key is among the longest options, against how often it is when any option may be the key."""
    chances, hits = [], 0
    for item in _choices(context):
        lengths = [len(option) for option in item.options]
        longest = lengths.count(max(lengths))
        if item.format == "yesno" or longest == len(lengths):
            continue
        chances.append(longest / len(lengths))
        hits += lengths[item.keys[0]] == max(lengths)
    if len(chances) < context.options.least_items:
        return
    low, high = _band(chances, level)
    outside = not low <= hits <= high
    if beyond is not None:
        least, most = _band(chances, beyond)
        outside = outside and least <= hits <= most
    if outside:
        yield (
            None,
            Fault(
                f"answers of {len(chances)} items whose options differ in length",
                f"{hits} times one of the longest options",
                f"{low} to {high} times",
            ),
        )


def _band(chances: Sequence[float], level: float) -> tuple[int, int]:
    """The central band of the number of hits, when each item has a chance of its own: the exact distribution."""
    distribution = np.ones(1)
    for chance in chances:
        distribution = np.append(distribution, 0.0) * (1 - chance) + np.insert(distribution, 0, 0.0) * chance
    below = np.cumsum(distribution)
    tail = (1 - level) / 2
    return int(np.searchsorted(below, tail)), int(np.searchsorted(below, 1 - tail))
