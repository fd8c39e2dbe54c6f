"""Reading the chosen option from a reply. Never a guess: what no rule reads is none, with a reason."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from monai_spatialqa.answers.cues import NOT_BUT, stated_in, supposed, taken_back
from monai_spatialqa.answers.edges import edges, yes_or_no
from monai_spatialqa.answers.json_reply import answer_fields
from monai_spatialqa.answers.judged import affirmed, judgements, unanswering, withdrawn
from monai_spatialqa.answers.letters import Stated, letter_at, whole_letter
from monai_spatialqa.answers.option_text import LETTERS, Options, as_options
from monai_spatialqa.answers.reasoning import final_part
from monai_spatialqa.answers.refusals import abstains_at, silence
from monai_spatialqa.answers.result import ChoiceReading
from monai_spatialqa.answers.text import Vocabulary, plain, small
from monai_spatialqa.errors import SettingsError

_FIELDS = (
    *("final_answer", "answer", "correct_answer", "choice", "answer_choice", "selected_option", "correct_option"),
    *("option", "letter", "selection", "prediction", "答案"),
)
_NONE_OF = re.compile(r"\b(?:none|neither|all|both) of (?:the|these|them)\b|以上都不", re.IGNORECASE)
_LEAD = re.compile(r"[\s\"'“(\[]{0,4}(?:(?:the|a|an|die|der|das|la|le|el) )?")
_LABELLED = re.compile(r"[\s\"'(\[]{0,4}([A-Za-z])[)\]\"']{0,2}[.:,)-]{0,2} ?[(\"'-]{0,2} ?")
_LABEL_END = re.compile(r"[)\]\"'.:,]{0,3} ?[(\"'-]{0,2} ?")
_BRACKETED = re.compile(r" ?[(\[](?:option |choice |answer )?([A-Z])[)\]]", re.IGNORECASE)
_SENTENCE_ENDS = re.compile(r"[\"'”)]{0,2}(?:$|[.!,;\n。])")
_NAMED = re.compile(r"\b(?:option|choice|letter) $", re.IGNORECASE)
_PLACEHOLDERS = "XYN"


class _Found(NamedTuple):
    """One statement: its place, and what it says."""

    place: int
    reading: ChoiceReading


def read_choice(reply: str | None, options: Sequence[str], *, allow_abstain: bool = True) -> ChoiceReading:
    """Read which option a reply chooses.

    Reasoning blocks and a run-on next question are dropped. Then, in this order: a JSON field of the answer; a reply
    that is a letter, with any common wrapper; the last explicit statement of the answer; a reply that equals the
    text of one option, whole or in a line of its own.

    Args:
        reply: text of the model; None for none.
        options: texts as shown, A first; 2 to 26. Of the options ``yes`` and ``no`` the words are read as well.
        allow_abstain: a reply that says that it cannot tell has ``abstained`` set and the reason ``abstained``;
            otherwise the reason is ``refusal``.

    Returns:
        The letter and the rule, or the reason why there is none.

    Raises:
        SettingsError: fewer than 2 or more than 26 options.

    Example:
        >>> read_choice("The answer is (B) because A is smaller.", ["12 ml", "15 ml"]).letter
        'B'
    """
    if isinstance(options, str) or not 2 <= len(options) <= len(LETTERS):
        raise SettingsError(
            "a choice needs the texts of its options",
            key="options",
            found=options,
            expected=f"2 to {len(LETTERS)} texts",
            next_step="pass them in the order shown",
        )
    final = final_part(reply)
    if final.reason:
        return ChoiceReading(reason=final.reason, flags=final.flags)
    prepared = as_options(options)
    reading = _read(final.text, prepared)
    if reading.letter is None and reading.reason in ("abstained", "refusal"):
        abstained = allow_abstain and reading.reason == "abstained"
        reading = replace(reading, abstained=abstained, reason="abstained" if abstained else "refusal")
    if reading.letter and prepared.says_undetermined(reading.letter):
        reading = replace(reading, abstained=True)
    return replace(reading, flags=(*reading.flags, *final.flags)) if final.flags else reading


def _read(raw: str, options: Options) -> ChoiceReading:
    fields = answer_fields(raw, _FIELDS)
    if fields is not None:
        value = next(fields[name] for name in _FIELDS if name in fields)
        return _in_field(value, options)
    text = plain(raw)
    return _whole(text, options) or _stated(text, options) or _by_text(text, options) or _nothing(text, options)


def _in_field(value: Any, options: Options) -> ChoiceReading:
    """What the answer field of a structured reply says."""
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if isinstance(value, bool) and options.yes_no:
        value = "yes" if value else "no"
    if isinstance(value, list):
        return ChoiceReading(reason="ambiguous" if value else "no_answer")
    if value is None:
        return ChoiceReading(reason="abstained")
    if isinstance(value, dict | bool):
        return ChoiceReading(reason="no_answer")
    text = plain(str(value))
    if not text:
        return ChoiceReading(reason="empty")
    found = _whole(text, options) or _stated(text, options) or _by_text(text, options) or _nothing(text, options)
    return replace(found, rule="json") if found.letter else found


def _whole(text: str, options: Options) -> ChoiceReading | None:
    """A reply that is a letter, or one option's text."""
    letter = whole_letter(text)
    same = options.letter_of(text)
    if letter is None or (same and letter not in options.letters):
        return None if same is None else _by_option_text(same, options)
    return _chosen(letter, options, "letter")


def _chosen(letter: str, options: Options, rule: str, conflict: bool = False) -> ChoiceReading:
    if letter not in options.letters:
        return ChoiceReading(reason="out_of_range")
    return ChoiceReading(letter, rule, flags=("letter_text_conflict",) if conflict else ())


def _by_option_text(letter: str, options: Options) -> ChoiceReading:
    return ChoiceReading(letter, "option_text", flags=() if options.yes_no else ("letter_missing",))


def _stated(text: str, options: Options) -> ChoiceReading | None:
    """The last explicit statement of the answer."""
    lowered = small(text)
    echoes = options.echoes(text, lowered)
    judged = judgements(text, lowered, options)
    denied = unanswering(judged)
    found: list[_Found] = []
    for cue in reversed(stated_in(text, lowered)):
        said = _behind(text, lowered, cue, options, echoes | denied)
        if said is not None and not (taken_back(text, cue.start()) or supposed(text, cue)):
            found.append(_Found(cue.start(), said))
            break
    found += [_Found(one.place, _chosen(one.letter, options, "statement")) for one in affirmed(judged)]
    found += [
        _Found(one.place, _chosen(one.letter, options, "statement", one.other_text))
        if one.letter
        else _Found(one.place, ChoiceReading(reason="ambiguous"))
        for one in edges(text, lowered, options, echoes, denied)
    ]
    if not found and (in_brackets := _in_brackets(text, lowered, options)):
        found.append(in_brackets)
    if not found:
        return None
    last = max(found, key=lambda one: one.place)
    if last.reading.letter and withdrawn(text, last.place, last.reading.letter, judged):
        return ChoiceReading(reason="ambiguous")
    return last.reading


def _in_brackets(text: str, lowered: str, options: Options) -> _Found | None:
    """The letter in brackets behind its own text, when no other stands so: ``15 ml (Option B)``."""
    found = []
    for label in _BRACKETED.finditer(text):
        letter = label[1].upper()
        own = options.texts[options.letters.index(letter)] if letter in options.letters else ""
        start = label.start() - len(own)
        if own and start >= 0 and lowered.startswith(own, start) and not lowered[max(0, start - 1) : start].isalnum():
            found.append((start, label.start(1), letter))
    if not found or len({letter for _, _, letter in found}) > 1 or taken_back(text, found[-1][0]):
        return None
    return _Found(found[-1][1], _chosen(found[-1][2], options, "statement"))


def _behind(
    text: str, lowered: str, cue: re.Match[str], options: Options, echoes: frozenset[int]
) -> ChoiceReading | None:
    """What stands behind a cue."""
    at, chosen = cue.end(), cue.lastgroup == "chosen"
    strong = cue.lastgroup == "strong" or (chosen and lowered.endswith("answer is ", cue.start(), at))
    but = NOT_BUT.match(text, at)
    at = but.end() if but else at
    same = options.letter_at(lowered, _skipped(lowered, at)) if strong or chosen else None
    if same is not None and not strong and not _SENTENCE_ENDS.match(text, same[1]):
        same = None
    stated = letter_at(text, at, strict=not (strong or _NAMED.search(cue.group())))
    if stated is None or stated.kind == "letter":
        stated = _with_text(text, lowered, at, options) or stated
    if stated is not None and not (same and stated.letter not in options.letters):
        return _from_letter(text, lowered, stated, options, echoes, strong=strong)
    if same is not None:
        return _by_option_text(same[0], options)
    if strong and abstains_at(text, at):
        return ChoiceReading(reason="abstained")
    return None


def _skipped(lowered: str, at: int) -> int:
    """Behind quotation marks, brackets and an article."""
    found = _LEAD.match(lowered, at)
    return found.end() if found else at


def _with_text(text: str, lowered: str, at: int, options: Options) -> Stated | None:
    """A letter whose own option's text follows, with a blank or a mark between: ``B 12 ml``, ``(a) liver``."""
    found = _LABELLED.match(text, at)
    if found is None or found[1].upper() not in options.letters:
        return None
    own = options.texts[options.letters.index(found[1].upper())]
    matched = options.letter_at(lowered, found.end())
    if not own or matched is None or matched[0] != found[1].upper():
        return None
    return Stated("letter", found[1].upper(), found.start(1), found.end(1))


def _from_letter(
    text: str, lowered: str, stated: Stated, options: Options, echoes: frozenset[int], *, strong: bool
) -> ChoiceReading | None:
    if stated.kind == "ambiguous":
        return ChoiceReading(reason="ambiguous") if strong else None
    if stated.start in echoes or (stated.letter in _PLACEHOLDERS and stated.letter not in options.letters):
        return None
    if stated.letter not in options.letters and not strong:
        return None
    behind = _LABEL_END.match(lowered, stated.end)
    other = options.letter_at(lowered, behind.end()) if behind and behind.end() > stated.end else None
    return _chosen(stated.letter, options, "statement", other is not None and other[0] != stated.letter)


def _by_text(text: str, options: Options) -> ChoiceReading | None:
    """A line of its own, first or last, that equals one option's text; for yes and no the first word."""
    if options.yes_no:
        letter = yes_or_no(text, options)
        if letter is not None:
            return _by_option_text(letter, options) if letter else ChoiceReading(reason="ambiguous")
    lines = text.split("\n")
    if len(lines) == 1:
        return None
    found = [options.letter_of(line) for line in lines]
    said_once = {letter for letter in found if letter}
    if len(said_once) > 1:
        return ChoiceReading(reason="ambiguous") if found[0] or found[-1] else None
    edge = found[0] or found[-1]
    return _by_option_text(edge, options) if edge else None


def _nothing(text: str, options: Options) -> ChoiceReading:
    """Why nothing was read. An echo of an option that says that there is no telling is no abstention."""
    said = small(text)
    for option in options.undetermined:
        said = said.replace(option, "")
    quiet = silence(said, Vocabulary(said))
    if quiet:
        return ChoiceReading(reason=quiet)
    if re.search(r"(?<![A-Za-z0-9])[A-Z][).]? ?(?:or|and|或|和|/|&|,) ?[(]?[A-Z](?![A-Za-z0-9])", text) or (
        len(text) <= 8 and re.fullmatch(r"[^A-Za-z]{0,3}[A-Z]{2,5}[^A-Za-z]{0,3}", text)
    ):
        return ChoiceReading(reason="ambiguous")
    return ChoiceReading(reason="out_of_range" if _NONE_OF.search(text[:80]) else "no_answer")
