"""Every row for components and contacts runs and finds the same."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ROWS = "component-runs components components-kept skimage-label scipy-label cc3d-label"
ROWS += " contact-runs contact contact-kept numpy-contact cc3d-contact"


def test_rows_agree(tmp_path: Path) -> None:
    json_file = tmp_path / "out.json"
    command = [sys.executable, "-m", "tests.benchmarks", "--quick", "--repeats", "1", "--json", str(json_file)]
    done = subprocess.run(
        [*command, "--in-process", "--only", *ROWS.split()],
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(json_file.read_text())
    run = {(row["table"], row["row"]) for row in found["rows"]}
    assert {("components", "skimage-label"), ("components", "scipy-label"), ("contact", "numpy-contact")} <= run
    assert all(row["seconds"] > 0 and row["references"] for row in found["rows"])
