"""Prompt presets: what a model is asked around a question, in text files, one for each format of item.

A preset is three prompt files, ``<name>.mca.txt``, ``<name>.yesno.txt`` and ``<name>.numeric.txt``, with places for
``{{question}}``, ``{{options}}``, ``{{unit}}``, ``{{images}}`` and ``{{abstain}}``. A paragraph that is one such place
and has nothing to say is left out. What fills a place is data and is never read for places.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import get_args

from monai_spatialqa.errors import FileReadError, SettingsError
from monai_spatialqa.llm import Prompt, load_prompt
from monai_spatialqa.records.files import system_path
from monai_spatialqa.records.item import LETTERS, Item, ItemFormat

FORMATS: tuple[ItemFormat, ...] = get_args(ItemFormat)

PLACES = {
    "mca": {"question", "options"},
    "yesno": {"question"},
    "numeric": {"question", "unit"},
}
"""Places that the prompt of a format must have; ``images`` and ``abstain`` may be left out, and then are not told."""

_ALONE = re.compile(r"\{\{(\w+)\}\}")


@dataclass(frozen=True)
class Preset:
    """The text around questions.

    Attributes:
        name: as in the settings.
        prompts: format of item -> prompt.
        abstain: the sentence that allows not to answer.
        blind: the sentence in place of the words about images.
    """

    name: str
    prompts: Mapping[ItemFormat, Prompt]
    abstain: Prompt
    blind: Prompt

    @cached_property
    def sha256(self) -> str:
        """Hash of all its files."""
        parts = [*(self.prompts[form].sha256 for form in FORMATS), self.abstain.sha256, self.blind.sha256]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()

    def text(self, item: Item, options: Sequence[str], *, images: str | None, abstain: bool) -> str:
        """What a model is asked.

        Args:
            item: the question.
            options: in the order to show, A first.
            images: what is told about the images; None where there are none.
            abstain: allow the answer "cannot be determined".
        """
        words = {
            "question": item.question.strip(),
            "options": "\n".join(f"{letter}. {text}" for letter, text in zip(LETTERS, options, strict=False)),
            "unit": item.answer_unit or "",
            "images": self.blind.text if images is None else images.strip(),
            "abstain": self.abstain.text if abstain else "",
        }
        prompt = self.prompts[item.format]
        told = [
            paragraph.strip()
            for paragraph in re.split(r"\n\s*\n", prompt.text)
            if (alone := _ALONE.fullmatch(paragraph.strip())) is None or words.get(alone[1])
        ]
        said = replace(prompt, text="\n\n".join(told))
        return said.render(**{place: words[place] for place in said.places})

    def prompt_sha256(self, item: Item, options: Sequence[str], *, blind: bool, abstain: bool) -> str:
        """Hash of the preset and of what it asks of an item; what is told of the images depends on the scan."""
        asked = self.text(item, options, images=None if blind else "images", abstain=abstain)
        return hashlib.sha256(f"{self.sha256}\n{asked}".encode()).hexdigest()


def shipped_presets() -> list[str]:
    """Names of the presets that come with the package."""
    return sorted(path.name.removesuffix(".mca.txt") for path in _shipped().glob("*.mca.txt"))


def load_preset(name: str) -> Preset:
    """A preset that comes with the package, or one's own.

    Args:
        name: its name; or ``folder/name`` for the files ``folder/name.<format>.txt``. Files ``abstain.txt`` and
            ``blind.txt`` beside them take the place of the package's.

    Raises:
        SettingsError: there is no such preset, or a prompt lacks a place that its format needs.
    """
    own = Path(system_path(name))
    shipped = name in shipped_presets()
    folder, stem = (_shipped(), name) if shipped else (own.parent, own.name)
    if not shipped and not (folder / f"{stem}.mca.txt").is_file():
        raise SettingsError(
            "there is no such prompt preset",
            key="preset",
            found=name,
            expected=f"one of {', '.join(shipped_presets())}, or folder/name of text files of your own",
            next_step=f"correct the name, or write {folder / stem}.mca.txt, .yesno.txt and .numeric.txt",
        )
    try:
        prompts = {form: _checked(folder / f"{stem}.{form}.txt", form) for form in FORMATS}
        abstain, blind = (
            load_prompt(beside if (beside := folder / f"{part}.txt").is_file() else _shipped() / f"{part}.txt")
            for part in ("abstain", "blind")
        )
    except FileReadError as error:
        raise error.with_context(key="preset") from None
    return Preset(name, prompts, abstain, blind)


def _checked(path: Path, form: ItemFormat) -> Prompt:
    prompt = load_prompt(path)
    known = {"question", "options", "unit", "images", "abstain"}
    lacking, unknown = PLACES[form] - set(prompt.places), set(prompt.places) - known
    if lacking or unknown:
        raise SettingsError(
            "a prompt has other places than its format needs",
            key="preset",
            file=path,
            found=", ".join(f"{{{{{place}}}}}" for place in prompt.places) or "no place",
            expected=f"{', '.join(f'{{{{{place}}}}}' for place in sorted(PLACES[form]))}; "
            "{{images}} and {{abstain}} where it wants to tell them",
            next_step="correct the places",
        )
    return prompt


def _shipped() -> Path:
    return Path(str(files("monai_spatialqa.evaluation") / "prompts"))
