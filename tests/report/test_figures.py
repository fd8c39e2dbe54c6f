"""Figures: where their marks stand, and what they say to those who cannot see them."""

from __future__ import annotations

import math

import pytest

from monai_spatialqa.anatomy import TUMOUR_KINDS
from monai_spatialqa.evaluation.result import Figure
from monai_spatialqa.report.figures.bars import Bar, bars
from monai_spatialqa.report.figures.heat_map import heat_map, mean_scores
from monai_spatialqa.report.figures.radar import RadarLine, radar
from monai_spatialqa.report.figures.scatter import Point, is_slip, scatter, usable
from monai_spatialqa.report.figures.svg import drawing, tag, wrapped
from monai_spatialqa.report.plots import heat_maps, tumour_radars, volume_bars, volume_scatters
from monai_spatialqa.report.wording import ORGANS, TASKS, TUMOUR_NAMES
from tests.report.factory import MadeRun, made_items, made_run
from tests.report.tree import Element, parse

PAIRS = made_items(9)


def number(element: Element, name: str) -> float:
    return float(element.attributes[name] or "")


def test_bars_are_as_long_as_their_shares() -> None:
    rows = [Bar("half", Figure(value=0.5, low=0.25, high=0.75, count=4)), Bar("all", Figure(value=1.0, count=4), True)]
    tree = parse(str(bars("Title", rows)))
    half, whole = tree.all("rect", "bar")
    assert number(half, "width") == pytest.approx(number(whole, "width") / 2)
    assert "quiet" in whole.classes
    assert "quiet" not in half.classes
    (whisker, *_) = tree.all("line", "whisker")
    assert number(whisker, "x2") - number(whisker, "x1") == pytest.approx(number(whole, "width") / 2)
    assert tree.one("desc").text == "half: 50.0 % (25.0 to 75.0) over 4; all: 100.0 % over 4"


def test_bars_without_items_say_so() -> None:
    assert "no items" in parse(str(bars("Title", [Bar("a", None)]))).text
    assert "no items" in parse(str(bars("Title", []))).text


def test_the_radar_puts_marks_along_their_spokes() -> None:
    figures = {kind: Figure(value=place / 7, count=9) for place, kind in enumerate(TUMOUR_KINDS)}
    tree = parse(str(radar("Title", TUMOUR_NAMES, [RadarLine("choices", "first", figures)], smallest_count=5)))
    ring = max(number(circle, "r") for circle in tree.all("circle", "ring"))
    centre = number(tree.all("circle", "ring")[0], "cx"), number(tree.all("circle", "ring")[0], "cy")
    marks = [(number(mark, "cx"), number(mark, "cy")) for mark in tree.all("circle", "mark")]
    assert len(marks) == len(TUMOUR_KINDS) == 8
    for place, (x, y) in enumerate(marks):
        assert math.dist(centre, (x, y)) / ring == pytest.approx(place / 7, abs=0.001)
    assert len(tree.all("polygon", "area")) == 1
    assert all(name in tree.text for name in TUMOUR_NAMES.values())


def test_the_radar_joins_only_neighbours_and_marks_small_counts() -> None:
    figures = {
        "kidney": Figure(value=0.5, count=9),
        "pancreas": Figure(value=0.5, low=0.4, high=0.6, count=2),
        "prostate": Figure(value=0.5, count=9),
    }
    tree = parse(str(radar("Title", TUMOUR_NAMES, [RadarLine("numbers", "second", figures)], smallest_count=5)))
    assert not tree.all("polygon")
    assert len(tree.all("line", "join")) == 1
    assert ["few" in mark.classes for mark in tree.all("rect", "mark")] == [False, True, False]
    assert len(tree.all("line", "interval")) == 1
    assert tree.one("desc").text == "numbers: kidney 50.0 %, pancreas 50.0 %, prostate 50.0 %."


def test_heat_map_cells_are_means_over_their_answers() -> None:
    run = made_run(PAIRS, "run")
    cells = mean_scores(run.scores)
    table = parse(str(heat_map("Run", ORGANS, TASKS, cells, smallest_count=3))).one("table")
    assert [each.text for each in table.one("thead").all("abbr")] == list(TASKS)
    for row in table.one("tbody").all("tr"):
        organ = row.one("th").text
        for task, cell in zip(TASKS, row.all("td"), strict=True):
            own = [score.score for score in run.scores if score.task == task and organ in score.organs]
            if own:
                mean = sum(own) / len(own)
                assert cell.text == f"{100 * mean:.0f} n {len(own)}"
                assert cell.classes == (["few"] if len(own) < 3 else [f"h{round(10 * mean)}"])
            else:
                assert (cell.text, cell.classes) == ("\N{EN DASH}", ["absent"])


def test_an_item_about_two_organs_counts_for_both() -> None:
    score = made_run(PAIRS, "run").scores[0].model_copy(update={"organs": ["liver", "kidney", "liver"], "score": 1.0})
    assert mean_scores([score]) == {(score.task, "liver"): (1.0, 1), (score.task, "kidney"): (1.0, 1)}


@pytest.mark.parametrize(
    ("truth", "answer", "slip"),
    [
        (120.0, 120_000.0, True),
        (120.0, 0.12, True),
        (120.0, 170_000.0, True),
        (120.0, 190_000.0, False),
        (120.0, 1200.0, False),
        (120.0, 0.0, False),
        (120.0, -120_000.0, False),
    ],
)
def test_a_slip_is_a_thousand_give_or_take_half(truth: float, answer: float, slip: bool) -> None:
    assert is_slip(truth, answer) is slip


def test_scatter_marks_lie_where_both_axes_say() -> None:
    points = [Point(10.0, 10.0, "right"), Point(10.0, 10_000.0, "slip"), Point(1000.0, 100.0, "tenth")]
    tree = parse(str(scatter("Title", points)))
    (equal,) = tree.all("line", "equal")
    right, tenth = tree.all("circle", "point")
    slope = (number(equal, "y2") - number(equal, "y1")) / (number(equal, "x2") - number(equal, "x1"))
    on_the_line = number(equal, "y1") + slope * (number(right, "cx") - number(equal, "x1"))
    assert number(right, "cy") == pytest.approx(on_the_line, abs=0.05)
    decade = (number(equal, "y2") - number(equal, "y1")) / 4  # the line runs from 1 to 10^4
    assert number(tenth, "cy") - number(right, "cy") == pytest.approx(decade, abs=0.05)
    assert len(tree.all("polygon", "slip-point")) == 1
    assert tree.one("desc").text == "3 answers: 1 within 10 %, 1 within 50 %, 1 a thousand times off."
    assert len(tree.all("polygon", "band")) == 2


def test_the_bands_stay_inside_the_frame() -> None:
    tree = parse(str(scatter("Title", [Point(1.2, 1.3), Point(90.0, 95.0)])))
    frame = tree.one("rect", "frame")
    left, top = number(frame, "x"), number(frame, "y")
    right, bottom = left + number(frame, "width"), top + number(frame, "height")
    for band in tree.all("polygon", "band"):
        corners = [tuple(map(float, corner.split(","))) for corner in (band.attributes["points"] or "").split()]
        assert len(corners) == 6
        assert all(left - 0.01 <= x <= right + 0.01 and top - 0.01 <= y <= bottom + 0.01 for x, y in corners)


def test_points_off_a_log_axis_are_counted_not_drawn() -> None:
    points = [Point(5.0, 0.0), Point(5.0, -2.0), Point(5.0, math.inf), Point(5.0, 6.0)]
    tree = parse(str(scatter("Title", points)))
    assert len(usable(points)) == len(tree.all("circle", "point")) == 1
    assert tree.one("desc").text.endswith("3 are zero or below and not drawn.")
    assert "no volume was read" in parse(str(scatter("Title", []))).text


def test_scatters_of_a_report_share_their_axes() -> None:
    near, far = made_run(PAIRS, "near", skill=1.0, unread=0.0), made_run(PAIRS, "far", skill=1.0, unread=0.0)
    reading = far.scores[5].reading.model_copy(update={"value": 5e8})
    assert far.scores[5].task == "VOLEST"
    scores = {"near": near.scores, "far": [*far.scores[:5], far.scores[5].model_copy(update={"reading": reading})]}
    plots = volume_scatters([near.result, far.result], scores).plots
    ticks = [[each.text for each in parse(str(plot.figure)).all("text", "tick")] for plot in plots]
    assert ticks[0] == ticks[1]
    assert "1 volume asked for, 1 read" in plots[0].note


def with_unit(run: MadeRun, unit: str, factor: float) -> MadeRun:
    scores = [
        score.model_copy(
            update={
                "unit": unit,
                "key_value": score.key_value * factor,
                "reading": score.reading.model_copy(update={"value": score.reading.value * factor}),
            }
        )
        for score in run.scores
        if score.key_value is not None and score.reading.value is not None
    ]
    return run._replace(scores=scores)


@pytest.mark.parametrize(("unit", "factor"), [("cm3", 1.0), ("mm3", 1000.0), ("l", 0.001)])
def test_volumes_of_any_unit_stand_at_the_same_place(unit: str, factor: float) -> None:
    run = made_run(PAIRS, "run", unread=0.0)
    one = volume_scatters([run.result], {"run": with_unit(run, "ml", 1.0).scores}).plots[0].figure
    other = volume_scatters([run.result], {"run": with_unit(run, unit, factor).scores}).plots[0].figure
    places = [[each.attributes.get("cx") for each in parse(str(x)).all("circle", "point")] for x in (one, other)]
    assert places[0] == places[1]
    assert len(places[0]) > 3


def test_lengths_are_not_drawn_among_volumes() -> None:
    run = with_unit(made_run(PAIRS, "run", unread=0.0), "mm", 1.0)
    found = volume_scatters([run.result], {"run": run.scores})
    assert found.plots == ()
    assert found.note.startswith("No volume was asked for")


def test_figures_are_of_models_as_long_as_there_is_one() -> None:
    runs = [made_run(PAIRS, "model"), made_run(PAIRS, "random", kind="baseline"), made_run(PAIRS, "blind", blind=True)]
    results, scores = [run.result for run in runs], {run.result.run: run.scores for run in runs}
    assert [plot.heading for plot in heat_maps(results, scores, 5).plots] == ["model"]
    assert [plot.heading for plot in tumour_radars(results, 5).plots] == ["model"]
    assert [plot.heading for plot in heat_maps(results[1:], scores, 5).plots] == ["blind", "random"]


def test_volume_bars_stand_by_tertile_with_their_ends() -> None:
    runs = [made_run(PAIRS, name, skill=skill).result for name, skill in (("a", 0.2), ("b", 0.9))]
    assert runs[0].volume_cuts_ml is not None
    plots = volume_bars(runs)
    assert [plot.heading.split(":")[0] for plot in plots.plots] == ["Small", "Medium", "Large"]
    for plot, name in zip(plots.plots, ("small", "medium", "large"), strict=True):
        groups = [next(g for g in run.groups if (g.dimension, g.name) == ("volume", name)) for run in runs]
        values = [each.text for each in parse(str(plot.figure)).all("text", "value")]
        assert values == [f"{100 * group.figures['mra'].value:.1f}" for group in groups]  # type: ignore[operator]
    other = runs[1].model_copy(update={"volume_cuts_ml": (1.0, 2.0)})
    assert "different ends" in volume_bars([runs[0], other]).note


def test_organs_without_items_are_named() -> None:
    run = made_run(PAIRS, "run")
    assert heat_maps([run.result], {"run": run.scores}, 5).note == "No items about: vessel, brain, prostate."
    assert not heat_maps([run.result], {}, 5).plots


def test_svg_escapes() -> None:
    assert str(tag("text", "<b>&", class_='"')) == '<text class="&#34;">&lt;b&gt;&amp;</text>'
    assert "<script" not in str(drawing(1, 1, "<script>", "<script>"))


@pytest.mark.parametrize(
    ("words", "lines"),
    [
        ("abc", ["abc"]),
        ("", [""]),
        ("Qwen3-VL-30B-A3B", ["Qwen3-VL-", "30B-A3B"]),
        ("a" * 23, ["a" * 10, "a" * 10, "aaa"]),
        ("\u533b\u7642\u753b\u50cf\u30e2\u30c7\u30eb", ["\u533b\u7642\u753b\u50cf\u30e2", "\u30c7\u30eb"]),
    ],
    ids=["short", "empty", "at its signs", "without any", "two wide"],
)
def test_long_names_go_on_in_the_next_line(words: str, lines: list[str]) -> None:
    assert wrapped(words, 10) == lines


def test_bars_show_the_whole_of_a_long_name() -> None:
    name = "a-model-with-a-name-of-seventy-characters-and-not-one-space-to-break-it-at"
    figure = Figure(value=0.5, count=9)
    short, long = (parse(str(bars("t", [Bar(words, figure), Bar("b", figure)]))) for words in ("a", name))
    shown = [each.text for each in long.all("text", "name")]
    assert "".join(shown) == name + "b"
    assert len(shown) == 3
    tall = [float((tree.attributes["viewbox"] or "").split()[3]) for tree in (short.one("svg"), long.one("svg"))]
    assert tall[1] > tall[0]


def test_rotated_options_are_left_out_of_the_heat_map_and_repeats_count_once() -> None:
    first = made_run(PAIRS, "a").scores[0].model_copy(update={"organs": ["liver"], "score": 1.0})
    again = first.model_copy(update={"repeat": 1, "score": 0.0})
    rotated = first.model_copy(update={"rotation": 1, "score": 0.0})
    assert mean_scores([first, rotated, again]) == {(first.task, "liver"): (0.5, 1)}
