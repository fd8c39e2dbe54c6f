"""Files of answers as a run leaves them: whole, cut by a kill, or edited by somebody."""

from __future__ import annotations

from pathlib import Path

from monai_spatialqa.errors import JournalError
from monai_spatialqa.records import read_records
from monai_spatialqa.records.answer import Answer, answer_id


def read_answers(path: Path) -> list[Answer]:
    """The answers of a file, the last of every id; none where there is no file.

    A call that failed may be followed by another reply to the same question, as a run that was killed leaves it. A
    question that was answered may not.

    Raises:
        JournalError: a line is no answer, two lines answer one question otherwise, or an id is not that of its item.
    """
    found: dict[str, tuple[int, Answer]] = {}
    for number, answer in enumerate(read_records(path, Answer) if path.is_file() else (), start=1):
        wanted = answer_id(answer.item_id, answer.rotation, answer.repeat)
        if answer.answer_id != wanted:
            raise JournalError(
                "the id of an answer is not that of its item, rotation and repeat",
                code="other_id",
                case=answer.item_id,
                file=path,
                key=f"line {number}",
                found=answer.answer_id,
                expected=wanted,
                next_step="remove the line; its question is then asked again",
            )
        at, before = found.get(answer.answer_id, (0, answer))
        if before.outcome == "answered" and before != answer:
            raise JournalError(
                "two lines answer the same question, and not alike",
                code="duplicate_answer",
                case=answer.answer_id,
                file=path,
                key=f"line {number}",
                found=f"another answer than in line {at}",
                expected="one answer to every question",
                next_step="remove one of the two lines",
            )
        found[answer.answer_id] = number, answer
    return [answer for _, answer in found.values()]
