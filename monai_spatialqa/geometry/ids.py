"""Which voxel values are structures, and which label maps are refused because their values cannot be ids."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from monai_spatialqa.errors import LabelValueError
from monai_spatialqa.geometry.kernels import HASH_SIZE
from monai_spatialqa.geometry.marginals import MAX_LABELS

_INTENSITY_VALUES = 100
"""A map with more values than this whose runs are mostly single voxels is an intensity image, not labels."""

_MAX_IGNORED = HASH_SIZE // 2


def background_values(ignore: Iterable[int], lowest: int, highest: int) -> list[int]:
    """0 and the ignored values that a type from ``lowest`` to ``highest`` can hold, ascending.

    Raises:
        LabelValueError: too many of them.
    """
    values = {0, *(int(value) for value in ignore if lowest <= value <= highest)}
    if len(values) > _MAX_IGNORED:
        raise LabelValueError(
            "too many values to ignore",
            key="ignore",
            found=len(values),
            expected=f"at most {_MAX_IGNORED}",
            next_step="store the label map without them",
        )
    return sorted(values)


def refuse_too_many(values: int) -> None:
    """Refuse more distinct values than structures can have.

    Raises:
        LabelValueError: more than :data:`~monai_spatialqa.geometry.marginals.MAX_LABELS`.
    """
    if values > MAX_LABELS:
        raise _looks_like_intensities(f"more than {MAX_LABELS:,} distinct values")


def refuse_bad_labels(labels: Sequence[int], voxels: int, runs: int) -> None:
    """Refuse values that cannot be structure ids.

    Args:
        labels: distinct values of the whole label map, without background.
        voxels: how many voxels hold them.
        runs: in how many runs.

    Raises:
        LabelValueError: negative values, or values that look like intensities.
    """
    refuse_too_many(len(labels))
    if len(labels) > _INTENSITY_VALUES and runs > voxels // 2:
        raise _looks_like_intensities(f"{len(labels):,} distinct values")
    negative = sorted(value for value in labels if value < 0)
    if negative:
        raise LabelValueError(
            "negative values are no structure ids",
            code="negative_label",
            found=", ".join(map(str, negative[:5])),
            expected="ids >= 0",
            next_step=f"declare them as background with ignore=[{negative[0]}], or mend the file",
        )


def _looks_like_intensities(found: str) -> LabelValueError:
    return LabelValueError(
        "the label map looks like an intensity image",
        code="intensity_image",
        found=found,
        expected=f"at most {MAX_LABELS:,} structure ids, in regions and not scattered voxel by voxel",
        next_step="check that the label file was not swapped with the image",
    )
