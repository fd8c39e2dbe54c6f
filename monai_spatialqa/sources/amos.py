"""AMOS22: ``imagesTr``/``labelsTr`` and ``imagesVa``/``labelsVa``; CT and MR are told apart by their numbers."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal

from monai_spatialqa.sources.data_set import DataSet, Listing
from monai_spatialqa.sources.layout import locate, read_dataset_json, volumes
from monai_spatialqa.sources.pairing import check_labels, has_folder, pairs_of, skip_test_images

_FOLDERS = {"Tr": "training", "Va": "validation"}
_NAME = re.compile(r"amos_(\d+)", re.IGNORECASE)
_MR_NUMBERS = range(501, 601)
_MR_REMARK = (
    "MR: bladder and prostate or uterus are said to be unlabelled (unverified), so absent may mean not looked for"
)


def modality_of(number: int) -> Literal["CT", "MR"]:
    """CT or MR, by the number in the file's name.

    The readme of the data draws the line at 500 ("less than 500 belong to CT, otherwise MRI"), but number 500 is a CT:
    neuro-ml/amid@4a790218554d45d7785157a57b5545ccfd4d1ace amid/amos/dataset.py takes 501 to 600 as MR. Unlabelled
    scans with higher numbers are CT.
    """
    return "MR" if number in _MR_NUMBERS else "CT"


def _scan(data: DataSet, root: Path) -> Listing:
    expected = "labelsTr and imagesTr, labelsVa and imagesVa, with amos_0001.nii.gz and so on"
    listing = Listing(locate(data, root, has_folder("labelsTr", "labelsVa"), expected))
    description = listing.base / "dataset.json"
    if description.is_file():
        content = read_dataset_json(description)
        if "labels" in content:
            check_labels(data, description, content)
    for ending, section in _FOLDERS.items():
        for stem, (label, image) in pairs_of(listing, ending).items():
            match = _NAME.fullmatch(stem)
            if match is None:
                listing.skip("not called amos_<number>: CT or MR is not known", label)
                continue
            modality = modality_of(int(match.group(1)))
            listing.add(section, data.case(stem, label, image, modality=modality))
            if modality == "MR":
                listing.note(_MR_REMARK, stem)
    skip_test_images(listing)
    if (listing.base / "labelsTs").is_dir():
        listing.skip(
            "label of the test set, which the release leaves out", *volumes(listing.base / "labelsTs", listing).values()
        )
    return listing


AMOS22 = DataSet(
    name="amos22",
    title="AMOS22",
    licence="contradictory: CC BY-SA 4.0 in dataset.json, CC BY 4.0 on Zenodo (as quoted by others)",
    reference="JiYuanFeng/AMOS@5b6e658266683e57df587e986008ea8ed2ba3072",
    scan=_scan,
    channels=("CT or MR, see each case",),
    sections=tuple(_FOLDERS.values()),
)
