"""Make questions from every segmented scan below a directory, and hold each of them against its measurement.

    python -m tests.truth.generate DIRECTORY [--json out.json] [--show] [--most-seconds 2]

Every volume file and DICOM SEG is measured with ``detail: full``, and every folder of masks. The generate stage then
runs twice on each case alone, and twice on all of them together. A row tells

- the items of each task,
- keys that do not follow from evidence computed again, and findings of the linter,
- the seconds of the slower of the two runs, the measurement not included,
- whether the two runs wrote the same bytes.

Names come from ``LABEL_MAPS``. Other files have no names that are known: where their ids are few, each structure gets a
made-up one, so that shapes and grids are tried; files of many ids are images. Exit code 0 when every key holds, nothing
was found, every case took less than ``--most-seconds`` and the bytes are the same.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, get_args

import monai_spatialqa as sqa
from monai_spatialqa.anatomy import load_label_map
from monai_spatialqa.generation import GenerateSettings, run_generation
from monai_spatialqa.items.linter import lint_records
from monai_spatialqa.items.recompute import recompute
from monai_spatialqa.items.view import CaseView
from monai_spatialqa.records import Measurement, read_records
from monai_spatialqa.records.item import Item, Reference, TaskCode
from tests.truth.compare import measure_anyway

SUFFIXES = (".nii", ".nii.gz", ".hdr", ".nrrd", ".mha")
MASKS = "*_masks"
"""How a folder with one mask per structure is called."""

SEGMENTATION_CLASS = b"1.2.840.10008.5.1.4.1.1.66.4"
"""SOP class of DICOM SEG objects (DICOM PS3.4, B.5); other DICOM files are images, reports or contours."""

MOST_SECONDS = 2.0
ALPHABET = tuple(f"body_{letter}" for letter in "abcdefghijklmnopqrstuvwxyz")
"""Made-up names for structures that nobody named; a file of more ids is taken for an image."""

_TUMOUR = {"structures": {1: "tumour"}, "groups": {"tumours": ["tumour"]}}
_SPINE = {label: name for label, name in enumerate(("T12", "L1", "L2", "L3", "L4", "L5"), start=19)}
LABEL_MAPS: Mapping[str, Any] = {
    "ct_totalseg/spine/*_body.nii.gz": {1: "vertebrae_body", 2: "intervertebral_discs"},
    "ct_totalseg/spine/*_pp_refined.nii.gz": {label: f"vertebrae_{name}" for label, name in _SPINE.items()},
    "ct_totalseg/*": "totalsegmentator_v2",
    "odd_derived/shear_bright.nii.gz": None,
    "odd_derived/*_seg.nii.gz": "totalsegmentator_v2",
    "odd_derived/not_gzip.nii.gz": "totalsegmentator_v2",
    "sts_002/*_gtv.nii.gz": {
        "name": "sarcoma",
        "structures": {1: "sarcoma"},
        "groups": {"tumours": ["sarcoma"]},
    },
    "radiomics_reference/*_label.nrrd": {"name": "tumour", **_TUMOUR},
}
"""Label maps of files by their path; the first pattern that fits counts."""


@dataclass
class Row:
    """What came out for one case, or for all together."""

    case: str
    structures: int = 0
    tasks: dict[str, int] = field(default_factory=dict)
    wrong_keys: list[str] = field(default_factory=list)
    findings: list[str] = field(default_factory=list)
    seconds: float = 0.0
    most_seconds: float = MOST_SECONDS
    identical: bool = True
    refused: str = ""

    @property
    def verdict(self) -> str:
        """Whether everything that must hold holds."""
        if self.refused:
            return "refused"
        slow = self.seconds >= self.most_seconds
        return "FAILS" if slow or self.wrong_keys or self.findings or not self.identical else "holds"


def segmented_scans(directory: Path) -> Iterator[Path]:
    """Volume files, DICOM SEG objects and folders of masks, in the order of their names."""
    folders = [path for path in directory.rglob(MASKS) if path.is_dir()]
    files = [
        path
        for path in directory.rglob("*")
        if path.is_file() and not any(folder in path.parents for folder in folders) and _may_be_segmented(path)
    ]
    yield from sorted([*folders, *files])


def _may_be_segmented(path: Path) -> bool:
    if path.name.lower().endswith(".dcm"):
        return SEGMENTATION_CLASS in path.read_bytes()[:2048]
    return path.name.lower().endswith(SUFFIXES)


def measured(path: Path, name: str) -> tuple[Measurement, Any]:
    """The record of a scan under known or made-up names, and the label map that was given for it.

    Raises:
        SpatialQAError: it cannot be measured.
        ValueError: it holds so many ids that it is an image.
    """
    said = next((label_map for pattern, label_map in LABEL_MAPS.items() if fnmatch(name, pattern)), None)
    if said is None:
        found, _ = measure_anyway(path)
        ids = [each.label for each in found.structures.values() if each.label is not None]
        if not all(structure.startswith("label_") for structure in found.structures):
            ids = []
        if len(ids) > len(ALPHABET):
            raise ValueError(f"{len(ids)} ids: an image")
        said = {"name": "made up", "structures": dict(zip(ids, ALPHABET, strict=False))} if ids else None
    label_map = None if said is None else load_label_map(said)
    record, _ = measure_anyway(path, label_map=label_map, detail="full", case_id=name.replace("/", "-"))
    return record, said


def generate_twice(row: Row, records: Sequence[Measurement], label_map: Any, show: bool = False) -> None:
    """Run the generate stage twice on some records and fill in the row."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "measurements.jsonl")
        source.write_text("".join(record.to_json_line() + "\n" for record in records), encoding="utf-8")
        if isinstance(label_map, Mapping):
            named = Path(folder, "label_map.json")
            named.write_text(json.dumps(label_map), encoding="utf-8")
            label_map = str(named)
        written = []
        for run in ("one", "other"):
            settings = GenerateSettings(
                measurements=str(source), label_map=label_map, output_dir=str(Path(folder, run)), progress=False
            )
            begun = time.perf_counter()
            with contextlib.redirect_stdout(io.StringIO()) as told:
                run_generation(settings)
            row.seconds = max(row.seconds, time.perf_counter() - begun)
            written.append({path.name: path.read_bytes() for path in sorted(settings.output.iterdir())})
        row.identical = written[0] == written[1]
        items = list(read_records(settings.output / "items.jsonl", Item))
        references = list(read_records(settings.output / "references.jsonl", Reference))
    if show:
        print(told.getvalue())
    counts = Counter(item.task for item in items)
    row.tasks = {task: counts[task] for task in get_args(TaskCode)}
    views = {record.case_id: CaseView(record) for record in records if not record.errors}
    for item, reference in zip(items, references, strict=True):
        again = recompute(item, reference, views[item.case.case_id])
        if not again.holds:
            row.wrong_keys.append(f"{item.item_id}: {again.mismatches or again.verdict}")
    report = lint_records(items, references, records)
    row.findings = [finding.message for finding in report.findings if finding.severity == "error"]


def table(rows: Sequence[Row]) -> str:
    """The rows as text, and every wrong key and finding."""
    tasks = get_args(TaskCode)
    titles = ("case", "n", *tasks, "wrong keys", "findings", "seconds", "bytes", "", "reason")
    cells = [
        (
            row.case,
            str(row.structures),
            *(str(row.tasks.get(task, 0)) for task in tasks),
            str(len(row.wrong_keys)),
            str(len(row.findings)),
            f"{row.seconds:.2f}",
            "same" if row.identical else "DIFFER",
            row.verdict,
            row.refused,
        )
        for row in rows
    ]
    widths = [max(len(line[column]) for line in [titles, *cells]) for column in range(len(titles))]
    lines = [
        "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)) for line in [titles, *cells]
    ]
    lines += [f"{row.case}: {problem}" for row in rows for problem in (*row.wrong_keys, *row.findings)]
    verdicts = [row.verdict for row in rows]
    lines.append(", ".join(f"{verdicts.count(word)} {word}" for word in ("holds", "refused", "FAILS")))
    return "\n".join(line.rstrip() for line in lines)


def generate_directory(directory: Path, show: bool = False, most_seconds: float = MOST_SECONDS) -> list[Row]:
    """A row for every segmented scan below a directory, and one for all of them together."""
    rows, records = [], []
    for path in segmented_scans(directory):
        row = Row(path.relative_to(directory).as_posix(), most_seconds=most_seconds)
        rows.append(row)
        try:
            record, label_map = measured(path, row.case)
        except sqa.SpatialQAError as error:
            row.refused = f"{error.code}: {error.problem}"
            continue
        except ValueError as error:
            row.refused = str(error)
            continue
        row.structures = sum(bool(each.voxel_count) for each in record.structures.values())
        records.append(record)
        generate_twice(row, [record], label_map)
    if records:
        together = Row("all together", most_seconds=most_seconds * len(records))
        generate_twice(together, records, None, show)
        rows.append(together)
    return rows


def main(arguments: Sequence[str] | None = None) -> int:
    """Generate, print, and say by the exit code whether everything holds."""
    parser = argparse.ArgumentParser(description="Hold generated questions against the scans below a directory.")
    parser.add_argument("directory", type=Path)
    parser.add_argument("--json", type=Path, help="also write the rows here")
    parser.add_argument("--show", action="store_true", help="print the summary of the run over all cases, too")
    parser.add_argument("--most-seconds", type=float, default=MOST_SECONDS, help="that a case may take")
    options = parser.parse_args(arguments)
    if not options.directory.is_dir():
        parser.error(f"{options.directory} is no directory")
    rows = generate_directory(options.directory, options.show, options.most_seconds)
    if not rows:
        parser.error(f"no segmented scan in {options.directory}")
    print(table(rows))
    if options.json:
        content = [{**asdict(row), "verdict": row.verdict} for row in rows]
        options.json.write_text(json.dumps(content, indent=1, ensure_ascii=False), encoding="utf-8")
    return 1 if any(row.verdict == "FAILS" for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
