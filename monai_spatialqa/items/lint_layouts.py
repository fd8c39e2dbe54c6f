"""Where anybody's rows have their fields, and every layout of options: lists, objects, columns, or one text."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from monai_spatialqa.items.lint_item import Fault, default_letters
from monai_spatialqa.records.item import LETTERS

FIELDS: dict[str, tuple[str, ...]] = {
    "id": ("item_id", "id", "index", "qid", "question_id"),
    "question": ("question", "query", "prompt", "stem"),
    "options": ("options", "choices", "candidates"),
    "answer": ("answer", "correct_answer", "answer_key", "key", "gt", "ground_truth", "label"),
    "unit": ("unit", "answer_unit", "units"),
    "case": ("case_id", "case", "image", "image_path", "scan", "study", "video"),
    "structures": ("structures", "structure", "organs", "organ"),
    "subtask": ("subtask", "task", "question_type", "type", "category"),
}
"""Names under which a field is looked for, the first one that is there counts."""

_PREFIX = re.compile(r"^\s*\(?([A-Za-z])\s*[.:)\]]\s*(?=\S)")
COLUMN = re.compile(r"(?:options?|choices?|opt)?[_ .-]?\(?([A-Z])\)?", re.IGNORECASE)
"""Name of a column that holds the option of a letter."""

_NUMBERED = re.compile(r"(?:options?|choices?|opt)[_ .-]?\(?(\d{1,2})\)?|(\d{1,2})", re.IGNORECASE)
_LIKE_OPTIONS = re.compile(
    r"(?:opts?|options?|choices?|distractors?|alternatives?|candidates?|foils?|answers?|"
    r"(?:wrong|incorrect|false)[_ ]?\w*)"
    r"[_ .-]?\(?(?:\d{1,2}|[a-z])?\)?",
    re.IGNORECASE,
)
"""Columns by which somebody may mean options."""

_INLINE = re.compile(r"(?:^|[\s,;|])\(?([A-H])[.:)]\s+")
"""A letter in front of each option of a text that holds all of them."""


def options_of(row: Mapping[str, Any], given: Any, answer: Any, faults: list[Fault]) -> tuple[list[str], list[str]]:
    """Letters and texts of the options of a row, whatever form they are in.

    Args:
        row: all of it, for options in columns.
        given: its field of options; None where it has none.
        answer: its answer, which may tell how columns are counted.
        faults: what cannot be read is added here.
    """
    if isinstance(given, str):
        given = _listed(given, faults)
    if given is None:
        given = _in_columns(row, answer)
        if not given:
            like = [str(name) for name in row if _is_like_options(str(name).strip()) and row[name] not in (None, "")]
            if like:
                told = "columns A, B ..., option_a ... or option1 ..., or one column options"
                faults.append(Fault("options", f"columns that are not understood: {', '.join(like)}", told))
            return [], []
    if isinstance(given, dict):
        letters = [str(name).strip().upper() for name in given]
        values = list(given.values())
    elif isinstance(given, list):
        letters, values = list(default_letters(len(given))), given
    else:
        faults.append(Fault("options", shown_briefly(given), "a list, or an object of letters"))
        return [], []
    texts = []
    for letter, value in zip(letters, values, strict=True):
        if not isinstance(value, str) or not value.strip():
            faults.append(Fault(f"options.{letter}", shown_briefly(value), "text, with the unit of a number"))
        texts.append(value if isinstance(value, str) else "" if value is None else str(value))
    return letters, _without_letters(letters, texts)


def _in_columns(row: Mapping[str, Any], answer: Any) -> dict[str, Any]:
    """Letter -> option, for options in columns of their own; numbers where the answer is the number of one."""
    for pattern in (COLUMN, _NUMBERED):
        named = {name: found for name in row if (found := pattern.fullmatch(str(name).strip()))}
        columns = {next(part for part in found.groups() if part).upper(): name for name, found in named.items()}
        order = sorted(columns, key=lambda mark: (int(mark) if mark.isdigit() else 0, mark))
        filled = [mark for mark in order if row[columns[mark]] not in (None, "")]
        if pattern is _NUMBERED and len(filled) < 2:
            continue
        if filled:
            texts = [row[columns[mark]] for mark in filled]
            told = str(answer).strip()
            as_number = pattern is _NUMBERED and re.fullmatch(r"(?:option|choice)?[_ ]?\d{1,2}", told, re.IGNORECASE)
            marks = filled if pattern is COLUMN or as_number else default_letters(len(filled))
            return dict(zip(marks, texts, strict=True))
    return {}


def _is_like_options(name: str) -> bool:
    taken = {spelling for field in ("answer", "id", "question") for spelling in FIELDS[field]}
    return name.casefold() not in taken and bool(_LIKE_OPTIONS.fullmatch(name))


def _parted(text: str, mark: str) -> list[str]:
    return [part.strip() for part in re.split(mark, text) if part.strip()]


def _listed(text: str, faults: list[Fault]) -> Any:
    """Options that stand in one text: JSON, or parted by line breaks or bars."""
    if not text.strip():
        return None
    if text.lstrip()[:1] in ("[", "{") or text.lstrip()[:2] in ("('", '("'):
        for read in (json.loads, ast.literal_eval):
            try:
                found = read(text)
                return list(found) if isinstance(found, tuple) else found
            except (ValueError, SyntaxError, MemoryError, RecursionError):
                continue
        faults.append(Fault("options", shown_briefly(text)[:80], "a list as JSON or Python writes it"))
        return []
    marks = list(_INLINE.finditer(text))
    if len(marks) > 1 and "".join(mark.group(1) for mark in marks) == LETTERS[: len(marks)]:
        ends = [mark.start() for mark in marks[1:]] + [len(text)]
        return [text[mark.end() : end].strip(" ,;|\r\n") for mark, end in zip(marks, ends, strict=True)]
    parts = next((found for mark in (r"\r?\n|\|", ";") if len(found := _parted(text, mark)) > 1), [])
    if not parts:
        faults.append(Fault("options", shown_briefly(text)[:80], "a list, or texts parted by |"))
        return []
    return parts


def _without_letters(letters: Sequence[str], texts: Sequence[str]) -> list[str]:
    """Options without "A. ", "(B) " and the like in front, where all of them have their own letter there."""
    found = [_PREFIX.match(text) for text in texts]
    if texts and all(one and one.group(1).upper() == letter for one, letter in zip(found, letters, strict=True)):
        return [_PREFIX.sub("", text, count=1).strip() for text in texts]
    return list(texts)


def shown_briefly(value: Any) -> str:
    """A value as a fault shows it, with its type."""
    if isinstance(value, (dict, list)) and len(str(value)) > 80:
        return f"{type(value).__name__} of {len(value)}"
    return f"{value!r} ({type(value).__name__})"
