"""Screenshots of a report, for the page about it: the baselines on the bundle's CT. Drawn by pictures.py.

They need the program chromium (Debian: ``apt-get install chromium``).
"""

from __future__ import annotations

import contextlib
import html
import io
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

from PIL import Image

from monai_spatialqa.evaluation import EvaluateSettings, run_evaluation
from monai_spatialqa.generation import GenerateSettings, run_generation
from monai_spatialqa.measurement import MeasureSettings, run_measurement
from monai_spatialqa.report import ReportSettings, run_report

EXAMPLE = Path(__file__).resolve().parent.parent / "bundles/spatialqa/example"
_WIDE, _NARROW, _HEIGHT, _GAP = 1280, 390, 1000, 12
_PAPER = (255, 255, 255)


def report_wide() -> Image.Image:
    """The top of the page, 1280 pixels wide."""
    return _screenshot("", _WIDE)


def report_case() -> Image.Image:
    """A case, 1280 pixels wide, in the dark theme."""
    return _screenshot("#case-3", _WIDE, dark=True)


def report_narrow() -> Image.Image:
    """Four parts of the page, each 390 pixels wide, in both themes."""
    strips = [("", False), ("#results", True), ("#predicted", False), ("#case-3", True)]
    sheet = Image.new("RGB", (len(strips) * (_NARROW + _GAP) - _GAP, _HEIGHT), _PAPER)
    for place, (part, dark) in enumerate(strips):
        sheet.paste(_screenshot(part, _NARROW, dark=dark), (place * (_NARROW + _GAP), 0))
    return sheet


@cache
def _page() -> str:
    """The report, as the stages make it from the example; random numbers have the seed 0."""
    with tempfile.TemporaryDirectory() as name, contextlib.redirect_stdout(io.StringIO()):
        folder = Path(name)
        run_measurement(
            MeasureSettings(
                labels=str(EXAMPLE / "seg/*.nii.gz"),
                images=str(EXAMPLE / "ct/*.nii.gz"),
                label_map="totalsegmentator_v2",
                distances={"among": ["abdominal_organs"]},
                detail="full",
                output_dir=str(folder),
                workers=0,
                progress=False,
            )
        )
        run_generation(
            GenerateSettings(
                measurements=str(folder), output_dir=str(folder / "items"), items_per_case=60, progress=False
            )
        )
        run_evaluation(
            EvaluateSettings(
                items=str(folder / "items"),
                measurements=str(folder),
                modality="CT",
                output_dir=str(folder / "evaluation"),
                progress=False,
            )
        )
        title = "Baselines on the example CT"
        page, *_ = run_report(
            ReportSettings(runs=str(folder / "evaluation"), output_dir=str(folder), title=title, cards=6)
        )
        return page.read_text(encoding="utf-8")


def _screenshot(part: str, width: int, *, dark: bool = False) -> Image.Image:
    """What stands in the page from an element on; the name of none is its top."""
    top = round(_top(part, width)) if part else 0
    options = [f"--window-size={width},{top + _HEIGHT}", f"--blink-settings=preferredColorScheme={0 if dark else 1}"]
    with tempfile.TemporaryDirectory() as name:
        target = Path(name, "shot.png")
        _browse(_page(), [*options, f"--screenshot={target}"])
        return Image.open(target).convert("RGB").crop((0, top, width, top + _HEIGHT))


_PROBE = """<!DOCTYPE html><title>none</title>
<script>
window.onload = () => {{
  document.title = document.querySelector("iframe").contentDocument.querySelector("{part}").getBoundingClientRect().top;
}};
</script>
<iframe srcdoc="{page}" style="border: 0; width: {width}px; height: 800px"></iframe>"""


def _top(part: str, width: int) -> float:
    """How far down an element stands."""
    shown = _browse(
        _PROBE.format(part=part, page=html.escape(_page()), width=width), ["--window-size=1600,900", "--dump-dom"]
    )
    return float(shown.partition("<title>")[2].partition("</title>")[0])


def _browse(page: str, options: list[str]) -> str:
    """Open a page in the browser; what it writes to its standard output."""
    chromium = shutil.which("chromium")
    if chromium is None:
        raise SystemExit("the screenshots of the report need chromium: apt-get install chromium")
    always = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"]
    with tempfile.TemporaryDirectory() as name:
        path = Path(name, "page.html")
        path.write_text(page, encoding="utf-8")
        command = [chromium, *always, f"--user-data-dir={name}/profile", *options, path.as_uri()]
        return subprocess.run(command, check=True, capture_output=True, encoding="utf-8", timeout=120).stdout
