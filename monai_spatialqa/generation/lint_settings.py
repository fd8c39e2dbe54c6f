"""The settings of ``lint.yaml``."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from monai_spatialqa.items.lint_item import LintOptions
from monai_spatialqa.records.files import file_or_in_folder, system_path


class LintSettings(BaseModel):
    """Everything that can be set on the command line or in an overlay. Paths are relative to the working directory."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    items: str | None = Field(
        None, description="items.jsonl, the folder that the generate stage wrote, or anybody's JSON, JSON Lines or CSV"
    )
    references: str | None = Field(
        None, description="references.jsonl of these items; default: the one beside items.jsonl, where there is one"
    )
    measurements: str | None = Field(
        None, description="measurements.jsonl, or its folder, to recompute the answers; null: nothing is recomputed"
    )
    output_dir: str = Field("lint", description="folder for the results; made when missing")
    value_gap: float = Field(0.15, ge=0, lt=1, description="least relative gap between two options that are values")
    comparison_gap: float = Field(0.10, ge=0, lt=1, description="least relative gap between figures that are compared")
    robust: bool = Field(True, description="a key must be the same anywhere within half a voxel")
    options: int | None = Field(None, ge=2, le=8, description="options that a choice must have; null: any number")
    least_items: int = Field(40, ge=1, description="items below which a file is not searched for biases")
    fail_on: Literal["error", "warning", "never"] = Field(
        "error", description="findings that make the exit code 1; warning: errors, too"
    )

    @field_validator("items")
    @classmethod
    def _named(cls, value: str | None) -> str:
        if value is None:
            raise ValueError("name the file of items to look at")
        return value

    @property
    def rules(self) -> LintOptions:
        """The part that the rules look at."""
        return LintOptions(
            value_gap=self.value_gap,
            comparison_gap=self.comparison_gap,
            robust=self.robust,
            options=self.options,
            least_items=self.least_items,
        )

    @property
    def items_file(self) -> Path:
        """The file of items."""
        return file_or_in_folder(str(self.items), "items.jsonl")

    @property
    def references_file(self) -> Path | None:
        """The file of answers; None for items that hold their own."""
        if self.references is not None:
            return file_or_in_folder(self.references, "references.jsonl")
        beside = self.items_file.with_name("references.jsonl")
        return beside if self.items_file.name == "items.jsonl" and beside.is_file() else None

    @property
    def measurements_file(self) -> Path | None:
        """The file of measurements; None to recompute nothing."""
        return None if self.measurements is None else file_or_in_folder(self.measurements, "measurements.jsonl")

    @property
    def output(self) -> Path:
        """The folder for the results."""
        return Path(system_path(self.output_dir))
