"""A MONAI ``ImageReader`` for DICOM segmentations: overlaps kept, grid from the positions of the frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from monai.config import PathLike
from monai.utils import ensure_tuple

from monai_spatialqa.anatomy import LabelMap, load_label_map
from monai_spatialqa.errors import FileReadError
from monai_spatialqa.readers.dicom_files import dicom_kind
from monai_spatialqa.readers.dicom_reference import Reference
from monai_spatialqa.readers.dicom_seg_volume import check_threshold, read_dicom_seg
from monai_spatialqa.readers.image_reader import RefusingReader, single
from monai_spatialqa.readers.meta import LoadedScan


class DicomSegReader(RefusingReader):
    """Reads DICOM SEG for ``LoadImage(reader=DicomSegReader(), dtype=None, ensure_channel_first=True)``.

    The array holds ids: (X, Y, Z), or (X, Y, Z, L) with the segments of one layer apart from those they overlap, and
    the affine is RAS mm. The names of all segments that the file describes travel in the meta data, see
    :func:`~monai_spatialqa.readers.meta.segments_meta`; so does what was decided while reading.

    Needs the extra ``[dicom]``.

    Args:
        structures: name, path or mapping of a label map, whose ids the segments of its names get. Default: the segment
            numbers are the ids.
        fractional_threshold: a pixel of a FRACTIONAL file counts from this share of the maximum on.
        reference: the image that was segmented, whose grid and field of view then count; see
            :func:`~monai_spatialqa.readers.dicom_seg_volume.read_dicom_seg`.

    Raises:
        LabelMapError: at construction, when the structures are unusable.
        SettingsError: at construction, when the threshold is.
        SpatialQAError: from ``get_data``; see :func:`~monai_spatialqa.readers.dicom_seg_volume.read_dicom_seg`.
    """

    def __init__(
        self,
        structures: str | Path | Mapping[Any, Any] | LabelMap | None = None,
        fractional_threshold: float = 0.5,
        reference: Reference | None = None,
    ) -> None:
        super().__init__()
        self.label_map = None if structures is None else load_label_map(structures)
        self.fractional_threshold = check_threshold(fractional_threshold)
        self.reference = reference

    def __repr__(self) -> str:
        structures = None if self.label_map is None else f"<{len(self.label_map)} of {self.label_map.name}>"
        return (
            f"DicomSegReader(structures={structures}, fractional_threshold={self.fractional_threshold}, "
            f"reference={self.reference!r})"
        )

    def verify_suffix(self, filename: Sequence[PathLike] | PathLike) -> bool:
        """Whether every file is a DICOM segmentation, by its content: DICOM files may have any name."""
        try:
            return all(dicom_kind(str(name)) == "segmentation" for name in ensure_tuple(filename))
        except FileReadError:
            return False

    def load(self, paths: Sequence[Path]) -> LoadedScan:
        """Read one file: (X, Y, Z) or, with overlapping segments, (X, Y, Z, L)."""
        volume = read_dicom_seg(
            single(paths, "segmentation"),
            label_map=self.label_map,
            fractional_threshold=self.fractional_threshold,
            reference=self.reference,
        )
        return LoadedScan(volume.voxels, volume.geometry, volume.names)
