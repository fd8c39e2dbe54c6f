"""Check a loaded scan's geometry against its file."""

from __future__ import annotations

from typing import Any

import numpy as np
from monai.data import MetaTensor
from monai.transforms import Transform
from numpy.typing import NDArray

from monai_spatialqa.errors import GeometryError
from monai_spatialqa.geometry.affine import column_norms, corner_shift_mm
from monai_spatialqa.readers.meta import GEOMETRY_KEY, UNVERIFIED, geometry_meta
from monai_spatialqa.readers.nifti import SUFFIXES
from monai_spatialqa.readers.nifti_header import Form, NiftiGeometry
from monai_spatialqa.readers.nifti_stream import read_header
from monai_spatialqa.transforms.inputs import CheckedLabel, check_scan, loaded_affine, require_setting

_SAME_AFFINE_MM = 1e-3


class ValidateGeometry(Transform):
    """Check that a scan's affine is what its file says, before anything is measured with it.

    After a stock reader the faults of the header are gone: a zero spacing has become 1 mm, a micrometre a millimetre,
    one of two contradicting forms has been picked. This transform reads the raw header again and refuses what does not
    hold. A scan read by :class:`~monai_spatialqa.readers.NiftiReader` has been checked already. Where the header cannot
    be read again (another format, no file), the scan is marked ``unverified`` and later figures carry that status.

    Args:
        form: take this form (``"sform"`` or ``"qform"``) where the header contradicts itself.

    Raises:
        GeometryError: no affine, an impossible one, or one that is not the file's.
        FileReadError: the file is gone or damaged.
    """

    def __init__(self, form: Form | None = None) -> None:
        require_setting(form in (None, "sform", "qform"), "form", form, "sform, qform or None")
        self.form: Form | None = form

    def __repr__(self) -> str:
        return f"ValidateGeometry(form={self.form!r})"

    def __call__(self, img: Any) -> MetaTensor:
        """Return the scan with the outcome in its meta data; the voxels are shared with the input."""
        checked = check_scan(img)
        if GEOMETRY_KEY in img.meta:
            return img
        return MetaTensor(
            img.as_tensor(),
            meta={**img.meta, **self._from_file(img, checked)},
            applied_operations=list(img.applied_operations),
        )

    def _from_file(self, img: MetaTensor, checked: CheckedLabel) -> dict[str, str]:
        file = checked.file or ""
        loaded = loaded_affine(img)
        if loaded is None and not img.applied_operations:
            loaded = checked.grid.stored_affine
        if loaded is None or not file.lower().endswith(SUFFIXES):
            return {GEOMETRY_KEY: UNVERIFIED}
        header = read_header(file, form=self.form)
        if not _agree(loaded, header):
            raise GeometryError(
                "the affine is not what the file says",
                code="affine_mismatch",
                file=file,
                key="affine",
                found=loaded[:3].round(6).tolist(),
                expected=header.affine[:3].round(6).tolist(),
                next_step="load with LoadImaged(reader=NiftiReader()), which keeps the header's unit and forms",
            )
        return geometry_meta(known=header.orientation_known, notes=header.notes)


def _agree(loaded: NDArray[np.float64], header: NiftiGeometry) -> bool:
    """Whether a scan was loaded with its header's affine; where directions are unknown, with its voxel sizes."""
    if header.orientation_known:
        return corner_shift_mm(loaded, header.affine, header.shape) <= _SAME_AFFINE_MM
    return bool(np.allclose(column_norms(loaded), column_norms(header.affine), rtol=1e-6, atol=0))
