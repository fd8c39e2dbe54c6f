"""What surrounds the structures of a phantom and has no label: air, skin and fat, muscle. Only for the eye."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from monai_spatialqa.phantoms.layout import Modality
from monai_spatialqa.phantoms.painting import world_slabs
from monai_spatialqa.phantoms.shape import Vector

Float = npt.NDArray[np.float64]

_TISSUES: dict[Modality, dict[str, float]] = {
    "CT": {"air": -1000.0, "fat": -95.0, "muscle": 55.0},
    "MR": {"air": 0.0, "fat": 460.0, "muscle": 150.0},
}
_BODY_MM = (172.0, 122.0)
_SKIN_MM = 14.0
_WALL_MM = 11.0
_BACK_MUSCLES_MM = ((42.0, -92.0), (27.0, 13.0))


def paint_background(
    image: npt.NDArray[np.floating], affine: Float, modality: Modality, scale: float, at: Vector
) -> None:
    """Fill the image with an endless body of elliptic cross section along S, before the structures are painted.

    Args:
        image: (X, Y, Z), overwritten.
        affine: its index-to-RAS matrix.
        modality: HU or arbitrary MR units.
        scale: size of the body, 1 for an adult.
        at: RAS mm of the scene's origin; the body follows its R and A.
    """
    tissue = _TISSUES[modality]
    image[...] = tissue["air"]
    for where, points in world_slabs(affine, (0, 0, 0), image.shape):
        x, y = (points[..., 0] - at[0]) / scale, (points[..., 1] - at[1]) / scale
        view = image[where]
        view[_in_ellipse(x, y, 0.0)] = tissue["fat"]
        view[_in_ellipse(x, y, _SKIN_MM)] = tissue["muscle"]
        view[_in_ellipse(x, y, _SKIN_MM + _WALL_MM)] = tissue["fat"]
        (aside, behind), (wide, deep) = _BACK_MUSCLES_MM
        view[((np.abs(x) - aside) / wide) ** 2 + ((y - behind) / deep) ** 2 <= 1] = tissue["muscle"]


def _in_ellipse(x: Float, y: Float, inset_mm: float) -> npt.NDArray[np.bool_]:
    return np.asarray((x / (_BODY_MM[0] - inset_mm)) ** 2 + (y / (_BODY_MM[1] - inset_mm)) ** 2 <= 1)
