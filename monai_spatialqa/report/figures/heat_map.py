"""The heat map: a table of tasks by organs whose cells carry their number, and a shade for the eye."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from markupsafe import Markup

from monai_spatialqa.evaluation.item_rows import unrotated_by_item
from monai_spatialqa.records.answer import Score
from monai_spatialqa.report.figures.svg import tag
from monai_spatialqa.report.wording import NONE, percent

STEPS = 10
"""Shades; the style sheet has a class ``h0`` ... ``h10`` for each."""

Cells = Mapping[tuple[str, str], tuple[float, int]]


def mean_scores(scores: Iterable[Score]) -> dict[tuple[str, str], tuple[float, int]]:
    """Mean score and number of items, by task and organ. An item about two organs counts for both.

    Of an item that was asked several times, the mean of its repeats counts; rotated ones count for CircularEval only.
    """
    sums: dict[tuple[str, str], tuple[float, int]] = {}
    for repeats in unrotated_by_item(scores).values():
        mean = math.fsum(score.score for score in repeats) / len(repeats)
        for organ in dict.fromkeys(repeats[0].organs):
            total, count = sums.get((repeats[0].task, organ), (0.0, 0))
            sums[repeats[0].task, organ] = (total + mean, count + 1)
    return {key: (total / count, count) for key, (total, count) in sums.items()}


def heat_map(
    caption: str, rows: Sequence[str], columns: Mapping[str, str], cells: Cells, *, smallest_count: int = 1
) -> Markup:
    """An HTML table, so that it can be read aloud, copied, and wraps at any width.

    Args:
        caption: of the table.
        rows: organs, in order.
        columns: task code -> its name, for those who point at the head.
        cells: (task, organ) -> mean score and number of answers.
        smallest_count: cells over fewer answers have no shade and grey text.
    """
    head = [tag("th", tag("span", "organ", class_="unseen"), scope="col")]
    head += [tag("th", tag("abbr", code, title=name), scope="col") for code, name in columns.items()]
    body = [
        tag(
            "tr",
            tag("th", row, scope="row"),
            *(_cell(cells.get((column, row)), f"{columns[column]}, {row}", smallest_count) for column in columns),
        )
        for row in rows
    ]
    if not body:
        body = [tag("tr", tag("td", "no items about any of the organs", colspan=str(len(columns) + 1)))]
    return tag("table", tag("caption", caption), tag("thead", tag("tr", *head)), tag("tbody", *body), class_="heat")


def _cell(cell: tuple[float, int] | None, name: str, smallest_count: int) -> Markup:
    if cell is None or not math.isfinite(cell[0]):
        return tag("td", NONE, class_="absent", title=f"{name}: no items")
    value, count = cell
    few = count < smallest_count
    style = "few" if few else f"h{round(STEPS * min(1.0, max(0.0, value)))}"
    note = f"{name}: {percent(value)} % over {count}" + (", too few to tell" if few else "")
    return tag("td", percent(value, 0), tag("small", f"n\u202f{count}"), class_=style, title=note)
