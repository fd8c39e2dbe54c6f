"""What results are broken down by: organs, tumours, volume, source and modality of the scan that an item is about."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from monai_spatialqa.anatomy import Organ, TumourKind, organs_of, tumours_of
from monai_spatialqa.evaluation.matching import unique
from monai_spatialqa.records import Measurement
from monai_spatialqa.records.item import Item


@dataclass(frozen=True)
class ItemFacts:
    """What an item counts for in a table.

    Attributes:
        organs, tumours: of its structures, each once.
        volume_ml: of the structure it asks about first; None where that was not measured.
        modality: CT or MR, as the item states it.
        source: data set of the scan, told by the label map it was measured with; None without a measurement.
    """

    organs: tuple[Organ, ...] = ()
    tumours: tuple[TumourKind, ...] = ()
    volume_ml: float | None = None
    modality: str | None = None
    source: str | None = None


def facts_of(items: Iterable[Item], measurements: Iterable[Measurement] | None = None) -> dict[str, ItemFacts]:
    """Facts of every item, by item id.

    Organs and tumours come from the names of structures, and from the label map where the measurement names one that
    comes with the package. Without a measurement of its case an item has neither volume nor source.

    Raises:
        ScoringError: two measurements of a case.
    """
    measured = unique(measurements or (), "measurement")
    known: dict[tuple[str, str | None, tuple[str, ...]], tuple[tuple[Organ, ...], tuple[TumourKind, ...]]] = {}
    facts = {}
    for item in items:
        case = measured.get(item.case.case_id)
        source = None if case is None else case.label_map
        organs: dict[Organ, None] = {}
        tumours: dict[TumourKind, None] = {}
        for name in item.structures:
            key = name, source, _members(case, name)
            if key not in known:
                known[key] = organs_of(*key), tumours_of(name, source)
            organs.update(dict.fromkeys(known[key][0]))
            tumours.update(dict.fromkeys(known[key][1]))
        facts[item.item_id] = ItemFacts(
            tuple(organs), tuple(tumours), _volume_ml(case, item.structures[0]), item.case.modality, source
        )
    return facts


def _members(case: Measurement | None, name: str) -> tuple[str, ...]:
    found = None if case is None else case.structures.get(name)
    return () if found is None else tuple(found.union_of or ())


def _volume_ml(case: Measurement | None, name: str) -> float | None:
    found = None if case is None else case.structures.get(name)
    return None if found is None else found.volume_ml


def case_of(case_id: str, patient_id: str | None) -> str:
    """What is drawn as one in a bootstrap and left out as one by a baseline: the patient where known, else the case."""
    return case_id if patient_id is None else patient_id


def cases_of(items: Iterable[Item]) -> Mapping[str, str]:
    """The same of every item, by item id."""
    return {item.item_id: case_of(item.case.case_id, item.case.patient_id) for item in items}
