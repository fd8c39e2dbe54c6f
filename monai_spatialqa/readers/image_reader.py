"""What all readers share: how a scan, or the refusal to read it, gets through MONAI's ``LoadImage``."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from monai.config import PathLike
from monai.data import ImageReader
from monai.utils import MetaKeys, SpaceKeys, ensure_tuple
from torch import Tensor

from monai_spatialqa.errors import FileReadError, SpatialQAError
from monai_spatialqa.readers.meta import LoadedScan, geometry_meta, kind_meta, segments_meta


@dataclass(frozen=True)
class Outcome:
    """What ``read`` hands to ``get_data``: the scan, or the refusal that ``get_data`` has to raise."""

    scan: LoadedScan | None = None
    refusal: SpatialQAError | None = None


class RefusingReader(ImageReader):
    """Base of the readers.

    ``LoadImage`` swallows what a reader raises in ``read`` and falls back to another reader, which may load the bad
    file in silence; so ``read`` keeps a refusal, and ``get_data`` raises it.
    """

    @abstractmethod
    def load(self, paths: Sequence[Path]) -> LoadedScan:
        """Read one scan from the paths that ``LoadImage`` was given.

        Raises:
            SpatialQAError: it cannot be read without guessing.
        """

    def read(self, data: Sequence[PathLike] | PathLike, **kwargs: Any) -> Outcome:
        """Read one scan; a refusal is kept for :meth:`get_data`."""
        paths = [Path(str(name)) for name in ensure_tuple(data)]
        try:
            return Outcome(self.load(paths))
        except SpatialQAError as error:
            return Outcome(refusal=error.with_context(file=paths[0]))
        except MemoryError:
            refusal = FileReadError(
                "the voxels do not fit into memory",
                code="too_large",
                file=paths[0],
                found="out of memory",
                expected="memory for all voxels",
                next_step="measure NIfTI files and folders of masks with sqa.measure, which does not hold them",
            )
            return Outcome(refusal=refusal)

    def get_data(self, img: Outcome) -> tuple[Tensor, dict[str, Any]]:  # type: ignore[override]
        """The voxels as a tensor in the file's memory order, and the meta data.

        Returns:
            (X, Y, Z) or, with several layers or volumes, (X, Y, Z, L).

        Raises:
            SpatialQAError: whatever made :meth:`read` refuse.
        """
        if img.refusal is not None:
            raise img.refusal
        assert img.scan is not None
        return torch.from_numpy(img.scan.voxels), scan_meta(img.scan)


def scan_meta(scan: LoadedScan) -> dict[str, Any]:
    """The meta data that go with the voxels of a scan."""
    geometry = scan.geometry
    return {
        MetaKeys.AFFINE: geometry.affine.copy(),
        MetaKeys.ORIGINAL_AFFINE: geometry.affine.copy(),
        MetaKeys.SPATIAL_SHAPE: np.array(geometry.shape),
        MetaKeys.SPACE: SpaceKeys.RAS,
        MetaKeys.ORIGINAL_CHANNEL_DIM: float("nan") if scan.voxels.ndim == 3 else -1,
        **geometry_meta(known=geometry.orientation_known, notes=geometry.notes),
        **({} if scan.names is None else segments_meta(scan.names)),
        **(kind_meta() if scan.image_only else {}),
    }


def single(paths: Sequence[Path], what: str) -> Path:
    """The one path that a format of one file takes.

    Raises:
        FileReadError: several.
    """
    if len(paths) == 1:
        return paths[0]
    raise FileReadError(
        f"one file is one {what}",
        file=paths[0],
        found=f"{len(paths)} files",
        expected="1 file",
        next_step="load the files one by one",
    )
