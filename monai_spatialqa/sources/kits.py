"""KiTS23: one folder a case with ``segmentation.nii.gz``, and ``imaging.nii.gz`` once it has been fetched."""

from __future__ import annotations

import re
from pathlib import Path

from monai_spatialqa.sources.data_set import DataSet, Listing
from monai_spatialqa.sources.layout import contents, locate, volumes

_CASE = re.compile(r"case_\d+")


def _case_folders(folder: Path) -> list[Path]:
    return [inner for inner in contents(folder)[1] if _CASE.fullmatch(inner.name)]


def _scan(data: DataSet, root: Path) -> Listing:
    expected = "folders case_00000 and so on, each with segmentation.nii.gz and imaging.nii.gz"
    listing = Listing(locate(data, root, lambda folder: bool(_case_folders(folder)), expected))
    for folder in _case_folders(listing.base):
        found = volumes(folder, listing)
        label, image = found.pop("segmentation", None), found.pop("imaging", None)
        if label is None:
            listing.skip("no segmentation.nii.gz", folder)
        else:
            listing.add("training", data.case(folder.name, label, image))
        listing.skip("neither segmentation nor imaging", *found.values())
    return listing


KITS23 = DataSet(
    name="kits23",
    title="KiTS23",
    licence="CC BY-NC-SA (version unverified)",
    reference="neheller/kits23@063d4c00afd383fc68145a00c0aa6a4e2a3c0f50 README.md (licence), "
    "@65463f1cb18f64666b9e28b48490d3c00a12b898 kits23/download.py (layout)",
    scan=_scan,
    channels=("CT",),
    modality="CT",
)
