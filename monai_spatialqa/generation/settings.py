"""The settings of ``generate.yaml``."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from monai_spatialqa.anatomy import LabelMap
from monai_spatialqa.items.draft import Rules
from monai_spatialqa.items.subtasks import SUBTASKS
from monai_spatialqa.records.files import file_or_in_folder, system_path
from monai_spatialqa.records.item import TaskCode

NOT_SHAPING = {"measurements", "output_dir", "progress"}
"""Settings that say where, not what."""


class GenerateSettings(BaseModel):
    """Everything that can be set on the command line or in an overlay. Paths are relative to the working directory."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    measurements: str | None = Field(None, description="measurements.jsonl, or the folder that the measure stage wrote")
    datalist: str | None = Field(
        None, description="datalist of the cases, for patient, modality and licence; default: datalist.json beside them"
    )
    label_map: str | dict[int, str] | dict[str, Any] | None = Field(
        None,
        description="label map of the structures: shipped name, file, content, or from Python a LabelMap; default: the "
        "one that each record names, where it is shipped",
    )
    output_dir: str = Field("items", description="folder for the results; made when missing")
    seed: int = Field(0, description="everything that is chosen is chosen by it; 0 is a seed like any other")
    tasks: list[TaskCode] | None = Field(None, description="task codes to make; null: all six")
    subtasks: list[str] | None = Field(None, description="subtasks to make; null: all of the tasks")
    items_per_case: int = Field(30, ge=1, description="most items of a case")
    items_per_subtask: int = Field(2, ge=1, description="most items of a subtask and case")
    items_per_structure: int = Field(8, ge=1, description="most items of a case that ask about one structure")
    run_items_per_task: int | None = Field(
        None, ge=1, description="most items of a task over the run; null: any number"
    )
    run_items_per_structure: int | None = Field(
        None, ge=1, description="most items over the run that ask about one structure; null: any number"
    )
    options: int = Field(4, ge=2, le=8, description="options of a choice")
    value_gap: float = Field(0.15, gt=0, lt=1, description="least relative gap between two options that are values")
    comparison_gap: float = Field(0.10, ge=0, lt=1, description="least relative gap between figures that are compared")
    robust: bool = Field(True, description="keep only keys that are the same anywhere within half a voxel")
    widest_range: float = Field(
        2.0, gt=1, description="most times that the upper end of an open number's half-voxel range is the lower one"
    )
    volume_unit: Literal["ml", "cm3"] = Field("ml", description="unit of volumes")
    length_unit: Literal["mm", "cm"] = Field("mm", description="unit of lengths")
    modality: Literal["CT", "MR"] | None = Field(
        None, description="modality of the scans whose entry in the datalist names none; null: not said"
    )
    split: str | None = Field(None, description="name written into every item, e.g. test; null: none")
    progress: bool = Field(True, description="show progress")

    @field_validator("measurements")
    @classmethod
    def _named(cls, value: str | None) -> str:
        if value is None:
            raise ValueError("name the measurements.jsonl to make questions from")
        return value

    @field_validator("label_map", mode="before")
    @classmethod
    def _whole(cls, value: Any) -> Any:
        return value.to_content() if isinstance(value, LabelMap) else value

    @field_validator("tasks", "subtasks")
    @classmethod
    def _some(cls, value: list[str] | None) -> list[str] | None:
        if value == []:
            raise ValueError("an empty list makes no questions; null makes all of them")
        return value

    @field_validator("subtasks")
    @classmethod
    def _known(cls, value: list[str] | None) -> list[str] | None:
        unknown = sorted(set(value or ()) - set(SUBTASKS))
        if unknown:
            raise ValueError(f"no such subtask: {', '.join(unknown)}; there are {', '.join(SUBTASKS)}")
        return value

    @model_validator(mode="after")
    def _agreeing(self) -> GenerateSettings:
        others = [name for name in self.subtasks or () if self.tasks and SUBTASKS[name].task not in self.tasks]
        if others:
            told = ", ".join(f"{name} is one of {SUBTASKS[name].task}" for name in others)
            raise ValueError(f"subtasks that tasks leave out: {told}; tasks are {', '.join(self.tasks or ())}")
        return self

    @property
    def rules(self) -> Rules:
        """The part that shapes a single item."""
        return Rules(
            options=self.options,
            value_gap=self.value_gap,
            comparison_gap=self.comparison_gap,
            robust=self.robust,
            widest_range=self.widest_range,
            volume_unit=self.volume_unit,
            length_unit=self.length_unit,
        )

    @property
    def chosen(self) -> list[str]:
        """Names of the subtasks to make, in the order of their tasks."""
        tasks = self.tasks or list(get_args(TaskCode))
        return [
            name
            for task in get_args(TaskCode)
            for name, subtask in SUBTASKS.items()
            if subtask.task == task and task in tasks and (self.subtasks is None or name in self.subtasks)
        ]

    @property
    def source(self) -> Path:
        """The file of measurements."""
        return file_or_in_folder(str(self.measurements), "measurements.jsonl")

    @property
    def output(self) -> Path:
        """The folder for the results."""
        return Path(system_path(self.output_dir))

    @property
    def sha256(self) -> str:
        """Hash of what shapes the items."""
        return hashlib.sha256(self.model_dump_json(exclude=NOT_SHAPING).encode()).hexdigest()
