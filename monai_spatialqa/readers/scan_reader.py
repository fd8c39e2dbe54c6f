"""A MONAI ``ImageReader`` for scans of any format read here: NIfTI, NRRD, MetaImage, DICOM, folders of masks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from monai.config import PathLike
from monai.utils import ensure_tuple

from monai_spatialqa.anatomy import LabelMap, load_label_map
from monai_spatialqa.errors import SpatialQAError
from monai_spatialqa.readers.image_reader import RefusingReader
from monai_spatialqa.readers.meta import LoadedScan
from monai_spatialqa.readers.nifti_header import Form
from monai_spatialqa.readers.scans import Scan, read_scan, scan_kind


class ScanReader(RefusingReader):
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

    def load(self, paths: Sequence[Path]) -> LoadedScan:
        """Read one scan: (X, Y, Z), or (X, Y, Z, L) with several layers or volumes."""
        reference = self.references.get(str(paths[0]))
        return read_scan(
            _scan_of(paths),
            form=self.form,
            label_map=self.label_map,
            reference=None if reference is None else _scan_of(reference),
        )


def _scan_of(data: Any) -> Scan:
    paths = [Path(str(name)) for name in ensure_tuple(data)]
    return paths[0] if len(paths) == 1 else paths
