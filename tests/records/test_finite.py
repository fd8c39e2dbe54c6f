"""Records never hold NaN or infinity, and NaN is looked for only where the fields' types do not already refuse it."""

from __future__ import annotations

import json
import math
from typing import Any, Literal

import pytest
from pydantic import ValidationError

from monai_spatialqa.records import Status
from monai_spatialqa.records.base import RecordPart
from monai_spatialqa.records.measurement import Box, Measurement, Pair, Structure

NAN, INF = float("nan"), float("inf")


class Inner(RecordPart):
    size_mm: float | None
    ends_mm: tuple[float, float] | None = None


class Outer(RecordPart):
    count: int | None = None
    word: str | None = None
    kind: Literal["a", "b"] | None = None
    needed: float = 0.0
    inner: Inner | None = None
    by_name: dict[str, list[float | None]] | None = None


class Loose(RecordPart):
    facts: dict[str, Any]
    size_mm: float | None = None


def pair(**values: Any) -> Pair:
    return Pair(**{"a": "a", "b": "b", "kind": "centroid", "distance_mm": 1.0, "points_ras_mm": None, **values})  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [NAN, INF, -INF])
@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (lambda x: {"count": x}, {"count": None}),
        (lambda x: {"word": x}, {"word": None}),
        (lambda x: {"kind": x}, {"kind": None}),
        (lambda x: {"inner": {"size_mm": x}}, {"inner": {"size_mm": None, "ends_mm": None}}),
        (lambda x: {"by_name": {"a": [1.0, x], "b": []}}, {"by_name": {"a": [1.0, None], "b": []}}),
    ],
)
def test_what_is_not_finite_becomes_null_at_any_depth(given: Any, kept: dict[str, Any], value: float) -> None:
    made = Outer(**given(value))
    assert made.model_dump(include=set(kept)) == kept
    line = json.dumps(given(value))  # NaN and Infinity, which strict JSON does not know
    assert Outer.model_validate_json(line) == made


@pytest.mark.parametrize("value", [NAN, INF])
def test_what_may_not_be_null_is_refused_as_null(value: float) -> None:
    for model, given, as_null in (
        (Outer, {"needed": value}, {"needed": None}),
        (Inner, {"size_mm": 1.0, "ends_mm": (value, 1.0)}, {"size_mm": 1.0, "ends_mm": [None, 1.0]}),
    ):
        with pytest.raises(ValidationError) as refused:
            model.model_validate(given)
        with pytest.raises(ValidationError) as expected:
            model.model_validate(as_null)
        assert refused.value.errors() == expected.value.errors()


def test_a_field_of_any_type_holds_none_either() -> None:
    made = Loose(facts={"a": NAN, "b": [1.0, INF, {"c": -INF}]}, size_mm=NAN)
    assert made.facts == {"a": None, "b": [1.0, None, {"c": None}]}
    assert made.size_mm is None
    assert "NaN" not in made.model_dump_json()


def test_the_large_records_are_not_gone_through_again() -> None:
    assert all(kind._checked for kind in (Measurement, Structure, Box, Pair, Outer, Inner))
    assert not Loose._checked


def test_a_pair_without_figures() -> None:
    made = pair(distance_mm=NAN, status=["absent"])
    assert made.distance_mm is None
    with pytest.raises(ValidationError, match=r"points_ras_mm\.1\.2"):
        pair(points_ras_mm=((1.0, 2.0, 3.0), (1.0, 2.0, NAN)), status=["ok"])
    assert math.isfinite(pair(status=["ok"]).distance_mm or NAN)


def test_names_of_a_status_are_a_list_of_ones_own() -> None:
    flags = Status.ABSENT | Status.TOUCHING
    flags.names().append("more")
    assert flags.names() == ["absent", "touching"]
    assert Status.OK.names() == ["ok"]
    assert all(Status.from_names(Status(code).names()) == code for code in range(2048))
