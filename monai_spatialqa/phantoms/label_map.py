"""Large label maps for benchmarks: many compact blobs, made in seconds, with no claim to anatomy."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from monai_spatialqa.errors import SettingsError

_LARGEST_FILL = 0.8
"""Share of its cell's width the largest blob may take: leaves room for moving blobs about."""


def make_label_map(
    shape: Sequence[int],
    label_count: int,
    foreground: float = 0.16,
    seed: int = 0,
    dtype: npt.DTypeLike | None = None,
) -> npt.NDArray[np.integer]:
    """A label map of ``label_count`` ellipsoids, ids 1 to ``label_count``, one in each of as many lattice cells.

    Blobs differ in size (volumes vary about tenfold) and place by seed. Each stays in its own cell, though neighbours
    may share a face, and every id has at least one voxel. Ids are dealt to the cells at random.

    Args:
        shape: voxels along the three axes.
        label_count: how many structures.
        foreground: share of voxels to be labelled, about; 0.16 is a whole-body CT segmentation's.
        seed: of everything random.
        dtype: voxel type; None for the smallest unsigned one that holds the ids.

    Returns:
        (X, Y, Z) Fortran-ordered, as a NIfTI file is read.

    Raises:
        SettingsError: when the ids do not fit the type, there are more structures than the grid has room for, or the
            foreground cannot be reached.

    Example:
        >>> label = make_label_map((64, 64, 40), 20, seed=1)
        >>> int(label.max()), label.dtype.name, label.flags.f_contiguous
        (20, 'uint8', True)
    """
    size = np.asarray(shape, dtype=int)
    if size.shape != (3,) or (size < 1).any() or label_count < 1:
        raise SettingsError("three voxel counts and at least one label are needed", found=(tuple(shape), label_count))
    kind = np.dtype(np.min_scalar_type(label_count) if dtype is None else dtype)
    if kind.kind not in "ui" or label_count > np.iinfo(kind).max:
        raise SettingsError("ids do not fit the voxel type", key="dtype", found=kind, expected=f"1 to {label_count}")
    rng = np.random.default_rng(seed)
    cells = _lattice(size, label_count)
    width = size / cells
    if (width < 2).any():
        raise SettingsError("too many labels for so few voxels", key="label_count", found=label_count)
    radii = _radii(width, label_count, foreground * float(np.prod(size)), rng)
    chosen = rng.permutation(int(np.prod(cells)))[:label_count]
    corners = np.stack(np.unravel_index(chosen, cells), axis=1) * width
    slack = width / 2 - np.maximum(radii, 0.51)  # the voxel at a blob's centre lies in its cell too
    centers = corners + width / 2 - 0.5 + rng.uniform(-1, 1, (label_count, 3)) * slack
    out = np.zeros(tuple(size), dtype=kind, order="F")
    for identifier, (center, radius) in enumerate(zip(centers, radii, strict=True), start=1):
        _blob(out, identifier, center, radius)
    return out


def _lattice(size: npt.NDArray[np.int_], label_count: int) -> tuple[int, int, int]:
    """The number of cells along each axis: at least one per label, of shapes near a cube's, as few as possible."""
    edge = (float(np.prod(size)) / label_count) ** (1 / 3)
    ideal = [max(1, math.floor(length / edge)) for length in size]
    options = [
        (a, b, c)
        for a in (ideal[0], ideal[0] + 1)
        for b in (ideal[1], ideal[1] + 1)
        for c in (ideal[2], ideal[2] + 1)
        if a * b * c >= label_count
    ]
    return min(options, key=math.prod)


def _radii(
    width: npt.NDArray[np.float64], label_count: int, voxels: float, rng: np.random.Generator
) -> npt.NDArray[np.float64]:
    """Semi-axes in voxels (label_count, 3) of ellipsoids in their cells' proportions, with the volume asked in all."""
    largest = 4 / 3 * math.pi * float(np.prod(width / 2 * _LARGEST_FILL))
    if not 0 < voxels <= 0.95 * largest * label_count:
        raise SettingsError(
            "this share of labelled voxels cannot be made of separate blobs",
            key="foreground",
            found=f"{voxels / label_count:.0f} voxels per label",
            expected=f"more than 0, at most {0.95 * largest:.0f} voxels per label",
        )
    weights = rng.lognormal(0.0, 0.7, label_count)
    low, high = 0.0, largest * label_count / float(weights.min())
    for _ in range(200):
        factor = (low + high) / 2
        if np.minimum(weights * factor, largest).sum() < voxels:
            low = factor
        else:
            high = factor
    shares = np.minimum(weights * high, largest) / largest
    return np.asarray(np.cbrt(shares)[:, None] * width / 2 * _LARGEST_FILL)


def _blob(
    out: npt.NDArray[np.integer], identifier: int, center: npt.NDArray[np.float64], radius: npt.NDArray[np.float64]
) -> None:
    """Write one ellipsoid, at least the voxel at its centre; distances are summed from three 1-D arrays."""
    size = np.asarray(out.shape)
    start = np.clip(np.ceil(center - radius), 0, size - 1).astype(int)
    stop = np.clip(np.floor(center + radius) + 1, start + 1, size).astype(int)
    x, y, z = (
        (((np.arange(a, b) - c) / r) ** 2).astype(np.float32)
        for a, b, c, r in zip(start, stop, center, radius, strict=True)
    )
    turned = out.T[start[2] : stop[2], start[1] : stop[1], start[0] : stop[0]]
    turned[z[:, None, None] + y[None, :, None] + x[None, None, :] <= 1] = identifier
    middle = np.clip(np.rint(center), 0, size - 1).astype(int)
    out[tuple(middle)] = identifier
