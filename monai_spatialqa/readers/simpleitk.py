"""A MONAI ``ImageReader`` for NRRD, seg.nrrd, MetaImage and DICOM image series that refuses bad geometry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from monai.config import PathLike
from monai.utils import ensure_tuple

from monai_spatialqa.anatomy import LabelMap, load_label_map
from monai_spatialqa.readers.image_reader import RefusingReader
from monai_spatialqa.readers.meta import LoadedScan
from monai_spatialqa.readers.simpleitk_volume import format_of, read_sitk_volume

SUFFIXES = (".nrrd", ".nhdr", ".mha", ".mhd", ".dcm")


class SimpleITKReader(RefusingReader):
    """Reads NRRD, seg.nrrd, MetaImage and DICOM image series, for ``LoadImage(reader=SimpleITKReader())``.

    A DICOM series is a folder or a list of files. The format is told by content. The array keeps the stored type and
    the file's memory order; the affine is RAS mm whatever the file's space and unit. Lengths, checksums, spacing,
    directions and units are checked in the raw header, and the outcome travels in the meta data
    (``spatialqa_geometry``, see :func:`~monai_spatialqa.readers.meta.geometry_meta`).

    A seg.nrrd becomes (X, Y, Z), or (X, Y, Z, L) with several layers, with an id for each segment that is unique over
    all layers; the names travel in ``spatialqa_segments``. A DICOM series says ``spatialqa_kind: "image"``.

    Args:
        structures: label map (name, path, mapping or :class:`~monai_spatialqa.anatomy.LabelMap`) that gives the
            segments of a seg.nrrd their ids, by name. Other files keep their ids.
        series_uid: the DICOM series to take where a folder has several.

    Raises:
        SpatialQAError: from ``get_data``; see :func:`~monai_spatialqa.readers.simpleitk_volume.read_sitk_volume`.
        LabelMapError: for an unusable label map, at construction.
    """

    def __init__(
        self,
        structures: str | Path | Mapping[Any, Any] | LabelMap | None = None,
        series_uid: str | None = None,
    ) -> None:
        super().__init__()
        self.label_map = None if structures is None else load_label_map(structures)
        self.series_uid = series_uid

    def __repr__(self) -> str:
        name = None if self.label_map is None else self.label_map.name
        return f"SimpleITKReader(structures={name!r}, series_uid={self.series_uid!r})"

    def verify_suffix(self, filename: Sequence[PathLike] | PathLike) -> bool:
        """Whether every name ends like one of the formats, or is a folder."""
        names = [str(name) for name in ensure_tuple(filename)]
        return all(name.lower().endswith(SUFFIXES) or Path(name).is_dir() for name in names)

    def load(self, paths: Sequence[Path]) -> LoadedScan:
        """Read one file, or one series: (X, Y, Z) or, with several layers, (X, Y, Z, L)."""
        source = paths[0] if len(paths) == 1 else paths
        voxels, geometry, names = read_sitk_volume(source, self.label_map, series_uid=self.series_uid)
        return LoadedScan(voxels, geometry, names, image_only=format_of(source) == "dicom")
