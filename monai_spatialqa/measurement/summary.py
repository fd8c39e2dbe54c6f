"""What a run measured, in one small table."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from monai_spatialqa.records import Measurement

_CASES_SHOWN = 5


@dataclass(frozen=True)
class StructureSummary:
    """One structure over all measured cases.

    Attributes:
        cases: cases it was found in.
        whole: of these, those where it does not reach the border of the field of view.
        flagged: how often each status other than ok and absent was given.
        median_volume_ml: over the cases where it is whole; None without any.
    """

    cases: int
    whole: int
    flagged: dict[str, int]
    median_volume_ml: float | None


@dataclass(frozen=True)
class MeasureSummary:
    """Counts of a run; equal records give an equal summary.

    Attributes:
        cases: all cases.
        measured: cases with a measurement.
        failed: cases with an error record.
        errors: error code -> ids of the cases.
        structures: name -> what was found, for structures found in at least one case.
        pairs: recorded distances.
        unknown_labels: id outside the label map -> number of cases.
    """

    cases: int
    measured: int
    failed: int
    errors: dict[str, list[str]]
    structures: dict[str, StructureSummary]
    pairs: int
    unknown_labels: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, records: Sequence[Measurement]) -> MeasureSummary:
        """Count the records of a run."""
        measured = [record for record in records if not record.errors]
        names = {
            name: None for record in measured for name, structure in record.structures.items() if structure.voxel_count
        }
        return cls(
            cases=len(records),
            measured=len(measured),
            failed=len(records) - len(measured),
            errors=_errors(records),
            structures={name: _structure(name, measured) for name in names},
            pairs=sum(len(record.pairs) for record in measured),
            unknown_labels=dict(
                (str(label), count)
                for label, count in sorted(Counter(one for record in measured for one in record.unknown_labels).items())
            ),
        )

    def as_dict(self) -> dict[str, Any]:
        """For ``summary.json``."""
        return asdict(self)


def _errors(records: Sequence[Measurement]) -> dict[str, list[str]]:
    cases: dict[str, list[str]] = {}
    for record in records:
        for error in record.errors:
            cases.setdefault(error.code, []).append(record.case_id)
    return dict(sorted(cases.items()))


def _structure(name: str, records: Sequence[Measurement]) -> StructureSummary:
    found = [
        record.structures[name]
        for record in records
        if name in record.structures and record.structures[name].voxel_count
    ]
    whole = [structure for structure in found if "truncated" not in structure.status]
    flags = Counter(word for structure in found for word in structure.status if word != "ok")
    volumes = [structure.volume_ml for structure in whole if structure.volume_ml is not None]
    return StructureSummary(
        cases=len(found),
        whole=len(whole),
        flagged=dict(sorted(flags.items())),
        median_volume_ml=statistics.median(volumes) if volumes else None,
    )


def summary_lines(summary: MeasureSummary, output: Path, cards: Sequence[Path]) -> list[str]:
    """The table for the terminal, and where everything lies."""
    lines = [f"{summary.measured} of {summary.cases} cases measured"]
    if summary.structures:
        width = max(len("structure"), *map(len, summary.structures))
        lines += ["", f"{'structure':<{width}}  cases  whole  median volume (ml)  status"]
        for name, row in summary.structures.items():
            volume = "-" if row.median_volume_ml is None else f"{row.median_volume_ml:.1f}"
            flags = ", ".join(f"{word} {count}" for word, count in row.flagged.items()) or "ok"
            lines.append(f"{name:<{width}}  {row.cases:>5}  {row.whole:>5}  {volume:>18}  {flags}")
        lines.append("")
        lines.append("whole: does not reach the border of the field of view; the median is over these.")
    if summary.unknown_labels:
        told = ", ".join(f"{label} ({count} cases)" for label, count in summary.unknown_labels.items())
        lines.append(
            f"ids outside the label map, measured under the names the files give them or as label_<id>: {told}"
        )
    for code, cases in summary.errors.items():
        more = f" and {len(cases) - _CASES_SHOWN} more" if len(cases) > _CASES_SHOWN else ""
        lines.append(f"failed, {code}: {', '.join(cases[:_CASES_SHOWN])}{more}")
    lines += ["", "records   " + str(output / "measurements.jsonl"), "table     " + str(output / "measurements.csv")]
    if summary.pairs:
        lines.append("distances " + str(output / "distances.csv"))
    lines.append("summary   " + str(output / "summary.json"))
    if cards:
        lines.append(f"pictures  {cards[0].parent} ({len(cards)})")
    return lines
