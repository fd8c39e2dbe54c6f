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
"""Corner shift allowed between two resolutions along each axis, in voxels of the coarser: few divide without a rest."""


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
    moved = _outer_corners(label_grid) - _outer_corners(image_grid)
    shift_mm = float(np.linalg.norm(moved, axis=0).max())
    spacings = np.array([label_grid.spacing_mm, image_grid.spacing_mm])
    same_spacing = bool(np.allclose(spacings[0], spacings[1], rtol=0.01))
    same_shape = label_grid.shape == image_grid.shape
    if same_spacing:
        limit_mm = SAME_SPACING_TOLERANCE_VOXELS * float(spacings.min())
        fits, expected = shift_mm <= limit_mm and same_shape, f"outer corners within {limit_mm:.3f} mm"
    else:
        limits_mm = OTHER_SPACING_TOLERANCE_VOXELS * spacings.max(axis=0)
        along_axes = np.linalg.inv(label_grid.affine[:3, :3] / spacings[0]) @ moved
        fits = bool((np.abs(along_axes) <= limits_mm[:, None]).all())
        expected = f"outer corners within {', '.join(f'{limit:.3f}' for limit in limits_mm)} mm along the grid's axes"
    if not fits:
        raise PairingError(
            "the label map and its image do not cover the same place",
            code="other_place" if same_shape else "other_extent",
            case=case,
            file=file,
            found=f"label {label_grid.shape} and image {image_grid.shape} voxels (RAS), "
            f"largest corner shift {shift_mm:.3f} mm",
            expected=expected,
            next_step="use the image that the label map was drawn on, or measure without an image",
        )


def _outer_corners(grid: RasGrid) -> NDArray[np.float64]:
    """RAS mm (3, 8) of the corners of the outermost voxels' outer faces."""
    ends = [(-0.5, length - 0.5) for length in grid.shape]
    corners = np.array([(i, j, k, 1.0) for i in ends[0] for j in ends[1] for k in ends[2]]).T
    result: NDArray[np.float64] = (grid.affine @ corners)[:3]
    return result
