"""The rows of the result table, and the tables of the same form: figures of every run, side by side."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from monai_spatialqa.evaluation.ordering import BASELINE, MODEL, WITHOUT_IMAGE, in_order, part_of
from monai_spatialqa.evaluation.result import FIGURES, Figure, Group, RunResult
from monai_spatialqa.report.wording import (
    FIGURE_NAMES,
    KINDS,
    TASKS,
    Shown,
    grouped,
    percent,
    readable,
    shown,
    size,
)


@dataclass(frozen=True)
class Cell:
    """A cell of the result table.

    Attributes:
        head: name of its column, which stands in the cell on narrow screens.
        figure: value, interval and denominator as text.
        read: a line below: validity of a result, p of a comparison; empty where it does not apply.
        best: whether no other model is better.
    """

    head: str
    figure: Shown
    read: str = ""
    best: bool = False


@dataclass(frozen=True)
class Row:
    """A run of the result table."""

    run: str
    about: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Block:
    """Rows of one kind under its heading."""

    heading: str
    rows: tuple[Row, ...]


HEADS = {
    "avg": ("AVG", "as in the paper: mean of the six columns, an empty one counts as 0"),
    "macro": ("Macro", "mean over the tasks with choices"),
}
"""Columns in front of the tasks, and what they are."""


_BELOW = {WITHOUT_IMAGE: "Without the image", BASELINE: "Baselines"}


def result_blocks(results: Sequence[RunResult]) -> list[Block]:
    """The result table: models by kind and size; below them those without the image, then baselines."""
    ordered = in_order(results)
    parts = {part: [result for result in ordered if part_of(result) == part] for part in (MODEL, *_BELOW)}
    models = parts[MODEL]
    best = _best_values(models)
    blocks = []
    for kind, heading in KINDS.items():
        own = [result for result in models if result.kind == kind]
        if own:
            blocks.append(Block(heading, tuple(_row(result, best) for result in own)))
    blocks += [Block(_BELOW[part], tuple(_row(result, {}) for result in parts[part])) for part in _BELOW if parts[part]]
    return blocks


def _columns(result: RunResult) -> dict[str, Figure | None]:
    """Column -> figure."""
    return {
        "avg": result.paper_average,
        "macro": result.macro_average,
        **{task: result.column(task) for task in TASKS},
    }


def _best_values(models: Sequence[RunResult]) -> dict[str, float]:
    """Column -> the best value as it is shown, where at least two runs have one."""
    found: dict[str, list[float]] = {}
    for result in models:
        for column, figure in _columns(result).items():
            if figure is not None and figure.value is not None:
                found.setdefault(column, []).append(round(figure.value, 3))
    return {column: max(values) for column, values in found.items() if len(values) > 1}


def _row(result: RunResult, best: dict[str, float]) -> Row:
    cells = [Cell("Read", shown(result.overall.figures.get("validity")))]
    for column, figure in _columns(result).items():
        value = None if figure is None or figure.value is None else round(figure.value, 3)
        cells.append(
            Cell(
                head=HEADS[column][0] if column in HEADS else column,
                figure=shown(figure),
                read="" if column in HEADS or value is None else _read(result, column),
                best=value is not None and best.get(column) == value,
            )
        )
    preset = "" if result.kind == "baseline" else result.preset or ""
    about = [size(result), result.model if result.model != result.run else "", preset]
    return Row(result.run, " · ".join(filter(None, about)), tuple(cells))


def _read(result: RunResult, task: str) -> str:
    validity = group_figure(result, "task", task, "validity")
    return "" if validity is None or validity.value is None else f"read {percent(validity.value, 0)} %"


def groups_of(result: RunResult, dimension: str) -> dict[str, Group]:
    """Name -> group, for one dimension of a run."""
    return {group.name: group for group in result.groups if group.dimension == dimension}


def group_figure(result: RunResult, dimension: str, name: str, figure: str) -> Figure | None:
    """A figure of a group; None where the run has none."""
    group = groups_of(result, dimension).get(name)
    return None if group is None else group.figures.get(figure)


@dataclass(frozen=True)
class Table:
    """A plain table of text: rows by runs.

    Attributes:
        caption: what it shows.
        heads: of the columns, the first one of the row names.
        rows: name and cells.
        note: below it.
    """

    caption: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Shown, ...]], ...]
    note: str = ""


BREAKDOWNS = {
    "subtask": "Subtask",
    "organ": "Organ",
    "tumour": "Tumour kind",
    "volume": "Volume tertile",
    "structure": "Structure",
    "source": "Source",
    "modality": "Modality",
}
"""Dimensions that have a table of their own, and what their names are called."""

_MAIN = {"accuracy_all": "accuracy", "mra": "MRA"}


def overall_table(results: Sequence[RunResult]) -> Table:
    """Every figure over all answers of a run."""
    ordered = in_order(results)
    rows = []
    for name in FIGURES:
        figures = [result.overall.figures.get(name) for result in ordered]
        if any(figures):
            rows.append((FIGURE_NAMES[name], tuple(shown(figure, name) for figure in figures)))
    extras = {
        "Blind gain: accuracy minus that without the image": [result.blind_gain for result in ordered],
        "CircularEval: right in every rotation": [result.circular_accuracy for result in ordered],
        "Same answer in every rotation": [result.rotation_consistency for result in ordered],
    }
    rows += [(name, tuple(map(shown, figures))) for name, figures in extras.items() if any(figures)]
    return Table("Every figure over all answers", ("Figure", *(result.run for result in ordered)), tuple(rows))


def breakdown_tables(results: Sequence[RunResult]) -> list[Table]:
    """A table for every dimension that has groups; choices and numbers of a group are rows of their own."""
    ordered = in_order(results)
    tables = []
    for dimension, head in BREAKDOWNS.items():
        groups = [groups_of(result, dimension) for result in ordered]
        rows = []
        for name in dict.fromkeys(name for each in groups for name in each):
            for figure, words in _MAIN.items():
                figures = [each[name].figures.get(figure) if name in each else None for each in groups]
                if any(figures):
                    rows.append((f"{readable(name)}, {words}", tuple(map(shown, figures))))
        if rows:
            tables.append(Table(f"By {head.lower()}", (head, *(result.run for result in ordered)), tuple(rows)))
    return tables


def count_table(results: Sequence[RunResult]) -> Table:
    """Over how many answers each column is."""
    ordered = in_order(results)
    rows = [
        (result.run, tuple(Shown(grouped(figure.count) if figure else "") for figure in _columns(result).values()))
        for result in ordered
    ]
    heads = ("Run", *(HEADS[column][0] if column in HEADS else column for column in (*HEADS, *TASKS)))
    return Table("Denominators: number of answers behind each figure", heads, tuple(rows))


def names(results: Iterable[RunResult], dimension: str) -> set[str]:
    """All names of a dimension in any run."""
    return {group.name for result in results for group in result.groups if group.dimension == dimension}
