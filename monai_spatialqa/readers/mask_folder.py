"""A MONAI ``ImageReader`` for a folder of one mask per structure."""

from __future__ import annotations

from collections.abc import Sequence
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
from monai_spatialqa.readers.masks import is_mask
from monai_spatialqa.readers.nifti_header import Form
from monai_spatialqa.readers.scans import LoadedScan, read_mask_layers


@dataclass(frozen=True)
class _Loaded:
    """What ``read`` hands to ``get_data``: the layers, or the refusal that ``get_data`` has to raise."""

    scan: LoadedScan | None = None
    refusal: SpatialQAError | None = None


class MaskFolderReader(ImageReader):
    """Reads a folder (or a list) of mask files, one structure each, as few layers of ids.

    For ``LoadImage(reader=MaskFolderReader("totalsegmentator_v2"), dtype=None, ensure_channel_first=True)``, which
    takes the folder in place of a file. A structure is called like its mask. Structures that share voxels come to lie
    in different layers, so nothing is overwritten; without overlaps there is one layer. Ids are those of the label
    map, see :func:`~monai_spatialqa.readers.segments.assign_ids`; a structure without a file is ``not_segmented`` when
    measured, one whose mask is empty is ``absent``.

    Args:
        structures: label map that gives the ids: shipped name, file, mapping or LabelMap; None numbers the files.
        form: take this NIfTI form where a header contradicts itself.

    Raises:
        SpatialQAError: from ``get_data``: no masks, a mask that is unreadable or holds several values, masks on
            different grids; the message names the file.
    """

    def __init__(self, structures: Any = None, form: Form | None = None) -> None:
        super().__init__()
        self.label_map: LabelMap | None = None if structures is None else load_label_map(structures)
        self.form: Form | None = form

    def __repr__(self) -> str:
        return f"MaskFolderReader(structures={self.label_map!r}, form={self.form!r})"

    def verify_suffix(self, filename: Sequence[PathLike] | PathLike) -> bool:
        """Whether this is a folder, or a list of mask files."""
        paths = [Path(str(name)) for name in ensure_tuple(filename)]
        return all(map(is_mask, paths)) or (len(paths) == 1 and paths[0].is_dir())

    def read(self, data: Sequence[PathLike] | PathLike, **kwargs: Any) -> _Loaded:
        """Read all masks; a refusal is kept for :meth:`get_data`."""
        paths = [Path(str(name)) for name in ensure_tuple(data)]
        try:
            source = paths[0] if len(paths) == 1 and not is_mask(paths[0]) else paths
            return _Loaded(read_mask_layers(source, form=self.form, label_map=self.label_map))
        except SpatialQAError as error:
            return _Loaded(refusal=error.with_context(file=paths[0]))
        except MemoryError:
            refusal = FileReadError(
                "the masks do not fit into memory",
                code="too_large",
                file=paths[0],
                found="out of memory",
                expected="memory for every layer",
                next_step="measure the folder with sqa.measure, which does not hold the voxels",
            )
            return _Loaded(refusal=refusal)

    def get_data(self, img: _Loaded) -> tuple[Tensor, dict[str, Any]]:  # type: ignore[override]
        """The layers and the meta data.

        Returns:
            (X, Y, Z), or (X, Y, Z, L) where structures share voxels; the smallest unsigned type that holds the ids.

        Raises:
            SpatialQAError: whatever made :meth:`read` refuse.
        """
        if img.refusal is not None:
            raise img.refusal
        assert img.scan is not None
        voxels = img.scan.voxels
        layers = 1 if voxels.ndim == 3 else voxels.shape[3]
        return torch.from_numpy(voxels), scan_meta(img.scan.geometry, layers=layers, names=img.scan.names)
