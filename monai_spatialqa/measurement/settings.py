"""The settings of ``measure.yaml``."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from monai_spatialqa.anatomy import load_label_map
from monai_spatialqa.measurement.options import CenterKind, MeasureOptions, segmented_names
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
    distance_kind: CenterKind = Field("box_center", description="box_center (the SpatialMed paper) or centroid")
    spacing_mm: list[float] | None = Field(
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
    cards: int | list[str] = Field(0, description="pictures: how many of the largest whole structures, or names")
    modality: Literal["CT", "MR"] = Field("CT", description="decides the intensity window of case cards")
    overwrite: bool = Field(False, description="measure again what other settings have measured in output_dir")
    progress: bool = Field(True, description="show progress")

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
        if self.spacing_mm is not None and min(self.spacing_mm) <= 0:
            raise ValueError("spacing_mm must be positive")
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
