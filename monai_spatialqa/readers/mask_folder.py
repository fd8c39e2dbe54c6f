"""A MONAI ``ImageReader`` for a folder of one mask per structure."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from monai.config import PathLike
from monai.utils import ensure_tuple

from monai_spatialqa.anatomy import LabelMap, load_label_map
from monai_spatialqa.readers.image_reader import RefusingReader
from monai_spatialqa.readers.masks import is_mask
from monai_spatialqa.readers.meta import LoadedScan
from monai_spatialqa.readers.nifti_header import Form
from monai_spatialqa.readers.scans import read_mask_layers


class MaskFolderReader(RefusingReader):
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

    def load(self, paths: Sequence[Path]) -> LoadedScan:
        """Read all masks: (X, Y, Z), or (X, Y, Z, L) where structures share voxels."""
        source = paths[0] if len(paths) == 1 and not is_mask(paths[0]) else paths
        return read_mask_layers(source, form=self.form, label_map=self.label_map)
