"""Measure one case: the step that the API, the stage and its worker processes share."""

from __future__ import annotations

import contextlib
import hashlib
from dataclasses import dataclass
from pathlib import Path

from monai_spatialqa.errors import FileReadError, SpatialQAError
from monai_spatialqa.measurement.options import MeasureOptions
from monai_spatialqa.measurement.streamed import check_pair, measure_masks, measure_streamed
from monai_spatialqa.readers.nifti_stream import read_header
from monai_spatialqa.readers.scans import Scan, first_file, require_label_kind
from monai_spatialqa.records import Case, Measurement, Source
from monai_spatialqa.records.files import portable_path, sha256_of_file, system_path


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
    def label(self) -> Scan:
        """The label map: a file, a folder, or a list of mask files."""
        if isinstance(self.case.label, list):
            return [self.root / system_path(label) for label in self.case.label]
        return self.root / system_path(self.case.label)

    @property
    def label_path(self) -> Path:
        """The path that stands for the label map in records: the folder, when it is a list of files."""
        return self.label if isinstance(self.label, Path) else self.label[0].parent

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
            with contextlib.suppress(SpatialQAError, OSError):
                sha256 = _sha256(self.label)
        return Source(
            path=portable_path(self.label_path, self.root),
            sha256=sha256,
            image_path=None if self.image is None else portable_path(self.image, self.root),
        )


def _sha256(label: Scan) -> str:
    """Hash of a file; of several, the hash of their sorted names and hashes."""
    if isinstance(label, Path) and not label.is_dir():
        return sha256_of_file(label)
    files = label.iterdir() if isinstance(label, Path) else label
    lines = [f"{file.name}\t{sha256_of_file(file)}\n" for file in sorted(files) if file.is_file()]
    return hashlib.sha256("".join(lines).encode("utf-8", "surrogateescape")).hexdigest()


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
        kind = require_label_kind(label)
        if kind == "masks":
            return measure_masks(label, source, options, files.case_id, ahead=ahead)
        if kind == "nifti" and isinstance(label, Path) and read_header(label, form=options.form).channels == 1:
            return measure_streamed(label, source, options, files.case_id, ahead=ahead)
        from monai_spatialqa.measurement.arrays import measure_loaded

        return measure_loaded(label, source, options, files.case_id, image=files.image)
    except SpatialQAError as error:
        raise error.with_context(case=files.case_id, file=first_file(label)) from None


def check_files(files: CaseFiles, options: MeasureOptions) -> None:
    """Refuse a case whose files are not there, are of no format that is read, or do not cover the same place.

    Raises:
        SpatialQAError: naming the case and the file.
    """
    label = files.label
    try:
        for path in [label] if isinstance(label, Path) else label:
            _require_there(path)
        require_label_kind(label)
        for image in files.images:
            _require_there(image)
            check_pair(label, image, options, files.case_id)
    except SpatialQAError as error:
        raise error.with_context(case=files.case_id, file=first_file(label)) from None


def _require_there(path: Path) -> None:
    try:
        path.stat()
    except OSError as error:
        missing = isinstance(error, FileNotFoundError)
        raise FileReadError(
            "there is no such file" if missing else f"the file cannot be opened ({error.strerror or error})",
            code="missing_file" if missing else "unreadable_file",
            file=path,
            found="nothing" if missing else "nothing to read",
            expected="a file or a folder",
            next_step="check the path and its permissions",
        ) from None
