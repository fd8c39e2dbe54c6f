"""The command: ``python -m tests.benchmarks``. See README.md beside this file."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
import warnings
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from tests.benchmarks import folder_rows, interval_rows, part_rows, report, score_rows
from tests.benchmarks.bench import OTHER_ROWS, Bench, Wanted
from tests.benchmarks.data import SIZES, Store
from tests.benchmarks.goals import Results, Verdict, judge
from tests.benchmarks.worker import TABLES

PACKAGES = [
    "numpy",
    "numba",
    "torch",
    "monai",
    "SimpleITK",
    "itk-core",
    "connected-components-3d",
    "edt",
    "scipy",
    "scikit-image",
    "nibabel",
    "isal",
]


def main(arguments: list[str] | None = None) -> int:
    """Run what was asked for, print it, and write JSON where that was asked for."""
    options = _options(arguments)
    results = Results({}, {})
    print(_machine(), flush=True)
    wanted = Wanted(options.sizes, options.labels, options.repeats, frozenset(options.only or ()), options.quick)
    with tempfile.TemporaryDirectory() as scratch:
        store = Store(Path(options.data or scratch), keep=options.data is not None)
        bench = Bench(wanted, store, results, in_process=options.in_process)
        bench.arrays()
        bench.files()
        bench.distances()
        part_rows.measure(bench)
        folder_rows.measure(bench)
        bench.others()
        score_rows.measure(bench)
        interval_rows.measure(bench)
    verdicts = judge(results)
    print("\n" + report.lined_up(*report.goal_lines(verdicts)))
    if options.json:
        Path(options.json).write_text(json.dumps(_content(results, verdicts), indent=1, allow_nan=False) + "\n")
        print(f"\nwritten: {options.json}")
    return 0


def _options(arguments: list[str] | None) -> argparse.Namespace:
    names = list(dict.fromkeys([*(row.name for table in TABLES.values() for row in table.rows), *OTHER_ROWS]))
    sizes = ", ".join(f"{name}={'x'.join(map(str, shape))}" for name, shape in SIZES.items())
    parser = argparse.ArgumentParser("python -m tests.benchmarks", description="Speed and memory against other tools.")
    add = parser.add_argument
    add("--sizes", nargs="+", choices=SIZES, default=["S", "M", "L"], help=f"volumes: {sizes}")
    add("--labels", nargs="+", type=int, default=[10, 117, 1000], help="structures in the arrays")
    add("--repeats", type=int, default=5, help="runs per row; slow rows get fewer, the table says how many")
    add("--only", nargs="+", choices=names, metavar="ROW", help=f"rows: {', '.join(names)}")
    add("--json", metavar="FILE", help="also write everything here")
    add("--data", metavar="FOLDER", help="keep the volumes here, to be used again")
    add("--quick", action="store_true", help="one tiny volume, 2 runs: does everything still work?")
    add("--in-process", action="store_true", help="no process per row: quicker, but memory figures mix")
    options = parser.parse_args(arguments)
    if options.quick:
        options.sizes, options.labels, options.repeats = ["Q"], [10], min(2, options.repeats)
    return options


def _machine() -> str:
    versions = []
    for name in PACKAGES:
        try:
            versions.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            versions.append(f"{name} not installed")
    return f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}; {', '.join(versions)}"


def _content(results: Results, verdicts: list[Verdict]) -> dict[str, Any]:
    return {
        "machine": _machine(),
        "rows": [
            {"table": table, "input": dataset, "row": row, **asdict(timed)}
            for (table, dataset, row), timed in results.rows.items()
        ],
        "other": results.other,
        "goals": [
            {
                "goal": verdict.goal.title,
                "figure": verdict.figure,
                "unit": verdict.goal.unit,
                "must": verdict.goal.must,
                "verdict": verdict.word,
            }
            for verdict in verdicts
        ],
    }


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    sys.exit(main())
