"""NIfTI headers read raw and judged: units, form codes, spacing, singularity. Nothing is repaired in silence.

Libraries mend broken headers while loading (a zero spacing becomes 1 mm, a NaN entry another matrix). This module reads
the bytes and refuses what is missing or contradictory; what is unambiguous is used, with a note where something was
converted or passed over.

Source: NIfTI-1 and NIfTI-2 standards (nifti1.h, nifti2.h), methods 2 (qform) and 3 (sform).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Literal

import nibabel as nib
import numpy as np
from nibabel.quaternions import fillpositive, quat2mat
from numpy.typing import NDArray

from monai_spatialqa.errors import FileReadError, GeometryError, SpatialQAError
from monai_spatialqa.geometry.affine import (
    checked_affine,
    column_norms,
    corner_shift_mm,
    grid_corners,
    is_sheared,
    orientation_codes,
    without_shear,
)

HEADER_BYTES = 544
"""Enough for either header version and its extension flag."""

QUIET_SHIFT_VOXELS, NOTED_SHIFT_VOXELS = 0.1, 0.5
"""Corner shift between two descriptions of one grid: rounding below the first, refused above the second."""

QUATERNION_EXCESS = 1e-5
"""Squares of a quaternion may sum to this much over 1 through rounding."""

_EXPORT_AGAIN = "export the file again from its source"

Form = Literal["sform", "qform"]

_MM_PER_UNIT = {0: 1.0, 1: 1000.0, 2: 1.0, 3: 0.001}
_UNIT_NAMES = {0: "unknown", 1: "metre", 2: "mm", 3: "micrometre"}


@dataclass(frozen=True)
class NiftiGeometry:
    """What a NIfTI header says, checked.

    Attributes:
        shape: voxels along the three stored axes.
        channels: volumes along the fourth and higher axes; 1 for a plain volume.
        dtype: stored type, with its byte order.
        data_offset: first byte of the voxels in the (uncompressed) data file.
        slope, inter: value = stored * slope + inter; (1, 0) when the header asks for no scaling.
        affine: index to RAS mm, float64. With an unknown orientation only its spacing has a meaning.
        orientation_known: False when neither form has a code.
        single_file: voxels follow the header in the same file (``n+1``), not in an ``.img`` beside it.
        notes: what was converted, clamped or passed over.
    """

    shape: tuple[int, int, int]
    channels: int
    dtype: np.dtype
    data_offset: int
    slope: float
    inter: float
    affine: NDArray[np.float64]
    orientation_known: bool
    single_file: bool
    notes: tuple[str, ...] = field(default=())

    @property
    def orientation(self) -> str | None:
        """Axis codes of the stored axes, e.g. ``"LPS"``; None when unknown."""
        return orientation_codes(self.affine) if self.orientation_known else None

    @property
    def data_bytes(self) -> int:
        """Bytes of all voxels."""
        return math.prod(self.shape) * self.channels * self.dtype.itemsize

    @property
    def scaled(self) -> bool:
        """Whether stored values are not the values."""
        return (self.slope, self.inter) != (1.0, 0.0)


def parse_header(raw: bytes, file: Any, *, form: Form | None = None) -> NiftiGeometry:
    """Read and judge the first bytes of a NIfTI file.

    Args:
        raw: at least the header (:data:`HEADER_BYTES`, fewer when the file is shorter).
        file: path, for messages.
        form: take this form where the header contradicts itself, instead of refusing.

    Raises:
        FileReadError: not a NIfTI header, a 2-D image, or a type that holds no plain numbers.
        GeometryError: the header's geometry is missing, impossible or contradictory.
    """
    try:
        header, single_file = _nibabel_header(raw)
        notes: list[str] = []
        shape, channels = _shape(header)
        dtype = _dtype(header)
        slope, inter = _scaling(header)
        offset = float(header["vox_offset"])
        if not math.isfinite(offset) or offset < 0:
            raise FileReadError(
                "the offset of the voxel data is impossible",
                code="bad_header",
                key="vox_offset",
                found=offset,
                expected="0 or more bytes",
                next_step=_EXPORT_AGAIN,
            )
        affine, known = _affine(header, shape, form, notes)
        return NiftiGeometry(
            shape=shape,
            channels=channels,
            dtype=dtype,
            data_offset=max(int(offset), int(header.single_vox_offset) if single_file else 0),
            slope=slope,
            inter=inter,
            affine=affine,
            orientation_known=known,
            single_file=single_file,
            notes=tuple(notes),
        )
    except SpatialQAError as error:
        raise error.with_context(file=file) from None


def _nibabel_header(raw: bytes) -> tuple[Any, bool]:
    """The header structure with its stored values untouched, and whether the voxels are in the same file."""
    for kind, size in ((nib.Nifti1Header, 348), (nib.Nifti2Header, 540)):
        for endianness in ("<", ">"):
            if int.from_bytes(raw[:4], "little" if endianness == "<" else "big") != size:
                continue
            if len(raw) < size:
                raise FileReadError(
                    "the header is cut short: the file is truncated",
                    code="truncated_file",
                    found=f"{len(raw)} bytes",
                    expected=f"{size} bytes of header",
                    next_step="copy the file again from its source",
                )
            header = kind(raw[:size], endianness, check=False)
            magic = bytes(header["magic"].tobytes())[:3]
            if magic in (b"n+1", b"n+2"):
                return header, True
            if magic in (b"ni1", b"ni2"):
                return header, False
            raise FileReadError(
                "this is an Analyze 7.5 header, which does not say where left and right are",
                code="unsupported_format",
                key="magic",
                found=magic,
                expected="n+1, ni1, n+2 or ni2",
                next_step="convert the scan to NIfTI from its original data",
            )
    raise FileReadError(
        "this is not a NIfTI file",
        code="not_nifti",
        found=f"first bytes {raw[:8]!r}",
        expected="a NIfTI-1 or NIfTI-2 header, plain or gzip-compressed",
        next_step="check that the file is what its name says",
    )


def _shape(header: Any) -> tuple[tuple[int, int, int], int]:
    dims = [int(length) for length in header["dim"]]
    rank, lengths = dims[0], dims[1 : dims[0] + 1] if 1 <= dims[0] <= 7 else []
    if not lengths or min(lengths) < 1:
        raise FileReadError(
            "the dimensions are impossible",
            code="bad_header",
            key="dim",
            found=dims,
            expected="1 to 7 positive lengths",
            next_step=_EXPORT_AGAIN,
        )
    if rank < 3:
        raise FileReadError(
            "a volume has three axes",
            code="not_3d",
            key="dim",
            found=tuple(lengths),
            expected="(X, Y, Z)",
            next_step="join the slices into a volume first",
        )
    return (lengths[0], lengths[1], lengths[2]), math.prod(lengths[3:])


def _dtype(header: Any) -> np.dtype:
    try:
        dtype = header.get_data_dtype()
    except (nib.spatialimages.HeaderDataError, KeyError):
        raise FileReadError(
            "the data type is unknown",
            code="unsupported_dtype",
            key="datatype",
            found=int(header["datatype"]),
            expected="a code of the NIfTI standard",
            next_step=_EXPORT_AGAIN,
        ) from None
    if dtype.kind not in "iuf" or dtype.itemsize > 8:
        kind = "RGB" if dtype.kind == "V" else str(dtype)
        raise FileReadError(
            "voxels are not plain numbers",
            code="unsupported_dtype",
            key="datatype",
            found=kind,
            expected="integers or floats of at most 64 bits",
            next_step="export ids as integers, one value a voxel",
        )
    return dtype


def _scaling(header: Any) -> tuple[float, float]:
    slope, inter = float(header["scl_slope"]), float(header["scl_inter"])
    if slope == 0 or not math.isfinite(slope):
        return 1.0, 0.0  # the standard's way of saying "no scaling"
    return slope, inter if math.isfinite(inter) else 0.0


def _affine(
    header: Any, shape: tuple[int, int, int], form: Form | None, notes: list[str]
) -> tuple[NDArray[np.float64], bool]:
    unit = int(header["xyzt_units"]) & 7
    if unit not in _MM_PER_UNIT:
        raise GeometryError(
            "the spatial unit is unknown",
            code="bad_unit",
            key="xyzt_units",
            found=unit,
            expected="0 (unknown, taken as mm), 1 (metre), 2 (mm) or 3 (micrometre)",
            next_step="set the unit that the lengths in the header are in",
        )
    to_mm = _MM_PER_UNIT[unit]
    if unit in (1, 3):
        notes.append(f"lengths converted from {_UNIT_NAMES[unit]} to mm")
    elif unit == 0:
        notes.append("no spatial unit in the header, taken as mm")
    spacing = _spacing(header) * to_mm
    has_sform, has_qform = int(header["sform_code"]) > 0, int(header["qform_code"]) > 0
    sform = _sform(header, to_mm) if has_sform else None
    qform = _qform(header, spacing, to_mm, notes) if has_qform else None
    found: dict[str, NDArray[np.float64]] = {}
    broken: dict[str, GeometryError] = {}
    for name, matrix in (("sform", sform), ("qform", qform)):
        if matrix is None:
            continue
        try:
            found[name] = checked_affine(matrix)
        except GeometryError as error:
            broken[name] = error
    if form is not None:
        if form not in found:
            raise GeometryError(
                f"the {form} was asked for but is not usable",
                code="unusable_form",
                key="form",
                found=f"usable: {' and '.join(sorted(found)) or 'none'}",
                expected=form,
                next_step="leave form out, or ask for one that the header has",
            )
        return found[form], True
    if not found:
        if broken:
            name, refusal = next(iter(broken.items()))
            refusal.key = f"{name} ({refusal.key})"
            raise refusal
        if (spacing < 0).any():
            raise _bad_spacing(header)
        notes.append("neither form has a code: orientation unknown")
        return checked_affine(np.diag([*spacing, 1.0])), False
    for name in broken:
        notes.append(f"the {name} is coded but unusable, the other form was used")
    chosen = found.get("sform", found.get("qform"))
    assert chosen is not None
    if len(found) == 2:
        other = found["qform"]
        reference = without_shear(chosen) if is_sheared(chosen) else chosen  # a qform cannot hold a shear
        _compare("the sform and the qform", reference, other, shape, spacing, notes)
    sized = chosen.copy()
    sized[:3, :3] *= np.abs(spacing) / np.array(column_norms(chosen))
    sized[:3, 3] = chosen[:3, 3]
    _compare("the form and the voxel sizes (pixdim)", chosen, sized, shape, spacing, notes)
    return chosen, True


def _spacing(header: Any) -> NDArray[np.float64]:
    spacing = np.array([float(header["pixdim"][axis]) for axis in (1, 2, 3)])
    sform_only = int(header["sform_code"]) > 0 and int(header["qform_code"]) <= 0
    if not np.isfinite(spacing).all() or (spacing == 0).any() or ((spacing < 0).any() and not sform_only):
        raise _bad_spacing(header)
    return spacing


def _bad_spacing(header: Any) -> GeometryError:
    values = [float(header["pixdim"][axis]) for axis in (1, 2, 3)]
    axis = next(axis for axis, value in enumerate(values) if not (math.isfinite(value) and value > 0))
    return GeometryError(
        f"the voxel size along axis {'ijk'[axis]} is impossible",
        code="bad_spacing",
        key=f"pixdim[{axis + 1}]",
        found=values[axis],
        expected="a positive number",
        next_step="restore the spacing from the original scan",
    )


def _sform(header: Any, to_mm: float) -> NDArray[np.float64]:
    matrix = np.eye(4)
    for row, name in enumerate(("srow_x", "srow_y", "srow_z")):
        with np.errstate(invalid="ignore"):  # some kinds of NaN warn when they are converted
            matrix[row] = np.asarray(header[name], np.float64)
    matrix[:3] *= to_mm
    return matrix


def _qform(header: Any, spacing: NDArray[np.float64], to_mm: float, notes: list[str]) -> NDArray[np.float64] | None:
    quaternion = np.array([float(header[name]) for name in ("quatern_b", "quatern_c", "quatern_d")])
    offset = np.array([float(header[name]) for name in ("qoffset_x", "qoffset_y", "qoffset_z")])
    matrix = np.full((4, 4), np.nan)
    if np.isfinite(quaternion).all():
        excess = float((quaternion**2).sum()) - 1
        if excess <= QUATERNION_EXCESS:
            rotation = quat2mat(fillpositive(quaternion, w2_thresh=-QUATERNION_EXCESS))
            handedness = -1.0 if float(header["pixdim"][0]) < 0 else 1.0
            matrix = np.eye(4)
            matrix[:3, :3] = rotation * spacing * np.array([1.0, 1.0, handedness])
            matrix[:3, 3] = offset * to_mm
            if excess > 1e-7 and int(header["sform_code"]) <= 0:
                notes.append("the quaternion's squares exceed 1 by rounding, clamped")
    return matrix


def _compare(
    what: str,
    first: NDArray[np.float64],
    second: NDArray[np.float64],
    shape: tuple[int, int, int],
    spacing: NDArray[np.float64],
    notes: list[str],
) -> None:
    """Hold two descriptions of one grid against each other, by how far they move its corners."""
    shift = np.abs(np.linalg.inv(first) @ (second - first) @ grid_corners(shape))[:3].max()
    if shift > NOTED_SHIFT_VOXELS:

        def rows(matrix: NDArray[np.float64]) -> list[list[float]]:
            return [[round(float(value), 4) for value in row] for row in matrix[:3]]

        raise GeometryError(
            f"{what} contradict each other",
            code="contradictory_geometry",
            key="sform, qform, pixdim",
            found=f"{rows(first)} and {rows(second)}; a corner moves by {shift:.3g} voxels, "
            f"{corner_shift_mm(first, second, shape):.3g} mm",
            expected=f"agreement within {NOTED_SHIFT_VOXELS} voxel",
            next_step='find out which is true; then mend the header or pass form="sform" or form="qform"',
        )
    if shift > QUIET_SHIFT_VOXELS:
        notes.append(f"{what} differ by {shift:.2f} voxel at a corner")
