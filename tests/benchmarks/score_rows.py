"""Reading and scoring replies, and the tables with their intervals: how long, and how it grows with the answers."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from random import Random
from typing import TYPE_CHECKING, TypeVar

from tests.benchmarks import report

if TYPE_CHECKING:
    from monai_spatialqa.records.answer import Answer
    from monai_spatialqa.records.item import Item, Reference
    from tests.benchmarks.bench import Bench

T = TypeVar("T")

COUNTS, QUICK_COUNTS = (1_000, 3_000, 10_000), (100, 300)
DRAWS, QUICK_DRAWS = 10_000, 100
PER_CASE = 25
TASKS = ("DIR", "DIST", "EXT", "VOL", "COMP", "VOLEST")
STRUCTURES = (
    *("liver", "spleen", "pancreas", "stomach", "kidney_left", "kidney_right", "aorta", "heart", "brain", "prostate"),
    *(f"lung_{lobe}_lobe_{side}" for lobe in ("upper", "lower") for side in ("left", "right")),
    *(f"rib_{side}_{number}" for side in ("left", "right") for number in range(1, 13)),
    *(f"vertebrae_{name}" for name in ("T10", "T11", "T12", "L1", "L2", "L3", "L4", "L5", "S1")),
    *("liver_tumour", "kidney_tumour", "pancreas_tumour"),
)
"""Enough for tables of a usual size: about 80 groups."""

CHOICES = (
    *("{letter}", "({letter}).", "**{letter}**", "The answer is {letter}.", "Answer: {letter}", "{letter}. {text}"),
    '```json\n{{"answer": "{letter}"}}\n```',
    "<think>Could be A or B. The slices show the lower pole.</think>\nThe correct answer is ({letter}) {text}",
    "I compare the options.\nA. small\nB. larger\nThe volume is near {text}, so the answer is {letter}.",
    "I'm sorry, but I cannot tell.",
)
NUMBERS = (
    *(
        "{value:.1f} ml",
        "{value:,.2f} cm3",
        "about {value:.0f} mL.",
        "The volume is {value:.1f} ml.",
        "**{value:.2f}**",
    ),
    '{{"value": {value:.2f}, "unit": "ml"}}',
    "Label 5, slices 12 to 60, spacing 1.5 mm: the volume is {value:.1f} cubic centimetres.",
    "between {value:.0f} and {more:.0f} ml",
    "It cannot be measured.",
)
"""Forms of replies, constructed; every reply is one of its own, since texts of options and values differ."""


@dataclass(frozen=True)
class Scored:
    """How long one number of answers took.

    Attributes:
        answers: how many.
        scoring_seconds: reading and scoring them.
        table_seconds: all figures of all groups with their intervals.
        groups: of the table.
    """

    answers: int
    scoring_seconds: float
    table_seconds: float
    groups: int

    @property
    def seconds(self) -> float:
        """Both."""
        return self.scoring_seconds + self.table_seconds


def measure(bench: Bench) -> None:
    """The row: each number of answers once, the largest last."""
    if not bench.wanted.row("scoring"):
        return
    quick = bench.wanted.quick
    _seconds(lambda: scored(100, 100))  # imports
    rows = [scored(count, QUICK_DRAWS if quick else DRAWS) for count in (QUICK_COUNTS if quick else COUNTS)]
    bench.results.other["scoring"] = [asdict(row) | {"seconds": row.seconds} for row in rows]
    header = ["answers read and scored, 10,000 draws", "scoring s", "tables s", "together s", "groups"]
    lines = [
        [
            f"{row.answers:,}",
            *(f"{s:.2f}" for s in (row.scoring_seconds, row.table_seconds, row.seconds)),
            str(row.groups),
        ]
        for row in rows
    ]
    print("\n" + report.lined_up(header, lines), flush=True)


def scored(count: int, draws: int) -> Scored:
    """Score that many answers and build their table, in this process."""
    from monai_spatialqa.evaluation.scoring import score_answers
    from monai_spatialqa.evaluation.tables import build_result

    items, references, answers = map(list, zip(*made(count), strict=True))
    scoring, scores = _seconds(lambda: score_answers(items, references, answers))
    table, result = _seconds(lambda: build_result(scores, answers, items, draws=draws))
    return Scored(count, scoring, table, 1 + len(result.groups))


def _seconds(call: Callable[[], T]) -> tuple[float, T]:
    start = time.perf_counter()
    found = call()
    return time.perf_counter() - start, found


def made(count: int) -> Iterator[tuple[Item, Reference, Answer]]:
    """Items of cases with 25 items each, choices and numbers, and a reply to each."""
    from monai_spatialqa.records.answer import Answer
    from monai_spatialqa.records.item import LETTERS, Evidence, Item, ItemCase, Provenance, Reference

    for number in range(count):
        dice = Random(number)
        task, case_id = TASKS[number % len(TASKS)], f"case{number // PER_CASE:04}"
        volume = round(10 ** dice.uniform(0, 3.2), 2)
        said = volume * dice.choice((1, 1.03, 0.9, 1.3, 0.5))
        numeric = task == "VOLEST"
        options = [] if numeric else [f"{volume * factor:.1f} ml" for factor in (0.5, 1, 1.7, 2.6)]
        item = Item(
            item_id=f"item{number:05}",
            task=task,
            subtask=f"{task.lower()}_{number // 6 % 4}",
            format="numeric" if numeric else "mca",
            question="How large is it?",
            options=options,
            answer_unit="ml" if numeric else None,
            structures=dice.sample(STRUCTURES, 2 if task in ("DIR", "DIST", "COMP") else 1),
            case=ItemCase(case_id=case_id, modality="CT"),
            provenance=Provenance(seed=0),
        )
        reference = Reference(
            item_id=item.item_id,
            answer=str(volume) if numeric else "B",
            answer_text=f"{volume} ml" if numeric else options[1],
            answer_value=volume,
            answer_unit="ml",
            evidence=[Evidence(tool="volume", arguments={}, value=volume, unit="ml", measurement_id=case_id)],
        )
        letter = dice.choice(LETTERS[:4])
        text = "" if numeric else options[LETTERS.index(letter)]
        form = dice.choice(NUMBERS if numeric else CHOICES)
        yield (
            item,
            reference,
            Answer(
                answer_id=item.item_id,
                item_id=item.item_id,
                model="made",
                preset="made",
                options=options,
                outcome="answered",
                reply=form.format(letter=letter, text=text, value=said, more=1.2 * said),
            ),
        )
