"""Index-to-world matrices of synthetic grids: any voxel size, rotation, gantry tilt and stored orientation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import nibabel as nib
import numpy as np
import numpy.typing as npt
from nibabel.orientations import apply_orientation, axcodes2ornt, inv_ornt_aff, io_orientation, ornt_transform
from scipy.spatial.transform import Rotation

from monai_spatialqa.errors import SettingsError
from monai_spatialqa.phantoms.shape import Vector, as_vector

Float = npt.NDArray[np.float64]
Scalar = TypeVar("Scalar", bound=np.generic)

FACES: dict[str, tuple[int, int]] = {
    "left": (0, 0),
    "right": (0, 1),
    "posterior": (1, 0),
    "anterior": (1, 1),
    "inferior": (2, 0),
    "superior": (2, 1),
}
"""Face name -> (axis of the RAS grid, 0 for the low or 1 for the high end)."""


def grid_affine(
    shape: Sequence[int],
    spacing_mm: Sequence[float],
    *,
    center_ras_mm: Vector = (0.0, 0.0, 0.0),
    rotation_deg: float | Sequence[float] = 0.0,
    shear: float = 0.0,
) -> Float:
    """Matrix from voxel index (voxel centres) to RAS mm of a grid whose axes point to R, A and S before turning.

    Args:
        shape: voxels along the axes.
        spacing_mm: voxel edge lengths, which are the matrix's column norms, also with shear.
        center_ras_mm: where the middle of the field of view lies.
        rotation_deg: turn of the grid about its middle: one angle about S, or three about the fixed axes R, A, S in
            that order (extrinsic "xyz").
        shear: gantry tilt as its tangent: by how many mm slices move anteriorly per mm they move along S. The voxel
            volume falls to ``1 / sqrt(1 + shear^2)`` of the product of the edges (0.966 at 15 degrees).

    Returns:
        (4, 4) float64.

    Raises:
        SettingsError: a number that is not finite or not positive, or a turn so far that the axes no longer are
            closest to R, A and S.
    """
    size = _voxels(shape)
    edges = np.asarray(as_vector(spacing_mm, "spacing_mm", positive=True))
    angles = np.asarray(rotation_deg, dtype=np.float64)
    angles = np.array([0.0, 0.0, float(angles)]) if angles.ndim == 0 else np.asarray(as_vector(angles, "rotation_deg"))
    if not (np.isfinite(angles).all() and np.isfinite(shear)):
        raise SettingsError("rotation and shear are finite numbers", key="rotation_deg", found=(rotation_deg, shear))
    axes = np.eye(3)
    axes[:, 2] = np.array([0.0, shear, 1.0]) / np.sqrt(1 + shear**2)
    matrix = Rotation.from_euler("xyz", angles, degrees=True).as_matrix() @ axes * edges
    affine = np.eye(4)
    affine[:3, :3] = matrix
    affine[:3, 3] = np.asarray(center_ras_mm) - matrix @ ((np.asarray(size) - 1) / 2)
    if nib.aff2axcodes(affine) != ("R", "A", "S"):
        raise SettingsError(
            "the grid is turned so far that its axes are no longer closest to R, A and S",
            key="rotation_deg",
            found=(rotation_deg, shear),
            expected="angles well below 45 degrees; other orientations come from axcodes",
        )
    return affine


def _voxels(shape: Sequence[int]) -> tuple[int, int, int]:
    size = tuple(int(length) for length in shape)
    if len(size) != 3 or min(size) < 1 or size != tuple(shape):
        raise SettingsError("a grid has three whole numbers of voxels", key="shape", found=tuple(shape))
    return size[0], size[1], size[2]


def is_sheared(affine: npt.ArrayLike, *, tolerance: float = 1e-5) -> bool:
    """Whether two grid axes differ from a right angle: |cosine| above the tolerance."""
    matrix = np.asarray(affine, dtype=np.float64)[:3, :3]
    axes = matrix / np.linalg.norm(matrix, axis=0)
    return bool(np.abs(axes.T @ axes - np.eye(3)).max() > tolerance)


def stored_as(
    array: npt.NDArray[Scalar], affine: Float, axcodes: str | Sequence[str]
) -> tuple[npt.NDArray[Scalar], Float]:
    """The same voxels at the same places in another axis order and direction, without resampling.

    Args:
        array: (X, Y, Z).
        affine: its index-to-RAS matrix.
        axcodes: three letters, the directions in which the stored axes grow, e.g. ``"LPS"``.

    Returns:
        The array, Fortran-ordered as in a NIfTI file, and its matrix.

    Raises:
        SettingsError: when the letters do not name three different axes.
    """
    letters = tuple(axcodes)
    axes = [axis for letter in letters for axis in ("LR", "PA", "IS") if letter in tuple(axis)]
    if len(letters) != 3 or sorted(axes) != ["IS", "LR", "PA"]:
        raise SettingsError(
            "axcodes must name each axis once",
            key="axcodes",
            found="".join(map(str, letters)),
            expected="one of L R, one of P A, one of I S, in any order, e.g. LPS",
        )
    turn = ornt_transform(io_orientation(affine), axcodes2ornt(letters))
    moved = np.asfortranarray(apply_orientation(array, turn))
    return moved, np.asarray(affine @ inv_ornt_aff(turn, array.shape))
