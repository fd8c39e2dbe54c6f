"""TotalSegmentator's data, CT and MR: one folder a case, one mask file a structure, the split in ``meta.csv``."""

from __future__ import annotations

import csv
from pathlib import Path

from monai_spatialqa.anatomy import LabelMap, load_label_map
from monai_spatialqa.errors import FileReadError
from monai_spatialqa.sources.data_set import DataSet, Listing
from monai_spatialqa.sources.layout import contents, layout_error, leftover, locate, stem_of, volumes

MASKS, META = "segmentations", "meta.csv"
_IMAGES = {"totalsegmentator_v2": "ct", "totalsegmentator_mr": "mri"}
_SECTIONS = {"train": "training", "val": "validation", "test": "test"}
_NO_SPLIT = "split unknown: not in meta.csv, listed under training"


def _scan(data: DataSet, root: Path) -> Listing:
    image_stem = _IMAGES[data.name]
    expected = f"folders of cases, each with {image_stem}.nii.gz and {MASKS}/<structure>.nii.gz"
    base = locate(data, root, lambda folder: any((inner / MASKS).is_dir() for inner in contents(folder)[1]), expected)
    listing = Listing(base)
    split = _split(base / META)
    label_map = load_label_map(data.name)
    folders = contents(base)[1]
    for folder in folders:
        if folder.name.startswith("."):
            continue
        scans = volumes(folder, listing)
        if not (folder / MASKS).is_dir():
            listing.skip(f"no folder {MASKS}", folder)
            continue
        masks = _masks(folder / MASKS, label_map, listing)
        if not masks:
            listing.skip("no mask of a structure of the label map", folder)
            continue
        image = scans.pop(image_stem, None)
        if image is None and (other := scans.keys() & set(_IMAGES.values())):
            (name,) = [name for name, stem in _IMAGES.items() if stem in other]
            raise layout_error(
                data,
                folder,
                expected,
                found=f"{other.pop()}.nii.gz",
                next_step=f"for these scans, the source is {name}",
            )
        listing.skip("not a file of this data set", *scans.values())
        if len(masks) < len(label_map):
            listing.note(f"fewer masks than the {len(label_map)} structures of the label map", folder.name)
        section = split.get(folder.name) if split is not None else None
        if section is None:
            listing.note(_NO_SPLIT, folder.name)
        listing.add(section or "training", data.case(folder.name, masks, image))
    there = {folder.name for folder in folders}
    listing.skip("in meta.csv, but no such folder", *(base / name for name in sorted(set(split or ()) - there)))
    return listing


def _masks(folder: Path, label_map: LabelMap, listing: Listing) -> list[Path]:
    """The masks of known structures, in the order of the label map; every other file is skipped and told."""
    files, inner = contents(folder)
    others = [path for path in files if stem_of(path.name) is None and leftover(path.name) is None]
    listing.skip("not a NIfTI file", *others, *inner)
    found = volumes(folder, listing)
    masks = [found.pop(name) for name in label_map.names if name in found]
    listing.skip(f"not a structure of the label map {label_map.name}", *found.values())
    return masks


def _split(path: Path) -> dict[str, str] | None:
    """Case -> section, from ``meta.csv``; None without that file.

    Raises:
        FileReadError: another table than the one that is known.
    """
    if not path.is_file():
        return None
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = csv.DictReader(file, delimiter=";")
            columns = list(rows.fieldnames or ())
            if not {"image_id", "split"} <= set(columns):
                raise _bad_meta(
                    path, "has not the columns that it should", ", ".join(columns), "image_id;...;split;..."
                )
            split: dict[str, str] = {}
            for row in rows:
                name, word = row["image_id"], row["split"]
                if word not in _SECTIONS:
                    raise _bad_meta(path, f"gives {name} an unknown split", word or "nothing", ", ".join(_SECTIONS))
                if name in split:
                    raise _bad_meta(path, "names a case twice", name, "one row a case")
                split[name] = _SECTIONS[word]
            return split
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise _bad_meta(path, "cannot be read", str(error), "text in UTF-8, columns parted by ;") from None


def _bad_meta(path: Path, problem: str, found: str, expected: str) -> FileReadError:
    return FileReadError(
        f"{META} {problem}",
        code="bad_meta_csv",
        file=path,
        found=found,
        expected=expected,
        next_step="take the file from the download again; without it every case is listed under training",
    )


CT = DataSet(
    name="totalsegmentator_v2",
    title="TotalSegmentator v2 (CT)",
    licence="CC BY 4.0",
    reference="kaiko-ai/eva@3bd328e88b6c827682518807110ba312cb6523fa docs/datasets/total_segmentator.md",
    scan=_scan,
    channels=("CT",),
    modality="CT",
    sections=tuple(_SECTIONS.values()),
)
MR = DataSet(
    name="totalsegmentator_mr",
    title="TotalSegmentator MRI",
    licence="CC BY-NC-SA 2.0 (unverified: as quoted by others, for version 2)",
    reference="MIC-DKFZ/nnUNet@22c4487eb1fc9c1fadcc24ff2639834cb1684778 "
    "nnunetv2/dataset_conversion/Dataset227_TotalSegmentatorMRI.py (layout)",
    scan=_scan,
    channels=("MR",),
    modality="MR",
    sections=tuple(_SECTIONS.values()),
)
