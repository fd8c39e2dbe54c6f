"""A measured figure with its unit, and the range it moves in when every boundary lies half a voxel elsewhere."""

from __future__ import annotations

from dataclasses import dataclass

from monai_spatialqa.errors import SettingsError
from monai_spatialqa.quantities import UNITS

_FIGURES = [UNITS[name] for name in ("mm", "cm", "ml", "cm3", "mm3", "l", "mm2", "cm2")]

PER_BASE_UNIT = {unit.name: float(1 / unit.size) for unit in _FIGURES}
"""How much of a unit one mm, one mm2 or one ml is."""

DIMENSION = {unit.name: unit.dimension for unit in _FIGURES}

RATIO_UNIT = "times"
"""Unit of a ratio of two figures, so that it is shown, asked for and read back like any other: ``"2.31 times"``."""


@dataclass(frozen=True)
class Quantity:
    """A figure.

    Attributes:
        value: in ``unit``.
        low, high: range within half a voxel, ``low <= value <= high``.
        unit: mm, cm, mm2, cm2, ml, cm3, mm3, l; ``%`` for shares; ``times`` for ratios; empty for counts.
        step: edge of the voxels that a length was measured on, in ``unit``: digits below it mean nothing and are not
            shown. None for what is shown with three figures.
    """

    value: float
    low: float
    high: float
    unit: str = ""
    step: float | None = None

    def to(self, unit: str) -> Quantity:
        """The same in another unit of the same dimension.

        Raises:
            SettingsError: another dimension.
        """
        if unit == self.unit:
            return self
        if unit not in DIMENSION or DIMENSION[unit] != DIMENSION.get(self.unit):
            raise SettingsError(
                "the unit does not fit the quantity",
                key="unit",
                found=unit,
                expected=", ".join(name for name, kind in DIMENSION.items() if kind == DIMENSION.get(self.unit)),
            )
        factor = PER_BASE_UNIT[unit] / PER_BASE_UNIT[self.unit]
        step = None if self.step is None else self.step * factor
        return Quantity(self.value * factor, self.low * factor, self.high * factor, unit, step)

    def surely_above(self, other: Quantity) -> bool:
        """Whether this is the larger one anywhere within half a voxel of both; same unit."""
        return self.low > other.high

    def magnitude(self) -> Quantity:
        """The same without its sign."""
        ends = abs(self.low), abs(self.high)
        low = 0.0 if self.low <= 0 <= self.high else min(ends)
        return Quantity(abs(self.value), low, max(ends), self.unit, self.step)

    def half_width(self) -> float:
        """Half of what half a voxel moves the value by."""
        return (self.high - self.low) / 2


def relative_gap(first: float, second: float) -> float:
    """Difference of two values as a share of the larger magnitude; 0 when both are 0."""
    largest = max(abs(first), abs(second))
    return abs(first - second) / largest if largest else 0.0
