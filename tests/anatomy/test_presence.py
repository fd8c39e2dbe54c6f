"""Structures and ids that nobody declared are refused with one text."""

from __future__ import annotations

from typing import Any

import pytest

from monai_spatialqa.anatomy.presence import check_presence
from monai_spatialqa.errors import LabelValueError


@pytest.mark.parametrize(
    ("given", "code", "found"),
    [
        ({"segmented": ["liver"]}, "bad_labels", "spleen"),
        ({"segmented": []}, "bad_labels", "liver, spleen"),
        ({"strict": True}, "unknown_labels", "7, 8, 9, 10, 11 ..."),
        ({"strict": True, "segmented": []}, "bad_labels", "liver, spleen"),
    ],
)
def test_surprises_are_refused(given: dict[str, Any], code: str, found: str) -> None:
    with pytest.raises(LabelValueError) as caught:
        check_presence(["liver", "spleen"], [7, 8, 9, 10, 11, 12], label_map="mine", **given)
    assert (caught.value.code, caught.value.found) == (code, found)
    assert caught.value.key
    assert caught.value.expected
    assert caught.value.next_step


def test_no_surprises() -> None:
    check_presence([], [], label_map="mine", segmented=[], strict=True)
    check_presence(["liver"], [7], label_map="mine", segmented=["liver", "spleen"])
