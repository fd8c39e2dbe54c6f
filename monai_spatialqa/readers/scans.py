"""Scans in whatever format they have: which one it is, their grid, their voxels. Needs neither torch nor MONAI."""

from __future__ import annotations

from collections.abc import Sequence
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
        return "masks" if all(map(is_mask, scan)) else "dicom_image"
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


def _folder_kind(folder: Path) -> ScanKind:
    files = sorted(path for path in folder.iterdir() if path.is_file() and not path.name.startswith("."))
    if any(map(is_mask, files)):
        return "masks"
    kinds = {kind.kind: path for path in files if (kind := dicom_class(path)) is not None}
    if "image" in kinds:
        return "dicom_image"
    inside = ", ".join(path.name for path in sorted(folder.iterdir())[:5]) or "nothing"
    raise FileReadError(
        "there is no scan in this folder",
        code="unsupported_format",
        file=folder,
        found=inside,
        expected="mask files such as liver.nii.gz, or the slices of a DICOM series",
        next_step=f"name the file itself, e.g. {kinds['segmentation'].name}"
        if "segmentation" in kinds
        else "name the folder that holds the files",
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
    scan: Scan, *, form: Form | None = None, label_map: LabelMap | None = None, reference: Scan | None = None
) -> LoadedScan:
    """The voxels of a scan of any format.

    Args:
        scan: where it is.
        form: take this NIfTI form where a header contradicts itself.
        label_map: gives structures that the file names itself the ids of its names.
        reference: the image that a DICOM SEG was drawn on, whose grid it gets.

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
        return read_mask_layers(scan, form=form, label_map=label_map)
    if kind == "dicom_seg":
        from monai_spatialqa.readers.dicom_seg_volume import read_dicom_seg

        assert isinstance(scan, Path)
        grid = None if reference is None else read_geometry(reference, form=form)
        volume = read_dicom_seg(scan, label_map=label_map, reference=grid)
        return LoadedScan(volume.voxels, volume.geometry, volume.names)
    from monai_spatialqa.readers.simpleitk_volume import read_sitk_volume

    return LoadedScan(*read_sitk_volume(scan, label_map), image_only=kind == "dicom_image")


def read_mask_layers(scan: Scan, *, form: Form | None = None, label_map: LabelMap | None = None) -> LoadedScan:
    """A folder or a list of masks as few layers of ids: structures that share voxels lie in different layers.

    Raises:
        SpatialQAError: see :func:`~monai_spatialqa.readers.masks.list_masks` and
            :func:`~monai_spatialqa.readers.masks.read_masks`.
    """
    listing = list_masks(scan, label_map)
    structures, grids = [], []
    for mask, geometry, grid, runs in read_masks(listing, form=form):
        structures.append((mask.label, runs))
        grids = [(geometry, grid)]
    geometry, grid = grids[0]
    layers = paint_layers(structures, grid.shape, smallest_id_type(max(listing.names)))
    voxels = layers.reshape(len(layers), *geometry.shape[::-1]).transpose(3, 2, 1, 0)
    told = replace(geometry, notes=(*geometry.notes, *listing.notes))
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
            next_step="give it as the image, and the segmentation as the label",
        )
    return kind


def first_file(scan: Scan) -> Path:
    """The path that stands for a scan in messages."""
    return scan if isinstance(scan, Path) else scan[0]
