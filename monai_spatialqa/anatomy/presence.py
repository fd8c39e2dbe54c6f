"""What a label file may hold besides what was declared: one refusal for everything that measures."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from monai_spatialqa.errors import LabelValueError

_SHOWN = 5


def check_presence(
    present: Iterable[str],
    unknown: Sequence[int | str],
    *,
    label_map: str,
    segmented: Collection[str] | None = None,
    strict: bool = False,
) -> None:
    """Refuse structures that were said not to be segmented and, in strict mode, ids that are not declared.

    Args:
        present: names of the declared structures that have voxels.
        unknown: ids found that the label map does not have, in ascending order; names where the file names them.
        label_map: name of the label map, for the message.
        segmented: names of the structures that were looked for; None: all.
        strict: whether unknown ids are refused.

    Raises:
        LabelValueError: without case and file, which the caller knows.
    """
    surprising = [] if segmented is None else [name for name in present if name not in segmented]
    if surprising:
        raise LabelValueError(
            "structures that were not segmented are in the label map",
            key="segmented",
            found=shortened(surprising),
            expected="only structures named by segmented",
            next_step="name them in segmented, or leave segmented out",
        )
    if unknown and strict:
        raise LabelValueError(
            "the label map holds ids that are not declared",
            code="unknown_labels",
            key="strict",
            found=shortened(unknown),
            expected=f"ids of {label_map}",
            next_step="declare them in the label map, name them in ignore, or leave strict out",
        )


def shortened(items: Sequence[object]) -> str:
    """The first few of a list, as text."""
    return ", ".join(map(str, items[:_SHOWN])) + (" ..." if len(items) > _SHOWN else "")
