"""The page in a browser: nothing hangs over at 390 pixels, both themes are themes, and it loads nothing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from monai_spatialqa.report import CardPicture, ReportedRun, write_report
from monai_spatialqa.report import writing as report_writing
from tests.report.browser import needed, screenshot, widths
from tests.report.factory import example_spent, made_items, made_run

pytestmark = pytest.mark.extra

LONG = "a-model-with-a-name-of-seventy-characters-and-not-one-space-to-break-it-at"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report with everything in it, long names and replies without spaces among it."""
    needed()
    folder = tmp_path_factory.mktemp("report")
    pairs = made_items(8)
    runs = [
        made_run(pairs, LONG, skill=0.6, family="F", size_billion=8, spent=example_spent(99.0)),
        made_run(pairs, "small", skill=0.4, family="F", size_billion=4, unread=0.3, spent=example_spent(9.0)),
        made_run(pairs, "medical", kind="2d_medical"),
        made_run(pairs, "random", skill=0.25, kind="baseline"),
        made_run(pairs, "oracle", skill=1.0, kind="baseline", unread=0.0),
    ]
    reported = [
        ReportedRun(run.result, run.scores, [a.model_copy(update={"reply": "word" * 200}) for a in run.answers])
        for run in runs
    ]
    picture = folder / "picture.jpg"
    Image.new("RGB", (420, 420), (90, 60, 30)).save(picture)
    drawn = CardPicture((picture.read_bytes(),) * 3, "image/jpeg", (420, 420), "a picture")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(report_writing, "CasePictures", lambda *arguments, **options: lambda item, reference: drawn)
        records = {"items": [item for item, _ in pairs], "references": [reference for _, reference in pairs]}
        return write_report(reported, folder, draws=200, about={"Path": "x" * 90}, **records)[0]  # type: ignore[arg-type]


@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_hangs_over_at_the_right(page: Path, tmp_path: Path, width: int) -> None:
    window, content, outside = widths(page, width, tmp_path)
    assert window == width
    assert content <= width
    assert outside == ""


def test_what_hangs_over_would_be_seen(tmp_path: Path) -> None:
    needed()
    page = tmp_path / "wide.html"
    page.write_text("<!DOCTYPE html><title>t</title><div class='wide' style='width: 500px'>x</div>", encoding="utf-8")
    assert widths(page, 390, tmp_path) == (390, 508, "DIV.wide")


def pixels(path: Path) -> np.ndarray:
    return np.asarray(Image.open(path).convert("L")).astype(int)


@pytest.mark.parametrize("width", [390, 1280])
def test_the_themes_are_light_and_dark(page: Path, tmp_path: Path, width: int) -> None:
    light = pixels(screenshot(page, tmp_path / "light.png", width, 1500))
    dark = pixels(screenshot(page, tmp_path / "dark.png", width, 1500, dark=True))
    assert light.shape == dark.shape == (1500, width)
    assert np.median(light) > 235
    assert np.median(dark) < 40
    for shown, ink in ((light, light < 90), (dark, dark > 170)):  # there is text, and much of it
        assert 0.01 < ink.mean() < 0.3
        assert shown.std() > 10


def test_the_picture_of_a_case_is_shown(page: Path, tmp_path: Path) -> None:
    """The policy lets pictures inside the file through."""
    shown = np.asarray(Image.open(screenshot(page, tmp_path / "all.png", 1280, 9000)).convert("RGB")).astype(int)
    assert (np.abs(shown - (90, 60, 30)).max(axis=2) < 6).sum() > 300_000
