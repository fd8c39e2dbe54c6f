"""From a folder of one mask per structure to a record, and to an array; the table of its own, and what it promises."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tests.benchmarks.array_rows import label_shapes
from tests.benchmarks.data import SIZES, make
from tests.benchmarks.facts import Facts
from tests.benchmarks.file_rows import _counts, record
from tests.benchmarks.rows import Row, Table

if TYPE_CHECKING:
    from tests.benchmarks.bench import Bench

SIZE = "S"


def measure(bench: Bench) -> None:
    """The table, at one size: what grows with the volume is told by the table of files."""
    if not bench.wanted.table(FOLDER):
        return
    size = bench.wanted.sizes[0] if bench.wanted.quick else SIZE
    dataset = bench._file_dataset(size)
    folder = bench.store.folder / f"{dataset.name}-masks"
    if not folder.exists():
        folder.mkdir()
        array = make(SIZES[size], dataset)
        for label in range(1, dataset.label_count + 1):
            bench.store._save(folder / f"s{label:03}.nii.gz", (array == label).astype(np.uint8))
    bench._table(FOLDER, dataset, f"{dataset.title}, one mask per structure", folder, folder, dataset.nbytes)


def our_record(path: Path) -> Callable[[], Facts]:
    """``sqa.measure`` of the folder: one mask after the other, as runs."""
    return record(ahead=True)(path)


def our_reader(path: Path) -> Callable[[], Any]:
    """The folder as layers, through ``LoadImage``."""
    from monai.transforms import LoadImage

    from monai_spatialqa.readers import MaskFolderReader

    load = LoadImage(reader=MaskFolderReader(), dtype=None, ensure_channel_first=True)

    def call() -> None:
        load(str(path))

    return call


def merged_by_nibabel(path: Path) -> Callable[[], Facts]:
    """nibabel reads every mask into one label map (where masks overlap, the last one wins); SimpleITK measures it."""
    import nibabel as nib
    import SimpleITK as sitk

    files = sorted(path.iterdir())

    def call() -> Facts:
        merged: Any = None
        for label, file in enumerate(files, 1):
            mask = np.asanyarray(nib.Nifti1Image.from_filename(file).dataobj)
            merged = np.zeros(mask.shape, np.uint8, order="F") if merged is None else merged
            merged[mask > 0] = label
        return _counts(label_shapes(sitk.GetImageFromArray(merged.T), perimeter=False))

    return call


FOLDER = Table(
    name="folder",
    title="from a folder of masks to a record",
    rows=(
        Row("folder", "ours, folder to record", our_record, repeats=3),
        Row("folder-reader", "ours, folder to layers through LoadImage", our_reader, repeats=3),
        Row("folder-merged", "nibabel, merged, SimpleITK LabelShape", merged_by_nibabel, repeats=3),
    ),
    references=("folder",),
    ours="folder",
    oracle="folder",
)
