"""What a case card is drawn from: the voxels of a case, its structures' ids, and the edges of their boxes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from monai_spatialqa.anatomy import LabelMap
from monai_spatialqa.readers.nifti_header import Form
from monai_spatialqa.readers.scans import Scan, read_scan
from monai_spatialqa.records import Measurement, Structure

STRUCTURE, OTHER, REST = 1, 2, 3
"""What a card's label map holds: the structure, the other one of a pair, everything else."""


@dataclass(frozen=True, eq=False)
class CardVoxels:
    """The volumes of a case, as stored.

    Attributes:
        labels: (X, Y, Z) or (X, Y, Z, layers) ids.
        affine: (4, 4) voxel index to RAS mm.
        image: (X, Y, Z) intensities on the same grid; None without an image, or with one on another grid.
    """

    labels: NDArray[np.generic]
    affine: NDArray[np.float64]
    image: NDArray[np.generic] | None

    @classmethod
    def read(
        cls, label: Scan, image: Path | None, *, form: Form | None = None, label_map: LabelMap | None = None
    ) -> CardVoxels:
        """Read the files of a case.

        Args:
            label: its label map: a file, a folder, or mask files.
            image: its image.
            form: take this NIfTI form where a header contradicts itself.
            label_map: gives structures that the file names itself the ids of its names.

        Raises:
            SpatialQAError: a file cannot be read; the message names it.
        """
        found = read_scan(label, form=form, label_map=label_map, reference=image)
        affine = found.geometry.affine
        voxels = None
        if image is not None:
            scan = read_scan(image, form=form)
            fits = scan.geometry.shape == found.geometry.shape and np.allclose(scan.geometry.affine, affine, atol=1e-3)
            voxels = scan.voxels if fits and scan.voxels.ndim == 3 else None
        return cls(found.voxels, affine, voxels)

    def painted(self, structure: Sequence[int], other: Sequence[int] = ()) -> NDArray[np.uint8]:
        """The two structures of a card, on top of everything else, whatever layer each lies in."""
        labels = np.rint(self.labels).astype(np.int64) if self.labels.dtype.kind == "f" else self.labels
        layers = labels[..., None] if labels.ndim == 3 else labels
        painted = np.where((layers != 0).any(axis=3), np.uint8(REST), np.uint8(0))
        for ids, value in ((other, OTHER), (structure, STRUCTURE)):
            painted[np.isin(layers, list(ids)).any(axis=3)] = value
        return painted


def structure_ids(record: Measurement, name: str) -> list[int]:
    """Ids of a structure's voxels: its own, or those of the structures it unites."""
    structure = record.structures[name]
    ids = [record.structures[member].label for member in structure.union_of or ()] or [structure.label]
    return [label for label in ids if label is not None]


def box_edge(record: Measurement, structure: Structure, axis: int) -> list[list[float]] | None:
    """The line through a box's centre along its edge, RAS mm.

    Args:
        record: the case.
        structure: one of its structures.
        axis: of the RAS grid; of the world when the grid is sheared.

    Returns:
        Its two ends; None where the structure has no place.
    """
    box, geometry = structure.box, record.geometry
    if box is None or box.center_ras_mm is None or geometry is None or geometry.affine_ras_mm is None:
        return None
    along = np.eye(3)[axis] if geometry.sheared else np.array([row[axis] for row in geometry.affine_ras_mm])
    half = along / np.linalg.norm(along) * box.extent_mm[axis] / 2
    return [(np.array(box.center_ras_mm) + sign * half).tolist() for sign in (-1, 1)]
