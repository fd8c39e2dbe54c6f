"""Which structures and pairs a record is about: those declared, and what else the label file holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from monai_spatialqa.anatomy import fallback_name, load_label_map
from monai_spatialqa.anatomy.pairs import resolve_pairs
from monai_spatialqa.anatomy.presence import check_presence
from monai_spatialqa.errors import LabelMapError, SettingsError
from monai_spatialqa.measurement.options import MeasureOptions
from monai_spatialqa.measurement.pair_records import NamedPair


def declared_structures(
    found: Sequence[int], options: MeasureOptions, segments: Mapping[int, str] | None = None
) -> tuple[dict[str, int | None], list[int]]:
    """Structure name -> id in the order of the record, and which of the ids the label map does not have.

    The rows of the label map come first (unions of others have no id), then what it does not have: ids with voxels, and
    structures that the file names without a voxel.

    Args:
        found: ids with voxels.
        options: the label map, and what was looked for.
        segments: id -> name where the label file names its structures itself.

    Raises:
        LabelValueError: ids outside the label map in strict mode, or a structure that was said not to be segmented.
    """
    named = {label: name for label, name in (segments or {}).items() if label not in options.ignore}
    if options.label_map is None:
        return {named.get(label, fallback_name(label)): label for label in sorted({*found, *named})}, []
    label_map = options.label_map
    own = dict(zip(label_map.names, label_map.ids, strict=True))
    unknown = sorted({*found, *named} - set(label_map.ids))
    there = set(found)
    check_presence(
        [name for name, label in own.items() if label in there],
        [named.get(label, label) for label in unknown if label in there],
        label_map=label_map.name,
        segmented=options.segmented,
        strict=options.strict,
    )
    declared: dict[str, int | None] = {name: own.get(name) for name in label_map.row_names}
    for label in unknown:
        name = named.get(label, fallback_name(label))
        declared[fallback_name(label) if name in declared else name] = label
    return declared, unknown


def looked_for(
    names: Mapping[str, int | None], options: MeasureOptions, segments: Mapping[int, str] | None = None
) -> list[bool] | None:
    """Per row, whether the structure was looked for; None where all were. Of a union, all of its structures.

    What the settings say comes first, then what the label file says itself.
    """
    label_map = options.label_map
    if label_map is None or (options.segmented is None and segments is None):
        return None
    if options.segmented is not None:
        own = [name in options.segmented for name in label_map.names]
    else:
        own = [label in (segments or {}) for label in label_map.ids]
    unions = [all(own[member] for member in members) for members in label_map.union_rows.values()]
    return own + unions + [True] * (len(names) - len(own) - len(unions))


def union_members(options: MeasureOptions) -> dict[str, list[str]]:
    """Name of each union of the label map -> the structures it unites."""
    label_map = options.label_map
    if label_map is None:
        return {}
    names = label_map.row_names
    return {names[row]: [names[member] for member in members] for row, members in label_map.union_rows.items()}


def union_notes(options: MeasureOptions, unknown: Sequence[int]) -> list[str]:
    """What to know of unions: an id outside the label map may belong to one (a file of another year, for instance)."""
    if not unknown or options.label_map is None or not options.label_map.derived_structures:
        return []
    ids = ", ".join(map(str, unknown[:5])) + (" ..." if len(unknown) > 5 else "")
    return [f"ids outside the label map ({ids}) are in none of its unions"]


def named_pairs(options: MeasureOptions, names: Mapping[str, int | None]) -> list[NamedPair]:
    """The pairs to record; pairs asked for as a group are recorded only where both structures are there."""
    if options.distances is None or not names:
        return []
    label_map = options.label_map or load_label_map({label: name for name, label in names.items() if label is not None})
    asked = not isinstance(options.distances, (str, Mapping))
    try:
        pairs = resolve_pairs(options.distances, label_map)
    except LabelMapError as error:
        raise SettingsError(
            "distances name a structure that is not there",
            key="distances",
            found=error.found,
            next_step=error.next_step,
        ) from None
    return [NamedPair(first, second, asked) for first, second in pairs]
