"""What a 2-D model is shown of a scan: the settings of its views, which are part of a run's settings and report."""

from __future__ import annotations

import hashlib
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from monai_spatialqa.rendering.windows import CT_WINDOWS, Window

ViewKind = Literal["axial", "planes", "montage", "structure"]
SliceOrder = Literal["inferior_to_superior", "superior_to_inferior"]
Interpolation = Literal["nearest", "bilinear", "bicubic"]

PIXELS_VERSION = 1
"""Goes into :func:`views_key`; counts up when the same settings come to give other pixels."""

_SLICE_PX, _MONTAGE_PX = 512, 1536


class LevelWidth(BaseModel):
    """An intensity window of one's own, in the scan's unit: HU for a CT."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    level: float = Field(description="its middle", allow_inf_nan=False)
    width: float = Field(description="its width", gt=0, allow_inf_nan=False)

    @property
    def window(self) -> Window:
        """The window itself."""
        return Window(self.level, self.width)


class BurnIn(BaseModel):
    """What is drawn into the pixels of every slice."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    scale: bool = Field(default=False, description="a bar with its length in mm")
    position: bool = Field(default=False, description="the slice's number; with scale, mm from the first slice, too")
    letters: bool = Field(default=False, description="the patient's directions at the four edges: R L A P S I")

    @property
    def any(self) -> bool:
        """Whether anything is drawn."""
        return self.scale or self.position or self.letters


class Tell(BaseModel):
    """What is told in the words of the prompt. The display convention is always told."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    scale: bool = Field(default=True, description="sizes of pixels and images and distances of slices, mm")
    position: bool = Field(default=True, description="every slice's number")


class ViewSettings(BaseModel):
    """How a scan becomes pictures."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: ViewKind = Field(
        default="axial",
        description="axial: slices, one an image; planes: axial, coronal and sagittal slice through the middle of the "
        "scan; montage: axial slices, many an image; structure: as planes, through the middle of the structure asked "
        "about, which gives its place away",
    )
    slices: int = Field(
        default=32, ge=1, description="axial slices, evenly spread over the scan; all of them if it has fewer"
    )
    order: SliceOrder = Field(default="inferior_to_superior", description="order of axial slices")
    size_px: int | None = Field(
        default=None, ge=16, le=8192, description="longest edge of the largest image; null: 512, and 1536 for a montage"
    )
    montage_images: int = Field(default=1, ge=1, description="images that the slices of a montage are spread over")
    ct_window: str | LevelWidth = Field(
        default="soft_tissue",
        description="what is seen of a CT: soft_tissue, lung, bone, brain, or level and width in HU",
    )
    mr_window: tuple[float, float] | LevelWidth = Field(
        default=(1.0, 99.0),
        description="what is seen of an MR: percentiles of the whole scan, or level and width in its unit",
    )
    interpolation: Interpolation = Field(
        default="bicubic", description="how voxels become square pixels, after windowing"
    )
    burn_in: BurnIn = Field(default_factory=BurnIn, description="what is drawn into the images")
    tell: Tell = Field(default_factory=Tell, description="what the prompt says of them")

    @field_validator("ct_window")
    @classmethod
    def _preset(cls, value: str | LevelWidth) -> str | LevelWidth:
        if isinstance(value, str) and value not in CT_WINDOWS:
            raise ValueError(f"no such preset: {value}; there are {', '.join(CT_WINDOWS)}")
        return value

    @field_validator("mr_window", mode="before")
    @classmethod
    def _no_preset(cls, value: Any) -> Any:
        if isinstance(value, str):
            raise ValueError("a preset in Hounsfield units cannot show an MR: give two percentiles, or level and width")
        return value

    @field_validator("mr_window")
    @classmethod
    def _rising(cls, value: tuple[float, float] | LevelWidth) -> tuple[float, float] | LevelWidth:
        if isinstance(value, tuple) and not 0 <= value[0] < value[1] <= 100:
            raise ValueError("percentiles rise from 0 to at most 100")
        return value

    @property
    def longest_px(self) -> int:
        """Longest edge of the largest image."""
        return self.size_px or (_MONTAGE_PX if self.kind == "montage" else _SLICE_PX)

    @property
    def leaks_location(self) -> bool:
        """Whether the choice of slices gives away where the structure asked about is."""
        return self.kind == "structure"

    @property
    def scale_known(self) -> bool:
        """Whether a model can know physical sizes in all three directions.

        If not, it cannot answer a question for mm or ml, and such items are to be marked so. A bar alone gives no
        distance between slices; three orthogonal slices need none.
        """
        planes = self.kind in ("planes", "structure")
        return self.tell.scale or (self.burn_in.scale and (planes or self.burn_in.position))


def views_key(settings: ViewSettings) -> str:
    """SHA-256 of everything in the settings that shapes pixels.

    Views of kind ``structure`` depend on the structure's place besides; all depend on the scan's voxels and modality.
    """
    text = f"{PIXELS_VERSION}\n{settings.model_dump_json(exclude={'tell'})}"
    return hashlib.sha256(text.encode()).hexdigest()
