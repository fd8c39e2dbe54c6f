"""Hold `sqa.measure` against SimpleITK, and against stored reference values, on every volume file of a directory.

    python -m tests.truth.compare DIRECTORY [--reference reference.json] [--json out.json]

Counts and index boxes must be equal; volumes and centroids must agree to 1e-6. SimpleITK is the second opinion where it
can be one. Where it cannot, the row says why, and the second opinion is plain numpy on the voxels that nibabel loads:

- sheared grid: ITK images have perpendicular axes, so SimpleITK refuses the file or takes a matrix of its own;
- no form code: the file does not say where left is, so only counts, boxes and volumes are compared;
- contradictory header: the file is measured by its sform, and SimpleITK may take the qform.

Exit code 0 when everything that was measured agrees. A file that measuring refuses is listed with the reason; it counts
as a disagreement only when the reference has values for it.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import nibabel as nib
import numpy as np
import SimpleITK as sitk
from numpy.typing import NDArray

import monai_spatialqa as sqa
from monai_spatialqa.records import Measurement, Structure

TOLERANCE = 1e-6
"""Relative difference of volumes; of centroids, relative to the reach of the volume's coordinates (see `_reach_mm`)."""

REFERENCE_DIGITS = 1e-4
"""Stored reference values are rounded to four decimals."""

NIFTI_SUFFIXES = (".nii", ".nii.gz", ".hdr")
SUFFIXES = (*NIFTI_SUFFIXES, ".nrrd", ".mha")


@dataclass
class Facts:
    """One structure by the second opinion, in stored axis order and RAS mm."""

    count: int
    start: tuple[int, int, int]
    stop: tuple[int, int, int]
    volume_mm3: float
    centroid_ras_mm: tuple[float, float, float] | None


@dataclass
class Row:
    """What came out for one file."""

    file: str
    structures: int = 0
    against: str = "-"
    reason: str = ""
    count_difference: int = 0
    box_difference: int = 0
    volume_difference: float = 0.0
    centroid_difference_mm: float = 0.0
    reference_difference: float | None = None
    surface_difference_mm: float | None = None
    problems: list[str] = field(default_factory=list)

    @property
    def verdict(self) -> str:
        return "DIFFERS" if self.problems else "refused" if self.against == "-" else "agrees"


def compare_file(
    path: Path, name: str, reference: Mapping[str, Any] | None = None, pairs: Sequence[Mapping[str, Any]] = ()
) -> Row:
    """Measure one file and compare.

    Args:
        path: the file.
        name: what to call it in the table.
        reference: its structures in the stored reference, id (text) -> values.
        pairs: pairs of its structures in the stored reference, with their smallest distance.
    """
    row = Row(file=name)
    try:
        measurement, notes = measure_anyway(path)
    except sqa.SpatialQAError as error:
        row.reason = f"{error.code}: {error.problem}"
        if reference is not None:
            row.problems.append("refused although the reference has values")
        return row
    found = {structure.label: structure for structure in measurement.structures.values()}
    row.structures = len(found)
    facts, row.against, why = _second_opinion(path, measurement, notes)
    row.reason = "; ".join([*notes, *why])
    _compare_facts(row, measurement, found, facts)
    if reference is not None:
        _compare_reference(row, measurement, found, reference)
    if pairs:
        _compare_pairs(row, path, pairs)
    return row


def measure_anyway(path: Path, **options: Any) -> tuple[Measurement, list[str]]:
    """The record, and what had to be said to get one: ids that are no structure, which of two forms counts.

    Raises:
        SpatialQAError: it cannot be measured whatever is said.
    """
    notes: list[str] = []
    while True:
        try:
            return sqa.measure(path, **options), notes
        except sqa.SpatialQAError as error:
            if error.code == "negative_label" and "ignore" not in options:
                stored = np.asarray(nib.load(path).dataobj)
                options["ignore"] = [int(value) for value in np.unique(stored) if value < 0]
                notes.append(f"ignored {', '.join(map(str, options['ignore']))}")
            elif error.code == "contradictory_geometry" and "form" not in options:
                options["form"] = "sform"
                notes.append("contradictory header: measured by its sform")
            else:
                raise


def _second_opinion(
    path: Path, measurement: Measurement, notes: Sequence[str]
) -> tuple[dict[int, Facts], str, list[str]]:
    assert measurement.geometry is not None
    why = []
    if measurement.geometry.sheared:
        why.append("sheared grid: SimpleITK is no reference")
    if any("contradictory" in note for note in notes):
        why.append("SimpleITK may take the qform")
    if measurement.geometry.orientation is None:
        why.append("no form code: positions not compared")
    image = None
    if not any("SimpleITK" in reason for reason in why) or not path.name.lower().endswith(NIFTI_SUFFIXES):
        try:
            image = sitk.ReadImage(str(path))
        except RuntimeError as error:
            why.append(f"SimpleITK refuses: {str(error).strip().splitlines()[-1].strip()[:60]}")
    ids = {structure.label for structure in measurement.structures.values() if structure.label is not None}
    if image is None:
        return _numpy_facts(path, measurement, ids), "numpy", why
    return _itk_facts(image, ids, oriented=measurement.geometry.orientation is not None), "SimpleITK", why


def _itk_facts(image: sitk.Image, ids: set[int], *, oriented: bool) -> dict[int, Facts]:
    if image.GetDimension() == 4:  # one volume with a fourth axis of one
        image = image[:, :, :, 0]
    values = sitk.GetArrayViewFromImage(image)
    numbers = {label: number for number, label in enumerate(sorted(ids), start=1)}
    # Renumbered, so that neither float storage nor 64-bit ids stand in the way.
    renumbered = np.zeros(values.shape, np.uint16)
    rounded = np.rint(values).astype(np.int64) if values.dtype.kind == "f" else values
    for label, number in numbers.items():
        renumbered[rounded == label] = number
    map_ = sitk.GetImageFromArray(renumbered)
    map_.CopyInformation(image)
    statistics = sitk.LabelShapeStatisticsImageFilter()
    statistics.ComputePerimeterOff()
    statistics.Execute(map_)
    facts = {}
    for label, number in numbers.items():
        if not statistics.HasLabel(number):
            continue
        i, j, k, *size = statistics.GetBoundingBox(number)
        x, y, z = statistics.GetCentroid(number)
        facts[label] = Facts(
            count=statistics.GetNumberOfPixels(number),
            start=(i, j, k),
            stop=(i + size[0], j + size[1], k + size[2]),
            volume_mm3=statistics.GetPhysicalSize(number),
            centroid_ras_mm=(-x, -y, z) if oriented else None,  # ITK's world is LPS
        )
    return facts


def _numpy_facts(path: Path, measurement: Measurement, ids: set[int]) -> dict[int, Facts]:
    loaded = nib.load(path)
    values = np.rint(np.asarray(loaded.dataobj)).reshape(loaded.shape[:3])
    assert measurement.geometry is not None
    affine = loaded.affine  # the sform where there is one
    facts = {}
    for label in ids:
        where = np.argwhere(values == label)
        if not len(where):
            continue
        centroid = affine[:3, :3] @ where.mean(0) + affine[:3, 3]
        facts[label] = Facts(
            count=len(where),
            start=tuple(where.min(0).tolist()),
            stop=tuple((where.max(0) + 1).tolist()),
            volume_mm3=len(where) * abs(float(np.linalg.det(affine[:3, :3]))),
            centroid_ras_mm=tuple(centroid.tolist()) if measurement.geometry.orientation else None,
        )
    return facts


def _stored_box(measurement: Measurement, structure: Structure) -> tuple[list[int], list[int]]:
    """The record's box, which is in the RAS grid, in stored axis order: by the axis codes alone."""
    assert measurement.geometry is not None
    assert structure.box is not None
    codes = measurement.geometry.orientation or "RAS"
    start, stop = [0, 0, 0], [0, 0, 0]
    for stored, code in enumerate(codes):
        axis = next(axis for axis, pair in enumerate(("LR", "PA", "IS")) if code in pair)
        low, high = structure.box.index_start[axis], structure.box.index_stop[axis]
        if code in "LPI":
            length = measurement.geometry.shape[axis]
            low, high = length - high, length - low
        start[stored], stop[stored] = low, high
    return start, stop


def _reach_mm(measurement: Measurement) -> float:
    """The largest coordinate of the volume's corners: what single-precision headers round against."""
    assert measurement.geometry is not None
    if measurement.geometry.affine_ras_mm is None:
        return 1.0
    affine = np.array(measurement.geometry.affine_ras_mm)
    ends = [(0, length - 1) for length in measurement.geometry.shape]
    corners = np.array([(i, j, k, 1) for i in ends[0] for j in ends[1] for k in ends[2]]).T
    return max(1.0, float(np.abs(affine @ corners).max()))


def _compare_facts(
    row: Row, measurement: Measurement, found: Mapping[int | None, Structure], facts: Mapping[int, Facts]
) -> None:
    if set(facts) != set(found):
        row.problems.append(f"structures: {sorted(set(facts) ^ set(found), key=str)} in one of the two only")
    reach = _reach_mm(measurement)
    for label in sorted(set(facts) & {label for label in found if label is not None}):
        ours, theirs = found[label], facts[label]
        start, stop = _stored_box(measurement, ours)
        counts = abs(int(ours.voxel_count or 0) - theirs.count)
        boxes = max(abs(a - b) for a, b in zip([*start, *stop], [*theirs.start, *theirs.stop], strict=True))
        volume = abs((ours.volume_mm3 or 0.0) / theirs.volume_mm3 - 1)
        shift = 0.0
        if theirs.centroid_ras_mm is not None:
            shift = math.dist(ours.centroid_ras_mm or (math.inf,) * 3, theirs.centroid_ras_mm)
        row.count_difference = max(row.count_difference, counts)
        row.box_difference = max(row.box_difference, boxes)
        row.volume_difference = max(row.volume_difference, volume)
        row.centroid_difference_mm = max(row.centroid_difference_mm, shift)
        if counts or boxes or volume > TOLERANCE or shift > TOLERANCE * reach:
            row.problems.append(
                f"id {label}: count {counts}, box {boxes}, volume {volume:.2g} (relative), centroid {shift:.2g} mm"
            )


def _compare_reference(
    row: Row, measurement: Measurement, found: Mapping[int | None, Structure], reference: Mapping[str, Any]
) -> None:
    row.reference_difference = 0.0
    if {int(label) for label in reference} != set(found):
        row.problems.append("other structures than the reference")
    for text, expected in reference.items():
        ours = found.get(int(text))
        if ours is None or ours.box is None or ours.centroid_ras_mm is None:
            row.problems.append(f"id {text}: no figures, but the reference has some")
            continue
        start, stop = _stored_box(measurement, ours)
        last = [value - 1 for value in stop]  # the reference's boxes are inclusive
        low, high = ours.box.world_min_ras_mm, ours.box.world_max_ras_mm
        assert low is not None
        assert high is not None
        extent: NDArray[np.float64] = np.subtract(high, low)
        lengths = [
            np.abs(np.subtract(extent, expected["bbox_ras_full_extent_mm"])).max(),
            np.abs(np.subtract(ours.centroid_ras_mm, expected["centroid_ras"])).max(),
        ]
        volume = abs((ours.volume_mm3 or 0.0) - expected["volume_mm3"])
        row.reference_difference = max(row.reference_difference, float(max(lengths)))
        exact = (ours.voxel_count, start, last) == (
            expected["voxels"],
            list(expected["bbox_ijk_min"]),
            list(expected["bbox_ijk_max"]),
        )
        near = max(lengths) <= REFERENCE_DIGITS and volume <= REFERENCE_DIGITS + TOLERANCE * expected["volume_mm3"]
        if not (exact and near):
            row.problems.append(
                f"id {text} against the reference: count and box {'equal' if exact else 'differ'}, "
                f"lengths {max(lengths):.2g} mm, volume {volume:.2g} mm3"
            )


def _compare_pairs(row: Row, path: Path, pairs: Sequence[Mapping[str, Any]]) -> None:
    names = [tuple(f"label_{label}" for label in pair["labels"]) for pair in pairs]
    found = sqa.measure(path, distances=names, distance_kind="surface").pairs
    row.surface_difference_mm = 0.0
    for pair, expected in zip(found, pairs, strict=True):
        shift = abs((pair.distance_mm or math.nan) - expected["min_voxel_centre_distance_mm"])
        row.surface_difference_mm = max(row.surface_difference_mm, shift)
        if not shift <= REFERENCE_DIGITS:
            row.problems.append(f"{pair.a} to {pair.b}: surface distance {shift:.2g} mm off the reference")


def compare_directory(directory: Path, reference: Mapping[str, Any] | None = None) -> list[Row]:
    """Compare every volume file below a directory, in the order of their names."""
    stored, pairs = ((reference or {}).get(key, {}) for key in ("labels", "pairs"))
    files = sorted(path for path in directory.rglob("*") if path.name.lower().endswith(SUFFIXES))
    rows = []
    for path in files:
        name = path.relative_to(directory).as_posix()
        known = stored[name]["structures"] if name in stored else None
        rows.append(compare_file(path, name, known, pairs.get(name, ())))
    return rows


def table(rows: Sequence[Row]) -> str:
    """The rows as text, with the largest differences of each file."""
    titles = (
        "file",
        "n",
        "against",
        "count",
        "box",
        "volume (rel)",
        "centroid mm",
        "reference mm",
        "surface mm",
        "",
        "reason",
    )
    cells = [
        (
            row.file,
            str(row.structures),
            row.against,
            str(row.count_difference),
            str(row.box_difference),
            f"{row.volume_difference:.1e}",
            f"{row.centroid_difference_mm:.1e}",
            *(
                "-" if value is None else f"{value:.1e}"
                for value in (row.reference_difference, row.surface_difference_mm)
            ),
            row.verdict,
            row.reason,
        )
        for row in rows
    ]
    widths = [max(len(line[column]) for line in [titles, *cells]) for column in range(len(titles))]
    lines = [
        "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)) for line in [titles, *cells]
    ]
    for row in rows:
        lines += [f"{row.file}: {problem}" for problem in row.problems]
    verdicts = [row.verdict for row in rows]
    lines.append(", ".join(f"{verdicts.count(word)} {word}" for word in ("agrees", "refused", "DIFFERS")))
    return "\n".join(line.rstrip() for line in lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare, print, and say by the exit code whether everything agrees."""
    parser = argparse.ArgumentParser(description="Compare sqa.measure with SimpleITK on a directory of volume files.")
    parser.add_argument("directory", type=Path)
    parser.add_argument("--reference", type=Path, help="stored reference values, by path relative to the directory")
    parser.add_argument("--json", type=Path, help="also write the rows here")
    options = parser.parse_args(arguments)
    if not options.directory.is_dir():
        parser.error(f"{options.directory} is no directory")
    reference = json.loads(options.reference.read_text(encoding="utf-8")) if options.reference else None
    rows = compare_directory(options.directory, reference)
    if not rows:
        parser.error(f"no volume file in {options.directory}")
    print(table(rows))
    if options.json:
        content = [{**asdict(row), "verdict": row.verdict} for row in rows]
        options.json.write_text(json.dumps(content, indent=1, ensure_ascii=False), encoding="utf-8")
    return 1 if any(row.problems for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
