"""What is known of a public data set, and what is found in one folder of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from monai_spatialqa.errors import PairingError, readable
from monai_spatialqa.records import Case


@dataclass(frozen=True)
class DataSet:
    """A public data set.

    Attributes:
        name: of the source, and of the shipped label map that its labels follow.
        title: what people call it.
        licence: of the data, in words that say so when it was not verified.
        reference: where layout and licence were read.
        scan: finds the cases in a folder.
        channels: what the channels of an image are, in their order.
        modality: of every case; None where cases differ.
        sections: of the datalist, all of which are written.
    """

    name: str
    title: str
    licence: str
    reference: str
    scan: Callable[[DataSet, Path], Listing]
    channels: tuple[str, ...]
    modality: Literal["CT", "MR"] | None = None
    sections: tuple[str, ...] = ("training",)

    def case(self, case_id: str, label: Path | list[Path], image: Path | list[Path] | None, **more: Any) -> Case:
        """A case with absolute paths and what the data set says of all its cases."""
        facts = {"modality": self.modality, "licence": self.licence, "label_map": self.name, **more}
        return Case(case_id=readable(case_id), label=_texts(label), image=_texts(image), **facts)


def _texts(paths: Any) -> Any:
    if isinstance(paths, list):
        return [readable(str(path)) for path in paths]
    return None if paths is None else readable(str(paths))


@dataclass
class Listing:
    """Everything found in a folder: each file of voxels is in a case, or told with the reason why not.

    Attributes:
        base: the folder that holds the cases; paths told to the user are relative to it.
        cases: section of the datalist -> cases.
        skipped: reason -> paths.
        notes: remark -> ids of the cases it holds for.
        licence: of the data where the download itself says it.
    """

    base: Path
    cases: dict[str, list[Case]] = field(default_factory=dict)
    skipped: dict[str, list[str]] = field(default_factory=dict)
    notes: dict[str, list[str]] = field(default_factory=dict)
    licence: str | None = None

    def add(self, section: str, case: Case) -> None:
        """Put a case into a section; one without an image is noted."""
        self.cases.setdefault(section, []).append(case)
        if case.image is None:
            self.note("without image, listed with the label only", case.case_id)

    def skip(self, reason: str, *paths: Path) -> None:
        """Leave files or folders out, and say why."""
        if paths:
            self.skipped.setdefault(reason, []).extend(self.told(path) for path in paths)

    def note(self, remark: str, case_id: str) -> None:
        """Say something of a case that is listed."""
        self.notes.setdefault(remark, []).append(readable(case_id))

    def told(self, path: Path) -> str:
        """A path as the user is told it: relative to the base, with forward slashes."""
        return readable(path.relative_to(self.base).as_posix() if path.is_relative_to(self.base) else str(path))

    def all_cases(self) -> Iterable[tuple[str, Case]]:
        """Section and case, in the order of the sections, by id within one."""
        for section, cases in self.cases.items():
            for case in sorted(cases, key=lambda one: one.case_id):
                yield section, case

    def refuse_double_ids(self) -> None:
        """Ids name cases in every later record.

        Raises:
            PairingError: two cases of one id, in the same section or not.
        """
        seen: dict[str, Case] = {}
        for _, case in self.all_cases():
            other = seen.setdefault(case.case_id, case)
            if other is not case:
                raise PairingError(
                    "two cases have the same id",
                    code="duplicate_case",
                    case=case.case_id,
                    file=self.base,
                    found=" and ".join(
                        one.label if isinstance(one.label, str) else one.label[0] for one in (other, case)
                    ),
                    expected="one case an id",
                    next_step="remove one of the two copies, or name the folder of one of them as source_root",
                )
