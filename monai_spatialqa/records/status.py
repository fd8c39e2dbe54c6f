"""The words that say how far a figure may be trusted, and their bit codes for tensors."""

from __future__ import annotations

from enum import IntFlag
from functools import lru_cache


class Status(IntFlag):
    """What is to be known about a structure or a pair before its figures are used.

    Several may hold at once. Tensors carry the sum of the codes; records carry the lower-case names, ``["ok"]`` when
    none holds.
    """

    OK = 0
    ABSENT = 1
    """Looked for, none found: volume 0, no geometry."""
    NOT_SEGMENTED = 2
    """Never looked for: everything is null."""
    TRUNCATED = 4
    """A voxel lies in the outermost layer of the field of view: the structure may go on outside."""
    SINGLE_SLICE = 8
    """One voxel thick along at least one grid axis."""
    SHEARED = 16
    """The grid's axes are not perpendicular (gantry tilt): boxes and extents are taken in world space."""
    ORIENTATION_UNKNOWN = 32
    """The file does not say where left, front and up are: no world positions, no directions."""
    NAME_CONFLICT = 64
    """A left or right name contradicts the position of its partner."""
    MANY_COMPONENTS = 128
    """More than one connected component, where components were counted."""
    UNVERIFIED = 256
    """The raw header could not be checked."""
    TOUCHING = 512
    """Pair: at least one voxel face is shared."""
    OVERLAPPING = 1024
    """Pair: at least one voxel belongs to both."""

    def names(self) -> list[str]:
        """Lower-case names in code order; ``["ok"]`` when nothing is flagged."""
        return list(_names(int(self)))

    @classmethod
    def from_names(cls, names: list[str]) -> Status:
        """The inverse of :meth:`names`."""
        code = cls.OK
        for name in names:
            code |= cls[name.upper()]
        return code


@lru_cache(maxsize=1024)
def _names(code: int) -> tuple[str, ...]:
    """A case with all pairs asks for the same few codes thousands of times."""
    return tuple(flag.name.lower() for flag in Status if flag and code & flag and flag.name) or ("ok",)
