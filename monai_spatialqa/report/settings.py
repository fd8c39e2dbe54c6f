"""The settings of ``report.yaml``."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field, field_validator

from monai_spatialqa.report.writing import MOST_CARDS, TITLE


class ReportSettings(BaseModel):
    """Everything that can be set on the command line or in an overlay. Paths are relative to the working directory."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    runs: str | list[str] = Field(
        default_factory=list, description="folders that evaluate.yaml wrote, side by side in the order given"
    )
    output_dir: str = Field("report", description="folder for the report; made when missing")
    title: str = Field(TITLE, description="heading of the page")
    rescore: bool = Field(False, description="read the stored replies of the runs again first; asks nothing")
    cards: int = Field(MOST_CARDS, ge=0, description="most cases that are shown")
    pictures: bool = Field(True, description="draw the cases: three slices of the scan each")
    scans_root: str | None = Field(
        None,
        description="folder that the paths in the measurements are relative to; default: working directory or folder "
        "of the measurements",
    )
    draws: int = Field(10_000, ge=100, description="bootstrap draws of the comparisons of runs")
    seed: int = Field(0, description="of the comparisons")

    @field_validator("runs")
    @classmethod
    def _named(cls, value: str | list[str]) -> list[str]:
        folders = [value] if isinstance(value, str) else value
        if not folders:
            raise ValueError("name the folders of the runs, the output_dir of evaluate.yaml")
        if len(set(folders)) != len(folders):
            raise ValueError("name every folder once")
        return folders
