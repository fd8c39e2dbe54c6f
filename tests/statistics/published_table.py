"""Does the published result table's column AVG follow from its six others? ``python -m tests.statistics.published_table``.

Figures: arXiv 2603.13800 (CC BY 4.0), in ``published_table.json`` beside this file.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from monai_spatialqa.statistics import CHOICE_TASKS, PAPER_COLUMNS, macro_average, paper_average

TABLE = Path(__file__).with_name("published_table.json")

ROUNDING = Decimal("0.01")
"""Half of the last digit printed, once for the columns, whose mean is off by as much, and once for the average."""


@dataclass(frozen=True)
class Row:
    """A printed row in percent; None where no number is printed."""

    model: str
    printed: Decimal
    columns: dict[str, float | None]

    @property
    def average(self) -> float:
        """What the six columns average to, an empty one as 0."""
        return paper_average(self.columns)

    @property
    def macro(self) -> float | None:
        """What the five columns of choices average to."""
        return macro_average({task: self.columns[task] for task in CHOICE_TASKS})

    @property
    def consistent(self) -> bool:
        """Whether AVG is that average, as far as it is printed."""
        return self._prints(self.average)

    @property
    def averages_choices(self) -> bool:
        """Whether AVG is the average of the five columns of choices instead."""
        return self.macro is not None and self._prints(self.macro)

    def _prints(self, average: float) -> bool:
        return abs(round(Decimal(average), 9) - self.printed) <= ROUNDING


def published_rows() -> list[Row]:
    """Random guessing and the 14 models, in the order of the paper."""
    rows = json.loads(TABLE.read_text(encoding="utf-8"))["rows"]
    return [
        Row(
            " ".join(filter(None, (row["model"], row["size"]))),
            Decimal(row["AVG"]),
            {task: None if row[task] is None else float(row[task]) for task in PAPER_COLUMNS},
        )
        for row in rows
    ]


def main() -> None:
    """Print the table's check."""
    for row in published_rows():
        verdict = "ok" if row.consistent else "the five choice columns" if row.averages_choices else "DOES NOT FOLLOW"
        print(f"{row.model:<20} printed {row.printed:>6}  six columns {row.average:7.3f}  {verdict}")


if __name__ == "__main__":
    main()
