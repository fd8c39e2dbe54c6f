"""What the words about views need to know of a scan: its modality, its grid, and lengths that hold on any grid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import get_args

import numpy as np
import numpy.typing as npt

from monai_spatialqa.errors import GeometryError, SettingsError
from monai_spatialqa.geometry.affine import checked_affine, column_norms, is_sheared, voxel_volume_mm3
from monai_spatialqa.rendering.windows import Modality


@dataclass(frozen=True, eq=False)
class ViewGeometry:
    """The RAS grid of a scan, see :func:`~monai_spatialqa.rendering.reorient_to_ras`.

    Args:
        modality: ``CT`` or ``MR``: it decides how intensities are shown.
        shape: voxels along R, A, S.
        affine: (4, 4) RAS-grid index to RAS mm; may be oblique or sheared.

    Raises:
        SettingsError: an unknown modality.
        GeometryError: an unusable affine, or one whose axes do not grow closest to R, A and S.
    """

    modality: str | None
    shape: tuple[int, int, int]
    affine: npt.NDArray[np.float64]

    def __post_init__(self) -> None:
        if self.modality not in get_args(Modality):
            raise SettingsError(
                "the modality of the scan is not known, and it decides how intensities are shown",
                code="unknown_modality",
                key="modality",
                found=self.modality,
                expected="CT or MR",
                next_step="set modality to CT or MR, for the case in its datalist or for the whole run",
            )
        object.__setattr__(self, "affine", checked_affine(self.affine))
        if (np.diag(self.affine)[:3] <= 0).any():
            raise GeometryError(
                "views are cut from a grid whose axes grow to R, A and S",
                code="not_ras",
                key="affine",
                found=self.affine[:3, :3].tolist(),
                next_step="turn the scan with reorient_to_ras first",
            )

    @property
    def spacing_mm(self) -> tuple[float, float, float]:
        """Voxel edge lengths along R, A, S."""
        return column_norms(self.affine)

    @property
    def size_mm(self) -> tuple[float, float, float]:
        """Lengths of the scan's edges along R, A, S, between outer voxel faces."""
        r, a, s = (length * count for length, count in zip(self.spacing_mm, self.shape, strict=True))
        return r, a, s

    @property
    def sheared(self) -> bool:
        """Whether the grid's axes are not perpendicular, as after gantry tilt."""
        return is_sheared(self.affine)

    @property
    def tilt_deg(self) -> float:
        """Largest angle between a grid axis and the patient's axis it is named after."""
        cosines = np.diag(self.affine)[:3] / np.array(self.spacing_mm)
        return float(np.degrees(np.arccos(np.clip(cosines.min(), -1, 1))))

    def slice_distance_mm(self, axis: int) -> float:
        """Distance between neighbouring slices across a grid axis, perpendicular to them.

        On a sheared grid this is less than the voxel's edge length.
        """
        one, other = (self.affine[:3, i] for i in range(3) if i != axis)
        return voxel_volume_mm3(self.affine) / float(np.linalg.norm(np.cross(one, other)))

    def nearest_voxel(self, point_ras_mm: Sequence[float]) -> tuple[int, int, int]:
        """The voxel that holds a point, RAS mm.

        Raises:
            GeometryError: a point outside the scan.
        """
        point = np.asarray(point_ras_mm, dtype=np.float64)
        index = np.linalg.solve(self.affine[:3, :3], point - self.affine[:3, 3])
        i, j, k = (int(value) for value in np.ceil(np.round(index, 6) - 0.5))  # between two voxels, the lower one
        if not all(0 <= at < length for at, length in zip((i, j, k), self.shape, strict=True)):
            raise GeometryError(
                "the structure's centre lies outside the scan",
                code="outside_scan",
                found=f"{point.tolist()} mm RAS, voxel {(i, j, k)}",
                expected=f"a voxel of {self.shape}",
                next_step="check that label map and image belong to the same scan",
            )
        return i, j, k
