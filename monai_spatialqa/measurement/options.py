"""What shapes a measurement record: the options that the API, the streamed path and the transforms share."""

from __future__ import annotations

import hashlib
import json
import operator
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, get_args

from monai_spatialqa.anatomy import LabelMap
from monai_spatialqa.anatomy.pairs import PairSpec, resolve_pairs
from monai_spatialqa.errors import LabelMapError, SettingsError
from monai_spatialqa.records import SCHEMA_VERSION, DistanceKind

Detail = Literal["basic", "full"]


@dataclass(frozen=True)
class MeasureOptions:
    """How to measure; equal options and equal files give equal records.

    Attributes:
        label_map: names of the ids; None: every id found is called ``label_<id>``.
        distances: which pairs, see :func:`~monai_spatialqa.anatomy.pairs.resolve_pairs`; without a label map the names
            are ``label_<id>``.
        distance_kind: ``"box_center"`` (the SpatialMed paper), ``"centroid"`` or ``"surface"``.
        detail: ``"full"`` goes back to the voxels: components of every structure, axial diameters of tumours, and, for
            the pairs, surface distance, contact and containment besides the distance asked for.
        ignore: values that are no structure besides 0.
        segmented: names that were looked for; None: all.
        form: take this NIfTI form where a header contradicts itself.
        fov_margin_voxels: width added to the outermost layer when looking for truncation.
        strict: refuse ids outside the label map.
        spacing_mm: resample to this spacing (nearest neighbour) before measuring; None: native grid.
    """

    label_map: LabelMap | None = None
    distances: PairSpec = None
    distance_kind: DistanceKind = "box_center"
    detail: Detail = "basic"
    ignore: tuple[int, ...] = ()
    segmented: tuple[str, ...] | None = None
    form: Literal["sform", "qform"] | None = None
    fov_margin_voxels: int = 0
    strict: bool = False
    spacing_mm: tuple[float, float, float] | None = None

    def __post_init__(self) -> None:
        kinds = get_args(DistanceKind)
        _require(self.distance_kind in kinds, "distance_kind", self.distance_kind, ", ".join(kinds))
        _require(self.detail in get_args(Detail), "detail", self.detail, ", ".join(get_args(Detail)))
        _require(self.form in (None, "sform", "qform"), "form", self.form, "sform, qform or null")
        margin = self.fov_margin_voxels
        _require(type(margin) is int and margin >= 0, "fov_margin_voxels", margin, "0 or more whole voxels")
        _require(isinstance(self.strict, bool), "strict", self.strict, "true or false")
        if self.segmented is not None and self.label_map is None:
            raise SettingsError(
                "which structures were looked for needs a label map", key="segmented", next_step="pass label_map"
            )
        if self.strict and self.label_map is None:
            raise SettingsError("strict needs a label map to check ids", key="strict", next_step="pass label_map")
        if self.label_map is not None:
            ignored = sorted(set(self.ignore) & set(self.label_map.ids))
            if ignored:
                raise SettingsError(
                    "an id cannot be ignored and be a structure",
                    key="ignore",
                    found=", ".join(map(str, ignored)),
                    expected=f"values outside {self.label_map.name}",
                )
            resolve_pairs(self.distances, self.label_map)  # refuse unknown names before any file is read

    @cached_property
    def sha256(self) -> str:
        """Hash of everything here and of the record format; records of different hashes do not belong together."""
        shaping: dict[str, Any] = {
            "schema_version": SCHEMA_VERSION,
            "label_map": None if self.label_map is None else self.label_map.sha256,
            "distances": self.distances,
            "distance_kind": self.distance_kind,
            "detail": self.detail,
            "ignore": sorted(self.ignore),
            "segmented": None if self.segmented is None else sorted(self.segmented),
            "form": self.form,
            "fov_margin_voxels": self.fov_margin_voxels,
            "strict": self.strict,
            "spacing_mm": self.spacing_mm,
        }
        return hashlib.sha256(json.dumps(shaping, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def segmented_names(segmented: str | Iterable[str] | None, label_map: LabelMap | None) -> tuple[str, ...] | None:
    """The structures behind names and groups; left as they are without a label map, which the options then refuse.

    Raises:
        LabelMapError: a name that the label map does not have; the closest ones are named.
    """
    if segmented is None:
        return None
    names = [segmented] if isinstance(segmented, str) else list(segmented)
    try:
        return tuple(names if label_map is None else label_map.select_own(names))
    except LabelMapError as error:
        raise error.with_context(key="segmented") from None


def whole_values(ignore: int | Iterable[int]) -> tuple[int, ...]:
    """Voxel values to ignore, one or several.

    Raises:
        SettingsError: when one is no whole number.
    """
    try:
        return tuple(operator.index(value) for value in ([ignore] if isinstance(ignore, int) else ignore))
    except TypeError:
        raise SettingsError(
            "ignore is unusable", key="ignore", found=ignore, expected="whole numbers, e.g. [-1]"
        ) from None


def _require(holds: bool, key: str, found: Any, expected: str) -> None:
    if not holds:
        raise SettingsError(f"{key} is unusable", key=key, found=found, expected=expected)
