"""A tiny bundle around a stage that only writes what it was given."""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

STAGE_MODULE = '''
"""A stage for tests: writes its settings to a file."""

import json
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from monai_spatialqa import workflow
from monai_spatialqa.errors import PairingError


class Limits(BaseModel):
    model_config = ConfigDict(extra="forbid")

    low_mm: float = 0.0
    ids: list[str] = []


class TinySettings(BaseModel):
    model_config = ConfigDict(extra="forbid")

    output: Path
    workers: Annotated[int, Field(ge=0)] = 0
    surface: bool = False
    case_id: str | None = None
    structures: list[str] | None = None
    margin_mm: float = 1.5
    kind: Literal["box", "surface"] = "box"
    connectivity: Literal[6, 18, 26] = 26
    limits: Limits = Limits()
    reader: Any = None
    failing: int = 0


def run(settings, extra=None):
    found = {**settings.model_dump(mode="json", exclude={"reader"}), "extra": extra}
    settings.output.mkdir(parents=True, exist_ok=True)
    (settings.output / "told.json").write_text(json.dumps(found), encoding="utf-8")
    return {"failed": settings.failing}


def refuse(settings):
    raise PairingError("image and label lie at different places", case="c1")


workflow.STAGES["tiny"] = TinySettings
'''

CONFIG = """
imports:
  - "$from tiny_stage import run as tiny_run"
  - "$from tiny_stage import refuse as tiny_refuse"
  - "$from tiny_stage import workflow"
bundle_root: "$workflow.bundle_root()"
output: "out"
workers: 0
surface: false
margin_mm: "$1 + 0.5"
message: "$'workers: ' + repr(@workers) + ', surface: ' + repr(@surface)"
initialize:
  - "$workflow.check('tiny')"
run:
  - "$workflow.run_stage('tiny', tiny_run, extra=@message)"
finalize:
  - "$workflow.exit_nonzero_if()"
describe:
  - "$workflow.check('tiny')"
"""


class TinyBundle:
    """The bundle's folder, and how to run it in this process."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.config = root / "configs" / "tiny.yaml"
        self.metadata = root / "configs" / "metadata.json"
        self.config.parent.mkdir(parents=True)
        self.config.write_text(CONFIG, encoding="utf-8")
        self.metadata.write_text(json.dumps({"version": "0.1.0"}), encoding="utf-8")

    def overlay(self, text: str) -> str:
        path = self.root / "overlay.yaml"
        path.write_text(textwrap.dedent(text), encoding="utf-8")
        return str(path)

    def run(self, *overlays: str, **override: Any) -> dict[str, Any]:
        """Run it as ``python -m monai.bundle run`` does, and give back what the stage was told."""
        from monai.bundle import run

        run(config_file=[str(self.config), *overlays], **override)
        return json.loads(Path(str(override.get("output", "out")), "told.json").read_text(encoding="utf-8"))

    def refusal(self, *overlays: str, **override: Any) -> Exception:
        """Run it and give back the error of ours that MONAI wraps."""
        with pytest.raises(RuntimeError, match="Failed to evaluate") as caught:
            self.run(*overlays, **override)
        assert isinstance(caught.value.__cause__, Exception)
        return caught.value.__cause__


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[TinyBundle]:
    from monai_spatialqa import workflow

    modules = tmp_path / "modules"
    modules.mkdir()
    (modules / "tiny_stage.py").write_text(STAGE_MODULE, encoding="utf-8")
    monkeypatch.syspath_prepend(modules)
    monkeypatch.setattr(sys, "path", list(sys.path))  # a running workflow adds the bundle's folder
    working_folder = tmp_path / "elsewhere"
    working_folder.mkdir()
    monkeypatch.chdir(working_folder)
    monkeypatch.setattr(workflow, "STAGES", dict(workflow.STAGES))
    yield TinyBundle(tmp_path / "bundle")
    sys.modules.pop("tiny_stage", None)
