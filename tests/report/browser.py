"""Headless Chromium: what a page looks like, and how wide it really is."""

from __future__ import annotations

import html
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
REQUIRED = os.environ.get("SPATIALQA_TEST_BROWSER") == "required"

_OPTIONS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars")
_PROBE = """<!DOCTYPE html><title>none</title>
<script>
window.onload = () => {{
  const page = document.querySelector("iframe").contentDocument;
  page.querySelectorAll("details").forEach(each => each.open = true);
  const wide = page.documentElement.clientWidth;
  const scrolls = ".scroll, pre, .unseen, .results thead";
  const out = [...page.querySelectorAll("body *")].filter(each =>
    each.getBoundingClientRect().right > wide + 0.5 && !each.closest(scrolls));
  document.title = [wide, page.documentElement.scrollWidth, out.map(e => e.tagName + "." + e.classList).join(" ")]
    .join("|");
}};
</script>
<iframe srcdoc="{page}" style="border: 0; width: {width}px; height: 800px"></iframe>"""
"""The page in a frame: a window is never narrower than 500 pixels. Its policy forbids scripts in it, not around it."""


def needed() -> str:
    """The browser; the test is skipped where there is none, and fails where one is required."""
    if CHROMIUM is None:
        if REQUIRED:
            pytest.fail("there is no chromium: apt-get install chromium")
        pytest.skip("chromium is not installed")
    return CHROMIUM


def screenshot(page: Path, target: Path, width: int, height: int, *, dark: bool = False) -> Path:
    """A picture of the top of a page."""
    options = [f"--window-size={width},{height}", f"--screenshot={target}"]
    _run(page, [*options, f"--blink-settings=preferredColorScheme={0 if dark else 1}"], target.parent)
    return target


def widths(page: Path, width: int, folder: Path) -> tuple[int, int, str]:
    """Width of the window and of the page with everything unfolded, and what stands out at the right."""
    probe = folder / "probe.html"
    content = html.escape(page.read_text(encoding="utf-8"))
    probe.write_text(_PROBE.format(page=content, width=width), encoding="utf-8")
    shown = _run(probe, ["--window-size=1600,900", "--dump-dom"], folder)
    title = re.search(r"<title>(\d+)\|(\d+)\|(.*?)</title>", shown)
    assert title is not None, shown[:500]
    return int(title.group(1)), int(title.group(2)), title.group(3)


def _run(page: Path, options: list[str], folder: Path) -> str:
    profile = folder / "profile"
    command = [needed(), *_OPTIONS, f"--user-data-dir={profile}", *options, page.as_uri()]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=120, check=True)
    return done.stdout
