"""The documentation holds: its code runs and prints what it says, its tables and links are right.

Every Python block of a page is run, in order and in one namespace. A ``text`` block right behind one is what it prints.
There is no way to exempt a block: what needs a GPU falls back to the CPU.
"""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import io
import json
import re
import struct
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import pytest
import torch
from monai.data import MetaTensor

import monai_spatialqa as sqa
from monai_spatialqa import readers, transforms
from monai_spatialqa.anatomy import TUMOUR_KINDS, load_label_map, shipped_label_maps
from monai_spatialqa.evaluation import EvaluateSettings, shipped_presets
from monai_spatialqa.generation import GenerateSettings, LintSettings
from monai_spatialqa.generation.summary import GenerateSummary
from monai_spatialqa.items.linter import RULES
from monai_spatialqa.items.subtasks import SUBTASKS
from monai_spatialqa.llm import LLMSettings, Prices
from monai_spatialqa.measurement import MeasureSettings
from monai_spatialqa.measurement.tables import DISTANCE_COLUMNS, STRUCTURE_COLUMNS
from monai_spatialqa.models import OpenAIOptions
from monai_spatialqa.records import AxialDiameter, Box, Components, Geometry, Measurement, Pair, Status, Structure
from monai_spatialqa.records.answer import Outcome
from monai_spatialqa.records.item import Distractor, Evidence, Item, Reference
from monai_spatialqa.records.schema import outdated_schemas
from monai_spatialqa.rendering import BurnIn, Tell, ViewSettings
from monai_spatialqa.report import ReportSettings

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
EVALUATE, REPORT = DOCS / "evaluate.md", DOCS / "report.md"
MEASURE, TRANSFORMS, LABEL_MAPS = DOCS / "measure.md", DOCS / "transforms.md", DOCS / "label_maps.md"
LINT, GENERATE, VIEWS, MODELS, LLM = (DOCS / f"{name}.md" for name in ("lint", "generate", "views", "models", "llm"))
PAGES = [page for page in (ROOT / "README.md", *sorted(DOCS.glob("*.md"))) if page.is_file()]
LARGEST_PICTURE_BYTES, LARGEST_GALLERY_BYTES = 150_000, 1_200_000

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ +(.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, text and first line, and what it prints, if the page says so."""

    language: str
    text: str
    line: int
    output: str | None = None


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def blocks(page: Path) -> list[Block]:
    content = page.read_text(encoding="utf-8")
    matches = list(_FENCE.finditer(content))
    found: list[Block] = []
    for number, match in enumerate(matches):
        output = None
        for behind in matches[number + 1 : number + 2]:
            if behind.group(1) == "text" and not content[match.end() : behind.start()].strip():
                output = behind.group(2)
        found.append(Block(match.group(1), match.group(2), content.count("\n", 0, match.start()) + 2, output))
    return found


def printed_by(page: Path) -> Iterator[tuple[Block, str]]:
    """Run a page's Python blocks and yield each with what it prints."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    for block in blocks(page):
        if block.language == "python":
            shown = io.StringIO()
            source = "\n" * (block.line - 1) + block.text  # tracebacks then name the page's lines
            with contextlib.redirect_stdout(shown):
                exec(compile(source, str(page), "exec"), namespace)
            yield block, shown.getvalue()


def comparable(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


def prose(page: Path) -> str:
    return _FENCE.sub("", page.read_text(encoding="utf-8"))


def anchors(page: Path) -> set[str]:
    """Names of a page's headings as GitHub makes them."""
    return {re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-") for text in _HEADING.findall(prose(page))}


def table(page: Path, first_header: str) -> list[list[str]]:
    """Rows of the table whose first header cell reads so; cells without the marks of code."""
    rows: list[list[str]] = []
    inside = False
    for line in prose(page).splitlines():
        cells = [cell.strip().replace("`", "") for cell in line.strip().strip("|").split("|")] if "|" in line else []
        if cells and cells[0] == first_header:
            inside = True
        elif inside and not cells:
            break
        elif inside and not set(cells[0]) <= set("-:"):
            rows.append(cells)
    assert rows, f"{name_of(page)} has no table headed {first_header!r}"
    return rows


def names_in(page: Path, first_header: str) -> list[str]:
    """The names in the first column, several of which may share a row."""
    return [name for row in table(page, first_header) for name in row[0].split(", ")]


@pytest.fixture
def beside_the_bundle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory in which the example lies where the pages say."""
    (tmp_path / "bundles").symlink_to(ROOT / "bundles", target_is_directory=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_code_runs_and_prints_what_the_page_says(page, beside_the_bundle):
    for block, shown in printed_by(page):
        if block.output is not None:
            assert comparable(shown) == comparable(block.output), f"{name_of(page)}, line {block.line}"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_and_pictures_exist(page):
    for target in _LINK.findall(prose(page)):
        if target.startswith(("https://", "http://")):
            continue
        path, _, anchor = target.partition("#")
        there = (page.parent / path).resolve() if path else page
        assert there.exists(), f"{name_of(page)} links to {target}"
        if anchor:
            assert anchor in anchors(there), f"{name_of(page)} links to {target}"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_command_lines_use_settings_that_exist(page):
    known = {
        *MeasureSettings.model_fields,
        *GenerateSettings.model_fields,
        *LintSettings.model_fields,
        *EvaluateSettings.model_fields,
        *ReportSettings.model_fields,
        "config_file",
    }
    for block in blocks(page):
        if "monai.bundle run" in block.text:
            assert set(re.findall(r"--(\w+)", block.text)) <= known


def test_settings_table_is_the_model():
    fields = MeasureSettings.model_fields
    rows = table(MEASURE, "setting")
    assert [row[0] for row in rows] == list(fields)
    for name, default, *_ in rows:
        value = fields[name].get_default(call_default_factory=True)
        assert default == (value if isinstance(value, str) else json.dumps(value)), name


def test_generate_settings_table_is_the_model():
    fields = GenerateSettings.model_fields
    rows = table(GENERATE, "setting")
    assert [row[0] for row in rows] == list(fields)
    for name, default, _, meaning in rows:
        assert default == (
            fields[name].default if isinstance(fields[name].default, str) else json.dumps(fields[name].default)
        )
        assert meaning == fields[name].description, name


def test_generate_tables_are_the_models():
    for header, model in (
        ("of an item", Item),
        ("of a reference", Reference),
        ("of evidence", Evidence),
        ("of a distractor", Distractor),
    ):
        assert set(names_in(GENERATE, header)) == set(model.model_fields), header
    assert set(names_in(GENERATE, "in summary.json")) == {field.name for field in dataclasses.fields(GenerateSummary)}


def test_subtasks_table_is_what_there_is():
    rows = [tuple(row) for row in table(GENERATE, "task")]
    assert sorted(rows) == sorted((one.task, one.name, one.about) for one in SUBTASKS.values())


def test_gallery_is_what_the_package_makes(monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS))
    gallery = importlib.import_module("gallery")
    for name in ("gallery", "drawing"):
        sys.modules.pop(name, None)
    again = "run: python docs/gallery.py"
    assert (DOCS / "gallery.md").read_text(encoding="utf-8") == gallery.page_text(), again
    shown = [item.subtask for card in gallery.gallery() for item, _ in card.pairs]
    assert set(shown) == set(SUBTASKS)
    others = [item.subtask for card in gallery.gallery() if card.scene.stem != "sarcoma" for item, _ in card.pairs]
    assert len(others) == len(set(others))
    pictures = sorted((DOCS / "images" / "gallery").iterdir())
    assert {path.stem for path in pictures} == {card.name for card in gallery.gallery()}, again
    for path in pictures:
        assert path.read_bytes().startswith(b"\x89PNG")
        assert path.stat().st_size <= LARGEST_PICTURE_BYTES, path.name
    assert sum(path.stat().st_size for path in pictures) <= LARGEST_GALLERY_BYTES


def test_lint_tables_are_the_rules_and_the_model():
    told = [(rule.id, rule.severity, rule.about) for rule in RULES.values()]
    assert [tuple(row) for row in table(LINT, "rule")] == told
    rows = table(LINT, "setting of lint")
    fields = LintSettings.model_fields
    assert [row[0] for row in rows] == list(fields)
    for name, default, *_ in rows:
        value = fields[name].get_default(call_default_factory=True)
        assert default == (value if isinstance(value, str) else json.dumps(value)), name


def test_tables_of_views_and_adapters_are_the_models():
    parts = {"burn_in": BurnIn, "tell": Tell}
    fields = {name: field for name, field in ViewSettings.model_fields.items() if name not in parts}
    fields |= {f"{part}.{name}": field for part, model in parts.items() for name, field in model.model_fields.items()}
    tables = ((VIEWS, "setting", fields), (MODELS, "option of openai", OpenAIOptions.model_fields))
    for page, header, expected in tables:
        rows = table(page, header)
        assert [row[0] for row in rows] == list(expected)
        for name, default, meaning in rows:
            value = "" if expected[name].is_required() else expected[name].default
            assert default == (value if isinstance(value, str) else json.dumps(value)), name
            assert meaning == expected[name].description, name


def test_llm_tables_are_the_models():
    fields = dict(LLMSettings.model_fields)
    fields |= {f"prices.{name}": field for name, field in Prices.model_fields.items()}
    rows = {name: (default, meaning) for name, default, meaning in table(LLM, "setting")}
    assert set(rows) == set(fields)
    for name, (default, meaning) in rows.items():
        field = fields[name]
        value = "" if field.is_required() else field.get_default(call_default_factory=True)
        assert default == (value if isinstance(value, str) else json.dumps(value)), name
        assert meaning == field.description, name
    assert names_in(LLM, "outcome") == list(get_args(Outcome))


def test_the_table_of_outcomes_is_the_records():
    assert names_in(MODELS, "outcome") == list(get_args(Outcome))


def test_evaluate_tables_are_the_models():
    for header, model in (("setting", EvaluateSettings), ("setting of report", ReportSettings)):
        rows = table(EVALUATE, header)
        assert [row[0] for row in rows] == list(model.model_fields)
        for name, default, meaning in rows:
            field = model.model_fields[name]
            value = field.get_default(call_default_factory=True)
            told = value if isinstance(value, str) else json.dumps(None if name == "views" else value)
            assert default == ("see views" if name == "views" else told), name
            assert meaning == field.description, name
    assert names_in(EVALUATE, "prompt preset") == sorted(shipped_presets(), key=["plain", "reasoned", "json"].index)
    overlays = sorted(path.stem for path in (ROOT / "configs/models").glob("*.yaml"))
    assert sorted(names_in(EVALUATE, "overlay")) == overlays


def test_record_tables_are_the_models():
    assert names_in(MEASURE, "field") == list(Measurement.model_fields)
    boxed = {f"box.{name}" for name in Box.model_fields}
    assert set(names_in(MEASURE, "of a structure")) == set(Structure.model_fields) - {"box"} | boxed
    assert set(names_in(MEASURE, "of components")) == set(Components.model_fields)
    assert set(names_in(MEASURE, "of an axial diameter")) == set(AxialDiameter.model_fields)
    assert set(names_in(MEASURE, "of a pair")) == set(Pair.model_fields)
    assert set(names_in(MEASURE, "of geometry")) == set(Geometry.model_fields)


def test_csv_columns_are_named():
    assert names_in(MEASURE, "column of measurements.csv") == list(STRUCTURE_COLUMNS)
    told = next(line for line in prose(MEASURE).splitlines() if line.startswith("`distances.csv` has the columns"))
    assert re.findall(r"`(\w+)`", told) == list(DISTANCE_COLUMNS)


def test_status_table_is_the_enum():
    assert {row[0]: int(row[1]) for row in table(MEASURE, "status word")} == {
        "ok": 0,
        **{flag.names()[0]: int(flag) for flag in Status},
    }


@pytest.mark.parametrize("page", [MEASURE, TRANSFORMS], ids=name_of)
def test_error_codes_are_raised_somewhere(page):
    source = "".join(path.read_text(encoding="utf-8") for path in Path(sqa.__path__[0]).rglob("*.py"))
    assert not [code for code in names_in(page, "code") if f'"{code}"' not in source]


def test_record_excerpt_is_part_of_the_record(beside_the_bundle):
    (excerpt,) = (json.loads(block.text) for block in blocks(MEASURE) if '"schema_version"' in block.text)
    record = sqa.measure(
        excerpt["source"]["path"],
        image=excerpt["source"]["image_path"],
        label_map=excerpt["label_map"],
        distances=[(pair["a"], pair["b"]) for pair in excerpt["pairs"]],
    )
    actual = json.loads(record.to_json_line())
    actual["structures"] = {name: actual["structures"][name] for name in excerpt["structures"]}
    for one in (actual, excerpt):
        assert len(one.pop("settings_sha256")) == 64  # changes with every setting that is added
    assert actual == excerpt


def test_transforms_table_lists_all():
    documented = set(names_in(TRANSFORMS, "transform"))
    assert documented == {name for name in transforms.__all__ if name.endswith("d") and name[:-1] in transforms.__all__}


def test_readers_table_lists_all():
    assert set(names_in(TRANSFORMS, "reader")) == set(readers.__all__)


def test_results_table_is_what_the_transforms_write():
    label = MetaTensor(
        torch.ones((1, 4, 4, 4), dtype=torch.uint8), affine=torch.eye(4), meta={"original_affine": torch.eye(4)}
    )
    structures = {1: "one", 2: "two", 3: "three"}
    written = {
        "volume": transforms.MeasureVolume(structures),
        "box": transforms.MeasureBoundingBox(structures),
        "distance": transforms.MeasureDistance(structures, [("one", "two"), ("one", "three")]),
        "direction": transforms.MeasureDirection(structures, [("one", "two"), ("one", "three")], midline=["one"]),
        "components": transforms.MeasureComponents(structures, listed=4),
        "contact": transforms.MeasureContact(structures, [("one", "two"), ("one", "three")]),
        "diameter": transforms.MeasureDiameter(structures, of="one"),
    }
    found = {
        (name, kind): ("x".join(map(str, value.shape)), str(value.dtype).removeprefix("torch."))
        for kind, transform in written.items()
        for name, value in transform(label).items()
    }
    shown = {}
    for name, shape, dtype, kind, *_ in table(TRANSFORMS, "name"):
        lengths = shape.strip("()").replace("N", "3").replace("P", "2").replace("K", "4").split(",")
        shown[name, kind.split(",")[0]] = ("x".join(length.strip() for length in lengths if length), dtype)
    assert shown == found


def test_label_map_table_is_what_is_shipped():
    rows = table(LABEL_MAPS, "label map")
    assert [row[0] for row in rows] == shipped_label_maps()
    for name, _, structures, derived, status, origin in rows:
        label_map = load_label_map(name)
        assert (int(structures), int(derived)) == (len(label_map), len(label_map.derived)), name
        assert status == ("verified" if label_map.verified else "unverified"), name
        repositories = re.findall(r"[\w-]+/[\w-]+", origin)
        assert all(f"{repository}@" in label_map.source for repository in repositories), name
        assert repositories if label_map.verified else "third parties" in origin, name


def test_tumour_kind_table_is_what_the_maps_say():
    rows = table(LABEL_MAPS, "tumour kind")
    assert [row[0] for row in rows] == list(TUMOUR_KINDS)
    for kind, told in rows:
        having = [name for name in shipped_label_maps() if kind in load_label_map(name).tumours]
        assert told.startswith("none") if not having else told.split(", ") == having, kind


def test_yaml_of_the_label_map_page_is_a_label_map(tmp_path):
    (block,) = (block for block in blocks(LABEL_MAPS) if block.language == "yaml")
    (tmp_path / "labels.yaml").write_text(block.text, encoding="utf-8")
    label_map = load_label_map(tmp_path / "labels.yaml")
    assert label_map.derived == {"kidney_left_with_tumour": (1, 7)}
    assert label_map.tumours == {"kidney": ("tumour",)}


def test_schemas_are_up_to_date():
    assert not outdated_schemas(DOCS / "schema"), "run: python -m monai_spatialqa.records.schema docs/schema"


def test_pictures_are_those_that_the_script_draws(monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS))
    drawn = {draw.__name__ for draw in importlib.import_module("pictures").PICTURES}
    for name in ("pictures", "finer_pictures", "report_pictures", "view_pictures", "drawing"):
        sys.modules.pop(name, None)
    links = [Path(target) for page in PAGES for target in _LINK.findall(prose(page)) if target.endswith(".png")]
    shown = {path.stem for path in links if path.parent.name == "images"}
    there = sorted((DOCS / "images").glob("*.png"))
    assert [path.name for path in (DOCS / "images").iterdir() if path not in there] == ["gallery"]
    assert {path.stem for path in there} == drawn == shown
    for path in there:
        content = path.read_bytes()
        width, height = struct.unpack(">II", content[16:24])
        assert content.startswith(b"\x89PNG")
        assert len(content) <= LARGEST_PICTURE_BYTES, path.name
        assert 1000 <= width <= 1600, path.name
        assert 300 <= height <= 1000, path.name
