"""One mask file per structure: which files of a folder are masks, and the voxels of each as runs.

Needs neither torch nor MONAI. A mask is read block by block where its format allows and kept as runs, so that a folder
of a hundred masks takes less memory than one label map.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from monai_spatialqa.anatomy import LabelMap
from monai_spatialqa.errors import FileReadError, GeometryError, LabelMapError, LabelValueError, SpatialQAError
from monai_spatialqa.geometry.affine import RasGrid, column_norms, corner_shift_mm
from monai_spatialqa.geometry.encoder import BLOCK_BYTES, MarginalEncoder
from monai_spatialqa.geometry.runs import RunGrid, Runs
from monai_spatialqa.readers.meta import ScanGeometry
from monai_spatialqa.readers.nifti_header import Form
from monai_spatialqa.readers.nifti_labels import label_block, label_dtype
from monai_spatialqa.readers.nifti_stream import NiftiStream
from monai_spatialqa.readers.nifti_volume import scan_geometry
from monai_spatialqa.readers.segments import NamedSegment, assign_ids, folded_name

NIFTI_SUFFIXES = (".nii.gz", ".nii", ".hdr.gz", ".hdr")
OTHER_SUFFIXES = (".nrrd", ".nhdr", ".mha", ".mhd")

SAME_GRID_VOXELS = 0.1
"""Corner shift between two masks of one folder that is rounding."""


@dataclass(frozen=True)
class MaskFile:
    """One mask.

    Attributes:
        label: its id.
        name: its structure.
        path: its file.
    """

    label: int
    name: str
    path: Path


@dataclass(frozen=True)
class MaskListing:
    """The masks of a folder.

    Attributes:
        masks: in the order of their names.
        skipped: names of files and folders that are no masks.
    """

    masks: tuple[MaskFile, ...]
    skipped: tuple[str, ...]

    @property
    def names(self) -> dict[int, str]:
        """Id -> name of every structure that was looked for."""
        return {mask.label: mask.name for mask in self.masks}

    def notes(self, of_masks: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
        """What a record says: what was converted or passed over in the masks, and which files are none.

        Args:
            of_masks: name of a structure -> notes of its mask.
        """
        where: dict[str, list[str]] = {}
        for name, notes in of_masks.items():
            for note in notes:
                where.setdefault(note, []).append(name)
        told = [
            note if len(names) == len(of_masks) else f"{note} ({_shortened(names)})" for note, names in where.items()
        ]
        return (*told, *self._passed_over())

    def _passed_over(self) -> tuple[str, ...]:
        return (f"files that are no masks were passed over: {_shortened(self.skipped)}",) if self.skipped else ()


def _shortened(names: Sequence[str]) -> str:
    return ", ".join(names[:10]) + (f" and {len(names) - 10} more" if len(names) > 10 else "")


def list_masks(source: Path | Sequence[Path], label_map: LabelMap | None = None) -> MaskListing:
    """The masks in a folder, or in a list of files; a structure is called like its file.

    Hidden files, subfolders and files of other formats are passed over.

    Args:
        source: the folder, or the files.
        label_map: gives the ids of its structures; see :func:`~monai_spatialqa.readers.segments.assign_ids`.

    Raises:
        FileReadError: no such folder, or no masks in it.
        LabelMapError: two files for one structure.
    """
    folder = source if isinstance(source, Path) else None
    files, skipped = _entries(source)
    if not files:
        raise FileReadError(
            "there are no masks in the folder" if folder else "no mask files are named",
            code="no_files",
            file=folder,
            found=", ".join(skipped[:5]) or "nothing",
            expected="files like liver.nii.gz, one a structure",
            next_step="name the folder that holds the masks"
            + (f", e.g. {skipped[0]}/" if folder and skipped and (folder / skipped[0]).is_dir() else ""),
        )
    try:
        _refuse_twins(files)
        assigned = assign_ids([NamedSegment(_stem(file)) for file in files], label_map)
    except LabelMapError as error:
        raise error.with_context(file=folder or files[0].parent) from None
    return MaskListing(
        tuple(MaskFile(label, name, file) for (label, name), file in zip(assigned, files, strict=True)), skipped
    )


def _refuse_twins(files: Sequence[Path]) -> None:
    seen: dict[str, Path] = {}
    for file in files:
        twin = seen.setdefault(folded_name(_stem(file)), file)
        if twin is not file:
            raise LabelMapError(
                "two mask files are called like one structure",
                code="duplicate_name",
                found=f"{twin.name} and {file.name}",
                expected="one file a structure",
                next_step="rename or remove one of them",
            )


def _entries(source: Path | Sequence[Path]) -> tuple[list[Path], tuple[str, ...]]:
    if not isinstance(source, Path):
        return sorted(source, key=lambda path: path.name), ()
    try:
        entries = sorted(source.iterdir(), key=lambda path: path.name)
    except OSError as error:
        raise FileReadError(
            f"the folder of masks cannot be opened ({error.strerror or error})",
            code="missing_file",
            file=source,
            expected="a folder with one mask a structure",
            next_step="check the path",
        ) from None
    masks = [path for path in entries if is_mask(path)]
    return masks, tuple(path.name for path in entries if path not in masks)


def is_mask(path: Path) -> bool:
    """Whether a file is called like a mask: of a volume format, and not hidden (``._liver.nii.gz`` of macOS)."""
    name = path.name.lower()
    return name.endswith(NIFTI_SUFFIXES + OTHER_SUFFIXES) and not name.startswith(".") and not path.is_dir()


def _stem(path: Path) -> str:
    suffix = next((end for end in NIFTI_SUFFIXES + OTHER_SUFFIXES if path.name.lower().endswith(end)), "")
    return path.name[: len(path.name) - len(suffix)]


def mask_geometry(path: Path, form: Form | None = None) -> ScanGeometry:
    """The grid of one mask, by its header.

    Raises:
        SpatialQAError: the header is unusable.
    """
    if not path.name.lower().endswith(NIFTI_SUFFIXES):
        from monai_spatialqa.readers.simpleitk_volume import read_sitk_geometry

        return read_sitk_geometry(path)
    with NiftiStream(path, form=form) as stream:
        header = stream.geometry
    return scan_geometry(header)


def read_masks(
    listing: MaskListing, *, form: Form | None = None, ignore: Iterable[int] = (), ahead: bool = True
) -> Iterator[tuple[MaskFile, ScanGeometry, RunGrid, Runs]]:
    """The masks one after the other, as runs on the grid they share.

    Args:
        listing: the masks.
        form: take this NIfTI form where a header contradicts itself.
        ignore: values that are background besides 0.
        ahead: inflate in a thread of its own.

    Yields:
        A mask, its own grid, the grid that all share, and its runs.

    Raises:
        SpatialQAError: naming the file: unreadable, not a mask, or not on the grid of the first one.
    """
    first: tuple[MaskFile, ScanGeometry, RunGrid] | None = None
    for mask in listing.masks:
        try:
            geometry, grid, runs = _read_mask(mask.path, form, tuple(ignore), ahead)
            if first is None:
                first = mask, geometry, grid
            _require_same_grid(geometry, first[1], first[0].path)
        except SpatialQAError as error:
            raise error.with_context(file=mask.path) from None
        yield mask, geometry, first[2], runs


def _read_mask(
    path: Path, form: Form | None, ignore: tuple[int, ...], ahead: bool
) -> tuple[ScanGeometry, RunGrid, Runs]:
    if path.name.lower().endswith(NIFTI_SUFFIXES):
        with NiftiStream(path, form=form) as stream:
            header = stream.geometry
            if header.channels > 1:
                raise _not_one_mask(f"{header.channels} volumes")
            geometry = scan_geometry(header)
            encoder = _encoder(header.shape, label_dtype(header), ignore)
            for block in stream.blocks(ahead=ahead):
                encoder.feed(label_block(block, header))
    else:
        from monai_spatialqa.readers.simpleitk_volume import read_sitk_volume

        voxels, geometry, _ = read_sitk_volume(path)
        if voxels.ndim != 3:
            raise _not_one_mask(f"{voxels.shape[3]} layers")
        encoder = _encoder(geometry.shape, voxels.dtype, ignore)
        flat = voxels.reshape(-1, order="F")
        for at in range(0, flat.size, BLOCK_BYTES):
            encoder.feed(flat[at : at + BLOCK_BYTES])
    labels = encoder.result().labels
    if len(labels) > 1:
        raise _not_one_mask(f"values {', '.join(map(str, labels[:5]))}")
    found = encoder.run_set(RasGrid.of(geometry.shape, geometry.affine), (0, 1, 2))
    return geometry, found.grid, np.ascontiguousarray(found.runs[:, :3])


def _encoder(shape: tuple[int, int, int], dtype: np.dtype, ignore: tuple[int, ...]) -> MarginalEncoder:
    return MarginalEncoder(shape, dtype, ignore=ignore, boundaries=False, keep_runs=True)


def _not_one_mask(found: str) -> LabelValueError:
    return LabelValueError(
        "a mask holds one structure",
        code="not_a_mask",
        found=found,
        expected="0 and one other value",
        next_step="name a label map of several structures as a file of its own",
    )


def _require_same_grid(geometry: ScanGeometry, first: ScanGeometry, first_path: Path) -> None:
    limit_mm = SAME_GRID_VOXELS * min(column_norms(first.affine))
    shift_mm = corner_shift_mm(geometry.affine, first.affine, first.shape)
    same = geometry.shape == first.shape and shift_mm <= limit_mm
    if same and geometry.orientation_known == first.orientation_known:
        return
    raise GeometryError(
        "the masks lie on different grids",
        code="other_grid",
        key="shape, affine",
        found=f"{geometry.shape} voxels, largest corner shift {shift_mm:.3f} mm"
        + ("" if geometry.orientation_known else ", orientation unknown"),
        expected=f"the grid of {first_path.name}: {first.shape} voxels, corners within {limit_mm:.3f} mm"
        + ("" if first.orientation_known else ", orientation unknown"),
        next_step="put all masks of a case on one grid",
    )
