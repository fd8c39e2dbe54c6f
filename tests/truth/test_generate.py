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
        [sys.executable, "-m", "tests.truth.generate", str(data_folder), "--json", str(written)],
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        timeout=300,
    )
    assert done.returncode in (0, 1), done.stderr
    rows = json.loads(written.read_text(encoding="utf-8"))
    assert len([row for row in rows if not row["refused"]]) > 15
    assert all(row["identical"] and not row["wrong_keys"] and not row["findings"] for row in rows), done.stdout
    together = rows[-1]
    assert set(together["tasks"]) == {"DIR", "DIST", "EXT", "VOL", "COMP", "VOLEST"}
    assert min(together["tasks"].values()) > 5
