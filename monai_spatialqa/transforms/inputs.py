"""What a measuring transform accepts: a label tensor whose grid is known, and nothing that would have to be guessed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from monai.data import MetaTensor, get_track_meta
from monai.utils import TraceKeys
from torch import Tensor

from monai_spatialqa.errors import GeometryError, LabelValueError, SettingsError
from monai_spatialqa.geometry.affine import RasGrid, orientation_codes
from monai_spatialqa.readers.meta import read_geometry_meta

_NEAREST = {"nearest", "nearest-exact", "0"}
_RESAMPLING_FREE = {"Orientation"}


@dataclass(frozen=True)
class CheckedLabel:
    """A label tensor with everything needed to measure it.

    Attributes:
        voxels: plain (C, X, Y, Z) tensor on its device.
        grid: the grid of ``voxels`` and the RAS grid it becomes.
        geometry: verified, orientation_unknown or unverified.
        notes: what the reader converted or passed over.
        resampled: whether a nearest-neighbour resampling came before.
        file: where the tensor was loaded from, if it says so.
        stored_orientation: axis codes of the file it was loaded from (of the tensor, where that is not known).
    """

    voxels: Tensor
    grid: RasGrid
    geometry: str
    notes: list[str]
    resampled: Literal["native", "resampled"]
    file: str | None
    stored_orientation: str

    @property
    def orientation_known(self) -> bool:
        return self.geometry != "orientation_unknown"


def check_label(label: Any) -> CheckedLabel:
    """Accept a channel-first :class:`~monai.data.MetaTensor` label map.

    Raises:
        GeometryError: no tracked affine, an impossible one, or lazy operations that have not been applied.
        LabelValueError: not (C, X, Y, Z), or values interpolated by an earlier transform.
    """
    if not isinstance(label, MetaTensor):
        raise _no_affine(label)
    file = str(label.meta["filename_or_obj"]) if "filename_or_obj" in label.meta else None
    if label.pending_operations:
        raise GeometryError(
            "the label map has lazy operations that are not applied yet",
            code="pending_operations",
            file=file,
            found=", ".join(_name(operation) for operation in label.pending_operations),
            expected="none",
            next_step="put ApplyPendingd(keys) before measuring, or set lazy=False",
        )
    if label.ndim != 4:
        raise LabelValueError(
            "a label map is channel-first with three spatial axes",
            code="not_3d",
            file=file,
            found=tuple(label.shape),
            expected="(1, X, Y, Z), one-hot (C, X, Y, Z), or layers (C, X, Y, Z)",
            next_step="load it with LoadImaged(ensure_channel_first=True)",
        )
    if not label.numel():
        raise LabelValueError("the label map has no voxels", file=file, found=tuple(label.shape))
    geometry, notes = read_geometry_meta(label.meta)
    try:
        grid = _grid(label)
        resampled: Literal["native", "resampled"] = "resampled" if _resampled(label) else "native"
    except (GeometryError, LabelValueError) as error:
        raise error.with_context(file=file) from None
    return CheckedLabel(label.as_tensor(), grid, geometry, notes, resampled, file, _stored_orientation(label, grid))


def _no_affine(label: Any) -> GeometryError:
    if not isinstance(label, (Tensor, np.ndarray)):
        return GeometryError(
            "this is not a label map", code="no_affine", found=type(label).__name__, expected="a MetaTensor"
        )
    if isinstance(label, Tensor) and not get_track_meta():
        step = "set_track_meta(False) is in force: call monai.data.set_track_meta(True) before loading"
    else:
        step = (
            "keep the MetaTensor that LoadImaged returns; a cached or converted array needs its affine back "
            "(PersistentDataset: track_meta=True, weights_only=False)"
        )
    return GeometryError(
        "the label map has no affine; identity is never assumed",
        code="no_affine",
        found=type(label).__name__,
        expected="a MetaTensor with an affine",
        next_step=step,
    )


def _grid(label: MetaTensor) -> RasGrid:
    """The tensor's grid.

    When nothing but reorientation came after loading, the matrix is worked out again from the loaded one: the product
    MONAI stores is the same up to the last bits, which depend on the matrix library.
    """
    shape = tuple(label.shape[1:])
    grid = RasGrid.of(shape, label.affine.cpu().numpy())
    loaded = label.meta.get("original_affine")
    operations = label.applied_operations
    if loaded is None or not operations or any(_name(operation) not in _RESAMPLING_FREE for operation in operations):
        return grid
    first_shape = [int(length) for length in operations[0][TraceKeys.ORIG_SIZE]]
    fresh = RasGrid.of(first_shape, np.asarray(torch.as_tensor(loaded).cpu()))
    if fresh.shape == shape and grid.orientation == "RAS" and np.allclose(fresh.affine, grid.affine, rtol=0, atol=1e-6):
        return RasGrid.of(shape, fresh.affine)
    return grid


def _stored_orientation(label: MetaTensor, grid: RasGrid) -> str:
    loaded = label.meta.get("original_affine")
    return grid.orientation if loaded is None else orientation_codes(np.asarray(torch.as_tensor(loaded).cpu()))


def _name(operation: Any) -> str:
    return str(operation[TraceKeys.CLASS_NAME]) if TraceKeys.CLASS_NAME in operation else str(operation)


def _resampled(label: MetaTensor) -> bool:
    """Whether the voxels were resampled; interpolation of label values is refused."""
    resampled = False
    for operation in label.applied_operations:
        extra = operation.get(TraceKeys.EXTRA_INFO) or {}
        mode = extra.get("mode") if isinstance(extra, dict) else None
        if mode is None:
            continue
        modes = {str(getattr(one, "value", one)) for one in (mode if isinstance(mode, (list, tuple)) else [mode])}
        if not modes <= _NEAREST:
            raise LabelValueError(
                "the label map was interpolated: values between two ids are no ids",
                code="interpolated_labels",
                found=f"{_name(operation)} with mode {', '.join(sorted(modes))}",
                expected="mode nearest",
                next_step='pass mode="nearest" for the label key',
            )
        resampled = True
    return resampled


def require_setting(condition: bool, key: str, found: Any, expected: str) -> None:
    """Refuse an argument of a transform at construction.

    Raises:
        SettingsError: when the condition does not hold.
    """
    if not condition:
        raise SettingsError(f"{key} is unusable", key=key, found=found, expected=expected)
