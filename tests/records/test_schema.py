"""The exported JSON Schemas describe the records, are deterministic, and are compared."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from monai_spatialqa.records.case import Case
from monai_spatialqa.records.schema import main, outdated_schemas, record_types, schema_files, write_schemas


def test_every_record_is_there() -> None:
    names = [kind.__name__ for kind in record_types()]
    assert {"Case", "Measurement"} <= set(names)
    assert "Record" not in names
    assert "RecordPart" not in names
    assert names == sorted(names)


def test_the_files_are_json_schema_and_the_same_every_time(tmp_path: Path) -> None:
    stale = tmp_path / "gone.schema.json"
    stale.write_text("{}", encoding="utf-8")
    (tmp_path / "README.md").write_text("kept", encoding="utf-8")
    paths = write_schemas(tmp_path)
    first = {path.name: path.read_bytes() for path in paths}
    assert first == {path.name: path.read_bytes() for path in write_schemas(tmp_path)}
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["README.md", *first])
    schema = json.loads(first["case.schema.json"])
    assert schema["$schema"].endswith("2020-12/schema")
    assert schema["required"] == ["case_id", "label"]
    assert schema["additionalProperties"] is False


def test_a_record_fits_its_schema() -> None:
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads(schema_files()["case.schema.json"])
    jsonschema.validate(json.loads(Case(case_id="a", label="a.nii").to_json_line()), schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"case_id": "a"}, schema)


def test_the_comparison_names_what_differs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path), "--check"]) == 1
    assert main([str(tmp_path)]) == 0
    assert "case.schema.json" in capsys.readouterr().out
    assert main([str(tmp_path), "--check"]) == 0
    (tmp_path / "case.schema.json").write_text("{}", encoding="utf-8")
    (tmp_path / "gone.schema.json").write_text("{}", encoding="utf-8")
    assert outdated_schemas(tmp_path) == ["case.schema.json", "gone.schema.json"]


def test_the_module_runs(tmp_path: Path) -> None:
    command = [sys.executable, "-W", "error", "-m", "monai_spatialqa.records.schema", str(tmp_path / "schema")]
    root = Path(__file__).parents[2]
    subprocess.run(command, check=True, capture_output=True, cwd=root)
    assert outdated_schemas(tmp_path / "schema") == []
