"""The questions of every scan that ships with the tests hold against its measurement."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_every_key_of_the_shipped_scans(tmp_path, data_folder):
    written = tmp_path / "rows.json"
    done = subprocess.run(
        # A busy machine is no fault of the questions: time is what benchmarks are for.
        [
            sys.executable,
            "-m",
            "tests.truth.generate",
            str(data_folder),
            "--json",
            str(written),
            "--most-seconds",
            "60",
        ],
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    rows = json.loads(written.read_text(encoding="utf-8"))
    assert len([row for row in rows if not row["refused"]]) > 15
    assert all(row["identical"] and not row["wrong_keys"] and not row["findings"] for row in rows), done.stdout
    together = rows[-1]
    assert set(together["tasks"]) == {"DIR", "DIST", "EXT", "VOL", "COMP", "VOLEST"}
    assert min(together["tasks"].values()) > 5
