"""What a run made, how it is balanced, and what somebody who sees the text only would score."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, get_args

from monai_spatialqa.generation.case import Pair
from monai_spatialqa.items.draft import SUBTASKS
from monai_spatialqa.records.item import TaskCode


@dataclass(frozen=True)
class GenerateSummary:
    """Counts of a run; equal items give an equal summary.

    Attributes:
        cases: cases of the measurements.
        skipped: cases without a measurement.
        items: number of items.
        tasks: task -> subtask -> number of items.
        formats: format -> number of items.
        key_letters: letter -> how often it is the key of a choice.
        structures: structure that is asked about -> number of items.
        refusals: reason -> how often a structure or a question was refused for it.
        text_only: way of guessing without the image -> share of the choices it gets right.
        failed: 0; a case without a measurement is skipped, not failed.
    """

    cases: int
    skipped: list[str]
    items: int
    tasks: dict[str, dict[str, int]]
    formats: dict[str, int]
    key_letters: dict[str, int]
    structures: dict[str, int]
    refusals: dict[str, int]
    text_only: dict[str, float]
    failed: int = 0

    @classmethod
    def of(
        cls, pairs: Sequence[Pair], *, cases: int, skipped: Sequence[str], refusals: Mapping[str, int]
    ) -> GenerateSummary:
        """Count the items of a run."""
        tasks: dict[str, dict[str, int]] = {}
        for name, subtask in sorted(SUBTASKS.items(), key=lambda pair: get_args(TaskCode).index(pair[1].task)):
            count = sum(item.subtask == name for item, _ in pairs)
            if count:
                tasks.setdefault(subtask.task, {})[name] = count
        choices = [(item, reference) for item, reference in pairs if item.format == "mca"]
        return cls(
            cases=cases,
            skipped=list(skipped),
            items=len(pairs),
            tasks=tasks,
            formats=dict(sorted(Counter(item.format for item, _ in pairs).items())),
            key_letters=dict(sorted(Counter(reference.answer for _, reference in choices).items())),
            structures=dict(Counter(item.structures[0] for item, _ in pairs).most_common()),
            refusals=dict(sorted(refusals.items(), key=lambda pair: (-pair[1], pair[0]))),
            text_only=text_only_shares(choices),
        )

    def as_dict(self) -> dict[str, Any]:
        """For ``summary.json``."""
        return asdict(self)


def text_only_shares(choices: Sequence[Pair]) -> dict[str, float]:
    """What three ways of guessing without the image score on choices, 0 to 1.

    ``majority_letter``: always the most frequent key letter. ``frequent_answer``: the option that is most often the key
    of other items of the same subtask (the first one where none is). ``longest_option``: the longest text.
    """
    if not choices:
        return {}
    letters = Counter(reference.answer for _, reference in choices)
    keys: dict[str, Counter[str]] = defaultdict(Counter)
    for item, reference in choices:
        keys[item.subtask][reference.answer_text] += 1
    frequent = longest = 0
    for item, reference in choices:
        others = keys[item.subtask].copy()
        others[reference.answer_text] -= 1
        frequent += max(item.options, key=lambda option: others[option]) == reference.answer_text
        longest += max(item.options, key=len) == reference.answer_text
    return {
        "majority_letter": max(letters.values()) / len(choices),
        "frequent_answer": frequent / len(choices),
        "longest_option": longest / len(choices),
    }


def summary_lines(summary: GenerateSummary, output: Path) -> list[str]:
    """The table for the terminal, and where everything lies."""
    measured = summary.cases - len(summary.skipped)
    cases = "1 case" if measured == 1 else f"{measured} cases"
    skipped = f"; {len(summary.skipped)} without a measurement" if summary.skipped else ""
    lines = [f"{summary.items} items of {cases}{skipped}"]
    lines += ["", f"{'task':<8}{'subtask':<28}{'items':>6}"]
    for task, subtasks in summary.tasks.items():
        lines += [f"{task:<8}{name:<28}{count:>6}" for name, count in subtasks.items()]
    lines += ["", "key letters  " + "  ".join(f"{letter} {count}" for letter, count in summary.key_letters.items())]
    if summary.text_only:
        told = ", ".join(f"{name.replace('_', ' ')} {share:.0%}" for name, share in summary.text_only.items())
        lines.append(f"guessing without the image, choices right: {told}")
    if summary.refusals:
        lines += ["", "not asked because"]
        lines += [f"{count:>8}  {reason}" for reason, count in summary.refusals.items()]
    lines += ["", f"items       {output / 'items.jsonl'}", f"references  {output / 'references.jsonl'}"]
    return [*lines, f"summary     {output / 'summary.json'}"]
