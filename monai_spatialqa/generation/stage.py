"""The generate stage: reads measurements, makes items case by case, and writes them in two files."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from monai_spatialqa.errors import FileReadError
from monai_spatialqa.generation.balance import RunBalance, with_letters_in_turn
from monai_spatialqa.generation.case import CaseItems, items_of_case
from monai_spatialqa.generation.settings import GenerateSettings
from monai_spatialqa.generation.sources import LabelMaps, refuse_unusable_cases
from monai_spatialqa.generation.summary import GenerateSummary, summary_lines
from monai_spatialqa.items.assemble import ItemContext
from monai_spatialqa.progress import Progress
from monai_spatialqa.records import Measurement, read_records, write_text_atomic
from monai_spatialqa.records.files import system_path, usable_folder
from monai_spatialqa.records.item import ItemCase

ITEMS, REFERENCES, SUMMARY = "items.jsonl", "references.jsonl", "summary.json"


def run_generation(settings: GenerateSettings) -> GenerateSummary:
    """Make items of every measured case.

    Writes into ``settings.output_dir``: ``items.jsonl`` (what a runner may read), ``references.jsonl`` (the answers),
    both sorted by id, and ``summary.json``. Prints the summary. The same measurements and settings give the same bytes.

    Raises:
        SpatialQAError: the measurements, the datalist, the label map or the folder are unusable; nothing
            is written then.
    """
    output = usable_folder(settings.output)
    records = sorted(read_records(settings.source, Measurement), key=lambda record: record.case_id)
    if not records:
        raise FileReadError(
            "there are no measurements",
            code="no_records",
            file=settings.source,
            key="measurements",
            expected="measurements.jsonl of the measure stage",
            next_step="run measure.yaml first",
        )
    refuse_unusable_cases(records, settings.source)
    label_maps = LabelMaps(settings.label_map)
    known = _datalist(settings)
    made: list[CaseItems] = []
    balance = RunBalance(settings.run_items_per_task, settings.run_items_per_structure)
    failed = [record.case_id for record in records if record.errors]
    with Progress(len(records), description="generate", silent=not settings.progress) as progress:
        for record in records:
            if not record.errors:
                context = _context(record, known.get(record.case_id, {}), settings)
                made.append(items_of_case(record, label_maps.of(record), context, settings, balance))
            progress.update(failed=bool(record.errors))
    pairs = with_letters_in_turn((pair for case in made for pair in case.pairs), settings.seed)
    left_out: Counter[str] = Counter()
    not_made: Counter[str] = Counter()
    for case in made:
        left_out.update(case.left_out)
        not_made.update(case.not_made)
    write_text_atomic(output / ITEMS, "".join(item.to_json_line() + "\n" for item, _ in pairs))
    write_text_atomic(output / REFERENCES, "".join(reference.to_json_line() + "\n" for _, reference in pairs))
    summary = GenerateSummary.of(
        pairs,
        cases=len(records),
        skipped=failed,
        structures=balance.structures,
        left_out=left_out,
        not_made=not_made,
        label_maps=label_maps.noted,
    )
    write_text_atomic(output / SUMMARY, json.dumps(summary.as_dict(), indent=2, ensure_ascii=False) + "\n")
    print("\n".join(summary_lines(summary, output)), flush=True)
    return summary


def _context(record: Measurement, known: Mapping[str, Any], settings: GenerateSettings) -> ItemContext:
    case = ItemCase(
        case_id=record.case_id,
        patient_id=known.get("patient_id"),
        image_path=record.source.image_path,
        modality=known.get("modality") or settings.modality,
    )
    return ItemContext(case, settings.seed, settings.sha256, known.get("licence"), settings.split)


def _datalist(settings: GenerateSettings) -> dict[str, Mapping[str, Any]]:
    """What a datalist says of each case, by its id."""
    given = settings.datalist is not None
    path = Path(system_path(str(settings.datalist))) if given else settings.source.with_name("datalist.json")
    if not given and not path.is_file():
        return {}
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise FileReadError("the datalist cannot be read", file=path, key="datalist", found=error) from None
    sections = [value for value in content.values() if isinstance(value, list)] if isinstance(content, dict) else []
    entries = [entry for section in sections for entry in section if isinstance(entry, dict) and "case_id" in entry]
    return {str(entry["case_id"]): entry for entry in entries}
