"""Wide unsigned voxel types, which devices do not compute with, as signed ones of the same bits."""

from __future__ import annotations

import torch
from torch import Tensor

_SIGNED = {torch.uint16: torch.int16, torch.uint32: torch.int32, torch.uint64: torch.int64}
"""Not every operation on CUDA knows the wide unsigned types; the signed ones of the same bits it knows."""


def signed_view(voxels: Tensor) -> Tensor:
    """A view of wide unsigned voxels as signed ones; other types as they are."""
    return voxels.view(_SIGNED[voxels.dtype]) if voxels.dtype in _SIGNED else voxels


def signed_value(value: int, dtype: torch.dtype) -> int:
    """What a label of that type reads in the view of :func:`signed_view`."""
    bits = torch.iinfo(dtype).bits if dtype in _SIGNED else 64
    return value - 2**bits if dtype in _SIGNED and value >= 2 ** (bits - 1) else value
