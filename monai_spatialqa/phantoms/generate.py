"""Make a synthetic CT or MR of an abdomen whose every structure is known analytically."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import get_args

import numpy as np
import numpy.typing as npt

from monai_spatialqa.errors import SettingsError
from monai_spatialqa.phantoms.background import paint_background
from monai_spatialqa.phantoms.grid import FACES, grid_affine, stored_as
from monai_spatialqa.phantoms.layout import SCENE_CENTER_MM, Modality, abdomen
from monai_spatialqa.phantoms.painting import index_span, paint
from monai_spatialqa.phantoms.phantom import Phantom
from monai_spatialqa.phantoms.shape import Shape, Vector, as_vector

Float = npt.NDArray[np.float64]

_CUT_SHARE = 0.25
_RANGE: dict[Modality, tuple[int, int]] = {"CT": (-1024, 3071), "MR": (0, 4095)}


def make_phantom(
    seed: int,
    *,
    shape: Sequence[int] = (120, 90, 100),
    spacing_mm: Sequence[float] = (3.0, 3.0, 4.0),
    axcodes: str | Sequence[str] = "RAS",
    rotation_deg: float | Sequence[float] = 0.0,
    shear: float = 0.0,
    truncate: str | None = None,
    tumour: bool = True,
    varied: bool = False,
    noise_hu: float = 12.0,
    modality: Modality = "CT",
    scale: float | None = None,
    center_ras_mm: Sequence[float] = (0.0, 0.0, 0.0),
) -> Phantom:
    """A seeded synthetic abdomen on the grid asked for.

    The anatomy stands still in world space and the grid is laid over it, so one seed gives the same structures on
    every grid of the same ``scale``. A voxel belongs to a structure when its centre does; no structure overlaps
    another, and an organ's voxels, volume and centroid exclude the tumour in it.

    Args:
        seed: of positions, sizes, tumours and noise.
        shape: voxels along R, A and S, before ``axcodes`` reorders them.
        spacing_mm: voxel edge lengths along R, A and S, mm.
        axcodes: orientation in which the arrays are stored; the same voxels, permuted and flipped.
        rotation_deg: turn of the grid, see :func:`grid_affine`.
        shear: gantry tilt of the grid, its tangent.
        truncate: name of a face (left, right, posterior, anterior, inferior, superior): the field of view is moved by
            whole voxels until that face cuts a quarter off the structure that reaches farthest towards it.
        tumour: add one tumour each to liver, a kidney and pancreas.
        varied: tumours of other sizes from seed to seed, that of the kidney within it, on its outer side, or between it
            and the great vessel beside it. Not varied: small ones, all within their organs.
        noise_hu: standard deviation of the Gaussian noise, HU (in an MR: in the image's arbitrary units).
        modality: CT in HU, or an MR with T2-like contrast in arbitrary units from 0 to 4095.
        scale: size of the anatomy, 1 for an adult. None: the largest up to 1 at which every structure stays clear of
            the field of view's faces by a voxel. Give it to compare grids of different extent.
        center_ras_mm: where the middle of the field of view, and of the anatomy, lies.

    Returns:
        Image, label, affine and the analytic shapes.

    Raises:
        SettingsError: an unknown face, modality or orientation, impossible numbers, or a scale that does not fit the
            field of view (the message names the largest one that does).

    Example:
        >>> phantom = make_phantom(7, shape=(60, 45, 50), spacing_mm=(6.0, 6.0, 8.0))
        >>> phantom.label.shape, phantom.label.dtype.name, phantom.shapes["liver"].center_ras_mm[0] > 0
        ((60, 45, 50), 'uint8', True)
    """
    if modality not in get_args(Modality):
        raise SettingsError("unknown modality", key="modality", found=modality, expected="CT or MR")
    if truncate is not None and truncate not in FACES:
        raise SettingsError("unknown face", key="truncate", found=truncate, expected=", ".join(FACES))
    if not (math.isfinite(noise_hu) and noise_hu >= 0):
        raise SettingsError("noise is a standard deviation, 0 or more", key="noise_hu", found=noise_hu)
    center = as_vector(center_ras_mm, "center_ras_mm")
    affine = grid_affine(shape, spacing_mm, center_ras_mm=center, rotation_deg=rotation_deg, shear=shear)
    size = (int(shape[0]), int(shape[1]), int(shape[2]))

    adult = abdomen(seed, tumour=tumour, varied=varied, modality=modality)
    scale = _checked_scale(scale, _largest_scale(adult.values(), affine, size, center))
    origin = as_vector(np.subtract(center, np.multiply(SCENE_CENTER_MM, scale)), "center_ras_mm")
    shapes = {name: solid.placed(scale, origin) for name, solid in adult.items()}
    if truncate is not None:
        affine = _cut(affine, size, shapes.values(), truncate)

    label = np.zeros(size, dtype=np.min_scalar_type(max(solid.label for solid in shapes.values())), order="F")
    brightness = np.empty(size, dtype=np.float32, order="F")
    paint_background(brightness, affine, modality, scale, origin)
    paint(shapes.values(), affine, label, brightness)
    image = _noisy(brightness, noise_hu, seed, modality)
    faces = _faces_reached(label, shapes)
    image, _ = stored_as(image, affine, axcodes)
    label, affine = stored_as(label, affine, axcodes)
    return Phantom(image, label, affine, shapes, faces, scale, seed, modality)


def _largest_scale(shapes: Iterable[Shape], affine: Float, size: Sequence[int], center: Vector) -> float:
    """The largest scale at which every shape lies between the centres of the second and the last but one voxel."""
    middle = (np.asarray(size) - 1) / 2
    origin = as_vector(np.subtract(center, SCENE_CENTER_MM), "center_ras_mm")
    spans = np.array([index_span(shape.placed(1.0, origin), affine) for shape in shapes])
    needed = np.abs(spans - middle).max(axis=(0, 1))
    return float(((middle - 1) / needed).min())


def _checked_scale(asked: float | None, largest: float) -> float:
    if largest <= 0:
        raise SettingsError("the grid is too small for an anatomy", key="shape", expected="at least 4 voxels per axis")
    if asked is None:
        return min(1.0, largest)
    if not (math.isfinite(asked) and 0 < asked <= largest):
        raise SettingsError(
            "the anatomy does not fit the field of view at this scale",
            key="scale",
            found=asked,
            expected=f"more than 0, at most {largest:.4f}",
            next_step="lower the scale, or give more or larger voxels",
        )
    return asked


def _cut(affine: Float, size: Sequence[int], shapes: Iterable[Shape], face: str) -> Float:
    """Move the grid along one axis until the face cuts a quarter off the structure that reaches farthest to it."""
    axis, end = FACES[face]
    spans = [index_span(shape, affine) for shape in shapes]
    if end:
        low, high = max(((low[axis], high[axis]) for low, high in spans), key=lambda span: span[1])
        steps = round(high - _CUT_SHARE * (high - low) - (size[axis] - 1))
    else:
        low, high = min(((low[axis], high[axis]) for low, high in spans), key=lambda span: span[0])
        steps = round(low + _CUT_SHARE * (high - low))
    moved = affine.copy()
    moved[:3, 3] += steps * affine[:3, axis]
    return moved


def _noisy(brightness: npt.NDArray[np.float32], noise: float, seed: int, modality: Modality) -> npt.NDArray[np.int16]:
    """Add noise, round and store. The noise has its own stream: it does not depend on tumours or orientation."""
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(99,)))
    low, high = _RANGE[modality]
    if noise > 0:
        brightness += np.float32(noise) * rng.standard_normal(brightness.shape, dtype=np.float32)
    return np.asfortranarray(np.rint(np.clip(brightness, low, high)).astype(np.int16))


def _faces_reached(label: npt.NDArray[np.unsignedinteger], shapes: Mapping[str, Shape]) -> dict[str, tuple[str, ...]]:
    """Which structures have voxels in the outermost layer at which faces, read off the RAS label map."""
    present = {
        face: set(np.unique(np.take(label, -1 if end else 0, axis=axis)).tolist())
        for face, (axis, end) in FACES.items()
    }
    reached = {
        name: tuple(face for face, labels in present.items() if shape.label in labels) for name, shape in shapes.items()
    }
    return {name: faces for name, faces in reached.items() if faces}
