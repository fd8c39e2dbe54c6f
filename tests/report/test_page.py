"""The page as a whole: well formed, complete in itself, everything escaped, whatever stands in the records."""

from __future__ import annotations

import base64
import hashlib
import re
from pathlib import Path

import pytest

from monai_spatialqa.errors import SettingsError
from monai_spatialqa.evaluation.result import Comparison, Counts, Figure, Group, RunResult
from monai_spatialqa.records.answer import Answer, Score
from monai_spatialqa.records.item import Item, Reference
from monai_spatialqa.report import CardPicture, select_cards, write_html
from tests.report.factory import MadeRun, example_spent, made_comparison, made_items, made_run
from tests.report.tree import Element, parse

EVIL = "</pre><script>alert('x')</script><img src=x onerror=alert(1)>&amp;\"'"
SECTIONS = [
    "results",
    "organs",
    "tumours",
    "volumes",
    "predicted",
    "outcomes",
    "comparisons",
    "cost",
    "cases",
    "details",
]


def written(
    path: Path,
    runs: list[MadeRun],
    pairs: list[tuple[Item, Reference]],
    comparisons: list[Comparison] | None = None,
    **fields: object,
) -> str:
    scores = {run.result.run: run.scores for run in runs}
    answers = {run.result.run: run.answers for run in runs}
    cards = select_cards(scores, answers, [item for item, _ in pairs], [reference for _, reference in pairs])
    options = {"title": "A report", "about": {"Seed": "0"}, "scores": scores, **fields}
    write_html(path, [run.result for run in runs], comparisons or [], cards, **options)  # type: ignore[arg-type]
    return path.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    pairs = made_items(8)
    runs = [
        made_run(pairs, "large", skill=0.7, family="F", size_billion=8, spent=example_spent(99.0), views="32 slices"),
        made_run(pairs, "small", family="F", size_billion=4, unread=0.3),
        made_run(pairs, "medical", kind="2d_medical"),
        made_run(pairs, "random", skill=0.25, kind="baseline"),
        made_run(pairs, "large (blind)", skill=0.3, blind=True),
    ]
    path = tmp_path_factory.mktemp("report") / "report.html"
    return written(path, runs, pairs, [made_comparison("large", "small", "all", 0.1, 0.001)])


def test_the_page_is_well_formed_with_every_section(page: str) -> None:
    tree = parse(page)
    assert page.startswith("<!DOCTYPE html>")
    assert [each.attributes["id"] for each in tree.one("main").all("section")] == SECTIONS
    links = [each.attributes["href"] for each in tree.one("nav").all("a")]
    assert links == [f"#{name}" for name in SECTIONS]
    ids = [each.attributes["id"] for each in tree.walk() if "id" in each.attributes]
    assert len(set(ids)) == len(ids)
    assert tree.one("html").attributes["lang"] == "en"
    assert len(tree.all("h1")) == 1


def test_labels_name_elements_that_are_there(page: str) -> None:
    tree = parse(page)
    ids = {each.attributes.get("id") for each in tree.walk()}
    named = [name for each in tree.walk() for name in (each.attributes.get("aria-labelledby") or "").split()]
    assert named
    assert set(named) <= ids
    for each in tree.all(class_="scroll"):  # what scrolls can be reached by keyboard and has a name
        assert each.attributes["tabindex"] == "0"
        assert each.attributes["aria-label"]
    assert all(svg.attributes.get("aria-hidden") or svg.all("title") for svg in tree.all("svg"))


def test_the_page_loads_nothing_and_runs_nothing(page: str) -> None:
    tree = parse(page)
    assert not re.findall(r"https?:|//[a-z]|@import|url\(", page)
    assert not tree.all("script")
    assert not tree.all("link")
    for each in tree.walk():
        assert not [name for name in each.attributes if name.startswith("on")]
        for name in ("src", "href"):
            assert (each.attributes.get(name) or "#").startswith(("#", "data:image/"))


def test_the_policy_allows_the_style_sheet_and_nothing_else(page: str) -> None:
    tree = parse(page)
    (policy,) = (m for m in tree.all("meta") if m.attributes.get("http-equiv") == "Content-Security-Policy")
    style = re.search(r"<style>(.*?)</style>", page, re.DOTALL)
    assert style is not None
    digest = base64.b64encode(hashlib.sha256(style.group(1).encode()).digest()).decode()
    told = policy.attributes["content"] or ""
    assert "default-src 'none'" in told
    assert f"style-src 'sha256-{digest}'" in told
    assert "script-src" not in told
    assert not [each for each in tree.walk() if "style" in each.attributes]  # the policy would drop them


def evil_pairs() -> list[tuple[Item, Reference]]:
    return [
        (
            item.model_copy(
                update={
                    "question": f"{item.question} {EVIL}",
                    "options": [f"{option} {EVIL}" for option in item.options]
                    if item.format == "mca"
                    else item.options,
                    "subtask": EVIL,
                    "case": item.case.model_copy(update={"case_id": EVIL}),
                }
            ),
            reference.model_copy(update={"answer_text": f"{reference.answer_text} {EVIL}"}),
        )
        for item, reference in made_items(4)
    ]


def test_everything_is_escaped(tmp_path: Path) -> None:
    pairs = evil_pairs()
    run = made_run(pairs, EVIL, unread=0.5, spent=example_spent(1.0), preset=EVIL, views=EVIL)
    answers = [answer.model_copy(update={"reply": EVIL, "problem": EVIL}) for answer in run.answers]
    scores = [score.model_copy(update={"organs": ["liver", EVIL]}) for score in run.scores]
    counts = run.result.counts.model_copy(update={"reasons": {EVIL: 1}, "missing": [EVIL], "unknown": [EVIL]})
    groups = [group.model_copy(update={"name": EVIL}) for group in run.result.groups[-1:]]
    result = run.result.model_copy(update={"counts": counts, "groups": [*run.result.groups, *groups]})
    other = made_run(pairs, "other")
    page = written(
        tmp_path / "r.html",
        [MadeRun(answers, scores, result), other],
        pairs,
        [made_comparison(EVIL, "other", "all", 0.1, 0.5)],
        title=EVIL,
        about={EVIL: EVIL},
    )
    tree = parse(page)
    assert "<script" not in page
    assert not [each for each in tree.walk() if "onerror" in each.attributes or each.attributes.get("src") == "x"]
    assert tree.one("h1").text == EVIL
    assert any(pre.text == EVIL for pre in tree.all("pre"))
    assert EVIL in tree.by_id("outcomes").text


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "\x00\x1b[31mred",
        "\u202eright to left",
        "\ud7ff \U0001f9e0 肝臓",
        "a" * 200_000,
        "no\r\nbreaks",
        "{{ 7 * 7 }}",
    ],
    ids=["empty", "control", "bidi", "scripts", "huge", "line ends", "template"],
)
def test_odd_replies_stay_text(tmp_path: Path, reply: str) -> None:
    pairs = made_items(1)
    run = made_run(pairs, "run")
    answers = [answer.model_copy(update={"reply": reply}) for answer in run.answers]
    page = written(tmp_path / "r.html", [run._replace(answers=answers)], pairs)
    shown = [pre.text for pre in parse(page).all("pre")]
    assert shown == [] if not reply else shown
    if reply.startswith("a"):
        assert shown[0] == "a" * 1200 + " …"
        assert "the first 1\u202f200 of 200\u202f000 characters" in page
        assert len(page) < 200_000
    if reply.startswith("{{"):
        assert shown[0] == reply


def empty_result(run: str = "nothing", **fields: object) -> RunResult:
    counts = Counts(items=0, answers=0, read=0, abstained=0, unread=0)
    return RunResult.model_validate(
        {
            "run": run,
            "model": run,
            "counts": counts,
            "overall": Group(dimension="all", name="all", figures={}),
            "parser_version": "1",
            **fields,
        }
    )


def test_an_empty_run_says_that_there_is_nothing(tmp_path: Path) -> None:
    path = write_html(tmp_path / "r.html", [empty_result()], [], [], title="Empty", about={})
    tree = parse(path.read_text(encoding="utf-8"))
    told = {section.attributes["id"]: section for section in tree.one("main").all("section")}
    for name in ("organs", "tumours", "volumes", "predicted", "comparisons", "cost", "cases"):
        assert told[name].one("p", "empty").text
    cells = told["results"].one("table", "results").all("td")
    assert {cell.one(class_="v").text for cell in cells} == {"\N{EN DASH}"}
    assert not re.search(r"\b(nan|None|inf)\b", tree.one("main").text, re.IGNORECASE)


def test_one_case_without_intervals(tmp_path: Path) -> None:
    pairs = made_items(1)
    figure = Figure(value=0.5, count=2)
    run = made_run(pairs, "one", paper_average=figure, macro_average=Figure(value=None, count=0))
    tree = parse(written(tmp_path / "r.html", [run], pairs))
    average, macro = tree.by_id("results").all("td")[1:3]
    assert average.one(class_="v").text == "50.0"
    assert not average.all(class_="i")
    assert macro.one(class_="v").text == "\N{EN DASH}"


def test_not_a_number_is_a_dash(tmp_path: Path) -> None:
    figure = Figure.model_construct(value=float("nan"), low=float("nan"), high=float("inf"), count=3)
    result = empty_result().model_copy(update={"paper_average": figure})
    tree = parse(write_html(tmp_path / "r.html", [result], [], [], title="t", about={}).read_text(encoding="utf-8"))
    assert tree.by_id("results").all("td")[1].one(class_="v").text == "\N{EN DASH}"
    assert "nan" not in tree.one("main").text.lower()


def test_br_199_missing_and_unknown_items_are_listed(tmp_path: Path) -> None:
    counts = Counts(
        items=30, answers=5, read=5, abstained=0, unread=0, missing=[f"m{n}" for n in range(25)], unknown=["stray"]
    )
    path = write_html(tmp_path / "r.html", [empty_result(counts=counts)], [], [], title="t", about={})
    section = parse(path.read_text(encoding="utf-8")).by_id("outcomes")
    assert "nothing: no answer to m0, m1," in section.text
    assert "m19 and 5 more." in section.text
    assert "answers to items that are not there: stray." in section.text
    assert [td.text for td in section.one("tbody").all("td")] == ["30", "5", "5", "0", "0", "0", "25", "1"]


def test_br_197_both_denominators_are_shown_and_named(tmp_path: Path) -> None:
    figures = {"accuracy_all": Figure(value=0.6, count=10), "accuracy_answered": Figure(value=0.75, count=8)}
    overall = Group(dimension="all", name="all", figures=figures)
    counts = Counts(items=10, answers=10, read=6, abstained=0, unread=2, failed={"service": 2})
    path = write_html(tmp_path / "r.html", [empty_result(overall=overall, counts=counts)], [], [], title="t", about={})
    tree = parse(path.read_text(encoding="utf-8"))
    rows = {row.one("th").text: row.one("td").text for row in tree.by_id("details").all("tbody")[0].all("tr")}
    assert rows["Accuracy over all asked"] == "60.0 n 10"
    assert rows["Accuracy over those with a reply"] == "75.0 n 8"
    assert [td.text for td in tree.by_id("outcomes").all("tbody")[0].all("td")][2:6] == ["6", "0", "2", "2"]
    assert "no usable reply: the server failed 2" in tree.by_id("outcomes").text


@pytest.mark.parametrize("names", [[], ["a", "a"]], ids=["no run", "one name twice"])
def test_runs_that_cannot_be_told_apart_are_refused(tmp_path: Path, names: list[str]) -> None:
    with pytest.raises(SettingsError, match="at least one run"):
        write_html(tmp_path / "r.html", [empty_result(name) for name in names], [], [], title="t", about={})
    assert not (tmp_path / "r.html").exists()


def test_pictures_lie_inside_the_page_with_words(tmp_path: Path) -> None:
    pairs = made_items(1)
    run = made_run(pairs, "run")
    cards = select_cards(
        {"run": run.scores},
        {"run": run.answers},
        [item for item, _ in pairs],
        [reference for _, reference in pairs],
        draw=lambda item, reference: CardPicture(
            (b"\xff\xd8a", b"\xff\xd8b"), "image/jpeg", (100, 40), f"slices of {item.task}"
        ),
    )
    path = write_html(tmp_path / "r.html", [run.result], [], cards, title="t", about={})
    pictures = parse(path.read_text(encoding="utf-8")).by_id("cases").all("div", "slices")
    assert len(pictures) == len(cards) == 6
    for picture in pictures:
        assert (picture.attributes["aria-label"] or "").startswith("slices of ")
        for image, data in zip(picture.all("img"), (b"\xff\xd8a", b"\xff\xd8b"), strict=True):
            assert image.attributes["src"] == "data:image/jpeg;base64," + base64.b64encode(data).decode()
            assert (image.attributes["width"], image.attributes["height"]) == ("100", "40")


def card_of(tree: Element, words: str) -> Element:
    return next(card for card in tree.all("article", "card") if words in card.one("h3").text)


def test_a_card_shows_question_options_replies_and_why(tmp_path: Path) -> None:
    pairs = made_items(1)
    item, reference = next(pair for pair in pairs if pair[0].task == "COMP")
    wrong = next(letter for letter in "ABCD" if letter != reference.answer)

    def reading(run: MadeRun, letter: str) -> MadeRun:
        scores = [
            score.model_copy(
                update={
                    "reading": score.reading.model_copy(
                        update={"letter": letter, "rule": "last_statement", "flags": ["letter_text_conflict"]}
                    ),
                    "valid": True,
                    "outcome": "answered",
                    "score": float(letter == reference.answer),
                }
            )
            if score.item_id == item.item_id
            else score
            for score in run.scores
        ]
        return run._replace(scores=scores)

    runs = [reading(made_run(pairs, "first"), reference.answer), reading(made_run(pairs, "second"), wrong)]
    tree = parse(written(tmp_path / "r.html", runs, pairs))
    card = card_of(tree, "(COMP)")
    assert [li.text.split()[0] for li in card.all("li") if li.all(class_="letter")] == ["A", "B", "C", "D"]
    (key,) = card.all("li", "is-key")
    assert key.one(class_="letter").text == reference.answer
    assert "Chosen by first" in key.text
    assert "the measured volume is" in card.text
    states = {each.one("b").text: each.one(class_="verdict").text for each in card.all(class_="reply")}
    assert states == {"first": "right", "second": "wrong"}
    assert f"read {wrong}; rule: last statement; flags: letter text conflict" in card.text
    assert "runs disagree" in [tag.text for tag in card.all(class_="tag")]


def test_a_failed_call_says_how_it_ended(tmp_path: Path) -> None:
    pairs = made_items(1)
    run = made_run(pairs, "run", unread=0.0)

    def failed(score: Score) -> Score:
        reading = score.reading.model_copy(update={"letter": None, "value": None, "reason": "truncated", "rule": None})
        return score.model_copy(update={"outcome": "truncated", "valid": False, "score": 0.0, "reading": reading})

    answers: list[Answer] = [
        answer.model_copy(update={"outcome": "truncated", "problem": "stopped at 16 tokens"}) for answer in run.answers
    ]
    tree = parse(written(tmp_path / "r.html", [MadeRun(answers, [failed(s) for s in run.scores], run.result)], pairs))
    reply = tree.all(class_="reply")[0]
    assert reply.one(class_="verdict").text == "no usable reply"
    assert "nothing read: truncated; how the call ended: cut off (stopped at 16 tokens)" in reply.text
