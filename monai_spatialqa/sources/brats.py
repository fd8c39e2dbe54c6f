"""BraTS 2021 and 2023 (adult glioma): one file a modality, in folders that some archives nest."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from monai_spatialqa.errors import PairingError
from monai_spatialqa.sources.data_set import DataSet, Listing
from monai_spatialqa.sources.layout import contents, layout_error, locate, volumes

_DEPTH = 5
_NAMES = {
    "brats2021": re.compile(r"(?P<case>BraTS2021_\d+)_(?P<part>flair|t1|t1ce|t2|seg)"),
    "brats2023": re.compile(r"(?P<case>(?P<patient>BraTS-GLI-\d+)-\d+)-(?P<part>t1c|t1n|t2f|t2w|seg)"),
}
_EXAMPLES = {"brats2021": "BraTS2021_00000_seg.nii.gz", "brats2023": "BraTS-GLI-00000-000-seg.nii.gz"}
_SEG = "seg"


def _folders(folder: Path, depth: int = _DEPTH) -> Iterator[Path]:
    """A folder and all folders in it, to a depth that no archive reaches."""
    yield folder
    if depth:
        for inner in contents(folder)[1]:
            yield from _folders(inner, depth - 1)


def _scan(data: DataSet, root: Path) -> Listing:
    expected = f"files such as {_EXAMPLES[data.name]} in folders of their own"
    listing = Listing(locate(data, root, lambda _: True, expected))
    cases: dict[str, dict[str, Path]] = {}
    patients: dict[str, str | None] = {}
    others: list[Path] = []
    for folder in _folders(listing.base):
        for stem, path in volumes(folder, listing).items():
            match = _NAMES[data.name].fullmatch(stem)
            if match is None:
                others.append(path)
                continue
            case_id, part = match["case"], match["part"]
            _refuse_copy(cases.setdefault(case_id, {}).setdefault(part, path), path, case_id)
            patients[case_id] = match.groupdict().get("patient")
    if not cases:
        raise _not_this(data, listing.base, others, expected)
    for case_id, files in cases.items():
        _add(data, listing, case_id, files, patients[case_id])
    listing.skip("not a modality or a segmentation of this data set", *others)
    return listing


def _refuse_copy(first: Path, path: Path, case_id: str) -> None:
    if first is not path:
        raise PairingError(
            "the same file of a case is there twice",
            code="duplicate_case",
            case=case_id,
            found=f"{first} and {path}",
            expected="one file a modality",
            next_step="remove one of the two copies, or name the folder of one of them as source_root",
        )


def _add(data: DataSet, listing: Listing, case_id: str, files: dict[str, Path], patient_id: str | None) -> None:
    label = files.get(_SEG)
    missing = [channel for channel in data.channels if channel not in files]
    if label is None:
        listing.skip("no segmentation, as in validation data", *files.values())
        return
    if missing:  # with a file less, the channels would mean something else
        listing.note("not all modalities are there", case_id)
        listing.skip(
            "the other modalities of its case are missing", *(path for part, path in files.items() if part != _SEG)
        )
    image = None if missing else [files[channel] for channel in data.channels]
    listing.add("training", data.case(case_id, label, image, patient_id=patient_id))


def _not_this(data: DataSet, base: Path, others: list[Path], expected: str) -> PairingError:
    if not others:
        return layout_error(data, base, expected)
    year = next((name for name, pattern in _NAMES.items() if any(pattern.match(path.name) for path in others)), None)
    return layout_error(
        data,
        base,
        expected,
        found=", ".join(path.name for path in others[:3]),
        next_step=None if year is None else f"files of these names belong to the source {year}",
    )


_TERMS = "own terms, given out through Synapse; no CC licence found (unverified)"
BRATS2021 = DataSet(
    name="brats2021",
    title="BraTS 2021",
    licence=_TERMS,
    reference="Sage-Bionetworks-Challenges/brats-dream-challenge-website@e5ecda7c9e31d22fff76b29117dd77443354f018 "
    "wiki/610873-ChallengeData.md (terms)",
    scan=_scan,
    channels=("flair", "t1", "t1ce", "t2"),
    modality="MR",
)
BRATS2023 = DataSet(
    name="brats2023",
    title="BraTS 2023, adult glioma (GLI)",
    licence=_TERMS,
    reference="chqwer2/DiffDecomp@831d191678398c0d0cba44c9d92b69ae2ff6ab29 DiffTumor/documents/brast.md (layout)",
    scan=_scan,
    channels=("t1c", "t1n", "t2f", "t2w"),
    modality="MR",
)
