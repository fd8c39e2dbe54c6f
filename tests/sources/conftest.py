"""Downloads in miniature: the voxels of one small phantom, under the names of public data sets."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from monai_spatialqa.anatomy import load_label_map
from monai_spatialqa.phantoms import Phantom, make_phantom

REPOSITORY = Path(__file__).parents[2]
MEASURE = REPOSITORY / "bundles/spatialqa/configs/measure.yaml"


class Download:
    """Writes files of a data set into a folder of the test.

    Attributes:
        folder: where to.
        voxels: (X, Y, Z) ids of the data set's label map, as every label file holds them.
    """

    def __init__(self, write: Callable[..., Path], folder: Path, phantom: Phantom, source: str) -> None:
        self._write, self._phantom = write, phantom
        self.folder = folder
        ids = np.array(load_label_map(source).ids)
        self.voxels = np.where(phantom.label > 0, ids[phantom.label % len(ids)], 0).astype(np.uint8)

    def label(self, *names: str) -> None:
        """Label maps."""
        for name in names:
            self._write(f"download/{name}", self.voxels, self._phantom.affine)

    def image(self, *names: str, channels: int = 0) -> None:
        """Scans; 4D ones with channels in the last axis."""
        voxels = np.stack([self._phantom.image] * channels, axis=-1) if channels else self._phantom.image
        for name in names:
            self._write(f"download/{name}", voxels, self._phantom.affine)

    def empty(self, *names: str) -> None:
        """Files of no bytes."""
        for name in names:
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()

    def text(self, name: str, content: str, encoding: str = "utf-8") -> None:
        """A text file."""
        (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / name).write_text(content, encoding=encoding)


@pytest.fixture(scope="session")
def phantom() -> Phantom:
    return make_phantom(3, shape=(24, 20, 22), spacing_mm=(16.0, 16.0, 20.0))


@pytest.fixture
def download(write_nifti: Callable[..., Path], tmp_path: Path, phantom: Phantom) -> Callable[[str], Download]:
    """An empty download of a source."""
    (tmp_path / "download").mkdir()
    return lambda source: Download(write_nifti, tmp_path / "download", phantom, source)


@pytest.fixture
def measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[dict[str, Any]]]:
    """Run measure.yaml with a source's overlay, in this process; gives the records."""
    from monai.bundle.scripts import run

    def measure(source: str, /, **overrides: Any) -> list[dict[str, Any]]:
        monkeypatch.chdir(tmp_path)
        overlay = REPOSITORY / "configs" / "sources" / f"{source}.yaml"
        settings = {"source_root": "download", "output_dir": "out", **overrides}
        run(config_file=[str(MEASURE), str(overlay)], logging_file=False, **settings)
        lines = (tmp_path / str(settings["output_dir"]) / "measurements.jsonl").read_text(encoding="utf-8").splitlines()
        return [json.loads(line) for line in lines]

    return measure


def dataset_json(source: str, stems: list[str], **changes: Any) -> str:
    """A Decathlon ``dataset.json`` with the labels of a source."""
    names = {str(entry.label): entry.source_name or entry.name for entry in load_label_map(source)}
    return json.dumps(
        {
            "name": "Miniature",
            "licence": "CC-BY-SA 4.0",
            "labels": {"0": "background", **names},
            "training": [{"image": f"./imagesTr/{s}.nii.gz", "label": f"./labelsTr/{s}.nii.gz"} for s in stems],
            "test": ["./imagesTs/t.nii.gz"],
            **changes,
        }
    )


@pytest.fixture
def describe() -> Callable[..., str]:
    """:func:`dataset_json`."""
    return dataset_json
