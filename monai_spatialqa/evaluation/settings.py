"""The settings of ``evaluate.yaml``."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Self, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from monai_spatialqa.evaluation.presets import Preset, load_preset
from monai_spatialqa.llm import LLMSettings
from monai_spatialqa.records.answer import ModelKind
from monai_spatialqa.records.files import file_or_in_folder, system_path
from monai_spatialqa.records.item import TaskCode
from monai_spatialqa.rendering.view_settings import ViewSettings, views_key

BaselineName = Literal["random", "always_a", "frequency", "oracle"]
"""What is scored beside a model without asking anybody; the blind baseline is asked, see ``blind``."""

AskedKind = Literal["2d_general", "2d_medical", "3d_native", "text_only", "unstated"]


class EvaluateSettings(BaseModel):
    """Everything that can be set on the command line or in an overlay. Paths are relative to the working directory."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    items: str | None = Field(None, description="items.jsonl, or the folder that the generate stage wrote")
    references: str | None = Field(
        None, description="references.jsonl; default: the one beside the items. Only scoring reads it"
    )
    measurements: str | None = Field(
        None, description="measurements.jsonl, or its folder: where the scans lie, volumes, places of structures"
    )
    images_root: str | None = Field(
        None, description="folder of the items' image paths; default: working directory or folder of the measurements"
    )
    modality: Literal["CT", "MR"] | None = Field(None, description="of scans whose items do not state it")
    tasks: list[TaskCode] | None = Field(None, description="task codes to ask; null: all six")
    limit: int | None = Field(None, ge=1, description="most items, as many of each task, spread over cases; null: all")
    model: str | None = Field(None, description="name of the model, as its server knows it; null: only baselines")
    base_url: str | None = Field(None, description="address of the OpenAI-compatible server; null: OpenAI's own")
    llm: dict[str, Any] = Field(
        default_factory=dict,
        description="further settings of the client: temperature, max_tokens, concurrency, cache ...",
    )
    adapter: str = Field("openai", description="how the model is asked: openai, or module.Class of one's own")
    adapter_options: dict[str, Any] = Field(
        default_factory=dict, description="settings of the adapter; of openai: images_first, captions, detail"
    )
    run_name: str | None = Field(None, description="name of the run in tables; null: the model's")
    kind: AskedKind = Field("unstated", description="group in the result table")
    family: str | None = Field(None, description="family of the model, e.g. Qwen3-VL")
    size_billion: float | None = Field(None, gt=0, description="parameters of the model, in billions")
    views: ViewSettings = Field(
        default_factory=ViewSettings, description="what the model is shown of a scan: kind, slices, window, scale ..."
    )
    preset: str = Field("plain", description="prompt: plain, reasoned, json, or folder/name of one's own text files")
    abstain: bool = Field(False, description="tell the model that it may answer that it cannot be determined")
    structured: bool = Field(False, description="have the server enforce a JSON answer; goes with the preset json")
    circular: bool = Field(False, description="CircularEval: ask a choice in all rotations of its options")
    repeats: int = Field(1, ge=1, description="times that everything is asked")
    blind: bool | Literal["only"] = Field(
        True, description="ask everything without images, too; only: nothing is shown, for models without eyes"
    )
    retry: list[Literal["service", "image_ignored", "truncated", "refused", "empty", "malformed"]] = Field(
        ["service", "image_ignored"], description="outcomes of an earlier run that are asked again"
    )
    baselines: list[BaselineName] = Field(
        default_factory=lambda: list(get_args(BaselineName)), description="what is scored beside the model"
    )
    strict: bool = Field(False, description="read no number from a range such as 1.2-1.5 ml")
    draws: int = Field(10_000, ge=100, description="bootstrap draws of the intervals")
    seed: int = Field(0, description="of the random baseline and the bootstrap")
    dry_run: bool = Field(False, description="say how many calls, tokens and how much money it would take; ask nothing")
    rescore: bool = Field(False, description="read the replies in output_dir again, asked as they were; ask nothing")
    output_dir: str = Field("evaluation", description="folder for the results; made when missing")
    overwrite: bool = Field(False, description="drop the answers that other settings have left in output_dir")
    progress: bool = Field(True, description="show progress")

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.items is None and not self.rescore:
            raise ValueError("items: name the items.jsonl to ask")
        if not self.asks and (self.dry_run or (self.structured and not self.rescore)):
            raise ValueError("without a model nothing is asked: leave dry_run and structured out, or name a model")
        if self.dry_run and self.rescore:
            raise ValueError("dry_run and rescore do not go together")
        if self.structured and not self.rescore and self.preset in ("plain", "reasoned"):
            raise ValueError(f"structured asks for JSON and the preset {self.preset} does not: take the preset json")
        for name in ("model", "base_url"):
            if name in self.llm:
                raise ValueError(f"give {name} as a setting of its own, not inside llm")
        try:
            self.client  # noqa: B018 - built to be checked
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            place = "::".join(map(str, first["loc"]))
            where = place if place in ("model", "base_url") else f"llm::{place}"
            raise ValueError(f"{where}: {first['msg'].removeprefix('Value error, ')}") from None
        return self

    @cached_property
    def client(self) -> LLMSettings:
        """Settings of the chat client; of no model in particular where none is named."""
        return LLMSettings.model_validate({**self.llm, "model": self.model or "none", "base_url": self.base_url})

    @cached_property
    def prompt(self) -> Preset:
        """The prompt preset.

        Raises:
            SettingsError: there is no such preset.
        """
        return load_preset(self.preset)

    @property
    def asks(self) -> bool:
        """Whether there is a model to ask; otherwise only baselines are scored."""
        return self.model is not None or self.adapter != "openai"

    @property
    def options(self) -> dict[str, Any]:
        """The options of the adapter: those given and, of openai, the client's settings."""
        if self.adapter != "openai":
            return self.adapter_options
        return {"llm": self.client.model_dump(), "kind": self.model_kind, **self.adapter_options}

    @property
    def workers(self) -> int:
        """Questions that are asked at the same time: of an adapter of one's own, one, unless the settings say more."""
        return self.client.concurrency if self.adapter == "openai" or "concurrency" in self.llm else 1

    @property
    def sights(self) -> list[bool]:
        """For each way to ask, whether it is blind; the main one first."""
        return [True] if self.blind == "only" else [False, True] if self.blind else [False]

    @property
    def model_kind(self) -> ModelKind:
        """The group in the result table."""
        return "text_only" if self.blind == "only" and self.kind == "unstated" else self.kind

    @property
    def items_file(self) -> Path:
        """The file of items."""
        return file_or_in_folder(str(self.items), "items.jsonl")

    @property
    def references_file(self) -> Path:
        """The file of answers."""
        if self.references is not None:
            return file_or_in_folder(self.references, "references.jsonl")
        return self.items_file.with_name("references.jsonl")

    @property
    def measurements_file(self) -> Path | None:
        """The file of measurements, where one was named."""
        return None if self.measurements is None else file_or_in_folder(self.measurements, "measurements.jsonl")

    @property
    def output(self) -> Path:
        """The folder for the results."""
        return Path(system_path(self.output_dir))

    def shaping(self, described: Mapping[str, Any], *, blind: bool) -> dict[str, Any]:
        """What shapes an answer: the model, how it is sampled, what it is shown and asked.

        Where the server is, how fast it is asked and how answers are scored is not in it.

        Args:
            described: what the adapter says of itself.
            blind: without images.
        """
        return {
            "adapter": {name: value for name, value in described.items() if name != "base_url"},
            "views": None if blind else self.views.model_dump(mode="json"),
            "pixels": None if blind else views_key(self.views),
            "modality": None if blind else self.modality,
            "preset": self.prompt.sha256,
            "abstain": self.abstain,
            "structured": self.structured,
        }

    def sha256(self, described: Mapping[str, Any], *, blind: bool) -> str:
        """Hash of :meth:`shaping`."""
        return hashlib.sha256(json.dumps(self.shaping(described, blind=blind), sort_keys=True).encode()).hexdigest()
