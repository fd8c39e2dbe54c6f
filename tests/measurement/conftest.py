"""Runs the measure config in this process, as ``python -m monai.bundle run`` would."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from monai_spatialqa.phantoms import make_phantom

BUNDLE = Path(__file__).parents[2] / "bundles" / "spatialqa"


@pytest.fixture
def bundle() -> Path:
    """Root of the shipped bundle."""
    return BUNDLE


@pytest.fixture
def run_measure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[dict[str, Any]]]:
    """Run measure.yaml with overrides, from the test's folder; gives the records. Failed cases raise SystemExit."""
    from monai.bundle.scripts import run

    def measure(
        config: Path | list[Path] = BUNDLE / "configs" / "measure.yaml", **overrides: Any
    ) -> list[dict[str, Any]]:
        monkeypatch.chdir(tmp_path)
        overrides.setdefault("output_dir", "out")
        files = [str(config)] if isinstance(config, Path) else [str(one) for one in config]
        run(config_file=files, logging_file=False, **overrides)
        return read_jsonl(tmp_path / str(overrides["output_dir"]) / "measurements.jsonl")

    return measure


def read_jsonl(path: Path) -> list[dict[str, Any]]:
    """Rows of a JSONL file by a parser that knows no NaN."""

    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is not JSON")

    return [json.loads(line, parse_constant=refuse) for line in path.read_text(encoding="utf-8").split("\n") if line]


_CASES = {
    "ras": {},
    "lps": {"axcodes": "LPS"},
    "pir": {"axcodes": "PIR"},
    "sla": {"axcodes": "SLA"},
    "oblique": {"rotation_deg": (10.0, -20.0, 30.0)},
    "oblique_ail": {"rotation_deg": (8.0, 3.0, -25.0), "axcodes": "AIL"},
    "sheared": {"shear": 0.2},
    "truncated": {"truncate": "superior"},
}


def save_phantom_cases(folder: Path, limit: int | None = None) -> list[Path]:
    """Label maps of one phantom in many grids, under speaking names."""
    folder.mkdir(parents=True, exist_ok=True)
    saved = []
    for name, options in list(_CASES.items())[:limit]:
        phantom = make_phantom(1, shape=(60, 50, 48), spacing_mm=(5.0, 5.5, 6.5), **options)  # type: ignore[arg-type]
        _, label = phantom.save(folder / "tmp", name)
        saved.append(Path(shutil.move(label, folder / f"{name}.nii.gz")))
    shutil.rmtree(folder / "tmp")
    return saved


@pytest.fixture
def phantom_cases() -> Callable[..., list[Path]]:
    """:func:`save_phantom_cases`."""
    return save_phantom_cases
