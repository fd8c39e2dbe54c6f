"""What a drawing needs to know of a label map: where a structure is, and its outline in one slice."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from skimage.measure import find_contours

from monai_spatialqa.errors import LabelValueError
from monai_spatialqa.rendering.slices import SliceView

_IDS_SHOWN = 20


class IndexBox(NamedTuple):
    """Half-open box of voxel indices in the RAS grid."""

    start: tuple[int, int, int]
    stop: tuple[int, int, int]

    @property
    def center_voxel(self) -> tuple[int, int, int]:
        """The voxel at the middle of the box; the lower one of two."""
        a, b = self.start, self.stop
        return (a[0] + b[0] - 1) // 2, (a[1] + b[1] - 1) // 2, (a[2] + b[2] - 1) // 2

    @property
    def corners(self) -> npt.NDArray[np.float64]:
        """Index positions (2, 3) of the two outermost voxel corners, half a voxel beyond the centres."""
        return np.array([self.start, self.stop], dtype=np.float64) - 0.5


def structure_box(label_ras: npt.NDArray[np.generic], structure_label: int) -> IndexBox:
    """The index box of one structure, found slice by slice with no volume-sized temporary.

    Args:
        label_ras: (X, Y, Z) integer or bool ids in RAS axis order.
        structure_label: the id.

    Returns:
        Its half-open box.

    Raises:
        LabelValueError: when the map does not hold whole numbers, or does not hold the id; the ids present are named.
    """
    if label_ras.dtype.kind not in "iub":
        raise LabelValueError(
            "a label map to draw holds whole numbers",
            code="not_integer",
            found=label_ras.dtype,
            expected="an integer or bool type",
            next_step="read the labels in the file's own type, or round them after checking",
        )
    slow = int(np.argmax(np.abs(label_ras.strides)))
    others = [axis for axis in range(3) if axis != slow]
    slices = np.moveaxis(label_ras, slow, 0)
    occupied = [np.zeros(length, dtype=bool) for length in label_ras.shape]
    for index, flat in enumerate(slices):
        mask = flat == structure_label
        if mask.any():
            occupied[slow][index] = True
            occupied[others[0]] |= mask.any(axis=1)
            occupied[others[1]] |= mask.any(axis=0)
    if not occupied[slow].any():
        raise _absent(label_ras, structure_label)
    ends = [np.flatnonzero(line)[[0, -1]] for line in occupied]
    (x0, x1), (y0, y1), (z0, z1) = [(int(first), int(last) + 1) for first, last in ends]
    return IndexBox((x0, y0, z0), (x1, y1, z1))


def _absent(label_ras: npt.NDArray[np.generic], structure_label: int) -> LabelValueError:
    present = [int(value) for value in np.unique(label_ras) if value != 0]
    shown = ", ".join(map(str, present[:_IDS_SHOWN])) + (", ..." if len(present) > _IDS_SHOWN else "")
    return LabelValueError(
        f"label {structure_label} is not in the label map",
        code="absent_label",
        found=f"{len(present)} ids present: {shown}" if present else "only background",
        expected=structure_label,
        next_step="draw a structure that is present",
    )


def outlines_mm(mask: SliceView) -> list[npt.NDArray[np.float64]]:
    """Closed outlines of a mask slice along the pixel edges, with corners cut by a quarter of a pixel.

    Args:
        mask: slice whose pixels are true inside. Parts that reach the image's edge are closed along it.

    Returns:
        One (n, 2) array of x, y per outline, mm rightwards and downwards from the image's top left corner.
    """
    height, width = mask.pixel_size_mm
    inside = np.asarray(mask.pixels, dtype=np.float64)
    padded = np.pad(inside.repeat(2, axis=0).repeat(2, axis=1), 1)
    scale = np.array([width, height]) / 2
    # Half-pixel k of the doubled mask is centred at (k + 0.5) / 2 pixels from the edge; padding moved it by one.
    return [(line[:, ::-1] - 0.5) * scale for line in find_contours(padded, 0.5)]
