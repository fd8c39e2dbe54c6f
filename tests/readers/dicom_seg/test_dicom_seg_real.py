"""Real segmentations against published values, SimpleITK on the NRRD of the same voxels, and plain pydicom."""

from __future__ import annotations

import numpy as np
import pytest
import SimpleITK as sitk
from monai.transforms import Compose, LoadImaged, Orientationd

from monai_spatialqa.readers import DicomSegReader
from monai_spatialqa.readers.meta import read_geometry_meta, read_segments_meta
from monai_spatialqa.records import Status
from monai_spatialqa.transforms import MeasureStructuresd

pytestmark = pytest.mark.extra

# Counts and volumes by pydicom: pixels x pixel spacing x spacing between slices.
REFERENCE = {
    "dcmqi_ct3_seg/liver.dcm": {1: ("Liver", 107098, 70361.9337)},
    "dcmqi_ct3_seg/partial_overlaps.dcm": {
        1: ("GREEN", 9602, 6308.3838),
        2: ("ORANGE", 11888, 7810.2548),
        3: ("PURPLE", 10743, 7058.0053),
        4: ("LIGHT_BLUE", 6693, 4397.2102),
        5: ("DARK_BLUE", 4713, 3096.3771),
    },
    "dcmqi_pet_sr/seg.dcm": {1: ("Neoplasm, Primary", 795, 33582.4116)},
    "highdicom_ct/seg_image_ct_binary.dcm": {1: ("first segment", 638, 190.1386)},
    "highdicom_ct/seg_image_ct_binary_single_frame.dcm": {1: ("first segment", 1832, 4007.8656)},
}


def measured(path, names):
    pipeline = Compose(
        [
            LoadImaged("label", reader=DicomSegReader(), dtype=None, ensure_channel_first=True),
            Orientationd("label", "RAS", labels=None),
            MeasureStructuresd("label", structures=names),
        ]
    )
    data = pipeline({"label": str(path)})
    return data["label"], data["measured_label"]


@pytest.mark.parametrize("name", REFERENCE)
def test_counts_and_volumes(name, data_folder):
    names = {number: label for number, (label, _, _) in REFERENCE[name].items()}
    label, found = measured(data_folder / "dicom" / name, names)
    assert read_segments_meta(label.meta) == names
    assert found["voxel_count"].tolist() == [count for _, count, _ in REFERENCE[name].values()]
    assert found["volume_mm3"].tolist() == pytest.approx([mm3 for _, _, mm3 in REFERENCE[name].values()], abs=1e-4)


def test_the_volume_published_in_a_structured_report(data_folder):
    """TID 1500 report on the PET: 33.5824 ml, sum of segmented voxel volumes."""
    _, found = measured(data_folder / "dicom/dcmqi_pet_sr/seg.dcm", {1: "tumour"})
    assert found["volume_mm3"].item() / 1000 == pytest.approx(33.5824, abs=5e-5)


@pytest.mark.parametrize(
    ("name", "nrrds"),
    [
        ("liver", {"liver_seg": {1: 1}}),
        ("partial_overlaps", {"partial_overlaps-1": {}, "partial_overlaps-2": {}, "partial_overlaps-3": {}}),
    ],
)
def test_the_same_voxels_as_nrrd(name, nrrds, data_folder):
    """Counts, boxes and centroids in RAS mm of SimpleITK, on the label maps that the segmentations were made from."""
    folder = data_folder / "dicom/dcmqi_ct3_seg"
    names = {number: label for number, (label, _, _) in REFERENCE[f"dcmqi_ct3_seg/{name}.dcm"].items()}
    _, found = measured(folder / f"{name}.dcm", names)
    theirs = {}
    for nrrd in nrrds:
        image = sitk.ReadImage(folder / f"{nrrd}.nrrd")
        shapes = sitk.LabelShapeStatisticsImageFilter()
        shapes.Execute(image)
        for label in shapes.GetLabels():
            x, y, z, width, height, depth = shapes.GetBoundingBox(label)
            ends = (x, y, z), (x + width, y + height, z + depth)
            corners = [image.TransformContinuousIndexToPhysicalPoint([c - 0.5 for c in end]) for end in ends]
            corners = np.array(corners) * (-1, -1, 1)
            theirs[shapes.GetNumberOfPixels(label)] = (
                np.array(shapes.GetCentroid(label)) * (-1, -1, 1),
                corners.min(axis=0),
                corners.max(axis=0),
            )
    assert sorted(found["voxel_count"].tolist()) == sorted(theirs)
    for row, count in enumerate(found["voxel_count"].tolist()):
        centroid, low, high = theirs[count]
        assert found["centroid_ras_mm"][row].numpy() == pytest.approx(centroid, abs=1e-3)
        assert found["world_min_ras_mm"][row].numpy() == pytest.approx(low, abs=1e-3)
        assert found["world_max_ras_mm"][row].numpy() == pytest.approx(high, abs=1e-3)


@pytest.mark.parametrize("name", REFERENCE)
def test_places_by_pydicom_alone(name, data_folder):
    """Centroid of each segment from pydicom's pixels and the position of each frame, without grid or affine."""
    import pydicom

    path = data_folder / "dicom" / name
    names = {number: label for number, (label, _, _) in REFERENCE[name].items()}
    _, found = measured(path, names)
    dataset = pydicom.dcmread(path)
    frames = dataset.pixel_array.reshape(-1, dataset.Rows, dataset.Columns)
    shared = dataset.SharedFunctionalGroupsSequence[0]
    down, across = map(float, shared.PixelMeasuresSequence[0].PixelSpacing)
    cosines = np.array(shared.PlaneOrientationSequence[0].ImageOrientationPatient, float)
    points = {number: [] for number in names}
    for frame, group in zip(frames, dataset.PerFrameFunctionalGroupsSequence, strict=True):
        rows, columns = np.nonzero(frame)
        first = np.array(group.PlanePositionSequence[0].ImagePositionPatient, float)
        number = group.SegmentIdentificationSequence[0].ReferencedSegmentNumber
        points[number].append(first + np.outer(columns * across, cosines[:3]) + np.outer(rows * down, cosines[3:]))
    for row, number in enumerate(names):
        centroid = np.concatenate(points[number]).mean(axis=0) * (-1, -1, 1)
        assert found["centroid_ras_mm"][row].numpy() == pytest.approx(centroid, abs=1e-4)


class TestWhatTheFilesDoNotSay:
    def test_left_out_slices_are_told(self, data_folder, load):
        label = load(data_folder / "dicom/highdicom_ct/seg_image_ct_binary.dcm")
        assert read_geometry_meta(label.meta) == (
            "verified",
            [
                "slice spacing: the smallest distance between frames, the file does not state it",
                "field of view: 3 slices from the first to the last frame (the file refers to 4 images), not that of "
                "the segmented image",
            ],
        )

    def test_a_single_frame_takes_the_stated_spacing(self, data_folder, load):
        label = load(data_folder / "dicom/highdicom_ct/seg_image_ct_binary_single_frame.dcm")
        assert label.shape == (1, 128, 128, 1)
        assert label.pixdim.tolist() == pytest.approx([0.661468, 0.661468, 5])
        assert "slice spacing: as the file states it, there is one slice" in read_geometry_meta(label.meta)[1]

    def test_without_the_image_the_ends_count_as_truncated(self, data_folder):
        _, found = measured(data_folder / "dicom/dcmqi_pet_sr/seg.dcm", {1: "tumour"})
        assert int(found["volume_status"]) & Status.TRUNCATED
