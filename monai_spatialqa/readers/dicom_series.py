"""DICOM image series: slices put in order by their positions, with the geometry that the positions give.

Neither file names nor instance numbers order the slices, and slice thickness is not the distance between them. Tags
and pixels are read by SimpleITK's GDCM; the rescale slope and intercept of each slice are applied.

Source: DICOM PS3.3, C.7.6.2 (Image Plane Module); patient coordinates are LPS mm.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import SimpleITK as sitk
from numpy.typing import NDArray

from monai_spatialqa.errors import FileReadError, GeometryError, PairingError, SpatialQAError
from monai_spatialqa.geometry.affine import checked_affine
from monai_spatialqa.readers.contents import content_of, first_bytes
from monai_spatialqa.readers.meta import ScanGeometry
from monai_spatialqa.readers.slice_positions import SlicePlane, plane_order

_SOP_CLASS = b"\x02\x00\x02\x00UI"
"""Media Storage SOP Class UID in the file's meta header, which is explicit little endian in every DICOM file."""

_MOVE = "move it out of the folder of the image series"
_NOT_IMAGES = {
    "1.2.840.10008.5.1.4.1.1.66.4": ("a DICOM SEG", "read the file as a segmentation, with the DICOM SEG reader"),
    "1.2.840.10008.5.1.4.1.1.66.7": ("a DICOM SEG", "read the file as a segmentation, with the DICOM SEG reader"),
    "1.2.840.10008.5.1.4.1.1.481.3": ("an RTSTRUCT", "convert the contours to a mask first; RTSTRUCT is not read"),
    "1.2.840.10008.5.1.4.1.1.481.2": ("an RTDOSE", _MOVE),
    "1.2.840.10008.5.1.4.1.1.88.11": ("a structured report", _MOVE),
    "1.2.840.10008.5.1.4.1.1.88.22": ("a structured report", _MOVE),
    "1.2.840.10008.5.1.4.1.1.88.33": ("a structured report", _MOVE),
    "1.2.840.10008.5.1.4.1.1.88.34": ("a structured report", _MOVE),
}
_DIRECTORY = "1.2.840.10008.1.3.10"

_DICOM_SUFFIXES = (".dcm", ".dicom", ".ima")

_SERIES, _DESCRIPTION = "0020|000e", "0008|103e"
_POSITION, _ORIENTATION, _PIXEL_SPACING = "0020|0032", "0020|0037", "0028|0030"
_SAMPLES, _FRAMES = "0028|0002", "0028|0008"


@dataclass(frozen=True)
class DicomSlice:
    """One file of a series, its tags read and its pixels not.

    Attributes:
        path: the file.
        series: Series Instance UID.
        description: Series Description, empty when there is none.
        plane: where the slice lies.
        columns, rows: pixels along the file's x and y.
        dtype: type of the pixels once the rescale slope and intercept are applied.
    """

    path: Path
    series: str
    description: str
    plane: SlicePlane
    columns: int
    rows: int
    dtype: np.dtype


@dataclass(frozen=True)
class DicomSeries:
    """The slices of one series in order, and their grid."""

    slices: tuple[DicomSlice, ...]
    geometry: ScanGeometry


def read_series_header(source: str | Path | Sequence[str | Path], *, series_uid: str | None = None) -> DicomSeries:
    """Put a series in order and work out its geometry. No pixel is read.

    Args:
        source: a folder (its subfolders are not searched), or the files.
        series_uid: the series to take where there are several.

    Raises:
        FileReadError: no DICOM image, a damaged file, a DICOM SEG or RTSTRUCT, several frames a file, or colours.
        PairingError: several series, or not the one asked for.
        GeometryError: slices that do not make an evenly spaced grid.
    """
    paths, notes, place = _files(source)
    found = [_read_tags(path) for path in paths]
    if series_uid is not None:
        found = [part for part in found if part.series == series_uid] or _no_such_series(found, series_uid, place)
    _refuse_several_series(found, place)
    try:
        order, affine = plane_order([(part.path, part.plane) for part in found])
        slices = tuple(found[at] for at in order)
        first = slices[0]
        for part in slices:
            if (part.columns, part.rows) != (first.columns, first.rows):
                raise GeometryError(
                    "the slices differ in size",
                    code="uneven_slices",
                    file=part.path,
                    found=f"{part.columns} x {part.rows} pixels",
                    expected=f"{first.columns} x {first.rows}, as in {first.path.name}",
                    next_step="take out the files that do not belong to the series",
                )
        shape = (first.columns, first.rows, len(slices))
        return DicomSeries(slices, ScanGeometry(shape, checked_affine(affine), True, tuple(notes)))
    except SpatialQAError as error:
        raise error.with_context(file=place) from None


def read_series_voxels(series: DicomSeries) -> NDArray:
    """The pixels (X, Y, Z) in Fortran order, rescaled, of a type that holds the values of every slice.

    Raises:
        FileReadError: a file that is damaged.
    """
    kind = np.result_type(*(part.dtype for part in series.slices))
    voxels = np.empty(series.geometry.shape, kind, order="F")
    for at, part in enumerate(series.slices):
        image = _execute(part.path)  # a name of its own: a view does not keep the image alive
        pixels = sitk.GetArrayViewFromImage(image).reshape(part.rows, part.columns).T
        np.copyto(voxels[..., at], pixels, casting="safe")
    return voxels


def _files(source: str | Path | Sequence[str | Path]) -> tuple[list[Path], list[str], Path]:
    """The DICOM files, notes of what was passed over, and the place to name in messages."""
    if not isinstance(source, (str, Path)):
        paths = [Path(name) for name in source]
        if not paths:
            raise _no_dicom(Path(), "an empty list")
        for path in paths:
            _refuse_other_content(path, first_bytes(path))
        return paths, [], paths[0] if len(paths) == 1 else paths[0].parent
    folder = Path(source)
    if not folder.is_dir():
        _refuse_other_content(folder, first_bytes(folder))
        return [folder], [], folder
    paths, passed = [], []
    for path in sorted(folder.iterdir()):
        if path.is_dir() or path.name.startswith("."):
            continue
        named_so = path.suffix.lower() in _DICOM_SUFFIXES
        first = first_bytes(path) if named_so or path.stat().st_size else b""
        if named_so:
            _refuse_other_content(path, first)
        if content_of(first) == "dicom" and _sop_class(first) != _DIRECTORY:
            paths.append(path)
        else:
            passed.append(path.name)
    if not paths:
        raise _no_dicom(folder, f"{len(passed)} other files")
    notes = [f"{len(passed)} files passed over that are no DICOM image: {', '.join(passed[:3])}"] if passed else []
    return paths, notes, folder


def _no_dicom(place: Path, found: str) -> FileReadError:
    return FileReadError(
        "there is no DICOM file",
        code="no_dicom",
        file=place,
        found=found,
        expected="the files of one image series",
        next_step="check the path; subfolders are not searched",
    )


def _refuse_other_content(path: Path, first: bytes) -> None:
    if content_of(first) != "dicom":
        raise FileReadError(
            "this is not a DICOM file",
            code="not_dicom",
            file=path,
            found=content_of(first),
            expected="DICM behind the first 128 bytes",
            next_step="check that the file is what its name says",
        )


def _sop_class(first: bytes) -> str:
    at = first.find(_SOP_CLASS)
    if at < 0:
        return ""
    length = int.from_bytes(first[at + 6 : at + 8], "little")
    return first[at + 8 : at + 8 + length].decode("ascii", "replace").rstrip("\0 ")


def _reader(path: Path) -> Any:
    reader = sitk.ImageFileReader()
    reader.SetImageIO("GDCMImageIO")
    reader.SetFileName(str(path))
    return reader


def _execute(path: Path) -> Any:
    try:
        return _reader(path).Execute()
    except RuntimeError:
        raise _damaged(path) from None


def _damaged(path: Path) -> FileReadError:
    return FileReadError(
        "the pixels of this DICOM file cannot be read: it is truncated, damaged, or no image",
        code="corrupt_file",
        file=path,
        found="a file that GDCM refuses",
        expected="a whole DICOM image",
        next_step="copy the file again from its source",
    )


def _read_tags(path: Path) -> DicomSlice:
    kind = _sop_class(first_bytes(path))
    if kind in _NOT_IMAGES:
        what, step = _NOT_IMAGES[kind]
        raise FileReadError(
            f"this is {what}, not a slice of an image series",
            code="not_an_image_series",
            file=path,
            found=what,
            expected="the slices of one CT, MR or PET series",
            next_step=step,
        )
    reader = _reader(path)
    try:
        reader.ReadImageInformation()
    except RuntimeError:
        raise _damaged(path) from None
    tags = {key: reader.GetMetaData(key).strip("\0 ") for key in reader.GetMetaDataKeys()}
    for key, name in ((_FRAMES, "frames"), (_SAMPLES, "numbers a pixel")):
        if tags.get(key, "1") not in ("", "1"):
            raise FileReadError(
                "a file holds several frames" if key == _FRAMES else "pixels are not plain numbers",
                code="multi_frame" if key == _FRAMES else "unsupported_dtype",
                file=path,
                key=key,
                found=f"{tags[key]} {name}",
                expected="one slice a file, one number a pixel",
                next_step="convert it to NIfTI, or to one file a slice, with a DICOM converter",
            )
    kind_of_pixels = sitk.Image([1, 1], reader.GetPixelID())
    columns, rows = reader.GetSize()[:2]
    return DicomSlice(
        path=path,
        series=tags.get(_SERIES, ""),
        description=tags.get(_DESCRIPTION, ""),
        plane=SlicePlane.of(
            path,
            position=tags.get(_POSITION),
            orientation=tags.get(_ORIENTATION),
            pixel_spacing=tags.get(_PIXEL_SPACING),
        ),
        columns=int(columns),
        rows=int(rows),
        dtype=sitk.GetArrayViewFromImage(kind_of_pixels).dtype,
    )


def _shown(found: Sequence[DicomSlice]) -> str:
    counts: dict[tuple[str, str], int] = {}
    for part in found:
        counts[part.series, part.description] = counts.get((part.series, part.description), 0) + 1
    return "; ".join(f"{text or 'no description'}, {count} files ({uid})" for (uid, text), count in counts.items())


def _no_such_series(found: Sequence[DicomSlice], series_uid: str, place: Path) -> list[DicomSlice]:
    raise PairingError(
        "the series asked for is not here",
        code="unknown_series",
        file=place,
        key="series_uid",
        found=_shown(found),
        expected=series_uid,
        next_step="give the UID of one of the series found",
    )


def _refuse_several_series(found: Sequence[DicomSlice], place: Path) -> None:
    if len({part.series for part in found}) > 1:
        raise PairingError(
            "there are several image series; which one is meant?",
            code="several_series",
            file=place,
            key="series_uid",
            found=_shown(found),
            expected="one series",
            next_step="name one with series_uid, or give the list of its files",
        )
