"""Measuring transforms on arrays: a label map in, a dictionary of tensors out.

All take a channel-first :class:`monai.data.MetaTensor` (C, X, Y, Z): one channel of integer ids, one-hot channels, or
layers of ids. Results are fixed-length tensors over the declared structures, on the input's device: float64 with NaN
where a structure is absent, int64 for counts and status codes (:class:`monai_spatialqa.records.Status`). The input is
not changed. Boxes are given in the RAS grid whatever the orientation of the input; reorienting first changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import Tensor

from monai_spatialqa.anatomy.pairs import PairSpec, resolve_pairs
from monai_spatialqa.geometry.components import Connectivity
from monai_spatialqa.records.status import Status
from monai_spatialqa.transforms import fields, run_fields
from monai_spatialqa.transforms.inputs import require_setting
from monai_spatialqa.transforms.lookups import centroid_inside, overlap_voxels
from monai_spatialqa.transforms.measuring import Measured, StructuresSpec, StructureTransform, as_tensors

DETAILS = ("basic", "full")


class MeasureVolume(StructureTransform):
    r"""Volume of every declared structure: voxel count x \|det(affine)\|.

    Returns of a call:
        ``voxel_count`` int64 (N,): 0 absent, -1 not segmented; ``volume_mm3`` (N,): 0 absent, NaN not segmented;
        ``volume_band_mm3`` (N, 2): the volume when every boundary voxel (6-neighbourhood, inside or outside) counts
        half; ``volume_status`` int64 (N,).

    Args:
        structures, options: see :class:`~monai_spatialqa.transforms.measuring.StructureTransform`.

    Raises:
        SpatialQAError: on a call, when the input cannot be measured without guessing.

    Example:
        >>> import torch
        >>> from monai.data import MetaTensor
        >>> label = torch.zeros(1, 10, 12, 8, dtype=torch.uint8)
        >>> label[:, 2:5, 3:7, 1:4] = 1
        >>> label = MetaTensor(label, affine=torch.diag(torch.tensor([2.0, 3.0, 4.0, 1.0], dtype=torch.float64)))
        >>> MeasureVolume({1: "block"})(label)["volume_mm3"].tolist()
        [864.0]
    """

    def __call__(self, label: Any) -> dict[str, Tensor]:
        """Measure one label map."""
        measured = self.measure(label, boundaries=True)
        return as_tensors(fields.volume_fields(measured.table, measured.status))


class MeasureBoundingBox(StructureTransform):
    """Axis-aligned box, centre and centroid of every declared structure.

    Returns of a call:
        ``box_index`` (N, 2, 3): first voxel index and one past the last, RAS grid (half-open); ``extent_mm`` (N, 3):
        between outer voxel faces along the grid axes (world axes when the grid is sheared); ``center_ras_mm``,
        ``centroid_ras_mm`` (N, 3); ``world_min_ras_mm``, ``world_max_ras_mm`` (N, 3): world-axis-aligned box around
        whole voxels, taken from the voxels; ``centroid_inside`` int64 (N,): 1, 0, -1 where there is none;
        ``box_status`` (N,). Positions are NaN where the orientation is unknown.

    Args:
        structures, options: see :class:`~monai_spatialqa.transforms.measuring.StructureTransform`.

    Raises:
        SpatialQAError: on a call, when the input cannot be measured without guessing.
    """

    def __call__(self, label: Any) -> dict[str, Tensor]:
        """Measure one label map."""
        return _box_fields(self.measure(label, boundaries=False))


class _PairTransform(StructureTransform):
    """Base of the transforms that look at two structures at a time."""

    def __init__(self, structures: StructuresSpec, pairs: PairSpec = "all", **options: Any) -> None:
        super().__init__(structures, **options)
        self.pairs = resolve_pairs(pairs, self.label_map)
        row_of = {name: row for row, name in enumerate(self.structures)}
        self._rows = [(row_of[first], row_of[second]) for first, second in self.pairs]

    def _shown(self) -> str:
        return f"{super()._shown()}, pairs=<{len(self.pairs)}>"


class MeasureDistance(_PairTransform):
    """Distance between two structures, mm.

    Kinds: ``"box_center"``, between the centres of the bounding boxes (the definition of the SpatialMed paper, arXiv
    2603.13800); ``"centroid"``, between the means of the voxel centres; ``"surface"``, the smallest distance between a
    voxel centre of one and a voxel centre of the other: 0 when they share voxels, one spacing when they share a face.

    Returns of a call, for ``name="distance"``:
        ``distance_mm`` (P,): NaN where a structure is missing; ``distance_points_ras_mm`` (P, 2, 3);
        ``distance_rows`` int64 (P, 2): rows in ``self.structures``; ``distance_overlap_voxels`` int64 (P,): voxels
        of both, -1 where one is missing; ``distance_status`` int64 (P,): of both structures together, with
        ``overlapping`` and, for surfaces, ``touching``.

    Args:
        structures, options: see :class:`~monai_spatialqa.transforms.measuring.StructureTransform`.
        pairs: ``"all"``, ``{"among": [names or groups]}``, or a list of name pairs. ``self.pairs`` holds them in order.
        kind: which distance.
        name: prefix of the result names, to have several kinds side by side.

    Raises:
        SpatialQAError: at construction for unusable arguments; on a call when the input cannot be measured.
    """

    def __init__(
        self,
        structures: StructuresSpec,
        pairs: PairSpec = "all",
        *,
        kind: str = "box_center",
        name: str = "distance",
        **options: Any,
    ) -> None:
        super().__init__(structures, pairs, **options)
        require_setting(kind in fields.DISTANCE_KINDS, "kind", kind, " or ".join(fields.DISTANCE_KINDS))
        require_setting(isinstance(name, str) and name.isidentifier(), "name", name, "an identifier")
        self.kind = kind
        self.name = name

    def _shown(self) -> str:
        return f"{super()._shown()}, kind={self.kind!r}, name={self.name!r}"

    def __call__(self, label: Any) -> dict[str, Tensor]:
        """Measure one label map."""
        return _distance_fields(self.measure(label, boundaries=False), self._rows, self.name, self.kind)


class MeasureDirection(_PairTransform):
    """Where one structure lies from another, and on which side of the body.

    Returns of a call:
        ``direction_offset_ras_mm`` (P, 3): from the first structure's box centre to the second's; ``direction`` int64
        (P, 3): its sign per axis (1 = right, anterior, superior), 0 within the dead zone; ``direction_status`` (P,);
        with ``midline``: ``side_offset_mm`` (N,), positive to the patient's right, and ``side`` int64 (N,): -1 left, 1
        right, 0 within the dead zone or unknown.

    Args:
        structures, options: see :class:`~monai_spatialqa.transforms.measuring.StructureTransform`.
        pairs: as for :class:`MeasureDistance`.
        dead_zone_mm: offsets up to this length have no direction.
        midline: names or groups of structures on the midline of the body (vertebrae, spinal cord); their mean R
            coordinate is where left meets right. Default: no side is given.

    Raises:
        SpatialQAError: at construction for unusable arguments; on a call when the input cannot be measured.
    """

    def __init__(
        self,
        structures: StructuresSpec,
        pairs: PairSpec = "all",
        *,
        dead_zone_mm: float = 5.0,
        midline: str | Sequence[str] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(structures, pairs, **options)
        require_setting(dead_zone_mm >= 0, "dead_zone_mm", dead_zone_mm, "0 or more mm")
        self.dead_zone_mm = float(dead_zone_mm)
        self.midline = None if midline is None else tuple(self.label_map.select(midline))

    def _shown(self) -> str:
        midline = "" if self.midline is None else f", midline={list(self.midline)}"
        return f"{super()._shown()}, dead_zone_mm={self.dead_zone_mm}{midline}"

    def __call__(self, label: Any) -> dict[str, Tensor]:
        """Measure one label map."""
        measured = self.measure(label, boundaries=False)
        known = measured.label.orientation_known
        found = fields.direction_fields(
            measured.table, measured.status, self._rows, dead_zone_mm=self.dead_zone_mm, orientation_known=known
        )
        if self.midline is not None:
            rows = [self.structures.index(name) for name in self.midline]
            found |= fields.side_fields(measured.table, rows, dead_zone_mm=self.dead_zone_mm, orientation_known=known)
        return as_tensors(found)


class MeasureComponents(StructureTransform):
    """Connected components of every structure.

    Returns of a call:
        ``component_count`` int64 (N,): 0 absent, -1 not segmented; of the ``listed`` largest, largest first:
        ``component_voxel_count`` int64 (N, K), 0 behind the last one, ``component_volume_mm3`` (N, K) and
        ``component_box_index`` (N, K, 2, 3), half-open in the RAS grid; ``component_status`` int64 (N,), with
        ``many_components`` where there is more than one.

    Args:
        structures, options: see :class:`~monai_spatialqa.transforms.measuring.StructureTransform`.
        connectivity: 6 (voxels of a component share faces), 18 (edges too) or 26 (corners too).
        listed: how many components are listed; all are counted.

    Raises:
        SpatialQAError: at construction for unusable arguments; on a call when the input cannot be measured.
    """

    def __init__(
        self,
        structures: StructuresSpec,
        *,
        connectivity: Connectivity = run_fields.CONNECTIVITY,
        listed: int = run_fields.DEFAULT_COMPONENTS,
        **options: Any,
    ) -> None:
        super().__init__(structures, **options)
        require_setting(connectivity in (6, 18, 26), "connectivity", connectivity, "6, 18 or 26")
        require_setting(type(listed) is int and listed >= 1, "listed", listed, "1 or more components")
        self.connectivity = connectivity
        self.listed = listed

    def _shown(self) -> str:
        return f"{super()._shown()}, connectivity={self.connectivity}, listed={self.listed}"

    def __call__(self, label: Any) -> dict[str, Tensor]:
        """Measure one label map."""
        measured = self.measure(label, boundaries=False)
        found = run_fields.component_fields(measured.structure_runs, connectivity=self.connectivity, listed=self.listed)
        return as_tensors(found, measured.labels.device)


class MeasureContact(_PairTransform):
    """What two structures share, and how far one lies inside the other.

    Returns of a call:
        ``contact_faces`` int64 (P,): voxel faces between the two, -1 where one is missing; ``contact_mm2`` (P,);
        ``contained_share`` (P, 2): share of the first one's voxels inside the convex hull of the second, and the other
        way round (a label map has no voxel of the organ where its tumour is, so the organ's hull is asked);
        ``contact_rows`` int64 (P, 2); ``contact_status`` int64 (P,), with ``touching``.

    Args:
        structures, options: see :class:`~monai_spatialqa.transforms.measuring.StructureTransform`.
        pairs: as for :class:`MeasureDistance`.

    Raises:
        SpatialQAError: at construction for unusable arguments; on a call when the input cannot be measured.
    """

    def __call__(self, label: Any) -> dict[str, Tensor]:
        """Measure one label map."""
        measured = self.measure(label, boundaries=False)
        return as_tensors(run_fields.contact_fields(measured.structure_runs, self._rows), measured.labels.device)


class MeasureDiameter(StructureTransform):
    """Longest diameter within one axial slice, and the longest one perpendicular to it in the same slice.

    Returns of a call:
        ``diameter_mm`` (N, 2): longest, perpendicular; ``diameter_points_ras_mm`` (N, 2, 2, 3): their ends;
        ``diameter_slice`` int64 (N,): index along the third axis of the RAS grid; ``diameter_status`` int64 (N,). NaN
        and -1 for structures that are missing or not asked for, and where the orientation is unknown.

    Args:
        structures, options: see :class:`~monai_spatialqa.transforms.measuring.StructureTransform`.
        of: names or groups of the structures to measure; default: the tumours of the label map.

    Raises:
        SpatialQAError: at construction for unusable arguments; on a call when the input cannot be measured.
    """

    def __init__(self, structures: StructuresSpec, *, of: str | Sequence[str] | None = None, **options: Any) -> None:
        super().__init__(structures, **options)
        require_setting(of is None or isinstance(of, (str, Sequence)), "of", of, "names or groups of structures")
        rows = self.label_map.tumour_rows
        self.rows = rows if of is None else tuple(map(self.structures.index, self.label_map.select(of)))
        told = "structures to measure; the label map has no tumours, so name them: of=['liver']"
        require_setting(bool(self.rows), "of", of, told)

    def _shown(self) -> str:
        return f"{super()._shown()}, of=<{len(self.rows)}>"

    def __call__(self, label: Any) -> dict[str, Tensor]:
        """Measure one label map."""
        measured = self.measure(label, boundaries=False)
        return as_tensors(run_fields.diameter_fields(measured.structure_runs, self.rows), measured.labels.device)


class MeasureStructures(_PairTransform):
    """Volume, box and, for chosen pairs, distance, all from one pass over the voxels; with ``detail`` everything else.

    Returns of a call: the names of :class:`MeasureVolume` and :class:`MeasureBoundingBox`, and with ``pairs`` those of
    :class:`MeasureDistance`. ``detail="full"`` adds those of :class:`MeasureComponents`, of :class:`MeasureDiameter`
    and, with pairs, of :class:`MeasureContact` and of a surface distance under the name ``surface``.

    Args:
        structures, options: see :class:`~monai_spatialqa.transforms.measuring.StructureTransform`.
        pairs: as for :class:`MeasureDistance`; None (default) for no distances.
        kind: kind of the distances.
        detail: ``"basic"`` or ``"full"``.

    Raises:
        SpatialQAError: at construction for unusable arguments; on a call when the input cannot be measured.
    """

    def __init__(
        self,
        structures: StructuresSpec,
        pairs: PairSpec = None,
        *,
        kind: str = "box_center",
        detail: str = "basic",
        **options: Any,
    ) -> None:
        super().__init__(structures, pairs, **options)
        require_setting(kind in fields.DISTANCE_KINDS, "kind", kind, " or ".join(fields.DISTANCE_KINDS))
        require_setting(detail in DETAILS, "detail", detail, " or ".join(DETAILS))
        self.kind = kind
        self.detail = detail

    def _shown(self) -> str:
        return f"{super()._shown()}, kind={self.kind!r}, detail={self.detail!r}"

    def __call__(self, label: Any) -> dict[str, Tensor]:
        """Measure one label map."""
        measured = self.measure(label, boundaries=True)
        found = as_tensors(fields.volume_fields(measured.table, measured.status)) | _box_fields(measured)
        if self._rows:
            found |= _distance_fields(measured, self._rows, "distance", self.kind)
        if self.detail == "full":
            full = run_fields.full_fields(measured.structure_runs, self._rows, self.label_map.tumour_rows)
            found |= as_tensors(full, measured.labels.device)
        return found


def _box_fields(measured: Measured) -> dict[str, Tensor]:
    found = fields.box_fields(
        measured.table,
        measured.status,
        orientation_known=measured.label.orientation_known,
        centroid_inside=centroid_inside(measured),
    )
    return as_tensors(found)


def _distance_fields(measured: Measured, rows: list[tuple[int, int]], name: str, kind: str) -> dict[str, Tensor]:
    if kind == "surface":
        return as_tensors(run_fields.surface_fields(measured.structure_runs, rows, name=name), measured.labels.device)
    known = measured.label.orientation_known
    found = as_tensors(
        fields.distance_fields(measured.table, measured.status, rows, name=name, kind=kind, orientation_known=known)
    )
    overlap = overlap_voxels(measured, rows)
    found[f"{name}_overlap_voxels"] = overlap
    found[f"{name}_status"] = found[f"{name}_status"] | (overlap > 0) * int(Status.OVERLAPPING)
    return found
