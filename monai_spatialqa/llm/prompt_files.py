"""Prompts are data: versioned text files, filled in without ever reading what is filled in, and named by their hash."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from monai_spatialqa.errors import FileReadError, SpatialQAError

_PLACE = re.compile(r"\{\{([a-z][a-z0-9_]*)\}\}")
_VERSION = re.compile(r"# version: (\S+)\n")


@dataclass(frozen=True)
class Prompt:
    """A prompt's text, with places like ``{{question}}`` to fill.

    Attributes:
        name: name of the file without its ending.
        text: the text, without the version line and without blanks around it.
        version: what the file's first line, ``# version: 1``, says.
        sha256: hash of the whole file.
    """

    name: str
    text: str
    version: str
    sha256: str

    @property
    def places(self) -> tuple[str, ...]:
        """Names of the places, in order of first appearance."""
        return tuple(dict.fromkeys(_PLACE.findall(self.text)))

    def render(self, **values: str) -> str:
        """Fill every place. Values are data: a place that stands in a value stays as it is.

        Raises:
            SpatialQAError: a place without a value, or a value without a place.
        """
        if set(values) != set(self.places):
            raise SpatialQAError(
                f"the prompt '{self.name}' is filled with other values than it has places for",
                code="bad_prompt",
                file=f"{self.name}.txt",
                found=", ".join(sorted(values)) or "nothing",
                expected=", ".join(sorted(self.places)) or "nothing",
                next_step="fill every {{place}} of the file, and no other",
            )
        return _PLACE.sub(lambda place: values[place[1]], self.text)


def shipped_prompts() -> tuple[str, ...]:
    """Names of the prompts that come with the package."""
    folder = files("monai_spatialqa.llm") / "prompts"
    return tuple(sorted(path.name.removesuffix(".txt") for path in folder.iterdir() if path.name.endswith(".txt")))


def load_prompt(name: str | Path) -> Prompt:
    """Read a prompt.

    Args:
        name: name of a shipped prompt, or the path of a user's own file, which ends in ``.txt``.

    Raises:
        FileReadError: there is no such prompt, it is not UTF-8, or its first line gives no version.
    """
    own = isinstance(name, Path) or name.endswith(".txt")
    if not own and name not in shipped_prompts():
        raise FileReadError(
            "there is no such prompt",
            key="prompt",
            found=name,
            expected=f"one of: {', '.join(shipped_prompts())}; or the path of a file that ends in .txt",
        )
    path = Path(name) if own else files("monai_spatialqa.llm") / "prompts" / f"{name}.txt"
    try:
        content = path.read_bytes()
        text = content.decode("utf-8").replace("\r\n", "\n")
    except (OSError, UnicodeDecodeError) as error:
        raise FileReadError(f"the prompt cannot be read: {error}", file=path, next_step="save it as UTF-8") from error
    version = _VERSION.match(text)
    if version is None:
        raise FileReadError(
            "the prompt does not say its version",
            file=path,
            found=text.partition("\n")[0][:80],
            expected="a first line such as: # version: 1",
            next_step="write that line, and raise the number with every change",
        )
    body = text[version.end() :].strip()
    return Prompt(Path(str(name)).stem if own else str(name), body, version[1], hashlib.sha256(content).hexdigest())
