"""From a compressed NIfTI file to a record, and from a file to an array.

No row writes anything; the file is in the system's page cache.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tests.benchmarks.array_rows import THREADS, cc3d_facts, label_shapes, regionprops_facts
from tests.benchmarks.facts import Facts
from tests.benchmarks.rows import Prepare, Row, Table

INFLATE_BYTES = 1 << 20
TARGET_SPACING_MM = 1.5


def inflate(path: Path) -> Callable[[], None]:
    """The limit: ISA-L inflates the file into one small buffer."""
    from isal import igzip

    buffer = bytearray(INFLATE_BYTES)

    def call() -> None:
        with path.open("rb") as plain, igzip.IGzipFile(fileobj=plain, mode="rb") as stream:
            while stream.readinto(buffer):
                pass

    return call


def record(*, ahead: bool) -> Prepare:
    """``sqa.measure``, in this process: file to record, band and look-up of centroids included."""

    def prepare(path: Path) -> Callable[[], Facts]:
        from monai_spatialqa.measurement.case import CaseFiles, measure_case
        from monai_spatialqa.measurement.options import MeasureOptions
        from monai_spatialqa.records import Case

        files = CaseFiles(Case(case_id="case", label=path.name, image=None), path.parent)
        return lambda: _facts_of(measure_case(files, MeasureOptions(), ahead=ahead))

    return prepare


def _facts_of(measurement: Any) -> Facts:
    # Boxes of a record are in the RAS grid; counts tell whether the voxels were read alike.
    structures = list(measurement.structures.values())
    return Facts(
        np.array([structure.label for structure in structures]),
        np.array([structure.voxel_count for structure in structures]),
    )


def _counts(facts: Facts) -> Facts:
    return Facts(facts.labels, facts.count)


def simpleitk(path: Path) -> Callable[[], Facts]:
    """SimpleITK ``ReadImage`` and LabelShapeStatistics, perimeter off."""
    import SimpleITK as sitk

    sitk.ProcessObject.SetGlobalDefaultNumberOfThreads(THREADS)
    return lambda: _counts(label_shapes(sitk.ReadImage(str(path)), perimeter=False))


def _dataobj(path: Path) -> Any:
    import nibabel as nib

    return np.asanyarray(nib.Nifti1Image.from_filename(path).dataobj)


def nibabel_cc3d(path: Path) -> Callable[[], Facts]:
    """nibabel and ``cc3d.statistics``."""
    return lambda: _counts(cc3d_facts(_dataobj(path)))


def nibabel_regionprops(path: Path) -> Callable[[], Facts]:
    """nibabel and ``regionprops_table``."""
    return lambda: _counts(regionprops_facts(_dataobj(path)))


def monai_load_orient_space(path: Path) -> Callable[[], Any]:
    """What a MONAI pipeline does before it measures anything."""
    from monai.transforms import Compose, LoadImaged, Orientationd, Spacingd

    chain = Compose(
        [
            LoadImaged("label", ensure_channel_first=True),
            Orientationd("label", "RAS", labels=None),
            Spacingd("label", (TARGET_SPACING_MM,) * 3, mode="nearest"),
        ]
    )
    return lambda: _discard(chain({"label": str(path)}))


def our_reader(path: Path) -> Callable[[], Any]:
    """Our reader through ``LoadImage``, stored type."""
    from monai.transforms import LoadImage

    from monai_spatialqa.readers import NiftiReader

    load = LoadImage(reader=NiftiReader(), dtype=None, ensure_channel_first=True)
    return lambda: _discard(load(str(path)))


def _discard(_: Any) -> None:
    """Drop the array inside the clock: giving memory back is part of having asked for it."""


def nibabel_array(path: Path) -> Callable[[], Any]:
    """nibabel, stored type."""
    return lambda: _discard(_dataobj(path))


def simpleitk_image(path: Path) -> Callable[[], Any]:
    """SimpleITK, stored type."""
    import SimpleITK as sitk

    return lambda: _discard(sitk.ReadImage(str(path)))


def monai_load_image(path: Path) -> Callable[[], Any]:
    """MONAI's ``LoadImage`` as people call it."""
    from monai.transforms import LoadImage

    load = LoadImage(ensure_channel_first=True)
    return lambda: _discard(load(str(path)))


_INFLATE = Row("inflate", "isal, inflate alone (limit)", inflate)

FILE = Table(
    name="file",
    title="from .nii.gz to a record",
    rows=(
        _INFLATE,
        Row("measure", "ours, file to record", record(ahead=True)),
        Row("measure-alone", "ours, without the read-ahead thread", record(ahead=False)),
        Row("simpleitk-file", f"SimpleITK read + LabelShape, perimeter off, {THREADS} threads", simpleitk),
        Row("nibabel-cc3d", "nibabel + cc3d.statistics", nibabel_cc3d, needs=("cc3d",)),
        Row("nibabel-regionprops", "nibabel + regionprops_table", nibabel_regionprops),
        Row(
            "monai-chain",
            "MONAI LoadImaged + Orientationd + Spacingd(1.5 mm) alone",
            monai_load_orient_space,
            sizes=frozenset({"Q", "M"}),
            repeats=1,
        ),
    ),
    references=("inflate", "measure"),
    ours="measure",
    oracle="measure",
)

READ = Table(
    name="read",
    title="from .nii.gz to an array",
    rows=(
        _INFLATE,
        Row("reader", "ours, LoadImage(reader=NiftiReader(), dtype=None)", our_reader),
        Row("nibabel", "nibabel, dataobj", nibabel_array),
        Row("simpleitk-read", "SimpleITK ReadImage", simpleitk_image),
        Row("monai-load", "MONAI LoadImage", monai_load_image, repeats=1),
    ),
    references=("inflate", "reader"),
    ours="reader",
)
