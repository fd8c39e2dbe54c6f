"""Measure one case: the step that the API, the stage and its worker processes share."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path

from monai_spatialqa.errors import FileReadError, PairingError, SpatialQAError
from monai_spatialqa.measurement.options import MeasureOptions
from monai_spatialqa.measurement.streamed import check_pair, measure_streamed
from monai_spatialqa.readers.nifti_stream import read_header
from monai_spatialqa.records import Case, Measurement, Source
from monai_spatialqa.records.files import portable_path, sha256_of_file, system_path

NIFTI_SUFFIXES = (".nii", ".nii.gz", ".hdr", ".hdr.gz")


@dataclass(frozen=True)
class CaseFiles:
    """A case and where its files are.

    Attributes:
        case: the case, with paths as given.
        root: folder that relative paths hang on, and that recorded paths are relative to.
    """

    case: Case
    root: Path

    @property
    def case_id(self) -> str:
        """Id of the case."""
        return self.case.case_id

    @property
    def label(self) -> Path:
        """The label file."""
        if isinstance(self.case.label, list):
            raise PairingError(
                "one label map file a case",
                code="unsupported_format",
                case=self.case_id,
                found=f"{len(self.case.label)} files",
                expected="1 file",
            )
        return self.root / system_path(self.case.label)

    @property
    def images(self) -> list[Path]:
        """The image files; several for the channels of a multi-modal scan."""
        images = self.case.image if isinstance(self.case.image, list) else [self.case.image]
        return [self.root / system_path(image) for image in images if image is not None]

    @property
    def image(self) -> Path | None:
        """The image file that pictures show, None without one."""
        return next(iter(self.images), None)

    def source(self, *, hashed: bool = True) -> Source:
        """What a record says of the files. A file that cannot be read has no hash; measuring it tells why."""
        sha256 = None
        if hashed:
            with contextlib.suppress(SpatialQAError):
                sha256 = sha256_of_file(self.label)
        return Source(
            path=portable_path(self.label, self.root),
            sha256=sha256,
            image_path=None if self.image is None else portable_path(self.image, self.root),
        )


def is_nifti(path: str | Path) -> bool:
    """Whether a file is called like NIfTI."""
    return str(path).lower().endswith(NIFTI_SUFFIXES)


def measure_case(files: CaseFiles, options: MeasureOptions, *, ahead: bool = True) -> Measurement:
    """Measure one case from its files.

    Args:
        files: the case.
        options: how to measure.
        ahead: inflate in a thread of its own.

    Raises:
        SpatialQAError: the case cannot be measured without guessing.
    """
    label = files.label
    try:
        check_files(files, options)
        source = files.source()
        if read_header(label, form=options.form).channels > 1:
            from monai_spatialqa.measurement.arrays import measure_loaded

            return measure_loaded(label, source, options, files.case_id)
        return measure_streamed(label, source, options, files.case_id, ahead=ahead)
    except SpatialQAError as error:
        raise error.with_context(case=files.case_id, file=label) from None


def check_files(files: CaseFiles, options: MeasureOptions) -> None:
    """Refuse a case whose files are not there, are of another format, or do not cover the same place.

    Raises:
        SpatialQAError: naming the case and the file.
    """
    try:
        require_nifti(files.label)
        for image in files.images:
            require_nifti(image)
            check_pair(files.label, image, options, files.case_id)
    except SpatialQAError as error:
        raise error.with_context(case=files.case_id, file=files.label) from None


def require_nifti(path: Path) -> None:
    """Refuse a file that is not called like NIfTI, or is not there.

    Raises:
        FileReadError: naming the file.
    """
    if path.is_dir():
        raise FileReadError(
            "this is a folder", code="unsupported_format", file=path, expected="a NIfTI file", next_step="name the file"
        )
    if not path.is_file():
        raise FileReadError("there is no such file", code="missing_file", file=path, next_step="check the path")
    if not is_nifti(path):
        raise FileReadError(
            "this format cannot be measured",
            code="unsupported_format",
            file=path,
            found=path.suffix or "no suffix",
            expected=" or ".join(NIFTI_SUFFIXES),
            next_step="convert the label map to NIfTI",
        )
