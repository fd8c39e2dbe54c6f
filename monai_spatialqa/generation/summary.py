"""What a run made, how it is balanced, and what somebody who sees the text only would score."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, get_args

from monai_spatialqa.generation.balance import Pair, is_ordered
from monai_spatialqa.items.draft import SUBTASKS
from monai_spatialqa.items.option_relations import attack_results
from monai_spatialqa.records.item import LETTERS, TaskCode

MOST_ASKED = 4
"""Structures that the table names, those asked about most often."""


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
        yes_no: yes and no -> how often it is the answer.
        interval_places: letter, A the lowest -> how often the key is the interval there (also in ``key_letters``).
        structures: structure that is asked about -> number of items.
        left_out: reason -> number of structures that some question could not be about for it, over all cases.
        not_made: reason -> number of questions that were given up for it, over all cases.
        text_only: way of guessing without the image -> share of the items it gets right.
        option_relations: the strongest way of telling a key from the options alone (see ``items/option_relations.py``),
            with counts and shares; None where no subtask has enough items to say.
        label_maps: what is wrong with label maps -> cases.
        failed: 0; a case without a measurement is skipped, not failed.
    """

    cases: int
    skipped: list[str]
    items: int
    tasks: dict[str, dict[str, int]]
    formats: dict[str, int]
    key_letters: dict[str, int]
    yes_no: dict[str, int]
    interval_places: dict[str, int]
    structures: dict[str, int]
    left_out: dict[str, int]
    not_made: dict[str, int]
    text_only: dict[str, float]
    option_relations: dict[str, Any] | None = None
    label_maps: dict[str, int] = field(default_factory=dict)
    failed: int = 0

    @classmethod
    def of(
        cls,
        pairs: Sequence[Pair],
        *,
        cases: int,
        skipped: Sequence[str],
        structures: Mapping[str, int],
        left_out: Mapping[str, int],
        not_made: Mapping[str, int],
        label_maps: Mapping[str, int] | None = None,
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
            key_letters=_answers(choices),
            yes_no=_answers((item, reference) for item, reference in pairs if item.format == "yesno"),
            interval_places=_answers((item, reference) for item, reference in choices if is_ordered(item)),
            structures=_most_first(structures),
            left_out=_most_first(left_out),
            not_made=_most_first(not_made),
            text_only=text_only_shares(pairs),
            option_relations=_strongest(choices),
            label_maps=_most_first(label_maps or {}),
        )

    def as_dict(self) -> dict[str, Any]:
        """For ``summary.json``."""
        return asdict(self)


def _strongest(choices: Sequence[Pair]) -> dict[str, Any] | None:
    results = attack_results(
        (item.subtask, item.options, LETTERS.index(reference.answer)) for item, reference in choices
    )
    return asdict(results[0]) if results else None


def _answers(pairs: Iterable[Pair]) -> dict[str, int]:
    return dict(sorted(Counter(reference.answer for _, reference in pairs).items()))


def _most_first(counts: Mapping[str, int]) -> dict[str, int]:
    return dict(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))


def text_only_shares(pairs: Sequence[Pair]) -> dict[str, float]:
    """What four ways of guessing without the image score, 0 to 1: three on choices, one on yes and no.

    ``majority_letter``: always the most frequent key letter. ``frequent_answer``: the option that is most often the key
    of other items of the same subtask (the first one where none is). ``longest_option``: the longest text.
    ``majority_yes_no``: of every subtask the answer that it has more often.
    """
    choices = [pair for pair in pairs if pair[0].format == "mca"]
    asked: dict[str, Counter[str]] = defaultdict(Counter)
    for item, reference in pairs:
        if item.format == "yesno":
            asked[item.subtask][reference.answer] += 1
    yes_no = {}
    if asked:
        most = sum(max(counts.values()) for counts in asked.values())
        yes_no = {"majority_yes_no": most / sum(counts.total() for counts in asked.values())}
    if not choices:
        return yes_no
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
        **yes_no,
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
    lines.append("")
    for title, counts in (
        ("key letters", summary.key_letters),
        ("yes and no", summary.yes_no),
        ("key interval, A lowest", summary.interval_places),
        ("asked about most", dict(list(summary.structures.items())[:MOST_ASKED])),
    ):
        if counts:
            lines.append(f"{title:<24}" + "  ".join(f"{name} {count}" for name, count in counts.items()))
    if summary.text_only:
        told = ", ".join(f"{name.replace('_', ' ')} {share:.0%}" for name, share in summary.text_only.items())
        lines.append(f"{'right without the image':<24}{told}")
    if (strongest := summary.option_relations) is not None:
        lines.append(
            f"{'right by options alone':<24}{strongest['attack'].replace('_', ' ')} {strongest['right']:.0%} of "
            f"{strongest['items']} {strongest['group']}, by chance {strongest['chance']:.0%}"
        )
    for title, counts in (
        ("cases whose label map is not known, or does not fit", summary.label_maps),
        ("structures that some questions could not be about", summary.left_out),
        ("questions that were not made", summary.not_made),
    ):
        if counts:
            lines += ["", title, *(f"{count:>8}  {reason}" for reason, count in counts.items())]
    lines += ["", f"items       {output / 'items.jsonl'}", f"references  {output / 'references.jsonl'}"]
    return [*lines, f"summary     {output / 'summary.json'}"]
