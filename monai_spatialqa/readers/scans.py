"""Scans in whatever format they have: which one it is, their grid, their voxels. Needs neither torch nor MONAI."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

from monai_spatialqa.anatomy import LabelMap
from monai_spatialqa.errors import FileReadError, LabelValueError
from monai_spatialqa.geometry.layers import paint_layers, smallest_id_type
from monai_spatialqa.readers.contents import content_of, first_bytes
from monai_spatialqa.readers.dicom_files import dicom_class
from monai_spatialqa.readers.masks import NIFTI_SUFFIXES, is_mask, list_masks, mask_geometry, read_masks
from monai_spatialqa.readers.meta import LoadedScan, ScanGeometry
from monai_spatialqa.readers.nifti_header import Form
from monai_spatialqa.readers.nifti_stream import NiftiStream, read_header
from monai_spatialqa.readers.nifti_volume import array_shape, scaled_values, scan_geometry

Scan = Path | Sequence[Path]
"""A file, a folder, or a list of files."""

ScanKind = Literal["nifti", "volume", "dicom_image", "dicom_seg", "masks"]
"""NIfTI; NRRD or MetaImage; DICOM image slices; DICOM SEG; one mask a structure."""

FORMATS = "NIfTI, NRRD, seg.nrrd, MetaImage, DICOM SEG, or a folder of one mask per structure"
"""For messages: what a label map may be stored as."""


def scan_kind(scan: Scan) -> ScanKind:
    """What a scan is stored as: a file by its name or content, a folder by what lies in it.

    Raises:
        FileReadError: not there, or of no format that is read here.
    """
    if not isinstance(scan, Path):
        return _list_kind(scan)
    if scan.is_dir():
        return _folder_kind(scan)
    if scan.name.lower().endswith(NIFTI_SUFFIXES):
        return "nifti"
    found = content_of(first_bytes(scan))
    if found in ("nrrd", "metaimage"):
        return "volume"
    if found in ("NIfTI file", "gzip"):
        return "nifti"
    dicom = dicom_class(scan)
    if dicom is not None and dicom.kind in ("segmentation", "image"):
        return "dicom_seg" if dicom.kind == "segmentation" else "dicom_image"
    if dicom is not None and dicom.kind == "rtstruct":
        raise FileReadError(
            "contours are not voxels: an RT Structure Set is not read",
            code="unsupported_format",
            file=scan,
            found=dicom.name,
            expected=FORMATS,
            next_step="convert its contours to a label map first",
        )
    raise FileReadError(
        "this format cannot be read",
        code="unsupported_format",
        file=scan,
        found=found if dicom is None else dicom.name,
        expected=FORMATS,
        next_step="convert it to one of them",
    )


def _list_kind(paths: Sequence[Path]) -> ScanKind:
    if all(map(is_mask, paths)):
        return "masks"
    other = next(path for path in paths if not is_mask(path))
    kinds = {path: None if path.is_dir() else dicom_class(path) for path in paths}
    if all(kind is not None and kind.kind == "image" for kind in kinds.values()):
        return "dicom_image"
    found = kinds[other]
    raise FileReadError(
        "a list of files is one mask per structure",
        code="unsupported_format",
        file=other,
        found="a folder" if other.is_dir() else other.suffix or "no suffix" if found is None else found.name,
        expected="files such as liver.nii.gz",
        next_step="name a label map of several structures by itself, not in a list",
    )


def _folder_kind(folder: Path) -> ScanKind:
    try:
        entries = sorted(folder.iterdir())
    except OSError as error:
        raise FileReadError(
            f"the folder cannot be opened ({error.strerror or error})",
            code="unreadable_file",
            file=folder,
            found="nothing to read",
            expected="a readable folder",
            next_step="check its permissions",
        ) from None
    files = [path for path in entries if path.is_file() and not path.name.startswith(".")]
    if any(map(is_mask, files)):
        return "masks"
    kinds = {kind.kind: path for path in files if (kind := dicom_class(path)) is not None}
    if "image" in kinds:
        return "dicom_image"
    folders = [path.name for path in entries if path.is_dir()]
    raise FileReadError(
        "there is no scan in this folder",
        code="unsupported_format",
        file=folder,
        found=", ".join(path.name for path in entries[:5]) or "nothing",
        expected="mask files such as liver.nii.gz, or the slices of a DICOM series",
        next_step=f"name the file itself: {kinds['segmentation'].name}"
        if "segmentation" in kinds
        else "name the folder that holds the files" + (f", e.g. {folders[0]}/" if folders else ""),
    )


def read_geometry(scan: Scan, *, form: Form | None = None) -> ScanGeometry:
    """The grid of a scan by its headers; voxels are not read, except for DICOM SEG.

    Args:
        scan: where it is.
        form: take this NIfTI form where a header contradicts itself.

    Raises:
        SpatialQAError: a header is unusable.
    """
    kind = scan_kind(scan)
    if kind == "nifti":
        assert isinstance(scan, Path)
        return scan_geometry(read_header(scan, form=form))
    if kind == "masks":
        return mask_geometry(list_masks(scan).masks[0].path, form)
    if kind == "dicom_seg":
        return read_scan(scan).geometry
    from monai_spatialqa.readers.simpleitk_volume import read_sitk_geometry

    return read_sitk_geometry(scan)


def read_scan(
    scan: Scan,
    *,
    form: Form | None = None,
    label_map: LabelMap | None = None,
    reference: Scan | None = None,
    ignore: Iterable[int] = (),
) -> LoadedScan:
    """The voxels of a scan of any format.

    Args:
        scan: where it is.
        form: take this NIfTI form where a header contradicts itself.
        label_map: gives structures that the file names itself the ids of its names.
        reference: the image that a DICOM SEG was drawn on, whose grid it gets.
        ignore: values of masks that are background besides 0.

    Raises:
        SpatialQAError: it cannot be read; the message names the file.
    """
    kind = scan_kind(scan)
    if kind == "nifti":
        assert isinstance(scan, Path)
        with NiftiStream(scan, form=form) as stream:
            values = scaled_values(stream.read_all(), stream.geometry)
        return LoadedScan(values.reshape(array_shape(stream.geometry), order="F"), scan_geometry(stream.geometry))
    if kind == "masks":
        return read_mask_layers(scan, form=form, label_map=label_map, ignore=ignore)
    if kind == "dicom_seg":
        from monai_spatialqa.readers.dicom_seg_volume import read_dicom_seg

        assert isinstance(scan, Path)
        # Of a folder, the reader takes the series that the segmentation refers to.
        series = isinstance(reference, Path) and reference.is_dir() and scan_kind(reference) == "dicom_image"
        grid = None if reference is None else reference if series else read_geometry(reference, form=form)
        volume = read_dicom_seg(scan, label_map=label_map, reference=grid)  # type: ignore[arg-type]
        return LoadedScan(volume.voxels, volume.geometry, volume.names)
    from monai_spatialqa.readers.simpleitk_volume import read_sitk_volume

    return LoadedScan(*read_sitk_volume(scan, label_map), image_only=kind == "dicom_image")


def read_mask_layers(
    scan: Scan, *, form: Form | None = None, label_map: LabelMap | None = None, ignore: Iterable[int] = ()
) -> LoadedScan:
    """A folder or a list of masks as few layers of ids: structures that share voxels lie in different layers.

    Raises:
        SpatialQAError: see :func:`~monai_spatialqa.readers.masks.list_masks` and
            :func:`~monai_spatialqa.readers.masks.read_masks`.
    """
    listing = list_masks(scan, label_map)
    structures, grids, notes = [], [], {}
    for mask, geometry, grid, runs in read_masks(listing, form=form, ignore=ignore):
        structures.append((mask.label, runs))
        grids.append((geometry, grid))
        notes[mask.name] = geometry.notes
    geometry, grid = grids[0]
    layers = paint_layers(structures, grid.shape, smallest_id_type(max(listing.names)))
    voxels = layers.reshape(len(layers), *geometry.shape[::-1]).transpose(3, 2, 1, 0)
    told = replace(geometry, notes=listing.notes(notes))
    return LoadedScan(voxels if len(layers) > 1 else voxels[..., 0], told, listing.names)


def require_label_kind(scan: Scan) -> ScanKind:
    """What a label map is stored as.

    Raises:
        LabelValueError: DICOM image slices, which hold no labels.
        FileReadError: see :func:`scan_kind`.
    """
    kind = scan_kind(scan)
    if kind == "dicom_image":
        raise LabelValueError(
            "a DICOM image series is no label map",
            code="image_as_label",
            file=scan if isinstance(scan, Path) else scan[0],
            found="image slices",
            expected=FORMATS,
            next_step="give it as the image, and the segmentation as the label" + _segmentations_in(scan),
        )
    return kind


def _segmentations_in(scan: Scan) -> str:
    """Names the DICOM SEG that lies in a folder of slices, as a hint."""
    if not isinstance(scan, Path) or not scan.is_dir():
        return ""
    for path in sorted(path for path in scan.iterdir() if path.is_file()):
        found = dicom_class(path)
        if found is not None and found.kind == "segmentation":
            return f": {path.name}"
    return ""


def first_file(scan: Scan) -> Path:
    """The path that stands for a scan in messages."""
    return scan if isinstance(scan, Path) else scan[0]
