"""The one order of runs in tables: models by kind, family and size; models without the image; baselines."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import get_args

from monai_spatialqa.evaluation.result import RunResult
from monai_spatialqa.records.answer import ModelKind, Score

ORACLE = "oracle"
"""The baseline that is right by construction: of no interest but that it is."""

BASELINES = ("random", "always_a", "frequency", ORACLE)
"""Names of baseline rows in their order; any other stands in front of the oracle."""

MODEL, WITHOUT_IMAGE, BASELINE = 0, 1, 2
"""Parts of a table, from its top."""

_KINDS: tuple[str, ...] = get_args(ModelKind)


def part_of(row: RunResult | Score) -> int:
    """Which part of a table a run belongs to.

    A model that was asked without the image stands apart as ``WITHOUT_IMAGE``. One that never takes images (kind
    ``text_only``) is a ``MODEL`` like any other: it was asked all that it can be asked.
    """
    if row.kind == "baseline":
        return BASELINE
    return WITHOUT_IMAGE if row.blind and row.kind != "text_only" else MODEL


def in_order(results: Iterable[RunResult]) -> list[RunResult]:
    """Runs in the order of every table: by part, kind, family, size and name; baselines in their own order."""
    return sorted(results, key=_place)


def _place(result: RunResult) -> tuple[int, float, str, float, str]:
    part = part_of(result)
    if part == BASELINE:
        name = result.model if result.model in BASELINES else result.run
        place = BASELINES.index(name) if name in BASELINES else len(BASELINES) - 1.5
        return (part, place, "", 0.0, result.run)
    size = math.inf if result.size_billion is None else result.size_billion
    return (part, _KINDS.index(result.kind), (result.family or result.model).casefold(), size, result.run)
