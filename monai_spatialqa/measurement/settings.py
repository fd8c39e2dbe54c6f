"""The settings of ``measure.yaml``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator, model_validator

from monai_spatialqa.anatomy import load_label_map
from monai_spatialqa.measurement.options import Detail, MeasureOptions, segmented_names
from monai_spatialqa.records import DistanceKind
from monai_spatialqa.records.files import system_path


class MeasureSettings(BaseModel):
    """Everything that can be set on the command line or in an overlay. Paths are relative to the working directory."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    labels: str | list[str] | None = Field(None, description="label files: path, glob, or list of them")
    images: str | list[str] | None = Field(None, description="images of these label files, to check that they fit")
    datalist: str | None = Field(None, description="Decathlon datalist (JSON) in place of labels and images")
    datalist_key: str | list[str] = Field("training", description="section of the datalist, or a list of them")
    source: str | None = Field(None, description="name of a public data set, in place of labels, images and datalist")
    source_root: str | None = Field(None, description="the folder of that data set, as downloaded")
    label_map: str | dict[int, str] | None = Field(None, description="shipped name, YAML or JSON file, or id: name")
    output_dir: str = Field("measurements", description="folder for the results; made when missing")
    distances: Literal["all"] | dict[Literal["among"], list[str]] | list[tuple[str, str]] | None = Field(
        None, description="which pairs: all, among: [names or groups], or a list of pairs"
    )
    distance_kind: DistanceKind = Field(
        "box_center", description="box_center (the SpatialMed paper), centroid or surface"
    )
    detail: Detail = Field(
        "basic",
        description="full also measures components, axial diameters of tumours and, for the pairs, surface distance, "
        "contact and containment",
    )
    spacing_mm: list[Annotated[float, Field(gt=0)]] | None = Field(
        None,
        min_length=3,
        max_length=3,
        description="resample to this spacing first (nearest neighbour); null measures the native grid",
    )
    ignore: list[int] = Field(default_factory=list, description="values that are no structure besides 0")
    segmented: list[str] | None = Field(None, description="structures or groups that were looked for; null: all")
    form: Literal["sform", "qform"] | None = Field(None, description="form to take where a header contradicts itself")
    fov_margin_voxels: int = Field(0, ge=0, description="distance to the border that counts as truncated")
    strict: bool = Field(False, description="refuse ids outside the label map")
    path: Literal["auto", "stream", "transforms"] = Field(
        "auto", description="auto streams NIfTI files on the CPU and takes the MONAI chain otherwise"
    )
    device: str = Field("cpu", description="where the MONAI chain measures, e.g. cuda:0")
    workers: int = Field(0, ge=0, description="worker processes; 0 works in this process")
    cards: Annotated[int, Field(ge=0)] | list[str] = Field(
        0, description="pictures: how many of the largest whole structures, or names"
    )
    modality: Literal["CT", "MR"] = Field("CT", description="decides the intensity window of case cards")
    overwrite: bool = Field(False, description="measure again what other settings have measured in output_dir")
    progress: bool = Field(True, description="show progress")

    @field_validator("segmented", "ignore", mode="before")
    @classmethod
    def _one_is_a_list(cls, value: Any, told: ValidationInfo) -> Any:
        """One name or one id, as in the Python interface."""
        names = told.field_name == "segmented"
        if isinstance(value, (bool, float, dict)):
            raise ValueError("names of structures or groups" if names else "whole numbers, e.g. '[-1]'")
        return [value] if isinstance(value, (str, int)) else value

    @field_validator("cards", mode="before")
    @classmethod
    def _number_or_names(cls, value: Any) -> Any:
        """One name is a list of one; true, 1.5 and the like are neither a number of cards nor a name."""
        if isinstance(value, str) and _is_name(value):
            return [value]
        whole = isinstance(value, (int, str)) and not isinstance(value, bool) and str(value).isdecimal()
        names = isinstance(value, list) and not any(isinstance(name, (bool, float, type(None))) for name in value)
        if not (whole or names):
            raise ValueError("a number of pictures, 0 or more, or names of structures, e.g. 3 or '[liver, spleen]'")
        return value

    @field_validator("spacing_mm", mode="before")
    @classmethod
    def _three_lengths(cls, value: Any) -> Any:
        """What is wrong with each of the three is told by their type."""
        if value is not None and not (isinstance(value, (list, tuple)) and len(value) == 3):
            raise ValueError("three positive numbers in mm, along R, A and S, e.g. '[1.5, 1.5, 1.5]'")
        return value

    @model_validator(mode="after")
    def _fits_together(self) -> MeasureSettings:
        if self.labels is None and self.datalist is None and self.source is None:
            raise ValueError(
                "nothing to measure: give labels (and images), a datalist, or a source and its source_root"
            )
        if self.datalist is not None and (self.labels is not None or self.images is not None):
            raise ValueError("a datalist names images and labels itself: leave labels and images out")
        if (self.source is None) != (self.source_root is None):
            raise ValueError("source and source_root belong together: the name of a public data set and its folder")
        if self.source is not None and (self.labels, self.images, self.datalist) != (None, None, None):
            raise ValueError("a source lists its cases itself: leave labels, images and datalist out")
        if self.path == "stream" and self.spacing_mm is not None:
            raise ValueError("path: stream measures the native grid; leave spacing_mm out, or take path: transforms")
        if self.path == "stream" and self.device != "cpu":
            raise ValueError("path: stream runs on the CPU; leave device out, or take path: transforms")
        if self.takes_transforms and self.label_map is None:
            raise ValueError(
                "the MONAI chain writes tensors of a fixed length and needs a label_map; "
                "path: stream takes the ids as they come"
            )
        return self

    @property
    def takes_transforms(self) -> bool:
        """Whether the MONAI chain measures, and not the stream."""
        return self.path == "transforms" or (
            self.path == "auto" and (self.device != "cpu" or self.spacing_mm is not None)
        )

    def options(self) -> MeasureOptions:
        """The part that shapes the records, with its names resolved.

        Raises:
            SpatialQAError: an unusable label map, or names it does not have.
        """
        label_map = None if self.label_map is None else load_label_map(self.label_map)
        distances: Any = self.distances
        return MeasureOptions(
            label_map=label_map,
            distances=distances,
            distance_kind=self.distance_kind,
            detail=self.detail,
            ignore=tuple(self.ignore),
            segmented=segmented_names(self.segmented, label_map),
            form=self.form,
            fov_margin_voxels=self.fov_margin_voxels,
            strict=self.strict,
            spacing_mm=None if self.spacing_mm is None else tuple(self.spacing_mm),  # type: ignore[arg-type]
        )

    @property
    def output(self) -> Path:
        """The folder for the results."""
        return Path(system_path(self.output_dir))


def _is_name(text: str) -> bool:
    """Whether text means text in YAML too, and not a number, true, false or null."""
    try:
        return isinstance(yaml.safe_load(text), str)
    except yaml.YAMLError:
        return True
