"""What anatomy tells of how two structures lie to each other, without the scan: ``data/normal_places.yaml``."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import Any

import yaml

from monai_spatialqa.anatomy.structure import side_of_name

Range = tuple[float, float]

_TABLES = ("strips", "layers", "levels")
"""Tables of the axes, in the order R, A, S."""

_SPINE = (
    *(f"C{number}" for number in range(1, 8)),
    *(f"T{number}" for number in range(1, 13)),
    *(f"L{number}" for number in range(1, 6)),
    *(f"S{number}" for number in range(1, 6)),
    "Co",
)
LEVELS_APART = 2.0
"""By so many levels of the spine, some 70 mm, a structure lies nearer to a third one where anatomy tells it."""

_VERTEBRA = re.compile(r"vertebrae_([CTLS]\d+)")
_SIDED: dict[str, Range] = {"right": (1.0, 1.0), "left": (3.0, 3.0)}


@cache
def _tables() -> Any:
    path = files("monai_spatialqa.items") / "data" / "normal_places.yaml"
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def normal_range(name: str, axis: int) -> Range | None:
    """First and last place of a structure along R (0), A (1) or S (2); None where the table does not have it.

    Example:
        >>> normal_range("kidney_left", 2) == normal_range("kidney_right", 2)
        True
        >>> normal_range("kidney_left", 0), normal_range("vertebrae_L1", 1), normal_range("skull", 1)
        ((3.0, 3.0), (4.0, 4.0), None)
    """
    side = side_of_name(name)
    if axis == 0 and side in _SIDED:
        return _SIDED[side]
    vertebra = _VERTEBRA.fullmatch(name)
    if vertebra and axis == 2 and vertebra.group(1) in _SPINE:
        level = float(_SPINE.index(vertebra.group(1)))
        return level, level
    key = "vertebrae" if vertebra else "_".join(word for word in name.split("_") if word not in _SIDED)
    found = _tables()[_TABLES[axis]].get(key)
    if found is None:
        return None
    first, last = (float(_SPINE.index(end) if isinstance(end, str) else end) for end in found)
    return first, last


def told_by_anatomy(first: str, second: str, axis: int) -> bool:
    """Whether two structures lie along R (0), A (1) or S (2) to each other as in anybody.

    Example:
        >>> told_by_anatomy("adrenal_gland_left", "urinary_bladder", 2), told_by_anatomy("liver", "spleen", 0)
        (True, True)
        >>> told_by_anatomy("kidney_left", "kidney_right", 2)  # the left one is higher in most people, not in all
        False
    """
    one, other = normal_range(first, axis), normal_range(second, axis)
    return one is not None and other is not None and (one[1] < other[0] or other[1] < one[0])


def nearer_by_anatomy(anchor: str, one: str, other: str) -> bool:
    """Whether a structure lies nearer to an anchor than another one in anybody, judged by levels of the spine.

    The middle of its normal levels is then nearer to that of the anchor by ``LEVELS_APART``.

    Example:
        >>> nearer_by_anatomy("gallbladder", "kidney_right", "gluteus_maximus_right")
        True
        >>> nearer_by_anatomy("gallbladder", "kidney_right", "duodenum")
        False
    """
    middle, near, far = (normal_range(name, 2) for name in (anchor, one, other))
    if middle is None or near is None or far is None:
        return False
    center, one_at, other_at = (sum(ends) / 2 for ends in (middle, near, far))
    return abs(other_at - center) >= abs(one_at - center) + LEVELS_APART
