"""The meta data that a reader hands to MONAI with its voxels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from monai.utils import MetaKeys, SpaceKeys

from monai_spatialqa.readers.meta import ScanGeometry, geometry_meta, segments_meta
from monai_spatialqa.readers.nifti_header import NiftiGeometry


def scan_meta(
    geometry: ScanGeometry | NiftiGeometry,
    *,
    layers: int = 1,
    names: Mapping[int, str] | None = None,
    notes: Sequence[str] | None = None,
) -> dict[str, Any]:
    """Meta data of voxels (X, Y, Z) or, with several layers, (X, Y, Z, L).

    Args:
        geometry: the grid.
        layers: length of the last axis.
        names: id -> name of the structures that the file says were looked for; None where it does not say.
        notes: what was converted or passed over; default: the notes of the geometry.
    """
    return {
        MetaKeys.AFFINE: geometry.affine.copy(),
        MetaKeys.ORIGINAL_AFFINE: geometry.affine.copy(),
        MetaKeys.SPATIAL_SHAPE: np.array(geometry.shape),
        MetaKeys.SPACE: SpaceKeys.RAS,
        MetaKeys.ORIGINAL_CHANNEL_DIM: float("nan") if layers == 1 else -1,
        **geometry_meta(known=geometry.orientation_known, notes=geometry.notes if notes is None else notes),
        **({} if names is None else segments_meta(names)),
    }
