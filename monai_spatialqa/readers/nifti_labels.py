"""The stored values of a NIfTI label map as whole numbers, block by block."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from monai_spatialqa.geometry.values import whole_number_block
from monai_spatialqa.readers.nifti_header import NiftiGeometry


def label_dtype(header: NiftiGeometry) -> np.dtype:
    """The type of the blocks that :func:`label_block` returns: the stored one for whole numbers, int64 otherwise."""
    return header.dtype if _exact(header) else np.dtype(np.int64)


def label_block(block: NDArray, header: NiftiGeometry) -> NDArray:
    """Ids of a block of stored values; the block itself where they are whole numbers.

    Raises:
        LabelValueError: see :func:`~monai_spatialqa.geometry.values.whole_number_block`.
    """
    if _exact(header):
        return block
    exact_below = 2 ** (np.finfo(header.dtype).nmant + 1) if header.dtype.kind == "f" else 2**53
    return whole_number_block(block.astype(np.float64) * header.slope + header.inter, exact_below=exact_below)


def _exact(header: NiftiGeometry) -> bool:
    return header.dtype.kind in "iu" and not header.scaled
