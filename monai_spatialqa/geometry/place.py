"""Do two grids cover the same place in the world?"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from monai_spatialqa.errors import PairingError
from monai_spatialqa.geometry.affine import RasGrid

SAME_SPACING_TOLERANCE_VOXELS = 0.25
"""Corner shift allowed between two grids of one resolution: rounding, but not the half voxel of a wrong convention."""

OTHER_SPACING_TOLERANCE_VOXELS = 1.0
"""Corner shift allowed between two resolutions, in voxels of the coarser: whole voxels rarely fit exactly."""


def check_same_place(label_grid: RasGrid, image_grid: RasGrid, *, case: str | None = None, file: Any = None) -> None:
    """Refuse a label map that does not cover the same place as its image.

    Another axis order or another resolution of the same field of view is fine: the outer faces of both volumes are
    compared in world space. Nothing is cropped, padded or resized.

    Args:
        label_grid: grid of the label map.
        image_grid: grid of the image.
        case: case id, for the message.
        file: path, for the message.

    Raises:
        PairingError: the outer corners of the two volumes lie too far apart, or the shapes differ at one resolution.
    """
    shift_mm = float(np.linalg.norm(_outer_corners(label_grid) - _outer_corners(image_grid), axis=0).max())
    spacings = np.array([label_grid.spacing_mm, image_grid.spacing_mm])
    same_spacing = bool(np.allclose(spacings[0], spacings[1], rtol=0.01))
    tolerance_mm = (
        SAME_SPACING_TOLERANCE_VOXELS * float(spacings.min())
        if same_spacing
        else OTHER_SPACING_TOLERANCE_VOXELS * float(spacings.max())
    )
    same_shape = label_grid.shape == image_grid.shape
    if shift_mm > tolerance_mm or (same_spacing and not same_shape):
        raise PairingError(
            "the label map and its image do not cover the same place",
            code="other_place" if same_shape else "other_extent",
            case=case,
            file=file,
            found=f"label {label_grid.shape} and image {image_grid.shape} voxels (RAS), "
            f"largest corner shift {shift_mm:.3f} mm",
            expected=f"outer corners within {tolerance_mm:.3f} mm",
            next_step="use the image that the label map was drawn on, or measure without an image",
        )


def _outer_corners(grid: RasGrid) -> NDArray[np.float64]:
    """RAS mm (3, 8) of the corners of the outermost voxels' outer faces."""
    ends = [(-0.5, length - 0.5) for length in grid.shape]
    corners = np.array([(i, j, k, 1.0) for i in ends[0] for j in ends[1] for k in ends[2]]).T
    result: NDArray[np.float64] = (grid.affine @ corners)[:3]
    return result
