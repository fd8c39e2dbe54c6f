"""A folder with everything that a small run needs: two scans, six questions about each, their answers, measurements."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from monai_spatialqa.evaluation import EvaluateSettings
from monai_spatialqa.records import write_bytes_atomic, write_text_atomic
from monai_spatialqa.records.item import LETTERS, Evidence, Item, ItemCase, Provenance, Reference
from tests.conftest import nifti_bytes

CASES = ("case_a", "case_b")
OPTIONS = {
    "DIR": ["in front of it", "behind it", "above it", "below it"],
    "DIST": ["20 mm", "30 mm", "45 mm", "70 mm"],
    "EXT": ["10 mm", "15 mm", "22 mm"],
    "COMP": ["the liver", "the spleen"],
}


def write_small_run(folder: Path) -> None:
    """Write ``items.jsonl``, ``references.jsonl`` and ``ct/<case>.nii.gz`` into a folder."""
    pairs = [pair for case in CASES for pair in pairs_of(case)]
    write_text_atomic(folder / "items.jsonl", "".join(item.to_json_line() + "\n" for item, _ in pairs))
    write_text_atomic(folder / "references.jsonl", "".join(one.to_json_line() + "\n" for _, one in pairs))
    voxels = np.random.default_rng(0).integers(-200, 300, (20, 24, 12)).astype(np.int16)
    for case in CASES:
        write_bytes_atomic(folder / f"ct/{case}.nii", nifti_bytes(voxels, spacing=(2.0, 2.0, 4.0)))


def pairs_of(case: str) -> Iterator[tuple[Item, Reference]]:
    """Four choices, a yes-no question and a number; the key of a choice is B."""
    for task, options in OPTIONS.items():
        yield _pair(case, task, "mca", "B", options[1], options=options)
    yield _pair(case, "VOL", "yesno", "yes", "yes", options=["yes", "no"])
    yield _pair(case, "VOLEST", "numeric", "1450.5", "1450.5 ml", answer_unit="ml")


def _pair(case: str, task: Any, form: Any, answer: str, text: str, **more: Any) -> tuple[Item, Reference]:
    item_id = f"{case}-{task.lower()}"
    value = float(answer) if form == "numeric" else None
    item = Item(
        item_id=item_id,
        task=task,
        subtask=f"{task.lower()}_made",
        format=form,
        question=f"Question {item_id}: what of the liver?",
        structures=["liver"],
        case=ItemCase(case_id=case, image_path=f"ct/{case}.nii", modality="CT"),
        provenance=Provenance(seed=0),
        **more,
    )
    evidence = Evidence(tool="volume", arguments={"structure": "liver"}, value=1450.5, unit="ml", measurement_id=case)
    reference = Reference(
        item_id=item_id,
        answer=answer,
        answer_text=text,
        answer_value=value,
        answer_unit=more.get("answer_unit"),
        evidence=[evidence],
    )
    return item, reference


def small_settings(base_url: str | None = None, **more: Any) -> EvaluateSettings:
    """Settings of a quick run in the working directory: three planes, few draws, no waiting for a failing server."""
    llm = {"tries": 1, "concurrency": 3, "timeout_seconds": 5.0, **more.pop("llm", {})}
    given: dict[str, Any] = {
        "items": ".",
        "model": None if base_url is None else "scripted",
        "base_url": base_url,
        "llm": llm,
        "views": {"kind": "planes", "size_px": 64},
        "draws": 100,
        "progress": False,
    }
    return EvaluateSettings.model_validate(given | more)


def right_reply(text: str) -> str:
    """What a model says that knows everything; it finds the question by its words."""
    if "-volest:" in text:
        return "1450.5 ml"
    if "-vol:" in text:
        return "yes"
    for options in OPTIONS.values():
        for letter in LETTERS[: len(options)]:
            if f"{letter}. {options[1]}" in text.splitlines():
                return letter
    return "OK"  # a check of the server, not a question
