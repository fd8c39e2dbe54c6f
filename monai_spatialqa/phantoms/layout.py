"""The abdomen of the phantoms: which structures there are, where, how large and how bright, with seeded variation.

Scene coordinates are RAS+ mm of an adult, with vertebra L1 near the origin: the liver at positive x (patient's right),
spleen and stomach at negative x, the aorta left of the inferior vena cava, the bladder 190 mm below L1. Shapes are
simple, sizes and neighbourhoods are those of textbooks, HU those of a portal venous CT, rounded.

Names and ids of organs are those of TotalSegmentator v2 (wasserth/TotalSegmentator, ``total`` task of
``map_to_binary.py``); tumours, which that list lacks, have ids from 201.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from monai_spatialqa.phantoms.shape import Shape, Vector, as_vector
from monai_spatialqa.phantoms.solids import Cuboid, Ellipsoid
from monai_spatialqa.phantoms.spread import LATERAL_RADIUS_MM, ball_between, touching_ball
from monai_spatialqa.phantoms.tube import Tube

Modality = Literal["CT", "MR"]

SCENE_CENTER_MM: Vector = (0.0, 0.0, -52.0)
"""The point of the scene that is put at the centre of the field of view."""

SHIFT_MM = 2.0
"""Every structure moves by up to this along each axis."""

SIZE_CHANGE = 0.03
"""Every radius or edge changes by up to this share. With ``SHIFT_MM`` it leaves a gap between any two structures."""


@dataclass(frozen=True)
class Organ:
    """One line of the table: ``kind`` decides what ``size_mm`` means.

    An ellipsoid has its radii, a cuboid its edges, a tube its radius (first number) and its points in ``line_mm``.
    """

    name: str
    label: int
    kind: Literal["ellipsoid", "cuboid", "tube"]
    hu: float
    mr: float
    center_mm: Vector
    size_mm: Vector
    line_mm: tuple[Vector, ...] = ()


@dataclass(frozen=True)
class Tumour:
    """A round tumour in the first of ``hosts`` (or one of them, by seed)."""

    name: str
    label: int
    hosts: tuple[str, ...]
    radius_mm: float
    hu: float
    mr: float


_ORIGIN = (0.0, 0.0, 0.0)
_VERTEBRA = (46.0, 34.0, 27.0)

ORGANS: tuple[Organ, ...] = (
    Organ("spleen", 1, "ellipsoid", 115, 430, (-120.0, -36.0, 74.0), (28.0, 38.0, 44.0)),
    Organ("kidney_right", 2, "ellipsoid", 180, 540, (68.0, -56.0, -26.0), (28.0, 25.0, 50.0)),
    Organ("kidney_left", 3, "ellipsoid", 180, 540, (-66.0, -58.0, -12.0), (27.0, 25.0, 52.0)),
    Organ("gallbladder", 4, "ellipsoid", 8, 760, (60.0, 50.0, -32.0), (15.0, 17.0, 26.0)),
    Organ("liver", 5, "ellipsoid", 105, 250, (83.0, 26.0, 64.0), (68.0, 60.0, 60.0)),
    Organ("stomach", 6, "ellipsoid", 25, 640, (-64.0, 40.0, 66.0), (42.0, 38.0, 45.0)),
    Organ("pancreas", 7, "ellipsoid", 92, 370, (-28.0, 0.0, -2.0), (54.0, 15.0, 16.0)),
    Organ("urinary_bladder", 21, "ellipsoid", 6, 800, (0.0, 30.0, -190.0), (42.0, 36.0, 34.0)),
    Organ("vertebrae_L5", 27, "cuboid", 210, 180, (0.0, -72.0, -144.0), _VERTEBRA),
    Organ("vertebrae_L4", 28, "cuboid", 210, 180, (0.0, -70.0, -108.0), _VERTEBRA),
    Organ("vertebrae_L3", 29, "cuboid", 210, 180, (0.0, -70.0, -72.0), _VERTEBRA),
    Organ("vertebrae_L2", 30, "cuboid", 210, 180, (0.0, -72.0, -36.0), _VERTEBRA),
    Organ("vertebrae_L1", 31, "cuboid", 210, 180, (0.0, -74.0, 0.0), _VERTEBRA),
    Organ("vertebrae_T12", 32, "cuboid", 210, 180, (0.0, -76.0, 36.0), _VERTEBRA),
    Organ(
        "aorta",
        52,
        "tube",
        165,
        90,
        _ORIGIN,
        (10.0, 10.0, 10.0),
        ((-13.0, -38.0, 108.0), (-12.0, -36.0, 10.0), (-8.0, -32.0, -104.0)),
    ),
    Organ(
        "inferior_vena_cava",
        63,
        "tube",
        150,
        120,
        _ORIGIN,
        (11.0, 11.0, 11.0),
        ((21.0, -36.0, 108.0), (22.0, -35.0, 0.0), (20.0, -31.0, -112.0)),
    ),
)

VESSELS = ("aorta", "inferior_vena_cava")
"""Which of the organs are vessels."""

TUMOURS: tuple[Tumour, ...] = (
    Tumour("liver_tumor", 201, ("liver",), 14.0, 55, 420),
    Tumour("kidney_tumor", 202, ("kidney_left", "kidney_right"), 8.5, 95, 330),
    Tumour("pancreas_tumor", 203, ("pancreas",), 5.5, 50, 520),
)


VARIED_RADII_MM = {
    "liver_tumor": (14.0, 20.0, 27.0),
    "kidney_tumor": (8.5, 11.0),
    "pancreas_tumor": (5.5, 6.5),
}
"""Radii that tumours have from patient to patient where they vary."""


def _vary(values: npt.ArrayLike, rng: np.random.Generator, *, share: float = 0.0, mm: float = 0.0) -> Vector:
    """Three numbers, each changed on its own by up to a share of itself and up to some mm."""
    array = np.asarray(values, dtype=np.float64)
    return as_vector(array * (1 + rng.uniform(-share, share, 3)) + rng.uniform(-mm, mm, 3), "layout")


def _build(organ: Organ, rng: np.random.Generator, modality: Modality) -> Shape:
    intensity = organ.hu if modality == "CT" else organ.mr
    size = _vary(organ.size_mm, rng, share=SIZE_CHANGE)
    center = _vary(organ.center_mm, rng, mm=SHIFT_MM)
    if organ.kind == "ellipsoid":
        return Ellipsoid(organ.name, organ.label, intensity, center, size)
    if organ.kind == "cuboid":
        return Cuboid(organ.name, organ.label, intensity, center, size)
    line = tuple(as_vector(np.add(point, center), "line_mm") for point in organ.line_mm)
    return Tube(organ.name, organ.label, intensity, line, size[0])


def _grow(
    tumour: Tumour, hosts: Sequence[Shape], rng: np.random.Generator, modality: Modality, spread: float
) -> tuple[Shape, Shape]:
    """The chosen host with the tumour taken out of it, and the tumour: off its middle by a share of its radii."""
    host = hosts[int(rng.integers(len(hosts)))]
    half = np.divide(host.extent_mm, 2)
    at = np.add(host.center_ras_mm, rng.uniform(-spread, spread, 3) * half)
    radii = _vary((tumour.radius_mm,) * 3, rng, share=0.1)
    intensity = tumour.hu if modality == "CT" else tumour.mr
    shape = Ellipsoid(tumour.name, tumour.label, intensity, as_vector(at, "at_ras_mm"), radii)
    return replace(host, holes=(*host.holes, shape)), shape


def _beside(grown: Shape, kidney: Shape, shapes: Mapping[str, Shape], *, outside: bool) -> Shape:
    """A tumour on its kidney: on the outer side, or against the great vessel of that side."""
    right = kidney.name.endswith("right")
    if outside:
        center, radius = touching_ball(kidney, LATERAL_RADIUS_MM, (1.0 if right else -1.0, 0.0, 0.0))
    else:
        vessel = shapes["inferior_vena_cava" if right else "aorta"]
        assert isinstance(vessel, Tube)
        line = np.array(vessel.points_ras_mm)[np.argsort([point[2] for point in vessel.points_ras_mm])]
        height = kidney.center_ras_mm[2]
        beside = [float(np.interp(height, line[:, 2], line[:, axis])) for axis in range(3)]
        center, radius = ball_between(kidney, vessel, beside)
    return Ellipsoid(grown.name, grown.label, grown.intensity, center, (radius, radius, radius))


def abdomen(seed: int, *, tumour: bool = True, varied: bool = False, modality: Modality = "CT") -> dict[str, Shape]:
    """The structures of one synthetic patient in scene coordinates.

    No two structures overlap, whatever the seed; a tumour is a hole in its organ, so the organ's volume and centroid
    are those of what is left. The organs of a seed are the same with and without tumours.

    Args:
        seed: of the positions and sizes.
        tumour: add the tumours.
        varied: tumours of other sizes from seed to seed; that of the kidney lies within it, on its outer side, or
            between it and the great vessel beside it.
        modality: whether ``intensity`` is in HU or in arbitrary MR units (T2-like).

    Returns:
        Shapes by name: organs in ascending id, then tumours.
    """
    organ_seed, tumour_seed = np.random.SeedSequence(seed).spawn(2)
    rng = np.random.default_rng(organ_seed)
    shapes = {organ.name: _build(organ, rng, modality) for organ in ORGANS}
    if tumour:
        rng = np.random.default_rng(tumour_seed)
        for kind in TUMOURS:
            if varied:
                kind = replace(kind, radius_mm=float(rng.choice(VARIED_RADII_MM[kind.name])))
            host, grown = _grow(kind, [shapes[name] for name in kind.hosts], rng, modality, 0.05 if varied else 0.2)
            way = int(rng.integers(3)) if varied and kind.name == "kidney_tumor" else 0
            if way:
                host = shapes[host.name]  # as it was: the tumour is no hole in it
                grown = _beside(grown, host, shapes, outside=way == 1)
            shapes[host.name] = host
            shapes[grown.name] = grown
    return shapes
