"""What a run is made from: measurements whose cases can be told apart, and the label maps of their structures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from monai_spatialqa.anatomy import LabelMap, load_label_map
from monai_spatialqa.errors import FileReadError, LabelMapError
from monai_spatialqa.records import Measurement


def refuse_unusable_cases(records: Sequence[Measurement], source: Path) -> None:
    """Refuse cases that stand twice, be it with equal records, and ids that cannot stand in a line of text.

    Args:
        records: all of a file.
        source: the file.

    Raises:
        FileReadError: naming the ids.
    """
    unfit = [record.case_id for record in records if not record.case_id.strip() or not record.case_id.isprintable()]
    if unfit:
        raise FileReadError(
            "a case has no usable id",
            code="bad_case_id",
            file=source,
            key="case_id",
            found=", ".join(map(repr, unfit[:5])),
            expected="printable text that is not empty, in one line",
            next_step="rename the case in the datalist, and measure it again",
        )
    counts = Counter(record.case_id for record in records)
    doubled = sorted(case for case, count in counts.items() if count > 1)
    if doubled:
        raise FileReadError(
            "ids are not unique",
            code="duplicate_id",
            file=source,
            key="case_id",
            found=", ".join(doubled[:5]),
            expected="every case once",
            next_step="remove one of the rows, or give it an id of its own",
        )


class LabelMaps:
    """The label map of each record: the one that is set, else the one that the record names, where it is shipped.

    Args:
        given: what the settings name; None: what each record names.

    Attributes:
        noted: what is wrong with a label map -> cases.

    Raises:
        LabelMapError: the label map that is set cannot be loaded.
    """

    def __init__(self, given: str | Mapping[Any, Any] | None) -> None:
        self._given = None if given is None else load_label_map(given)
        self.noted: Counter[str] = Counter()

    def of(self, record: Measurement) -> LabelMap | None:
        """The label map of a record; None where it is not known.

        Raises:
            LabelMapError: the label map that is set has none of the structures of the record.
        """
        if self._given is None:
            found = None if record.label_map is None else _shipped(record.label_map)
            if found is None:
                told = "no label map is named" if record.label_map is None else f"{record.label_map} is not shipped"
                self.noted[f"{told}: no structure is known to be a tumour; set label_map"] += 1
            return found
        known = dict(zip(self._given.names, self._given.ids, strict=True))
        rows = set(self._given.row_names)
        named = {name: one.label for name, one in record.structures.items() if name != f"label_{one.label}"}
        strange = [name for name in named if name not in rows]
        other = [name for name, label in named.items() if name in known and label not in (None, known[name])]
        if named and len(strange) + len(other) == len(named):
            raise LabelMapError(
                "the label map does not fit the measurement",
                code="other_label_map",
                case=record.case_id,
                key="label_map",
                found=f"{self._given.name}, which names {', '.join(self._given.names[:5])} ...",
                expected=f"that of {record.label_map or 'the measurement'}, with {', '.join(list(named)[:5])} ...",
                next_step="set the label map that the case was measured with, or null",
            )
        for names, told in ((strange, "structures that it does not name"), (other, "structures that have another id")):
            if names:
                self.noted[f"{self._given.name} does not fit: {told}, such as {names[0]}"] += 1
        return self._given


@cache
def _shipped(name: str) -> LabelMap | None:
    try:
        return load_label_map(name)
    except LabelMapError:
        return None
