"""The pages of documentation, taken apart: code blocks, tables, links."""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = [page for page in (ROOT / "README.md", *sorted(DOCS.glob("*.md"))) if page.is_file()]

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ +(.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, text and first line, and the ``text`` block that directly follows it, if any."""

    language: str
    text: str
    line: int
    output: str | None = None


def blocks(page: Path) -> list[Block]:
    """The fenced blocks of a page; a ``text`` block right behind Python code is what the code prints."""
    content = page.read_text(encoding="utf-8")
    found: list[Block] = []
    matches = list(_FENCE.finditer(content))
    for match, behind in zip(matches, [*matches[1:], None], strict=True):
        printed = behind is not None and behind.group(1) == "text" and not content[match.end() : behind.start()].strip()
        output = behind.group(2) if behind is not None and printed else None
        line = content.count("\n", 0, match.start()) + 2
        found.append(Block(match.group(1), match.group(2), line, output))
    return found


def printed_by(page: Path) -> Iterator[tuple[Block, str]]:
    """Run a page's Python blocks in order, in one namespace, and yield each with what it prints."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    for block in blocks(page):
        if block.language == "python":
            shown = io.StringIO()
            source = "\n" * (block.line - 1) + block.text  # tracebacks then name the page's lines
            with contextlib.redirect_stdout(shown):
                exec(compile(source, str(page), "exec"), namespace)
            yield block, shown.getvalue()


def comparable(text: str) -> str:
    """Printed text without trailing spaces and blank lines around it."""
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


def without_code(page: Path) -> str:
    """A page's prose."""
    return _FENCE.sub("", page.read_text(encoding="utf-8"))


def links(page: Path) -> list[str]:
    """Targets of links and pictures."""
    return _LINK.findall(without_code(page))


def anchors(page: Path) -> set[str]:
    """Names of a page's headings as GitHub makes them."""
    headings = [re.sub(r"[^\w\- ]", "", heading.lower()) for heading in _HEADING.findall(without_code(page))]
    return {heading.replace(" ", "-") for heading in headings}


def table(page: Path, first_header: str) -> list[list[str]]:
    """Rows of the table whose first header cell reads so; cells without the marks of code."""
    rows: list[list[str]] = []
    inside = False
    for line in without_code(page).splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))] if "|" in line else []
        if cells and cells[0] == first_header:
            inside = True
        elif inside and not cells:
            break
        elif inside and not set(cells[0]) <= set("-: "):
            rows.append([cell.replace("`", "") for cell in cells])
    return rows
