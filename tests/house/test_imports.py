"""Who may import whom. The rooms and floors are drawn in CONTRIBUTING.md; a new room is entered here first."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

import monai_spatialqa

PACKAGE = "monai_spatialqa"
ROOT = Path(monai_spatialqa.__path__[0])
FILES = sorted(ROOT.rglob("*.py"))

GROUND = {"records", "anatomy", "geometry", "statistics", "quantities"}
FIRST = {
    "readers",
    "transforms",
    "sources",
    "phantoms",
    "rendering",
    "items",
    "answers",
    "llm",
    "literature",
    "models",
    "metrics",
}
STAGES = {"measurement", "generation", "validation", "review", "evaluation"}
ROOF = {"medcmr", "report", "export"}
# Single files beside the rooms, and what each may know besides itself.
SHARED = {
    "errors": set(),
    "execution": {"errors", "records"},
    "progress": {"errors", "records"},
    "settings": {"errors"},
    "workflow": {"errors", "records", "settings"},
}

# (who, whom): why. Kept short on purpose: what two rooms of a floor need belongs a floor below.
EXCEPTIONS: dict[tuple[str, str], str] = {
    ("models", "llm"): "every model call goes through one chat client",
    ("transforms", "readers"): "ValidateGeometryd reads the raw header again, which stock loaders have repaired",
}

# Third-party packages, and parts of the standard library, that a room must do without.
FILE_ACCESS = {"io", "os", "pathlib", "shutil", "tempfile", "nibabel", "SimpleITK", "isal", "gzip"}
FORBIDDEN = {
    "errors": {"torch", "monai", "numpy"},
    "records": {"torch", "monai"},
    "anatomy": {"torch", "monai"},
    "statistics": {"torch", "monai"},
    "quantities": {"torch", "monai"},
    "geometry": {"monai"} | FILE_ACCESS,
}
# Parts of forbidden packages that are arithmetic only.
PURE = {"nibabel.orientations"}

LONGEST_FILE = 450


class Import(NamedTuple):
    """One imported module, as a dotted name, and where."""

    name: str
    place: str


def imports_of(path: Path) -> list[Import]:
    """Every import of a file, those inside functions and for type checking included."""
    package = [PACKAGE, *path.relative_to(ROOT).parts[:-1]]
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"), str(path))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            # "from monai_spatialqa import geometry" imports a room, not the front door.
            names = [f"{module}.{alias.name}" if module == PACKAGE else module for alias in node.names]
        else:
            continue
        found += [Import(name, f"{path.relative_to(ROOT)}:{node.lineno}") for name in dict.fromkeys(names)]
    return found


def room_of(path: Path) -> str:
    """The room, or the single file beside the rooms, that a file belongs to."""
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def allowed_for(room: str) -> set[str]:
    """Rooms and shared files that a room may import, itself and the exceptions included."""
    if room in SHARED:
        allowed = set(SHARED[room])
    elif room in GROUND:
        allowed = {"errors"}
    elif room in FIRST:
        allowed = {"errors", *GROUND}
    elif room in STAGES:
        allowed = {*SHARED, *GROUND, *FIRST}
    else:
        allowed = {*SHARED, *GROUND, *FIRST, *STAGES, *ROOF}
    return allowed | {room} | {whom for who, whom in EXCEPTIONS if who == room}


@pytest.fixture(params=[path for path in FILES if path.parent != ROOT or path.stem != "__init__"], ids=str)
def module_file(request) -> Path:
    return request.param


def test_every_room_has_a_floor():
    rooms = {room_of(path) for path in FILES} - {"__init__"}
    unknown = rooms - GROUND - FIRST - STAGES - ROOF - set(SHARED)
    assert not unknown, f"enter {sorted(unknown)} on a floor, here and in CONTRIBUTING.md"


def test_exceptions_are_used():
    used = {(room_of(path), entry.name.split(".")[1]) for path in FILES for entry in _own(path)}
    rooms = {room_of(path) for path in FILES if _own(path)}
    unused = {pair for pair in EXCEPTIONS if pair not in used and set(pair) <= rooms}
    assert not unused, f"delete the exceptions {sorted(unused)}"


def test_imports_go_down_only(module_file):
    room = room_of(module_file)
    allowed = allowed_for(room)
    wrong = [f"{entry.place} imports {entry.name}" for entry in _own(module_file) if _target(entry) not in allowed]
    assert not wrong, f"{room} may import {sorted(allowed)}: {wrong}"


def test_rooms_do_without_what_they_must(module_file):
    forbidden = FORBIDDEN.get(room_of(module_file), set())
    wrong = [
        f"{entry.place} imports {entry.name}"
        for entry in imports_of(module_file)
        if entry.name.split(".")[0] in forbidden and entry.name not in PURE
    ]
    assert not wrong


@pytest.mark.parametrize("path", [path for path in FILES if room_of(path) == "geometry"], ids=str)
def test_geometry_opens_no_file(path):
    calls = [node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Call)]
    assert not [call.lineno for call in calls if isinstance(call.func, ast.Name) and call.func.id == "open"]


def test_files_are_short(module_file):
    lines = len(module_file.read_text(encoding="utf-8").splitlines())
    assert lines <= LONGEST_FILE, "one idea per file: split it"


def test_importing_the_package_is_cheap():
    code = f"import {PACKAGE}, sys; print([name for name in ('torch', 'monai', 'numpy') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=True)
    assert done.stdout.strip() == "[]"


def test_public_names_are_not_monais():
    monai_names: dict[str, str] = {}
    for where in ("transforms", "data", "metrics", "handlers", "engines", "inferers", "losses", "utils", "bundle"):
        module = importlib.import_module(f"monai.{where}")
        for name in dir(module):
            origin = getattr(getattr(module, name), "__module__", None)
            if not name.startswith("_") and isinstance(origin, str) and origin.startswith("monai."):
                monai_names.setdefault(name, f"monai.{where}")
    assert len(monai_names) > 500

    clashes = {}
    for info in pkgutil.iter_modules([str(ROOT)]):
        module = importlib.import_module(f"{PACKAGE}.{info.name}")
        for name in getattr(module, "__all__", []):
            if name in monai_names:
                clashes[f"{info.name}.{name}"] = monai_names[name]
    assert not clashes


def _own(path: Path) -> list[Import]:
    return [entry for entry in imports_of(path) if entry.name.startswith(f"{PACKAGE}.")]


def _target(entry: Import) -> str:
    return entry.name.split(".")[1]
