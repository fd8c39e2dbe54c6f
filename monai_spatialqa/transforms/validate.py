"""Check a loaded scan's geometry against its file."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from monai.data import MetaTensor
from monai.transforms import Transform

from monai_spatialqa.errors import GeometryError
from monai_spatialqa.geometry.affine import corner_shift_mm
from monai_spatialqa.readers.meta import GEOMETRY_KEY, UNVERIFIED, geometry_meta
from monai_spatialqa.readers.nifti import SUFFIXES
from monai_spatialqa.readers.nifti_header import Form
from monai_spatialqa.readers.nifti_stream import read_header
from monai_spatialqa.transforms.inputs import check_label, require_setting

_SAME_AFFINE_MM = 1e-3


class ValidateGeometry(Transform):
    """Check that a scan's affine is what its file says, before anything is measured with it.

    After a stock reader the faults of the header are gone: a zero spacing has become 1 mm, a micrometre a millimetre, one
    of two contradicting forms has been picked. This transform reads the raw header again and refuses what does not hold.
    A scan read by :class:`~monai_spatialqa.readers.NiftiReader` has been checked already. Where the header cannot be
    read again (another format, no file), the scan is marked ``unverified`` and later figures carry that status.

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
        check_label(img)
        if GEOMETRY_KEY in img.meta:
            return img  # type: ignore[no-any-return]
        return MetaTensor(
            img.as_tensor(),
            meta={**img.meta, **self._from_file(img)},
            applied_operations=list(img.applied_operations),
        )

    def _from_file(self, img: MetaTensor) -> dict[str, str]:
        file = str(img.meta.get("filename_or_obj", ""))
        if not file.lower().endswith(SUFFIXES):
            return {GEOMETRY_KEY: UNVERIFIED}
        header = read_header(file, form=self.form)
        loaded = img.meta.get("original_affine", img.affine)
        shift = corner_shift_mm(np.asarray(torch.as_tensor(loaded).cpu(), np.float64), header.affine, header.shape)
        if header.orientation_known and shift > _SAME_AFFINE_MM:
            raise GeometryError(
                "the affine is not what the file says",
                code="affine_mismatch",
                file=file,
                key="affine",
                found=np.asarray(torch.as_tensor(loaded).cpu())[:3].round(6).tolist(),
                expected=header.affine[:3].round(6).tolist(),
                next_step="load with LoadImaged(reader=NiftiReader()), which keeps the header's unit and forms",
            )
        return geometry_meta(known=header.orientation_known, notes=header.notes)
