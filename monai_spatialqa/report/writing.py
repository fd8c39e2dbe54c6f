"""Write a whole report: the page, and its tables as CSV, JSON and Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from monai_spatialqa.errors import SettingsError
from monai_spatialqa.evaluation.comparisons import compare_runs
from monai_spatialqa.evaluation.ordering import in_order
from monai_spatialqa.evaluation.result import Comparison, RunResult
from monai_spatialqa.evaluation.table_files import write_tables
from monai_spatialqa.records import Measurement
from monai_spatialqa.records.answer import Answer, Score
from monai_spatialqa.records.files import usable_folder
from monai_spatialqa.records.item import Item, Reference
from monai_spatialqa.rendering.windows import Modality
from monai_spatialqa.report.cards import Draw, select_cards
from monai_spatialqa.report.case_pictures import CasePictures
from monai_spatialqa.report.html import write_html
from monai_spatialqa.report.wording import is_baseline

HTML = "report.html"
TITLE = "Spatial questions on scans"
MOST_CARDS = 12


@dataclass(frozen=True)
class ReportedRun:
    """A run of a report, of a model or a baseline.

    Attributes:
        result: its figures.
        scores: of its answers, for the figures that need single answers, and for the cases.
        answers: its replies, for the text on the cases.
    """

    result: RunResult
    scores: Sequence[Score] = ()
    answers: Sequence[Answer] = ()


def write_report(
    runs: Sequence[ReportedRun],
    output_dir: str | Path,
    *,
    items: Iterable[Item] = (),
    references: Iterable[Reference] = (),
    measurements: Iterable[Measurement] = (),
    scans_root: str | Path | None = None,
    modality: Modality | None = None,
    comparisons: Sequence[Comparison] | None = None,
    title: str = TITLE,
    about: Mapping[str, str] | None = None,
    most_cards: int = MOST_CARDS,
    pictures: bool = True,
    draws: int = 10_000,
    seed: int = 0,
) -> list[Path]:
    """Write ``report.html``, ``report.csv``, ``report.json`` and ``report.md`` of one or several runs.

    The page needs no other file and no network. Runs stand in it by kind, family and size, baselines last, whatever
    their order here. The same records give the same bytes.

    Args:
        runs: models and baselines, each with a name of its own.
        output_dir: made when missing.
        items: the questions; with their references they make the cases.
        references: their answers.
        measurements: of the scans, for the pictures of the cases.
        scans_root: folder that the paths in the measurements are relative to; None for the working directory.
        modality: of scans whose items do not state it, for the window of the pictures.
        comparisons: of the runs; None compares every two models that saw the scan.
        title: heading of the page.
        about: what was run, as label and text, beside what the results say.
        most_cards: most cases that are shown.
        pictures: draw the cases. A picture holds three slices of the scan.
        draws: of the bootstrap and the sign flips of comparisons made here.
        seed: of both.

    Returns:
        The four files.

    Raises:
        SettingsError: no run, or two of the same name; a negative number of cards; a file where the folder should be.
    """
    if most_cards < 0:
        raise SettingsError("a report has 0 cases or more", key="most_cards", found=most_cards)
    folder = usable_folder(output_dir)
    results = in_order(run.result for run in runs)
    given = {run.result.run: run for run in runs}
    scores = {result.run: given[result.run].scores for result in results}
    if comparisons is None:
        comparisons = _compared(results, scores, draws, seed)
    draw: Draw | None = CasePictures(measurements, scans_root, modality=modality) if pictures else None
    answers = {result.run: given[result.run].answers for result in results}
    cards = select_cards(scores, answers, items, references, most=most_cards, draw=draw)
    page = write_html(folder / HTML, results, comparisons, cards, title=title, about=about or {}, scores=scores)
    return [page, *write_tables(results, folder, comparisons)]


def _compared(
    results: Sequence[RunResult], scores: Mapping[str, Sequence[Score]], draws: int, seed: int
) -> list[Comparison]:
    names = [result.run for result in results if not is_baseline(result) and scores[result.run]]
    return compare_runs({name: scores[name] for name in names}, draws=draws, seed=seed) if len(names) > 1 else []
