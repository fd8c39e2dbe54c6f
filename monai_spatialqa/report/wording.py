"""How a report writes numbers, names and the order of things. Knows nothing of HTML."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from monai_spatialqa.evaluation.ordering import MODEL, ORACLE, in_order, part_of
from monai_spatialqa.evaluation.result import Figure, RunResult

TASKS = {
    "DIR": "Direction",
    "DIST": "Distance",
    "EXT": "Extent",
    "VOL": "Volume",
    "COMP": "Comparison",
    "VOLEST": "Volume estimate",
}
"""Task codes in the order of the columns, and what they are called."""

KINDS = {
    "2d_general": "2D general",
    "2d_medical": "2D medical",
    "3d_native": "Native 3D",
    "text_only": "Text only",
    "unstated": "Other",
}
"""Groups of the result table, in their order. Runs without the image and baselines stand below."""

ORGANS = ("pancreas", "liver", "lung", "kidney", "stomach", "spleen", "vessel", "heart", "brain", "prostate")
"""The ten organs of the heat map, in the order of the paper (arXiv 2603.13800)."""

TUMOUR_NAMES: dict[str, str] = {
    "kidney": "kidney",
    "pancreas": "pancreas",
    "liver": "liver",
    "prostate": "prostate",
    "hepatic_vessel": "hepatic vessel",
    "brats_whole": "brain: whole",
    "brats_enhancing": "brain: enhancing",
    "brats_oedema": "brain: oedema",
}
"""What the eight tumour kinds are called at the spokes of the radar."""

AXES = ("left-right", "anterior-posterior", "superior-inferior")
"""Axes of the RAS grid."""

_TOOLS = {"center_distance": "distance of box centres", "offset": "offset of box centres"}

NONE = "\N{EN DASH}"
"""What stands where a figure does not apply."""

FIGURE_NAMES = {
    "accuracy_all": "Accuracy over all asked",
    "accuracy_answered": "Accuracy over those with a reply",
    "chance_adjusted": "Accuracy, adjusted for chance",
    "mra": "MRA (exact)",
    "mra_parity": "MRA (parity with public harnesses)",
    "validity": "Read: a letter or a number",
    "abstention": "Said that it cannot be determined",
    "median_relative_error": "Median relative error",
    "median_log10_ratio": "Median log10(answer / truth)",
    "within_5": "Within 5 % of the truth",
    "within_10": "Within 10 %",
    "within_20": "Within 20 %",
    "within_50": "Within 50 %",
}
"""What the figures of a group are called."""

_OUTCOMES = {
    "service": "the server failed",
    "image_ignored": "the server ignored the image",
    "truncated": "cut off",
    "empty": "empty",
}

_NOT_SHARES = {"median_log10_ratio"}


class Shown(NamedTuple):
    """A figure as text: value, interval and denominator; the last two may be empty."""

    value: str
    interval: str = ""
    over: str = ""


def percent(value: float | None, digits: int = 1) -> str:
    """A share as a percentage without its sign: ``0.5234`` is "52.3"; a dash for None and NaN."""
    if value is None or not math.isfinite(value):
        return NONE
    return signless_zero(f"{100 * value:.{digits}f}")


def signless_zero(text: str) -> str:
    """The text with a true minus sign, and without one in front of a zero."""
    if not text.startswith("-"):
        return text
    return text[1:] if float(text) == 0 else f"\N{MINUS SIGN}{text[1:]}"


def plain(value: float | None, digits: int = 3) -> str:
    """A number with few significant digits; a dash for None and NaN."""
    if value is None or not math.isfinite(value):
        return NONE
    if value == 0:
        return "0"
    if abs(value) >= 1e6 or abs(value) < 1e-3:
        return signless_zero(f"{value:.{digits - 1}e}")
    return signless_zero(f"{value:,.{max(0, digits - 1 - math.floor(math.log10(abs(value))))}f}").replace(",", "\u202f")


def shown(figure: Figure | None, name: str = "") -> Shown:
    """A figure as text: shares in percent, other figures (``name``) as they are."""
    if figure is None or figure.value is None:
        return Shown(NONE, "", "" if figure is None else grouped(figure.count))
    share = name not in _NOT_SHARES

    def write(value: float) -> str:
        return percent(value) if share else signless_zero(f"{value:.2f}")

    interval = ""
    if figure.low is not None and figure.high is not None:
        interval = span(write(figure.low), write(figure.high))
    return Shown(write(figure.value), interval, grouped(figure.count))


def signed(figure: Figure) -> Shown:
    """A difference of shares as text, with a plus sign above zero."""
    words = shown(figure)
    above = figure.value is not None and figure.value > 0 and words.value != percent(0.0)
    return words._replace(value=f"+{words.value}") if above else words


def span(low: str, high: str) -> str:
    """Two ends with a dash between them; in words where a sign would stand beside it."""
    return f"{low} to {high}" if "\N{MINUS SIGN}" in low + high else f"{low}\N{EN DASH}{high}"


def outcome_words(outcome: str) -> str:
    """How a call without a usable reply ended."""
    return _OUTCOMES.get(outcome, readable(outcome))


def grouped(count: int | None) -> str:
    """A whole number in groups of three, parted by thin spaces; a dash for None."""
    return NONE if count is None else f"{count:,}".replace(",", "\u202f")


def amount(count: int, one: str, many: str | None = None) -> str:
    """A number with its noun: "1 item", "12 items"."""
    return f"{grouped(count)} {one if count == 1 else many or one + 's'}"


def p_value(value: float | None) -> str:
    """A p value: two digits, three below 0.1, or that it is below 0.001."""
    if value is None or not math.isfinite(value):
        return NONE
    return "< 0.001" if value < 0.001 else f"{value:.3f}" if value < 0.1 else f"{value:.2f}"


def duration(seconds: float | None) -> str:
    """Seconds as people say them: "4.2 s", "3 min 20 s", "2 h 5 min"."""
    if seconds is None or not math.isfinite(seconds):
        return NONE
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"


def readable(name: str) -> str:
    """A code as words: ``no_answer_found`` is "no answer found"."""
    return name.replace("_", " ").strip()


def tool_words(tool: str) -> str:
    """What a tool of the evidence measures: ``surface_distance`` is "surface distance"."""
    return _TOOLS.get(tool, readable(tool))


def size(result: RunResult) -> str:
    """Size of a model: "8B"; empty where it is not stated."""
    return "" if result.size_billion is None else f"{result.size_billion:g}B"


def is_baseline(result: RunResult) -> bool:
    """Whether a run stands below the models: made without a model, or with one that the image was kept from."""
    return part_of(result) != MODEL


def subjects(results: Sequence[RunResult]) -> list[RunResult]:
    """The runs that figures are drawn for: the models; without any, all but the oracle."""
    ordered = in_order(results)
    models = [result for result in ordered if not is_baseline(result)]
    return models or [result for result in ordered if result.model != ORACLE] or ordered
