"""Which structures are parts of others, although both have labels of their own: ``data/parts.yaml``."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files

import yaml

from monai_spatialqa.records import Structure

Table = Mapping[str, tuple[str, ...]]


@cache
def parts_tables() -> tuple[Table, Table]:
    """Whole -> parts: those that everybody has, and those that not everybody has."""
    path = files("monai_spatialqa.items") / "data" / "parts.yaml"
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    always, present = (
        {whole: tuple(parts) for whole, parts in content[name].items()} for name in ("always", "when_present")
    )
    return always, present


def lacks_a_part(name: str, structures: Mapping[str, Structure]) -> bool:
    """Whether a part of a structure has a label of its own in a case, so that its label is not the whole of it.

    Args:
        name: of the structure.
        structures: records of the case by name; those that were not found are among them.
    """
    always, present = parts_tables()
    if any(part in structures for part in always.get(name, ())):
        return True
    found = (structures.get(part) for part in present.get(name, ()))
    return any(part is not None and (part.voxel_count or "not_segmented" in part.status) for part in found)


def part_and_whole(first: str, second: str) -> bool:
    """Whether one of two structures is a part of the other.

    Example:
        >>> part_and_whole("vertebrae_S1", "sacrum"), part_and_whole("kidney_left", "kidney_cyst_right")
        (True, False)
    """
    return any(
        other in table.get(whole, ()) for table in parts_tables() for whole, other in ((first, second), (second, first))
    )
