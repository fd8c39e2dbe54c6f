"""Computing a reference again: its evidence from the measurement. What the answer must then be is in ``follows.py``."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from monai_spatialqa.errors import SpatialQAError
from monai_spatialqa.items.follows import Verdict, answer_from_evidence
from monai_spatialqa.items.tools import evidence
from monai_spatialqa.items.view import CaseView
from monai_spatialqa.records.item import Evidence, Item, Reference

RELATIVE_TOLERANCE = 1e-9
"""Two figures that differ by less, relative to the larger, are equal: they went through text and other units."""


@dataclass(frozen=True)
class Mismatch:
    """A piece of evidence that the measurement does not give.

    Attributes:
        field: where it stands in the reference, e.g. ``evidence[0].value``.
        found: what the reference says.
        expected: what the measurement gives.
    """

    field: str
    found: str
    expected: str


@dataclass(frozen=True)
class Recomputed:
    """A reference held against the measurement.

    Attributes:
        mismatches: evidence that differs; empty when all is as stated.
        verdict: whether the answer follows from the evidence as it is stated.
    """

    mismatches: tuple[Mismatch, ...]
    verdict: Verdict

    @property
    def holds(self) -> bool:
        """Whether the evidence is right and the answer is the one that follows from it."""
        return not self.mismatches and self.verdict.follows is True


def recompute(
    item: Item, reference: Reference, view: CaseView | Callable[[str], CaseView], tolerance: float = RELATIVE_TOLERANCE
) -> Recomputed:
    """Compute the evidence of a reference again from the measurement, and the answer from the evidence.

    Args:
        item: the question.
        reference: its answer.
        view: the case, or a function that finds the case by the measurement id of a piece of evidence.
        tolerance: relative difference up to which two figures are equal.
    """
    found = tuple(
        mismatch for at, one in enumerate(reference.evidence) for mismatch in _differences(at, one, view, tolerance)
    )
    return Recomputed(found, answer_from_evidence(item, reference))


def structures_of(one: Evidence) -> list[str]:
    """Names of the structures among the arguments of a piece of evidence."""
    found: list[str] = []
    for value in one.arguments.values():
        found += [value] if isinstance(value, str) else value if isinstance(value, list) else []
    return found


def _differences(
    at: int, one: Evidence, view: CaseView | Callable[[str], CaseView], tolerance: float
) -> Iterator[Mismatch]:
    place = f"evidence[{at}]"
    try:
        case = view if isinstance(view, CaseView) else view(one.measurement_id)
        if case.case_id != one.measurement_id:
            yield Mismatch(f"{place}.measurement_id", one.measurement_id, case.case_id)
            return
        nowhere = [name for name in structures_of(one) if case.structure(name).box is None]
        if nowhere:
            yield Mismatch(place, f"{one.tool}({_arguments(one)})", f"structures that were found, not {nowhere[0]}")
            return
        again = evidence(case, one.tool, one.unit, **one.arguments)
    except SpatialQAError as error:
        yield Mismatch(place, f"{one.tool}({_arguments(one)})", str(error))
        return
    for name in ("value", "unit", "low", "high"):
        stated, computed = getattr(one, name), getattr(again, name)
        if not _same(stated, computed, tolerance):
            yield Mismatch(f"{place}.{name}", f"{stated} from {one.tool}({_arguments(one)})", str(computed))


def _same(stated: object, computed: object, tolerance: float) -> bool:
    if isinstance(stated, (int, float)) and isinstance(computed, (int, float)):
        return math.isclose(stated, computed, rel_tol=tolerance, abs_tol=tolerance)
    return stated == computed


def _arguments(one: Evidence) -> str:
    return ", ".join(f"{name}={value}" for name, value in one.arguments.items())
