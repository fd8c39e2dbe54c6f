"""A card as the template writes it: everything turned into text, nothing decided by the template."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from monai_spatialqa.items.wording import readable_name
from monai_spatialqa.records.answer import Score
from monai_spatialqa.records.item import LETTERS, Evidence, Item, Reference
from monai_spatialqa.report.cards import WHY, Card, CardPicture, CardReply
from monai_spatialqa.report.wording import (
    AXES,
    NONE,
    TASKS,
    grouped,
    outcome_words,
    percent,
    plain,
    readable,
    tool_words,
)

LONGEST_REPLY = 1200
"""Characters of a reply on a card."""

_MOST_EVIDENCE = 4
_TIMES = 0.5


@dataclass(frozen=True)
class OptionView:
    """An option: its mark (letter, or nothing for yes and no), whether it is the key, who chose it, why it is wrong."""

    mark: str
    text: str
    is_key: bool
    chosen_by: str
    why: str


@dataclass(frozen=True)
class ReplyView:
    """A reply: how it ended (``right``, ``wrong``, ``partly``, ``none``), what was read and how, and its text."""

    run: str
    state: str
    verdict: str
    read: str
    text: str
    cut: str


@dataclass(frozen=True)
class CardView:
    """All text of a card."""

    anchor: str
    reasons: tuple[str, ...]
    place: str
    question: str
    options: tuple[OptionView, ...]
    key: str
    evidence: tuple[str, ...]
    replies: tuple[ReplyView, ...]
    slices: tuple[str, ...]
    picture: CardPicture


def card_view(card: Card, number: int) -> CardView:
    """The text of a card; ``number`` makes its anchor."""
    item, reference = card.item, card.reference
    picture = card.picture or CardPicture(words="no picture was drawn")
    return CardView(
        anchor=f"case-{number}",
        reasons=tuple(WHY[why] for why in card.why),
        place=f"{TASKS[item.task]} · {readable(item.subtask)} · case {item.case.case_id}",
        question=item.question,
        options=_options(item, reference, card.replies),
        key=_key(item, reference),
        evidence=_evidence(reference.evidence),
        replies=tuple(reply_view(reply, item) for reply in card.replies),
        slices=tuple(
            f"data:{picture.media_type};base64,{base64.b64encode(each).decode('ascii')}" for each in picture.slices
        ),
        picture=picture,
    )


def _marks(item: Item) -> Sequence[str]:
    """What names an option in readings: a letter, or yes and no themselves."""
    return item.options if item.format == "yesno" else LETTERS[: len(item.options)]


def _options(item: Item, reference: Reference, replies: Sequence[CardReply]) -> tuple[OptionView, ...]:
    why: Mapping[str, str] = {distractor.text: distractor.why for distractor in reference.distractors}
    return tuple(
        OptionView(
            mark="" if item.format == "yesno" else mark,
            text=text,
            is_key=reference.answer == mark,
            chosen_by=", ".join(reply.run for reply in replies if reply.score.reading.letter == mark),
            why=why.get(text, ""),
        )
        for mark, text in zip(_marks(item), item.options, strict=True)
    )


def _key(item: Item, reference: Reference) -> str:
    if item.format == "mca":
        return f"{reference.answer}: {reference.answer_text}"
    return reference.answer_text


def _evidence(found: Sequence[Evidence]) -> tuple[str, ...]:
    """What the key rests on, a line a figure."""
    lines = []
    for evidence in found[:_MOST_EVIDENCE]:
        words = []
        for name, value in evidence.arguments.items():
            if name == "axis" and isinstance(value, int) and 0 <= value < len(AXES):
                words.append(AXES[value])
            else:
                words += [readable_name(str(each)) for each in (value if isinstance(value, list) else [value])]
        value = plain(evidence.value) if isinstance(evidence.value, float) else evidence.value
        band = ""
        if evidence.low is not None and evidence.high is not None and evidence.low < evidence.high:
            band = f" (within half a voxel {plain(evidence.low)} to {plain(evidence.high)})"
        lines.append(f"{tool_words(evidence.tool)}, {', '.join(words)}: {value} {evidence.unit or ''}".rstrip() + band)
    rest = len(found) - _MOST_EVIDENCE
    return (*lines, f"and {grouped(rest)} more") if rest > 0 else tuple(lines)


def reply_view(reply: CardReply, item: Item) -> ReplyView:
    """How a reply ended, what was read, and its text, cut where it is long."""
    score, reading = reply.score, reply.score.reading
    if not score.valid:
        state = "none"
        verdict = "abstained" if reading.abstained else "not read" if score.outcome == "answered" else "no usable reply"
    elif item.format == "numeric":
        state = "right" if score.score >= 1 else "wrong" if score.score <= 0 else "partly"
        verdict = f"MRA {percent(score.score, 0)} %{_off(score)}"
    else:
        state = "right" if score.score >= 1 else "wrong"
        verdict = state
    text = (reply.answer.reply if reply.answer is not None else None) or ""
    cut = f"the first {grouped(LONGEST_REPLY)} of {grouped(len(text))} characters" if len(text) > LONGEST_REPLY else ""
    return ReplyView(reply.run, state, verdict, _read(reply), text[:LONGEST_REPLY], cut)


def _off(score: Score) -> str:
    """How far a number is off: in percent, or how many times where it is not even of the size."""
    if score.relative_error is None:
        return ""
    if score.log10_ratio is not None and abs(score.log10_ratio) >= _TIMES:
        times = 10 ** abs(score.log10_ratio)
        return f", {plain(times, 2)} times too {'large' if score.log10_ratio > 0 else 'small'}"
    return f", off by {percent(score.relative_error, 0)} %"


def _read(reply: CardReply) -> str:
    """What was read and by which rule, or why nothing was."""
    score, reading = reply.score, reply.score.reading
    parts = []
    if reading.letter is not None:
        parts.append(f"read {reading.letter}")
    elif reading.value is not None:
        unit = f" {score.unit}" if score.unit else ""
        written = f", written in {reading.written_unit}" if reading.written_unit not in (None, score.unit) else ""
        parts.append(f"read {plain(reading.value, 4)}{unit}{written}")
    elif reading.abstained:
        parts.append("says that it cannot be determined")
    else:
        parts.append(f"nothing read: {readable(reading.reason or 'no reason given')}")
    if reading.rule:
        parts.append(f"rule: {readable(reading.rule)}")
    if reading.flags:
        parts.append(f"flags: {', '.join(map(readable, reading.flags))}")
    if score.outcome != "answered":
        problem = None if reply.answer is None else reply.answer.problem
        ended = "no answer" if score.kind == "baseline" else f"how the call ended: {outcome_words(score.outcome)}"
        parts.append(ended + (f" ({problem})" if problem else ""))
    return "; ".join(parts) or NONE
