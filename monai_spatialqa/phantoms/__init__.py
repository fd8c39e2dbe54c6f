"""Seeded synthetic scans whose structures are known analytically: for tests, benchmarks and documentation."""

from monai_spatialqa.phantoms.generate import make_phantom
from monai_spatialqa.phantoms.grid import grid_affine
from monai_spatialqa.phantoms.label_map import make_label_map
from monai_spatialqa.phantoms.layout import abdomen
from monai_spatialqa.phantoms.painting import index_span, paint
from monai_spatialqa.phantoms.phantom import Phantom
from monai_spatialqa.phantoms.shape import Shape
from monai_spatialqa.phantoms.solids import Cuboid, Ellipsoid
from monai_spatialqa.phantoms.tube import Tube

__all__ = [
    "Cuboid",
    "Ellipsoid",
    "Phantom",
    "Shape",
    "Tube",
    "abdomen",
    "grid_affine",
    "index_span",
    "make_label_map",
    "make_phantom",
    "paint",
]
