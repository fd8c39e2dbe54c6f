"""The grid of the segmented image: slices that the segmentation left out come back, and so does the field of view."""

from __future__ import annotations

import nibabel as nib
import numpy as np
import pytest
import torch
from monai.transforms import Compose, LoadImaged, Orientationd

from monai_spatialqa.errors import FileReadError, GeometryError, PairingError
from monai_spatialqa.readers import DicomSegReader
from monai_spatialqa.readers.dicom_seg_volume import read_dicom_seg
from monai_spatialqa.readers.meta import ScanGeometry, read_geometry_meta
from monai_spatialqa.records import Status
from monai_spatialqa.transforms import MeasureStructuresd

pytestmark = pytest.mark.extra

C, S = np.cos(0.3), np.sin(0.3)
TURNED = (C, S, 0.0, -S, C, 0.0)


@pytest.fixture
def inner(base_masks):
    """A structure in slices 2 and 3 of 6."""
    return {1: base_masks[2]}


def status(path, **options):
    pipeline = Compose(
        [
            LoadImaged("label", reader=DicomSegReader(**options), dtype=None, ensure_channel_first=True),
            Orientationd("label", "RAS", labels=None),
            MeasureStructuresd("label", structures={1: "a"}),
        ]
    )
    return int(pipeline({"label": str(path)})["measured_label"]["volume_status"])


@pytest.mark.parametrize("orientation", [(1.0, 0, 0, 0, 1, 0), TURNED])
def test_a_dicom_series(orientation, inner, write_seg, write_series, load, case):
    path = write_seg(inner, orientation=orientation)
    series = write_series(inner, orientation=orientation)
    label = load(path, reference=series)
    assert (label[0].numpy() == inner[1].transpose(2, 1, 0)).all()
    centre = np.argwhere(label[0].numpy()).mean(axis=0)
    world = label.affine.numpy() @ [*centre, 1]
    assert world[:3] == pytest.approx(case(inner, orientation=orientation).centroid_ras(1), abs=1e-5)
    assert read_geometry_meta(label.meta)[1] == ["placed on the grid of the reference image"]
    assert status(path) == Status.TRUNCATED
    assert status(path, reference=series) == Status.OK


@pytest.mark.parametrize("axes", ["LPS", "RAS", "PIR", "SLA"])
def test_a_nifti_image_in_any_axis_order(axes, inner, write_seg, load, tmp_path):
    affine = np.array([[-3.0, 0, 0, 10], [0, -2, 0, 20], [0, 0, 4, 30], [0, 0, 0, 1]])
    image = nib.Nifti1Image(np.zeros((5, 5, 6), np.int16), affine)
    codes = nib.orientations.axcodes2ornt(axes)
    image = image.as_reoriented(nib.orientations.ornt_transform(nib.io_orientation(affine), codes))
    nib.save(image, tmp_path / "image.nii.gz")
    label = load(write_seg(inner), reference=tmp_path / "image.nii.gz")
    assert (label[0].numpy() == inner[1].transpose(2, 1, 0)).all()
    assert label.affine.numpy() == pytest.approx(affine)


def image_of(path):
    """A function as reference: the folder beside the segmentation."""
    return path.parent / "ct"


def test_a_function_names_the_image_of_each_case(inner, write_seg, write_series):
    write_series(inner)
    assert status(write_seg(inner), reference=image_of) == Status.OK


def test_a_grid(inner, write_seg, load):
    affine = np.array([[-3.0, 0, 0, 16], [0, -2, 0, 20], [0, 0, 4, 10], [0, 0, 0, 1]])
    label = load(write_seg(inner), reference=ScanGeometry((10, 5, 12), affine))
    expected = np.zeros((10, 5, 12), bool)
    expected[2:7, :, 5:11] = inner[1].transpose(2, 1, 0)
    assert (label[0].numpy() == expected).all()


def test_other_series_in_the_folder_do_not_disturb(inner, write_seg, write_series, load, data_folder):
    series = write_series(inner)
    (series / "other.dcm").write_bytes((data_folder / "dicom/highdicom_ct/ct_image.dcm").read_bytes())
    (series / "note.txt").write_text("no DICOM")
    assert load(write_seg(inner), reference=series).shape == (1, 5, 5, 6)


def test_a_single_frame_takes_the_spacing_of_the_image(inner, write_seg, write_series, load):
    masks = {1: inner[1].copy()}
    masks[1][3] = False
    path = write_seg(masks, between=None)
    assert load(path, reference=write_series(masks)).pixdim.tolist() == [3, 2, 4]


def test_frames_that_leave_out_every_other_slice(inner, write_seg, write_series, load):
    masks = {1: np.zeros((6, 5, 5), bool)}
    masks[1][1:6:2, 2, 2] = True
    label = load(write_seg(masks, between=4.0), reference=write_series(masks))
    assert label.shape == (1, 5, 5, 6)
    assert label.pixdim.tolist() == [3, 2, 4]
    assert torch.equal(label[0, 2, 2].as_tensor(), torch.tensor([0, 1, 0, 1, 0, 1], dtype=torch.uint8))


GRID = np.array([[-3.0, 0, 0, 10], [0, -2, 0, 20], [0, 0, 4, 30], [0, 0, 0, 1]])


def moved(row, by):
    affine = GRID.copy()
    affine[row, 3] += by
    return ScanGeometry((5, 5, 6), affine)


@pytest.mark.parametrize(
    ("reference", "error", "code", "word"),
    [
        (moved(0, 1.2), PairingError, "other_grid", "0.4 voxel"),
        (moved(2, 2.0), PairingError, "other_grid", "0.5 voxel"),
        (moved(2, 12.0), PairingError, "other_grid", "beyond the reference"),
        (ScanGeometry((5, 5, 6), GRID @ np.diag([1.0, 1.1, 1, 1])), PairingError, "other_grid", "from its place"),
        (ScanGeometry((5, 5, 6), GRID @ np.diag([1.0, 1, 1.2, 1])), PairingError, "other_grid", "from its place"),
        (ScanGeometry((4, 5, 6), GRID), PairingError, "other_grid", "beyond the reference"),
        (ScanGeometry((5, 5, 6), GRID, orientation_known=False), GeometryError, "orientation_unknown", "orientation"),
        ("nowhere", FileReadError, "missing_file", "cannot be opened"),
        (__file__, FileReadError, "not_nifti", "not a NIfTI"),
    ],
)
def test_another_image_is_refused(reference, error, code, word, inner, write_seg, load):
    path = write_seg(inner)
    with pytest.raises(error, match=word) as caught:
        load(path, reference=reference)
    assert caught.value.code == code
    assert caught.value.key == "reference"


def test_small_rounding_of_the_image_is_accepted(inner, write_seg, load):
    assert load(write_seg(inner), reference=moved(0, 0.2)).affine[0, 3] == 10.2


@pytest.mark.parametrize("kind", ["empty folder", "other series", "several series"])
def test_a_folder_without_the_series(kind, inner, write_seg, write_series, tmp_path, data_folder, load):
    def forget(seg):
        del seg.ReferencedSeriesSequence

    folder = tmp_path / "ct"
    if kind == "several series":
        folder = write_series(inner)
    else:
        folder.mkdir()
    if kind != "empty folder":
        (folder / "other.dcm").write_bytes((data_folder / "dicom/highdicom_ct/ct_image.dcm").read_bytes())
    path = write_seg(inner, edit=forget if kind == "several series" else None)
    with pytest.raises((FileReadError, PairingError)) as caught:
        load(path, reference=folder)
    assert caught.value.code == ("missing_file" if kind == "empty folder" else "other_series")
    assert caught.value.file == str(folder)


def test_empty_frames_at_both_ends_need_no_note(write_seg, inner):
    """Empty frames at both ends: the file itself shows that the structure ends inside."""
    assert read_dicom_seg(write_seg(inner, omit_empty=False)).geometry.notes == ()
