"""A MONAI ``ImageReader`` for scans of any format read here: NIfTI, NRRD, MetaImage, DICOM, folders of masks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from monai.config import PathLike
from monai.data import ImageReader
from monai.utils import ensure_tuple
from torch import Tensor

from monai_spatialqa.anatomy import LabelMap, load_label_map
from monai_spatialqa.errors import FileReadError, SpatialQAError
from monai_spatialqa.readers.loaded import scan_meta
from monai_spatialqa.readers.nifti_header import Form
from monai_spatialqa.readers.scans import LoadedScan, Scan, first_file, read_scan, scan_kind


@dataclass(frozen=True)
class _Loaded:
    scan: LoadedScan | None = None
    refusal: SpatialQAError | None = None


class ScanReader(ImageReader):
    """Reads whatever a path turns out to be: a file of any format of this package, a folder, or a list of files.

    For ``LoadImage(reader=ScanReader("totalsegmentator_v2"), dtype=None, ensure_channel_first=True)``. A folder with
    masks is one mask per structure, a folder with DICOM slices is an image series. Each format has a reader of its own,
    with more settings: :class:`~monai_spatialqa.readers.NiftiReader`,
    :class:`~monai_spatialqa.readers.SimpleITKReader`, :class:`~monai_spatialqa.readers.DicomSegReader`,
    :class:`~monai_spatialqa.readers.MaskFolderReader`.

    Args:
        structures: label map that gives structures which a file names itself their ids: name, file, mapping, LabelMap.
        form: take this NIfTI form where a header contradicts itself.
        references: path of a DICOM SEG -> path of the image it was drawn on, whose grid it then gets.

    Raises:
        SpatialQAError: from ``get_data``, whatever makes the scan unusable.
    """

    def __init__(
        self, structures: Any = None, form: Form | None = None, references: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__()
        self.label_map: LabelMap | None = None if structures is None else load_label_map(structures)
        self.form: Form | None = form
        self.references = dict(references or {})

    def __repr__(self) -> str:
        return f"ScanReader(structures={self.label_map!r}, form={self.form!r}, references=<{len(self.references)}>)"

    def verify_suffix(self, filename: Sequence[PathLike] | PathLike) -> bool:
        """Whether the path is of a format read here."""
        try:
            scan_kind(_scan_of(filename))
        except SpatialQAError:
            return False
        return True

    def read(self, data: Sequence[PathLike] | PathLike, **kwargs: Any) -> _Loaded:
        """Read one scan; a refusal is kept for :meth:`get_data`."""
        scan = _scan_of(data)
        reference = self.references.get(str(first_file(scan)))
        try:
            return _Loaded(
                read_scan(
                    scan,
                    form=self.form,
                    label_map=self.label_map,
                    reference=None if reference is None else _scan_of(reference),
                )
            )
        except SpatialQAError as error:
            return _Loaded(refusal=error.with_context(file=first_file(scan)))
        except MemoryError:
            refusal = FileReadError(
                "the voxels do not fit into memory",
                code="too_large",
                file=first_file(scan),
                found="out of memory",
                expected="memory for all voxels",
                next_step="measure it with sqa.measure, which streams NIfTI files",
            )
            return _Loaded(refusal=refusal)

    def get_data(self, img: _Loaded) -> tuple[Tensor, dict[str, Any]]:  # type: ignore[override]
        """The voxels as a tensor in the file's memory order, and the meta data.

        Returns:
            (X, Y, Z), or (X, Y, Z, L) with several layers or volumes.

        Raises:
            SpatialQAError: whatever made :meth:`read` refuse.
        """
        if img.refusal is not None:
            raise img.refusal
        assert img.scan is not None
        voxels = img.scan.voxels
        layers = 1 if voxels.ndim == 3 else voxels.shape[3]
        return torch.from_numpy(voxels), scan_meta(img.scan.geometry, layers=layers, names=img.scan.names)


def _scan_of(data: Any) -> Scan:
    paths = [Path(str(name)) for name in ensure_tuple(data)]
    return paths[0] if len(paths) == 1 else paths
