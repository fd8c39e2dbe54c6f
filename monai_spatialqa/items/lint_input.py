"""Files of items, this package's or anybody's, as the linter sees them: JSON, JSON Lines or CSV.

Nothing is refused here but a file that cannot be read at all: a row that is no item becomes an item whose faults are
named. Of anybody's rows, these fields are understood, in any case; further ones are left alone:

- question; options: a list, an object of letters, a text that holds such a list or object, or columns A, B, C ...,
  option_a ..., option1 ...; columns that look like options and are none of these are named;
- answer: a letter, the text of an option, both ("B. 34 mm"), or, without options, a number with its unit;
- optional: id, unit, case, structures, subtask.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from monai_spatialqa.errors import FileReadError, SettingsError
from monai_spatialqa.items.lint_item import Fault, LintItem
from monai_spatialqa.items.lint_layouts import COLUMN, FIELDS, options_of, shown_briefly
from monai_spatialqa.items.quantities_in_text import folded
from monai_spatialqa.records.item import LETTERS, Item, Reference


def read_rows(path: Path) -> list[Any]:
    """Rows of a JSON, JSON Lines or CSV file; rows of JSON Lines that are no JSON stay text.

    Raises:
        FileReadError: the file cannot be read, or holds no list of rows.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise FileReadError(
            "the file of items cannot be read",
            file=path,
            found=getattr(error, "strerror", None) or error,
            expected="JSON, JSON Lines or CSV in UTF-8",
            next_step="check the path",
        ) from None
    rows = _of_table(text) if path.suffix.casefold() in (".csv", ".tsv") else _of_json(text)
    if not any(isinstance(row, dict) for row in rows):
        raise FileReadError(
            "the file holds no items",
            file=path,
            code="no_records",
            found="nothing" if not text.strip() else "no row that is an item",
            expected="JSON, JSON Lines or CSV with a row for each item, see docs/lint.md",
            next_step="check the path, and what wrote the file",
        )
    return rows


def _of_table(text: str) -> list[Any]:
    """Rows of a table whose cells are parted by whatever parts its header into the most names that are understood."""
    header = next((line for line in text.splitlines() if line.strip()), "")

    def understood(delimiter: str) -> tuple[int, int]:
        names = [name.strip().casefold() for name in next(csv.reader([header], delimiter=delimiter), [])]
        known = {name for spellings in FIELDS.values() for name in spellings}
        return sum(name in known or bool(COLUMN.fullmatch(name)) for name in names), len(names)

    return list(csv.DictReader(io.StringIO(text, newline=""), delimiter=max(",;\t|", key=understood)))


def _of_json(text: str) -> list[Any]:
    try:
        whole = json.loads(text)
    except ValueError:
        whole = None
    if isinstance(whole, dict):
        return _of_object(whole)
    if isinstance(whole, list):
        return whole
    return [_parsed(line) for line in text.splitlines() if line.strip()]


def _of_object(whole: dict[str, Any]) -> list[Any]:
    """One item, or the list or the object of ids that an object holds."""
    if any(name in _folded_keys(whole) for name in FIELDS["question"]):
        return [whole]
    lists = [value for value in whole.values() if isinstance(value, list)]
    if len(lists) == 1:
        return list(lists[0])
    if whole and all(isinstance(value, dict) for value in whole.values()):
        if len(whole) == 1 and not any(name in _folded_keys(next(iter(whole.values()))) for name in FIELDS["question"]):
            return _of_object(next(iter(whole.values())))
        return [
            value if any(at in _folded_keys(value) for at in FIELDS["id"]) else {"id": name, **value}
            for name, value in whole.items()
        ]
    return [whole]


def _parsed(line: str) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return line


def _folded_keys(row: Mapping[str, Any]) -> dict[str, str]:
    return {str(name).strip().casefold(): name for name in row}


def lint_items(rows: Sequence[Any], references: Sequence[Any] | None = None) -> tuple[list[LintItem], list[str]]:
    """Rows as items for the linter, and the ids of references that belong to none.

    Args:
        rows: parsed rows. Those with the fields of this package's items are read as such.
        references: parsed rows of ``references.jsonl``; None where the file holds its answers itself.

    Raises:
        SettingsError: there are references, but the items are not this package's.
    """
    own = [isinstance(row, dict) and {"item_id", "task", "subtask"} <= row.keys() for row in rows]
    if references is not None and rows and not any(own):
        raise SettingsError(
            "references go with items of this package only",
            key="references",
            expected="null: anybody's items hold their answers themselves",
        )
    answers: dict[str, Any] = {}
    for row in references or ():
        if isinstance(row, dict) and isinstance(row.get("item_id"), str):
            answers[row["item_id"]] = row
    items, met = [], set()
    for number, (row, mine) in enumerate(zip(rows, own, strict=True), start=1):
        if mine and references is not None:
            met.add(row["item_id"])
            items.append(_own_item(number, row, answers.get(row["item_id"])))
        else:
            items.append(_anybodys_item(number, row))
    return items, sorted(set(answers) - met)


def _own_item(number: int, row: dict[str, Any], answer: Any) -> LintItem:
    item, faults = _validated(Item, row, "")
    reference, more = (None, []) if answer is None else _validated(Reference, answer, "reference.")
    if item is None or (reference is None and answer is not None):
        told = dict(row) | {"answer": answer.get("answer") if isinstance(answer, dict) else None}
        plain = _anybodys_item(number, told)
        # The record says which fields are wrong; what could still be read goes through the other rules.
        kept = {**plain.__dict__, "malformed": tuple([*faults, *more]), "with_references": True, "item": item}
        return LintItem(**{name: value for name, value in kept.items() if name in LintItem.__dataclass_fields__})
    answers: tuple[str, ...] = ()
    if reference is not None:
        answers = tuple(_split(reference.answer, LETTERS[: len(item.options)], item.options))
    return LintItem(
        item_id=item.item_id,
        row=number,
        question=item.question,
        options=tuple(item.options),
        letters=tuple(LETTERS[: len(item.options)]),
        answers=answers,
        unit=item.answer_unit,
        case_id=item.case.case_id,
        structures=tuple(item.structures),
        format=item.format,
        subtask=item.subtask,
        item=item,
        reference=reference,
        with_references=True,
    )


def _validated(kind: Any, row: Any, prefix: str) -> tuple[Any, list[Fault]]:
    try:
        return kind.model_validate(row), []
    except ValidationError as error:
        faults = []
        for problem in error.errors(include_url=False):
            message = problem["msg"].removeprefix("Value error, ").removeprefix("Input should be ")
            place = ".".join(map(str, problem["loc"])) or message.partition(":")[0]
            found = "nothing" if problem["type"] == "missing" else shown_briefly(problem["input"])
            faults.append(Fault(prefix + place, found, message))
        return None, faults


def _anybodys_item(number: int, row: Any) -> LintItem:
    faults: list[Fault] = []
    if not isinstance(row, dict):
        fault = Fault("row", shown_briefly(row)[:80], "an object with a question, options and an answer")
        return LintItem(f"row {number}", number, "", (), (), (), malformed=(fault,))
    fields = {name: _field(row, names) for name, names in FIELDS.items()}
    question = fields["question"]
    if not isinstance(question, str) or not question.strip():
        faults.append(Fault("question", shown_briefly(question), "text"))
        question = ""
    if row.get(None):
        cells = ", ".join(map(str, row[None]))
        faults.append(Fault("row", f"cells beyond the last column: {cells}", "as many cells as columns, in quotes"))
    given = fields["answer"]
    letters, options = options_of(row, fields["options"], given, faults)
    answers: list[str] = []
    for answer in given if isinstance(given, list) else [given]:
        if isinstance(answer, str) and answer.strip():
            answers.extend(_split(answer.strip(), letters, options))
        elif answer is not None and not isinstance(answer, str):
            # 2 may be the second or the third option; as the answer to an open question it is a number.
            if options:
                faults.append(Fault("answer", shown_briefly(answer), "the letter or the text of an option"))
            elif isinstance(answer, (int, float)) and not isinstance(answer, bool):
                answers.append(str(answer))
            else:
                faults.append(Fault("answer", shown_briefly(answer), "text"))
    structures = fields["structures"]
    names = [structures] if isinstance(structures, str) else structures if isinstance(structures, list) else []
    case = fields["case"]
    known = {folded(option) for option in options}
    return LintItem(
        item_id=str(fields["id"]) if fields["id"] not in (None, "") else f"row {number}",
        row=number,
        question=question,
        options=tuple(options),
        letters=tuple(letters),
        answers=tuple(answers),
        unit=fields["unit"] if isinstance(fields["unit"], str) and fields["unit"].strip() else None,
        case_id=case.get("case_id") if isinstance(case, dict) else None if case in (None, "") else str(case),
        structures=tuple(str(name) for name in names if name),
        format="yesno" if known == {"yes", "no"} else "mca" if options or fields["options"] is not None else "numeric",
        subtask=fields["subtask"] if isinstance(fields["subtask"], str) else "",
        malformed=tuple(faults),
    )


def _field(row: Mapping[str, Any], names: Sequence[str]) -> Any:
    keys = _folded_keys(row)
    return next((row[keys[name]] for name in names if name in keys), None)


def _split(answer: str, letters: Sequence[str], options: Sequence[str]) -> Iterator[str]:
    """Several letters in one text are several answers: "A, C", "B and D"."""
    if folded(answer) in {folded(option) for option in options}:
        yield answer
        return
    parts = re.split(r"\s*(?:,|;|/|&|\band\b|\bor\b)\s*|\s+", answer.strip())
    if len(parts) > 1 and all(part.strip("().").upper() in letters for part in parts if part):
        yield from (part for part in parts if part)
    else:
        yield answer
