"""DICOM CT series and segmentations written to order, and a second way of reading them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from monai.transforms import LoadImaged

from monai_spatialqa.readers import DicomSegReader

AXIAL = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0)


@dataclass
class Case:
    """What is written.

    Attributes:
        masks: segment number -> (slices, rows, columns), bool, or 0 to 1 for FRACTIONAL.
        names: segment number -> label; default ``segment N``.
        kind: BINARY, FRACTIONAL or LABELMAP.
        spacing: mm between rows, columns and slices.
        orientation: ImageOrientationPatient.
        origin: first pixel of the first slice, LPS mm.
        thickness: SliceThickness, which has nothing to do with the spacing.
        between: SpacingBetweenSlices of the segmentation; None leaves it out.
        syntax: transfer syntax.
        omit_empty: leave frames without voxels out.
        order: new order of the frames.
        edit: last changes to the data set.
    """

    masks: Mapping[int, np.ndarray]
    names: Mapping[int, str] = field(default_factory=dict)
    kind: str = "BINARY"
    spacing: tuple[float, float, float] = (2.0, 3.0, 4.0)
    orientation: Sequence[float] = AXIAL
    origin: Sequence[float] = (-10.0, -20.0, 30.0)
    thickness: float = 1.0
    between: float | None = 4.0
    syntax: str = "1.2.840.10008.1.2.1"
    omit_empty: bool = True
    order: Callable[[list[int]], list[int]] | None = None
    edit: Callable[[Any], None] | None = None

    @property
    def normal(self) -> np.ndarray:
        return np.cross(self.orientation[:3], self.orientation[3:])

    def position(self, slice_: float) -> np.ndarray:
        """First pixel of a slice, LPS mm."""
        return np.array(self.origin) + self.normal * self.spacing[2] * slice_

    def centroid_ras(self, number: int) -> np.ndarray:
        """Mean of the voxel centres, straight from the definition of the positions."""
        slices, rows, columns = np.nonzero(self.masks[number])
        row, column = np.array(self.orientation[:3]), np.array(self.orientation[3:])
        points = [
            self.position(k) + row * self.spacing[1] * c + column * self.spacing[0] * r
            for k, r, c in zip(slices, rows, columns, strict=True)
        ]
        return np.mean(points, axis=0) * (-1, -1, 1)


@pytest.fixture
def base_masks() -> dict[int, np.ndarray]:
    """13 and 8 voxels on 6 slices of 5 x 5; two of them shared."""
    first, second = np.zeros((2, 6, 5, 5), bool)
    first[1:3, 1:3, 1:4] = True
    first[5, 4, 4] = True
    second[2:4, 2:4, 2:4] = True
    return {1: first, 2: second}


@pytest.fixture
def apart_masks(base_masks) -> dict[int, np.ndarray]:
    """The same without the shared voxels, numbered with gaps."""
    return {2: base_masks[1], 7: base_masks[2] & ~base_masks[1]}


def ct_slices(case: Case) -> list[Any]:
    """The CT series that a case was segmented on."""
    from pydicom.dataset import Dataset, FileMetaDataset
    from pydicom.uid import CTImageStorage, ExplicitVRLittleEndian, generate_uid

    slices, rows, columns = next(iter(case.masks.values())).shape
    found = []
    for number in range(slices):
        dataset = Dataset()
        dataset.file_meta = FileMetaDataset()
        dataset.file_meta.TransferSyntaxUID = ExplicitVRLittleEndian
        dataset.file_meta.MediaStorageSOPClassUID = CTImageStorage
        dataset.SOPClassUID = CTImageStorage
        dataset.SOPInstanceUID = generate_uid(entropy_srcs=["slice", str(number)])
        dataset.file_meta.MediaStorageSOPInstanceUID = dataset.SOPInstanceUID
        dataset.SpecificCharacterSet = "ISO_IR 192"
        for name in ("StudyInstanceUID", "SeriesInstanceUID", "FrameOfReferenceUID"):
            setattr(dataset, name, generate_uid(entropy_srcs=[name]))
        for name in ("PatientName", "PatientID", "PatientBirthDate", "PatientSex", "StudyID", "AccessionNumber"):
            setattr(dataset, name, "")
        dataset.StudyDate, dataset.StudyTime, dataset.ReferringPhysicianName = "20200101", "120000", ""
        dataset.Modality, dataset.ImageType = "CT", ["ORIGINAL", "PRIMARY", "AXIAL"]
        dataset.SeriesNumber, dataset.InstanceNumber = 1, number + 1
        dataset.ImagePositionPatient = [round(float(value), 6) for value in case.position(number)]
        dataset.ImageOrientationPatient = [round(float(value), 8) for value in case.orientation]
        dataset.PixelSpacing = [float(value) for value in case.spacing[:2]]
        dataset.SliceThickness = case.thickness
        dataset.PositionReferenceIndicator = ""
        dataset.Rows, dataset.Columns, dataset.SamplesPerPixel = rows, columns, 1
        dataset.PhotometricInterpretation = "MONOCHROME2"
        dataset.BitsAllocated = dataset.BitsStored = 16
        dataset.HighBit, dataset.PixelRepresentation = 15, 0
        dataset.PixelData = np.full((rows, columns), number, "<u2").tobytes()
        found.append(dataset)
    return found


def write_seg_file(path: Path, case: Case) -> Path:
    """Write a segmentation."""
    import highdicom as hd
    from pydicom.sr.codedict import codes

    numbers = sorted(case.masks)
    masks = [np.asarray(case.masks[number]) for number in numbers]
    described = [
        hd.seg.SegmentDescription(
            segment_number=number if case.kind == "LABELMAP" else place,
            segment_label=case.names.get(number, f"segment {number}"),
            segmented_property_category=codes.SCT.Tissue,
            segmented_property_type=codes.SCT.Bone,
            algorithm_type="MANUAL",
        )
        for place, number in enumerate(numbers, 1)
    ]
    if case.kind == "LABELMAP":
        pixels = sum(number * mask.astype(np.uint8) for number, mask in zip(numbers, masks, strict=True))
    else:
        pixels = np.stack(masks, axis=-1).astype(np.float32 if case.kind == "FRACTIONAL" else np.uint8)
    measures = hd.PixelMeasuresSequence(case.spacing[:2], case.thickness, case.between)
    seg = hd.seg.Segmentation(
        source_images=ct_slices(case),
        pixel_array=pixels,
        segmentation_type=case.kind,
        segment_descriptions=described,
        series_instance_uid=hd.UID(),
        series_number=2,
        sop_instance_uid=hd.UID(),
        instance_number=1,
        manufacturer="test",
        manufacturer_model_name="test",
        software_versions="1",
        device_serial_number="1",
        transfer_syntax_uid=case.syntax,
        pixel_measures=measures,
        omit_empty_frames=case.omit_empty,
    )
    measures = seg.SharedFunctionalGroupsSequence[0].PixelMeasuresSequence[0]
    if case.between is None and "SpacingBetweenSlices" in measures:  # highdicom adds it to regular stacks
        del measures.SpacingBetweenSlices
    if case.kind != "LABELMAP":
        renumber(seg, numbers)
    if case.order is not None:
        reorder(seg, case.order(list(range(seg.NumberOfFrames))))
    if case.edit is not None:
        case.edit(seg)
    seg.save_as(path)
    return path


def renumber(seg: Any, numbers: Sequence[int]) -> None:
    """Numbers with gaps, which highdicom does not write in these types."""
    for item in seg.SegmentSequence:
        item.SegmentNumber = numbers[item.SegmentNumber - 1]
    for frame in [*seg.SharedFunctionalGroupsSequence, *seg.PerFrameFunctionalGroupsSequence]:
        if "SegmentIdentificationSequence" not in frame:
            continue
        owner = frame.SegmentIdentificationSequence[0]
        owner.ReferencedSegmentNumber = numbers[owner.ReferencedSegmentNumber - 1]


def reorder(seg: Any, order: Sequence[int]) -> None:
    """Put the frames into another order; not for compressed files."""
    from pydicom.pixels import pack_bits

    frames = np.stack([seg.get_stored_frame(number + 1) for number in order])
    groups = list(seg.PerFrameFunctionalGroupsSequence)
    seg.PerFrameFunctionalGroupsSequence = [groups[number] for number in order]
    seg.PixelData = pack_bits(frames.ravel()) if seg.BitsAllocated == 1 else frames.tobytes()


@pytest.fixture
def write_seg(tmp_path) -> Callable[..., Path]:
    def write(masks: Mapping[int, np.ndarray], name: str = "seg.dcm", **options: Any) -> Path:
        return write_seg_file(tmp_path / name, Case(masks, **options))

    return write


@pytest.fixture
def write_series(tmp_path) -> Callable[..., Path]:
    """A folder with the CT series that a segmentation was made on."""

    def write(masks: Mapping[int, np.ndarray], name: str = "ct", **options: Any) -> Path:
        folder = tmp_path / name
        folder.mkdir()
        for number, dataset in enumerate(ct_slices(Case(masks, **options))):
            dataset.save_as(folder / f"{(number * 7) % 11:02d}.dcm", enforce_file_format=True)
        return folder

    return write


@pytest.fixture
def case() -> type[Case]:
    return Case


@pytest.fixture
def load() -> Callable[..., Any]:
    """The label map as ``LoadImaged`` hands it on with the settings for labels."""

    def loaded(path: Any, **options: Any) -> Any:
        reader = DicomSegReader(**options)
        return LoadImaged("label", reader=reader, dtype=None, ensure_channel_first=True)({"label": str(path)})["label"]

    return loaded
