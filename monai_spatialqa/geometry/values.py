"""Label values stored as floats or with a scaling: rounded to whole numbers, never truncated."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from monai_spatialqa.errors import LabelValueError

FLOAT_TOLERANCE = 1e-3
"""Float labels may be off a whole number by this much (rounding noise of other tools)."""


def whole_number_block(values: NDArray, *, exact_below: int = 2**53) -> NDArray[np.int64]:
    """A block of float values as int64.

    Args:
        values: float64.
        exact_below: where the type the values were stored in stops holding every whole number (2**24 for float32).

    Raises:
        LabelValueError: NaN, infinity, values off a whole number by more than 1e-3, or too large to be exact.
    """
    rounded = np.rint(values)
    with np.errstate(invalid="ignore"):
        bad = ~(np.abs(values - rounded) <= FLOAT_TOLERANCE)  # NaN and infinity compare false
    if bad.any():
        raise fractional_labels(np.unique(values[bad])[:5].tolist())
    largest = float(np.abs(rounded).max()) if values.size else 0.0
    if largest >= exact_below:
        raise inexact_labels(largest, exact_below)
    return rounded.astype(np.int64)


def inexact_labels(largest: float, exact_below: int) -> LabelValueError:
    """The refusal of ids too large to be exact in the float type they are stored in."""
    return LabelValueError(
        "float labels of this size are not exact: neighbouring ids have merged",
        code="inexact_labels",
        found=f"{largest:.0f}",
        expected=f"ids below {exact_below:,} in this float type",
        next_step="store the label map with an integer type, and load it with LoadImaged(dtype=None)",
    )


def fractional_labels(samples: Sequence[float]) -> LabelValueError:
    """The refusal of label values that are no whole numbers."""
    if not all(map(math.isfinite, samples)):
        step = "check that the file is a label map; where it is, set voxels without a label to 0"
    elif all(0 <= value <= 1 for value in samples):
        step = "threshold the probabilities into a mask first"
    else:
        step = "resample label maps with nearest neighbour, or check that the file is a label map"
    return LabelValueError(
        "label values are not whole numbers",
        code="fractional_labels",
        found=", ".join(f"{value:g}" for value in samples),
        expected="structure ids, or floats within 0.001 of them",
        next_step=step,
    )
