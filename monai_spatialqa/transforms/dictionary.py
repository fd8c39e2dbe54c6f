"""The measuring transforms for dictionaries: drop them into any MONAI ``Compose``.

Results of ``key`` go into ``data["measured_" + key]``, a dictionary of fixed-length tensors that survives collation and
decollation. A name that is there already raises; nothing is overwritten.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from monai.config import KeysCollection
from monai.transforms import MapTransform
from torch import Tensor

from monai_spatialqa.anatomy.pairs import PairSpec
from monai_spatialqa.errors import SettingsError, SpatialQAError
from monai_spatialqa.geometry.components import Connectivity
from monai_spatialqa.geometry.place import check_same_place
from monai_spatialqa.readers.nifti_header import Form
from monai_spatialqa.transforms.array import (
    MeasureBoundingBox,
    MeasureComponents,
    MeasureContact,
    MeasureDiameter,
    MeasureDirection,
    MeasureDistance,
    MeasureStructures,
    MeasureVolume,
)
from monai_spatialqa.transforms.inputs import CheckedLabel, check_scan
from monai_spatialqa.transforms.measuring import StructuresSpec, StructureTransform
from monai_spatialqa.transforms.run_fields import CONNECTIVITY, DEFAULT_COMPONENTS
from monai_spatialqa.transforms.validate import ValidateGeometry

MEASURED_PREFIX = "measured_"


class _MeasureD(MapTransform):
    """Base: runs an array transform on each key and files its results."""

    measurer: StructureTransform

    def __init__(self, keys: KeysCollection, allow_missing_keys: bool = False) -> None:
        super().__init__(keys, allow_missing_keys)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(keys={self.keys!r}, {self.measurer._shown()})"

    @property
    def structures(self) -> tuple[str, ...]:
        """Names of the declared structures, in the order of the results."""
        return self.measurer.structures

    def __call__(self, data: Mapping[Hashable, Any]) -> dict[Hashable, Any]:
        d = dict(data)
        for key in self.key_iterator(d):
            try:
                found: dict[str, Tensor] = self.measurer(d[key])
            except SpatialQAError as error:
                raise error.with_context(key=str(key), case=_case_of(d)) from None
            name = f"{MEASURED_PREFIX}{key}"
            before = d.get(name, {})
            if not isinstance(before, Mapping):
                raise SettingsError(
                    "the place of the results is taken",
                    case=_case_of(d),
                    key=name,
                    found=type(before).__name__,
                    expected="nothing, or results of other measuring transforms",
                    next_step="rename that entry",
                )
            taken = sorted(set(before) & set(found))
            if taken:
                raise SettingsError(
                    "results of this name are there already",
                    case=_case_of(d),
                    key=f"{name}[{taken[0]!r}]",
                    found=", ".join(taken),
                    expected="one transform a name",
                    next_step="use MeasureStructuresd alone, or give MeasureDistanced another name=",
                )
            d[name] = {**before, **found}
        return d


def _case_of(data: Mapping[Hashable, Any]) -> str | None:
    return str(data["case_id"]) if "case_id" in data else None


class ValidateGeometryd(MapTransform):
    """Dictionary version of :class:`~monai_spatialqa.transforms.ValidateGeometry`.

    Args:
        keys: keys of the scans.
        form: take this form where a header contradicts itself.
        reference_key: key of an image that every one of ``keys`` must cover the same place as (another axis order or
            resolution is fine).
        allow_missing_keys: do not raise when a key is missing.

    Raises:
        GeometryError, FileReadError: see :class:`~monai_spatialqa.transforms.ValidateGeometry`.
        PairingError: a scan and the reference do not cover the same place.
    """

    def __init__(
        self,
        keys: KeysCollection,
        form: Form | None = None,
        reference_key: str | None = None,
        allow_missing_keys: bool = False,
    ) -> None:
        super().__init__(keys, allow_missing_keys)
        self.validator = ValidateGeometry(form)
        self.reference_key = reference_key

    def __repr__(self) -> str:
        return (
            f"ValidateGeometryd(keys={self.keys!r}, form={self.validator.form!r}, reference_key={self.reference_key!r})"
        )

    def __call__(self, data: Mapping[Hashable, Any]) -> dict[Hashable, Any]:
        """Check the scan of every key."""
        d = dict(data)
        for key in self.key_iterator(d):
            try:
                d[key] = self.validator(d[key])
                if self.reference_key is not None:
                    scan = check_scan(d[key])
                    check_same_place(scan.grid, self._reference(d).grid, file=scan.file)
            except SpatialQAError as error:
                raise error.with_context(key=str(key), case=_case_of(d)) from None
        return d

    def _reference(self, data: Mapping[Hashable, Any]) -> CheckedLabel:
        if self.reference_key not in data:
            raise SettingsError(
                "there is no reference of this key",
                key="reference_key",
                found=", ".join(sorted(map(str, data))),
                expected=self.reference_key,
            )
        try:
            return check_scan(data[self.reference_key])
        except SpatialQAError as error:
            raise error.with_context(key=self.reference_key) from None


class MeasureVolumed(_MeasureD):
    """Dictionary version of :class:`~monai_spatialqa.transforms.MeasureVolume`.

    Args:
        keys: keys of the label maps.
        structures, options: see :class:`~monai_spatialqa.transforms.measuring.StructureTransform`.
        allow_missing_keys: do not raise when a key is missing.
    """

    def __init__(
        self, keys: KeysCollection, structures: StructuresSpec, allow_missing_keys: bool = False, **options: Any
    ) -> None:
        super().__init__(keys, allow_missing_keys)
        self.measurer = MeasureVolume(structures, **options)


class MeasureBoundingBoxd(_MeasureD):
    """Dictionary version of :class:`~monai_spatialqa.transforms.MeasureBoundingBox`.

    Args:
        keys: keys of the label maps.
        structures, options: see :class:`~monai_spatialqa.transforms.measuring.StructureTransform`.
        allow_missing_keys: do not raise when a key is missing.
    """

    def __init__(
        self, keys: KeysCollection, structures: StructuresSpec, allow_missing_keys: bool = False, **options: Any
    ) -> None:
        super().__init__(keys, allow_missing_keys)
        self.measurer = MeasureBoundingBox(structures, **options)


class MeasureDistanced(_MeasureD):
    """Dictionary version of :class:`~monai_spatialqa.transforms.MeasureDistance`.

    Args:
        keys: keys of the label maps.
        structures, options: see :class:`~monai_spatialqa.transforms.measuring.StructureTransform`.
        pairs: ``"all"``, ``{"among": [names or groups]}``, or a list of name pairs.
        kind: ``"box_center"``, ``"centroid"`` or ``"surface"``.
        name: prefix of the result names.
        allow_missing_keys: do not raise when a key is missing.
    """

    def __init__(
        self,
        keys: KeysCollection,
        structures: StructuresSpec,
        pairs: PairSpec = "all",
        *,
        kind: str = "box_center",
        name: str = "distance",
        allow_missing_keys: bool = False,
        **options: Any,
    ) -> None:
        super().__init__(keys, allow_missing_keys)
        self.measurer = MeasureDistance(structures, pairs, kind=kind, name=name, **options)

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """Names of the pairs, in the order of the results."""
        return self.measurer.pairs  # type: ignore[attr-defined]


class MeasureDirectiond(_MeasureD):
    """Dictionary version of :class:`~monai_spatialqa.transforms.MeasureDirection`.

    Args:
        keys: keys of the label maps.
        structures, options: see :class:`~monai_spatialqa.transforms.measuring.StructureTransform`.
        pairs: ``"all"``, ``{"among": [names or groups]}``, or a list of name pairs.
        dead_zone_mm: offsets up to this length have no direction.
        midline: names or groups of structures on the midline of the body.
        allow_missing_keys: do not raise when a key is missing.
    """

    def __init__(
        self,
        keys: KeysCollection,
        structures: StructuresSpec,
        pairs: PairSpec = "all",
        *,
        dead_zone_mm: float = 5.0,
        midline: str | Sequence[str] | None = None,
        allow_missing_keys: bool = False,
        **options: Any,
    ) -> None:
        super().__init__(keys, allow_missing_keys)
        self.measurer = MeasureDirection(structures, pairs, dead_zone_mm=dead_zone_mm, midline=midline, **options)

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """Names of the pairs, in the order of the results."""
        return self.measurer.pairs  # type: ignore[attr-defined]


class MeasureComponentsd(_MeasureD):
    """Dictionary version of :class:`~monai_spatialqa.transforms.MeasureComponents`.

    Args:
        keys: keys of the label maps.
        structures, options: see :class:`~monai_spatialqa.transforms.measuring.StructureTransform`.
        connectivity: 6, 18 or 26.
        listed: how many components are listed, the largest first.
        allow_missing_keys: do not raise when a key is missing.
    """

    def __init__(
        self,
        keys: KeysCollection,
        structures: StructuresSpec,
        *,
        connectivity: Connectivity = CONNECTIVITY,
        listed: int = DEFAULT_COMPONENTS,
        allow_missing_keys: bool = False,
        **options: Any,
    ) -> None:
        super().__init__(keys, allow_missing_keys)
        self.measurer = MeasureComponents(structures, connectivity=connectivity, listed=listed, **options)


class MeasureContactd(_MeasureD):
    """Dictionary version of :class:`~monai_spatialqa.transforms.MeasureContact`.

    Args:
        keys: keys of the label maps.
        structures, options: see :class:`~monai_spatialqa.transforms.measuring.StructureTransform`.
        pairs: ``"all"``, ``{"among": [names or groups]}``, or a list of name pairs.
        allow_missing_keys: do not raise when a key is missing.
    """

    def __init__(
        self,
        keys: KeysCollection,
        structures: StructuresSpec,
        pairs: PairSpec = "all",
        allow_missing_keys: bool = False,
        **options: Any,
    ) -> None:
        super().__init__(keys, allow_missing_keys)
        self.measurer = MeasureContact(structures, pairs, **options)

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """Names of the pairs, in the order of the results."""
        return self.measurer.pairs  # type: ignore[attr-defined]


class MeasureDiameterd(_MeasureD):
    """Dictionary version of :class:`~monai_spatialqa.transforms.MeasureDiameter`.

    Args:
        keys: keys of the label maps.
        structures, options: see :class:`~monai_spatialqa.transforms.measuring.StructureTransform`.
        of: names or groups of the structures to measure; default: the tumours of the label map.
        allow_missing_keys: do not raise when a key is missing.
    """

    def __init__(
        self,
        keys: KeysCollection,
        structures: StructuresSpec,
        *,
        of: str | Sequence[str] | None = None,
        allow_missing_keys: bool = False,
        **options: Any,
    ) -> None:
        super().__init__(keys, allow_missing_keys)
        self.measurer = MeasureDiameter(structures, of=of, **options)


class MeasureStructuresd(_MeasureD):
    """Dictionary version of :class:`~monai_spatialqa.transforms.MeasureStructures`: everything in one pass.

    Args:
        keys: keys of the label maps.
        structures, options: see :class:`~monai_spatialqa.transforms.measuring.StructureTransform`.
        pairs: as for :class:`MeasureDistanced`; None (default) for no distances.
        kind: kind of the distances.
        detail: ``"basic"`` or ``"full"``.
        allow_missing_keys: do not raise when a key is missing.
    """

    def __init__(
        self,
        keys: KeysCollection,
        structures: StructuresSpec,
        pairs: PairSpec = None,
        *,
        kind: str = "box_center",
        detail: str = "basic",
        allow_missing_keys: bool = False,
        **options: Any,
    ) -> None:
        super().__init__(keys, allow_missing_keys)
        self.measurer = MeasureStructures(structures, pairs, kind=kind, detail=detail, **options)


ValidateGeometryD = ValidateGeometryDict = ValidateGeometryd
MeasureVolumeD = MeasureVolumeDict = MeasureVolumed
MeasureBoundingBoxD = MeasureBoundingBoxDict = MeasureBoundingBoxd
MeasureDistanceD = MeasureDistanceDict = MeasureDistanced
MeasureDirectionD = MeasureDirectionDict = MeasureDirectiond
MeasureComponentsD = MeasureComponentsDict = MeasureComponentsd
MeasureContactD = MeasureContactDict = MeasureContactd
MeasureDiameterD = MeasureDiameterDict = MeasureDiameterd
MeasureStructuresD = MeasureStructuresDict = MeasureStructuresd
