"""Numbers with units as text: the table of units, and what a written number is worth. Arithmetic is decimal."""

from monai_spatialqa.quantities.numbers import EXPONENT, SPACE, number_pattern, written_number
from monai_spatialqa.quantities.units import ARRAY_UNITS, UNITS, Unit, unit_named

__all__ = [
    "ARRAY_UNITS",
    "EXPONENT",
    "SPACE",
    "UNITS",
    "Unit",
    "number_pattern",
    "unit_named",
    "written_number",
]
