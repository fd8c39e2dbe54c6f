"""The set-up's choice of a torch build: fabricated pip reports, and one real installation of made-up packages."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import venv
import zipfile
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / ".ci" / "install_torch.py"

CUDA = [
    "filelock",
    "typing-extensions>=4.10.0",
    'nvidia-cublas==13.1.0.3; platform_system == "Linux"',
    "nvidia-cudnn-cu13==9.19.0.56; platform_system == 'Linux'",
    'cuda-bindings<14,>=13.0.3; platform_system == "Linux"',
    'cuda-toolkit[cublas,cudart]==13.0.2; platform_system == "Linux"',
    'triton==3.7.0; platform_system == "Linux"',
    'optree>=0.13.0; extra == "optree"',
]
CPU = ["filelock", "typing-extensions>=4.10.0", "numpy; extra == 'nvidia'", 'nvidia-dali; extra == "video"']


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("install_torch", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def report_of(name: str, requires: list[str] | None) -> dict:
    metadata = {"name": name, "version": "2.13.0"}
    return {"version": "1", "install": [{"metadata": metadata | ({"requires_dist": requires} if requires else {})}]}


def test_a_default_build_with_cuda_is_recognised(script):
    torch = script.torch_on_offer(report_of("torch", CUDA))
    assert script.cuda_requirements(torch) == ["cuda-bindings", "cuda-toolkit", "nvidia-cublas", "nvidia-cudnn-cu13"]


@pytest.mark.parametrize("requires", [CPU, None])
def test_a_build_without_cuda_is_recognised(script, requires):
    assert script.cuda_requirements(script.torch_on_offer(report_of("torch", requires))) == []


def test_nothing_to_install_means_installed(script):
    assert script.torch_on_offer({"version": "1", "install": []}) is None


def make_wheel(folder: Path, version: str, requires: list[str]) -> None:
    """A wheel named torch that holds nothing, in a folder that serves as a page of a package index."""
    folder.mkdir(parents=True)
    (folder / "index.html").write_text(f'<a href="torch-{version}-py3-none-any.whl">torch</a>')
    info = f"torch-{version}.dist-info"
    lines = ["Metadata-Version: 2.1", "Name: torch", f"Version: {version}", *(f"Requires-Dist: {r}" for r in requires)]
    with zipfile.ZipFile(folder / f"torch-{version}-py3-none-any.whl", "w") as wheel:
        wheel.writestr(f"{info}/METADATA", "\n".join(lines) + "\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")


@pytest.mark.slow
def test_the_cpu_build_is_taken_where_the_default_needs_cuda(tmp_path):
    """Two folders stand in for the default index and for the index of CPU builds."""
    make_wheel(tmp_path / "default" / "torch", "2.13.0", CUDA)
    make_wheel(tmp_path / "cpu" / "torch", "2.13.0+cpu", CPU)
    venv.create(tmp_path / "env", with_pip=True)
    python = tmp_path / "env" / "bin" / "python"
    constraints = tmp_path / "constraints.txt"
    constraints.write_text("torch==2.13.0\n")
    clean = {key: value for key, value in os.environ.items() if not key.startswith("PIP_")}
    settings = {"PIP_CONFIG_FILE": os.devnull, "PIP_INDEX_URL": (tmp_path / "default").as_uri()}

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [str(python), str(SCRIPT), "--constraints", str(constraints), *arguments]
        return subprocess.run(command, env=clean | settings, capture_output=True, encoding="utf-8")

    def installed() -> str | None:
        listed = subprocess.run([str(python), "-m", "pip", "list", "--format=json"], capture_output=True, check=True)
        return {item["name"]: item["version"] for item in json.loads(listed.stdout)}.get("torch")

    refused = run("--cpu-index", (tmp_path / "nowhere").as_uri())
    assert refused.returncode != 0
    assert "TORCH=cuda" in refused.stderr
    assert installed() is None

    first = run("--cpu-index", (tmp_path / "cpu").as_uri())
    assert first.returncode == 0, first.stderr
    assert installed() == "2.13.0+cpu"
    again = run("--cpu-index", (tmp_path / "nowhere").as_uri())
    assert "installed already" in again.stdout

    assert run("--build", "cuda").returncode == 0
    assert installed() is None, "the CPU build makes room; the next install takes the default one"
