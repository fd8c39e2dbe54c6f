"""The runs of a tensor: found on its device, kept on the CPU, where everything that is made of them is computed."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import torch
from torch import Tensor

from monai_spatialqa.errors import LabelValueError
from monai_spatialqa.geometry.affine import RasGrid
from monai_spatialqa.geometry.encoder import BLOCK_BYTES, MarginalEncoder
from monai_spatialqa.geometry.runs import RunGrid, RunSet
from monai_spatialqa.geometry.tensors import TorchPass, memory_order, whole_numbers


def runs_of(label: Tensor, grid: RasGrid, *, ignore: Iterable[int] = (), compiled: bool | None = None) -> RunSet:
    """All runs of a label map.

    On another device than the CPU the runs are found there, with torch, and only they are copied: 32 bytes a run.

    Args:
        label: (X, Y, Z) integer, bool or near-integer float tensor, in any memory layout.
        grid: its grid.
        ignore: values that are no structure besides 0.
        compiled: take the compiled path; default: on CPU tensors.

    Raises:
        LabelValueError: see :func:`~monai_spatialqa.geometry.tensors.marginals_of`.
    """
    if label.ndim != 3:
        raise LabelValueError("a label map has three axes", found=tuple(label.shape), expected="(X, Y, Z)")
    ids = whole_numbers(label.detach())
    axes = memory_order(ids)
    stored = ids.permute(axes[2], axes[1], axes[0])
    if compiled if compiled is not None else ids.device.type == "cpu":
        array = stored.cpu().numpy()
        encoder = MarginalEncoder(array.shape[::-1], array.dtype, ignore=ignore, boundaries=False, keep_runs=True)
        step = max(1, BLOCK_BYTES // max(1, array[0].nbytes))
        for at in range(0, len(array), step):
            encoder.feed(array[at : at + step].reshape(-1))
        encoder.result()
        return encoder.run_set(grid, axes)
    return _torch_runs(TorchPass(stored, tuple(ignore), False, None), axes, grid)


def _torch_runs(scan: TorchPass, axes: list[int], grid: RasGrid) -> RunSet:
    slabs = [torch.stack(scan.runs(*slab), dim=1) for slab in scan.slabs]
    values, where = torch.cat(slabs).split([1, 3], dim=1)
    known, slot = torch.unique(values.view(-1), return_inverse=True)
    runs: np.ndarray = torch.cat([where, slot[:, None]], dim=1).cpu().numpy()
    shape = (scan.shape[2], scan.shape[1], scan.shape[0])
    return RunSet(grid=RunGrid(shape, (axes[0], axes[1], axes[2]), grid), runs=runs, labels=tuple(scan.labels(known)))
