"""Made-up runs for the report: items, replies that no model ever gave, scores, and results with rough intervals."""

from __future__ import annotations

import math
import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from monai_spatialqa.evaluation.result import Comparison, Counts, Figure, Group, RunResult, Spent
from monai_spatialqa.records.answer import Answer, ModelKind, Reading, Score
from monai_spatialqa.records.item import Distractor, Evidence, Item, ItemCase, Provenance, Reference

PARSER = "1"
ORGANS = ("liver", "kidney", "spleen", "pancreas", "lung", "stomach", "heart")
TUMOURS = ("kidney", "pancreas", "liver", "prostate", "hepatic_vessel", "brats_whole", "brats_enhancing")
_CHOICE_TASKS = ("DIR", "DIST", "EXT", "VOL", "COMP")


class MadeRun(NamedTuple):
    """A run with its answers, scores and result."""

    answers: list[Answer]
    scores: list[Score]
    result: RunResult


def made_items(cases: int = 12) -> list[tuple[Item, Reference]]:
    """For every case an item of each task about one organ; numbers grow with the case."""
    return [pair for case in range(cases) for pair in _of_case(case)]


def _of_case(case: int) -> Iterable[tuple[Item, Reference]]:
    where = ItemCase(case_id=f"case_{case:03d}", modality="CT")
    for place, task in enumerate((*_CHOICE_TASKS, "VOLEST")):
        organ = ORGANS[(case + place) % len(ORGANS)]
        volume = round(4.0 * 1.55 ** ((case + 3 * place) % 14), 1)
        item_id = f"case_{case:03d}-{task.lower()}"
        evidence = Evidence(
            tool="volume", arguments={"structure": organ}, value=volume, unit="ml", measurement_id=where.case_id
        )
        shared: dict[str, Any] = {
            "item_id": item_id,
            "task": task,
            "subtask": "relation" if task == "DIR" else f"{task.lower()}_value",
            "structures": [organ],
            "case": where,
            "provenance": Provenance(seed=0),
        }
        if task == "VOLEST":
            yield (
                Item(
                    format="numeric", question=f"Estimate the volume of the {organ}, in ml.", answer_unit="ml", **shared
                ),
                Reference(
                    item_id=item_id,
                    answer=f"{volume}",
                    answer_text=f"{volume} ml",
                    answer_value=volume,
                    answer_unit="ml",
                    evidence=[evidence],
                ),
            )
        elif task == "DIR":
            yield (
                Item(format="yesno", question=f"Does the {organ} lie above?", options=["yes", "no"], **shared),
                Reference(
                    item_id=item_id,
                    answer="no",
                    answer_text="no",
                    evidence=[evidence],
                    distractors=[Distractor(text="yes", why="it lies 20 mm below")],
                    margin=float(case + 1),
                ),
            )
        else:
            options = [f"{volume * factor:.1f} ml" for factor in (0.5, 1.0, 1.6, 2.4)]
            turn = (case + place) % 4
            options = options[turn:] + options[:turn]
            key = "ABCD"[options.index(f"{volume:.1f} ml")]
            yield (
                Item(format="mca", question=f"How large is the {organ} ({task})?", options=options, **shared),
                Reference(
                    item_id=item_id,
                    answer=key,
                    answer_text=f"{volume:.1f} ml",
                    evidence=[evidence],
                    distractors=[
                        Distractor(text=text, why=f"the measured volume is {volume} ml")
                        for text in options
                        if text != f"{volume:.1f} ml"
                    ],
                    margin=float(case + 1),
                ),
            )


def made_run(
    pairs: Sequence[tuple[Item, Reference]],
    run: str,
    *,
    skill: float = 0.5,
    kind: ModelKind = "2d_general",
    seed: int = 0,
    unread: float = 0.04,
    **fields: Any,
) -> MadeRun:
    """A run that is right as often as ``skill`` says; a share of its replies cannot be read, some calls fail."""
    dice = random.Random(f"{run}/{seed}")
    answers, scores = [], []
    for item, reference in pairs:
        answer, score = _reply(item, reference, run, kind, skill, unread, dice, bool(fields.get("blind", False)))
        answers.append(answer)
        scores.append(score)
    return MadeRun(answers, scores, made_result(run, scores, kind=kind, **fields))


def _reply(
    item: Item,
    reference: Reference,
    run: str,
    kind: ModelKind,
    skill: float,
    unread: float,
    dice: random.Random,
    blind: bool,
) -> tuple[Answer, Score]:
    luck = dice.random()
    outcome, reading, text = "answered", Reading(reason="ambiguous"), "It could be A or B, I am not sure."
    score, parity, error, ratio = 0.0, None, None, None
    truth = reference.answer_value if item.format == "numeric" else None
    if luck < unread / 3:
        outcome, text, reading = "truncated", "Let me look at the slices one by one. " * 60, Reading(reason="truncated")
    elif luck < 2 * unread / 3:
        reading = Reading(reason="abstained", abstained=True)
        text = "This cannot be determined from the images."
    elif luck >= unread and truth is not None:
        factor = 10 ** dice.gauss(0, 0.35 * (1 - skill)) * (1000 if dice.random() < 0.15 * (1 - skill) else 1)
        value = truth if skill == 1 else float(f"{truth * factor:.3g}")
        error, ratio = abs(value - truth) / truth, math.log10(value / truth)
        score = parity = sum(error < 1 - (0.5 + 0.05 * step) for step in range(10)) / 10
        reading = Reading(value=value, written_unit="ml", rule="last_number_with_unit")
        text = f"I segment the structure slice by slice and add up the areas.\n\nThe volume is about {value:g} ml."
    elif luck >= unread:
        marks = item.options if item.format == "yesno" else "ABCDEFGH"[: len(item.options)]
        wrong = [mark for mark in marks if mark != reference.answer]
        letter = reference.answer if dice.random() < skill else dice.choice(wrong)
        score = float(letter == reference.answer)
        reading = Reading(letter=letter, rule="last_statement")
        text = f"In the axial slices the structure is well seen.\n\nAnswer: {letter}"
    elif item.format == "numeric":
        text = "The organ is of normal size."
        reading = Reading(reason="no_number")
    shown = [name for name in ORGANS if any(name in structure for structure in item.structures)]
    number = sum(map(ord, item.item_id))
    volume = next((each.value for each in reference.evidence if each.unit == "ml"), None)
    answer = Answer(
        answer_id=item.item_id,
        item_id=item.item_id,
        model=run,
        kind=kind,
        blind=blind,
        preset="letter",
        options=item.options,
        outcome=outcome,
        reply=text,
        problem="stopped at 2048 tokens" if outcome == "truncated" else None,
    )
    return answer, Score(
        answer_id=item.item_id,
        item_id=item.item_id,
        model=run,
        kind=kind,
        blind=blind,
        task=item.task,
        subtask=item.subtask,
        format=item.format,
        case_id=item.case.case_id,
        structures=item.structures,
        organs=shown,
        tumours=[TUMOURS[number % len(TUMOURS)]] if number % 2 else [],
        volume_ml=volume if isinstance(volume, float) else None,
        modality="CT",
        source="made up",
        outcome=outcome,
        reading=reading,
        valid=reading.letter is not None or reading.value is not None,
        score=score,
        score_parity=parity,
        chance=None if truth is not None else 1 / len(item.options),
        key=reference.answer,
        key_value=truth,
        unit=item.answer_unit,
        relative_error=error,
        log10_ratio=ratio,
        parser_version=PARSER,
    )


def made_result(run: str, scores: Sequence[Score], **fields: Any) -> RunResult:
    """A result with means and normal intervals: enough to look at, not what evaluation computes."""
    cuts = _cuts(scores)
    groups: dict[tuple[str, str], list[Score]] = defaultdict(list)
    for score in scores:
        groups["task", score.task].append(score)
        groups["subtask", score.subtask].append(score)
        for organ in score.organs:
            groups["organ", organ].append(score)
        for tumour in score.tumours:
            groups["tumour", tumour].append(score)
        if cuts and score.format == "numeric" and score.volume_ml is not None:
            third = sum(score.volume_ml > cut for cut in cuts)
            groups["volume", ("small", "medium", "large")[third]].append(score)
    order = ("small", "medium", "large")
    keys = sorted(groups, key=lambda key: (key[0], order.index(key[1]) if key[1] in order else 0, key[1]))
    choices = [_mean([s.score for s in scores if s.task == task]) for task in _CHOICE_TASKS]
    columns = [*choices, _mean([s.score for s in scores if s.task == "VOLEST"])]
    known = [figure for figure in choices if figure is not None]
    reasons = Counter(s.reading.reason for s in scores if s.outcome == "answered" and s.reading.reason)
    reasons.pop("abstained", None)
    values: dict[str, Any] = {
        "model": run,
        "counts": Counts(
            items=len(scores),
            answers=len(scores),
            read=sum(s.valid for s in scores),
            abstained=sum(s.reading.abstained for s in scores),
            unread=sum(reasons.values()),
            reasons=dict(reasons),
            failed=dict(Counter(s.outcome for s in scores if s.outcome != "answered")),
        ),
        "overall": Group(dimension="all", name="all", figures=_figures(scores)),
        "groups": [Group(dimension=key[0], name=key[1], figures=_figures(groups[key])) for key in keys],
        "paper_average": _together([figure or Figure(value=0.0, count=0) for figure in columns]),
        "macro_average": _together(known) if known else None,
        "volume_cuts_ml": cuts,
        "parser_version": PARSER,
    }
    return RunResult(run=run, **{**values, **fields})


def made_comparison(first: str, second: str, task: str, difference: float, p: float | None) -> Comparison:
    """A comparison with an interval of 12 points."""
    figure = Figure(value=difference, low=difference - 0.06, high=difference + 0.06, count=40)
    return Comparison(first=first, second=second, task=task, difference=figure, p_value=p, p_holm=p)


def example_spent(seconds: float) -> Spent:
    """What a small run costs."""
    return Spent(
        calls=96,
        cached=12,
        prompt_tokens=1_204_332,
        completion_tokens=8_120,
        seconds=seconds,
        cost=0.42,
        currency="USD",
    )


def _cuts(scores: Sequence[Score]) -> tuple[float, float] | None:
    volumes = sorted(s.volume_ml for s in scores if s.format == "numeric" and s.volume_ml is not None)
    return (volumes[len(volumes) // 3], volumes[2 * len(volumes) // 3]) if len(volumes) > 2 else None


def _figures(scores: Sequence[Score]) -> dict[str, Figure]:
    choices = [s.score for s in scores if s.format != "numeric"]
    numbers = [s for s in scores if s.format == "numeric"]
    found: Mapping[str, Figure | None] = {
        "accuracy_all": _mean(choices),
        "mra": _mean([s.score for s in numbers]),
        "validity": _mean([float(s.valid) for s in scores]),
        "abstention": _mean([float(s.reading.abstained) for s in scores]),
        "median_log10_ratio": _mean([s.log10_ratio for s in numbers if s.log10_ratio is not None]),
    }
    return {name: figure for name, figure in found.items() if figure is not None}


def _mean(values: Sequence[float]) -> Figure | None:
    if not values:
        return None
    mean = sum(values) / len(values)
    half = 1.96 * math.sqrt(sum((value - mean) ** 2 for value in values) / len(values) / len(values))
    return Figure(value=mean, low=max(0.0, mean - half), high=min(1.0, mean + half), count=len(values))


def _together(figures: Sequence[Figure]) -> Figure:
    mean = sum(figure.value or 0.0 for figure in figures) / len(figures)
    return Figure(
        value=mean, low=mean - 0.04, high=min(1.0, mean + 0.04), count=sum(figure.count for figure in figures)
    )
