"""Write the report: one HTML file that needs nothing else and asks the network for nothing.

All text is escaped by the templates: what a model replied is shown, never interpreted. The page holds no script, and
its content security policy allows none; it allows its own style sheet, by hash, and pictures inside the file.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from markupsafe import Markup

from monai_spatialqa.errors import SettingsError
from monai_spatialqa.evaluation.ordering import BASELINE, WITHOUT_IMAGE, in_order, part_of
from monai_spatialqa.evaluation.result import Comparison, RunResult
from monai_spatialqa.records.answer import Score
from monai_spatialqa.records.files import write_text_atomic
from monai_spatialqa.report.accounts import comparison_rows, ids_told, outcome_table, reason_table, spent_table
from monai_spatialqa.report.card_view import card_view
from monai_spatialqa.report.cards import Card
from monai_spatialqa.report.checks import image_table, rotation_table
from monai_spatialqa.report.plots import SMALLEST_COUNT, heat_maps, tumour_radars, volume_bars, volume_scatters
from monai_spatialqa.report.result_table import HEADS, breakdown_tables, count_table, overall_table, result_blocks
from monai_spatialqa.report.wording import TASKS, amount, grouped, is_baseline

OPEN_FIGURES = 6
"""Figures of a kind that stand open; further ones unfold."""


def write_html(
    path: Path,
    results: Sequence[RunResult],
    comparisons: Sequence[Comparison],
    cards: Sequence[Card],
    *,
    title: str,
    about: Mapping[str, str],
    scores: Mapping[str, Sequence[Score]] | None = None,
    smallest_count: int = SMALLEST_COUNT,
) -> Path:
    """Write the report of one or several runs.

    Args:
        path: of the file; its folder is made.
        results: one a run, models and baselines.
        comparisons: paired comparisons of runs.
        cards: telling cases, in the order shown.
        title: heading of the report.
        about: what was run, as label and text: seeds, versions, paths; stands beside what the results say.
        scores: run -> its scores, for the figures that need single answers (task by organ, volumes). Left out: these
            sections say that they have nothing to show.
        smallest_count: cells and marks over fewer answers are drawn without emphasis.

    Returns:
        The path written.

    Raises:
        SettingsError: no run, or two of the same name.
    """
    names = [result.run for result in results]
    if not names or len(set(names)) < len(names):
        raise SettingsError(
            "a report is of at least one run, and its runs have names of their own",
            key="results",
            found=", ".join(names) or "no run",
            next_step="name the runs differently",
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    page = render(results, comparisons, cards, title, about, scores or {}, smallest_count)
    write_text_atomic(path, page)
    return path


def render(
    results: Sequence[RunResult],
    comparisons: Sequence[Comparison],
    cards: Sequence[Card],
    title: str,
    about: Mapping[str, str],
    scores: Mapping[str, Sequence[Score]],
    smallest_count: int,
) -> str:
    """The page as text; see :func:`write_html`."""
    environment = _environment()
    blocks = result_blocks(results)
    style = environment.get_template("report.css.j2").render()
    context: dict[str, Any] = {
        "title": title,
        "facts": facts(results, about),
        "style": Markup(style),
        "policy": policy(style),
        "blocks": blocks,
        "heads": HEADS,
        "tasks": TASKS,
        "counts": count_table(results),
        "checks": [image_table(results), rotation_table(results)],
        "overall": overall_table(results),
        "breakdowns": breakdown_tables(results),
        "heat_maps": heat_maps(results, scores, smallest_count),
        "radars": tumour_radars(results, smallest_count),
        "volumes": volume_bars(results),
        "scatters": volume_scatters(results, scores),
        "outcomes": outcome_table(results),
        "reasons": reason_table(results),
        "ids": ids_told(results),
        "comparisons": comparison_rows(comparisons),
        "spent": spent_table(results),
        "cards": [card_view(card, number) for number, card in enumerate(cards, 1)],
        "smallest_count": smallest_count,
        "open_figures": OPEN_FIGURES,
        "intervals": any(cell.figure.interval for block in blocks for row in block.rows for cell in row.cells),
        "only_baselines": all(map(is_baseline, results)),
    }
    return environment.get_template("report.html.j2").render(context)


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("monai_spatialqa.report"),
        autoescape=select_autoescape(enabled_extensions=("html", "html.j2"), default=False),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def policy(style: str) -> str:
    """The content security policy: nothing but this style sheet, by its hash, and pictures inside the file."""
    digest = base64.b64encode(hashlib.sha256(style.encode("utf-8")).digest()).decode("ascii")
    return f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"


def facts(results: Sequence[RunResult], about: Mapping[str, str]) -> dict[str, str]:
    """What was run: what the results say, then what is known beside them; the latter wins."""
    ordered = in_order(results)
    models = [result for result in ordered if not is_baseline(result)]
    parts = [part_of(result) for result in ordered]
    unseen = parts.count(WITHOUT_IMAGE)
    told = [amount(len(models), "model run")] * bool(models)
    told += [f"{grouped(unseen)} without the image"] * bool(unseen)
    told += [amount(parts.count(BASELINE), "baseline")] * (BASELINE in parts)
    found = {
        "Runs": ", ".join(told),
        "Models": _each(result.model for result in models) or "none: baselines only",
        "Items": _range([result.counts.items for result in ordered]),
        "Views": _each(result.views for result in models),
        "Prompt preset": _each(result.preset for result in models),
        "Parser": _each(result.parser_version for result in ordered),
    }
    return {**{name: text for name, text in found.items() if text}, **about}


def _range(counts: Sequence[int]) -> str:
    """How many items runs were asked: "52", or "46 to 52" where it differs."""
    ends = dict.fromkeys((min(counts), max(counts)))
    return " to ".join(map(grouped, ends)) + (", by run" if len(ends) > 1 else "")


def _each(texts: Any) -> str:
    """Different texts, once each, in their order."""
    return ", ".join(dict.fromkeys(text for text in texts if text))
