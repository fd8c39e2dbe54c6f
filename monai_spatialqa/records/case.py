"""One case before measuring: which files belong together, and what is known of them."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from monai_spatialqa.records.base import Record


class Case(Record):
    """A scan, its segmentation and their context. Paths are as the user gave them, or relative to the datalist."""

    case_id: str = Field(min_length=1)
    label: str | list[str] = Field(description="label map file, or one mask file per structure")
    image: str | list[str] | None = None
    patient_id: str | None = None
    modality: Literal["CT", "MR"] | None = None
    licence: str | None = None
    label_map: str | None = None

    @property
    def record_id(self) -> str:
        """The id of the case."""
        return self.case_id
