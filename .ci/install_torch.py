"""Install torch into the environment of the running interpreter, never with gigabytes of CUDA unasked.

On some platforms the default build of torch brings CUDA libraries of several gigabytes. This script asks pip which
build it would take under the constraints. If that build needs CUDA packages, the same version is installed from
PyTorch's own index of CPU builds instead; if not, the default build is taken as it is.

Usage: python .ci/install_torch.py --constraints FILE [--build cpu|cuda] [--cpu-index URL]

``--build cpu`` (default) leaves a torch that is already installed and fits the constraints alone, whatever its build.
``--build cuda`` takes the default build on purpose: it removes a CPU build, and the next install brings the default.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from importlib import metadata
from typing import Any

DEFAULT_CPU_INDEX = "https://download.pytorch.org/whl/cpu"
CUDA_PACKAGE = re.compile(r"(nvidia|cuda)([-_.]|$)", re.IGNORECASE)


def pip(*arguments: str, capture: bool = False) -> str:
    """Run pip of this interpreter; its standard output when ``capture``. A failing pip ends this script."""
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", *arguments]
    done = subprocess.run(command, check=False, text=True, stdout=subprocess.PIPE if capture else None)
    if done.returncode:
        sys.exit(f"failed: {' '.join(command)}")
    return done.stdout or ""


def torch_on_offer(report: dict[str, Any]) -> dict[str, Any] | None:
    """The metadata of the torch that pip would install; None when a fitting one is installed already."""
    found = [item["metadata"] for item in report["install"] if item["metadata"]["name"].lower() == "torch"]
    return found[0] if found else None


def cuda_requirements(torch: dict[str, Any]) -> list[str]:
    """Names of the CUDA packages that a torch build requires, those of optional extras left out."""
    names = set()
    for requirement in torch.get("requires_dist") or []:
        specifier, _, marker = requirement.partition(";")
        if CUDA_PACKAGE.match(specifier.strip()) and not re.search(r"\bextra\s*==", marker):
            names.add(re.split(r"[\s\[=<>!~(]", specifier.strip(), maxsplit=1)[0])
    return sorted(names)


def install_without_cuda(constraints: str, cpu_index: str) -> None:
    """Install torch if it is missing, from the index of CPU builds if the default build needs CUDA packages."""
    arguments = ["--no-deps", "--quiet", "--constraint", constraints]
    report = json.loads(pip("install", "--dry-run", "--report", "-", *arguments, "torch", capture=True))
    torch = torch_on_offer(report)
    if torch is None:
        print(f"torch {metadata.version('torch')} is installed already")
        return
    cuda = cuda_requirements(torch)
    if not cuda:
        print(f"torch {torch['version']}: the default build needs no CUDA packages")
        return
    print(f"torch {torch['version']}: the default build needs {len(cuda)} CUDA packages ({', '.join(cuda[:3])}, ...)")
    print(f"taking the CPU build from {cpu_index}; 'make venv TORCH=cuda' takes the default build")
    try:
        pip("install", "--index-url", cpu_index, *arguments, "torch")
    except SystemExit:
        sys.exit(
            f"no CPU build of torch {torch['version']} could be installed from {cpu_index}. Next step: name another "
            "index with 'make venv TORCH_CPU_INDEX=...', or accept the CUDA build with 'make venv TORCH=cuda'."
        )


def make_room_for_default() -> None:
    """Remove an installed CPU build, so that the next install takes the default one."""
    try:
        version = metadata.version("torch")
    except metadata.PackageNotFoundError:
        return
    if version.endswith("+cpu"):
        pip("uninstall", "--yes", "torch")


def main() -> None:
    """Read the command line and act on it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--constraints", required=True, help="constraints file that pins torch")
    parser.add_argument("--build", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--cpu-index", default=DEFAULT_CPU_INDEX, help="index of CPU builds")
    arguments = parser.parse_args()
    if arguments.build == "cuda":
        make_room_for_default()
    else:
        install_without_cuda(arguments.constraints, arguments.cpu_index)


if __name__ == "__main__":
    main()
