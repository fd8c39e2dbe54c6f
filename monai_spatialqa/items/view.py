"""One measured case as questions see it: what may be asked of which structure, figures with their half-voxel range."""

from __future__ import annotations

import re
from collections import Counter
from functools import cached_property
from typing import Literal

import numpy as np

from monai_spatialqa.anatomy import LabelMap
from monai_spatialqa.errors import SettingsError
from monai_spatialqa.items.quantity import Quantity
from monai_spatialqa.items.wording import pair_under_one_label, readable_name
from monai_spatialqa.records import Measurement, Pair, Structure

Purpose = Literal["size", "place", "side", "count"]
"""What a question asks of a structure: how large it is, where it lies, on which side, how many parts it has."""

AXES = ("left-right", "anterior-posterior", "superior-inferior")
"""The axes of the patient, in the order R, A, S."""

_NAMELESS = re.compile(r"label_\d+|[A-Za-z]|[\W\d_]*|yes|no", re.IGNORECASE)
"""How a structure is called whose name nobody knows, or whose name is that of an option: nothing to ask about."""

LARGEST_TILT_DEG = 3.0
"""Largest angle between the grid and the patient: a box of 300 mm by 60 mm seems 5 % wider than it is."""


_ALWAYS = ("absent", "not_segmented", "name_conflict", "unverified")
_REFUSED: dict[Purpose, tuple[str, ...]] = {
    "size": (*_ALWAYS, "truncated"),
    "place": (*_ALWAYS, "truncated", "orientation_unknown"),
    "side": (*_ALWAYS, "truncated", "orientation_unknown"),
    "count": (*_ALWAYS, "truncated"),
}


class CaseView:
    """Figures of one case, and what may be asked.

    Args:
        measurement: the record of the case; without errors.
        label_map: the label map that its names come from, for tumours and sides; None where it is not known.

    Attributes:
        left_out: reason -> structures that some question cannot be about for it.
        not_made: reason -> the structures of every question that was not made for it.
    """

    def __init__(self, measurement: Measurement, label_map: LabelMap | None = None) -> None:
        if measurement.errors or measurement.geometry is None:
            raise SettingsError("a case without a measurement has no questions", case=measurement.case_id, key="errors")
        self.measurement = measurement
        self.geometry = measurement.geometry
        self.label_map = label_map
        self.left_out: dict[str, set[str]] = {}
        self.not_made: dict[str, set[tuple[str, ...]]] = {}

    @property
    def case_id(self) -> str:
        """Id of the case."""
        return self.measurement.case_id

    @property
    def names(self) -> list[str]:
        """Structures of the record, in its order."""
        return list(self.measurement.structures)

    @cached_property
    def tumours(self) -> list[str]:
        """Structures that are tumours, or parts of one, by the label map."""
        if self.label_map is None:
            return []
        rows = self.label_map.row_names
        return [rows[row] for row in self.label_map.tumour_rows if rows[row] in self.measurement.structures]

    def may_ask(self, name: str, purpose: Purpose) -> bool:
        """Whether the status of a structure allows a question; a refusal is counted by its reason."""
        structure = self.measurement.structures[name]
        reasons = [word for word in structure.status if word in _REFUSED[purpose]]
        if purpose in ("place", "side") and structure.box is not None and structure.box.center_ras_mm is None:
            reasons.append("orientation_unknown")
        if _NAMELESS.fullmatch(name):
            reasons.append("no name")
        if self._readable[readable_name(name)] > 1:
            reasons.append("two structures of one name")
        for reason in reasons:
            self.leave_out(reason, name)
        return not reasons and structure.box is not None

    @cached_property
    def _readable(self) -> Counter[str]:
        return Counter(map(readable_name, self.measurement.structures))

    def askable(self, purpose: Purpose) -> list[str]:
        """Structures that may be asked about as one body.

        Unions are left out, because they share voxels with their parts, and two organs under one label.
        """
        found = []
        for name, structure in self.measurement.structures.items():
            if structure.union_of is not None or not self.may_ask(name, purpose):
                continue
            if pair_under_one_label(name, self.measurement.label_map) is not None:
                self.leave_out("two organs under one label", name)
            else:
                found.append(name)
        return found

    def leave_out(self, reason: str, name: str) -> None:
        """Count a structure that a question cannot be about, by its reason."""
        self.left_out.setdefault(reason, set()).add(name)

    def refuse(self, reason: str, *names: str) -> None:
        """Count a question that was not made, by its reason."""
        self.not_made.setdefault(reason, set()).add(names)

    def left_out_counts(self) -> Counter[str]:
        """Reason -> number of structures left out for it."""
        return Counter({reason: len(names) for reason, names in self.left_out.items()})

    def not_made_counts(self) -> Counter[str]:
        """Reason -> number of questions not made for it."""
        return Counter({reason: len(questions) for reason, questions in self.not_made.items()})

    def structure(self, name: str) -> Structure:
        """The record of a structure.

        Raises:
            SettingsError: the case has none of that name.
        """
        if name not in self.measurement.structures:
            raise SettingsError(
                "the case has no such structure",
                case=self.case_id,
                key="structure",
                found=name,
                expected=", ".join(self.names[:10]),
            )
        return self.measurement.structures[name]

    def volume(self, name: str) -> Quantity:
        """Volume in ml; its range is the volume band of the record."""
        found = self.structure(name)
        assert found.volume_ml is not None
        low, high = found.volume_band_ml or (found.volume_ml, found.volume_ml)
        return Quantity(found.volume_ml, low, high, "ml")

    def extent(self, name: str, axis: int) -> Quantity:
        """Edge of the bounding box along R (0), A (1) or S (2), mm, half a voxel more or less.

        It runs along the grid's axis nearest to that of the patient, see :attr:`tilt_deg`; on a sheared grid along the
        patient's own.
        """
        box = self.structure(name).box
        assert box is not None
        voxel, length = self.voxel_mm(axis), box.extent_mm[axis]
        return Quantity(length, length - voxel / 2, length + voxel / 2, "mm", self.step_mm)

    def voxel_mm(self, axis: int) -> float:
        """How far a voxel reaches along R (0), A (1) or S (2) as extents are measured, mm."""
        return float(np.abs(self._voxel[axis]).sum()) if self.geometry.sheared else self.geometry.spacing_mm[axis]

    @property
    def step_mm(self) -> float:
        """Longest edge of a voxel, mm: what lengths are known to."""
        return max(self.geometry.spacing_mm)

    @cached_property
    def tilt_deg(self) -> float | None:
        """Largest angle between an axis that boxes are measured along and that of the patient; None without a position.

        0 on a sheared grid, whose boxes are those of the patient's axes.
        """
        if self.geometry.affine_ras_mm is None:
            return None
        if self.geometry.sheared:
            return 0.0
        cosines = np.diag(self._voxel) / np.sqrt((self._voxel * self._voxel).sum(axis=0))
        return float(np.degrees(np.arccos(np.clip(cosines, -1.0, 1.0))).max())

    @property
    def oblique(self) -> bool:
        """Whether boxes lie along the axes of a grid that is not that of the patient."""
        return self.tilt_deg is not None and self.tilt_deg > LARGEST_TILT_DEG

    def center(self, name: str) -> np.ndarray:
        """Centre of the bounding box, RAS mm."""
        box = self.structure(name).box
        assert box is not None
        assert box.center_ras_mm is not None
        return np.array(box.center_ras_mm)

    @cached_property
    def _voxel(self) -> np.ndarray:
        """Edges of a voxel as columns, RAS mm."""
        assert self.geometry.affine_ras_mm is not None
        return np.array(self.geometry.affine_ras_mm)[:, :3]

    def distance(self, first: str, second: str) -> Quantity:
        """Distance between the centres of two bounding boxes, mm; the range is half a voxel along the line."""
        offset = self.center(second) - self.center(first)
        length = float(np.sqrt((offset * offset).sum()))
        along = offset / length if length else np.array([1.0, 0.0, 0.0])
        half = float(np.abs(along @ self._voxel).sum()) / 2
        return Quantity(length, max(0.0, length - half), length + half, "mm", self.step_mm)

    def reach(self, name: str, axis: int) -> tuple[float, float]:
        """Where a structure begins and ends along R (0), A (1) or S (2), RAS mm, on any grid."""
        box = self.structure(name).box
        assert box is not None
        assert box.world_min_ras_mm is not None
        assert box.world_max_ras_mm is not None
        return box.world_min_ras_mm[axis], box.world_max_ras_mm[axis]

    def offset(self, first: str, second: str, axis: int) -> Quantity:
        """From the first box centre to the second along R (0), A (1) or S (2), mm: positive is right, front, up."""
        value = float((self.center(second) - self.center(first))[axis])
        half = float(np.abs(self._voxel[axis]).sum()) / 2
        return Quantity(value, value - half, value + half, "mm", self.step_mm)

    def pair(self, first: str, second: str, kind: str) -> Pair | None:
        """The record of a pair that was measured, in either order; None without one."""
        for pair in self.measurement.pairs:
            if {pair.a, pair.b} == {first, second} and pair.kind == kind and pair.distance_mm is not None:
                return pair
        return None

    def surface_distance(self, first: str, second: str) -> Quantity | None:
        """Smallest distance between two structures, mm, half a voxel more or less; None where it was not measured."""
        pair = self.pair(first, second, "surface")
        if pair is None or pair.distance_mm is None:
            return None
        half = self.step_mm / 2
        return Quantity(
            pair.distance_mm, max(0.0, pair.distance_mm - half), pair.distance_mm + half, "mm", self.step_mm
        )

    def diameter(self, name: str) -> Quantity | None:
        """Longest axial diameter, mm, half a voxel more or less; None where it was not measured."""
        found = self.structure(name).axial_diameter
        if found is None:
            return None
        step = max(self.geometry.spacing_mm[:2])  # within a slice
        length, half = found.longest_mm, step / 2
        return Quantity(length, max(0.0, length - half), length + half, "mm", step)
