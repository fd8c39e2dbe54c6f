"""What a measuring transform accepts: a label tensor whose grid is known, and nothing that would have to be guessed."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from monai.data import MetaTensor, get_track_meta
from monai.utils import TraceKeys
from numpy.typing import NDArray
from torch import Tensor

from monai_spatialqa.errors import GeometryError, LabelValueError, SettingsError
from monai_spatialqa.geometry.affine import RasGrid, orientation_codes
from monai_spatialqa.readers.meta import is_image, read_geometry_meta, read_segments_meta
from monai_spatialqa.transforms.operations import (
    only_reoriented,
    operation_name,
    refuse_invented_labels,
    was_resampled,
)

_SIGNS = {"RAS": 1, "right-anterior-superior": 1, "LPS": -1, "left-posterior-superior": -1}
"""Spaces an affine may be in (names of MONAI and of NRRD files), and which way their first two axes run."""


@dataclass(frozen=True)
class CheckedLabel:
    """A tensor with everything needed to measure it.

    Attributes:
        voxels: plain (C, X, Y, Z) tensor on its device.
        grid: the grid of ``voxels`` and the RAS grid it becomes.
        geometry: verified, orientation_unknown or unverified.
        notes: what the reader converted or passed over.
        resampled: whether the voxels were put on another grid before.
        file: where the tensor was loaded from, if it says so.
        segments: id -> name of the structures that its file names itself; None where it does not.
        stored_orientation: axis codes of the file it was loaded from (of the tensor, where that is not known).
    """

    voxels: Tensor
    grid: RasGrid
    geometry: str
    notes: list[str]
    resampled: Literal["native", "resampled"]
    file: str | None
    segments: dict[int, str] | None
    stored_orientation: str

    @property
    def orientation_known(self) -> bool:
        """Whether left, front and up are known."""
        return self.geometry != "orientation_unknown"


def check_label(label: Any) -> CheckedLabel:
    """Accept a channel-first :class:`~monai.data.MetaTensor` label map.

    Raises:
        GeometryError, LabelValueError: see :func:`check_scan`.
        LabelValueError: an image, or values or voxels invented by an earlier transform.
    """
    checked = check_scan(label)
    if is_image(label.meta):
        raise LabelValueError(
            "a DICOM image series is no label map",
            code="image_as_label",
            file=checked.file,
            found="image slices",
            expected="a label map",
            next_step="load the segmentation of these images",
        )
    try:
        refuse_invented_labels(label)
    except LabelValueError as error:
        raise error.with_context(file=checked.file) from None
    return checked


def check_scan(scan: Any) -> CheckedLabel:
    """Accept a channel-first :class:`~monai.data.MetaTensor`, an image or a label map, whose grid is known.

    Raises:
        GeometryError: no tracked affine, an impossible one, or lazy operations that have not been applied.
        LabelValueError: not (C, X, Y, Z), or no voxels.
    """
    if not isinstance(scan, MetaTensor):
        raise _no_affine(scan)
    file = str(scan.meta["filename_or_obj"]) if "filename_or_obj" in scan.meta else None
    if scan.pending_operations:
        raise GeometryError(
            "there are lazy operations that are not applied yet",
            code="pending_operations",
            file=file,
            found=", ".join(operation_name(operation) for operation in scan.pending_operations),
            expected="none",
            next_step="run this transform inside the same Compose, which applies them first, or set lazy=False",
        )
    if scan.ndim != 4 or scan.is_batch:
        raise LabelValueError(
            "a scan is channel-first with three spatial axes",
            code="not_3d",
            file=file,
            found=tuple(scan.shape),
            expected="(1, X, Y, Z), one-hot (C, X, Y, Z), or layers (C, X, Y, Z)",
            next_step="load it with LoadImaged(ensure_channel_first=True); decollate a batch first",
        )
    if not scan.numel():
        raise LabelValueError("the scan has no voxels", code="no_voxels", file=file, found=tuple(scan.shape))
    _tell_assumed_affine(scan, file)
    geometry, notes = read_geometry_meta(scan.meta)
    try:
        grid = _grid(scan)
        loaded = loaded_affine(scan)
    except GeometryError as error:
        raise error.with_context(file=file) from None
    return CheckedLabel(
        voxels=scan.as_tensor().detach(),
        grid=grid,
        geometry=geometry,
        notes=notes,
        resampled="resampled" if was_resampled(scan) else "native",
        file=file,
        segments=read_segments_meta(scan.meta),
        stored_orientation=grid.orientation if loaded is None else orientation_codes(loaded),
    )


def _no_affine(scan: Any) -> GeometryError:
    if not isinstance(scan, (Tensor, np.ndarray)):
        return GeometryError("this is not a scan", code="no_affine", found=type(scan).__name__, expected="a MetaTensor")
    if isinstance(scan, Tensor) and not get_track_meta():
        step = "set_track_meta(False) is in force: call monai.data.set_track_meta(True) before loading"
    else:
        step = (
            "keep the MetaTensor that LoadImaged returns; a cached or converted array needs its affine back "
            "(PersistentDataset: track_meta=True, weights_only=False)"
        )
    return GeometryError(
        "there is no affine; identity is never assumed",
        code="no_affine",
        found=type(scan).__name__,
        expected="a MetaTensor with an affine",
        next_step=step,
    )


def _tell_assumed_affine(scan: MetaTensor, file: str | None) -> None:
    """An array that lost its affine, or was loaded without one, looks like 1 mm voxels once MONAI wraps it again."""
    if "original_affine" in scan.meta:
        return
    affine = scan.affine.cpu().double()
    axes = affine[:3, :3].abs()
    unit = bool((axes.sum(0) == 1).all() and (axes.amax(0) == 1).all())
    if not (torch.equal(affine, torch.eye(4, dtype=affine.dtype)) or (unit and scan.applied_operations)):
        return
    if file is not None:
        raise GeometryError(
            "there is no affine; identity is never assumed",
            code="no_affine",
            file=file,
            found="the identity, which no reader set",
            expected="an affine from the file",
            next_step='use a format that stores one, or state it: meta["original_affine"] = meta["affine"] = ...',
        )
    warnings.warn(
        "nothing says where this affine of 1 mm voxels comes from; an array that lost its affine looks the same "
        '(PersistentDataset: track_meta=True, weights_only=False). State it with meta["original_affine"].',
        stacklevel=5,
    )


def loaded_affine(scan: MetaTensor) -> NDArray[np.float64] | None:
    """The affine a scan was loaded with, to RAS mm; None when a loader did not keep it."""
    loaded = scan.meta.get("original_affine")
    return None if loaded is None else _to_ras(scan, loaded)


def _to_ras(scan: MetaTensor, affine: Any) -> NDArray[np.float64]:
    """An affine of a scan, index to RAS mm, from the space that the scan says it is in."""
    matrix = np.asarray(torch.as_tensor(affine).cpu(), dtype=np.float64)
    space = str(getattr(scan.meta.get("space"), "value", scan.meta.get("space", "RAS")))
    if space not in _SIGNS:
        raise GeometryError(
            "the space of the affine is unknown",
            code="unknown_space",
            key='meta["space"]',
            found=space,
            expected=" or ".join(_SIGNS),
            next_step="convert the affine to RAS mm and set meta['space'] = 'RAS'",
        )
    return matrix if _SIGNS[space] > 0 else np.diag([-1.0, -1.0, 1.0, 1.0]) @ matrix


def _grid(scan: MetaTensor) -> RasGrid:
    """The tensor's grid.

    When nothing but reorientation came after loading, the matrix is worked out again from the loaded one: the product
    MONAI stores is the same up to the last bits, which depend on the matrix library.
    """
    shape = tuple(scan.shape[1:])
    grid = RasGrid.of(shape, _to_ras(scan, scan.affine))
    loaded = loaded_affine(scan)
    if loaded is None or not only_reoriented(scan):
        return grid
    first_shape = [int(length) for length in scan.applied_operations[0][TraceKeys.ORIG_SIZE]]
    fresh = RasGrid.of(first_shape, loaded)
    if fresh.shape == shape and grid.orientation == "RAS" and np.allclose(fresh.affine, grid.affine, rtol=0, atol=1e-6):
        return RasGrid.of(shape, fresh.affine)
    return grid


def require_setting(condition: bool, key: str, found: Any, expected: str) -> None:
    """Refuse an argument of a transform at construction.

    Raises:
        SettingsError: when the condition does not hold.
    """
    if not condition:
        raise SettingsError(f"{key} is unusable", key=key, found=found, expected=expected)
