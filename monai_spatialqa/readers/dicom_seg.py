"""A MONAI ``ImageReader`` for DICOM segmentations: overlaps kept, grid from the positions of the frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from monai.config import PathLike
from monai.data import ImageReader
from monai.utils import MetaKeys, SpaceKeys, ensure_tuple
from torch import Tensor

from monai_spatialqa.anatomy import LabelMap, load_label_map
from monai_spatialqa.errors import FileReadError, SpatialQAError
from monai_spatialqa.readers.dicom_files import dicom_kind
from monai_spatialqa.readers.dicom_reference import Reference
from monai_spatialqa.readers.dicom_seg_volume import DicomSegVolume, check_threshold, read_dicom_seg
from monai_spatialqa.readers.meta import geometry_meta, segments_meta


@dataclass(frozen=True)
class _Loaded:
    """What ``read`` hands to ``get_data``: the volume, or the refusal that ``get_data`` has to raise."""

    volume: DicomSegVolume | None = None
    refusal: SpatialQAError | None = None


class DicomSegReader(ImageReader):
    """Reads DICOM SEG for ``LoadImage(reader=DicomSegReader(), dtype=None, ensure_channel_first=True)``.

    The array holds ids: (X, Y, Z), or (X, Y, Z, L) with the segments of one layer apart from those they overlap, and
    the affine is RAS mm. The names of all segments that the file describes travel in the meta data, see
    :func:`~monai_spatialqa.readers.meta.segments_meta`; so does what was decided while reading.

    ``LoadImage`` swallows what a reader raises in ``read`` and falls back to another reader; so the refusal is raised
    by ``get_data``. Needs the extra ``[dicom]``.

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

    def read(self, data: Sequence[PathLike] | PathLike, **kwargs: Any) -> _Loaded:
        """Read one file; a refusal is kept for :meth:`get_data`."""
        names = ensure_tuple(data)
        path = Path(str(names[0]))
        if len(names) != 1:
            refusal: SpatialQAError = FileReadError(
                "one file is one segmentation",
                file=path,
                found=f"{len(names)} files",
                expected="1 file",
                next_step="load the files one by one",
            )
            return _Loaded(refusal=refusal)
        try:
            volume = read_dicom_seg(
                path,
                label_map=self.label_map,
                fractional_threshold=self.fractional_threshold,
                reference=self.reference,
            )
        except SpatialQAError as error:
            return _Loaded(refusal=error)
        except MemoryError:
            refusal = FileReadError(
                "the voxels do not fit into memory",
                code="too_large",
                file=path,
                found="out of memory",
                expected="memory for every layer of voxels",
                next_step="write the segments into several files",
            )
            return _Loaded(refusal=refusal)
        return _Loaded(volume)

    def get_data(self, img: _Loaded) -> tuple[Tensor, dict[str, Any]]:  # type: ignore[override]
        """The ids as a tensor in the order of the frames' memory, and the meta data.

        Returns:
            (X, Y, Z) or, with overlapping segments, (X, Y, Z, L); the smallest unsigned type that holds the ids.

        Raises:
            SpatialQAError: whatever made :meth:`read` refuse the file.
        """
        if img.refusal is not None:
            raise img.refusal
        assert img.volume is not None
        voxels, geometry = img.volume.voxels, img.volume.geometry
        meta = {
            MetaKeys.AFFINE: geometry.affine.copy(),
            MetaKeys.ORIGINAL_AFFINE: geometry.affine.copy(),
            MetaKeys.SPATIAL_SHAPE: np.array(geometry.shape),
            MetaKeys.SPACE: SpaceKeys.RAS,
            MetaKeys.ORIGINAL_CHANNEL_DIM: float("nan") if voxels.ndim == 3 else -1,
            **geometry_meta(known=geometry.orientation_known, notes=geometry.notes),
            **segments_meta(img.volume.names),
        }
        return torch.from_numpy(voxels), meta
