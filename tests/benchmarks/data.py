"""The volumes that are measured: seeded label maps of known make, as arrays and as NIfTI files on disk.

They are made once per run, in a folder; the row processes read them from there.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

SIZES: dict[str, tuple[int, int, int]] = {
    "Q": (96, 80, 40),  # only to see that everything runs
    "S": (256, 256, 256),
    "R": (300, 300, 400),
    "M": (512, 512, 400),
    "L": (512, 512, 800),
}

TINY = (48, 48, 24)
"""Shape of the volume a row is warmed up on, before its memory is watched."""

SPACING_MM = (0.8, 0.8, 1.5)

CT_NOISE_HU = 25.0


@dataclass(frozen=True)
class Dataset:
    """A label map of ``label_count`` blobs that fill 16 % of the volume."""

    size: str
    label_count: int
    dtype: str = ""

    @property
    def shape(self) -> tuple[int, int, int]:
        """Voxels along the three axes."""
        return SIZES[self.size]

    @property
    def kind(self) -> np.dtype[Any]:
        """Voxel type: the one asked for, else the smallest unsigned one."""
        return np.dtype(self.dtype) if self.dtype else np.min_scalar_type(self.label_count)

    @property
    def nbytes(self) -> int:
        """Size of the array."""
        return int(np.prod(self.shape)) * self.kind.itemsize

    @property
    def name(self) -> str:
        """For JSON and file names."""
        return f"{self.size}-{self.label_count}-{self.kind.name}"

    @property
    def title(self) -> str:
        """Heading of a table."""
        x, y, z = self.shape
        return f"{self.size} = {x}x{y}x{z} {self.kind.name}, {self.label_count} labels"


def make(shape: tuple[int, int, int], dataset: Dataset, seed: int = 0) -> NDArray:
    """The label map, Fortran-ordered as a NIfTI file is read."""
    from monai_spatialqa.phantoms import make_label_map

    return make_label_map(shape, dataset.label_count, foreground=0.16, seed=seed, dtype=dataset.kind)


def tiny(dataset: Dataset) -> NDArray:
    """A small volume of the same type, for warming up."""
    return make(TINY, Dataset(dataset.size, min(dataset.label_count, 10), dataset.kind.name))


class Store:
    """The folder the volumes lie in; whatever is asked for is made on first use.

    Args:
        folder: where.
        keep: never delete anything.
    """

    def __init__(self, folder: Path, *, keep: bool) -> None:
        self.folder = folder
        self._keep = keep
        folder.mkdir(parents=True, exist_ok=True)

    def array(self, dataset: Dataset) -> Path:
        """``.npy`` of a label map."""
        path = self.folder / f"{dataset.name}.npy"
        if not path.exists():
            np.save(path, make(dataset.shape, dataset))
        return path

    def forget(self, dataset: Dataset) -> None:
        """Delete an array that is not needed again."""
        if not self._keep:
            self.array(dataset).unlink()

    def label_file(self, dataset: Dataset, seed: int = 0) -> Path:
        """``.nii.gz`` of a label map, compressed as nibabel does it, in the common left-posterior orientation."""
        path = self.folder / f"{dataset.name}-{seed}.nii.gz"
        if not path.exists():
            self._save(path, make(dataset.shape, dataset, seed))
        return path

    def ct_file(self, size: str) -> Path:
        """``.nii.gz`` of an int16 CT with noise, which compresses badly."""
        path = self.folder / f"{size}-ct.nii.gz"
        if not path.exists():
            rng = np.random.default_rng(0)
            body = np.where(make(SIZES[size], Dataset(size, 10)) > 0, np.int16(60), np.int16(-80))
            for plane in range(body.shape[2]):
                body[..., plane] += rng.normal(0, CT_NOISE_HU, body.shape[:2]).round().astype(np.int16)
            self._save(path, body)
        return path

    def tiny_file(self, dataset: Dataset) -> Path:
        """``.nii.gz`` for warming up."""
        path = self.folder / f"tiny-{dataset.name}.nii.gz"
        if not path.exists():
            self._save(path, tiny(dataset))
        return path

    def _save(self, path: Path, array: NDArray) -> None:
        import nibabel as nib

        affine = np.diag([-SPACING_MM[0], -SPACING_MM[1], SPACING_MM[2], 1.0])
        affine[:3, 3] = 200.0, 180.0, -300.0
        image = nib.Nifti1Image(array, affine)
        image.header.set_xyzt_units("mm")
        partial = path.with_name(f"part-{path.name}")
        nib.save(image, partial)
        partial.rename(path)
