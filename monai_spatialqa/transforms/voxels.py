"""Voxel types: ids that a type holds exactly, and unsigned types that devices do not compute with."""

from __future__ import annotations

import torch
from torch import Tensor

from monai_spatialqa.errors import LabelValueError
from monai_spatialqa.geometry.tensors import whole_numbers

_SIGNED = {torch.uint16: torch.int16, torch.uint32: torch.int32, torch.uint64: torch.int64}
"""Not every operation on CUDA knows the wide unsigned types; the signed ones of the same bits it knows."""


def signed_view(voxels: Tensor) -> Tensor:
    """A view of wide unsigned voxels as signed ones; other types as they are."""
    return voxels.view(_SIGNED[voxels.dtype]) if voxels.dtype in _SIGNED else voxels


def signed_value(value: int, dtype: torch.dtype) -> int:
    """What a label of that type reads in the view of :func:`signed_view`."""
    bits = torch.iinfo(dtype).bits if dtype in _SIGNED else 64
    return value - 2**bits if dtype in _SIGNED and value >= 2 ** (bits - 1) else value


def exact_ids(voxels: Tensor) -> Tensor:
    """Labels as whole numbers; float types must hold every id exactly.

    Raises:
        LabelValueError: see :func:`~monai_spatialqa.geometry.tensors.whole_numbers`; or ids at which neighbours merge.
    """
    ids = whole_numbers(voxels)
    if voxels.is_floating_point():
        limit, largest = int(2 / torch.finfo(voxels.dtype).eps), max(int(ids.max()), -int(ids.min()))
        if largest >= limit:
            raise LabelValueError(
                "ids this large are not exact in floats: neighbours have merged",
                code="inexact_labels",
                found=f"{largest} in {voxels.dtype}",
                expected=f"ids below {limit}, or an integer type",
                next_step="load label maps with LoadImaged(dtype=None), and measure before resampling",
            )
    return ids
