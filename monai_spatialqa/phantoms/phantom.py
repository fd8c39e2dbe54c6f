"""A synthetic scan with its segmentation and the analytic truth about every structure in it."""

from __future__ import annotations

import os
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import nibabel as nib
import numpy as np
import numpy.typing as npt

from monai_spatialqa.anatomy import TUMOUR_KINDS, LabelMap, load_label_map
from monai_spatialqa.errors import SettingsError
from monai_spatialqa.phantoms.grid import is_sheared
from monai_spatialqa.phantoms.layout import VESSELS, Modality
from monai_spatialqa.phantoms.shape import Shape, Vector


@dataclass(frozen=True, eq=False)
class Phantom:
    """What :func:`make_phantom` returns.

    Args:
        image: (X, Y, Z) int16, HU or arbitrary MR units, Fortran-ordered.
        label: (X, Y, Z) smallest unsigned type that holds the ids, on the same grid.
        affine: (4, 4) float64, voxel index (centre) to RAS mm.
        shapes: analytic truth by structure name. Whole structures: also where the field of view cuts one off.
        truncated_faces: faces of the field of view (left, right, posterior, anterior, inferior, superior) in whose
            outermost voxel layer a structure has voxels, by structure; only structures that have such voxels.
        scale: size of the anatomy, 1 for an adult.
        seed: what it was made from.
        modality: CT or MR.
    """

    image: npt.NDArray[np.int16]
    label: npt.NDArray[np.unsignedinteger]
    affine: npt.NDArray[np.float64]
    shapes: Mapping[str, Shape]
    truncated_faces: Mapping[str, tuple[str, ...]]
    scale: float
    seed: int
    modality: Modality

    @property
    def label_names(self) -> dict[int, str]:
        """Id -> structure name, by id: a label map for the measuring transforms."""
        return {shape.label: name for name, shape in sorted(self.shapes.items(), key=lambda entry: entry[1].label)}

    @property
    def label_map(self) -> LabelMap:
        """The same with the kinds of the tumours and the group of vessels, for questions about lesions."""
        kinds = {f"{kind}_tumor": kind for kind in TUMOUR_KINDS}
        structures = {
            label: {"name": name, "tumour_kind": kinds[name]} if name in kinds else name
            for label, name in self.label_names.items()
        }
        groups = {"vessels": [name for name in VESSELS if name in self.shapes]}
        return load_label_map({"name": "phantom", "structures": structures, "groups": groups})

    @property
    def spacing_mm(self) -> Vector:
        """Voxel edge lengths along the stored axes, mm (column norms of the affine)."""
        lengths = np.linalg.norm(self.affine[:3, :3], axis=0)
        return float(lengths[0]), float(lengths[1]), float(lengths[2])

    @property
    def voxel_volume_mm3(self) -> float:
        """|det| of the affine, mm3; less than the product of the edges when sheared."""
        return float(abs(np.linalg.det(self.affine[:3, :3])))

    @property
    def axcodes(self) -> str:
        """Directions in which the stored axes grow, e.g. ``"LPS"``."""
        return "".join(nib.aff2axcodes(self.affine))

    def save(self, folder: str | os.PathLike[str], stem: str) -> tuple[Path, Path]:
        """Write ``<stem>_image.nii.gz`` and ``<stem>_label.nii.gz``, each by way of a temporary file.

        The sform holds the matrix with code 1 (scanner). The qform holds the same with code 1, unless the grid is
        sheared, which a qform cannot express: then its code is 0. Units are mm. Equal phantoms give equal bytes.

        Args:
            folder: where to; made when missing.
            stem: start of both file names, without a folder.

        Returns:
            Paths of image and label.

        Raises:
            SettingsError: when the stem is empty or holds a path separator.
        """
        if not stem or Path(stem).name != stem:
            raise SettingsError("a stem is a file name's beginning", key="stem", found=stem)
        target = Path(folder)
        target.mkdir(parents=True, exist_ok=True)
        image_path, label_path = target / f"{stem}_image.nii.gz", target / f"{stem}_label.nii.gz"
        _write(self.image, self.affine, image_path)
        _write(self.label, self.affine, label_path)
        return image_path, label_path


def _write(array: npt.NDArray[np.generic], affine: npt.NDArray[np.float64], path: Path) -> None:
    """One NIfTI-1 file by way of a temporary one."""
    nifti = nib.Nifti1Image(array, affine)
    nifti.set_sform(affine, code=1)
    if is_sheared(affine):
        nifti.set_qform(None, code=0)
    else:
        nifti.set_qform(affine, code=1)
    nifti.header.set_xyzt_units("mm")
    temporary = path.with_name(f".{uuid.uuid4().hex}.nii.gz")
    try:
        nib.save(nifti, temporary)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
