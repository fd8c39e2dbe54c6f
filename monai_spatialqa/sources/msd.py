"""Medical Segmentation Decathlon: a folder a task, with ``dataset.json``, ``imagesTr``, ``labelsTr``, ``imagesTs``."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from monai_spatialqa.errors import FileReadError
from monai_spatialqa.sources.data_set import DataSet, Listing
from monai_spatialqa.sources.layout import locate, read_dataset_json, stem_of
from monai_spatialqa.sources.pairing import check_labels, has_folder, pairs_of, skip_test_images


def _scan(data: DataSet, root: Path) -> Listing:
    expected = "dataset.json, imagesTr and labelsTr"
    listing = Listing(locate(data, root, has_folder("labelsTr"), expected))
    description = listing.base / "dataset.json"
    content = read_dataset_json(description)
    check_labels(data, description, content)
    listing.licence = content["licence"] if isinstance(content.get("licence"), str) else None
    licence = listing.licence or data.licence
    listed = _listed(description, content)
    found = pairs_of(listing, "Tr")
    for stem, (label, image) in found.items():
        if stem in listed:
            listing.add("training", data.case(stem, label, image, licence=licence))
        else:
            listing.skip("not in the training list of dataset.json", label)
    missing = [listing.base / listed[stem] for stem in listed if stem not in found]
    listing.skip("in the training list of dataset.json, but no such file", *missing)
    skip_test_images(listing)
    return listing


def _listed(path: Path, content: dict[str, Any]) -> dict[str, str]:
    """Stem -> label file as ``dataset.json`` names it.

    Raises:
        FileReadError: no training list.
    """
    listed: dict[str, str] = {}
    entries = content.get("training")
    for number, entry in enumerate(entries if isinstance(entries, list) else [entries]):
        label = entry.get("label") if isinstance(entry, dict) else None
        stem = stem_of(Path(label).name) if isinstance(label, str) else None
        if stem is None:
            raise FileReadError(
                "the training list of the data set's description is no list of images and labels",
                code="bad_dataset_json",
                file=path,
                key=f"training, entry {number}",
                found=entry,
                expected='{"image": "./imagesTr/x.nii.gz", "label": "./labelsTr/x.nii.gz"}',
                next_step="take the file from the download again",
            )
        listed[stem] = str(label).removeprefix("./")
    return listed


def _task(number: str, organ: str, modality: Literal["CT", "MR"], *channels: str) -> DataSet:
    return DataSet(
        name=f"msd_task{number}",
        title=f"Medical Segmentation Decathlon, Task{number}_{organ}",
        licence="CC BY-SA 4.0",
        reference="http://medicaldecathlon.com (licence), "
        "neuro-ml/amid@28b99e91713b624478414d1496bf5757ba66e1a8 amid/msd.py (layout)",
        scan=_scan,
        channels=channels,
        modality=modality,
    )


TASKS = (
    _task("01", "BrainTumour", "MR", "FLAIR", "T1w", "t1gd", "T2w"),
    _task("03", "Liver", "CT", "CT"),
    _task("05", "Prostate", "MR", "T2", "ADC"),
    _task("06", "Lung", "CT", "CT"),
    _task("07", "Pancreas", "CT", "CT"),
    _task("08", "HepaticVessel", "CT", "CT"),
)
