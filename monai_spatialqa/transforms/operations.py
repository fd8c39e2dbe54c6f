"""What earlier transforms did to a tensor's voxels, read from the trace that MONAI keeps (``applied_operations``)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from monai.data import MetaTensor
from monai.utils import TraceKeys

from monai_spatialqa.errors import LabelValueError

_NEAREST = {"nearest", "nearest-exact", "0"}
"""Ways of resampling that only pick voxels."""

_REORIENTING = {"Orientation"}
"""Transforms that only permute and flip axes."""


def operation_name(operation: Any) -> str:
    """Name of the transform behind a traced operation."""
    return str(operation[TraceKeys.CLASS_NAME]) if TraceKeys.CLASS_NAME in operation else str(operation)


def only_reoriented(tensor: MetaTensor) -> bool:
    """Whether at least one transform was applied, and none but reorienting ones."""
    names = {operation_name(operation) for operation in tensor.applied_operations}
    return bool(names) and names <= _REORIENTING


def was_resampled(tensor: MetaTensor) -> bool:
    """Whether the voxels were put on another grid by resampling, in whatever mode."""
    return any(_modes(extra) for _, extra in _steps(tensor.applied_operations))


def refuse_invented_labels(label: MetaTensor) -> None:
    """Refuse a label map with voxels that its maker did not draw.

    Raises:
        LabelValueError: values interpolated between ids, or a border filled with copies of the structures.
    """
    for name, extra in _steps(label.applied_operations):
        modes = _modes(extra)
        if not modes <= _NEAREST:
            raise LabelValueError(
                "the label map was interpolated: values between two ids are no ids",
                code="interpolated_labels",
                found=f"{name} with mode {', '.join(sorted(modes))}",
                expected="mode nearest",
                next_step='pass mode="nearest" for the label key',
            )
        if "padded" in extra and np.any(extra["padded"]) and str(extra.get("mode")) != "constant":
            raise LabelValueError(
                "the label map was padded with copies of its voxels",
                code="padded_labels",
                found=f"{name} with mode {extra.get('mode')}",
                expected="mode constant, or no padding",
                next_step='pass mode="constant" for the label key, or measure before padding',
            )


def _steps(operations: Iterable[Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Name and details of every operation, those inside others (a random transform's, a zoom's padding) included."""
    for operation in operations:
        extra = operation.get(TraceKeys.EXTRA_INFO)
        if not isinstance(extra, Mapping):
            continue
        yield operation_name(operation), extra
        inner = [extra, *extra.values()]
        yield from _steps(part for part in inner if isinstance(part, Mapping) and TraceKeys.CLASS_NAME in part)


def _modes(extra: Mapping[str, Any]) -> set[str]:
    """Interpolation modes of an operation; none for one that does not resample (a padding's mode is another matter)."""
    mode = extra.get("mode")
    if mode is None or "padded" in extra:
        return set()
    return {str(getattr(one, "value", one)) for one in (mode if isinstance(mode, (list, tuple)) else [mode])}
