"""Which figures a report holds, for which runs, and what is said where there is nothing to draw."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from monai_spatialqa.anatomy import TUMOUR_KINDS
from monai_spatialqa.evaluation.ordering import in_order
from monai_spatialqa.evaluation.result import Figure, RunResult
from monai_spatialqa.records.answer import Score
from monai_spatialqa.report.figures.bars import Bar, bars
from monai_spatialqa.report.figures.heat_map import heat_map, mean_scores
from monai_spatialqa.report.figures.radar import RadarLine, radar
from monai_spatialqa.report.figures.scatter import Point, is_slip, scatter, usable
from monai_spatialqa.report.result_table import groups_of
from monai_spatialqa.report.wording import (
    ORGANS,
    TASKS,
    TUMOUR_NAMES,
    amount,
    is_baseline,
    plain,
    subjects,
)

SMALLEST_COUNT = 5
"""Fewest answers of a cell or mark that is drawn in full; below, its interval would span most of the scale."""

ML_PER_UNIT = {"ml": 1.0, "cm3": 1.0, "mm3": 1e-3, "l": 1e3}
"""Units of volume in which items ask, in ml."""


@dataclass(frozen=True)
class Plot:
    """A figure under its heading, and a line below it."""

    heading: str
    figure: Markup
    note: str = ""


@dataclass(frozen=True)
class Plots:
    """Figures of a section; with none of them, the note says why."""

    plots: tuple[Plot, ...]
    note: str = ""


def heat_maps(results: Sequence[RunResult], scores: Mapping[str, Sequence[Score]], smallest_count: int) -> Plots:
    """Task by organ, one table a run."""
    runs = [result for result in subjects(results) if scores.get(result.run)]
    cells = {result.run: mean_scores(scores[result.run]) for result in runs}
    known = {organ for each in cells.values() for _, organ in each}
    rows = [organ for organ in ORGANS if organ in known] + sorted(known - set(ORGANS))
    if not rows:
        return Plots((), "No item is about one of the ten organs, or no scores were given.")
    absent = [organ for organ in ORGANS if organ not in known]
    note = f"No items about: {', '.join(absent)}." if absent else ""
    return Plots(
        tuple(
            Plot(result.run, heat_map(result.run, rows, TASKS, cells[result.run], smallest_count=smallest_count))
            for result in runs
        ),
        note,
    )


def tumour_radars(results: Sequence[RunResult], smallest_count: int) -> Plots:
    """The eight tumour kinds, one radar a run."""
    plots = []
    for result in subjects(results):
        groups = groups_of(result, "tumour")
        lines = []
        for style, figure, words in (("first", "accuracy_all", "choices, accuracy"), ("second", "mra", "numbers, MRA")):
            figures: dict[str, Figure] = {
                kind: groups[kind].figures[figure]
                for kind in TUMOUR_KINDS
                if kind in groups and figure in groups[kind].figures
            }
            if figures:
                lines.append(RadarLine(words, style, figures))
        if lines:
            title = f"Tumour kinds, {result.run}"
            drawn = radar(title, TUMOUR_NAMES, lines, smallest_count=smallest_count)
            plots.append(Plot(result.run, drawn))
    return Plots(tuple(plots), "" if plots else "No item is about a tumour.")


def volume_bars(results: Sequence[RunResult]) -> Plots:
    """MRA by volume tertile: one panel a tertile, the runs below each other."""
    runs = in_order(results)
    groups = {result.run: groups_of(result, "volume") for result in runs}
    names = list(dict.fromkeys(name for each in groups.values() for name in each))
    cuts = {result.volume_cuts_ml for result in runs if result.volume_cuts_ml is not None}
    plots = []
    for name in names:
        rows = [
            Bar(result.run, groups[result.run][name].figures.get("mra"), is_baseline(result))
            for result in runs
            if name in groups[result.run]
        ]
        rows = [row for row in rows if row.figure is not None]
        if rows:
            heading = f"{name[:1].upper()}{name[1:]}{_range(name, names, cuts)}"
            plots.append(Plot(heading, bars(f"MRA, {heading}", rows)))
    note = "" if plots else "No number was asked for, or no structure has a volume."
    if plots and len(cuts) > 1:
        note = "The runs were not asked the same items: their tertiles have different ends, see report.json."
    return Plots(tuple(plots), note)


def _range(name: str, names: Sequence[str], cuts: Iterable[tuple[float, float]]) -> str:
    """The ends of a tertile in words, where all runs agree on them."""
    found = list(cuts)
    if len(found) != 1 or len(names) != 3:
        return ""
    low, high = (f"{plain(cut)} ml" for cut in found[0])
    return (f": up to {low}", f": {low} to {high}", f": above {high}")[names.index(name)]


def volume_scatters(results: Sequence[RunResult], scores: Mapping[str, Sequence[Score]]) -> Plots:
    """Predicted against true volume, one figure a run, all on the same axes."""
    asked = {result.run: [s for s in scores.get(result.run, ()) if _of_volume(s)] for result in subjects(results)}
    points = {
        run: [_point(score) for score in found if score.valid and score.reading.value is not None]
        for run, found in asked.items()
        if found
    }
    every = [point for each in points.values() for point in each]
    plots = [
        Plot(
            run,
            scatter(f"Answered against true volume, {run}", each, beside=every),
            _scatter_note(len(asked[run]), each),
        )
        for run, each in points.items()
    ]
    return Plots(tuple(plots), "" if plots else "No volume was asked for as a number, or no scores were given.")


def _of_volume(score: Score) -> bool:
    """Whether a score is of a volume, asked once and with its options in their own order."""
    return score.unit in ML_PER_UNIT and score.key_value is not None and not score.rotation and not score.repeat


def _scatter_note(asked: int, points: Sequence[Point]) -> str:
    kept = usable(points)
    slips = sum(is_slip(point.truth_ml, point.answer_ml) for point in kept)
    note = f"{amount(asked, 'volume')} asked for, {len(points)} read"
    note += f", {amount(slips, 'slip')} of a thousand" if slips else ", no slip of a thousand"
    note += f"; {len(points) - len(kept)} at zero or below, not drawn" if len(points) > len(kept) else ""
    return f"{note}."


def _point(score: Score) -> Point:
    assert score.unit is not None
    assert score.key_value is not None
    assert score.reading.value is not None
    factor = ML_PER_UNIT[score.unit]
    return Point(score.key_value * factor, score.reading.value * factor, score.item_id)
