"""What Decathlon and AMOS share: ``imagesXx`` beside ``labelsXx``, and labels named in ``dataset.json``."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from monai_spatialqa.anatomy import load_label_map
from monai_spatialqa.errors import FileReadError, LabelMapError
from monai_spatialqa.sources.data_set import DataSet, Listing
from monai_spatialqa.sources.layout import volumes

NO_LABEL = "image without label"
NOT_PUBLISHED = "image of the test set, whose labels are not published"


def pairs_of(listing: Listing, ending: str) -> dict[str, tuple[Path, Path | None]]:
    """Stem -> label and image of ``labels<ending>`` and ``images<ending>``. An image without a label is skipped."""
    labels = _in_folder(listing, f"labels{ending}")
    images = _in_folder(listing, f"images{ending}")
    listing.skip(NO_LABEL, *(path for stem, path in images.items() if stem not in labels))
    return {stem: (label, images.get(stem)) for stem, label in labels.items()}


def skip_test_images(listing: Listing) -> None:
    """Count the images of ``imagesTs``."""
    listing.skip(NOT_PUBLISHED, *_in_folder(listing, "imagesTs").values())


def _in_folder(listing: Listing, name: str) -> dict[str, Path]:
    folder = listing.base / name
    return volumes(folder, listing) if folder.is_dir() else {}


def check_labels(data: DataSet, path: Path, content: dict[str, Any]) -> None:
    """Compare the download's own list of labels with the label map: the same ids, and the same names.

    Letter case, punctuation and the two spellings of "tumour" make no difference.

    Raises:
        FileReadError: no such list.
        LabelMapError: another list.
    """
    told = content.get("labels")
    try:
        assert isinstance(told, dict)
        published = {int(label): str(name) for label, name in told.items()}
    except (AssertionError, ValueError, TypeError):
        raise FileReadError(
            "the labels of the data set's description are no list of ids and names",
            code="bad_dataset_json",
            file=path,
            key="labels",
            found=told,
            expected='{"0": "background", "1": name, ...}',
            next_step="take the file from the download again",
        ) from None
    ours = {entry.label: entry.source_name or entry.name for entry in load_label_map(data.name)}
    published.pop(0, None)
    wrong = [label for label in sorted({*ours, *published}) if _plain(ours.get(label)) != _plain(published.get(label))]
    if wrong:
        raise LabelMapError(
            f"the labels of this download are not those of the label map {data.name}",
            code="other_labels",
            file=path,
            key="labels",
            found=", ".join(f"{label}: {published.get(label, 'nothing')}" for label in wrong),
            expected=", ".join(f"{label}: {ours.get(label, 'nothing')}" for label in wrong),
            next_step="check that source_root is this data set; for another release, pass a label map of your own and "
            "a datalist",
        )


def _plain(name: str | None) -> str | None:
    if name is None:
        return None
    return " ".join(re.sub(r"[\W_]+", " ", name.casefold()).replace("tumour", "tumor").split())


def has_folder(*names: str) -> Callable[[Path], bool]:
    """A test whether a folder holds one of these folders."""
    return lambda folder: any((folder / name).is_dir() for name in names)
