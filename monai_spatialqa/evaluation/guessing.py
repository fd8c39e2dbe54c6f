"""What guessing scores: answers that look at nothing but the options, and the range that chance alone gives."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from scipy.stats import binom

from monai_spatialqa.evaluation.matching import answers_of
from monai_spatialqa.items.assemble import random_of
from monai_spatialqa.records.item import Item


def random_replies(items: Iterable[Item], seed: int) -> dict[str, str]:
    """An option of every choice, each as likely, by item id; the same for an item whatever others there are."""
    return {
        item.item_id: random_of(seed, "random baseline", item.item_id).choice(answers_of(item))
        for item in items
        if item.format != "numeric"
    }


def first_replies(items: Iterable[Item]) -> dict[str, str]:
    """The first option of every choice: A, or yes."""
    return {item.item_id: answers_of(item)[0] for item in items if item.format != "numeric"}


class Chance(NamedTuple):
    """The share of choices that guessing gets right.

    Attributes:
        expected: mean.
        low, high: the narrowest shares that leave at most (1 - level) / 2 on either side.
    """

    expected: float
    low: float
    high: float


def chance_interval(items: Sequence[Item], level: float = 0.95) -> Chance | None:
    """What a guesser of each option with the same probability scores on choices; None without any.

    Exact: the number of right guesses is a sum of binomials, one for each number of options.

    Example:
        >>> chance_interval([])
    """
    options = Counter(len(item.options) for item in items if item.format != "numeric")
    total = sum(options.values())
    if not total:
        return None
    density = np.ones(1)
    for number, count in options.items():
        density = np.convolve(density, binom.pmf(np.arange(count + 1), count, 1 / number))
    below = np.cumsum(density)
    tail = (1 - level) / 2
    low, high = np.searchsorted(below, tail, side="right"), np.searchsorted(below, 1 - tail)
    expected = sum(count / number for number, count in options.items()) / total
    return Chance(expected, float(low) / total, min(1.0, float(high) / total))
