"""Two-dimensional views of a volume as a radiologist hangs them, with what is needed to draw on them.

Pure functions on arrays. Convention: radiological. In axial and coronal views the patient's right is on the image's
left; anterior is up in an axial view, superior is up in the others; a sagittal view shows anterior on the image's left
(seen from the patient's left). A view has no flips left to apply: row 0 is the top of the image.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
from nibabel.orientations import apply_orientation, inv_ornt_aff, io_orientation

from monai_spatialqa.errors import GeometryError, SettingsError

Plane = Literal["axial", "coronal", "sagittal"]
Scalar = TypeVar("Scalar", bound=np.generic)

CONVENTION = (
    "Radiological convention: patient right (R) is on the image left in axial and coronal views; anterior is up in "
    "axial views, superior is up in coronal and sagittal views; anterior is on the image left in sagittal views."
)
"""The convention in words, for cards and for prompts to models."""


class EdgeLetters(NamedTuple):
    """The patient directions at the edges of an image."""

    left: str
    right: str
    top: str
    bottom: str


class _Layout(NamedTuple):
    through: int
    across: int
    down: int
    letters: EdgeLetters


# Columns run from R to L (sagittal: A to P) and rows from A to P or S to I, all against the RAS grid. The axis across
# is always the lower one, so a slice is transposed and turned round in both directions.
_LAYOUTS: dict[Plane, _Layout] = {
    "axial": _Layout(2, 0, 1, EdgeLetters("R", "L", "A", "P")),
    "coronal": _Layout(1, 0, 2, EdgeLetters("R", "L", "S", "I")),
    "sagittal": _Layout(0, 1, 2, EdgeLetters("A", "P", "S", "I")),
}

PLANES: tuple[Plane, ...] = tuple(_LAYOUTS)


@dataclass(frozen=True, eq=False)
class SliceView:
    """One slice, ready to be shown with row 0 at the top.

    Args:
        plane: which way it was cut.
        index: slice index along the grid axis it was cut across.
        pixels: (rows, columns), a view of the volume's memory.
        pixel_size_mm: height and width of a pixel.
        letters: patient directions at the edges.
        shape: voxels of the volume along R, A, S.
    """

    plane: Plane
    index: int
    pixels: npt.NDArray[np.generic]
    pixel_size_mm: tuple[float, float]
    letters: EdgeLetters
    shape: tuple[int, int, int]

    @property
    def pixel_aspect(self) -> float:
        """Height over width of a pixel: what matplotlib calls ``aspect``."""
        return self.pixel_size_mm[0] / self.pixel_size_mm[1]

    @property
    def size_mm(self) -> tuple[float, float]:
        """Height and width of the image."""
        return self.pixels.shape[0] * self.pixel_size_mm[0], self.pixels.shape[1] * self.pixel_size_mm[1]

    @property
    def axes(self) -> tuple[int, int, int]:
        """The RAS grid axes (0, 1, 2) that run through the slice, across its columns and down its rows."""
        layout = _LAYOUTS[self.plane]
        return layout.through, layout.across, layout.down

    def to_pixel(self, index_ras: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Row and column of positions in the RAS grid, projected along the slice's normal axis.

        Args:
            index_ras: (..., 3) voxel indices, fractions allowed; whole numbers are voxel centres.

        Returns:
            (..., 2) row and column; whole numbers are pixel centres, so the image reaches from -0.5 to size - 0.5.
        """
        points = np.asarray(index_ras, dtype=np.float64)
        _, across, down = self.axes
        last = np.asarray(self.shape) - 1
        return np.stack([last[down] - points[..., down], last[across] - points[..., across]], axis=-1)

    def to_mm(self, index_ras: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """As :meth:`to_pixel`, but mm rightwards and downwards from the image's top left corner: (..., 2) as x, y."""
        pixel = self.to_pixel(index_ras)
        height, width = self.pixel_size_mm
        return np.stack([(pixel[..., 1] + 0.5) * width, (pixel[..., 0] + 0.5) * height], axis=-1)


def reorient_to_ras(
    array: npt.NDArray[Scalar], affine: npt.ArrayLike
) -> tuple[npt.NDArray[Scalar], npt.NDArray[np.float64]]:
    """The same voxels with axes that grow closest to R, A and S: permuted and flipped, never resampled.

    Args:
        array: (X, Y, Z) in any orientation.
        affine: (4, 4) index to RAS mm.

    Returns:
        A view of the array, and its matrix. An oblique grid stays oblique.

    Raises:
        GeometryError: when the array is not 3-D, or the matrix is not a finite, invertible 4x4.
    """
    matrix = np.asarray(affine, dtype=np.float64)
    if array.ndim != 3 or min(array.shape) < 1:
        raise GeometryError(
            "a volume has three axes", code="not_3d", found=f"shape {array.shape}", expected="(X, Y, Z)"
        )
    if matrix.shape != (4, 4) or not np.isfinite(matrix).all() or np.linalg.det(matrix[:3, :3]) == 0:
        raise GeometryError(
            "the affine is unusable",
            code="singular_affine",
            key="affine",
            found=np.array2string(matrix, separator=","),
            expected="a finite, invertible 4x4 matrix",
        )
    turn = io_orientation(matrix)
    return apply_orientation(array, turn), np.asarray(matrix @ inv_ornt_aff(turn, array.shape))


def extract_slice(
    volume_ras: npt.NDArray[np.generic], plane: Plane, index: int, spacing_mm: Sequence[float]
) -> SliceView:
    """Cut one slice out of a volume and turn it to the radiological convention.

    Args:
        volume_ras: (X, Y, Z) whose axes grow to R, A and S, see :func:`reorient_to_ras`.
        plane: axial, coronal or sagittal.
        index: slice index along S, A or R.
        spacing_mm: voxel edge lengths along R, A, S, mm.

    Returns:
        The slice; its pixels share the volume's memory.

    Raises:
        GeometryError: when the volume is not 3-D or a spacing is not positive.
        SettingsError: an unknown plane, or an index outside the volume.
    """
    edges = np.asarray(spacing_mm, dtype=np.float64)
    if volume_ras.ndim != 3 or edges.shape != (3,) or not (np.isfinite(edges) & (edges > 0)).all():
        raise GeometryError(
            "a slice needs a 3-D volume and three positive voxel sizes",
            code="bad_spacing",
            found=f"shape {volume_ras.shape}, spacing {tuple(spacing_mm)}",
        )
    if plane not in _LAYOUTS:
        raise SettingsError("unknown plane", key="plane", found=plane, expected=", ".join(PLANES))
    layout = _LAYOUTS[plane]
    if not 0 <= index < volume_ras.shape[layout.through]:
        raise SettingsError(
            "the slice lies outside the volume",
            key="index",
            found=index,
            expected=f"0 to {volume_ras.shape[layout.through] - 1}",
        )
    where: list[slice | int] = [slice(None)] * 3
    where[layout.through] = index
    pixels = volume_ras[tuple(where)].T[::-1, ::-1]
    x, y, z = volume_ras.shape
    size = (float(edges[layout.down]), float(edges[layout.across]))
    return SliceView(plane, int(index), pixels, size, layout.letters, (x, y, z))
