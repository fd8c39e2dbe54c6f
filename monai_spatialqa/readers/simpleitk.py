"""A MONAI ``ImageReader`` for NRRD, seg.nrrd, MetaImage and DICOM image series that refuses bad geometry."""

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
from numpy.typing import NDArray
from torch import Tensor

from monai_spatialqa.anatomy import LabelMap, load_label_map
from monai_spatialqa.errors import FileReadError, SpatialQAError
from monai_spatialqa.readers.meta import ScanGeometry, geometry_meta, segments_meta
from monai_spatialqa.readers.simpleitk_volume import format_of, read_sitk_volume

SUFFIXES = (".nrrd", ".nhdr", ".mha", ".mhd", ".dcm")

KIND_KEY = "spatialqa_kind"
"""Meta key that is ``"image"`` when the source can only be an image, never a label map."""

IMAGE = "image"


@dataclass(frozen=True)
class _Loaded:
    """What ``read`` hands to ``get_data``: the voxels, or the refusal that ``get_data`` has to raise."""

    geometry: ScanGeometry | None = None
    values: NDArray | None = None
    names: dict[int, str] | None = None
    image_only: bool = False
    refusal: SpatialQAError | None = None


class SimpleITKReader(ImageReader):
    """Reads NRRD, seg.nrrd, MetaImage and DICOM image series, for ``LoadImage(reader=SimpleITKReader())``.

    A DICOM series is a folder or a list of files. The format is told by content. The array keeps the stored type and
    the file's memory order; the affine is RAS mm whatever the file's space and unit. Lengths, checksums, spacing,
    directions and units are checked in the raw header, and the outcome travels in the meta data
    (``spatialqa_geometry``, see :func:`~monai_spatialqa.readers.meta.geometry_meta`).

    A seg.nrrd becomes (X, Y, Z), or (X, Y, Z, L) with several layers, with an id for each segment that is unique over
    all layers; the names travel in ``spatialqa_segments``. A DICOM series says ``spatialqa_kind: "image"``.

    ``LoadImage`` swallows what a reader raises in ``read`` and falls back to another reader; so the refusal is raised
    by ``get_data``.

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

    def read(self, data: Sequence[PathLike] | PathLike, **kwargs: Any) -> _Loaded:
        """Read one file, or one series; a refusal is kept for :meth:`get_data`."""
        paths = [Path(str(name)) for name in ensure_tuple(data)]
        source = paths[0] if len(paths) == 1 else paths
        try:
            values, geometry, names = read_sitk_volume(source, self.label_map, series_uid=self.series_uid)
            return _Loaded(geometry, values, names, image_only=format_of(source) == "dicom")
        except SpatialQAError as error:
            return _Loaded(refusal=error.with_context(file=paths[0]))
        except MemoryError:
            refusal = FileReadError(
                "the voxels do not fit into memory",
                code="too_large",
                file=paths[0],
                found="out of memory",
                expected="memory for all voxels",
                next_step="crop the scan, or use a machine with more memory",
            )
            return _Loaded(refusal=refusal)

    def get_data(self, img: _Loaded) -> tuple[Tensor, dict[str, Any]]:  # type: ignore[override]
        """The voxels as a tensor in the file's memory order, and the meta data.

        Returns:
            (X, Y, Z) or, with several layers, (X, Y, Z, L); stored type, unless ids needed a wider one.

        Raises:
            SpatialQAError: whatever made :meth:`read` refuse the source.
        """
        if img.refusal is not None:
            raise img.refusal
        geometry, values = img.geometry, img.values
        assert geometry is not None
        assert values is not None
        meta = {
            MetaKeys.AFFINE: geometry.affine.copy(),
            MetaKeys.ORIGINAL_AFFINE: geometry.affine.copy(),
            MetaKeys.SPATIAL_SHAPE: np.array(geometry.shape),
            MetaKeys.SPACE: SpaceKeys.RAS,
            MetaKeys.ORIGINAL_CHANNEL_DIM: float("nan") if values.ndim == 3 else -1,
            **geometry_meta(known=geometry.orientation_known, notes=geometry.notes),
            **({} if img.names is None else segments_meta(img.names)),
            **({KIND_KEY: IMAGE} if img.image_only else {}),
        }
        return torch.from_numpy(values), meta
