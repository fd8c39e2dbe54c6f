"""The JSON Schema of every record, for those who read or write the files without this package.

``python -m monai_spatialqa.records.schema docs/schema`` writes one file per record; with ``--check`` it only compares
and exits with 1 when a file is missing, differs, or describes a record that no longer exists.
"""

from __future__ import annotations

import argparse
import importlib
import json
import pkgutil
import sys
from collections.abc import Sequence
from pathlib import Path

from monai_spatialqa import records
from monai_spatialqa.records.base import Record
from monai_spatialqa.records.files import AnyPath, write_text_atomic

DIALECT = "https://json-schema.org/draft/2020-12/schema"
SUFFIX = ".schema.json"


def record_types() -> list[type[Record]]:
    """All classes of records that the package ``monai_spatialqa.records`` defines, sorted by name."""
    for module in pkgutil.iter_modules(records.__path__):
        if module.name != "schema":
            importlib.import_module(f"{records.__name__}.{module.name}")
    found: set[type[Record]] = set()
    waiting = list(Record.__subclasses__())
    while waiting:
        kind = waiting.pop()
        waiting.extend(kind.__subclasses__())
        if kind.__module__.startswith(f"{records.__name__}.") and not kind.__name__.startswith("_"):
            found.add(kind)
    return sorted(found, key=lambda kind: kind.__name__)


def schema_text(kind: type[Record]) -> str:
    """The JSON Schema of one line of a file of ``kind``, as indented JSON with sorted keys and a final newline."""
    schema = {"$schema": DIALECT, **kind.model_json_schema(mode="validation")}
    return json.dumps(schema, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def schema_files() -> dict[str, str]:
    """File name -> content for every record, e.g. ``measurement.schema.json``; the same on every machine."""
    return {f"{kind.__name__.lower()}{SUFFIX}": schema_text(kind) for kind in record_types()}


def write_schemas(folder: AnyPath) -> list[Path]:
    """Write the schema of every record to ``folder``, and remove schemas of records that no longer exist.

    Returns:
        the files written, sorted by name.
    """
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    files = schema_files()
    for path in target.glob(f"*{SUFFIX}"):
        if path.name not in files:
            path.unlink()
    for name, text in files.items():
        write_text_atomic(target / name, text)
    return [target / name for name in sorted(files)]


def outdated_schemas(folder: AnyPath) -> list[str]:
    """Names of the schema files in ``folder`` that are missing, differ, or describe no record; sorted."""
    target = Path(folder)
    files = schema_files()
    present = {path.name: path.read_text(encoding="utf-8") for path in target.glob(f"*{SUFFIX}")}
    return sorted(name for name in files.keys() | present.keys() if files.get(name) != present.get(name))


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line: write the schemas, or compare them. Returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m monai_spatialqa.records.schema", description=__doc__)
    parser.add_argument("folder", help="where the schema files lie, usually docs/schema")
    parser.add_argument("--check", action="store_true", help="compare only; exit with 1 when something differs")
    options = parser.parse_args(arguments)
    if options.check:
        outdated = outdated_schemas(options.folder)
        for name in outdated:
            sys.stderr.write(f"{options.folder}/{name} does not fit the records: export the schemas again\n")
        return 1 if outdated else 0
    for path in write_schemas(options.folder):
        sys.stdout.write(f"{path.as_posix()}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
