"""Measurements to make questions from, and the generate config run in this process."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import monai_spatialqa as sqa
from monai_spatialqa.phantoms import make_phantom
from monai_spatialqa.records import Measurement

BUNDLE = Path(__file__).parents[2] / "bundles" / "spatialqa"


@pytest.fixture(scope="session")
def example() -> Measurement:
    """The shipped example, with everything measured."""
    (label,) = (BUNDLE / "example" / "seg").glob("*.nii.gz")
    return sqa.measure(label, label_map="totalsegmentator_v2", detail="full", distances={"among": ["abdominal_organs"]})


@pytest.fixture(scope="session")
def phantom_records(tmp_path_factory: pytest.TempPathFactory) -> list[Measurement]:
    """Phantoms of different seeds under the names of a shipped label map."""
    folder = tmp_path_factory.mktemp("phantoms")
    records = []
    for seed in range(4):
        _, label = make_phantom(seed).save(folder, f"case{seed}")
        records.append(sqa.measure(label, label_map="totalsegmentator_v2"))
    return records


@pytest.fixture
def write_measurements(tmp_path: Path) -> Callable[..., Path]:
    """Write records as the measure stage does."""

    def write(*records: Measurement, name: str = "measurements.jsonl") -> Path:
        path = tmp_path / "measured" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("".join(record.to_json_line() + "\n" for record in records), encoding="utf-8")
        return path

    return write


@pytest.fixture
def run_generate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[list[Any], list[Any]]]:
    """Run generate.yaml with overrides, from the test's folder; gives items and references."""
    from monai.bundle.scripts import run

    def generate(*overlays: Path, **overrides: Any) -> tuple[list[Any], list[Any]]:
        monkeypatch.chdir(tmp_path)
        overrides.setdefault("output_dir", "out")
        files = [str(BUNDLE / "configs" / "generate.yaml"), *map(str, overlays)]
        run(config_file=files, logging_file=False, **overrides)
        folder = tmp_path / str(overrides["output_dir"])
        return tuple(
            [json.loads(line) for line in (folder / name).read_text(encoding="utf-8").splitlines()]
            for name in ("items.jsonl", "references.jsonl")
        )  # type: ignore[return-value]

    return generate
