"""Screenshots of reports, for the page about them: the baselines on phantoms and the bundle's CT. Drawn by pictures.py.

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
from typing import Any

from PIL import Image

import monai_spatialqa as sqa
from monai_spatialqa.evaluation import EvaluateSettings, run_evaluation
from monai_spatialqa.generation import GenerateSettings, run_generation
from monai_spatialqa.measurement import MeasureSettings, run_measurement
from monai_spatialqa.report import ReportSettings, run_report

EXAMPLE = Path(__file__).resolve().parent.parent / "bundles/spatialqa/example"
_WIDE, _NARROW, _HEIGHT, _GAP = 1280, 390, 1000, 12
_PAPER = (255, 255, 255)
_PHANTOMS = 8


def report_wide() -> Image.Image:
    """The top of the page, 1280 pixels wide."""
    return _screenshot(_of_phantoms(), "", _WIDE)


def report_case() -> Image.Image:
    """A case, 1280 pixels wide, in the dark theme."""
    return _screenshot(_of_example(), "#case-3", _WIDE, dark=True)


def report_narrow() -> Image.Image:
    """Four parts of the page, each 390 pixels wide, in both themes."""
    strips = [
        (_of_phantoms(), "", False),
        (_of_phantoms(), "#results", True),
        (_of_phantoms(), "#tumours", False),
        (_of_example(), "#case-3", True),
    ]
    sheet = Image.new("RGB", (len(strips) * (_NARROW + _GAP) - _GAP, _HEIGHT), _PAPER)
    for place, (page, part, dark) in enumerate(strips):
        sheet.paste(_screenshot(page, part, _NARROW, dark=dark), (place * (_NARROW + _GAP), 0))
    return sheet


@cache
def _of_example() -> str:
    """The report on the CT of the bundle."""
    return _page(
        "Baselines on the example CT",
        60,
        labels=str(EXAMPLE / "seg/*.nii.gz"),
        images=str(EXAMPLE / "ct/*.nii.gz"),
        label_map="totalsegmentator_v2",
        distances={"among": ["abdominal_organs"]},
    )


@cache
def _of_phantoms() -> str:
    """The report on phantoms with tumours: enough cases for intervals."""
    with tempfile.TemporaryDirectory() as scans:
        names: dict[int, str] = {}
        for seed in range(_PHANTOMS):
            phantom = sqa.make_phantom(seed)
            phantom.save(Path(scans), f"phantom_{seed}")
            names |= {shape.label: name for name, shape in phantom.shapes.items()}
        return _page(
            f"Baselines on {_PHANTOMS} phantoms",
            40,
            labels=f"{scans}/*_label.nii.gz",
            images=f"{scans}/*_image.nii.gz",
            label_map=names,
            distances="all",
        )


def _page(title: str, items_per_case: int, **scans: Any) -> str:
    """A report as the stages make it; random numbers have the seed 0."""
    with tempfile.TemporaryDirectory() as name, contextlib.redirect_stdout(io.StringIO()):
        folder = Path(name)
        run_measurement(MeasureSettings(detail="full", output_dir=str(folder), workers=0, progress=False, **scans))
        run_generation(
            GenerateSettings(
                measurements=str(folder),
                output_dir=str(folder / "items"),
                items_per_case=items_per_case,
                progress=False,
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
        page, *_ = run_report(
            ReportSettings(runs=str(folder / "evaluation"), output_dir=str(folder), title=title, cards=6)
        )
        return page.read_text(encoding="utf-8")


def _screenshot(page: str, part: str, width: int, *, dark: bool = False) -> Image.Image:
    """What stands in the page from an element on; the name of none is its top."""
    top = round(_top(page, part, width)) if part else 0
    options = [f"--window-size={width},{top + _HEIGHT}", f"--blink-settings=preferredColorScheme={0 if dark else 1}"]
    with tempfile.TemporaryDirectory() as name:
        target = Path(name, "shot.png")
        _browse(page, [*options, f"--screenshot={target}"])
        return Image.open(target).convert("RGB").crop((0, top, width, top + _HEIGHT))


_PROBE = """<!DOCTYPE html><title>none</title>
<script>
window.onload = () => {{
  document.title = document.querySelector("iframe").contentDocument.querySelector("{part}").getBoundingClientRect().top;
}};
</script>
<iframe srcdoc="{page}" style="border: 0; width: {width}px; height: 800px"></iframe>"""


def _top(page: str, part: str, width: int) -> float:
    """How far down an element stands."""
    shown = _browse(
        _PROBE.format(part=part, page=html.escape(page), width=width), ["--window-size=1600,900", "--dump-dom"]
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
