"""Telling cases: which questions are worth a look, and everything a reader needs to judge them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from monai_spatialqa.evaluation.ordering import MODEL, ORACLE, part_of
from monai_spatialqa.records.answer import Answer, Score
from monai_spatialqa.records.item import Item, Reference
from monai_spatialqa.report.figures.scatter import is_slip

Why = Literal["slip", "far_off", "wrong", "conflict", "unread", "failed", "task"]

WHY: dict[Why, str] = {
    "slip": "a thousand times off",
    "far_off": "number far off",
    "wrong": "clear case, plainly answered, wrong",
    "conflict": "runs disagree",
    "unread": "reply could not be read",
    "failed": "no usable reply",
    "task": "one of its task",
}
"""Why a case is shown, in the words of the card."""

Drawn = Literal["structure", "other", "box", "segment", "figure"]
"""What a legend tells of: outlines, bounding boxes, the measured line, a figure that has no line."""

_RIGHT_NUMBER, _WRONG_NUMBER = 0.8, 0.2
_ORDER: tuple[Why, ...] = ("slip", "conflict", "wrong", "unread", "far_off", "failed")


@dataclass(frozen=True)
class CardPicture:
    """The picture of a card, or the reason why there is none.

    Attributes:
        slices: JPEGs or PNGs of one size, which stand side by side, or below each other on a narrow screen; none
            without a picture.
        media_type: of their bytes.
        size: width and height of one in pixels.
        words: what they show (their alternative text), or why there are none.
        legend: what is drawn and what it stands for.
        note: how they are shown: convention, window, voxel size.
    """

    slices: tuple[bytes, ...] = ()
    media_type: str = "image/jpeg"
    size: tuple[int, int] = (0, 0)
    words: str = ""
    legend: tuple[tuple[Drawn, str], ...] = ()
    note: str = ""


@dataclass(frozen=True)
class CardReply:
    """What one run said to the question of a card."""

    run: str
    score: Score
    answer: Answer | None = None


@dataclass(frozen=True)
class Card:
    """A question with its key, the replies of the runs, and why it is shown."""

    item: Item
    reference: Reference
    why: tuple[Why, ...]
    replies: tuple[CardReply, ...]
    picture: CardPicture | None = None


@dataclass
class _Case:
    item: Item
    reference: Reference
    replies: list[CardReply] = field(default_factory=list)


_Choice = tuple[Why, _Case]
Draw = Callable[[Item, Reference], CardPicture]


def select_cards(
    scores: Mapping[str, Sequence[Score]],
    answers: Mapping[str, Iterable[Answer]],
    items: Iterable[Item],
    references: Iterable[Reference],
    *,
    most: int = 12,
    draw: Draw | None = None,
) -> list[Card]:
    """Choose the most telling cases. The same records give the same cards.

    Of each task one case at least, as far as ``most`` allows; the rest in turn from slips of a thousand (the largest
    structures first), cases on which runs disagree, wrong choices without any flag where the key is farthest from the
    next answer, replies that could not be read, numbers that are farthest off, and calls without a usable reply. Among
    those, questions, kinds of question and scans that no card shows yet go first, so that one fault which repeats
    itself does not fill the page. Only the first repeat of the unrotated question counts. Baselines and runs without
    the image choose no case, as long as there is another run, and have no reply on a card; without any the baselines
    do, save the oracle.

    Args:
        scores: run -> its scores.
        answers: run -> its answers; a run or answer that is missing leaves the reply's text out.
        items: the questions.
        references: their answers; a case needs both.
        most: number of cards.
        draw: makes the picture of a case, for the chosen ones only.
    """
    cases = _cases(scores, answers, items, references)
    ranked = {why: _ranked(why, cases) for why in _ORDER}
    chosen: dict[str, _Choice] = {}
    for task in list(dict.fromkeys(case.item.task for case in cases))[:most]:
        why, case = _of_task(task, cases, ranked, chosen)
        chosen[case.item.item_id] = why, case
    turns = list(_ORDER)
    while turns and len(chosen) < most:
        for why in list(turns):
            fresh = [case for case in ranked[why] if case.item.item_id not in chosen]
            if not fresh:
                turns.remove(why)
            elif len(chosen) < most:
                case = _least_alike(fresh, chosen)
                chosen[case.item.item_id] = why, case
    return [_card(case, ranked, why, draw) for why, case in _in_reading_order(chosen.values())]


def _cases(
    scores: Mapping[str, Sequence[Score]],
    answers: Mapping[str, Iterable[Answer]],
    items: Iterable[Item],
    references: Iterable[Reference],
) -> list[_Case]:
    of_item = {item.item_id: item for item in items}
    cases = {
        reference.item_id: _Case(of_item[reference.item_id], reference)
        for reference in sorted(references, key=lambda reference: reference.item_id)
        if reference.item_id in of_item
    }
    models = [run for run, found in scores.items() if any(part_of(score) == MODEL for score in found)]
    others = [run for run, found in scores.items() if any(score.model != ORACLE for score in found)]
    for run in models or others or scores:
        said = {answer.answer_id: answer for answer in answers.get(run, ())}
        for score in scores[run]:
            if score.item_id in cases and not score.rotation and not score.repeat:
                cases[score.item_id].replies.append(CardReply(run, score, said.get(score.answer_id)))
    return [case for case in cases.values() if case.replies]


def _ranked(why: Why, cases: Sequence[_Case]) -> list[_Case]:
    """The cases that have a reason, the most telling first; equal ones by id."""
    weighed = [(weight, case) for case in cases if (weight := _weight(why, case)) is not None]
    return [case for _, case in sorted(weighed, key=lambda pair: (-pair[0], pair[1].item.item_id))]


def _weight(why: Why, case: _Case) -> float | None:
    """How telling a case is for a reason; None when it is not."""
    scores = [reply.score for reply in case.replies]
    if why == "conflict":
        right, wrong = sum(map(_is_right, scores)), sum(map(_is_wrong, scores))
        return min(right, wrong) + _bounded(case.reference.margin) if right and wrong else None
    return max((weight for score in scores if (weight := _own(why, score, case)) is not None), default=None)


def _own(why: Why, score: Score, case: _Case) -> float | None:
    if why in ("slip", "far_off"):
        if score.key_value is None or score.reading.value is None or not score.valid:
            return None
        slip = is_slip(score.key_value, score.reading.value)
        if why == "slip":
            return (score.volume_ml or 0.0) if slip else None
        return None if slip or score.score > _WRONG_NUMBER else abs(score.log10_ratio or 0.0)
    if why == "wrong":
        plain = score.format != "numeric" and score.valid and not score.reading.flags
        return _bounded(case.reference.margin) if plain and not score.score else None
    unread = not score.valid and not score.reading.abstained
    if why == "unread":
        return 1.0 if unread and score.outcome == "answered" else None
    return 1.0 if unread and score.outcome != "answered" else None


def _bounded(margin: float | None) -> float:
    """A margin as a share below 1, so that it only orders cases that are equal otherwise."""
    return 0.0 if margin is None else margin / (1 + margin)


def _is_right(score: Score) -> bool:
    return score.score >= (_RIGHT_NUMBER if score.format == "numeric" else 1.0)


def _is_wrong(score: Score) -> bool:
    return score.valid and score.score <= (_WRONG_NUMBER if score.format == "numeric" else 0.0)


def _of_task(
    task: str, cases: Sequence[_Case], ranked: Mapping[Why, Sequence[_Case]], chosen: Mapping[str, _Choice]
) -> _Choice:
    """The case of a task: of the fault that fewest cards show; without any fault, the lowest score."""
    shown = [why for why, _ in chosen.values()]
    for why in sorted(_ORDER, key=shown.count):
        own = [case for case in ranked[why] if case.item.task == task]
        if own:
            return why, _least_alike(own, chosen)
    own = [case for case in cases if case.item.task == task]
    own.sort(key=lambda case: (min(reply.score.score for reply in case.replies), case.item.item_id))
    return "task", _least_alike(own, chosen)


def _least_alike(found: Sequence[_Case], chosen: Mapping[str, _Choice]) -> _Case:
    """The first of the cases that repeat least of what is chosen: question first, then its kind and its scan."""
    shown = [case.item for _, case in chosen.values()]
    questions = Counter(item.question for item in shown)
    kinds, scans = (Counter(each) for each in ((i.subtask for i in shown), (i.case.case_id for i in shown)))

    def repeated(case: _Case) -> tuple[int, int]:
        item = case.item
        return questions[item.question], kinds[item.subtask] + scans[item.case.case_id]

    return min(found, key=repeated)


def _in_reading_order(chosen: Iterable[_Choice]) -> list[_Choice]:
    """By reason, then by id."""
    order = [*_ORDER, "task"]
    return sorted(chosen, key=lambda choice: (order.index(choice[0]), choice[1].item.item_id))


def _card(case: _Case, ranked: Mapping[Why, Sequence[_Case]], chosen: Why, draw: Draw | None) -> Card:
    others = [why for why in _ORDER if why != chosen and any(case is each for each in ranked[why])]
    card = Card(case.item, case.reference, (chosen, *others), tuple(case.replies))
    return card if draw is None else replace(card, picture=draw(case.item, case.reference))
