"""The frequency baseline: what was right most often in the other cases, without a look at the scan.

It knows the references, so it lives with scoring. An item is answered from those of other cases only, or, where all
items are of one case, from all other items. What it looks for, until it finds something:

1. items of the same subtask about the same structures,
2. of the same subtask about the same first structure,
3. of the same subtask,
4. of the same task.

Of a choice it takes the option whose text was the key most often; in 1 and 2, where no text was, and options are
values, the one nearest to the median of the keys. Options that were never a key: the most frequent letter of the
subtask, then of the task, then A. Of a number it takes the median of the keys in the same unit.

Where every option is right equally often, leaving a case out makes its own keys the rarest: the figure then falls below
that of guessing.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from statistics import median

from monai_spatialqa.evaluation.attributes import cases_of
from monai_spatialqa.evaluation.matching import answers_of
from monai_spatialqa.records.item import Item, Reference

Pair = tuple[Item, Reference]
_Level = tuple[str, ...]


@dataclass
class _Seen:
    """Keys of the items of a level: what was right, and where."""

    texts: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    letters: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    values: list[tuple[str, str, float]] = field(default_factory=list)


def frequency_replies(pairs: Sequence[Pair]) -> dict[str, str | None]:
    """A reply for every item, by item id; None where no other item tells anything about a number."""
    whole = cases_of(item for item, _ in pairs)
    if len(set(whole.values())) == 1:
        whole = {item_id: item_id for item_id in whole}  # one case: leave the item out, not all
    levels: dict[_Level, _Seen] = defaultdict(_Seen)
    for item, reference in pairs:
        own = whole[item.item_id]
        for level in _levels(item):
            seen = levels[level]
            if item.format != "numeric":
                seen.texts[reference.answer_text][own] += 1
                seen.letters[reference.answer][own] += 1
            if reference.answer_value is not None:
                seen.values.append((own, item.answer_unit or reference.answer_unit or "", reference.answer_value))
    return {item.item_id: _reply(item, reference, levels, whole[item.item_id]) for item, reference in pairs}


def _levels(item: Item) -> Iterator[_Level]:
    """From the narrowest to the widest. Formats are kept apart: a subtask may have several."""
    form = item.format
    yield (form, item.task, item.subtask, "all", *item.structures)
    yield form, item.task, item.subtask, "first", item.structures[0]
    yield form, item.task, item.subtask
    yield form, item.task


def _reply(item: Item, reference: Reference, levels: dict[_Level, _Seen], own: str) -> str | None:
    path = [levels[level] for level in _levels(item)]
    if item.format == "numeric":
        for seen in path:
            values = _values(seen, item.answer_unit or "", own)
            if values:
                return f"{median(values):.6g} {item.answer_unit}"
        return None
    names = answers_of(item)
    options = _option_values(reference)
    for depth, seen in enumerate(path):
        counts = [_count(seen.texts, text, own) for text in item.options]
        if max(counts):
            return names[counts.index(max(counts))]
        values = _values(seen, reference.answer_unit or "", own) if depth < 2 else []
        if values and len(options) == len(names):
            middle = median(values)
            return min(names, key=lambda name: abs(options[item.options[names.index(name)]] - middle))
    for seen in path[2:]:
        counts = [_count(seen.letters, name, own) for name in names]
        if max(counts):
            return names[counts.index(max(counts))]
    return names[0]


def _count(by_key: dict[str, Counter[str]], key: str, own: str) -> int:
    counter = by_key.get(key)
    return 0 if counter is None else counter.total() - counter[own]


def _values(seen: _Seen, unit: str, own: str) -> list[float]:
    return [value for where, other, value in seen.values if other == unit and where != own]


def _option_values(reference: Reference) -> dict[str, float]:
    """Values of the options in the key's unit, by text; which is the key is not looked at."""
    told = [(other.text, other.value, other.unit) for other in reference.distractors]
    told.append((reference.answer_text, reference.answer_value, reference.answer_unit))
    return {text: value for text, value, unit in told if value is not None and unit == reference.answer_unit}
